//! The notation in which passes are written: a call as TVM's Python writes it.
//!
//! `FuseOps(fuse_opt_level=2)`, `Sequential([FoldConstant(), FuseOps()], opt_level=2)`; a bare name is a call
//! without arguments. Literals are Python's. A list of calls is separated by commas.

use super::spec::{Args, Literal, Param};
use crate::diag::{Diagnostic, Span};
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{char, multispace0};
use nom::combinator::{opt, recognize, value};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};
use std::fmt;

/// A pass as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct PassCall {
    /// Name of the factory.
    pub name: String,
    /// Arguments in order; without a name where they were given by place.
    pub args: Vec<(Option<String>, CallArg)>,
}

impl PassCall {
    /// Returns the description of a target, if this is one: `tvm.target.Target({"kind": "llvm"})`.
    pub fn as_target(&self) -> Option<&Literal> {
        let name = self.name.strip_prefix("tvm.").unwrap_or(&self.name);
        match (name, self.args.as_slice()) {
            ("target.Target" | "Target", [(None, CallArg::Literal(literal))]) => Some(literal),
            _ => None,
        }
    }
}

/// An argument of a pass call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallArg {
    /// A Python literal.
    Literal(Literal),
    /// A pass: the first argument of `ApplyPassToFunction`.
    Pass(PassCall),
    /// A list of passes: the first argument of `Sequential`.
    Passes(Vec<PassCall>),
}

/// Brackets deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// Reads a list of pass calls. The empty text is the empty list.
pub fn parse_calls(text: &str) -> Result<Vec<PassCall>, Diagnostic> {
    let fail = |rest: &str| {
        let at = text.len() - rest.len();
        let found = rest.chars().next().map_or("the end".to_owned(), |c| format!("`{c}`"));
        Diagnostic::error("pass-syntax", format!("cannot read the pass list at {found}"), Span::new(at, text.len().min(at + 1)))
            .with_note("write passes as TVM's Python does: FoldConstant(), FuseOps(fuse_opt_level=2)")
    };
    let mut rest = text.trim_start();
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (after, call) = pass_call(rest, 0).map_err(|e| fail(remaining(&e, rest)))?;
        calls.push(call);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() => {}
            None => return Err(fail(rest)),
        }
    }
    Ok(calls)
}

/// Binds the arguments of a call to these parameters, defaults filled in. Passes among them become their text. The
/// error names an argument that does not fit.
pub fn bind(params: &'static [Param], call: &PassCall) -> Result<Args, Diagnostic> {
    let error = |text: String| Diagnostic::error("pass-argument", text, None);
    let mut values: Vec<Option<Literal>> = params.iter().map(|_| None).collect();
    let takes_rest = params.first().is_some_and(|param| param.is_rest());
    for (place, (name, arg)) in call.args.iter().enumerate() {
        let index = match name {
            Some(name) => params.iter().position(|p| p.name == name),
            None if takes_rest => Some(0),
            None => Some(place).filter(|place| *place < params.len()),
        };
        let Some(index) = index else {
            let what = name.clone().unwrap_or_else(|| format!("number {}", place + 1));
            let mut error = error(format!("{} takes no argument `{what}`", call.name));
            if !params.is_empty() {
                let names: Vec<&str> = params.iter().map(|p| p.name).collect();
                error = error.with_note(format!("it takes {}", names.join(", ")));
            }
            return Err(error);
        };
        let value = match arg {
            CallArg::Literal(literal) => literal.clone(),
            CallArg::Pass(pass) => pass.as_target().cloned().unwrap_or_else(|| Literal::Str(pass.to_string())),
            CallArg::Passes(passes) => Literal::List(passes.iter().map(|pass| Literal::Str(pass.to_string())).collect()),
        };
        values[index] = Some(match (values[index].take(), value) {
            (Some(Literal::List(mut all)), value) if params[index].is_rest() => {
                match value {
                    Literal::List(more) => all.extend(more),
                    one => all.push(one),
                }
                Literal::List(all)
            }
            (_, value @ Literal::List(_)) => value,
            (_, value) if params[index].is_rest() => Literal::List(vec![value]),
            (_, value) => value,
        });
    }
    let mut args = Vec::with_capacity(params.len());
    for (param, value) in params.iter().zip(values) {
        let value = value.or_else(|| parse_literal(param.default));
        let value = value.ok_or_else(|| error(format!("{} needs the argument `{}`", call.name, param.name)))?;
        args.push((param.name, value));
    }
    Ok(Args(args))
}

