//! The driver of [`BlockMutator`]s and of normalisation: one loop over a stack of its own.

use super::{BlockBuilder, BlockMutator, Mutation, is_leaf, is_leaf_or_tuple};
use crate::ir::rewrite::Visit;
use crate::ir::sort::sort_by;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Function, Id, List, Module, Name, Store, Type, VarId};

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
    run.wants_leaves = mutator.wants_leaves();
    run.passive = mutator.is_passive();
    run.tasks.push(Task::Visit(root));
    while let Some(task) = run.tasks.pop() {
        run.step(store, cx, mutator, task);
    }
    let result = run.done.pop().unwrap_or(root);
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
        store.checked_type(id).is_some() && self.is_over_leaves(store, id, stays)
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

#[derive(Clone, Copy)]
enum Task {
    /// Rewrites an expression; the result is pushed to the stack.
    Visit(ExprId),
    /// Does the same, and binds the result if it may not be an operand.
    Operand(ExprId),
    Bind(ExprId),
    /// Leaves a node whose children are on the stack.
    Leave(ExprId),
    /// Enters a branch, whose symbols are its own.
    Branch(ExprId),
    /// Ends the scope of a branch or function.
    EndScope,
    /// Enters a function, whose parameters are defined and whose scope is open.
    Function(ExprId),
    Binding(Binding),
    /// Emits a binding, whose value is on the stack.
    Emit(Binding),
    BeginBlock(Id<BindingBlock>),
    EndBlock(Id<BindingBlock>),
    /// Begins the block for the bindings that the body of a sequence needs.
    BeginBody,
    EndBody,
    /// Wraps an expression that is not a sequence.
    Wrap,
}

/// The stacks of a rewrite. Between two rewrites of one builder they are empty and are kept for the next.
#[derive(Default)]
pub(super) struct Run {
    tasks: Vec<Task>,
    /// Results without a consumer so far.
    pub(super) done: Vec<ExprId>,
    /// Finished blocks, for each current sequence.
    pub(super) blocks: Vec<Vec<Id<BindingBlock>>>,
    /// Parameters of the current functions.
    vars: Vec<Vec<VarId>>,
    /// True if the pass is called for leaves.
    wants_leaves: bool,
    /// True if no hook of the pass is called.
    passive: bool,
}

impl Run {
    fn with_room() -> Run {
        Run { tasks: Vec::with_capacity(64), done: Vec::with_capacity(16), ..Run::default() }
    }

    pub(super) fn take(&mut self, fallback: ExprId) -> ExprId {
        self.done.pop().unwrap_or(fallback)
    }

    /// Returns the replacements of a list's elements; `None` if all stayed the same.
    pub(super) fn take_list(&mut self, store: &Store, list: List<Expr>) -> Option<Vec<ExprId>> {
        let first = self.done.len().saturating_sub(list.len());
        let same = store.items(list).eq(self.done[first..].iter().copied());
        let new = (!same).then(|| self.done[first..].to_vec());
        self.done.truncate(first);
        new
    }

