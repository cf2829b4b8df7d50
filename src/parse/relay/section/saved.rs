//! Programs of Relay in JSON, as `tvm.ir.save_json` writes them in TVM 0.7 to 0.19: a graph of the same form as a metadata
//! section, with functions and expressions in it.

use super::super::super::json::{self, Json};
use super::super::super::suggest::nearest;
use super::{Convert, MetaValue, Section};
use crate::ir::{
    Adt, AttrValue, Attrs, AttrsId, Clause, Ctor, CtorId, Expr, ExprId, Function, Id, List, Module, Name, Object, Pattern,
    PatternId, Store, Type, TypeId, TypeVar, VarId,
};
use crate::ops;
use rustc_hash::FxHashMap;

/// The object that a graph is about.
pub(in crate::parse) enum Saved {
    Module(Module),
    /// A function or another expression that stands alone.
    Expr(ExprId),
}

/// Reads a graph. Types are those that are saved, and were not checked.
pub(in crate::parse) fn read(store: &mut Store, text: &str) -> Convert<Saved> {
    let root = json::read(text).map_err(|error| format!("this is no JSON: {} at byte {}", error.message, error.offset))?;
    let top = root.get("root").and_then(Json::as_index);
    let section = Section::of(root);
    let top = top.filter(|top| *top < section.nodes.len()).ok_or("the graph has no root")?;
    let mut graph = Graph { section, store, exprs: FxHashMap::default(), ctors: FxHashMap::default() };
    if graph.section.key(top) == "IRModule" { graph.module(top).map(Saved::Module) } else { graph.expr(top).map(Saved::Expr) }
}

struct Graph<'a> {
    section: Section,
    store: &'a mut Store,
    /// Expressions by node; nothing for one whose parts are being read.
    exprs: FxHashMap<usize, Option<ExprId>>,
    ctors: FxHashMap<usize, CtorId>,
}

