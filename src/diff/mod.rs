//! The differences between two versions of a program.
//!
//! Versions of one session share a store, so a node of the later one knows the node of the earlier one that it
//! copies or replaces. Lines are matched by that first, and by their text otherwise. Both versions are printed
//! with stable numbers, so a removed binding changes no other line.

mod align;
mod summary;
mod words;

pub use summary::operators_of as operators;

use crate::ir::{ExprId, Module, Store};
use crate::print::{self, LineRole, Naming, Numbering, PrintOptions, Printed};
use rustc_hash::FxHashMap;
use words::Variables;

crate::words! {
    /// The kind of a line's change. The numbers of the kinds, from 0, are part of the page's protocol.
    pub enum DiffKind {
        /// The line stayed the same.
        Same = "same",
        /// It is new.
        Added = "added",
        /// It is gone.
        Removed = "removed",
        /// Its text has changed.
        Changed = "changed",
        /// It has moved, and its text is equal but for numbers and indentation.
        Moved = "moved",
        /// Only temporaries, variables or constants in it have other numbers.
        Renumbered = "renumbered",
    }
}

/// A line of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    /// The kind of its change.
    pub kind: DiffKind,
    /// Line number in the text before, from 1.
    pub left: Option<usize>,
    /// Line number in the text after, from 1.
    pub right: Option<usize>,
    /// For a changed line: ranges of the words that differ, in UTF-16 units, pairs of begin and end.
    pub left_words: Vec<u32>,
    /// The same in the line after.
    pub right_words: Vec<u32>,
}

/// The difference of two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The version before as text; the rows refer to its lines. Empty where the versions are the same.
    pub before: Printed,
    /// The version after as text.
    pub after: Printed,
    /// All lines, in order. Removed lines are at their old places, moved ones at their new places. Empty where
    /// the versions are the same.
    pub rows: Vec<DiffRow>,
    /// The number of new lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
    /// The number of changed lines.
    pub changed: usize,
    /// The number of moved lines.
    pub moved: usize,
    /// The number of lines that differ only in numbers.
    pub renumbered: usize,
    /// The summary, one sentence per item.
    pub summary: Vec<String>,
}

impl Diff {
    /// Returns the line before; empty where the row has none.
    pub fn left_text(&self, row: &DiffRow) -> &str {
        row.left.map_or("", |line| self.before.line(line - 1))
    }

    /// Returns the line after; empty where the row has none.
    pub fn right_text(&self, row: &DiffRow) -> &str {
        row.right.map_or("", |line| self.after.line(line - 1))
    }
}

/// Compares two versions of one session, with the names that they have in it. The metadata section is left out.
///
/// Versions with the same roots are the same; they are not printed.
pub fn diff(store: &Store, naming: &Naming, before: &Module, after: &Module) -> Diff {
    if before == after {
        return Diff::default();
    }
    let options = PrintOptions {
        numbering: Numbering::Stable(naming),
        types: true,
        metadata: false,
        header: true,
        ..PrintOptions::default()
    };
    let left = print::module_lines(store, before, &options);
    let right = print::module_lines(store, after, &options);
    let mut diff = Diff { rows: rows(store, &left, &right), ..Diff::default() };
    for row in &diff.rows {
        match row.kind {
            DiffKind::Same => {}
            DiffKind::Added => diff.added += 1,
            DiffKind::Removed => diff.removed += 1,
            DiffKind::Changed => diff.changed += 1,
            DiffKind::Moved => diff.moved += 1,
            DiffKind::Renumbered => diff.renumbered += 1,
        }
    }
    diff.summary = summary::sentences(store, before, after, &diff);
    (diff.before, diff.after) = (left, right);
    diff
}

/// Matched lines: for each line of the earlier version the one of the later.
struct Pairing {
    to_right: Vec<Option<u32>>,
    to_left: Vec<Option<u32>>,
}

impl Pairing {
    fn pair(&mut self, left: u32, right: u32) {
        self.to_right[left as usize] = Some(right);
        self.to_left[right as usize] = Some(left);
    }
}

fn rows(store: &Store, left: &Printed, right: &Printed) -> Vec<DiffRow> {
    let mut pairing = Pairing { to_right: vec![None; left.lines.len()], to_left: vec![None; right.lines.len()] };
    by_origin(store, left, right, &mut pairing);
    // Lines that cross others have moved; the longest part that keeps its order has not.
    let pairs: Vec<(u32, u32)> = (0..).zip(&pairing.to_right).filter_map(|(l, r)| Some((l, (*r)?))).collect();
    let kept = align::longest_increasing(&pairs);
    let variables = Variables::of([left, right]);
    by_text(left, right, &kept, &variables, &mut pairing);
    write_rows(left, right, &pairing, &variables)
}

