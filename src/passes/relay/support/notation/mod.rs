//! The notation of patterns: Python expressions, as pattern tables of TVM have them.
//!
//! `is_op("nn.relu")(is_op("add")(wildcard(), is_constant()))`, `|`, `+ - * /`, `.optional(lambda x: ...)`, `.has_attr({...})`,
//! `.has_dtype("float32")`. A bare name is a wildcard, and the same one wherever it stands; `(c := is_constant())` names
//! another pattern. `nn.relu(x)` is short for `is_op("nn.relu")(x)`, and `p.through("cast")` one cast or more of what `p`
//! matches: both are not TVM's.

mod rare;
mod right;

pub use right::Right;

use crate::ir::{Id, Name, OpId};
use crate::ops::{self, OpPattern};
use crate::pattern::{Pat, Pattern, Patterns};

/// A pattern that was read.
pub struct Notation<'t> {
    /// The parts, each behind its own parts.
    pub patterns: Patterns,
    /// The whole.
    pub whole: Pat,
    /// The parts that have names.
    pub names: Vec<(&'t str, Pat)>,
    /// The right side of a rule.
    pub right: Option<Right<'t>>,
}

/// The operators of sums and of products.
const OPERATORS: [[(char, &str); 2]; 2] = [[('+', "add"), ('-', "subtract")], [('*', "multiply"), ('/', "divide")]];

/// Brackets deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// Reads a rule of Relay: a pattern, and where `=>` follows, the expression that a match becomes.
pub fn parse_rule(text: &str) -> Result<Notation<'_>, String> {
    let mut no_text = |text: &str| panic!("the pattern of a rule has the text {text}");
    let mut reader = Reader { rest: text, intern: &mut no_text, names: Vec::new(), patterns: Patterns::default(), depth: 0 };
    let whole = reader.either()?;
    let right = reader.right()?;
    reader.end(whole, right)
}

/// Reads a pattern of Relay. `name` interns the texts of attributes. `Err` says what was not understood.
pub fn parse<'t>(text: &'t str, name: &mut dyn FnMut(&str) -> Id<Name>) -> Result<Notation<'t>, String> {
    let mut reader = Reader { rest: text, intern: name, names: Vec::new(), patterns: Patterns::default(), depth: 0 };
    let whole = reader.either()?;
    reader.end(whole, None)
}

struct Reader<'t, 'n> {
    rest: &'t str,
    intern: &'n mut dyn FnMut(&str) -> Id<Name>,
    /// The patterns that names stand for.
    names: Vec<(&'t str, Pat)>,
    patterns: Patterns,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    fn end(mut self, whole: Pat, right: Option<Right<'t>>) -> Result<Notation<'t>, String> {
        match self.peek() {
            "" => Ok(Notation { patterns: self.patterns, whole, names: self.names, right }),
            rest => Err(format!("cannot read `{rest}`")),
        }
    }

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
        ops::lookup(name).ok_or_else(|| rare::no_operator(name))
    }

    /// Reads the dotted name of an operator before a bracket, if one stands here.
    fn op_in_short(&mut self) -> Result<Option<OpId>, String> {
        let rest = self.peek();
        let Some((name, _)) = rest.split_once('(') else { return Ok(None) };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let Some(op) = ops::lookup(name).filter(|_| is_name) else {
            return if is_name { self.no_method(name).map(|()| None) } else { Ok(None) };
        };
        self.rest = &rest[name.len() + 1..];
        Ok(Some(op))
    }

    /// Reads the attributes of `has_attr`. That of operators themselves says how they are fused.
    fn has_attr(&mut self, pattern: Pat) -> Result<Pat, String> {
        const KINDS: [OpPattern; 6] = [
            OpPattern::ElemWise,
            OpPattern::Broadcast,
            OpPattern::Injective,
            OpPattern::CommReduce,
            OpPattern::OutEWiseFusable,
            OpPattern::Opaque,
        ];
        let before = self.peek();
        if !(self.take('{') && self.text().is_ok_and(|name| name == "TOpPattern") && self.take(':')) {
            self.rest = before;
            return self.attrs(pattern);
        }
        let number = self.word();
        let kind = KINDS.into_iter().find(|kind| number.parse() == Ok(*kind as u8));
        let kind = kind.ok_or_else(|| format!("TOpPattern is 0 to 4 or 8, not `{number}`"))?;
        self.want('}')?;
        let kind = self.add(Pattern::OpKind(kind));
        Ok(self.add(Pattern::And(pattern, kind)))
    }

    /// Reads a text in quotes, as names are.
    fn text(&mut self) -> Result<&'t str, String> {
        let rest = self.peek();
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let quoted = quoted.or_else(|| rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')));
        let (text, after) = quoted.ok_or("a text was expected")?;
        self.rest = after;
        Ok(text)
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
                "has_attr" => self.has_attr(pattern)?,
                "through" => {
                    let name = self.text()?;
                    let op = self.op(name)?;
                    self.add(Pattern::Chain { op, end: pattern })
                }
                _ => self.rare_method(method, pattern)?,
            };
            self.want(')')?;
        }
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
        if let Some(op) = self.op_in_short()? {
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
                Pattern::Op(self.op(name)?)
            }
            "wildcard" => Pattern::Wildcard,
            "is_constant" => Pattern::Constant,
            _ => self.rare_form(name)?,
        };
        self.want(')')?;
        Ok(self.add(form))
    }
}
