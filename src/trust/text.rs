//! A printed program as what can be taken out of it: functions, parameters, bindings with their types, lines with what is in them.
//!
//! Programs are made smaller in their text, which Relay, Relax and TIR have in common, and read again; so that what comes out
//! is what a text says, and types decide what may stand.

use std::ops::Range;

/// A function of a text.
pub struct Function {
    /// Its lines, decorators included.
    pub lines: Range<usize>,
    /// The line of its head.
    pub head: usize,
}

/// A variable that is bound.
pub struct Binding {
    /// Its lines.
    pub lines: Range<usize>,
    /// The function that it is in, by its place among all.
    pub function: usize,
    /// Its name as it is written where it is used: `%3`, `lv`.
    pub name: String,
    /// Its type as it can be written down, where the text has it.
    pub ty: Option<String>,
    /// Blanks before it.
    pub indent: usize,
}

/// The text of a program.
pub struct Text<'a> {
    /// Its lines.
    pub lines: Vec<&'a str>,
    /// Its functions in order.
    pub functions: Vec<Function>,
    /// Its bindings in order.
    pub bindings: Vec<Binding>,
    /// True if it is one of Relay.
    pub is_relay: bool,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The number of brackets that a line opens more than it closes; those in strings do not count.
fn depth(line: &str) -> i64 {
    let mut quoted = false;
    line.chars().fold(0, |depth, c| {
        quoted ^= c == '"';
        match c {
            '(' | '[' | '{' if !quoted => depth + 1,
            ')' | ']' | '}' if !quoted => depth - 1,
            _ => depth,
        }
    })
}

/// The end of what is opened at `open`, which is a bracket: the place behind the one that closes it.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0i64;
    let mut quoted = false;
    for (at, c) in text[open..].char_indices() {
        quoted ^= c == '"';
        depth += match c {
            '(' | '[' | '{' if !quoted => 1,
            ')' | ']' | '}' if !quoted => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some(open + at + c.len_utf8());
        }
    }
    None
}

impl<'a> Text<'a> {
    /// Takes a text apart that was printed.
    pub fn new(text: &'a str) -> Text<'a> {
        let lines: Vec<&str> = text.lines().collect();
        let is_relay = lines.iter().any(|line| line.starts_with("#[version"));
        let mut functions = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at].trim_start();
            let starts = if is_relay {
                line.starts_with("def @")
            } else {
                line.starts_with("@R.function") || line.starts_with("@T.prim_func")
            };
            if !starts || (is_relay && indent(lines[at]) > 0) {
                at += 1;
                continue;
            }
            let head = if is_relay {
                at
            } else {
                (at..lines.len()).find(|at| lines[*at].trim_start().starts_with("def ")).unwrap_or(at)
            };
            let own = indent(lines[at]);
            let ends =
                |line: &&str| if is_relay { line.starts_with('}') } else { !line.trim().is_empty() && indent(line) <= own };
            let end =
                lines[head + 1..].iter().position(ends).map_or(lines.len(), |found| head + 1 + found + usize::from(is_relay));
            functions.push(Function { lines: at..end, head });
            at = end.max(at + 1);
        }
        let mut text = Text { lines, functions, bindings: Vec::new(), is_relay };
        text.bindings = (0..text.functions.len()).flat_map(|function| text.bindings_of(function)).collect();
        text
    }

    fn bindings_of(&self, function: usize) -> Vec<Binding> {
        let Function { lines, head } = &self.functions[function];
        let mut found = Vec::new();
        for at in *head + 1..lines.end {
            let line = self.lines[at].trim_start();
            let bound = if self.is_relay { line.strip_prefix("let ").unwrap_or(line) } else { line };
            let name: String = bound.chars().take_while(|c| in_name(*c) || (*c == '%' && self.is_relay)).collect();
            let rest = &bound[name.len()..];
            let is_name = !name.is_empty() && (name.starts_with('%') == self.is_relay);
            let binds = rest.starts_with(" = ") || rest.starts_with(": ") && rest.contains(" = ");
            if !is_name || !binds || name == "cls" || rest.contains(" = T.") || name.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let mut open = 0;
            let last = (at..lines.end).find(|at| {
                open += depth(self.lines[*at]);
                open <= 0
            });
            let to = last.unwrap_or(at) + 1;
            let ty = if self.is_relay { comment_type(self.lines[to - 1]) } else { script_type(line, &name) };
            found.push(Binding { lines: at..to, function, name, ty, indent: indent(self.lines[at]) });
        }
        found
    }

    /// Parameters of a function: name and type as they are written.
    pub fn params(&self, function: usize) -> Vec<(String, String)> {
        let head = self.lines[self.functions[function].head];
        let Some((open, close)) = brackets(head) else { return Vec::new() };
        let mut depth = 0i64;
        let mut quoted = false;
        let mut parts = vec![String::new()];
        for c in head[open + 1..close - 1].chars() {
            quoted ^= c == '"';
            depth += match c {
                '(' | '[' | '{' if !quoted => 1,
                ')' | ']' | '}' if !quoted => -1,
                _ => 0,
            };
            match c {
                ',' if depth == 0 => parts.push(String::new()),
                c => parts.last_mut().unwrap_or(&mut String::new()).push(c),
            }
        }
        let split = |part: &String| part.split_once(':').map(|(name, ty)| (name.trim().to_owned(), without_comment(ty)));
        parts.iter().filter_map(split).collect()
    }

    /// The text with some of its lines left out, and some replaced.
    pub fn with(&self, replaced: &dyn Fn(usize, &str) -> Option<String>) -> String {
        let mut out = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            if let Some(line) = replaced(at, line) {
                out += &line;
                out.push('\n');
            }
        }
        out
    }
}

