//! The driver of [`BlockMutator`]s and of normalisation: one loop over a stack of its own.

use super::{BlockBuilder, BlockMutator, Mutation, is_leaf, is_leaf_or_tuple};
use crate::infer::relax::deduce_call;
use crate::infer::relax::types;
use crate::ir::rewrite::Visit;
use crate::ir::{Binding, BindingBlock, Dim, Expr, ExprId, Extents, Function, Id, List, Module, Store, Type, TypeId, VarId};
use crate::ops;

/// Rewrites every function of Relax of a module. The error is everything that does not fit any more.
pub fn rewrite_module(
    store: &mut Store,
    module: &Module,
    mutator: &mut dyn BlockMutator,
) -> Result<Module, Vec<crate::diag::Diagnostic>> {
    let builder = BlockBuilder::new(store, module);
    let mut cx = Mutation::new(builder);
    for &(name, function) in module.functions() {
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
    let builder = BlockBuilder::new(store, module);
    let mut cx = Mutation::new(builder);
    let new = run(store, &mut cx, mutator, function);
    cx.builder.finish().map(|_| new)
}

/// Rewrites an expression: what its bindings are goes into the blocks that are open in the builder or that it opens itself.
pub fn run(store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, root: ExprId) -> ExprId {
    let mut run = Run { tasks: vec![Task::Visit(root)], wants_leaves: mutator.wants_leaves(), ..Run::default() };
    while let Some(task) = run.tasks.pop() {
        run.step(store, cx, mutator, task);
    }
    run.done.pop().unwrap_or(root)
}

/// Changes nothing: what is left is normal form.
pub struct Normalize;

impl BlockMutator for Normalize {
    fn rule(&self) -> &'static str {
        "normal form"
    }
}

impl BlockBuilder {
    /// An expression in normal form and with types. What is nested is bound in the block under way, once where it is shared.
    pub fn normalize(&mut self, store: &mut Store, expr: ExprId) -> ExprId {
        let named = matches!(store.expr(expr), Expr::Op(_) | Expr::Global(_) | Expr::Extern(_));
        if named || is_leaf(store, expr) && store.checked_type(expr).is_some() && !is_void_var(store, expr) {
            return expr;
        }
        // The builder is lent to a rewriting that changes nothing.
        let module = Module::new();
        let lent = std::mem::replace(self, BlockBuilder::new(store, &module));
        let mut cx = Mutation::new(lent);
        let result = run(store, &mut cx, &mut Normalize, expr);
        *self = cx.builder;
        result
    }

    /// An expression that may be an operand: a leaf or tuple, or the variable that it is bound to now.
    pub fn normalize_operand(&mut self, store: &mut Store, expr: ExprId) -> ExprId {
        let value = self.normalize(store, expr);
        self.operand(store, expr, value)
    }

    fn operand(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> ExprId {
        if is_leaf_or_tuple(store, value) || !self.has_block() {
            return value;
        }
        let used = self.emit_normal(store, value, self.is_dataflow(), "");
        if let Some(frame) = self.blocks.last_mut() {
            frame.normal.insert(pre, used);
            frame.normal.insert(value, used);
        }
        used
    }

    fn bound_here(&self, expr: ExprId) -> Option<ExprId> {
        self.blocks.last().and_then(|frame| frame.normal.get(&expr)).copied()
    }
}

/// A variable that holds the empty tuple, which is not named but written again.
fn is_void_var(store: &Store, id: ExprId) -> bool {
    let Expr::Var(var) = store.expr(id) else { return false };
    let void = store.var_type(var).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Tuple(fields) if fields.is_empty()));
    void && !store.var_data(var).dataflow
}

enum Task {
    /// Rewrite it; the result is put on the pile.
    Visit(ExprId),
    /// The same, and bind the result if it may not be an operand.
    Operand(ExprId),
    Bind(ExprId),
    /// The children are on the pile.
    Leave(ExprId),
    /// A branch: its symbols are its own.
    Branch(ExprId),
    /// The end of the scope of a branch or function.
    EndScope,
    /// The parameters of a function are defined, and its scope is open.
    Function(ExprId),
    Binding(Binding),
    /// The value of a binding is on the pile.
    Emit(Binding),
    BeginBlock(Id<BindingBlock>),
    EndBlock(Id<BindingBlock>),
    /// What the body of a sequence needs is bound in a block of its own.
    BeginBody,
    EndBody,
    /// This wraps what is not a sequence.
    Wrap,
}