/// The key that identifies a line across versions.
#[derive(PartialEq, Eq, Hash)]
enum Key<'t> {
    Node(LineRole, ExprId),
    Definition(&'t str),
}

fn keys<'t>(store: &Store, printed: &'t Printed) -> FxHashMap<Key<'t>, Option<u32>> {
    let mut keys = FxHashMap::default();
    for (i, line) in printed.lines.iter().enumerate() {
        let key = match (line.role, line.node) {
            (LineRole::Definition, _) => {
                let text = printed.line(i);
                Key::Definition(&text[..text.find(['(', '[', '{']).unwrap_or(text.len())])
            }
            (_, None) => continue,
            (role, Some(node)) => Key::Node(role_class(role), store.first_ancestor(node)),
        };
        // A key of two lines identifies neither.
        keys.entry(key).and_modify(|line| *line = None).or_insert(Some(i as u32));
    }
    keys
}

/// A binding that has become the result of its scope, or the reverse, is still the same line.
fn role_class(role: LineRole) -> LineRole {
    match role {
        LineRole::Result => LineRole::Binding,
        other => other,
    }
}

fn by_origin(store: &Store, left: &Printed, right: &Printed, pairing: &mut Pairing) {
    let right_keys = keys(store, right);
    for (key, line) in keys(store, left) {
        if let (Some(l), Some(Some(r))) = (line, right_keys.get(&key)) {
            pairing.pair(l, *r);
        }
    }
}

/// Matches the remaining lines between lines that kept their order: by equal text, numbers aside, and then by
/// similarity.
fn by_text(left: &Printed, right: &Printed, kept: &[(u32, u32)], variables: &Variables, pairing: &mut Pairing) {
    let mut ids: FxHashMap<String, u32> = FxHashMap::default();
    let mut id_of = |text: &str| {
        let next = ids.len() as u32;
        *ids.entry(words::normalised(text, variables)).or_insert(next)
    };
    let ends = (left.lines.len() as u32, right.lines.len() as u32);
    let (mut l, mut r) = (0, 0);
    for &(next_l, next_r) in kept.iter().chain([&ends]) {
        let free_left: Vec<u32> = (l..next_l).filter(|i| pairing.to_right[*i as usize].is_none()).collect();
        let free_right: Vec<u32> = (r..next_r).filter(|i| pairing.to_left[*i as usize].is_none()).collect();
        (l, r) = (next_l + 1, next_r + 1);
        if free_left.is_empty() || free_right.is_empty() {
            continue;
        }
        let a: Vec<u32> = free_left.iter().map(|i| id_of(left.line(*i as usize))).collect();
        let b: Vec<u32> = free_right.iter().map(|i| id_of(right.line(*i as usize))).collect();
        let mut ends_of_gap = align::common(&a, &b);
        for &(i, j) in &ends_of_gap {
            pairing.pair(free_left[i as usize], free_right[j as usize]);
        }
        ends_of_gap.push((a.len() as u32, b.len() as u32));
        let (mut i, mut j) = (0, 0);
        for (next_i, next_j) in ends_of_gap {
            alike(left, right, &free_left[i..next_i as usize], &free_right[j..next_j as usize], pairing);
            (i, j) = (next_i as usize + 1, next_j as usize + 1);
        }
    }
}

/// The role of a line and the head of its text, which lines that stand for each other have in common.
fn role_and_head(text: &Printed, line: u32) -> (LineRole, &str) {
    let role = text.lines[line as usize].role;
    (role_class(role), words::head(role, text.line(line as usize)))
}

/// Matches removed lines with similar lines that were added in their place.
fn alike(left: &Printed, right: &Printed, removed: &[u32], added: &[u32], pairing: &mut Pairing) {
    /// The distance within which a match is searched; it keeps the cost linear.
    const WINDOW: usize = 32;
    let heads: Vec<_> = removed.iter().map(|l| role_and_head(left, *l)).collect();
    let mut from = 0;
    for &r in added {
        let wanted = role_and_head(right, r);
        let found = heads[from..].iter().take(WINDOW).position(|head| *head == wanted);
        if let Some(offset) = found {
            pairing.pair(removed[from + offset], r);
            from += offset + 1;
        }
    }
}