/// The brackets of a head's parameters.
fn brackets(head: &str) -> Option<(usize, usize)> {
    let open = head.find('(')?;
    Some((open, closing(head, open)?))
}

/// A type without the comment behind it.
fn without_comment(ty: &str) -> String {
    ty.split("/*").next().unwrap_or("").trim().to_owned()
}

/// The head with these parameters, and without the type of its result.
pub fn with_params(head: &str, params: &[(String, String)], keeps_result: bool) -> String {
    let Some((open, close)) = brackets(head) else { return head.to_owned() };
    let params: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    let rest = &head[close..];
    let rest = match (keeps_result, rest.trim_end().chars().next_back()) {
        (false, Some('{')) => " {",
        (false, Some(':')) => ":",
        _ => rest,
    };
    format!("{}({}){rest}", &head[..open], params.join(", "))
}

/// The type in the last comment of a line of Relay.
fn comment_type(line: &str) -> Option<String> {
    let start = line.rfind("/* ty=")? + "/* ty=".len();
    let ty = line[start..].split(" */").next()?.split(" span=").next()?.trim();
    (!ty.contains("fn (") && !ty.contains("ref(")).then(|| ty.to_owned())
}

/// The type of a binding of Relax: its annotation, or what a call says it gives.
fn script_type(line: &str, name: &str) -> Option<String> {
    let rest = &line[name.len()..];
    if let Some(annotated) = rest.strip_prefix(": ") {
        return annotated.split_once(" = ").map(|(ty, _)| ty.to_owned());
    }
    let start = rest.find("out_ty=")? + "out_ty=".len();
    let open = start + rest[start..].find(['(', '['])?;
    let ty = &rest[start..closing(rest, open)?];
    match ty.strip_prefix('[') {
        Some(fields) => Some(format!("R.Tuple({})", fields.strip_suffix(']')?)),
        None => Some(ty.to_owned()),
    }
}

/// A line with a name replaced wherever it stands as a whole, and is no attribute of something.
pub fn renamed(line: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(from) {
        let before = rest[..at].chars().next_back().or(out.chars().next_back());
        let after = rest[at + from.len()..].chars().next();
        let alone =
            !before.is_some_and(|c| in_name(c) || c == '.' || c == '"') && !after.is_some_and(in_name) && after != Some('=');
        out += &rest[..at];
        out += if alone { to } else { from };
        rest = &rest[at + from.len()..];
    }
    out + rest
}

/// True if a line has a name as a whole.
pub fn names(line: &str, name: &str) -> bool {
    line.contains(name) && renamed(line, name, "\u{1}") != line
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELAY: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] */, %c: bool) -> bool {\n  \
                         let %y: float32 = if (%c) {\n    1f /* ty=float32 */\n  } else {\n    2f\n  } /* ty=float32 */;\n  \
                         %0 = add(%x, %y) /* ty=Tensor[(2, 3), float32] */;\n  nn.relu(%0)\n}\n";
    const RELAX: &str = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")):\n        cls = Module\n        \
                         lv = R.call_tir(cls.f, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n        gv: R.Shape([2]) = R.shape_of(lv)\n        return gv\n";

    fn bound(text: &Text) -> Vec<(String, Option<String>, usize)> {
        text.bindings.iter().map(|bound| (bound.name.clone(), bound.ty.clone(), bound.lines.len())).collect()
    }

    #[test]
    fn bindings_have_their_types() {
        let relay = Text::new(RELAY);
        let tensor = "Tensor[(2, 3), float32]".to_owned();
        assert_eq!(bound(&relay), [("%y".to_owned(), Some("float32".to_owned()), 5), ("%0".to_owned(), Some(tensor.clone()), 1)]);
        assert_eq!(relay.params(0), [("%x".to_owned(), tensor), ("%c".to_owned(), "bool".to_owned())]);
        let relax = Text::new(RELAX);
        let vector = "R.Tensor((2,), dtype=\"float32\")".to_owned();
        assert_eq!(bound(&relax), [("lv".to_owned(), Some(vector), 1), ("gv".to_owned(), Some("R.Shape([2])".to_owned()), 1)]);
        assert_eq!(relax.functions[0].lines, 2..8);
    }

    #[test]
    fn names_are_replaced_as_a_whole() {
        assert_eq!(renamed("add1 = R.add(add, x.add, add=add)", "add", "y"), "add1 = R.add(y, x.add, add=y)");
        assert_eq!(renamed("%1 = f(%10, %1.0)", "%1", "%p"), "%p = f(%10, %p.0)");
        assert!(!names("%10", "%1") && names("f(%1)", "%1"));
    }
}
