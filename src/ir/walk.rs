//! Iterative walks: none of them uses the call stack for program data.

use super::expr::{Clause, Expr, ExprId, Pattern, PatternId, VarId};
use super::id::IdMap;
use super::prim::StmtId;
use super::store::Store;
use super::ty::{Type, TypeId};

/// Calls `f` with each child expression, in the order of TVM's `ExprVisitor`: callee then
/// arguments; a let's value before its body; a match's data before its arms; bindings before the result. Variables that a node
/// binds are not children; see [`for_each_binder`].
pub fn for_each_child(store: &Store, id: ExprId, mut f: impl FnMut(ExprId)) {
    each_child(store, id, &mut f);
}

/// The same, compiled once for all callers: inlined in each of them it was a fiftieth of the engine.
fn each_child(store: &Store, id: ExprId, f: &mut dyn FnMut(ExprId)) {
    match store.expr(id) {
        Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) | Expr::Constant(_) => {}
        Expr::Shape(_)
        | Expr::Prim(_)
        | Expr::Str(_)
        | Expr::DataType(_)
        | Expr::Extern(_)
        | Expr::PrimFunc(_)
        | Expr::Stmt(_) => {}
        Expr::Tuple(fields) => store.items(fields).for_each(f),
        Expr::TupleGetItem { tuple, index: _ } => f(tuple),
        Expr::Call { callee, args, info: _ } => {
            f(callee);
            store.items(args).for_each(f);
        }
        Expr::Let { var: _, value, body } => {
            f(value);
            f(body);
        }
        Expr::If { cond, then, other } => {
            f(cond);
            f(then);
            f(other);
        }
        Expr::Function(function) => f(store.function(function).body),
        Expr::Match { data, clauses, complete: _ } => {
            f(data);
            store.items(clauses).for_each(|clause: super::Id<Clause>| f(store.clause(clause).body));
        }
        Expr::RefCreate(value) => f(value),
        Expr::RefRead(reference) => f(reference),
        Expr::RefWrite { reference, value } => {
            f(reference);
            f(value);
        }
        Expr::Seq { blocks, body } => {
            store.bindings(blocks).for_each(|binding| f(binding.value));
            f(body);
        }
    }
}

/// The same for children and the statements of a function of TIR: all nodes that have an origin of their own.
pub fn for_each_part(store: &Store, id: ExprId, mut f: impl FnMut(ExprId)) {
    let mut stmt = |stmt: StmtId| f(store.stmt_node(stmt));
    match store.expr(id) {
        Expr::PrimFunc(func) => stmt(store.prim_func(func).body),
        Expr::Stmt(id) => store.for_each_inner_stmt(id, stmt),
        _ => for_each_child(store, id, f),
    }
}

/// True if a node is of a kind that has children: none of the leaves that nearly all operands are.
pub fn has_children(store: &Store, id: ExprId) -> bool {
    use Expr::{Constant, Ctor, DataType, Extern, Global, Op, Prim, PrimFunc, Shape, Stmt, Str, Var};
    let expr = store.expr(id);
    let is_name = matches!(expr, Var(_) | Global(_) | Op(_) | Ctor(_) | Extern(_) | PrimFunc(_) | Stmt(_));
    let is_literal = matches!(expr, Constant(_) | Shape(_) | Prim(_) | Str(_) | DataType(_));
    !is_name && !is_literal
}

/// Calls `f` with each variable that the node itself binds: parameters, a let's variable, the
/// variables of patterns and of blocks.
pub fn for_each_binder(store: &Store, id: ExprId, mut f: impl FnMut(VarId)) {
    match store.expr(id) {
        Expr::Let { var, .. } => f(var),
        Expr::Function(function) => store.items(store.function(function).params).for_each(f),
        Expr::Seq { blocks, .. } => store.bindings(blocks).for_each(|binding| f(binding.var)),
        Expr::Match { clauses, .. } => {
            for clause in store.items(clauses) {
                for_each_pattern_var(store, store.clause(clause).pattern, &mut f);
            }
        }
        _ => {}
    }
}

/// Calls `f` with each variable of a pattern, from left to right.
pub fn for_each_pattern_var(store: &Store, pattern: PatternId, f: &mut impl FnMut(VarId)) {
    let mut stack = vec![pattern];
    while let Some(pattern) = stack.pop() {
        match *store.pattern(pattern) {
            Pattern::Wildcard => {}
            Pattern::Var(var) => f(var),
            Pattern::Ctor { ctor: _, fields } | Pattern::Tuple(fields) => stack.extend(store.items(fields).rev()),
        }
    }
}

/// Calls `f` with each type directly inside of a type, of either dialect.
pub fn for_each_type_in(store: &Store, ty: TypeId, f: &mut dyn FnMut(TypeId)) {
    match store.type_of_id(ty) {
        Type::Tuple(fields) => fields.iter().copied().for_each(f),
        Type::Func { type_params: _, params, ret } => params.iter().chain([ret]).copied().for_each(f),
        Type::Ref(value) => f(*value),
        Type::Apply { head, args } => [head].into_iter().chain(args.iter()).copied().for_each(f),
        Type::Callable { params, ret, .. } => params.iter().flatten().chain([ret]).copied().for_each(f),
        Type::Distributed { tensor, .. } => f(*tensor),
        _ => {}
    }
}