/// Returns all lines in order: removed lines at their old places, moved ones, changed or not, at their new
/// places.
fn write_rows<'t>(left: &'t Printed, right: &'t Printed, pairing: &Pairing, variables: &'t Variables<'t>) -> Vec<DiffRow> {
    let pairs: Vec<(u32, u32)> = (0..).zip(&pairing.to_right).filter_map(|(l, r)| Some((l, (*r)?))).collect();
    let kept = align::longest_increasing(&pairs);
    let mut rows = Vec::with_capacity(right.lines.len() + left.lines.len() - pairs.len());
    let mut next_left = 0;
    let mut in_place = kept.iter().copied().peekable();
    let mut renaming = Renaming { kept: &kept, variables, to_right: None };
    for r in 0..right.lines.len() as u32 {
        let Some(l) = pairing.to_left[r as usize] else {
            rows.push(row(DiffKind::Added, None, Some(r)));
            continue;
        };
        if in_place.peek() == Some(&(l, r)) {
            in_place.next();
            removed(pairing, &mut rows, next_left..l);
            next_left = l + 1;
            rows.push(pair(left, right, l, r, &mut renaming));
        } else if is_move(left, right, l, r, variables) {
            rows.push(row(DiffKind::Moved, Some(l), Some(r)));
        } else {
            rows.push(changed(left, right, l, r));
        }
    }
    removed(pairing, &mut rows, next_left..left.lines.len() as u32);
    rows
}

fn is_move(left: &Printed, right: &Printed, l: u32, r: u32, variables: &Variables) -> bool {
    words::same_but_numbers(left.line(l as usize), right.line(r as usize), variables)
}

/// Adds rows for removed lines; moved lines have their rows elsewhere.
fn removed(pairing: &Pairing, rows: &mut Vec<DiffRow>, lines: std::ops::Range<u32>) {
    // They come before the lines that were added in their place.
    let mut at = rows.len();
    while at > 0 && rows[at - 1].kind == DiffKind::Added {
        at -= 1;
    }
    let gone = lines.filter(|&l| pairing.to_right[l as usize].is_none()).map(|l| row(DiffKind::Removed, Some(l), None));
    rows.splice(at..at, gone);
}

fn row(kind: DiffKind, left: Option<u32>, right: Option<u32>) -> DiffRow {
    let number = |line: u32| line as usize + 1;
    DiffRow { kind, left: left.map(number), right: right.map(number), left_words: Vec::new(), right_words: Vec::new() }
}

/// The later names of temporaries, variables and metadata of the earlier version. Computed when first needed.
struct Renaming<'k, 't> {
    kept: &'k [(u32, u32)],
    variables: &'t Variables<'t>,
    to_right: Option<FxHashMap<&'t str, &'t str>>,
}

impl<'t> Renaming<'_, 't> {
    /// Collects the renamings in lines that kept their place: of the bound names, and of the names in lines with
    /// equal text.
    fn of_kept(&self, left: &'t Printed, right: &'t Printed) -> FxHashMap<&'t str, &'t str> {
        let mut to_right = FxHashMap::default();
        let lines = || self.kept.iter().map(|&(l, r)| (l as usize, r as usize));
        for (l, r) in lines() {
            let role = left.lines[l].role;
            if role == right.lines[r].role
                && matches!(role, LineRole::Binding | LineRole::Let | LineRole::FreeVar)
                && let (Some(x), Some(y)) =
                    (words::names(left.line(l), self.variables).next(), words::names(right.line(r), self.variables).next())
            {
                to_right.insert(x, y);
            }
        }
        for (l, _) in lines().filter(|&(l, r)| left.line(l) == right.line(r)) {
            for name in words::names(left.line(l), self.variables) {
                to_right.entry(name).or_insert(name);
            }
        }
        to_right
    }

    /// True if two lines that are equal but for numbers mean the same: each name has been renamed as elsewhere.
    fn explains(&mut self, left: &'t Printed, right: &'t Printed, l: u32, r: u32) -> bool {
        let mut to_right = self.to_right.take().unwrap_or_else(|| self.of_kept(left, right));
        let names = |text: &'t Printed, line: u32| words::names(text.line(line as usize), self.variables);
        let (mut a, mut b) = (names(left, l), names(right, r));
        let same = a.by_ref().zip(b.by_ref()).all(|(x, y)| *to_right.entry(x).or_insert(y) == y);
        self.to_right = Some(to_right);
        same
    }
}

fn pair<'t>(left: &'t Printed, right: &'t Printed, l: u32, r: u32, renaming: &mut Renaming<'_, 't>) -> DiffRow {
    let (a, b) = (left.line(l as usize), right.line(r as usize));
    if a == b {
        return row(DiffKind::Same, Some(l), Some(r));
    }
    let indent = |text: &str| text.len() - text.trim_start().len();
    if indent(a) == indent(b) && words::same_but_numbers(a, b, renaming.variables) && renaming.explains(left, right, l, r) {
        return row(DiffKind::Renumbered, Some(l), Some(r));
    }
    changed(left, right, l, r)
}

fn changed(left: &Printed, right: &Printed, l: u32, r: u32) -> DiffRow {
    let (left_words, right_words) = words::changed(left.line(l as usize), right.line(r as usize));
    DiffRow { left_words, right_words, ..row(DiffKind::Changed, Some(l), Some(r)) }
}

#[cfg(test)]
mod tests;
