//! Finds the scalar expressions that a function needs at run time, and assigns each a place in its heap of shapes.

use super::super::calls::extents_of;
use super::super::compute_prim_value::symbols_of;
use crate::infer::relax::types::is_plain;
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Binding, DType, Dim, Expr, ExprId, Function, Id, PrimExpr, PrimId, Store, Symbol, Type, TypeId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// An expression with a place in the heap.
pub(super) struct Slot {
    pub(super) expr: PrimId,
    /// Slots of expressions that contain this variable.
    pub(super) users: Vec<usize>,
    /// The number of variables in the expression without a value so far.
    pub(super) outstanding: usize,
    /// True if the value is in the heap.
    pub(super) computed: bool,
}

/// The places of a function's heap.
#[derive(Default)]
pub(super) struct Slots {
    pub(super) list: Vec<Slot>,
    places: FxHashMap<PrimId, usize>,
}

impl Slots {
    /// Returns the place of an expression.
    pub(super) fn place(&self, expr: PrimId) -> Option<usize> {
        self.places.get(&expr).copied()
    }

    /// The places that a function needs.
    pub(super) fn of(store: &mut Store, function: &Function) -> Result<Slots, String> {
        let mut collector = Collector {
            slots: Slots::default(),
            live: FxHashSet::default(),
            live_symbols: FxHashSet::default(),
            bound: FxHashMap::default(),
            holders: FxHashMap::default(),
            collects: false,
            scalars: true,
        };
        collector.live(store, function);
        collector.collects = true;
        collector.params(store, function);
        collector.walk(store, Task::Expr(function.body));
        if let Some(ret) = function.ret {
            collector.walk(store, Task::Type(ret));
        }
        let mut slots = collector.slots;
        for place in in_order_of_buckets(slots.list.len()) {
            let expr = slots.list[place].expr;
            if matches!(store.prim_of_id(expr), PrimExpr::Var(_)) {
                continue;
            }
            for symbol in symbols_of(store, expr) {
                let var = store.prim(PrimExpr::Var(symbol));
                let Some(of) = slots.place(var) else {
                    return Err(format!("Var {} is not defined in the function", store.str(store.symbol(symbol).name)));
                };
                slots.list[of].users.push(place);
                slots.list[place].outstanding += 1;
            }
        }
        Ok(slots)
    }
}

/// Returns places in the order of TVM's hash table of expressions, as long as no two share a bucket: new ones stand
/// first, and when the table grows all are inserted again.
fn in_order_of_buckets(count: usize) -> impl Iterator<Item = usize> {
    // Numbers of buckets of libstdc++, each about twice the one before.
    let sizes = [13, 29, 59, 127, 257, 541, 1109, 2357, 5087];
    let mut order = VecDeque::with_capacity(count);
    for place in 0..count {
        if sizes.contains(&place) {
            order.make_contiguous().reverse();
        }
        order.push_front(place);
    }
    order.into_iter()
}

struct Collector {
    slots: Slots,
    /// Variables whose values are needed for shapes or results.
    live: FxHashSet<VarId>,
    live_symbols: FxHashSet<Id<Symbol>>,
    bound: FxHashMap<VarId, ExprId>,
    /// The variable of the program that holds a symbol.
    holders: FxHashMap<Id<Symbol>, VarId>,
    /// True while expressions get places; before that, the needed values are collected.
    collects: bool,
    /// True if scalars that are operands count.
    scalars: bool,
}

enum Task {
    Expr(ExprId),
    Type(TypeId),
    Binding(Binding),
    Scalars(bool),
}

