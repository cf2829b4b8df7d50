//! Partially known values, the known contents of references, and limits for the expansion of functions.

use crate::ir::{CtorId, DType, ExprId, Function, Id, IdMap, Pattern, PatternId, Store, Tensor, TypeId, TypeVar, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A partially known value (TVM's `PStatic`).
pub struct Partial {
    /// The known part; `None` for most parameters.
    pub known: Option<Known>,
    /// The variable, operator, constructor or global that has the value when the program runs. It is a leaf, so it may
    /// be used any number of times.
    pub dynamic: ExprId,
}

/// Id of a [`Partial`]. Ids grow with time, and fuel compares them (TVM's `created_time`).
pub type PartialId = Id<Partial>;

/// The known part of a value.
#[derive(Clone)]
pub enum Known {
    /// A tensor that is known completely.
    Tensor(Id<Tensor>),
    /// The fields of a tuple.
    Tuple(Rc<[PartialId]>),
    /// The constructor and its fields.
    Data(CtorId, Rc<[PartialId]>),
    /// A known reference. [`Memory`] has its content, by the id of this value.
    Ref,
    /// The code of a function, and the values that it captures.
    Function(Rc<Closure>),
    /// An operator or a primitive function, which is evaluated when its arguments are known.
    Kernel(ExprId),
    /// A constructor without arguments so far.
    Constructor(CtorId),
}

/// Types in place of type parameters.
pub type Types = Rc<FxHashMap<Id<TypeVar>, TypeId>>;

/// A function with its environment.
pub struct Closure {
    /// The literal. Its copies, of which TVM makes one for each call, are the same function for fuel.
    pub literal: ExprId,
    /// The literal's parameters, body, types and attributes.
    pub function: Function,
    /// The variable that a `let` gives it, by which it calls itself.
    pub name: Option<VarId>,
    /// The callee of calls that are not expanded: that variable in the new program, or the global.
    pub callee: ExprId,
    /// The values of its free variables.
    pub captured: Box<[(VarId, PartialId)]>,
    /// The types in place of the type parameters around it.
    pub types: Types,
}

/// The known contents of references. A branch works on a frame of its own, so its writes can be undone.
pub struct Memory {
    frames: Vec<Cells>,
}

struct Cells {
    held: FxHashMap<PartialId, PartialId>,
    /// False after an unknown effect, which outdates the older frames. (TVM's `history_valid`.)
    sees_older: bool,
}

impl Memory {
    /// Makes a memory without known contents.
    pub fn new() -> Memory {
        Memory { frames: vec![Cells { held: FxHashMap::default(), sees_older: true }] }
    }

    /// Begins code that may or may not run.
    pub fn enter(&mut self) {
        self.frames.push(Cells { held: FxHashMap::default(), sees_older: true });
    }

    /// Ends such code: its writes are forgotten.
    pub fn leave(&mut self) {
        while self.frames.pop().is_some_and(|cells| !cells.sees_older) {}
    }

    /// Forgets all contents, because unknown code ran, which may have written anywhere.
    pub fn invalidate(&mut self) {
        match self.frames.last_mut() {
            Some(cells) if !cells.sees_older => cells.held.clear(),
            _ => self.frames.push(Cells { held: FxHashMap::default(), sees_older: false }),
        }
    }

    /// Sets the content of a reference.
    pub fn write(&mut self, reference: PartialId, value: PartialId) {
        if let Some(cells) = self.frames.last_mut() {
            cells.held.insert(reference, value);
        }
    }

    /// Returns the content of a reference, if it is known.
    pub fn read(&self, reference: PartialId) -> Option<PartialId> {
        for cells in self.frames.iter().rev() {
            if let Some(value) = cells.held.get(&reference) {
                return Some(*value);
            }
            if !cells.sees_older {
                return None;
            }
        }
        None
    }
}

/// The limit for expanding a function inside of its own expansion: for each argument the oldest and the least value
/// that it had there. A further call must have an older argument, or a smaller natural number, and neither can descend
/// endlessly. (TVM's `FSeq` of `FTime` and `FTValue`; a function that is not being expanded has `FTop`.)
pub type Fuel = Rc<[(PartialId, u64)]>;

/// Returns the fuel inside of a call whose arguments have the fuel `now`, if it may be expanded.
pub fn meet(left: Option<&Fuel>, now: Fuel) -> Option<Fuel> {
    let Some(left) = left else { return Some(now) };
    let progress = left.iter().zip(&*now).any(|(left, now)| now.0 < left.0 || now.1 < left.1);
    progress.then(|| left.iter().zip(&*now).map(|(left, now)| (left.0.min(now.0), left.1.min(now.1))).collect())
}

/// Returns the natural number that a scalar holds; 0 for all other tensors.
pub fn natural(tensor: &Tensor) -> u64 {
    let Some(data) = tensor.data.as_deref().filter(|_| tensor.is_scalar()) else { return 0 };
    let number = match tensor.dtype {
        DType::I32 => data.try_into().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes))),
        DType::I64 => data.try_into().map_or(0, i64::from_le_bytes),
        _ => 0,
    };
    number.max(0) as u64
}

