//! Runs of [`BlockMutator`]s and of normalisation.

use super::anf::{Anf, Run};
use super::{BlockBuilder, BlockMutator, Mutation, is_leaf, is_leaf_or_tuple};
use crate::ir::drive::{Step, drive};
use crate::ir::sort::sort_by;
use crate::ir::{Expr, ExprId, Id, Module, Name, Store, Type, VarId};
use crate::ops::own;

/// Rewrites every function of Relax of a module. The error has all errors.
pub fn rewrite_module(
    store: &mut Store,
    module: &Module,
    mutator: &mut dyn BlockMutator,
) -> Result<Module, Vec<crate::diag::Diagnostic>> {
    rewrite_functions(store, module, module.functions(), mutator)
}

/// Does the same in the order of the names (TVM's `GetGlobalVars`), which matters for passes that add functions.
pub fn rewrite_module_by_name(
    store: &mut Store,
    module: &Module,
    mutator: &mut dyn BlockMutator,
) -> Result<Module, Vec<crate::diag::Diagnostic>> {
    let mut functions = module.functions().to_vec();
    sort_by(&mut functions, |a, b| store.str(a.0).cmp(store.str(b.0)));
    rewrite_functions(store, module, &functions, mutator)
}

fn rewrite_functions(
    store: &mut Store,
    module: &Module,
    functions: &[(Id<Name>, ExprId)],
    mutator: &mut dyn BlockMutator,
) -> Result<Module, Vec<crate::diag::Diagnostic>> {
    let builder = BlockBuilder::new(module);
    let mut cx = Mutation::new(builder);
    for &(name, function) in functions {
        if matches!(store.expr(function), Expr::Function(_)) {
            let new = run(store, &mut cx, mutator, function);
            cx.builder.update_function(store, name, new);
        }
    }
    cx.builder.finish()
}

/// Rewrites one function that stands in a module.
pub fn rewrite_function(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    mutator: &mut dyn BlockMutator,
) -> Result<ExprId, Vec<crate::diag::Diagnostic>> {
    let builder = BlockBuilder::new(module);
    let mut cx = Mutation::new(builder);
    let new = run(store, &mut cx, mutator, function);
    cx.builder.finish().map(|_| new)
}

/// Rewrites an expression: its bindings go into the open blocks of the builder or into blocks that it opens itself.
pub fn run(store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, root: ExprId) -> ExprId {
    if !mutator.wants(store, root) && cx.is_untouched(store, root) {
        return root;
    }
    let mut run = cx.builder.spare.pop().unwrap_or_else(Run::with_room);
    let mut agenda = std::mem::take(&mut run.agenda);
    agenda.push(Step::Visit(root));
    let (wants_leaves, passive) = (mutator.wants_leaves(), mutator.is_passive());
    let mut form = Anf { store, cx, mutator, run, wants_leaves, passive };
    drive(&mut form, &mut agenda);
    let Anf { cx, mut run, .. } = form;
    let result = run.done.pop().unwrap_or(root);
    run.agenda = agenda;
    cx.builder.spare.push(run);
    result
}

/// Changes nothing, so that only normalisation is left.
pub struct Normalize;

impl BlockMutator for Normalize {
    fn rule(&self) -> &'static str {
        "normal form"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn is_passive(&self) -> bool {
        true
    }
}

impl BlockBuilder {
    /// Normalises an expression and gives it types. Nested values are bound in the current block, shared ones once.
    pub fn normalize(&mut self, store: &mut Store, expr: ExprId) -> ExprId {
        let named = matches!(store.expr(expr), Expr::Op(_) | Expr::Global(_) | Expr::Extern(_));
        if named || is_leaf(store, expr) && store.checked_type(expr).is_some() && !is_void_var(store, expr) {
            return expr;
        }
        if self.is_over_leaves(store, expr, &|_| true) {
            if store.checked_type(expr).is_some() {
                return self.own_normal(store, expr);
            }
            if matches!(store.expr(expr), Expr::Call { .. } | Expr::Tuple(_) | Expr::TupleGetItem { .. }) {
                return self.typed(store, expr);
            }
        }
        if let Some(call) = self.normalize_nested(store, expr) {
            return call;
        }
        // The builder is lent to a rewrite that changes nothing.
        let stand_in = BlockBuilder::new(self.module());
        let lent = std::mem::replace(self, stand_in);
        let mut cx = Mutation::new(lent);
        let result = run(store, &mut cx, &mut Normalize, expr);
        *self = cx.builder;
        result
    }

    /// Makes an expression an operand: a leaf or tuple, or the variable that it is bound to now.
    pub fn normalize_operand(&mut self, store: &mut Store, expr: ExprId) -> ExprId {
        let value = self.normalize(store, expr);
        self.operand(store, expr, value)
    }

