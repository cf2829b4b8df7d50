//! Programs among Python: the modules and functions of a text, with the constants that stand around them put in and
//! everything else left out.

use super::constant::{Constant, Constants};
use super::lines::{self, Line, Lines};
use super::text::Text;
use super::{Choice, Options};
use crate::diag::{Diagnostic, Span};
use crate::ir::sort::sort_by;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Range;

/// A module or function that stands in the text.
struct Item {
    name: String,
    kind: Kind,
    /// Lines: the decorators that are kept, the head, and the last one.
    decorators: Vec<usize>,
    head: usize,
    last: usize,
    /// The line of the block that it stands in.
    parent: Option<usize>,
    /// Decorators that are not kept.
    left_out: Vec<usize>,
    /// The values of the names around it.
    known: Vec<(String, Constant)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Module,
    Function,
    /// It is written out where it is used.
    Macro,
}

/// The result of reading a text.
pub(super) struct Selected {
    pub(super) text: Text,
    pub(super) notes: Vec<Diagnostic>,
    pub(super) choices: Vec<Choice>,
}

/// The programs of a text; nothing when there are none, an error when the wanted one is not among them.
pub(super) fn select(source: &Text, options: &Options) -> Result<Option<Selected>, Diagnostic> {
    let text = source.text.as_str();
    let found = lines::cut(text);
    let mut constants = Constants::default();
    for (name, value) in &options.defines {
        constants.set(0, name, constants.evaluate(value).unwrap_or_else(|| Constant::Str(value.clone())));
    }
    let (items, values) = items(text, &found.lines, constants);
    let programs: Vec<usize> = (0..items.len()).filter(|index| items[*index].kind != Kind::Macro).collect();
    if programs.is_empty() {
        return Ok(None);
    }
    let chosen = choose(&items, &programs, options.pick.as_deref())?;
    let whole_line = |item: &Item| text[found.lines[item.head].range.clone()].to_owned();
    let all = if chosen.len() == programs.len() { &[] } else { programs.as_slice() };
    let choice = |(index, name): (&usize, String)| {
        let item = &items[*index];
        Choice { name, head: whole_line(item), chosen: chosen.contains(index) }
    };
    let choices: Vec<Choice> = all.iter().zip(labels(&items, all)).rev().map(choice).collect();
    let mut out = Selected { text: Text::default(), notes: Vec::new(), choices };
    write(&mut out, source, &found, (&items, &values), &chosen);
    Ok(Some(out))
}

/// The thing that a decorator's name decorates, if that is a program.
fn kind_of(text: &str, line: &Line) -> Option<Kind> {
    let decorator = &text[line.range.start..line.code];
    let name = decorator.split('(').next().unwrap_or("").trim_start_matches('@').trim();
    let (head, last) = name.rsplit_once('.').unwrap_or(("", name));
    let of_tvm = |head: &str| {
        let first = head.split('.').next().unwrap_or("");
        matches!(first, "T" | "R" | "I" | "Tx" | "tir" | "tirx" | "relax" | "tvm" | "script" | "ir" | "TT" | "ty")
    };
    match last {
        "ir_module" | "prim_func" => Some(if last == "prim_func" { Kind::Function } else { Kind::Module }),
        "function" | "func" if of_tvm(head) && head != "tvm" => Some(Kind::Function),
        "script" if matches!(head, "relax" | "R") => Some(Kind::Function),
        "tir" if matches!(head, "tvm.script" | "script") => Some(Kind::Function),
        "script" if matches!(head, "tir" | "tvm.tir") => Some(Kind::Function),
        "macro" | "inline" | "hint_inline" if of_tvm(head) => Some(Kind::Macro),
        _ => None,
    }
}

/// The name behind `def ` or `class `.
fn name_of(line: &str) -> Option<(bool, &str)> {
    let (class, rest) = match line.strip_prefix("class ") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("def ")?),
    };
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    (end > 0).then_some((class, &rest[..end]))
}

