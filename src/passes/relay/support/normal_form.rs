//! Running a normal form over a module.

use super::is_external;
use crate::ir::{ExprId, Module, Store};

/// Rewrites each function without the attribute `Compiler`. A function is one rewrite, because its
/// bindings make sense only together.
pub fn each_function(
    store: &mut Store,
    module: &Module,
    rule: &'static str,
    mut convert: impl FnMut(&mut Store, ExprId) -> ExprId,
) -> Module {
    let mut result = module.clone();
    for (name, function) in module.functions() {
        if is_external(store, *function) {
            continue;
        }
        let new = store.rewrite(rule, *function, *function, |store| convert(store, *function));
        result.set_function(*name, new);
    }
    result
}
