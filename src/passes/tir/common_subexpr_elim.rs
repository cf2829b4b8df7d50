//! CommonSubexprElim: computes repeated expressions once.
//!
//! Source: `src/tirx/transform/common_subexpr_elim.cc` (0.27; that of earlier versions finds other expressions and
//! names them `cse_var_1`). Expressions are interned, so equal ones are one here, and counting is linear in the
//! program.

use crate::ir::{DType, DTypeCode, ExprId, IdMap, Module, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol, sort};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_func, substitute, substitute_stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `tirx.transform.CommonSubexprElim`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.CommonSubexprElim",
    info_name: "tirx.CommonSubexprElim",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Binds what is computed several times to a variable.",
    doc: explained(
        "An arithmetic expression, conversion or selection that stands in several places is bound to a variable `cse_v1`, before \
the first statement inside of the innermost loop, branch or attribute that is around all of them. Inner expressions come \
first, and one that only stands in larger ones that are bound already is left alone.\n\n\
Truth values stay where they are, and so does what reads memory or calls something, and vectors that count up or repeat a \
value; what stands in those is looked at. Regions, iterators and predicates of blocks do not count; TVM's pass fails where \
what stands there stands again.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"int32\"), n: T.int32, m: T.int32):
        for i in range(8):
            A[i * 8 + n] = i * 8 + n + m
            A[i * 8 + n + 1] = i * 8 - m
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"int32\"), n: T.int32, m: T.int32):
        for i in range(8):
            cse_v1: T.let[T.int32] = i * 8
            cse_v2: T.let[T.int32] = cse_v1 + n
            A[cse_v2] = cse_v2 + m
            A[cse_v2 + 1] = cse_v1 - m
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = super::prim_func(cx.store, func) else { return Ok(Some(func)) };
    let mut planner = Planner {
        scopes: vec![Scope { parent: 0, depth: 0, creator: prim.body }],
        table: IdMap::new(),
        entries: Vec::new(),
        scope: 0,
        barred: FxHashMap::default(),
    };
    planner.stmt(cx.store, prim.body);
    let mut plan = planner.plan(cx.store);
    if plan.before.is_empty() {
        return Ok(Some(func));
    }
    rewrite_func(cx.store, func, &mut plan).map(Some)
}

/// The body of a loop, a branch or an attribute.
struct Scope {
    parent: usize,
    depth: usize,
    /// The statement that it belongs to.
    creator: StmtId,
}

/// An expression that may be bound.
struct Entry {
    expr: PrimId,
    count: u64,
    /// The nesting depth of such expressions here.
    depth: usize,
    /// The innermost scope around all places.
    scope: usize,
    /// Scope and statement of the first place.
    first: (usize, StmtId),
    /// Such expressions right below, with how many times each.
    children: Vec<(usize, u64)>,
    /// The number of places inside larger expressions that are bound.
    consumed: u64,
}

struct Planner {
    scopes: Vec<Scope>,
    table: IdMap<PrimExpr, usize>,
    entries: Vec<Entry>,
    scope: usize,
    /// True if an expression reads memory or contains a call.
    barred: FxHashMap<PrimId, bool>,
}

impl Planner {
    /// Visits a statement. Statements nest as deep as the parser's limit.
    fn stmt(&mut self, store: &Store, id: StmtId) {
        let stmt = store.stmt(id);
        match stmt {
            Stmt::For(head, body) => {
                self.value(store, head.min, id);
                self.value(store, head.extent, id);
                self.inside(store, id, *body);
            }
            Stmt::If { cond, then, other } => {
                self.value(store, *cond, id);
                self.inside(store, id, *then);
                if let Some(other) = other {
                    self.inside(store, id, *other);
                }
            }
            Stmt::While { cond: value, body } | Stmt::Attr { value, body, .. } => {
                self.value(store, *value, id);
                self.inside(store, id, *body);
            }
            Stmt::Alloc(buffer, _) | Stmt::Declare(buffer) => {
                let buffer = store.buffer(*buffer);
                let parts = buffer.shape.iter().chain(&buffer.strides).chain(&buffer.elem_offset);
                parts.for_each(|part| self.value(store, *part, id));
            }
            Stmt::Store { indices, value, .. } => {
                self.value(store, *value, id);
                indices.iter().for_each(|index| self.value(store, *index, id));
            }
            _ => {
                store.for_each_prim_of(stmt, |root| self.value(store, root, id));
                store.for_each_inner_stmt(id, |inner| self.stmt(store, inner));
            }
        }
    }

    fn inside(&mut self, store: &Store, creator: StmtId, body: StmtId) {
        let outer = self.scope;
        self.scopes.push(Scope { parent: outer, depth: self.scopes[outer].depth + 1, creator });
        self.scope = self.scopes.len() - 1;
        self.stmt(store, body);
        self.scope = outer;
    }

