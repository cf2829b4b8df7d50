//! Results of operators that the evaluations of several versions of a program share: most calls of a program are the same
//! before and after a pass.

use crate::ir::{AttrsId, OpId, Tensor, TypeId};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::rc::Rc;

/// The most bytes of results that are kept.
const MOST_BYTES: usize = 16 << 20;

/// There is room for so many calls before a table grows.
const ROOM: usize = 256;

/// An operator with its attributes and the type of its result.
type Operator = (OpId, Option<AttrsId>, TypeId);

/// Results of operators, for one [`Store`](crate::ir::Store).
///
/// A call is known again by the addresses of its inputs, which costs nothing. So that this goes on behind a call that a pass
/// rewrote, equal results are one tensor.
#[derive(Default)]
pub struct CallResults {
    calls: HashTable<Known>,
    tensors: HashTable<Tensor>,
    bytes: usize,
}

/// A call and its results. It keeps its inputs, so that no other tensor gets their addresses.
struct Known {
    operator: Operator,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

impl CallResults {
    /// Returns the results of a call that was made before.
    pub(super) fn known(&self, operator: Operator, inputs: &[Tensor]) -> Option<Vec<Tensor>> {
        let same = |known: &Known| {
            known.operator == operator
                && known.inputs.len() == inputs.len()
                && known.inputs.iter().zip(inputs).all(|(old, new)| is_same(old, new))
        };
        self.calls.find(hash_of_call(operator, inputs), same).map(|known| known.outputs.clone())
    }

    /// Keeps the results of a call, and returns them.
    pub(super) fn keep(&mut self, operator: Operator, inputs: Vec<Tensor>, outputs: Vec<Tensor>) -> Vec<Tensor> {
        let new: usize = outputs.iter().filter_map(|tensor| tensor.data.as_ref()).map(|data| data.len()).sum();
        if self.bytes + new > MOST_BYTES {
            *self = CallResults::default();
        }
        if new > MOST_BYTES {
            return outputs;
        }
        self.bytes += new;
        if self.calls.is_empty() {
            self.calls.reserve(ROOM, |known| hash_of_call(known.operator, &known.inputs));
            self.tensors.reserve(ROOM, hash_of_tensor);
        }
        let outputs: Vec<Tensor> = outputs.into_iter().map(|tensor| self.one(tensor)).collect();
        let known = Known { operator, inputs, outputs: outputs.clone() };
        let hash = hash_of_call(operator, &known.inputs);
        self.calls.insert_unique(hash, known, |known| hash_of_call(known.operator, &known.inputs));
        outputs
    }

    /// Returns the tensor that stands for all that are equal to this one.
    fn one(&mut self, tensor: Tensor) -> Tensor {
        let place = self.tensors.entry(hash_of_tensor(&tensor), |known| *known == tensor, hash_of_tensor);
        place.or_insert(tensor.clone()).get().clone()
    }
}

/// True if two tensors have the same memory and shape.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    let memory = matches!((&a.data, &b.data), (Some(a), Some(b)) if Rc::ptr_eq(a, b));
    memory && a.dtype == b.dtype && a.shape == b.shape
}

fn hash_of_tensor(tensor: &Tensor) -> u64 {
    FxBuildHasher.hash_one((&tensor.shape, &tensor.data))
}

fn hash_of_call(operator: Operator, inputs: &[Tensor]) -> u64 {
    let addresses = inputs.iter().map(|tensor| tensor.data.as_ref().map_or(0, |data| data.as_ptr() as usize));
    addresses.fold(FxBuildHasher.hash_one(operator), |hash, address| FxBuildHasher.hash_one((hash, address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Id};

    fn tensor(byte: u8) -> Tensor {
        Tensor::new(DType::BOOL, [1], vec![byte])
    }

    #[test]
    fn a_call_is_known_by_its_inputs_and_equal_results_are_one() {
        let mut results = CallResults::default();
        let operator = (OpId(0), None, Id::from_index(0));
        let (x, y) = (tensor(0), tensor(1));
        let first = results.keep(operator, vec![x.clone()], vec![tensor(1)]);
        let other = results.keep(operator, vec![y.clone()], vec![tensor(1)]);
        assert!(is_same(&first[0], &other[0]));
        assert_eq!(results.known(operator, std::slice::from_ref(&x)), Some(vec![tensor(1)]));
        assert_eq!(results.known((OpId(1), None, Id::from_index(0)), &[x]), None);
        // Equal elements at another address are another input.
        assert_eq!(results.known(operator, &[tensor(0)]), None);
    }

    #[test]
    fn memory_is_limited() {
        let mut results = CallResults::default();
        let operator = (OpId(0), None, Id::from_index(0));
        let large = || Tensor::new(DType::BOOL, [MOST_BYTES as i64], vec![0; MOST_BYTES]);
        let (x, y) = (tensor(0), tensor(1));
        results.keep(operator, vec![x.clone()], vec![large()]);
        results.keep(operator, vec![y.clone()], vec![tensor(1)]);
        assert_eq!(results.known(operator, &[x]), None);
        assert_eq!(results.known(operator, &[y]), Some(vec![tensor(1)]));
    }
}