    fn step(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, task: Task) {
        match task {
            Task::Visit(id) => self.enter(store, cx, mutator, id),
            Task::Operand(id) => match cx.builder.bound_here(id) {
                Some(used) => self.done.push(used),
                None if !self.wants_leaves && is_leaf(store, id) => self.leaf(store, cx, id),
                None => self.tasks.extend([Task::Bind(id), Task::Visit(id)]),
            },
            Task::Bind(id) => {
                let value = self.take(id);
                let used = cx.builder.operand(store, id, value);
                self.done.push(used);
            }
            Task::Leave(id) => self.leave(store, cx, mutator, id),
            Task::Branch(id) => {
                cx.builder.begin_inner_scope();
                self.tasks.push(Task::EndScope);
                self.body(store, id);
            }
            Task::EndScope => cx.builder.end_scope(),
            Task::Function(id) => self.end_function(store, cx, mutator, id),
            Task::Binding(binding) => {
                let stays = mutator.enter_binding(store, cx, binding);
                if stays && !mutator.wants(store, binding.value) && cx.is_untouched(store, binding.value) {
                    self.done.push(binding.value);
                    self.emit(store, cx, mutator, binding);
                } else if stays {
                    self.tasks.push(Task::Emit(binding));
                    self.enter(store, cx, mutator, binding.value);
                }
            }
            Task::Emit(binding) => self.emit(store, cx, mutator, binding),
            Task::BeginBlock(block) => {
                cx.builder.begin_block(store.block(block).dataflow);
                if let Some(bindings) = cx.builder.bindings() {
                    bindings.reserve(store.block(block).bindings.len());
                }
                mutator.begin_block(store, cx, block);
            }
            Task::EndBlock(block) => {
                mutator.end_block(store, cx, block);
                let dataflow = cx.builder.is_dataflow();
                let new = cx.builder.end_block();
                let same = store.block(block).dataflow == dataflow
                    && store.block_bindings(block).len() == new.len()
                    && store.block_bindings(block).zip(&new).all(|(a, b)| (a.var, a.value, a.cast) == (b.var, b.value, b.cast));
                let new = if same { block } else { store.add_block_of(&new, dataflow) };
                self.close(new);
            }
            Task::BeginBody => {
                let dataflow = cx.builder.is_dataflow();
                cx.builder.begin_block(dataflow);
            }
            Task::EndBody => {
                let dataflow = cx.builder.is_dataflow();
                let bindings = cx.builder.end_block();
                if !bindings.is_empty() {
                    let block = store.add_block_of(&bindings, dataflow);
                    self.close(block);
                }
            }
            Task::Wrap => {
                let Some(body) = self.done.pop() else { return };
                let blocks = self.blocks.pop().unwrap_or_default();
                let blocks = cx.builder.join_blocks(store, &blocks);
                let ty = store.checked_type(body).map(|ty| cx.builder.erase(store, ty));
                let seq = store.add_typed(Expr::Seq { blocks, body }, ty);
                self.done.push(seq);
            }
        }
    }

    fn close(&mut self, block: Id<BindingBlock>) {
        if let Some(blocks) = self.blocks.last_mut() {
            blocks.push(block);
        }
    }

    /// Visits the body of a function or branch, which has to be a sequence.
    fn body(&mut self, store: &Store, id: ExprId) {
        if matches!(store.expr(id), Expr::Seq { .. }) {
            self.tasks.push(Task::Visit(id));
            return;
        }
        self.blocks.push(Vec::new());
        self.tasks.extend([Task::Wrap, Task::EndBody, Task::Operand(id), Task::BeginBody]);
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, id: ExprId) {
        let rule = mutator.rule();
        let mut visit = Visit::Descend;
        if !self.passive {
            store.rewrite(rule, id, id, |store| {
                visit = mutator.enter(store, cx, id);
                match visit {
                    Visit::Descend | Visit::Keep => id,
                    Visit::Replace(other) | Visit::Follow(other) => other,
                }
            });
        }
        match visit {
            Visit::Keep => self.done.push(id),
            Visit::Replace(other) => {
                let normal = cx.builder.normalize(store, other);
                self.done.push(normal);
            }
            Visit::Follow(other) => self.tasks.push(Task::Visit(other)),
            Visit::Descend => self.descend(store, cx, mutator, id),
        }
    }

