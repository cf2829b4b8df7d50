//! Results as bindings in A-normal form: what [the loop](crate::ir::drive) makes of a rewriting of Relax. A value that may not
//! be an operand is bound to a variable in the block that is open in the builder.

use super::{BlockMutator, Mutation, is_leaf};
use crate::ir::drive::{Agenda, Form, Step, Visit};
use crate::ir::walk::for_each_child;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Function, Id, List, Store, Var, VarId};

/// A thing to do between visiting and leaving.
#[derive(Clone, Copy)]
pub(super) enum Between {
    /// Rewrites an expression, and binds the result if it may not be an operand.
    Operand(ExprId),
    Bind(ExprId),
    /// Enters a branch, whose symbols are its own.
    Branch(ExprId),
    /// Ends the scope of a branch or function.
    EndScope,
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

use Between::{BeginBlock, BeginBody, Bind, Branch, Emit, EndBlock, EndBody, EndScope, Operand, Wrap};

/// The stacks of a rewrite. Between two rewrites of one builder they are empty and are kept for the next.
#[derive(Default)]
pub(super) struct Run {
    pub(super) agenda: Vec<Step<ExprId, Between>>,
    /// Results without a consumer so far.
    pub(super) done: Vec<ExprId>,
    /// Finished blocks, for each current sequence.
    pub(super) blocks: Vec<Vec<Id<BindingBlock>>>,
    /// Parameters of the current functions.
    vars: Vec<Vec<VarId>>,
}

impl Run {
    pub(super) fn with_room() -> Run {
        Run { agenda: Vec::with_capacity(64), done: Vec::with_capacity(16), ..Run::default() }
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

    fn close(&mut self, block: Id<BindingBlock>) {
        if let Some(blocks) = self.blocks.last_mut() {
            blocks.push(block);
        }
    }
}

/// A rewrite under way: the results of nodes are on a stack until their parents take them.
pub(super) struct Anf<'a> {
    pub(super) store: &'a mut Store,
    pub(super) cx: &'a mut Mutation,
    pub(super) mutator: &'a mut dyn BlockMutator,
    pub(super) run: Run,
    /// True if the pass is called for leaves.
    pub(super) wants_leaves: bool,
    /// True if no hook of the pass is called.
    pub(super) passive: bool,
}

impl Form for Anf<'_> {
    type Node = ExprId;
    type Step = Between;

    fn enter(&mut self, id: ExprId) -> Visit {
        if self.passive {
            return Visit::Descend;
        }
        let (cx, mutator) = (&mut *self.cx, &mut *self.mutator);
        self.store.ask_on_entry(mutator.rule(), id, |store| mutator.enter(store, cx, id))
    }

    fn descend(&mut self, id: ExprId, agenda: &mut Agenda<Self>) {
        agenda.push(Step::Leave(id));
        match self.store.expr(id) {
            Expr::If { cond, then, other } => agenda.extend([Branch(other), Branch(then), Operand(cond)].map(Step::Own)),
            Expr::Function(function) => {
                let Function { params, body, .. } = *self.store.function(function);
                self.open_function(params);
                agenda.push(Step::Own(EndScope));
                self.body(body, agenda);
            }
            Expr::Seq { blocks, body } => {
                self.run.blocks.push(Vec::new());
                agenda.extend([EndBody, Operand(body), BeginBody].map(Step::Own));
                for block in self.store.items(blocks).rev() {
                    agenda.push(Step::Own(EndBlock(block)));
                    agenda.extend(self.store.block_bindings(block).rev().map(|binding| Step::Own(Between::Binding(binding))));
                    agenda.push(Step::Own(BeginBlock(block)));
                }
            }
            _ => self.operands(id, agenda),
        }
    }

    fn leave(&mut self, id: ExprId) {
        let post = match self.store.expr(id) {
            Expr::Function(function) => self.close_function(id, function),
            _ => self.run.rebuild(self.store, self.cx, id),
        };
        if self.passive {
            return self.run.done.push(post);
        }
        let (cx, mutator) = (&mut *self.cx, &mut *self.mutator);
        let result = self.store.rewrite(mutator.rule(), id, post, |store| mutator.leave(store, cx, id, post));
        self.give(post, result);
    }

    /// Brings a result into normal form, unless it is the expression that was there.
    fn give(&mut self, id: ExprId, result: ExprId) {
        let result = if result == id { id } else { self.cx.builder.normalize(self.store, result) };
        self.run.done.push(result);
    }

    /// The result is where that of this one would be.
    fn give_again(&mut self, _: ExprId, _: ExprId) {}

