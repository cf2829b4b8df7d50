//! The notation of patterns: Python expressions, as pattern tables of TVM have them.
//!
//! `is_op("nn.relu")(is_op("add")(wildcard(), is_constant()))`, `|`, `+ - * /`, `.optional(lambda x: ...)`, `.has_attr({...})`,
//! `.has_dtype("float32")`. A bare name is a wildcard, and the same one wherever it stands; `(c := is_constant())` names
//! another pattern. `nn.relu(x)` is short for `is_op("nn.relu")(x)`, and `p.through("cast")` one cast or more of what `p`
//! matches: both are not TVM's.

use crate::ir::{AttrValue, DType, Double, Id, Name, OpId};
use crate::ops::{self, OpPattern};
use crate::parse::suggest;
use crate::pass::call::{CallArg, parse_calls};
use crate::pass::spec::Literal;
use crate::pattern::{Pat, Pattern, Patterns};

/// A pattern that was read.
pub struct Notation<'t> {
    /// The parts, each behind its own parts.
    pub patterns: Patterns,
    /// The whole.
    pub whole: Pat,
    /// The parts that have names.
    pub names: Vec<(&'t str, Pat)>,
}

/// Brackets deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// Reads a pattern of Relay. `name` interns the texts of attributes. `Err` says what was not understood.
pub fn parse<'t>(text: &'t str, name: &mut dyn FnMut(&str) -> Id<Name>) -> Result<Notation<'t>, String> {
    let mut reader = Reader { rest: text, intern: name, names: Vec::new(), patterns: Patterns::default(), depth: 0 };
    let whole = reader.either()?;
    match reader.peek() {
        "" => Ok(Notation { patterns: reader.patterns, whole, names: reader.names }),
        rest => Err(format!("cannot read `{rest}`")),
    }
}