#[derive(Default)]
struct Run {
    tasks: Vec<Task>,
    /// Results that nobody has taken yet.
    done: Vec<ExprId>,
    /// Blocks that are done; of each sequence under way where its own begin.
    blocks: Vec<Vec<Id<BindingBlock>>>,
    /// Parameters of functions under way.
    vars: Vec<Vec<VarId>>,
    /// Whether the pass is asked about leaves.
    wants_leaves: bool,
}

impl Run {
    fn take(&mut self, fallback: ExprId) -> ExprId {
        self.done.pop().unwrap_or(fallback)
    }

    /// What the elements of a list have become; nothing where all have stayed the same.
    fn take_list(&mut self, store: &Store, list: List<Expr>) -> Option<Vec<ExprId>> {
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
                None if !self.wants_leaves && is_leaf(store, id) => {
                    let post = self.rebuild(store, cx, id);
                    self.done.push(post);
                }
                None => self.tasks.extend([Task::Bind(id), Task::Visit(id)]),
            },
            Task::Bind(id) => {
                let value = self.take(id);
                let used = cx.builder.operand(store, id, value);
                self.done.push(used);
            }
            Task::Leave(id) => {
                let post = self.rebuild(store, cx, id);
                let result = store.rewrite(mutator.rule(), id, post, |store| mutator.leave(store, cx, id, post));
                let result = if result == post { post } else { cx.builder.normalize(store, result) };
                self.done.push(result);
            }
            Task::Branch(id) => {
                cx.builder.begin_inner_scope();
                self.tasks.push(Task::EndScope);
                self.body(store, id);
            }
            Task::EndScope => cx.builder.end_scope(),
            Task::Function(id) => self.end_function(store, cx, mutator, id),
            Task::Binding(binding) => {
                if mutator.enter_binding(store, cx, binding) {
                    self.tasks.push(Task::Emit(binding));
                    self.tasks.push(Task::Visit(binding.value));
                }
            }
            Task::Emit(binding) => self.emit(store, cx, mutator, binding),
            Task::BeginBlock(block) => {
                cx.builder.begin_block(store.block(block).dataflow);
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

    /// The body of a function or branch, which has to be a sequence.
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
        store.rewrite(rule, id, id, |store| {
            visit = mutator.enter(store, cx, id);
            match visit {
                Visit::Descend | Visit::Keep => id,
                Visit::Replace(other) | Visit::Follow(other) => other,
            }
        });
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
                crate::ir::walk::for_each_child(store, id, |child| self.tasks.push(Task::Operand(child)));
                self.tasks[first..].reverse();
            }
        }
    }

    fn emit(&mut self, store: &mut Store, cx: &mut Mutation, mutator: &mut dyn BlockMutator, binding: Binding) {
        let value = self.take(binding.value);
        let mut asked = false;
        store.rewrite(mutator.rule(), binding.value, value, |store| {
            asked = true;
            mutator.bind(store, cx, binding, value);
            // What the variable stands for now.
            let bound = cx.replaced(binding.var).unwrap_or(value);
            match store.expr(bound) {
                Expr::Var(var) => match cx.builder.lookup_binding(var) {
                    Some(new) if new != value => bound,
                    _ => value,
                },
                _ => bound,
            }
        });
        if !asked {
            cx.reemit(store, binding, value);
        }
    }

    /// `id` over the results on top of the pile, with its type: itself when nothing changed.
    fn rebuild(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> ExprId {
        match store.expr(id) {
            Expr::Var(var) => {
                let new = cx.replaced(var).unwrap_or(id);
                if is_void_var(store, new) { unit(store) } else { new }
            }
            Expr::Tuple(fields) => {
                let new = self.take_list(store, fields);
                let Some(new) = new.or_else(|| store.checked_type(id).is_none().then(|| store.items(fields).collect())) else {
                    return id;
                };
                let ty = tuple_type(store, &new);
                let fields = store.list(&new);
                store.rebuild(id, Expr::Tuple(fields), Some(ty))
            }
            Expr::TupleGetItem { tuple, index } => {
                let new = self.take(tuple);
                if new == tuple && store.checked_type(id).is_some() {
                    return id;
                }
                let ty = field_type(store, cx, id, new, index);
                store.rebuild(id, Expr::TupleGetItem { tuple: new, index }, Some(ty))
            }
            Expr::Call { .. } => self.call(store, cx, id),
            Expr::If { cond, then, other } => {
                let (new_other, new_then, new_cond) = (self.take(other), self.take(then), self.take(cond));
                if (new_cond, new_then, new_other) == (cond, then, other) && store.checked_type(id).is_some() {
                    return id;
                }
                let any = store.ty(Type::Any);
                let [a, b] = [new_then, new_other].map(|branch| {
                    let ty = store.checked_type(branch).unwrap_or(any);
                    cx.builder.erase(store, ty)
                });
                let ty = types::common(store, a, b);
                store.rebuild(id, Expr::If { cond: new_cond, then: new_then, other: new_other }, Some(ty))
            }
            Expr::Seq { blocks, body } => {
                let new_body = self.take(body);
                let parts = self.blocks.pop().unwrap_or_default();
                let new = cx.builder.join_blocks(store, &parts);
                let same = store.items(blocks).eq(store.items(new)) && new_body == body;
                let old = store.checked_type(id);
                if same && old.is_some_and(|ty| cx.ty(store, ty) == ty) {
                    return id;
                }
                let ty = store.checked_type(new_body).map(|ty| cx.builder.erase(store, ty));
                store.rebuild(id, Expr::Seq { blocks: new, body: new_body }, ty)
            }
            Expr::Shape(dims) => {
                let new = cx.dims(store, dims);
                if new == dims && store.checked_type(id).is_some() {
                    return id;
                }
                let ty = store.ty(Type::Shape(Extents::Known(store.dims_of_id(new).into())));
                store.rebuild(id, Expr::Shape(new), Some(ty))
            }
            Expr::Prim(prim) => {
                let old = store.dim_of_prim(prim);
                let new = types::substitute_dim(store, old, &cx.symbols);
                if new == old && store.checked_type(id).is_some() {
                    return id;
                }
                let prim = store.prim_of_dim(new);
                let ty = store.ty(Type::Prim(store.prim_dtype(prim)));
                store.rebuild(id, Expr::Prim(prim), Some(ty))
            }
            Expr::Constant(tensor) if store.checked_type(id).is_none() => {
                let tensor_data = store.tensor(tensor);
                let dims: Vec<Dim> = tensor_data.shape.iter().map(|&value| Dim::Int { value, bits: 64 }).collect();
                let dtype = tensor_data.dtype;
                let ty = store.tensor_type(&dims, dtype);
                store.rebuild(id, Expr::Constant(tensor), Some(ty))
            }
            Expr::Str(_) | Expr::DataType(_) if store.checked_type(id).is_none() => {
                let expr = store.expr(id);
                let ty = match expr {
                    Expr::Str(_) => Type::Str,
                    _ => Type::Any,
                };
                let ty = store.ty(ty);
                store.rebuild(id, expr, Some(ty))
            }
            _ => id,
        }
    }

    fn call(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> ExprId {
        let Expr::Call { callee, args, info } = store.expr(id) else { return id };
        let new_args = self.take_list(store, args);
        let new_callee = self.take(callee);
        let new_info = match info {
            Some(given) if !cx.keeps_types() => {
                let found = store.call_info(given).clone();
                let ty_args: Vec<TypeId> = found.type_args.iter().map(|ty| cx.ty(store, *ty)).collect();
                store.add_call_info(found.attrs, &ty_args)
            }
            same => same,
        };
        let same = new_callee == callee && new_info == info && new_args.is_none();
        let old = store.checked_type(id);
        let post = match old {
            Some(ty) if same => {
                let new = cx.ty(store, ty);
                if new == ty { id } else { store.rebuild(id, Expr::Call { callee, args, info }, Some(new)) }
            }
            _ => {
                let args = new_args.map_or(args, |args| store.list(&args));
                let ty = match deduce_call(store, cx.builder.signatures(), new_callee, args, new_info) {
                    Ok(ty) => ty,
                    Err(message) => {
                        let span = store.source_span(id);
                        cx.builder.error("relax-type", message, span);
                        store.ty(Type::Any)
                    }
                };
                store.rebuild(id, Expr::Call { callee: new_callee, args, info: new_info }, Some(ty))
            }
        };
        inline_tuple(store, cx, post)
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

/// `R.tuple()`
fn unit(store: &mut Store) -> ExprId {
    let ty = store.tuple_type(&[]);
    store.add_typed(Expr::Tuple(List::EMPTY), Some(ty))
}

fn tuple_type(store: &mut Store, fields: &[ExprId]) -> TypeId {
    let any = store.ty(Type::Any);
    let types: Vec<TypeId> = fields.iter().map(|field| store.checked_type(*field).unwrap_or(any)).collect();
    store.tuple_type(&types)
}

fn field_type(store: &mut Store, cx: &mut Mutation, pre: ExprId, tuple: ExprId, index: u32) -> TypeId {
    let found = match store.checked_type(tuple).map(|ty| store.type_of_id(ty)) {
        Some(Type::Tuple(fields)) => fields.get(index as usize).copied().ok_or(fields.len()),
        _ => Ok(store.ty(Type::Any)),
    };
    match found {
        Ok(ty) => ty,
        Err(count) => {
            let message = format!("Index out of bounds: Tuple has {count} fields, and cannot be accessed at index {index}");
            let span = store.source_span(pre);
            cx.builder.error("relax-type", message, span);
            store.ty(Type::Any)
        }
    }
}

/// `R.call_tir` and its kin hold their arguments in place, not in a variable (TVM's `NormalizeCallTIR`).
fn inline_tuple(store: &mut Store, cx: &mut Mutation, call: ExprId) -> ExprId {
    let Expr::Call { callee, args, info } = store.expr(call) else { return call };
    let Expr::Op(op) = store.expr(callee) else { return call };
    let name = ops::info(op).relax.map_or("", |row| row.name);
    if args.len() != 2 || !["call_tir", "call_tir_with_grad", "call_tir_inplace"].contains(&name) {
        return call;
    }
    let tuple = store.item(args, 1);
    if !matches!(store.expr(tuple), Expr::Var(_)) {
        return call;
    }
    let mut found = cx.builder.value_of(store, tuple);
    if !matches!(store.expr(found), Expr::Tuple(_)) {
        let Some(Type::Tuple(types)) = store.checked_type(tuple).map(|ty| store.type_of_id(ty)) else { return call };
        let types = types.to_vec();
        let mut fields = Vec::with_capacity(types.len());
        for (index, ty) in types.iter().enumerate() {
            let item = store.add_typed(Expr::TupleGetItem { tuple, index: index as u32 }, Some(*ty));
            let dataflow = cx.builder.is_dataflow();
            fields.push(cx.builder.emit_normal(store, item, dataflow, ""));
        }
        let ty = store.tuple_type(&types);
        let fields = store.list(&fields);
        found = store.add_typed(Expr::Tuple(fields), Some(ty));
    }
    let args = [store.item(args, 0), found];
    let args = store.list(&args);
    let ty = store.checked_type(call);
    store.rebuild(call, Expr::Call { callee, args, info }, ty)
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// `add(x, y)` becomes `exp(concat((x, y)))`, which is nested and of another shape.
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
            "-> R.Tensor((\"n + n\",), dtype=\"float32\"):",
            "lv: R.Tensor((n + n,), dtype=\"float32\") = R.concat((x, x))",
            "lv_1: R.Tensor((n + n,), dtype=\"float32\") = R.exp(lv)",
            "gv: R.Tensor((n + n,), dtype=\"float32\") = R.nn.relu(lv_1)",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(crate::verify::verify(store, &new).is_empty());
        assert_eq!(store.log.done.len(), 1);
    }
}