    pub(super) fn operand(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> ExprId {
        if is_leaf_or_tuple(store, value) || !self.has_block() {
            return value;
        }
        let used = self.emit_normal(store, value, self.is_dataflow(), "");
        if let Some(frame) = self.blocks.last_mut() {
            frame.normal.insert(pre, used);
            frame.normal.insert(value, used);
            frame.normal_leaves |= is_leaf_or_tuple(store, pre);
        }
        used
    }

    /// True if a value is in normal form, with types, over leaves; only variables for which `stays` is true may be among them.
    pub(super) fn is_normal(&self, store: &Store, id: ExprId, stays: &dyn Fn(VarId) -> bool) -> bool {
        // A script may have a normal form for calls of its operators.
        let is_own = store.called_op(id).is_some_and(own::is_own);
        !is_own && store.checked_type(id).is_some() && self.is_over_leaves(store, id, stays)
    }

    /// Does the same without asking for a type of the value itself.
    fn is_over_leaves(&self, store: &Store, id: ExprId, stays: &dyn Fn(VarId) -> bool) -> bool {
        if self.blocks.last().is_some_and(|frame| frame.normal_leaves) {
            return false;
        }
        let same = |id: ExprId| is_ready_leaf(store, id, stays);
        match store.expr(id) {
            // The second of two operands may be a variable for a tuple that is to be inlined.
            Expr::Call { callee, args, .. } => {
                let in_place =
                    |id: ExprId| store.checked_type(id).is_none_or(|ty| matches!(store.type_of_id(ty), Type::Tuple(_)));
                let second = (args.len() == 2).then(|| store.item(args, 1)).filter(|id| matches!(store.expr(*id), Expr::Var(_)));
                same(callee) && store.items(args).all(|id| is_ready(store, id, stays)) && !second.is_some_and(in_place)
            }
            Expr::Tuple(fields) => store.items(fields).all(same),
            Expr::TupleGetItem { tuple, .. } => same(tuple),
            Expr::Var(_) | Expr::Constant(_) => same(id),
            _ => false,
        }
    }

    pub(super) fn bound_here(&self, expr: ExprId) -> Option<ExprId> {
        self.blocks.last().and_then(|frame| frame.normal.get(&expr)).copied()
    }
}

/// True if a node is an operand as it is: a leaf with a type, or a typed tuple of such. Only variables for which
/// `stays` is true count.
pub(super) fn is_ready(store: &Store, id: ExprId, stays: &dyn Fn(VarId) -> bool) -> bool {
    match store.expr(id) {
        Expr::Tuple(fields) => {
            store.checked_type(id).is_some() && store.items(fields).all(|field| is_ready_leaf(store, field, stays))
        }
        _ => is_ready_leaf(store, id, stays),
    }
}

fn is_ready_leaf(store: &Store, id: ExprId, stays: &dyn Fn(VarId) -> bool) -> bool {
    match store.expr(id) {
        Expr::Op(_) | Expr::Global(_) | Expr::Extern(_) => true,
        Expr::Var(var) => stays(var) && !is_void_var(store, id),
        _ => is_leaf(store, id) && store.checked_type(id).is_some(),
    }
}

/// True for a variable that holds the empty tuple, which is inlined at its uses.
pub(super) fn is_void_var(store: &Store, id: ExprId) -> bool {
    let Expr::Var(var) = store.expr(id) else { return false };
    let void = |ty| matches!(store.type_of_id(ty), Type::Tuple(fields) if fields.is_empty());
    !store.var_data(var).dataflow && store.var_type(var).is_some_and(void)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;
    use crate::print::{self, PrintOptions};

    fn read(store: &mut Store, text: &str) -> Module {
        let parsed = crate::parse::parse(store, text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        crate::infer::infer_module(store, &parsed.program.module).expect("types")
    }

    const TEXT: &str = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\",), dtype=\"float32\")) \
                        -> R.Tensor((\"n\",), dtype=\"float32\"):\n        n = T.int64()\n        with R.dataflow():\n            \
                        lv: R.Tensor((n,), dtype=\"float32\") = R.add(x, x)\n            \
                        gv: R.Tensor((n,), dtype=\"float32\") = R.nn.relu(lv)\n            R.output(gv)\n        return gv\n";

    #[test]
    fn a_program_in_normal_form_stays_the_same_nodes() {
        let store = &mut Store::new();
        let module = read(store, TEXT);
        let made = store.n_exprs();
        assert_eq!(rewrite_module(store, &module, &mut Normalize), Ok(module));
        assert_eq!(store.n_exprs(), made);
        assert!(store.log.done.is_empty());
    }

    /// Replaces `add(x, y)` by `exp(concat((x, y)))`, which is nested and of another shape.
    struct Longer;
    impl BlockMutator for Longer {
        fn rule(&self) -> &'static str {
            "longer"
        }
        fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
            let Some(call) = store.call(post).filter(|_| store.called_op(post) == ops::lookup_relax("add")) else { return post };
            let fields: Vec<ExprId> = store.items(call.args).collect();
            let tuple = store.add_tuple(&fields);
            let concat = store.add(Expr::Op(ops::lookup_relax("concat").expect("concat")));
            let inner = store.add_call(concat, &[tuple], None);
            let exp = store.add(Expr::Op(ops::lookup_relax("exp").expect("exp")));
            store.add_call(exp, &[inner], None)
        }
    }

    #[test]
    fn what_is_nested_is_bound_and_types_follow_to_the_result() {
        let store = &mut Store::new();
        let module = read(store, TEXT);
        let new = rewrite_module(store, &module, &mut Longer).expect("types fit");
        let text = print::module(store, &new, &PrintOptions::default());
        for line in [
            "-> R.Tensor((\"n * 2\",), dtype=\"float32\"):",
            "lv: R.Tensor((n * 2,), dtype=\"float32\") = R.concat((x, x))",
            "lv_1: R.Tensor((n * 2,), dtype=\"float32\") = R.exp(lv)",
            "gv: R.Tensor((n * 2,), dtype=\"float32\") = R.nn.relu(lv_1)",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(crate::verify::verify(store, &new).is_empty());
        assert_eq!(store.log.done.len(), 1);
    }
}
