//! Values of expressions.

use super::{Element, MANY, Record, SENTENCE, message};

/// The most parts of a value.
const PARTS: usize = 1_000;

message! { question
    /// A request to evaluate a function.
    Question {
        version: usize,
        func: String,
        /// The seed of the inputs that are not given.
        seed: u64,
        /// Elements in row-major order, or one for all, by the name of the parameter.
        given: Record<Vec<f64>>,
        /// An expression of the version whose values are wanted, too.
        node: Option<usize>,
    }
}

message! { answer
    /// A part of a value that is no tuple.
    ValuePart {
        /// Its path: `x`, `result.1`.
        name: String => [200],
        /// As text, abbreviated.
        text: String => [100_000],
        /// Empty if it is no tensor, like the following fields.
        dtype: String => [50],
        shape: Vec<i64> => [100],
        /// The first of its elements, in row-major order.
        data: Vec<Element> => [MANY],
    }
}

message! { answer
    /// An evaluation.
    Values {
        /// The reason why there is no result; empty when there is one.
        problem: String => [SENTENCE],
        args: Vec<ValuePart> => [PARTS],
        result: Vec<ValuePart> => [PARTS],
        /// The first value of the expression that was asked about, and the number of its evaluations.
        seen: Vec<ValuePart> => [PARTS],
        times: usize,
    }
}
