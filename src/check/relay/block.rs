//! Generated expressions that are no operators: bindings, branches, functions, data types, references.

use super::types::Ty;
use super::{Maker, Value};
use std::fmt::Write;
use std::mem::{replace, take};

impl Maker {
    /// Generates bindings and a result, indented.
    pub(super) fn block(&mut self, env: &[Value], want: &Ty, statements: usize, depth: usize, indent: usize) -> String {
        let mut env = env.to_vec();
        let mut text = String::new();
        let pad = "  ".repeat(indent);
        let mut effects = take(&mut self.effect);
        for _ in 0..statements / 2 + self.random.below(statements / 2 + 1) {
            let (value, ty) = self.statement(&env, depth, indent);
            let effect = take(&mut self.effect);
            effects |= effect;
            // TVM cannot parse its own printed form of a let with several uses.
            let is_let = effect || value.starts_with("(\n") || self.random.chance(35);
            let name = if is_let { self.name("v") } else { (self.next, self.next += 1).0.to_string() };
            let needs = matches!(ty, Ty::List(_)) || self.random.chance(25);
            let note = if is_let && ty.has_text() && needs { format!(": {ty}") } else { String::new() };
            let _ = writeln!(text, "{pad}{}%{name}{note} = {value};", if is_let { "let " } else { "" });
            env.push(Value { text: format!("%{name}"), ty });
        }
        let result = match self.random.chance(30) {
            true => self.value(&env, want, depth, indent),
            false => self.operand(&env, want, 1),
        };
        self.effect |= effects;
        text + &pad + &result
    }

    /// Generates the next bound value.
    fn statement(&mut self, env: &[Value], depth: usize, indent: usize) -> (String, Ty) {
        let refs: Vec<&Value> = env.iter().filter(|value| matches!(value.ty, Ty::Ref(_))).collect();
        if !refs.is_empty() && self.random.chance(20) {
            let Value { text, ty: Ty::Ref(ty) } = (*self.random.pick(&refs)).clone() else { unreachable!("they are references") };
            let value = self.operand(env, &ty, 1);
            self.effect = true;
            return (format!("ref_write({text}, {value})"), Ty::Tuple(Vec::new()));
        }
        if !refs.is_empty() && depth > 0 && self.random.chance(10) {
            let (params, ret) = (vec![self.tensor_type()], self.tensor_type());
            let (text, effect) = self.literal(env, &params, &ret, depth - 1, indent, true);
            return (text, Ty::Fn(params, Box::new(ret), effect));
        }
        if depth > 1 && !self.shape.first_order && self.random.chance(5) {
            return self.recursive(env);
        }
        let has_unknown = env.iter().any(|value| value.ty == Ty::unknown());
        let ty = if has_unknown && self.random.chance(15) { Ty::unknown() } else { self.local_type() };
        (self.value(env, &ty, depth, indent), ty)
    }

    /// Generates a closure that calls itself at most a few times. It can only be the value of a let, which names it.
    fn recursive(&mut self, env: &[Value]) -> (String, Ty) {
        let ty = self.tensor_type();
        // The let takes the next name.
        let own = format!("%v{}", self.next + 1);
        let mut inner: Vec<Value> = env.iter().filter(|value| !value.ty.has_ref()).cloned().collect();
        inner.push(Value { text: "%s".into(), ty: ty.clone() });
        let named = self.next;
        let step = self.operand(&inner, &ty, 0);
        // Operands of depth 0 take no names.
        debug_assert_eq!(named, self.next);
        self.effect = true;
        let text = format!(
            "fn (%k: int32, %s: {ty}) -> {ty} {{ if (less_equal(%k, 0)) {{ %s }} else {{ {own}(subtract(minimum(%k, 3), 1), {step}) }} }}"
        );
        (text, Ty::Fn(vec![Ty::INT, ty.clone()], Box::new(ty), false))
    }