/// Finds the modules and functions, the outermost ones, and the lines that give constants their values.
fn items(text: &str, lines: &[Line], mut constants: Constants) -> (Vec<Item>, FxHashSet<usize>) {
    let mut items = Vec::new();
    let mut values = FxHashSet::default();
    // Heads of the blocks that are open.
    let mut blocks: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        while blocks.last().is_some_and(|block| lines[*block].indent >= line.indent) {
            blocks.pop();
        }
        constants.line(line.indent);
        let first = at;
        while lines.get(at).is_some_and(|next| text[next.range.clone()].starts_with('@') && next.indent == line.indent) {
            at += 1;
        }
        let Some(head) = lines.get(at) else { break };
        let content = &text[head.range.start..head.code];
        let Some((class, name)) =
            name_of(content).filter(|_| head.indent == line.indent || at > first && head.indent > line.indent)
        else {
            if at == first {
                if constants.statement(content, head.indent) {
                    values.insert(at);
                }
                if content.ends_with(':') {
                    blocks.push(at);
                }
                at += 1;
            }
            continue;
        };
        let last = at + lines[at + 1..].iter().take_while(|line| line.indent > head.indent).count();
        let (kept, left_out): (Vec<usize>, Vec<usize>) =
            (first..at).partition(|decorator| kind_of(text, &lines[*decorator]).is_some());
        let mut kind = kept.iter().find_map(|decorator| kind_of(text, &lines[*decorator]));
        // In 2021 a module was a class that is decorated as functions are, and its functions were not.
        if class && (kind == Some(Kind::Function) || kind.is_none() && has_members(text, &lines[at + 1..=last])) {
            kind = Some(Kind::Module);
        }
        match kind {
            Some(kind) => {
                let known = used(text, &lines[at..=last], &constants);
                items.push(Item {
                    name: name.to_owned(),
                    kind,
                    decorators: kept,
                    head: at,
                    last,
                    parent: blocks.last().copied(),
                    left_out,
                    known,
                });
                at = last + 1;
            }
            None => {
                if !class {
                    let inner = lines.get(at + 1).map_or(head.indent + 1, |next| next.indent);
                    constants.defaults(content, inner.max(head.indent + 1));
                }
                blocks.push(at);
                at += 1;
            }
        }
    }
    (items, values)
}

/// True if functions of TVM are members of a class that says nothing of it.
fn has_members(text: &str, body: &[Line]) -> bool {
    let Some(first) = body.first() else { return false };
    body.iter()
        .filter(|line| line.indent == first.indent)
        .any(|line| text[line.range.clone()].starts_with('@') && kind_of(text, line) == Some(Kind::Function))
}