    fn descend(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, id: ExprId) {
        match store.expr(id) {
            Expr::If { cond, then, other } => {
                self.tasks.extend([Task::Leave(id), Task::Branch(other), Task::Branch(then), Task::Operand(cond)]);
            }
            Expr::Function(function) => {
                let Function { params, body, .. } = *store.function(function);
                let params: Vec<VarId> = store.items(params).collect();
                let mut new = Vec::with_capacity(params.len());
                for param in params {
                    let var = mutator.define_var(store, cx, param);
                    if var != param {
                        let used = store.use_var(var);
                        cx.replace(store, param, used);
                    }
                    new.push(var);
                }
                cx.builder.begin_scope(store, &new);
                cx.builder.begin_inner_scope();
                self.vars.push(new);
                self.tasks.push(Task::Function(id));
                self.tasks.push(Task::EndScope);
                self.body(store, body);
            }
            Expr::Seq { blocks, body } => {
                self.blocks.push(Vec::new());
                self.tasks.extend([Task::Leave(id), Task::EndBody, Task::Operand(body), Task::BeginBody]);
                for block in store.items(blocks).rev() {
                    self.tasks.push(Task::EndBlock(block));
                    self.tasks.extend(store.block_bindings(block).rev().map(Task::Binding));
                    self.tasks.push(Task::BeginBlock(block));
                }
            }
            _ => {
                self.tasks.push(Task::Leave(id));
                let first = self.tasks.len();
                let mut flat = !self.wants_leaves;
                crate::ir::walk::for_each_child(store, id, |child| {
                    flat &= is_leaf(store, child);
                    self.tasks.push(Task::Operand(child));
                });
                if !flat {
                    return self.tasks[first..].reverse();
                }
                // Most nodes are over leaves alone, and are done at once.
                for at in first..self.tasks.len() {
                    let Task::Operand(child) = self.tasks[at] else { continue };
                    match cx.builder.bound_here(child) {
                        Some(used) => self.done.push(used),
                        None => self.leaf(store, cx, child),
                    }
                }
                self.tasks.truncate(first - 1);
                self.leave(store, cx, mutator, id);
            }
        }
    }

    fn leaf(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) {
        let post = match store.expr(id) {
            Expr::Op(_) | Expr::Global(_) => id,
            _ => self.rebuild(store, cx, id),
        };
        self.done.push(post);
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, id: ExprId) {
        let post = self.rebuild(store, cx, id);
        if self.passive {
            return self.done.push(post);
        }
        let result = store.rewrite(mutator.rule(), id, post, |store| mutator.leave(store, cx, id, post));
        let result = if result == post { post } else { cx.builder.normalize(store, result) };
        self.done.push(result);
    }

    fn emit(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, binding: Binding) {
        let (value, rule) = (self.take(binding.value), mutator.rule());
        let mut asked = false;
        let mut ask = |store: &mut Store| {
            asked = true;
            let before = cx.builder.emitted();
            mutator.bind(store, cx, binding, value);
            if cx.builder.emitted() > before + 1 {
                store.keep_products();
            }
            // The current value of the variable.
            let bound = cx.replaced(binding.var).unwrap_or(value);
            match store.expr(bound) {
                Expr::Var(var) => match cx.builder.lookup_binding(var) {
                    Some(new) if new != value => bound,
                    _ => value,
                },
                _ => bound,
            }
        };
        if !self.passive {
            store.rewrite(rule, binding.value, value, &mut ask);
        }
        if !asked {
            cx.reemit(store, binding, value);
        }
    }

    fn end_function(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, id: ExprId) {
        let params = self.vars.pop().unwrap_or_default();
        let Expr::Function(function) = store.expr(id) else { return };
        let data = *store.function(function);
        let body = self.take(data.body);
        cx.builder.end_scope();
        let same = store.items(data.params).eq(params.iter().copied());
        let ret = if same { data.ret } else { data.ret.map(|ty| cx.ty(store, ty)) };
        let params = if same { data.params } else { store.list(&params) };
        let post = super::function_again(store, id, Function { params, ret, body, ..data });
        let rule = mutator.rule();
        let result = store.rewrite(rule, id, post, |store| mutator.leave(store, cx, id, post));
        let result = if result == post { post } else { cx.builder.normalize(store, result) };
        self.done.push(result);
    }
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
