//! Forms that no rule of ours has, and what is said of those that nothing has.

use super::Reader;
use crate::ir::{AttrValue, DType, Dialect, Double};
use crate::ops;
use crate::parse::suggest;
use crate::pass::call::{CallArg, parse_calls};
use crate::pass::spec::Literal;
use crate::pattern::{Pat, Pattern};

const MAKERS: [&str; 6] = ["is_op", "wildcard", "is_constant", "is_var", "is_tuple", "is_tuple_get_item"];
const METHODS: [&str; 4] = ["optional", "has_attr", "has_dtype", "through"];

impl Reader<'_, '_> {
    /// Reads the arguments of a method.
    pub(super) fn rare_method(&mut self, method: &str, pattern: Pat) -> Result<Pat, String> {
        match method {
            "optional" => self.optional(pattern),
            "has_dtype" => {
                let name = self.text()?;
                let dtype = DType::parse(name).ok_or_else(|| format!("`{name}` is no type of elements"))?;
                Ok(self.add(Pattern::DType(pattern, dtype)))
            }
            _ => Err(unknown(method, &METHODS)),
        }
    }

    /// Reads the arguments of a maker.
    pub(super) fn rare_form(&mut self, name: &str) -> Result<Pattern, String> {
        Ok(match name {
            "is_var" if self.peek().starts_with(')') => Pattern::Var(None),
            "is_var" => Pattern::Var(Some(self.text()?.to_owned())),
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
        })
    }

    /// Refuses a dotted name that is no operator, unless it looks like a method of a part.
    pub(super) fn no_method(&self, name: &str) -> Result<(), String> {
        let Some((part, method)) = name.split_once('.') else { return Ok(()) };
        let is_method = suggest::nearest(method, METHODS.iter().copied()).is_some();
        if is_method || self.names.iter().any(|(known, _)| *known == part) { Ok(()) } else { Err(no_operator(name)) }
    }

    /// Reads the attributes of a call, and makes the pattern that asks for them.
    pub(super) fn attrs(&mut self, pattern: Pat) -> Result<Pat, String> {
        let Literal::Dict(entries) = self.literal()? else { return Err("has_attr takes a dictionary".to_owned()) };
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

    fn optional(&mut self, pattern: Pat) -> Result<Pat, String> {
        if self.word() != "lambda" {
            return Err("optional takes a function: optional(lambda x: is_op(\"nn.relu\")(x))".to_owned());
        }
        let name = self.word();
        self.want(':')?;
        let own = self.names.len();
        self.names.push((name, pattern));
        let longer = self.either()?;
        self.names.remove(own);
        Ok(self.patterns.either(longer, pattern))
    }
}

/// Says that there is no such operator, and the nearest one.
pub(super) fn no_operator(name: &str) -> String {
    let near =
        suggest::nearest(name, ops::names(Dialect::Relay)).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("there is no operator `{name}`{near}")
}

fn unknown(name: &str, all: &[&'static str]) -> String {
    let known = all.iter().copied().chain(ops::names(Dialect::Relay));
    let near = suggest::nearest(name, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("`{name}` is not known in a pattern; {} are{near}", all.join(", "))
}