/// The constants that a part of the text names and does not give another meaning.
fn used(text: &str, lines: &[Line], constants: &Constants) -> Vec<(String, Constant)> {
    let mut known: BTreeMap<&str, &Constant> = BTreeMap::new();
    for line in lines {
        for word in words(&text[line.range.clone()]) {
            let name = &text[line.range.start + word.start..line.range.start + word.end];
            if let Some(value) = constants.get(name).filter(|value| **value != Constant::Written(String::new())) {
                known.insert(name, value);
            }
        }
    }
    if !known.is_empty() {
        for line in lines {
            for name in given(&text[line.range.clone()]) {
                known.remove(name);
            }
        }
    }
    known.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// The names that a statement gives a meaning: parameters, what is assigned to, what a loop counts.
pub(super) fn given(statement: &str) -> Vec<&str> {
    let of = |text: &'_ str| -> Vec<Range<usize>> { words(text) };
    if let Some(rest) = statement.strip_prefix("def ") {
        let Some(open) = rest.find('(') else { return Vec::new() };
        let mut depth = 0_i32;
        let mut begins = true;
        let mut names = Vec::new();
        for word in pieces(&rest[open..]) {
            let piece = &rest[open + word.start..open + word.end];
            match piece {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            let is_name = piece.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if begins && depth == 1 && is_name {
                names.push(piece);
            }
            begins = depth == 1 && (piece == "," || piece == "(" || begins && !is_name);
        }
        return names;
    }
    if statement.contains("lambda") || statement.contains(" for ") {
        // Names that are given inside of an expression.
        let mut names = Vec::new();
        let mut giving = false;
        for word in pieces(statement) {
            let piece = &statement[word];
            match piece {
                "lambda" | "for" => giving = true,
                ":" | "in" => giving = false,
                _ if giving && piece.starts_with(|c: char| c.is_alphabetic() || c == '_') => names.push(piece),
                _ => {}
            }
        }
        if let Some((target, _)) = statement.split_once('=') {
            names.extend(words(target).into_iter().map(|word| &target[word]).filter(|_| !target.contains(['(', '['])));
        }
        return names;
    }
    // `lv: R.Tensor((2,), dtype="float32") = ...`
    if let Some((name, _)) = statement.split_once(':')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return of(name).into_iter().map(|word| &name[word]).collect();
    }
    let targets = match statement.strip_prefix("for ") {
        Some(rest) => rest.split(" in ").next().unwrap_or(""),
        None => match statement.strip_prefix("with ") {
            Some(rest) => rest.rsplit_once(" as ").map_or("", |(_, name)| name),
            None => match statement.find('=') {
                Some(end) if !statement[end..].starts_with("==") && !statement[..end].contains(['(', '[', '"']) => {
                    &statement[..end]
                }
                _ => "",
            },
        },
    };
    let targets = targets.split(':').next().unwrap_or("");
    of(targets).into_iter().map(|word| &targets[word]).collect()
}

/// Gives the words that pick each program: its name, or its number from 1 where several have that name.
fn labels(items: &[Item], programs: &[usize]) -> Vec<String> {
    let mut times: FxHashMap<&str, usize> = FxHashMap::default();
    programs.iter().for_each(|index| *times.entry(items[*index].name.as_str()).or_default() += 1);
    let label = |(place, index): (usize, &usize)| {
        let name = items[*index].name.as_str();
        if times[name] == 1 { name.to_owned() } else { (place + 1).to_string() }
    };
    programs.iter().enumerate().map(label).collect()
}

/// The modules or functions that are read: what is asked for; the last module; the functions that stand together last.
fn choose(items: &[Item], programs: &[usize], pick: Option<&str>) -> Result<Vec<usize>, Diagnostic> {
    if let Some(pick) = pick {
        if let Some(found) = programs.iter().rev().find(|index| items[**index].name == pick) {
            return Ok(vec![*found]);
        }
        let number = pick.parse::<usize>().ok().and_then(|number| programs.get(number.checked_sub(1)?));
        if let Some(found) = number {
            return Ok(vec![*found]);
        }
        let names: Vec<String> = labels(items, programs).iter().map(|name| format!("`{name}`")).collect();
        let message = format!("there is no `{pick}` in this text");
        return Err(Diagnostic::error("front-pick", message, None).with_note(format!("it has {}", names.join(", "))));
    }
    if let Some(module) = programs.iter().rev().find(|index| items[**index].kind == Kind::Module) {
        return Ok(vec![*module]);
    }
    let parent = programs.last().and_then(|last| items[*last].parent);
    let together: Vec<usize> = programs.iter().copied().filter(|index| items[*index].parent == parent).collect();
    let mut names: Vec<&str> = together.iter().map(|index| items[*index].name.as_str()).collect();
    sort_by(&mut names, |a, b| a.cmp(b));
    let twice = names.windows(2).any(|pair| pair[0] == pair[1]);
    Ok(if twice { together.last().copied().into_iter().collect() } else { together })
}

/// Statements that are read with the programs: imports say which version a text is for.
fn is_kept(line: &str) -> bool {
    line.starts_with("import ") || line.starts_with("from ") || line.contains("TypeVar(") || line.contains("load_json(")
}

fn write(out: &mut Selected, source: &Text, found: &Lines, (items, values): (&[Item], &FxHashSet<usize>), chosen: &[usize]) {
    let text = source.text.as_str();
    let mut left_out: Option<(Range<usize>, usize)> = None;
    let mut comments = found.comments.iter().peekable();
    let mut at = 0;
    let mut waiting = items.iter().enumerate().peekable();
    while let Some(line) = found.lines.get(at) {
        while let Some(comment) = comments.next_if(|comment| comment.start < line.begin) {
            copy_comment(out, source, comment);
        }
        let first = |item: &Item| item.decorators.iter().chain(&item.left_out).copied().min().unwrap_or(item.head);
        let item = waiting.next_if(|(_, item)| first(item) <= at);
        let statement = &text[line.range.clone()];
        match item {
            Some((index, item)) => {
                if chosen.contains(&index) || item.kind == Kind::Macro {
                    write_item(out, source, found, item);
                }
                let end = found.lines[item.last].range.end;
                while comments.next_if(|comment| comment.start < end).is_some() {}
                at = item.last + 1;
                continue;
            }
            None if is_kept(statement) => {
                out.text.copy(source, line.range.clone());
                out.text.put("\n", source, line.range.end..line.range.end);
            }
            None if values.contains(&at) || statement.starts_with(['"', '\'']) => {}
            None => {
                let count = left_out.as_ref().map_or(0, |(_, count)| *count);
                let first = left_out.take().map_or(line.range.clone(), |(first, _)| first);
                left_out = Some((first, count + 1));
            }
        }
        at += 1;
    }
    comments.for_each(|comment| copy_comment(out, source, comment));
    if let Some((first, count)) = left_out {
        let place = source.place(Span::new(first.start, first.end));
        let message = match count {
            1 => "this is Python around the program, which is left out".to_owned(),
            _ => format!("this is Python around the program, which is left out: {count} statements"),
        };
        out.notes.push(Diagnostic::note("front-python", message, place));
    }
    let mut known: BTreeMap<&str, &Constant> = BTreeMap::new();
    for index in chosen {
        known.extend(items[*index].known.iter().map(|(name, value)| (name.as_str(), value)));
    }
    if let (false, Some(first)) = (known.is_empty(), chosen.first()) {
        let values: Vec<String> = known.iter().map(|(name, value)| format!("`{name}` is {value}")).collect();
        let head = &found.lines[items[*first].head].range;
        let message = format!("values from around the program are put in: {}", values.join(", "));
        out.notes.push(Diagnostic::note("front-constant", message, source.place(Span::new(head.start, head.end))));
    }
}

/// Comments in the first column say which version a text is for, and that its metadata is left out.
fn copy_comment(out: &mut Selected, source: &Text, comment: &Range<usize>) {
    out.text.copy(source, comment.clone());
    out.text.put("\n", source, comment.end..comment.end);
}

/// Writes a module or function from the first column on, with its constants put in.
fn write_item(out: &mut Selected, source: &Text, found: &Lines, item: &Item) {
    let text = source.text.as_str();
    let head = &found.lines[item.head];
    for &decorator in &item.left_out {
        let range = found.lines[decorator].range.clone();
        let message = format!("the decorator `{}` is left out", super::super::shorten(&text[range.clone()]));
        out.notes.push(Diagnostic::note("front-decorator", message, source.place(Span::new(range.start, range.end))));
    }
    let of_2021 = |decorator: &&usize| kind_of(text, &found.lines[**decorator]) == Some(Kind::Function);
    let bare = item.kind == Kind::Module && item.decorators.iter().any(|decorator| of_2021(&decorator));
    for &decorator in item.decorators.iter().filter(|decorator| !(item.kind == Kind::Module && of_2021(decorator))) {
        out.text.copy(source, found.lines[decorator].range.clone());
        out.text.put("\n", source, found.lines[decorator].range.end..found.lines[decorator].range.end);
    }
    if bare {
        out.text.put("@I.ir_module\n", source, head.range.start..head.range.start);
    }
    if item.kind == Kind::Module && item.decorators.is_empty() {
        out.text.put("@I.ir_module\n", source, head.range.start..head.range.start);
        let message = "this class is read as a module, which is decorated with `@I.ir_module`";
        out.notes.push(Diagnostic::note("front-decorator", message, source.place(Span::new(head.range.start, head.range.end))));
    }
    let end = found.lines[item.last].range.end;
    // The bases of a class say nothing about its functions.
    let mut at = head.range.start;
    let mut members = Vec::new();
    if bare {
        let inner = found.lines.get(item.head + 1).map_or(0, |line| line.indent);
        let body = &found.lines[item.head + 1..=item.last];
        members = body.iter().filter(|line| line.indent == inner && text[line.range.clone()].starts_with("def ")).collect();
        members.reverse();
    }
    for word in words(&text[head.range.start..end]) {
        let range = head.range.start + word.start..head.range.start + word.end;
        if let Some(member) = members.pop_if(|member| member.range.start <= range.start) {
            dedented(out, source, at..member.range.start, head.indent);
            let indent = " ".repeat(member.indent.saturating_sub(head.indent));
            out.text.put(&format!("@tvm.script.tir\n{indent}"), source, member.range.start..member.range.start);
            at = member.range.start;
        }
        let Some((_, value)) = item.known.iter().find(|(name, _)| *name == text[range.clone()]) else { continue };
        if !stands_for_itself(text, &range) {
            continue;
        }
        dedented(out, source, at..range.start, head.indent);
        out.text.put(&value.to_string(), source, range.clone());
        at = range.end;
    }
    dedented(out, source, at..end, head.indent);
    out.text.put("\n", source, end..end);
}

/// True if a word is a name that is used: not `n=` in a call, not `.n`.
pub(super) fn stands_for_itself(text: &str, range: &Range<usize>) -> bool {
    let before = text[..range.start].trim_end_matches([' ', '\t']);
    let after = text[range.end..].trim_start_matches([' ', '\t']);
    let given = after.starts_with('=') && !after.starts_with("==");
    !given && !before.ends_with('.') && !before.ends_with("def")
}

/// Copies a part of a block with its lines `indent` columns further to the left.
fn dedented(out: &mut Selected, source: &Text, range: Range<usize>, indent: usize) {
    if indent == 0 {
        out.text.copy(source, range);
        return;
    }
    let text = source.text.as_str();
    let mut at = range.start;
    while let Some(end) = text[at..range.end].find('\n').map(|end| at + end + 1) {
        out.text.copy(source, at..end);
        let mut column = 0;
        let blanks = text[end..range.end].bytes().take_while(|byte| {
            let is_before = column < indent && matches!(byte, b' ' | b'\t');
            column = if *byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 };
            is_before
        });
        at = end + blanks.count();
    }
    out.text.copy(source, at..range.end);
}