    /// Counts the expressions in a statement: each as often as paths lead to it. Bodies of `T.Let` are left out, since they
    /// may use its variable.
    fn value(&mut self, store: &Store, root: PrimId, stmt: StmtId) {
        let mut order = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![(root, false)];
        while let Some((id, open)) = stack.pop() {
            if open {
                order.push(id);
                continue;
            }
            if !seen.insert(id) {
                continue;
            }
            stack.push((id, true));
            let first = stack.len();
            each_counted(store, id, &mut |child| stack.push((child, false)));
            stack[first..].reverse();
        }
        let mut paths: FxHashMap<PrimId, u64> = FxHashMap::default();
        paths.insert(root, 1);
        for id in order.iter().rev() {
            let own = paths.get(id).copied().unwrap_or(0);
            each_counted(store, *id, &mut |child| {
                let count = paths.entry(child).or_insert(0);
                *count = count.saturating_add(own);
            });
        }
        for id in order {
            self.record(store, id, stmt, paths.get(&id).copied().unwrap_or(0));
        }
    }

    fn record(&mut self, store: &Store, id: PrimId, stmt: StmtId, count: u64) {
        let expr = store.prim_of_id(id);
        let mut barred = matches!(expr, PrimExpr::Call { .. } | PrimExpr::Load { .. });
        expr.for_each_child(&mut |child| barred |= self.is_barred(store, child));
        self.barred.insert(id, barred);
        let counted =
            matches!(expr, PrimExpr::Binary { .. } | PrimExpr::Not(_) | PrimExpr::Cast { .. } | PrimExpr::Select { .. });
        let dtype = store.prim_dtype(id);
        let is_truth = dtype.element() == DType::BOOL;
        if barred || !counted || is_truth || dtype.code == DTypeCode::Handle || count == 0 {
            return;
        }
        if let Some(at) = self.table.get(id).copied() {
            self.entries[at].scope = self.common(self.entries[at].scope, self.scope);
            self.entries[at].count = self.entries[at].count.saturating_add(count);
            return;
        }
        let mut children: Vec<(usize, u64)> = Vec::new();
        expr.for_each_child(&mut |child| {
            let Some(child) = self.table.get(child).copied() else { return };
            match children.iter_mut().find(|(other, _)| *other == child) {
                Some((_, times)) => *times += 1,
                None => children.push((child, 1)),
            }
        });
        let depth = 1 + children.iter().map(|(child, _)| self.entries[*child].depth).max().unwrap_or(0);
        self.table.insert(id, self.entries.len());
        let first = (self.scope, stmt);
        self.entries.push(Entry { expr: id, count, depth, scope: self.scope, first, children, consumed: 0 });
    }

    /// True if an expression reads memory or contains a call; searches one that was not visited.
    fn is_barred(&self, store: &Store, id: PrimId) -> bool {
        if let Some(known) = self.barred.get(&id) {
            return *known;
        }
        let mut found = false;
        store.for_each_prim(id, &mut |_, expr| found |= matches!(expr, PrimExpr::Call { .. } | PrimExpr::Load { .. }));
        found
    }

    /// Returns the innermost scope around two.
    fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.scopes[a].depth >= self.scopes[b].depth {
                a = self.scopes[a].parent;
            } else {
                b = self.scopes[b].parent;
            }
        }
        a
    }

    /// Returns the statement before which an expression is bound.
    fn place(&self, entry: &Entry) -> StmtId {
        let (mut scope, stmt) = entry.first;
        if scope == entry.scope {
            return stmt;
        }
        while self.scopes[scope].parent != entry.scope {
            scope = self.scopes[scope].parent;
        }
        self.scopes[scope].creator
    }

    fn plan(mut self, store: &mut Store) -> Plan {
        let order = sort::ranking(self.entries.len(), &|a, b| self.entries[a].depth.cmp(&self.entries[b].depth));
        for at in 0..self.entries.len() {
            let more = self.entries[at].count.saturating_sub(1);
            for (child, times) in self.entries[at].children.clone() {
                let consumed = &mut self.entries[child].consumed;
                *consumed = consumed.saturating_add(more.saturating_mul(times));
            }
        }
        let mut plan = Plan { before: FxHashMap::default(), bound: FxHashMap::default(), made: FxHashSet::default() };
        for at in order {
            let entry = &self.entries[at];
            if entry.count.saturating_sub(entry.consumed) < 2 {
                continue;
            }
            let mut inner = Inner { bound: &plan.bound, root: entry.expr, depth: entry.depth };
            let value = Rewriting::new(store).prim(&mut inner, entry.expr);
            let name = store.name(&format!("cse_v{}", plan.bound.len() + 1));
            let var = store.add_symbol(Symbol { name, dtype: store.prim_dtype(entry.expr), size: false });
            let bind = store.add_stmt(Stmt::Bind { var, value });
            plan.before.entry(self.place(entry)).or_default().push(bind);
            let var = store.prim(PrimExpr::Var(var));
            plan.bound.insert(entry.expr, (var, entry.depth));
        }
        plan
    }
}

