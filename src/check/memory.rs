//! Results and arguments that the checks of a run use again.

use crate::eval::{self, CallResults, EvalFailure, Making, Value};
use crate::ir::{ExprId, Id, Module, Name, Store, TypeId};
use rustc_hash::FxHashMap;

/// The results of functions, by the number of the making of their arguments.
pub(super) type Results = FxHashMap<(Id<Name>, usize), Result<Value, EvalFailure>>;

/// A parameter, as far as the value generated for it depends on it.
type Parameter = (Id<Name>, Option<TypeId>);

/// The results of the last versions: those after a step are those before the next.
#[derive(Default)]
pub(super) struct Memory {
    known: Vec<(Module, Results)>,
    /// The arguments that were generated last, and for which parameters, by the number of the making.
    made: FxHashMap<usize, (Vec<Parameter>, Vec<Value>)>,
    /// Results of operators.
    pub(super) results: CallResults,
}

impl Memory {
    /// Generates arguments, or takes those of the last function with such parameters.
    pub(super) fn arguments(
        &mut self,
        store: &mut Store,
        module: &Module,
        root: ExprId,
        index: usize,
        making: Making,
        work: u64,
    ) -> Result<Vec<Value>, EvalFailure> {
        let params = store.as_function(root).map(|function| function.params);
        let params: Vec<Parameter> = params
            .into_iter()
            .flat_map(|params| store.items(params))
            .map(|param| (store.var_data(param).name, store.var_type(param)))
            .collect();
        if let Some((_, made)) = self.made.get(&index).filter(|(known, _)| !params.is_empty() && *known == params) {
            return Ok(made.clone());
        }
        let made = arguments(store, module, root, making, work)?;
        // A run may write into anything else.
        if made.iter().all(|value| matches!(value, Value::Tensor(_))) {
            self.made.insert(index, (params, made.clone()));
        }
        Ok(made)
    }

    /// Returns the result of a run before; nothing for one that ended for want of fuel.
    pub(super) fn known_result(&mut self, module: &Module, name: Id<Name>, index: usize) -> Option<Result<Value, EvalFailure>> {
        let known = self.results(module).get(&(name, index));
        known.filter(|found| !matches!(found, Err(why) if why.code == "eval-fuel")).cloned()
    }

    pub(super) fn results(&mut self, module: &Module) -> &mut Results {
        let at = match self.known.iter().position(|(known, _)| known == module) {
            Some(at) => at,
            None => {
                if self.known.len() > 2 {
                    self.known.remove(0);
                }
                self.known.push((module.clone(), Results::default()));
                self.known.len() - 1
            }
        };
        &mut self.known[at].1
    }
}

/// Generates arguments; an error if they do not fit into memory.
fn arguments(store: &mut Store, module: &Module, root: ExprId, making: Making, work: u64) -> Result<Vec<Value>, EvalFailure> {
    let params = store.as_function(root).map(|function| function.params);
    let types = params.into_iter().flat_map(|params| store.items(params)).filter_map(|param| store.var_type(param));
    if types.map(|ty| eval::elements_of(store, ty) as u64).sum::<u64>() > work {
        return Err(failure("eval-fuel", "its arguments alone take more work than is allowed"));
    }
    let too_large = |why: &EvalFailure| why.message.ends_with("which is too large to compute");
    eval::made_args(store, module, root, making)
        .map_err(|why| if too_large(&why) { EvalFailure { code: "eval-fuel", ..why } } else { why })
}

pub(super) fn failure(code: &'static str, message: &str) -> EvalFailure {
    EvalFailure { code, message: message.to_owned(), expr: None, span: None }
}