    /// Generates an expression of a type, to be bound.
    pub(super) fn value(&mut self, env: &[Value], ty: &Ty, depth: usize, indent: usize) -> String {
        if depth > 0 && !self.shape.first_order {
            match self.random.below(20) {
                0 | 1 => {
                    let cond = self.operand(env, &Ty::BOOL, 1);
                    let then = self.block(env, ty, 3, depth - 1, indent + 1);
                    let other = self.block(env, ty, 3, depth - 1, indent + 1);
                    let pad = "  ".repeat(indent);
                    return format!("if ({cond}) {{\n{then}\n{pad}}} else {{\n{other}\n{pad}}}");
                }
                2 => {
                    let body = self.block(env, ty, 3, depth - 1, indent + 1);
                    return format!("(\n{body}\n{})", "  ".repeat(indent));
                }
                3 => {
                    // If the callee and an argument share an expression, TVM prints the second one first.
                    let params = vec![self.tensor_type()];
                    let arg = self.operand(env, &params[0], 1);
                    let (literal, effect) = self.literal(env, &params, ty, depth - 1, indent, true);
                    self.effect |= effect;
                    return format!("{literal}({arg})");
                }
                4 | 5 => {
                    if let Some(text) = self.matched(env, ty, depth, indent) {
                        return text;
                    }
                }
                6..=8 => {
                    if let Some(text) = self.called(env, ty) {
                        return text;
                    }
                }
                9 if self.lists => {
                    let item = self.param_type(1);
                    let list = Ty::List(Box::new(item.clone()));
                    let fold = Ty::Fn(vec![ty.clone(), item], Box::new(ty.clone()), false);
                    if ty.has_text() {
                        let (fold, start) = (self.operand(env, &fold, 1), self.operand(env, ty, 1));
                        return format!("@foldl({fold}, {start}, {})", self.operand(env, &list, 1));
                    }
                }
                _ => {}
            }
        }
        if self.random.chance(15)
            && let Some(text) = self.part(env, ty)
        {
            return text;
        }
        match ty {
            Ty::Tensor(shape, dtype) => self.tensor(env, shape, dtype, 2),
            Ty::Tuple(fields) => {
                let fields: Vec<String> = fields.iter().map(|field| self.operand(env, field, 1)).collect();
                format!("({}{})", fields.join(", "), if fields.len() == 1 { "," } else { "" })
            }
            Ty::Fn(params, ret, _) => self.literal(env, params, ret, depth.saturating_sub(1), indent, false).0,
            Ty::Ref(value) => {
                let value = self.operand(env, value, 1);
                self.effect = true;
                format!("ref({value})")
            }
            Ty::List(item) if self.random.chance(30) => {
                let from = self.param_type(1);
                let function = Ty::Fn(vec![from.clone()], item.clone(), false);
                let list = Ty::List(Box::new(from));
                format!("@map({}, {})", self.operand(env, &function, 1), self.operand(env, &list, 1))
            }
            Ty::List(item) => {
                let head = self.operand(env, item, 1);
                let tail = if self.random.chance(50) { "Nil".to_owned() } else { self.operand(env, ty, 0) };
                format!("Cons({head}, {tail})")
            }
            Ty::Shape => match self.random.below(3) {
                0 => "Dot".to_owned(),
                1 => format!("Line({})", self.operand(env, &Ty::FLOAT, 1)),
                _ => format!("Box({}, {})", self.operand(env, &Ty::FLOAT, 1), self.operand(env, &Ty::float(&[2, 3]), 1)),
            },
        }
    }

    /// Generates a function literal, and returns true if calls of it have effects. Without `effects` it sees no references.
    fn literal(&mut self, env: &[Value], params: &[Ty], ret: &Ty, depth: usize, indent: usize, effects: bool) -> (String, bool) {
        let sees = effects && self.random.chance(50);
        let mut inner: Vec<Value> = env.iter().filter(|value| sees || !value.ty.has_ref()).cloned().collect();
        let mut head = Vec::new();
        for ty in params {
            let name = self.name("a");
            head.push(format!("%{name}: {ty}"));
            inner.push(Value { text: format!("%{name}"), ty: ty.clone() });
        }
        let outside = replace(&mut self.effect, false);
        let body = self.block(&inner, ret, 2, depth, indent + 1);
        let effect = replace(&mut self.effect, outside) && sees;
        let result = if ret.has_text() && self.random.chance(70) { format!(" -> {ret}") } else { String::new() };
        (format!("fn ({}){result} {{\n{body}\n{}}}", head.join(", "), "  ".repeat(indent)), effect)
    }

    /// Generates a match on a value in scope.
    fn matched(&mut self, env: &[Value], ty: &Ty, depth: usize, indent: usize) -> Option<String> {
        let data: Vec<&Value> = env.iter().filter(|value| matches!(value.ty, Ty::List(_) | Ty::Shape)).collect();
        if data.is_empty() {
            return None;
        }
        let data = self.chosen(&data);
        let arms: Vec<(String, Vec<Value>)> = match &data.ty {
            Ty::List(item) => {
                let (head, tail) = (self.name("h"), self.name("t"));
                let mut bound = vec![Value { text: format!("%{head}"), ty: (**item).clone() }];
                bound.push(Value { text: format!("%{tail}"), ty: data.ty.clone() });
                match self.random.below(3) {
                    0 => vec![(format!("Cons(%{head}, %{tail})"), bound), ("Nil".into(), Vec::new())],
                    1 => vec![(format!("Cons(%{head}, Cons(_, %{tail}))"), bound), ("_".into(), Vec::new())],
                    _ => vec![("Nil".into(), Vec::new()), (format!("%{tail}"), bound.split_off(1))],
                }
            }
            _ => {
                let (size, inside) = (self.name("h"), self.name("t"));
                let size_value = Value { text: format!("%{size}"), ty: Ty::FLOAT };
                let inside_value = Value { text: format!("%{inside}"), ty: Ty::float(&[2, 3]) };
                let boxed = (format!("Box(_, %{inside})"), vec![inside_value]);
                vec![(format!("Line(%{size})"), vec![size_value]), boxed, ("Dot".into(), Vec::new())]
            }
        };
        let pad = "  ".repeat(indent);
        let mut text = format!("(match ({}) {{\n", data.text);
        for (pattern, bound) in arms {
            let mut inner = env.to_vec();
            inner.extend(bound);
            let body = self.block(&inner, ty, 2, depth - 1, indent + 2);
            let _ = writeln!(text, "{pad}  {pattern} => {{\n{body}\n{pad}  }},");
        }
        Some(text + &pad + "})")
    }

