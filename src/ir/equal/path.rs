//! Names the place of a difference in a program.

use crate::ir::Name;
use crate::ir::id::Id;
use crate::ir::store::Store;

/// One step from a node to one of its parts.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Root,
    Global(Id<Name>),
    Callee,
    Arg(u32),
    Attr(Id<Name>),
    Field(u32),
    Tuple,
    Value,
    Body,
    Cond,
    Then,
    Else,
    Data,
    Arm(u32),
    Ref,
    Binding(u32),
}

/// The place above the root.
pub(super) const NO_PLACE: u32 = u32::MAX;

/// All visited places, each with the one from which it was reached.
#[derive(Default)]
pub(super) struct Places {
    steps: Vec<(u32, Step)>,
}

impl Places {
    pub(super) fn add(&mut self, step: Step, parent: u32) -> u32 {
        self.steps.push((parent, step));
        (self.steps.len() - 1) as u32
    }

    /// Writes the path from the root; leaves out the middle of a long one.
    pub(super) fn render(&self, store: &Store, place: u32) -> String {
        const SHOWN: usize = 12;
        let mut steps = Vec::new();
        let mut place = place;
        while let Some(&(parent, step)) = self.steps.get(place as usize) {
            steps.push(step);
            place = parent;
        }
        let mut text = String::new();
        let n = steps.len();
        for (i, step) in steps.into_iter().rev().enumerate() {
            if n > SHOWN && i > 1 && i < n - (SHOWN - 2) {
                if i == 2 {
                    text.push_str("...");
                }
                continue;
            }
            match step {
                Step::Root => text.push_str("expression"),
                Step::Global(name) => text.push_str(&format!("@{}", store.str(name))),
                Step::Callee => text.push_str(".callee"),
                Step::Arg(i) => text.push_str(&format!(".args[{i}]")),
                Step::Attr(name) => text.push_str(&format!(".{}", store.str(name))),
                Step::Field(i) => text.push_str(&format!(".fields[{i}]")),
                Step::Tuple => text.push_str(".tuple"),
                Step::Value => text.push_str(".value"),
                Step::Body => text.push_str(".body"),
                Step::Cond => text.push_str(".cond"),
                Step::Then => text.push_str(".then"),
                Step::Else => text.push_str(".else"),
                Step::Data => text.push_str(".data"),
                Step::Arm(i) => text.push_str(&format!(".arms[{i}]")),
                Step::Ref => text.push_str(".ref"),
                Step::Binding(i) => text.push_str(&format!(".bindings[{i}]")),
            }
        }
        text
    }
}
