//! Replaces symbols that a `match_cast` defines although their values are known.
//!
//! Source: `SymbolicVarCanonicalizer` of `src/relax/transform/canonicalize_bindings.cc`.

use crate::build::{BlockMutator, Mutation, has_bindings, infer_symbols, rewrite_function};
use crate::infer::relax::types::{Bindings, erase};
use crate::ir::rewrite::Visit;
use crate::ir::walk::post_order;
use crate::ir::{Binding, BindingBlock, Dim, Expr, ExprId, Id, Module, PrimExpr, Store, Symbol, TypeId};
use crate::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces symbols of casts by the extents in the types of the cast values. `out_of_scope` says that symbols of parameters
/// are unknown to the arms of branches.
pub(in crate::passes::relax) fn canonical_symbols(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    out_of_scope: bool,
) -> Result<ExprId, PassError> {
    let (casts, branches) = casts_and_branches(store, function);
    if !casts && !branches {
        return Ok(function);
    }
    rewrite_function(store, module, function, &mut Symbols { casts, out_of_scope, ..Symbols::default() })
}

/// Tells if there are casts, which define symbols, and if there are branches, which are rebuilt.
fn casts_and_branches(store: &Store, function: ExprId) -> (bool, bool) {
    let (mut casts, mut branches) = (false, false);
    let mut stack = vec![function];
    while let Some(id) = stack.pop() {
        match store.expr(id) {
            Expr::Function(function) => stack.push(store.function(function).body),
            Expr::If { then, other, .. } => {
                branches = true;
                stack.extend([then, other]);
            }
            Expr::Seq { blocks, .. } => {
                for binding in store.bindings(blocks) {
                    casts |= binding.cast.is_some();
                    stack.push(binding.value);
                }
            }
            _ => {}
        }
    }
    (casts, branches)
}

#[derive(Default)]
struct Symbols {
    /// False if there is no cast at all, so that there is nothing to replace.
    casts: bool,
    /// True if the function's body is rewritten without its parameters.
    out_of_scope: bool,
    /// The known values at the begin of the sequences around.
    outer: Vec<Bindings>,
    /// Symbols that are read at run time, for the functions around.
    used: Vec<FxHashSet<Id<Symbol>>>,
    /// The known values, while the current binding stays as it is written.
    hidden: Option<Bindings>,
}

impl BlockMutator for Symbols {
    fn rule(&self) -> &'static str {
        "a symbol that a cast defines is known"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn wants_leaves(&self) -> bool {
        self.casts
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(_) if self.casts => self.used.push(read_symbols(store, id)),
            Expr::Seq { .. } => self.outer.push(cx.symbols.clone()),
            // Only extents are replaced: a value that is read stays read, and so does the cast that defines it.
            Expr::Prim(_) => return Visit::Keep,
            _ => {}
        }
        Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(pre) {
            Expr::Function(_) => {
                self.used.pop();
            }
            Expr::Seq { .. } => cx.symbols = self.outer.pop().unwrap_or_default(),
            // TVM rebuilds blocks, so a branch with bindings always changes.
            Expr::If { then, other, .. } if post != pre || has_bindings(store, then) || has_bindings(store, other) => {
                return with_casts(store, cx, pre, post, self.out_of_scope);
            }
            _ => {}
        }
        post
    }

    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        if binding.cast.is_none() {
            return true;
        }
        let mut found = Vec::new();
        if let (Some(var), Some(value)) = (store.var_type(binding.var), store.checked_type(binding.value)) {
            infer_symbols(store, var, value, &mut found);
        }
        let mut read = false;
        // The last value that one cast gives a symbol counts.
        let last: FxHashMap<Id<Symbol>, Dim> = found.iter().copied().collect();
        found.retain(|(symbol, dim)| last.get(symbol) == Some(dim));
        for (symbol, dim) in found {
            read |= self.used.last().is_some_and(|used| used.contains(&symbol));
            match cx.symbols.get(&symbol) {
                Some(known) => {
                    if let (Some(a), Some(b)) = (known.known(), dim.known())
                        && a != b
                    {
                        let name = store.str(store.symbol(symbol).name);
                        let message = format!("MatchCast statements must be consistent: `{name}` would be {a} and {b}");
                        cx.builder.error("relax-match-cast", message, store.var_span(binding.var));
                    }
                }
                None => {
                    cx.symbols.insert(symbol, dim);
                }
            }
        }
        if read {
            self.hidden = Some(std::mem::take(&mut cx.symbols));
        }
        true
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        cx.reemit(store, pre, value);
        if let Some(hidden) = self.hidden.take() {
            cx.symbols = hidden;
        }
    }
}

/// Returns symbols that are values of the program, and not only extents.
fn read_symbols(store: &Store, function: ExprId) -> FxHashSet<Id<Symbol>> {
    let mut found = FxHashSet::default();
    for id in post_order(store, function) {
        match store.expr(id) {
            Expr::Var(var) => found.extend(store.var_data(var).symbol),
            Expr::Prim(prim) => store.for_each_prim(prim, &mut |_, node| {
                if let PrimExpr::Var(symbol) = node {
                    found.insert(*symbol);
                }
            }),
            _ => {}
        }
    }
    found
}

/// Keeps the type of a branch whose arms know different symbols: the arms cast to it.
fn with_casts(store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId, out_of_scope: bool) -> ExprId {
    let Expr::If { cond, then, other } = store.expr(post) else { return post };
    let Some(ty) = store.checked_type(pre).map(|ty| cx.ty(store, ty)) else { return post };
    let arms = [(then, "then_branch_with_dyn"), (other, "else_branch_with_dyn")].map(|(arm, name)| {
        // An arm with bindings is rebuilt and forgets the symbols that are unknown.
        let forgets = out_of_scope && has_bindings(store, arm);
        match store.checked_type(arm).filter(|_| forgets).map(|own| erase(store, own, &|_| false, &|_| false)) {
            Some(own) if own == ty => arm,
            _ => cast(store, arm, ty, name),
        }
    });
    if arms == [then, other] {
        return post;
    }
    store.rebuild(post, Expr::If { cond, then: arms[0], other: arms[1] }, Some(ty))
}

/// Casts the arm of a branch to a type that is not its own.
pub(super) fn cast(store: &mut Store, arm: ExprId, ty: TypeId, name: &str) -> ExprId {
    let Expr::Seq { blocks, body } = store.expr(arm) else { return arm };
    if store.checked_type(arm) == Some(ty) {
        return arm;
    }
    let var = store.relax_var(name, Some(ty), false);
    let mut blocks: Vec<Id<BindingBlock>> = store.items(blocks).collect();
    blocks.push(store.add_block_of(&[Binding { var, value: body, cast: Some(ty) }], false));
    let blocks = store.list(&blocks);
    let body = store.use_var(var);
    store.rebuild(arm, Expr::Seq { blocks, body }, Some(ty))
}
