//! Steps that are checked by running them, and what comes of it.

use super::documents::Shared;
use super::{NAME, SENTENCE, Word, message};
use crate::check::step::VerdictWord;

message! { answer
    /// A step that was checked by running it.
    Checked {
        outcome: Word<VerdictWord>,
        /// The same in a sentence, with the reason or the difference.
        text: String => [SENTENCE],
        /// The smallest inputs found that show a difference, names with their values; empty without one.
        inputs: Vec<(String, String)> => [1000, NAME, SENTENCE],
        /// The first difference of the results, and the operator that gives the value there.
        place: String => [1000],
        from: String => [1000],
        /// The number of runs of functions.
        runs: usize,
    }
}

message! { answer
    /// The step after which a property is lost.
    Culprit {
        /// The id of the step; empty if the program has it not before any pass.
        id: String => [2000],
        name: String => [200],
        row: usize,
        why: String => [SENTENCE],
        /// The first rewrite, from 1, after which it is lost; null where it is none of the rewrites.
        rewrite: Option<u32>,
        rule: String => [NAME],
        rewrites: usize,
    }
}

message! { answer
    /// The place where a property was lost.
    Blame {
        /// The fault of the property.
        problem: String => [SENTENCE],
        /// Null if the property holds after every step.
        culprit: Option<Culprit>,
    }
}

message! { answer
    /// The progress of a reduction.
    Reduced {
        problem: String => [SENTENCE],
        done: bool,
        bindings: usize,
        tried: usize,
        culprit: Option<Culprit>,
        /// The smallest document so far.
        document: Option<Shared>,
    }
}