impl Collector {
    fn live(&mut self, store: &mut Store, function: &Function) {
        // Liveness matters for scalars only, and most programs have none.
        let scalar = |id| match store.expr(id) {
            Expr::Var(var) => store.var_data(var).symbol.is_some(),
            Expr::Prim(prim) => !symbols_of(store, prim).is_empty(),
            _ => false,
        };
        if !post_order(store, function.body).into_iter().any(scalar) {
            return;
        }
        for id in post_order(store, function.body) {
            let Expr::Seq { blocks, .. } = store.expr(id) else { continue };
            for binding in store.bindings(blocks) {
                if binding.cast.is_none() {
                    self.bound.insert(binding.var, binding.value);
                }
                if let Some(symbol) = store.var_data(binding.var).symbol {
                    self.holders.insert(symbol, binding.var);
                }
            }
        }
        if let Expr::Seq { body, .. } = store.expr(function.body) {
            for id in post_order(store, body) {
                if let Expr::Var(var) = store.expr(id) {
                    self.mark(store, var);
                }
            }
        }
        self.params(store, function);
        if let Some(ret) = function.ret {
            self.walk(store, Task::Type(ret));
        }
        self.walk(store, Task::Expr(function.body));
    }

    fn params(&mut self, store: &mut Store, function: &Function) {
        let params: Vec<VarId> = store.items(function.params).collect();
        for param in params {
            if let Some(ty) = store.var_type(param) {
                self.walk(store, Task::Type(ty));
            }
        }
    }

    fn mark_symbol(&mut self, store: &Store, symbol: Id<Symbol>) {
        if self.live_symbols.insert(symbol)
            && let Some(var) = self.holders.get(&symbol)
        {
            self.mark(store, *var);
        }
    }

    fn mark(&mut self, store: &Store, var: VarId) {
        let mut stack = vec![var];
        while let Some(var) = stack.pop() {
            if !self.live.insert(var) {
                continue;
            }
            let Some(value) = self.bound.get(&var) else { continue };
            let mut symbols = Vec::new();
            for id in post_order(store, *value) {
                match store.expr(id) {
                    Expr::Var(used) => {
                        stack.push(used);
                        symbols.extend(store.var_data(used).symbol);
                    }
                    Expr::Prim(prim) => symbols.extend(symbols_of(store, prim)),
                    Expr::Shape(dims) => {
                        for dim in store.dims_of_id(dims) {
                            match *dim {
                                Dim::Symbol(symbol) => symbols.push(symbol),
                                Dim::Expr(prim) => symbols.extend(symbols_of(store, prim)),
                                _ => {}
                            }
                        }
                    }
                    _ => {}
                }
            }
            for symbol in symbols {
                if self.live_symbols.insert(symbol) {
                    stack.extend(self.holders.get(&symbol));
                }
            }
        }
    }

    fn walk(&mut self, store: &mut Store, task: Task) {
        let mut stack = vec![task];
        while let Some(task) = stack.pop() {
            let first = stack.len();
            match task {
                Task::Scalars(on) => self.scalars = on,
                Task::Type(ty) => self.ty(store, ty, &mut stack),
                Task::Binding(Binding { cast: Some(ty), .. }) => stack.push(Task::Type(ty)),
                Task::Binding(binding) if self.collects => {
                    let symbol = store.var_data(binding.var).symbol;
                    let live = self.live.contains(&binding.var) || symbol.is_some_and(|s| self.live_symbols.contains(&s));
                    let before = self.scalars;
                    self.scalars = live;
                    stack.extend([Task::Expr(binding.value), Task::Scalars(before)]);
                }
                Task::Binding(_) => {}
                Task::Expr(id) => self.expr(store, id, &mut stack),
            }
            stack[first..].reverse();
        }
    }

    fn ty(&mut self, store: &mut Store, ty: TypeId, stack: &mut Vec<Task>) {
        if is_plain(store, ty) {
            return;
        }
        match store.type_of_id(ty).clone() {
            Type::Tuple(fields) => stack.extend(fields.iter().map(|field| Task::Type(*field))),
            Type::PartialTensor(info) => {
                if let crate::ir::Extents::Var(var) = info.extents {
                    let used = store.use_var(var);
                    stack.push(Task::Expr(used));
                } else if let crate::ir::Extents::Known(dims) = info.extents {
                    self.dims(store, &dims);
                }
            }
            other => {
                if let Some(dims) = extents_of(&other) {
                    self.dims(store, dims);
                }
            }
        }
    }