    /// Generates a call of a function in scope with the wanted result.
    fn called(&mut self, env: &[Value], ty: &Ty) -> Option<String> {
        let gives = |value: &&Value| matches!(&value.ty, Ty::Fn(_, ret, _) if **ret == *ty);
        let functions = self.functions.clone();
        let callees: Vec<&Value> = env.iter().chain(&functions).filter(gives).collect();
        if callees.is_empty() {
            return None;
        }
        let Value { text, ty: Ty::Fn(params, _, effect) } = self.chosen(&callees) else { return None };
        self.effect |= effect;
        let args: Vec<String> = params.iter().map(|param| self.operand(env, param, 1)).collect();
        Some(format!("{text}({})", args.join(", ")))
    }

    /// Generates a projection of a value in scope: a field of a tuple, or the content of a reference.
    fn part(&mut self, env: &[Value], ty: &Ty) -> Option<String> {
        let mut parts = Vec::new();
        for value in env {
            match &value.ty {
                Ty::Tuple(fields) => {
                    let places = (0..fields.len()).filter(|place| fields[*place] == *ty);
                    parts.extend(places.map(|place| (format!("{}.{place}", value.text), false)));
                }
                Ty::Ref(inner) if **inner == *ty => parts.push((format!("ref_read({})", value.text), true)),
                _ => {}
            }
        }
        let (text, effect) = if parts.is_empty() { None } else { Some(self.random.late(&parts).clone()) }?;
        self.effect |= effect;
        Some(text)
    }

    /// Generates an operand of a type. At depth 0 it takes no names.
    pub(super) fn operand(&mut self, env: &[Value], ty: &Ty, depth: usize) -> String {
        let functions = self.functions.clone();
        let known: Vec<&Value> = env.iter().chain(&functions).filter(|value| value.ty == *ty).collect();
        if !known.is_empty() && (depth == 0 || self.random.chance(85)) {
            return self.chosen(&known).text;
        }
        match ty {
            Ty::Tensor(shape, dtype) if depth > 0 => self.tensor(env, shape, dtype, depth - 1),
            Ty::Tensor(shape, dtype) => self.constant(shape, dtype),
            Ty::Tuple(fields) => {
                let fields: Vec<String> = fields.iter().map(|field| self.operand(env, field, depth.saturating_sub(1))).collect();
                format!("({}{})", fields.join(", "), if fields.len() == 1 { "," } else { "" })
            }
            // The parameters have the same names in each function, because inner ones hide the others.
            Ty::Fn(params, ret, _) => {
                let names: Vec<String> = (0..params.len()).map(|i| format!("%z{i}")).collect();
                let mut inner: Vec<Value> =
                    env.iter().filter(|value| !value.ty.has_ref() && !value.text.starts_with("%z")).cloned().collect();
                inner.extend(names.iter().zip(params).map(|(text, ty)| Value { text: text.clone(), ty: ty.clone() }));
                let head: Vec<String> = names.iter().zip(params).map(|(name, ty)| format!("{name}: {ty}")).collect();
                format!("fn ({}) -> {ret} {{ {} }}", head.join(", "), self.operand(&inner, ret, 0))
            }
            Ty::Ref(value) => {
                self.effect = true;
                format!("ref({})", self.operand(env, value, 0))
            }
            Ty::List(item) => format!("Cons({}, Nil)", self.operand(env, item, 0)),
            Ty::Shape => "Dot".to_owned(),
        }
    }

    /// Generates a constant tensor.
    pub(super) fn constant(&mut self, shape: &[i64], dtype: &str) -> String {
        let number = self.random.below(5);
        let scalar = match dtype {
            "float32" => format!("{}f", ["0.5", "1", "0", "2", "-1.25"][number]),
            "bool" => ["True", "False"][number % 2].to_owned(),
            _ => format!("{}", number as i64 - 1),
        };
        let shape: Vec<String> = shape.iter().map(i64::to_string).collect();
        let shape = shape.join(", ");
        match self.random.below(3) {
            _ if shape.is_empty() => scalar,
            0 => format!("zeros(shape=[{shape}], dtype=\"{dtype}\")"),
            1 => format!("full({scalar}, shape=[{shape}], dtype=\"{dtype}\")"),
            _ => format!("broadcast_to({scalar}, shape=[{shape}])"),
        }
    }
}