impl Graph<'_> {
    fn value(&mut self, node: usize) -> Convert<AttrValue> {
        self.section.value(self.store, node, 0)
    }

    /// The node that a field names; nothing where the field is missing or null.
    fn optional(&self, node: usize, name: &str) -> Convert<Option<usize>> {
        if self.section.field(node, name).is_none() {
            return Ok(None);
        }
        let link = self.section.link(node, name)?;
        Ok((!self.section.key(link).is_empty()).then_some(link))
    }

    /// The nodes of a list that a field names.
    fn nodes(&self, node: usize, name: &str) -> Convert<Vec<usize>> {
        match self.optional(node, name)? {
            Some(list) => self.section.indices(list),
            None => Ok(Vec::new()),
        }
    }

    fn module(&mut self, node: usize) -> Convert<Module> {
        let mut module = Module::new();
        let definitions = self.nodes(node, "type_definitions")?;
        for pair in definitions.chunks_exact(2) {
            let (name, adt) = (self.named(pair[0])?, self.adt(pair[1])?);
            let adt = self.store.add_adt(adt);
            module.set_adt(name, adt);
        }
        let functions = self.nodes(node, "functions")?;
        for pair in functions.chunks_exact(2) {
            let name = self.named(pair[0])?;
            match self.section.key(pair[1]) {
                "relay.Function" => {
                    let function = self.expr(pair[1])?;
                    module.set_function(name, function);
                }
                kind => return Err(format!("`@{}` is no function of Relay: {}", self.store.str(name), foreign(kind))),
            }
        }
        Ok(module)
    }

    /// The name of a global variable or type.
    fn named(&mut self, node: usize) -> Convert<Id<Name>> {
        match self.section.key(node) {
            "GlobalVar" | "GlobalTypeVar" | "relay.GlobalVar" => self.section.text_field(self.store, node, "name_hint", 0),
            kind => Err(format!("an object of type `{kind}` stands where the name of a definition is expected")),
        }
    }

    fn adt(&mut self, node: usize) -> Convert<Adt> {
        let header = self.section.link(node, "header")?;
        let name = self.named(header)?;
        let type_params = self.type_params(node, "type_vars")?.into();
        let nodes = self.nodes(node, "constructors")?;
        let ctors: Box<[CtorId]> = nodes.into_iter().map(|ctor| self.ctor(ctor)).collect::<Convert<_>>()?;
        Ok(Adt { name, type_params, is_extern: ctors.is_empty(), ctors })
    }

    fn ctor(&mut self, node: usize) -> Convert<CtorId> {
        if let Some(&known) = self.ctors.get(&node) {
            return Ok(known);
        }
        let name = self.section.text_field(self.store, node, "name_hint", 0)?;
        let inputs = self.section.types(self.store, node, "inputs", 0)?;
        let belongs_to = self.section.link(node, "belong_to")?;
        let adt = self.named(belongs_to)?;
        let tag = self.section.needed(node, "tag")?.parse().unwrap_or_default();
        let ctor = self.store.add_ctor(Ctor { name, inputs, adt, tag });
        self.ctors.insert(node, ctor);
        Ok(ctor)
    }

    fn type_params(&mut self, node: usize, field: &str) -> Convert<Vec<Id<TypeVar>>> {
        let mut params = Vec::new();
        for param in self.nodes(node, field)? {
            match self.value(param)? {
                AttrValue::Type(ty) if let Type::Var(var) = *self.store.type_of_id(ty) => params.push(var),
                _ => return Err(format!("`{field}` holds something that is no type variable")),
            }
        }
        Ok(params)
    }

    fn optional_type(&mut self, node: usize, field: &str) -> Convert<Option<TypeId>> {
        match self.optional(node, field)? {
            Some(link) => match self.value(link)? {
                AttrValue::Type(ty) => Ok(Some(ty)),
                _ => Err(format!("field `{field}` of `{}` is not a type", self.section.key(node))),
            },
            None => Ok(None),
        }
    }

    /// Reads an expression, with those that it is made of. Keeps its own stack, because a network is as deep as it is long.
    fn expr(&mut self, root: usize) -> Convert<ExprId> {
        let mut stack = vec![root];
        while let Some(&node) = stack.last() {
            match self.exprs.get(&node) {
                Some(Some(_)) => {
                    stack.pop();
                }
                Some(None) => {
                    let expr = self.build(node)?;
                    self.exprs.insert(node, Some(expr));
                    stack.pop();
                }
                None => {
                    self.exprs.insert(node, None);
                    let mut parts = self.parts(node)?;
                    parts.retain(|part| !matches!(self.exprs.get(part), Some(Some(_))));
                    if parts.iter().any(|part| self.exprs.contains_key(part)) {
                        return Err("its objects refer to each other in a circle".to_owned());
                    }
                    stack.extend(parts);
                }
            }
        }
        Ok(self.done(root))
    }

    /// An expression that was read.
    fn done(&self, node: usize) -> ExprId {
        self.exprs.get(&node).copied().flatten().expect("parts are read before the whole")
    }

    /// The nodes of the expressions that one is made of.
    fn parts(&self, node: usize) -> Convert<Vec<usize>> {
        let links = |names: &[&str]| names.iter().map(|name| self.section.link(node, name)).collect();
        match self.section.key(node) {
            "relay.Call" => {
                let mut parts: Vec<usize> = links(&["op"])?;
                parts.extend(self.nodes(node, "args")?);
                Ok(parts)
            }
            "relay.Tuple" => self.nodes(node, "fields"),
            "relay.TupleGetItem" => links(&["tuple_value"]),
            "relay.Let" => links(&["var", "value", "body"]),
            "relay.If" => links(&["cond", "true_branch", "false_branch"]),
            "relay.Function" => links(&["body"]),
            "relay.RefCreate" => links(&["value"]),
            "relay.RefRead" => links(&["ref"]),
            "relay.RefWrite" => links(&["ref", "value"]),
            "relay.Match" => {
                let mut parts: Vec<usize> = links(&["data"])?;
                for clause in self.nodes(node, "clauses")? {
                    parts.push(self.section.link(clause, "rhs")?);
                }
                Ok(parts)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn part(&self, node: usize, name: &str) -> Convert<ExprId> {
        Ok(self.done(self.section.link(node, name)?))
    }

    fn list(&mut self, node: usize, name: &str) -> Convert<List<Expr>> {
        let items: Vec<ExprId> = self.nodes(node, name)?.into_iter().map(|item| self.done(item)).collect();
        Ok(self.store.list(&items))
    }

    fn var(&mut self, node: usize) -> Convert<VarId> {
        match self.value(node)? {
            AttrValue::Expr(expr) if let Expr::Var(var) = self.store.expr(expr) => Ok(var),
            _ => Err(format!("an object of type `{}` stands where a variable is expected", self.section.key(node))),
        }
    }

    /// Makes an expression of its parts, which were read.
    fn build(&mut self, node: usize) -> Convert<ExprId> {
        let kind = self.section.key(node).to_owned();
        let expr = match &*kind {
            "relay.Var" => {
                let var = self.var(node)?;
                let device = self.device(node)?;
                if device.is_some() {
                    self.store.set_var_device(var, device);
                }
                return Ok(self.store.use_var(var));
            }
            "relay.Constant" => match self.value(node)? {
                AttrValue::Expr(constant) => return Ok(constant),
                _ => return Err("a constant is damaged".to_owned()),
            },
            "GlobalVar" | "relay.GlobalVar" => Expr::Global(self.named(node)?),
            "Op" => {
                let name = self.section.repr(node).unwrap_or_default();
                Expr::Op(ops::lookup(&name).ok_or_else(|| unknown_op(&name))?)
            }
            "Constructor" | "relay.Constructor" => Expr::Ctor(self.ctor(node)?),
            "relay.Tuple" => Expr::Tuple(self.list(node, "fields")?),
            "relay.TupleGetItem" => {
                let index = self.section.needed(node, "index")?;
                let index = index.parse().map_err(|_| format!("`{index}` is not the index of a field"))?;
                Expr::TupleGetItem { tuple: self.part(node, "tuple_value")?, index }
            }
            "relay.Call" => self.call(node)?,
            "relay.Let" => {
                let var = self.section.link(node, "var")?;
                Expr::Let { var: self.var(var)?, value: self.part(node, "value")?, body: self.part(node, "body")? }
            }
            "relay.If" => Expr::If {
                cond: self.part(node, "cond")?,
                then: self.part(node, "true_branch")?,
                other: self.part(node, "false_branch")?,
            },
            "relay.Function" => {
                let function = self.function(node)?;
                Expr::Function(self.store.add_function(function))
            }
            "relay.RefCreate" => Expr::RefCreate(self.part(node, "value")?),
            "relay.RefRead" => Expr::RefRead(self.part(node, "ref")?),
            "relay.RefWrite" => Expr::RefWrite { reference: self.part(node, "ref")?, value: self.part(node, "value")? },
            "relay.Match" => {
                let mut clauses = Vec::new();
                for clause in self.nodes(node, "clauses")? {
                    let pattern = self.section.link(clause, "lhs")?;
                    let clause = Clause { pattern: self.pattern(pattern, 0)?, body: self.part(clause, "rhs")? };
                    clauses.push(self.store.add_clause(clause));
                }
                let complete = self.section.needed(node, "complete")? != "0";
                Expr::Match { data: self.part(node, "data")?, clauses: self.store.list(&clauses), complete }
            }
            _ => return Err(foreign(&kind)),
        };
        let ty = self.optional_type(node, "_checked_type_")?;
        Ok(self.store.add_typed(expr, ty))
    }

    fn call(&mut self, node: usize) -> Convert<Expr> {
        let callee = self.part(node, "op")?;
        let attrs = self.attrs(node)?;
        // Operators have type arguments, too, once types are inferred; nothing looks at them.
        let mut type_args = Vec::new();
        if !matches!(self.store.expr(callee), Expr::Op(_)) {
            for arg in self.nodes(node, "type_args")? {
                if let AttrValue::Type(ty) = self.value(arg)? {
                    type_args.push(ty);
                }
            }
        }
        let args = self.list(node, "args")?;
        Ok(Expr::Call { callee, args, info: self.store.add_call_info(attrs, &type_args) })
    }

    /// The attributes of a call or a function; a function without any has an empty dictionary.
    fn attrs(&mut self, node: usize) -> Convert<Option<AttrsId>> {
        let Some(link) = self.optional(node, "attrs")? else { return Ok(None) };
        match self.section.convert(self.store, link, 0)? {
            MetaValue::Attrs(attrs) => {
                let found = self.store.attrs_of_id(attrs);
                let nothing = found.fields.is_empty() && self.store.str(found.key) == "DictAttrs";
                Ok((!nothing).then_some(attrs))
            }
            // Attributes of a type that no operator here has.
            MetaValue::Value(AttrValue::Object(object)) => {
                let Object { key, fields, .. } = self.store.object(object).clone();
                Ok(Some(self.store.attrs(Attrs { key, fields })))
            }
            MetaValue::Value(_) => Err(format!("an object of type `{}` is no set of attributes", self.section.key(link))),
        }
    }

    /// The device of a function or a variable. TVM writes one of type -1 where none is chosen.
    fn device(&mut self, node: usize) -> Convert<Option<Id<Object>>> {
        let Some(link) = self.optional(node, "virtual_device_")? else { return Ok(None) };
        if self.section.field(link, "device_type_int") == Some("-1") {
            return Ok(None);
        }
        match self.value(link)? {
            AttrValue::Object(device) => Ok(Some(device)),
            _ => Err("a virtual device is damaged".to_owned()),
        }
    }

    fn function(&mut self, node: usize) -> Convert<Function> {
        let mut params = Vec::new();
        for param in self.nodes(node, "params")? {
            let var = self.expr(param)?;
            match self.store.expr(var) {
                Expr::Var(var) => params.push(var),
                _ => return Err("a parameter is no variable".to_owned()),
            }
        }
        let type_params = self.type_params(node, "type_params")?;
        Ok(Function {
            params: self.store.list(&params),
            type_params: self.store.list(&type_params),
            ret: self.optional_type(node, "ret_type")?,
            body: self.part(node, "body")?,
            attrs: self.attrs(node)?,
            device: self.device(node)?,
            pure: true,
        })
    }

    fn pattern(&mut self, node: usize, depth: usize) -> Convert<PatternId> {
        if depth > super::MAX_DEPTH {
            return Err("its patterns are nested too deeply".to_owned());
        }
        let kind = self.section.key(node).to_owned();
        let mut fields = Vec::new();
        for field in self.nodes(node, "patterns")? {
            fields.push(self.pattern(field, depth + 1)?);
        }
        let fields = self.store.list(&fields);
        let pattern = match &*kind {
            "relay.PatternWildcard" => Pattern::Wildcard,
            "relay.PatternVar" => {
                let var = self.section.link(node, "var")?;
                Pattern::Var(self.var(var)?)
            }
            "relay.PatternConstructor" => {
                let ctor = self.section.link(node, "constructor")?;
                Pattern::Ctor { ctor: self.ctor(ctor)?, fields }
            }
            "relay.PatternTuple" => Pattern::Tuple(fields),
            _ => return Err(format!("an object of type `{kind}` is no pattern")),
        };
        Ok(self.store.add_pattern(pattern))
    }
}

/// The reason why an object is not read.
fn foreign(kind: &str) -> String {
    let family = match kind {
        "" => return "an object is missing".to_owned(),
        _ if kind.starts_with("relax.") => "functions of Relax",
        "tir.PrimFunc" => "tensor programs",
        _ => return format!("objects of type `{kind}` are not read here"),
    };
    format!("{family} are read from JSON of TVM 0.21 and later")
}

fn unknown_op(name: &str) -> String {
    let names = ops::all().iter().filter(|op| op.relay.is_some()).map(|op| op.name);
    let near = nearest(name, names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("there is no operator `{name}`{near}")
}

#[cfg(test)]
mod tests;