/// Returns the types in a type that are no tuples, in order: those of a value's tensors.
pub fn leaf_types(store: &Store, ty: TypeId) -> impl Iterator<Item = TypeId> {
    let mut left = vec![ty];
    std::iter::from_fn(move || {
        loop {
            let ty = left.pop()?;
            let Type::Tuple(fields) = store.type_of_id(ty) else { return Some(ty) };
            left.extend(fields.iter().rev());
        }
    })
}

/// A walk over the nodes of a program, each visited once however often it is used.
pub trait ExprVisitor {
    /// Called when a node is reached, before its children. False skips its children; `leave` is
    /// called all the same.
    fn enter(&mut self, store: &Store, id: ExprId) -> bool {
        let _ = (store, id);
        true
    }

    /// Called when the children of a node are done.
    fn leave(&mut self, store: &Store, id: ExprId) {
        let _ = (store, id);
    }
}

/// Walks everything reachable from `root`, children in the order of [`for_each_child`].
pub fn visit(store: &Store, root: ExprId, visitor: &mut impl ExprVisitor) {
    enum Step {
        Enter(ExprId),
        Leave(ExprId),
    }
    let mut seen: IdMap<Expr, ()> = IdMap::new();
    let mut stack = Vec::with_capacity(64);
    stack.push(Step::Enter(root));
    while let Some(step) = stack.pop() {
        let id = match step {
            Step::Enter(id) => id,
            Step::Leave(id) => {
                visitor.leave(store, id);
                continue;
            }
        };
        if seen.insert(id, ()).is_some() {
            continue;
        }
        stack.push(Step::Leave(id));
        let first = stack.len();
        if visitor.enter(store, id) {
            for_each_child(store, id, |child| {
                if stack.len() > first || has_children(store, child) {
                    stack.push(Step::Enter(child));
                } else if seen.insert(child, ()).is_none() {
                    visitor.enter(store, child);
                    visitor.leave(store, child);
                }
            });
        }
        if stack.len() > first {
            stack[first..].reverse();
        } else {
            stack.pop();
            visitor.leave(store, id);
        }
    }
}

/// True if a body is one sequence without nested sequences: of values over leaves, or tuples of leaves, as those of
/// most functions are.
pub fn is_straight(store: &Store, body: ExprId) -> bool {
    let Expr::Seq { blocks, body } = store.expr(body) else { return false };
    let flat = |id: ExprId, deep: &dyn Fn(ExprId) -> bool| {
        let mut flat = !matches!(store.expr(id), Expr::If { .. } | Expr::Function(_) | Expr::Seq { .. });
        for_each_child(store, id, |child| flat = flat && !deep(child));
        flat
    };
    let leaf = |id: ExprId| !has_children(store, id);
    let operand = |id: ExprId| leaf(id) || matches!(store.expr(id), Expr::Tuple(_)) && flat(id, &|id| !leaf(id));
    let value = |id: ExprId| leaf(id) || flat(id, &|id| !operand(id));
    value(body) && store.bindings(blocks).all(|binding| value(binding.value))
}

/// Lists the nodes below a node over few leaves, as most values in normal form are, without a set of visited nodes.
fn over_leaves(store: &Store, root: ExprId) -> Option<Vec<ExprId>> {
    let mut order = Vec::with_capacity(8);
    let mut flat = true;
    for_each_child(store, root, |child| {
        flat = flat && order.len() < 16 && !has_children(store, child);
        if flat && !order.contains(&child) {
            order.push(child);
        }
    });
    order.push(root);
    flat.then_some(order)
}

/// Lists all nodes reachable from `root`, children before parents, each node once.
pub fn post_order(store: &Store, root: ExprId) -> Vec<ExprId> {
    struct Collect(Vec<ExprId>);
    impl ExprVisitor for Collect {
        fn leave(&mut self, _: &Store, id: ExprId) {
            self.0.push(id);
        }
    }
    let mut collect = match store.expr(root) {
        Expr::Seq { .. } | Expr::Function(_) => Collect(Vec::with_capacity(64)),
        _ => match over_leaves(store, root) {
            Some(order) => return order,
            None => Collect(Vec::new()),
        },
    };
    visit(store, root, &mut collect);
    collect.0
}

/// Returns the number of uses of each node reachable from `root`: one for every edge to it.
pub fn use_counts(store: &Store, root: ExprId) -> IdMap<Expr, u32> {
    let mut counts: IdMap<Expr, u32> = IdMap::new();
    for id in post_order(store, root) {
        for_each_child(store, id, |child| match counts.get_mut(child) {
            Some(n) => *n += 1,
            None => {
                counts.insert(child, 1);
            }
        });
    }
    counts
}

/// Returns the variables that are used in `root` and not bound in it, in the order of first use (TVM's `FreeVars`).
pub fn free_vars(store: &Store, root: ExprId) -> Vec<VarId> {
    let order = post_order(store, root);
    let mut bound: IdMap<super::Var, ()> = IdMap::new();
    for &id in &order {
        for_each_binder(store, id, |var| {
            bound.insert(var, ());
        });
    }
    order
        .into_iter()
        .filter_map(|id| match store.expr(id) {
            Expr::Var(var) if !bound.contains(var) => Some(var),
            _ => None,
        })
        .collect()
}