/// The result of matching a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// The pattern accepts the value.
    Yes,
    /// The pattern rejects the value.
    No,
    /// The value is not known well enough to decide.
    Maybe,
}

/// Matches a pattern against a value, and returns the values of its variables if it accepts.
pub fn accepts(
    store: &Store,
    values: &[Partial],
    pattern: PatternId,
    value: PartialId,
    bound: &mut Vec<(VarId, PartialId)>,
) -> Accepts {
    let mut answer = Accepts::Yes;
    let mut left = vec![(pattern, value)];
    while let Some((pattern, value)) = left.pop() {
        let (patterns, fields) = match (*store.pattern(pattern), &values[value.index()].known) {
            (Pattern::Wildcard, _) => continue,
            (Pattern::Var(var), _) => {
                bound.push((var, value));
                continue;
            }
            (_, None) => {
                answer = Accepts::Maybe;
                continue;
            }
            (Pattern::Ctor { ctor, fields }, Some(Known::Data(found, values))) => {
                let (wanted, found) = (store.ctor(ctor), store.ctor(*found));
                if (wanted.adt, wanted.tag) != (found.adt, found.tag) {
                    return Accepts::No;
                }
                (fields, values)
            }
            (Pattern::Tuple(fields), Some(Known::Tuple(values))) => (fields, values),
            _ => return Accepts::No,
        };
        if patterns.len() != fields.len() {
            return Accepts::No;
        }
        left.extend(store.items(patterns).zip(fields.iter().copied()));
    }
    answer
}

/// Variables of the program that the new one binds already, under themselves.
pub type Taken = IdMap<crate::ir::Var, ()>;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: usize) -> PartialId {
        PartialId::from_index(index)
    }

    #[test]
    fn what_a_branch_writes_is_forgotten_and_an_unknown_effect_hides_what_was_before() {
        let mut memory = Memory::new();
        memory.write(id(0), id(1));
        memory.enter();
        assert_eq!(memory.read(id(0)), Some(id(1)));
        memory.invalidate();
        assert_eq!(memory.read(id(0)), None);
        memory.write(id(0), id(2));
        memory.invalidate();
        memory.leave();
        assert_eq!(memory.read(id(0)), Some(id(1)));
        memory.invalidate();
        assert_eq!(memory.read(id(0)), None);
    }

    #[test]
    fn fuel_descends_with_age_or_with_a_number_and_else_not_at_all() {
        let fuel = |arguments: &[(usize, u64)]| -> Fuel { arguments.iter().map(|(time, number)| (id(*time), *number)).collect() };
        let inside = meet(None, fuel(&[(7, 3), (8, 0)])).expect("a function that is not being expanded may be");
        assert_eq!(meet(Some(&inside), fuel(&[(9, 3), (8, 0)])), None);
        // The second argument is younger, which does not undo the progress of the first.
        assert_eq!(meet(Some(&inside), fuel(&[(9, 2), (10, 5)])).as_deref(), Some(&[(id(7), 2), (id(8), 0)][..]));
        assert_eq!(meet(Some(&inside), fuel(&[(4, 9), (8, 0)])).as_deref(), Some(&[(id(4), 3), (id(8), 0)][..]));
        assert_eq!(meet(Some(&fuel(&[])), fuel(&[])), None);
    }
}