/// The names in a piece of Python, without those in comments and strings.
pub(super) fn words(text: &str) -> Vec<Range<usize>> {
    let is_name =
        |range: &Range<usize>| text[range.start..].starts_with(|c: char| c.is_alphabetic() || c == '_' || !c.is_ascii());
    let mut found = pieces(text);
    found.retain(is_name);
    found
}

/// Names and single characters that are no blanks, without comments, strings and numbers.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => at += text[at..].find('\n').unwrap_or(text.len() - at),
            b'"' | b'\'' => {
                let triple = bytes.get(at + 1) == Some(&byte) && bytes.get(at + 2) == Some(&byte);
                let len = if triple { 3 } else { 1 };
                let mark = &text[at..at + len];
                at += len;
                let rest = &text[at..];
                let close = rest.find(mark).filter(|close| triple || !rest[..*close].contains('\n'));
                at += close.map_or(0, |close| close + len);
            }
            _ if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                let len = bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_' || **b >= 0x80).count();
                found.push(at..at + len);
                at += len;
            }
            _ if byte.is_ascii_digit() => {
                at += bytes[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.')).count();
            }
            _ => {
                if !byte.is_ascii_whitespace() {
                    found.push(at..at + 1);
                }
                at += 1;
            }
        }
    }
    found
}
