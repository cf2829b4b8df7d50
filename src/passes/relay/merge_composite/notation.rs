//! The notation of patterns: Python expressions, as pattern tables of TVM have them.
//!
//! `is_op("nn.relu")(is_op("add")(wildcard(), is_constant()))`, `|`, `+ - * /`, `.optional(lambda x: ...)`, `.has_attr({...})`,
//! `.has_dtype("float32")`. A bare name is a wildcard, and the same one wherever it stands.

use crate::ir::{DType, OpId};
use crate::ops;
use crate::parse::suggest;
use crate::pass::call::{CallArg, parse_calls};
use crate::pass::spec::Literal;

/// The place of a pattern in [`Patterns`].
pub(super) type Pat = usize;

/// The form of a pattern.
pub(super) enum Form {
    Any,
    Constant,
    Var(Option<String>),
    Call(OpId, Vec<Pat>),
    Tuple(Vec<Pat>),
    Item(Pat, Option<i64>),
    Or(Pat, Pat),
    Attrs(Pat, Vec<(Literal, Literal)>),
    DType(Pat, DType),
}

/// Patterns, each behind its parts: the last is the whole.
#[derive(Default)]
pub(super) struct Patterns(pub Vec<Form>);

/// Brackets deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// Reads a pattern. `Err` says what was not understood.
pub(super) fn parse(text: &str) -> Result<(Patterns, Pat), String> {
    let mut reader = Reader { rest: text, names: Vec::new(), patterns: Patterns::default(), depth: 0 };
    let whole = reader.either()?;
    match reader.peek() {
        "" => Ok((reader.patterns, whole)),
        rest => Err(format!("cannot read `{rest}`")),
    }
}

struct Reader<'t> {
    rest: &'t str,
    /// What names stand for.
    names: Vec<(&'t str, Pat)>,
    patterns: Patterns,
    depth: usize,
}

const MAKERS: [&str; 6] = ["is_op", "wildcard", "is_constant", "is_var", "is_tuple", "is_tuple_get_item"];
const METHODS: [&str; 3] = ["optional", "has_attr", "has_dtype"];

impl<'t> Reader<'t> {
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

    fn add(&mut self, form: Form) -> Pat {
        self.patterns.0.push(form);
        self.patterns.0.len() - 1
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
            left = self.add(Form::Or(left, right));
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
            left = self.add(Form::Call(ops::op(name), vec![left, right]));
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
        while self.take('.') {
            let method = self.word();
            self.want('(')?;
            pattern = match method {
                "optional" => self.optional(pattern)?,
                "has_attr" => match self.literal()? {
                    Literal::Dict(entries) => self.add(Form::Attrs(pattern, entries)),
                    _ => return Err("has_attr takes a dictionary".to_owned()),
                },
                "has_dtype" => {
                    let name = self.text()?;
                    let dtype = DType::parse(&name).ok_or_else(|| format!("`{name}` is no type of elements"))?;
                    self.add(Form::DType(pattern, dtype))
                }
                _ => return Err(unknown(method, &METHODS)),
            };
            self.want(')')?;
        }
        Ok(pattern)
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
        Ok(self.add(Form::Or(longer, pattern)))
    }

    fn atom(&mut self) -> Result<Pat, String> {
        if self.take('(') {
            let inner = self.either()?;
            self.want(')')?;
            return Ok(inner);
        }
        let name = self.word();
        if name.is_empty() {
            return Err(format!("a pattern was expected at `{}`", self.peek()));
        }
        if !self.take('(') {
            if let Some((_, known)) = self.names.iter().rev().find(|(other, _)| *other == name) {
                return Ok(*known);
            }
            let any = self.add(Form::Any);
            self.names.push((name, any));
            return Ok(any);
        }
        let form = match name {
            "is_op" => {
                let op = self.text()?;
                self.want(')')?;
                let names = || ops::all().iter().filter(|info| info.relay_rule().is_some()).map(|info| info.name);
                let near = || suggest::nearest(&op, names()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                let id = ops::lookup(&op).ok_or_else(|| format!("there is no operator `{op}`{}", near()))?;
                self.want('(')?;
                let args = self.list(')')?;
                return Ok(self.add(Form::Call(id, args)));
            }
            "wildcard" => Form::Any,
            "is_constant" => Form::Constant,
            "is_var" if self.peek().starts_with(')') => Form::Var(None),
            "is_var" => Form::Var(Some(self.text()?)),
            "is_tuple" => {
                self.want('[')?;
                Form::Tuple(self.list(']')?)
            }
            "is_tuple_get_item" => {
                let tuple = self.either()?;
                let index = if self.take(',') { self.literal()? } else { Literal::None };
                Form::Item(tuple, if let Literal::Int(index) = index { Some(index) } else { None })
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