struct Reader<'t, 'n> {
    rest: &'t str,
    intern: &'n mut dyn FnMut(&str) -> Id<Name>,
    /// What names stand for.
    names: Vec<(&'t str, Pat)>,
    patterns: Patterns,
    depth: usize,
}

const MAKERS: [&str; 6] = ["is_op", "wildcard", "is_constant", "is_var", "is_tuple", "is_tuple_get_item"];
const METHODS: [&str; 4] = ["optional", "has_attr", "has_dtype", "through"];

impl<'t> Reader<'t, '_> {
    fn peek(&mut self) -> &'t str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn take(&mut self, token: char) -> bool {
        let rest = self.peek().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn want(&mut self, token: char) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(format!("`{token}` was expected at `{}`", self.peek())) }
    }

    fn word(&mut self) -> &'t str {
        let rest = self.peek();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.rest = &rest[end..];
        &rest[..end]
    }

    fn add(&mut self, form: Pattern) -> Pat {
        self.patterns.add(form)
    }

    fn call(&mut self, op: OpId, args: Vec<Pat>) -> Pat {
        let callee = self.add(Pattern::Op(op));
        self.add(Pattern::Call { callee, args, more: false })
    }

    /// Reads the operator of that name.
    fn op(&self, name: &str) -> Result<OpId, String> {
        let names = || ops::all().iter().filter(|info| info.relay_rule().is_some()).map(|info| info.name);
        let near = || suggest::nearest(name, names()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        ops::lookup(name).ok_or_else(|| format!("there is no operator `{name}`{}", near()))
    }

    /// Reads the dotted name of an operator before a bracket, if one stands here.
    fn op_in_short(&mut self) -> Option<OpId> {
        let rest = self.peek();
        let (name, _) = rest.split_once('(')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let op = ops::lookup(name).filter(|_| is_name)?;
        self.rest = &rest[name.len() + 1..];
        Some(op)
    }

    /// Converts a literal to the value of an attribute.
    fn value(&mut self, literal: &Literal) -> Result<AttrValue, String> {
        Ok(match literal {
            Literal::None => AttrValue::Null,
            Literal::Bool(value) => AttrValue::Bool(*value),
            Literal::Int(value) => AttrValue::int(*value),
            Literal::Float(value) => AttrValue::Float(Double(*value)),
            Literal::Str(text) => AttrValue::Str((self.intern)(text)),
            Literal::List(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| self.value(item)).collect();
                AttrValue::Array(items?.into())
            }
            other => return Err(format!("an attribute has no such value: {other}")),
        })
    }

    /// Reads the attributes of `has_attr`. That of operators themselves says how they are fused.
    fn has_attr(&mut self, pattern: Pat) -> Result<Pat, String> {
        const KINDS: [OpPattern; 5] =
            [OpPattern::ElemWise, OpPattern::Broadcast, OpPattern::Injective, OpPattern::CommReduce, OpPattern::OutEWiseFusable];
        let Literal::Dict(entries) = self.literal()? else { return Err("has_attr takes a dictionary".to_owned()) };
        if let [(Literal::Str(name), Literal::Int(kind))] = entries.as_slice()
            && name == "TOpPattern"
        {
            let kind = KINDS.into_iter().find(|known| *known as i64 == *kind).unwrap_or(OpPattern::Opaque);
            let kind = self.add(Pattern::OpKind(kind));
            return Ok(self.add(Pattern::And(pattern, kind)));
        }
        let mut wanted = Vec::with_capacity(entries.len());
        for (name, value) in &entries {
            let Literal::Str(name) = name else { return Err("has_attr takes names with values".to_owned()) };
            wanted.push((name.clone(), self.value(value)?));
        }
        Ok(self.add(Pattern::Attrs(pattern, wanted)))
    }

    /// Reads the literal up to the bracket that closes what was opened before.
    fn literal(&mut self) -> Result<Literal, String> {
        let rest = self.peek();
        let (mut open, mut quote) = (0usize, None);
        let end = rest.find(|c: char| {
            match (quote, c) {
                (Some(mark), _) if mark == c => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '(' | '[' | '{') => open += 1,
                (None, ')' | ']' | '}' | ',') if open == 0 => return true,
                (None, ')' | ']' | '}') => open -= 1,
                _ => {}
            }
            false
        });
        let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = after;
        let read = parse_calls(&format!("value({text})")).ok().and_then(|calls| calls.into_iter().next());
        match read.and_then(|call| call.args.into_iter().next()) {
            Some((None, CallArg::Literal(literal))) => Ok(literal),
            _ => Err(format!("a value was expected at `{text}`")),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        match self.literal()? {
            Literal::Str(text) => Ok(text),
            _ => Err("a text was expected".to_owned()),
        }
    }

    fn either(&mut self) -> Result<Pat, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the pattern is nested too deeply".to_owned());
        }
        let mut left = self.binary(0)?;
        while self.take('|') {
            let right = self.binary(0)?;
            left = self.patterns.either(left, right);
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Reads sums (`level` 0) or products.
    fn binary(&mut self, level: usize) -> Result<Pat, String> {
        const OPERATORS: [[(char, &str); 2]; 2] = [[('+', "add"), ('-', "subtract")], [('*', "multiply"), ('/', "divide")]];
        let mut left = if level == 0 { self.binary(1)? } else { self.postfix()? };
        while let Some((_, name)) = OPERATORS[level].into_iter().find(|(token, _)| self.take(*token)) {
            let right = if level == 0 { self.binary(1)? } else { self.postfix()? };
            left = self.call(ops::op(name), vec![left, right]);
        }
        Ok(left)
    }

    /// Reads patterns up to a bracket.
    fn list(&mut self, close: char) -> Result<Vec<Pat>, String> {
        let mut found = Vec::new();
        while !self.take(close) {
            found.push(self.either()?);
            if !self.take(',') {
                self.want(close)?;
                break;
            }
        }
        Ok(found)
    }

    fn postfix(&mut self) -> Result<Pat, String> {
        let mut pattern = self.atom()?;
        loop {
            if self.take('(') {
                let args = self.list(')')?;
                pattern = self.patterns.call(pattern, &args);
                continue;
            }
            if !self.take('.') {
                return Ok(pattern);
            }
            let method = self.word();
            self.want('(')?;
            pattern = match method {
                "optional" => self.optional(pattern)?,
                "has_attr" => self.has_attr(pattern)?,
                "through" => {
                    let name = self.text()?;
                    let op = self.op(&name)?;
                    self.add(Pattern::Chain { op, end: pattern })
                }
                "has_dtype" => {
                    let name = self.text()?;
                    let dtype = DType::parse(&name).ok_or_else(|| format!("`{name}` is no type of elements"))?;
                    self.add(Pattern::DType(pattern, dtype))
                }
                _ => return Err(unknown(method, &METHODS)),
            };
            self.want(')')?;
        }
    }

    fn optional(&mut self, pattern: Pat) -> Result<Pat, String> {
        if self.word() != "lambda" {
            return Err("optional takes a function: optional(lambda x: is_op(\"nn.relu\")(x))".to_owned());
        }
        let name = self.word();
        self.want(':')?;
        self.names.push((name, pattern));
        let longer = self.either()?;
        self.names.retain(|(_, known)| *known != pattern);
        Ok(self.patterns.either(longer, pattern))
    }

    fn atom(&mut self) -> Result<Pat, String> {
        if self.take('(') {
            let before = self.rest;
            let name = self.word();
            let is_named = !name.is_empty() && self.peek().starts_with(":=");
            self.rest = if is_named { &self.rest[2..] } else { before };
            let inner = self.either()?;
            if is_named {
                self.names.push((name, inner));
            }
            self.want(')')?;
            return Ok(inner);
        }
        if let Some(op) = self.op_in_short() {
            let args = self.list(')')?;
            return Ok(self.call(op, args));
        }
        let name = self.word();
        if name.is_empty() {
            return Err(format!("a pattern was expected at `{}`", self.peek()));
        }
        if !self.take('(') {
            if let Some((_, known)) = self.names.iter().rev().find(|(other, _)| *other == name) {
                return Ok(*known);
            }
            let any = self.patterns.wildcard();
            self.names.push((name, any));
            return Ok(any);
        }
        let form = match name {
            "is_op" => {
                let name = self.text()?;
                Pattern::Op(self.op(&name)?)
            }
            "wildcard" => Pattern::Wildcard,
            "is_constant" => Pattern::Constant,
            "is_var" if self.peek().starts_with(')') => Pattern::Var(None),
            "is_var" => Pattern::Var(Some(self.text()?)),
            "is_tuple" => {
                self.want('[')?;
                Pattern::Tuple(self.list(']')?)
            }
            "is_tuple_get_item" => {
                let tuple = self.either()?;
                let index = if self.take(',') { self.literal()? } else { Literal::None };
                let index = if let Literal::Int(index) = index { u32::try_from(index).ok() } else { None };
                Pattern::TupleGetItem { tuple, index }
            }
            _ => return Err(unknown(name, &MAKERS)),
        };
        self.want(')')?;
        Ok(self.add(form))
    }
}

fn unknown(name: &str, all: &[&'static str]) -> String {
    let near = suggest::nearest(name, all.iter().copied()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("`{name}` is not known in a pattern; {} are{near}", all.join(", "))
}