/// Visits the operands of an expression, except the body of `T.Let`.
fn each_counted(store: &Store, id: PrimId, visit: &mut dyn FnMut(PrimId)) {
    match store.prim_of_id(id) {
        PrimExpr::Let { value, .. } => visit(*value),
        expr => expr.for_each_child(visit),
    }
}

/// An expression over the variables of shallower ones.
struct Inner<'p> {
    bound: &'p FxHashMap<PrimId, (PrimId, usize)>,
    root: PrimId,
    depth: usize,
}

impl StmtMutator for Inner<'_> {
    fn rule(&self) -> &'static str {
        ""
    }

    fn enter_prim(&mut self, _: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        let (var, depth) = *self.bound.get(&id)?;
        (id != self.root && depth < self.depth).then_some(var)
    }
}

/// The bindings and their places.
struct Plan {
    before: FxHashMap<StmtId, Vec<StmtId>>,
    /// The variable of an expression, and how deep that is.
    bound: FxHashMap<PrimId, (PrimId, usize)>,
    /// Statements before which variables are bound already: one may stand in several places.
    made: FxHashSet<StmtId>,
}

impl StmtMutator for Plan {
    fn rule(&self) -> &'static str {
        "common subexpression bound"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn enter_prim(&mut self, _: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        self.bound.get(&id).map(|(var, _)| *var)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let mut stmts = self.before.get(&id)?.clone();
        let mut new = cx.descend(self, id);
        if !self.made.insert(id) {
            let mut again = Vec::new();
            for stmt in &mut stmts {
                let Stmt::Bind { var, value } = *cx.store.stmt(*stmt) else { continue };
                let value = substitute(cx.store, value, &mut |_, symbol| {
                    again.iter().find(|(old, _)| *old == symbol).map(|(_, new)| *new)
                });
                let fresh = cx.store.symbol(var).clone();
                let fresh = cx.store.add_symbol(fresh);
                again.push((var, cx.store.prim(PrimExpr::Var(fresh))));
                *stmt = cx.store.add_stmt(Stmt::Bind { var: fresh, value });
            }
            new = substitute_stmt(cx.store, new, &again);
        }
        stmts.push(new);
        Some(cx.store.add_stmts(&stmts))
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        format!("@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"int32\"), n: T.int32, m: T.int32):\n{body}")
    }

    fn bound(body: &str) -> String {
        after(&source(body), "tir.CommonSubexprElimTIR()")
    }

    #[test]
    fn an_expression_in_two_branches_is_bound_before_them() {
        let text = bound("A[0] = m\nif n > 0:\n    A[1] = n * m\nelse:\n    A[2] = n * m");
        let at = |what: &str| text.find(what).expect(what);
        assert!(at("A[0] = m") < at("cse_v1: T.let[T.int32] = n * m") && at("cse_v1:") < at("if n > 0"), "{text}");
    }

    #[test]
    fn an_expression_inside_of_one_that_is_bound_is_left_alone() {
        let text = bound("A[0] = (n + m) * 2\nA[1] = (n + m) * 2");
        assert!(text.contains("cse_v1: T.let[T.int32] = (n + m) * 2") && !text.contains("cse_v2"), "{text}");
    }

    #[test]
    fn both_sides_of_one_expression_count() {
        let text = bound("A[0] = (n + m) * (n + m)");
        assert!(text.contains("cse_v1: T.let[T.int32] = n + m") && text.contains("A[0] = cse_v1 * cse_v1"), "{text}");
    }

    #[test]
    fn doubling_again_and_again_counts_every_path_at_once() {
        let lines: Vec<String> = (0..60).map(|i| format!("x{}: T.let[T.int32] = x{i} + x{i}", i + 1)).collect();
        let text = bound(&format!("x0: T.let[T.int32] = n\n{}\nA[0] = x60", lines.join("\n")));
        assert!(!text.contains("cse_v1"), "{text}");
    }

    #[test]
    fn memory_calls_and_truth_values_stay() {
        for body in [
            "A[0] = A[n] + A[n]",
            "A[0] = T.popcount(n) * T.popcount(n)",
            "if n < m:\n    A[0] = 1\nif n < m:\n    A[1] = 1",
            "A[0] = T.Let(x + 1, where={x: n}) + T.Let(x + 1, where={x: n})",
        ] {
            let source = source(body);
            let source = if body.contains("where") { source.replace("    A[0]", "    x = T.int32()\n    A[0]") } else { source };
            unchanged(&source, "tirx.CommonSubexprElim()");
        }
    }
}