    fn step(&mut self, step: Between, agenda: &mut Agenda<Self>) {
        match step {
            Operand(id) => match self.cx.builder.bound_here(id) {
                Some(used) => self.run.done.push(used),
                None if !self.wants_leaves && is_leaf(self.store, id) => self.leaf(id),
                None => agenda.extend([Step::Own(Bind(id)), Step::Visit(id)]),
            },
            Bind(id) => {
                let value = self.run.take(id);
                let used = self.cx.builder.operand(self.store, id, value);
                self.run.done.push(used);
            }
            Branch(id) => {
                self.cx.builder.begin_inner_scope();
                agenda.push(Step::Own(EndScope));
                self.body(id, agenda);
            }
            EndScope => self.cx.builder.end_scope(),
            Between::Binding(binding) => {
                let stays = self.mutator.enter_binding(self.store, self.cx, binding);
                let value = binding.value;
                if stays && !self.mutator.wants(self.store, value) && self.cx.is_untouched(self.store, value) {
                    self.run.done.push(value);
                    self.emit(binding);
                } else if stays {
                    agenda.extend([Step::Own(Emit(binding)), Step::Visit(value)]);
                }
            }
            Emit(binding) => self.emit(binding),
            BeginBlock(block) => self.begin_block(block),
            EndBlock(block) => self.end_block(block),
            BeginBody => {
                let dataflow = self.cx.builder.is_dataflow();
                self.cx.builder.begin_block(dataflow);
            }
            EndBody => {
                let dataflow = self.cx.builder.is_dataflow();
                let bindings = self.cx.builder.end_block();
                if !bindings.is_empty() {
                    let block = self.store.add_block_of(&bindings, dataflow);
                    self.run.close(block);
                }
            }
            Wrap => self.wrap(),
        }
    }
}

impl Anf<'_> {
    /// Visits the body of a function or branch, which has to be a sequence.
    fn body(&mut self, id: ExprId, agenda: &mut Agenda<Self>) {
        if matches!(self.store.expr(id), Expr::Seq { .. }) {
            agenda.push(Step::Visit(id));
            return;
        }
        self.run.blocks.push(Vec::new());
        agenda.extend([Wrap, EndBody, Operand(id), BeginBody].map(Step::Own));
    }

    fn wrap(&mut self) {
        let Some(body) = self.run.done.pop() else { return };
        let blocks = self.run.blocks.pop().unwrap_or_default();
        let blocks = self.cx.builder.join_blocks(self.store, &blocks);
        let ty = self.store.checked_type(body).map(|ty| self.cx.builder.erase(self.store, ty));
        let seq = self.store.add_typed(Expr::Seq { blocks, body }, ty);
        self.run.done.push(seq);
    }

    fn begin_block(&mut self, block: Id<BindingBlock>) {
        let data = *self.store.block(block);
        self.cx.builder.begin_block(data.dataflow);
        if let Some(bindings) = self.cx.builder.bindings() {
            bindings.reserve(data.bindings.len());
        }
        self.mutator.begin_block(self.store, self.cx, block);
    }

    fn end_block(&mut self, block: Id<BindingBlock>) {
        self.mutator.end_block(self.store, self.cx, block);
        let dataflow = self.cx.builder.is_dataflow();
        let new = self.cx.builder.end_block();
        let same = self.store.block(block).dataflow == dataflow
            && self.store.block_bindings(block).len() == new.len()
            && self.store.block_bindings(block).zip(&new).all(|(a, b)| (a.var, a.value, a.cast) == (b.var, b.value, b.cast));
        let new = if same { block } else { self.store.add_block_of(&new, dataflow) };
        self.run.close(new);
    }

    /// Puts the operands of a node on the agenda. Most nodes are over leaves alone, whose results are there at once.
    fn operands(&mut self, id: ExprId, agenda: &mut Agenda<Self>) {
        let first = agenda.len();
        let mut flat = !self.wants_leaves;
        for_each_child(self.store, id, |child| {
            flat &= is_leaf(self.store, child);
            agenda.push(Step::Own(Operand(child)));
        });
        if !flat {
            return agenda[first..].reverse();
        }
        for at in first..agenda.len() {
            let Step::Own(Operand(child)) = agenda[at] else { continue };
            match self.cx.builder.bound_here(child) {
                Some(used) => self.run.done.push(used),
                None => self.leaf(child),
            }
        }
        agenda.truncate(first);
    }

    fn leaf(&mut self, id: ExprId) {
        let post = match self.store.expr(id) {
            Expr::Op(_) | Expr::Global(_) => id,
            _ => self.run.rebuild(self.store, self.cx, id),
        };
        self.run.done.push(post);
    }

    fn emit(&mut self, binding: Binding) {
        let Anf { store, cx, mutator, run, .. } = self;
        let (value, rule) = (run.take(binding.value), mutator.rule());
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
            self.cx.reemit(self.store, binding, value);
        }
    }

    /// Defines the parameters of a function and opens its scope.
    fn open_function(&mut self, params: List<Var>) {
        let params: Vec<VarId> = self.store.items(params).collect();
        let mut new = Vec::with_capacity(params.len());
        for param in params {
            let var = self.mutator.define_var(self.store, self.cx, param);
            if var != param {
                let used = self.store.use_var(var);
                self.cx.replace(self.store, param, used);
            }
            new.push(var);
        }
        self.cx.builder.begin_scope(self.store, &new);
        self.cx.builder.begin_inner_scope();
        self.run.vars.push(new);
    }

    /// Closes the scope of a function and returns it over its new parameters and body.
    fn close_function(&mut self, id: ExprId, function: Id<Function>) -> ExprId {
        let params = self.run.vars.pop().unwrap_or_default();
        let data = *self.store.function(function);
        let body = self.run.take(data.body);
        self.cx.builder.end_scope();
        let same = self.store.items(data.params).eq(params.iter().copied());
        let ret = if same { data.ret } else { data.ret.map(|ty| self.cx.ty(self.store, ty)) };
        let params = if same { data.params } else { self.store.list(&params) };
        super::function_again(self.store, id, Function { params, ret, body, ..data })
    }
}
