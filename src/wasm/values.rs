//! Values as the page gets them.

use crate::boundary::Element;
use crate::boundary::values::{Question, ValuePart, Values};
use crate::eval::{Value, show};
use crate::ir::{Id, Store};
use crate::ops::kernel::read;
use crate::session::{Part, Session};

/// Most elements of an input that are sent.
const MOST_IN: usize = 4096;
/// Most elements of a result that are sent.
const MOST_OUT: usize = 1 << 18;

fn part(store: &Store, (name, value): &Part, most: usize) -> ValuePart {
    let mut view =
        ValuePart { name: name.clone(), text: show(store, value), dtype: String::new(), shape: Vec::new(), data: Vec::new() };
    if let Value::Tensor(tensor) = value {
        view.dtype = tensor.dtype.to_string();
        view.shape = tensor.shape.to_vec();
        view.data = read::<f64>(tensor).unwrap_or_default().into_iter().take(most).map(Element).collect();
    }
    view
}

/// Evaluates as the question says, and puts what came out into the answer.
pub(super) fn values(session: &mut Session, question: Question) -> Values {
    let node = question.node.map(Id::from_index);
    let found = session.values(question.version, &question.func, question.seed, &question.given.0, node);
    match found {
        Ok(values) => {
            let store = session.store();
            let all = |parts: &[Part], most: usize| parts.iter().map(|one| part(store, one, most)).collect();
            Values {
                problem: values.failure.map_or(String::new(), |found| found.message),
                args: all(&values.args, MOST_IN),
                result: all(&values.result, MOST_OUT),
                seen: all(&values.seen, MOST_OUT),
                times: values.times,
            }
        }
        Err(found) => Values { problem: found.message, args: Vec::new(), result: Vec::new(), seen: Vec::new(), times: 0 },
    }
}