/// Reads one literal: a value of the configuration.
pub fn parse_literal(text: &str) -> Option<Literal> {
    match literal(text.trim(), 0) {
        Ok(("", value)) => Some(value),
        _ => None,
    }
}

fn remaining<'t>(error: &nom::Err<nom::error::Error<&'t str>>, whole: &'t str) -> &'t str {
    match error {
        nom::Err::Error(e) | nom::Err::Failure(e) => e.input,
        nom::Err::Incomplete(_) => whole,
    }
}

fn too_deep<T>(input: &str) -> IResult<&str, T> {
    Err(nom::Err::Failure(nom::error::Error::new(input, nom::error::ErrorKind::TooLarge)))
}

fn identifier(input: &str) -> IResult<&str, &str> {
    recognize(pair(
        take_while1(|c: char| c.is_ascii_alphabetic() || c == '_'),
        take_while(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.'),
    ))
    .parse(input)
}

fn pass_call(input: &str, depth: usize) -> IResult<&str, PassCall> {
    if depth > MAX_DEPTH {
        return too_deep(input);
    }
    let (mut rest, name) = identifier(input)?;
    let mut args = Vec::new();
    if let (after, Some(_)) = opt(preceded(multispace0, char('('))).parse(rest)? {
        let (after, items) = sequence(after, ')', |i| argument(i, depth + 1))?;
        rest = after;
        args = items;
    }
    Ok((rest, PassCall { name: name.to_owned(), args }))
}

fn argument(input: &str, depth: usize) -> IResult<&str, (Option<String>, CallArg)> {
    let (rest, name) = opt((identifier, delimited(multispace0, char('='), multispace0))).parse(input)?;
    let name = name.map(|(name, _)| name.to_owned());
    if let Ok((after, value)) = literal(rest, depth) {
        return Ok((after, (name, CallArg::Literal(value))));
    }
    if let Some(rest) = rest.strip_prefix('[') {
        let (rest, passes) = sequence(rest, ']', |i| pass_call(i, depth + 1))?;
        return Ok((rest, (name, CallArg::Passes(passes))));
    }
    let (rest, pass) = pass_call(rest, depth + 1)?;
    Ok((rest, (name, CallArg::Pass(pass))))
}

/// Items separated by commas up to `close`; a trailing comma is fine.
fn sequence<'t, T>(
    input: &'t str,
    close: char,
    mut item: impl FnMut(&'t str) -> IResult<&'t str, T>,
) -> IResult<&'t str, Vec<T>> {
    let mut items = Vec::new();
    let mut rest = input.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix(close) {
            return Ok((after, items));
        }
        let (after, value) = item(rest)?;
        items.push(value);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => {
                let (after, _) = char(close).parse(rest)?;
                return Ok((after, items));
            }
        }
    }
}

fn literal(input: &str, depth: usize) -> IResult<&str, Literal> {
    if depth > MAX_DEPTH {
        return too_deep(input);
    }
    if let Some(rest) = input.strip_prefix(['[', '(']) {
        let close = if input.starts_with('[') { ']' } else { ')' };
        let (rest, items) = sequence(rest, close, |i| literal(i, depth + 1))?;
        return Ok((rest, Literal::List(items)));
    }
    if let Some(rest) = input.strip_prefix('{') {
        let (rest, items) = sequence(rest, '}', |i| {
            let (i, key) = literal(i, depth + 1)?;
            let (i, _) = delimited(multispace0, char(':'), multispace0).parse(i)?;
            let (i, value) = literal(i, depth + 1)?;
            Ok((i, (key, value)))
        })?;
        return Ok((rest, Literal::Dict(items)));
    }
    if input.starts_with(['"', '\'']) {
        return string(input);
    }
    let word = |text, literal| value(literal, (tag(text), nom::combinator::not(identifier)));
    alt((word("None", Literal::None), word("True", Literal::Bool(true)), word("False", Literal::Bool(false)), number))
        .parse(input)
}