    fn dims(&mut self, store: &mut Store, dims: &[Dim]) {
        for dim in dims.iter().filter(|dim| dim.known().is_none()) {
            let prim = store.prim_of_dim(*dim);
            self.handle(store, prim);
        }
    }

    fn expr(&mut self, store: &mut Store, id: ExprId, stack: &mut Vec<Task>) {
        let ty = store.checked_type(id);
        match store.expr(id) {
            Expr::Var(var) => {
                let data = store.var_data(var);
                if let Some(symbol) = data.symbol.filter(|_| self.scalars && !data.dataflow) {
                    self.scalar(store, symbol);
                }
                stack.extend(store.var_type(var).map(Task::Type));
            }
            Expr::Prim(prim) => {
                for symbol in symbols_of(store, prim) {
                    if self.scalars {
                        self.scalar(store, symbol);
                    }
                }
            }
            Expr::Shape(dims) => {
                let dims = store.dims_of_id(dims).to_vec();
                self.dims(store, &dims);
            }
            Expr::Seq { blocks, body } => {
                stack.extend(store.bindings(blocks).map(Task::Binding));
                stack.push(Task::Expr(body));
                stack.extend(ty.map(Task::Type));
            }
            Expr::Call { callee, args, info } => {
                let ty_args = info.map(|info| &store.call_info(info).type_args[..]).unwrap_or_default();
                stack.extend(matters(store, callee).then_some(Task::Expr(callee)));
                stack.extend(ty_args.iter().filter(|ty| !is_plain(store, **ty)).map(|ty| Task::Type(*ty)));
                stack.extend(store.items(args).filter(|arg| matters(store, *arg)).map(Task::Expr));
                stack.extend(ty.filter(|ty| !is_plain(store, *ty)).map(Task::Type));
            }
            Expr::Tuple(_) | Expr::TupleGetItem { .. } | Expr::If { .. } => {
                for_each_child(store, id, |child| stack.extend(matters(store, child).then_some(Task::Expr(child))));
                stack.extend(ty.map(Task::Type));
            }
            _ => {}
        }
    }

    fn scalar(&mut self, store: &mut Store, symbol: Id<Symbol>) {
        if store.symbol(symbol).dtype == DType::I64 {
            let prim = store.prim(PrimExpr::Var(symbol));
            self.handle(store, prim);
        }
    }

    fn handle(&mut self, store: &mut Store, prim: PrimId) {
        if !self.collects {
            for symbol in symbols_of(store, prim) {
                self.mark_symbol(store, symbol);
            }
            return;
        }
        if matches!(store.prim_of_id(prim), PrimExpr::Int { .. }) {
            return;
        }
        self.place(prim);
        for symbol in symbols_of(store, prim) {
            let var = store.prim(PrimExpr::Var(symbol));
            self.place(var);
        }
    }

    fn place(&mut self, expr: PrimId) {
        if self.slots.places.contains_key(&expr) {
            return;
        }
        self.slots.places.insert(expr, self.slots.list.len());
        self.slots.list.push(Slot { expr, users: Vec::new(), outstanding: 0, computed: false });
    }
}

/// True if an operand can need a place: it is a symbol, has one in its type, or has nested values.
fn matters(store: &Store, id: ExprId) -> bool {
    match store.expr(id) {
        Expr::Var(var) => store.var_data(var).symbol.is_some() || store.var_type(var).is_some_and(|ty| !is_plain(store, ty)),
        Expr::Constant(_) | Expr::Op(_) | Expr::Global(_) | Expr::Extern(_) | Expr::Str(_) | Expr::DataType(_) => false,
        _ => true,
    }
}
