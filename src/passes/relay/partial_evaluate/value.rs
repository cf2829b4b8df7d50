//! What is known of values, of the contents of references, and how often functions may still be expanded.

use crate::ir::{CtorId, DType, ExprId, Function, Id, IdMap, Pattern, PatternId, Store, Tensor, TypeId, TypeVar, VarId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A value of which a part is known (TVM's `PStatic`).
pub struct Partial {
    /// What is known; nothing of most parameters.
    pub known: Option<Known>,
    /// The variable, operator, constructor or global that is the value when the program runs. Being a leaf it may be used
    /// any number of times.
    pub dynamic: ExprId,
}

/// Id of a [`Partial`]. Ids grow with time, which is what fuel compares (TVM's `created_time`).
pub type PartialId = Id<Partial>;

/// What is known of a value.
#[derive(Clone)]
pub enum Known {
    /// All of a tensor.
    Tensor(Id<Tensor>),
    /// The fields of a tuple.
    Tuple(Rc<[PartialId]>),
    /// The constructor and its fields.
    Data(CtorId, Rc<[PartialId]>),
    /// Which reference it is. What it holds stands in [`Memory`], by the id of this value.
    Ref,
    /// The code of a function, and what it takes from around it.
    Function(Rc<Closure>),
    /// An operator or a primitive function, which is run where its arguments are known.
    Kernel(ExprId),
    /// A constructor that is yet to be applied.
    Constructor(CtorId),
}

/// Types in place of type parameters.
pub type Types = Rc<FxHashMap<Id<TypeVar>, TypeId>>;

/// A function with its surroundings.
pub struct Closure {
    /// The literal. Its copies, of which TVM makes one for each call, are the same function for fuel.
    pub literal: ExprId,
    /// The literal, taken apart.
    pub function: Function,
    /// The variable that a `let` gives it, by which it calls itself.
    pub name: Option<VarId>,
    /// What calls it when it is not expanded: that variable in the new program, or the global.
    pub callee: ExprId,
    /// The values of its free variables.
    pub captured: Box<[(VarId, PartialId)]>,
    /// What type parameters around it stand for.
    pub types: Types,
}

/// What references hold, as far as it is known, with a way back: a branch works on a frame of its own.
pub struct Memory {
    frames: Vec<Cells>,
}

struct Cells {
    held: FxHashMap<PartialId, PartialId>,
    /// False after an unknown effect: what older frames say is out of date. (TVM's `history_valid`.)
    sees_older: bool,
}

impl Memory {
    /// Nothing is known.
    pub fn new() -> Memory {
        Memory { frames: vec![Cells { held: FxHashMap::default(), sees_older: true }] }
    }

    /// Begins what may or may not run.
    pub fn enter(&mut self) {
        self.frames.push(Cells { held: FxHashMap::default(), sees_older: true });
    }

    /// Ends it: what it wrote is forgotten.
    pub fn leave(&mut self) {
        while self.frames.pop().is_some_and(|cells| !cells.sees_older) {}
    }

    /// Something unknown ran, which may have written anywhere.
    pub fn invalidate(&mut self) {
        match self.frames.last_mut() {
            Some(cells) if !cells.sees_older => cells.held.clear(),
            _ => self.frames.push(Cells { held: FxHashMap::default(), sees_older: false }),
        }
    }

    /// A reference holds this from now on.
    pub fn write(&mut self, reference: PartialId, value: PartialId) {
        if let Some(cells) = self.frames.last_mut() {
            cells.held.insert(reference, value);
        }
    }

    /// What a reference holds, if it is known.
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

/// How often a function may still be expanded inside of its own expansion: for each argument the oldest and the least value
/// that it had there. A further call must have an older argument, or a smaller natural number, and there is no endless
/// descent in either. (TVM's `FSeq` of `FTime` and `FTValue`; a function that is not being expanded has `FTop`.)
pub type Fuel = Rc<[(PartialId, u64)]>;

/// The fuel inside of a call with the fuel `now` of arguments, if it may be expanded.
pub fn meet(left: Option<&Fuel>, now: Fuel) -> Option<Fuel> {
    let Some(left) = left else { return Some(now) };
    let progress = left.iter().zip(&*now).any(|(left, now)| now.0 < left.0 || now.1 < left.1);
    progress.then(|| left.iter().zip(&*now).map(|(left, now)| (left.0.min(now.0), left.1.min(now.1))).collect())
}

/// The natural number that a scalar is; 0 for all else.
pub fn natural(tensor: &Tensor) -> u64 {
    let Some(data) = tensor.data.as_deref().filter(|_| tensor.is_scalar()) else { return 0 };
    let number = match tensor.dtype {
        DType::I32 => data.try_into().map_or(0, |bytes| i64::from(i32::from_le_bytes(bytes))),
        DType::I64 => data.try_into().map_or(0, i64::from_le_bytes),
        _ => 0,
    };
    number.max(0) as u64
}

/// Whether a pattern accepts a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// What decides it is not known.
    Maybe,
}

/// Whether a pattern accepts a value, and what its variables are bound to when it does.
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

/// Variables of the program that are bound in the new one already, by themselves.
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
        // The second argument is younger, which takes nothing away from the progress of the first.
        assert_eq!(meet(Some(&inside), fuel(&[(9, 2), (10, 5)])).as_deref(), Some(&[(id(7), 2), (id(8), 0)][..]));
        assert_eq!(meet(Some(&inside), fuel(&[(4, 9), (8, 0)])).as_deref(), Some(&[(id(4), 3), (id(8), 0)][..]));
        assert_eq!(meet(Some(&fuel(&[])), fuel(&[])), None);
    }
}
