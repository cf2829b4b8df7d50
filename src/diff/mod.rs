//! Two versions of a program: what was added, removed, changed, moved, merely renumbered.

use crate::ir::{Module, Store};
use crate::print::{self, Numbering, PrintOptions};

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    /// Nothing.
    Same,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It says something else.
    Changed,
    /// It stands elsewhere.
    Moved,
    /// Only temporaries or variables in it have other numbers.
    Renumbered,
}

impl DiffKind {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            DiffKind::Same => "same",
            DiffKind::Added => "added",
            DiffKind::Removed => "removed",
            DiffKind::Changed => "changed",
            DiffKind::Moved => "moved",
            DiffKind::Renumbered => "renumbered",
        }
    }
}

/// A line of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    /// What became of it.
    pub kind: DiffKind,
    /// Line number in the text before, from 1.
    pub left: Option<usize>,
    /// Line number in the text after, from 1.
    pub right: Option<usize>,
    /// The line before.
    pub left_text: String,
    /// The line after.
    pub right_text: String,
    /// For a changed line: ranges of the words that differ, in UTF-16 units, pairs of from and to.
    pub left_words: Vec<u32>,
    /// The same in the line after.
    pub right_words: Vec<u32>,
}

/// The difference of two versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// All lines, in order.
    pub rows: Vec<DiffRow>,
    /// How many lines are new.
    pub added: usize,
    /// How many lines are gone.
    pub removed: usize,
    /// How many lines say something else.
    pub changed: usize,
    /// How many lines stand elsewhere.
    pub moved: usize,
    /// How many lines have other numbers only.
    pub renumbered: usize,
    /// What happened, a sentence each.
    pub summary: Vec<String>,
}

/// Compares two versions of one session.
pub fn diff(store: &Store, before: &Module, after: &Module) -> Diff {
    let options = PrintOptions { numbering: Numbering::Stable, ..PrintOptions::default() };
    let (a, b) = (print::module(store, before, &options), print::module(store, after, &options));
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    let mut diff = Diff::default();
    let mut push = |kind, left: Option<usize>, right: Option<usize>| {
        diff.rows.push(DiffRow {
            kind,
            left: left.map(|i| i + 1),
            right: right.map(|i| i + 1),
            left_text: left.map_or("", |i| a[i]).to_owned(),
            right_text: right.map_or("", |i| b[i]).to_owned(),
            left_words: Vec::new(),
            right_words: Vec::new(),
        });
    };
    (0..head).for_each(|i| push(DiffKind::Same, Some(i), Some(i)));
    (head..a.len() - tail).for_each(|i| push(DiffKind::Removed, Some(i), None));
    (head..b.len() - tail).for_each(|i| push(DiffKind::Added, None, Some(i)));
    (0..tail).for_each(|i| push(DiffKind::Same, Some(a.len() - tail + i), Some(b.len() - tail + i)));
    diff.removed = a.len() - tail - head;
    diff.added = b.len() - tail - head;
    diff
}