fn number(input: &str) -> IResult<&str, Literal> {
    let end = input
        .char_indices()
        .find(|(i, c)| {
            let exponent_sign = *i > 0 && matches!(c, '+' | '-') && input[..*i].ends_with(['e', 'E']);
            !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || (*i == 0 && matches!(c, '-' | '+')) || exponent_sign)
        })
        .map_or(input.len(), |(i, _)| i);
    let (text, rest) = input.split_at(end);
    let parsed = text.parse().map(Literal::Int).or_else(|_| text.parse().map(Literal::Float));
    parsed
        .map(|literal| (rest, literal))
        .map_err(|_| nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Digit)))
}

fn string(input: &str) -> IResult<&str, Literal> {
    let quote = input.chars().next().unwrap_or('"');
    let mut text = String::new();
    let mut chars = input.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 't')) => text.push('\t'),
                Some((_, c)) => text.push(c),
                None => break,
            },
            c if c == quote => return Ok((&input[i + 1..], Literal::Str(text))),
            c => text.push(c),
        }
    }
    Err(nom::Err::Error(nom::error::Error::new(input, nom::error::ErrorKind::Char)))
}

impl fmt::Display for PassCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (i, (name, arg)) in self.args.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            if let Some(name) = name {
                write!(f, "{name}=")?;
            }
            match arg {
                CallArg::Literal(literal) => write!(f, "{literal}")?,
                CallArg::Pass(pass) => write!(f, "{pass}")?,
                CallArg::Passes(passes) => write_list(f, '[', passes, ']')?,
            }
        }
        f.write_str(")")
    }
}

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, open: char, items: &[T], close: char) -> fmt::Result {
    write!(f, "{open}")?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    write!(f, "{close}")
}

impl Literal {
    /// Returns the numbers of a list of integers; `None` for anything else.
    pub fn ints(&self) -> Option<Vec<i64>> {
        let Literal::List(items) = self else { return None };
        items.iter().map(|item| if let Literal::Int(number) = item { Some(*number) } else { None }).collect()
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::None => f.write_str("None"),
            Literal::Bool(true) => f.write_str("True"),
            Literal::Bool(false) => f.write_str("False"),
            Literal::Int(i) => write!(f, "{i}"),
            // As large as it gets, in digits: `inf` would be a name.
            Literal::Float(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "1e999" } else { "-1e999" }),
            Literal::Float(x) => write!(f, "{x:?}"),
            Literal::Str(s) => {
                let escaped = s.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
                write!(f, "\"{escaped}\"")
            }
            Literal::List(items) => write_list(f, '[', items, ']'),
            Literal::Dict(items) => {
                f.write_str("{")?;
                for (i, (key, value)) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{key}: {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> String {
        let calls = parse_calls(text).unwrap();
        calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn calls_print_as_python_reads_them() {
        assert_eq!(round_trip("FoldConstant"), "FoldConstant()");
        let nested = "Sequential([FoldConstant(), FuseOps(fuse_opt_level=2)], opt_level=2)";
        assert_eq!(round_trip(nested), nested);
        let applied = r#"ApplyPassToFunction(Sequential([FoldConstant()]), "main")"#;
        assert_eq!(round_trip(applied), applied);
        let layouts = r#"ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]})"#;
        assert_eq!(round_trip(layouts), layouts);
        assert_eq!(round_trip("A( 'x\\'y' , 1e-5,None ,),B"), "A(\"x'y\", 1e-5, None), B()");
    }

    #[test]
    fn an_infinity_is_written_as_a_number_that_is_read() {
        assert_eq!(round_trip("A(1e999, -1e400)"), "A(1e999, -1e999)");
    }

    #[test]
    fn a_broken_list_says_where() {
        let error = parse_calls("FoldConstant(, FuseOps").unwrap_err();
        assert_eq!(error.span, Some(Span::new(13, 14)));
        assert!(parse_calls("FoldConstant FuseOps").is_err());
        assert!(parse_calls(&"A([".repeat(10_000)).is_err());
    }
}
