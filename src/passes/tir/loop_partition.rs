//! LoopPartition: loops are divided where conditions change.
//!
//! Source: `src/s_tir/transform/loop_partition.cc`.

mod find;
mod unmark;

use crate::ir::{
    AttrNode, DType, ExprId, For, ForKind, Id, Kinds, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::{Analyzer, Domains, IntSet};
use crate::tir::{Rewriting, StmtMutator, binary, copy_stmt, has_kinds, rewrite_body, substitute_stmt};
use find::{Finder, Selector, common, interval};
use rustc_hash::FxHashSet;
use unmark::Unmark;

/// TVM's `s_tir.transform.LoopPartition`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LoopPartition",
    info_name: "s_tir.LoopPartition",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["s_tir.LoopPartition"],
    summary: "Divides loops so that conditions are known in their parts.",
    doc: explained(
        "Where a `T.likely` condition holds for some rounds of a loop and not for others, the loop becomes up to three: before, \
within and after the rounds in which it holds, and within the condition is gone. Loops of known length are divided only with the \
setting `partition_const_loop` or under the attribute `pragma_loop_partition_hint`, which also lets any comparison count. Parts of \
one round are no loops unless `no_unroll_loop_with_extent_one` is set; with `unroll_loop_with_partition_hint_no_interval` a hinted \
loop that cannot be divided is marked for unrolling. Marks and hints are gone afterwards.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((\"n\",), \"float32\")):
        n = T.int32()
        for i, j in T.grid((n + 3) // 4, 4):
            if T.likely(i * 4 + j < n):
                A[i * 4 + j] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((\"n\",), \"float32\")):
        n = T.int32()
        for i, j in T.grid(T.min(n // 4, (n + 3) // 4 - 1 + 1), 4):
            if T.bool(True):
                A[i * 4 + j] = T.float32(0.0)
        for i, j in T.grid((n % 4 + 3) // 4, 4):
            if (i + T.min(n // 4, (n + 3) // 4 - 1 + 1)) * 4 + j < n:
                A[(i + T.min(n // 4, (n + 3) // 4 - 1 + 1)) * 4 + j] = T.float32(0.0)
",
    ),
    run: Run::PrimFunc(run),
};

/// The most statements that a function may grow to. TVM knows no limit.
const MOST: usize = 200_000;

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    // Loops are chosen by a hint or by a condition that is likely, and nothing else changes.
    if !has_kinds(cx.store, func, Kinds::LIKELY | Kinds::ATTR) {
        return Ok(Some(func));
    }
    let flag = |name| cx.config_field("s_tir.LoopPartition", name) != 0;
    let mut partition = Partition {
        selector: Selector::new(flag("partition_const_loop")),
        keeps_single: flag("no_unroll_loop_with_extent_one"),
        unrolls: flag("unroll_loop_with_partition_hint_no_interval"),
        analyzer: Analyzer::new(),
        hints: Domains::default(),
        relax: Domains::default(),
        made: 0,
    };
    rewrite_body(cx.store, func, &mut partition, |partition, cx, body| {
        let divided = partition.again(cx, body);
        Rewriting::new(cx.store).visit(&mut Unmark, divided)
    })
    .map(Some)
}

struct Partition {
    selector: Selector,
    keeps_single: bool,
    unrolls: bool,
    analyzer: Analyzer,
    hints: Domains,
    relax: Domains,
    made: usize,
}

impl StmtMutator for Partition {
    fn rule(&self) -> &'static str {
        "loop divided"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, body) => {
                self.analyzer.bind_range(cx.store, head.var, head.min, head.extent);
                let set = interval(cx.store, head.min, head.extent);
                if self.selector.candidates.contains(&id)
                    && let Some(divided) = self.divide(cx, id, head.var, set, body)
                {
                    return Some(divided);
                }
                let added = self.hints.insert(head.var, set).is_none();
                let new = cx.descend(self, id);
                if added {
                    self.hints.remove(&head.var);
                }
                Some(new)
            }
            Stmt::Attr { node: AttrNode::Thread { var, tag }, key, value, body } if cx.store.str(key) == "thread_extent" => {
                let zero = cx.store.prim_int(0, cx.store.prim_dtype(value));
                let set = interval(cx.store, zero, value);
                if self.selector.candidates.contains(&id)
                    && let Some(divided) = self.divide(cx, id, var, set, body)
                {
                    return Some(divided);
                }
                let is_block = cx.store.str(tag).starts_with("blockIdx");
                let domains = if is_block { &mut self.hints } else { &mut self.relax };
                domains.insert(var, set);
                let new = cx.descend(self, id);
                let domains = if is_block { &mut self.hints } else { &mut self.relax };
                domains.remove(&var);
                Some(new)
            }
            _ => None,
        }
    }
}

impl Partition {
    /// Rewrites a statement, after choosing again the loops that may be divided.
    fn again(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
        self.selector.stmt(cx.store, id);
        cx.visit(self, id)
    }

    fn holds(&mut self, store: &mut Store, op: PrimOp, a: PrimId, b: PrimId) -> bool {
        let cond = binary(store, op, a, b);
        self.analyzer.can_prove(store, cond)
    }

    /// Divides a loop over `set`, or a launch of threads; nothing if it stays.
    fn divide(&mut self, cx: &mut Rewriting<'_>, id: StmtId, var: Id<Symbol>, set: IntSet, body: StmtId) -> Option<StmtId> {
        let (min, max) = (set.lower()?, set.upper()?);
        let hinted = self.selector.hinted.contains(&var);
        let mut hints = self.hints.clone();
        hints.entry(var).or_insert(set);
        let outer: FxHashSet<Id<Symbol>> = hints.keys().chain(self.relax.keys()).copied().collect();
        let mut finder = Finder { var, hinted, hints, relax: self.relax.clone(), outer: &outer, found: Vec::new() };
        finder.stmt(cx.store, body);
        let found = finder.found;
        if found.is_empty() {
            return None;
        }
        let store = &mut *cx.store;
        let mut chosen = None;
        for value in [true, false] {
            let (middle, conds) = common(store, &mut self.analyzer, &found, set, value, hinted);
            if !middle.is_nothing() {
                chosen = Some((middle, conds, value));
                break;
            }
        }
        let Some((middle, conds, value)) = chosen else {
            return self.unrolled(cx, id, min, max, body, &found);
        };
        let is_loop = matches!(cx.store.stmt(id), Stmt::For(..));
        let one = cx.store.prim_int(1, cx.store.prim_dtype(max));
        let zero = cx.store.prim_int(0, DType::I32);
        let end = binary(cx.store, PrimOp::Add, max, one);
        let (mut begin, mut before) = (min, None);
        if let Some(least) = middle.lower() {
            begin = self.analyzer.simplify(cx.store, least);
            if !self.holds(cx.store, PrimOp::Eq, begin, min) {
                let rounds = binary(cx.store, PrimOp::Sub, begin, min);
                let rounds = self.analyzer.simplify(cx.store, rounds);
                let recurses = self.holds(cx.store, PrimOp::Gt, rounds, zero);
                if !recurses {
                    begin = binary(cx.store, PrimOp::Max, begin, min);
                }
                if !self.holds(cx.store, PrimOp::Le, rounds, zero) && is_loop {
                    let rounds = binary(cx.store, PrimOp::Sub, begin, min);
                    let moved = moved(cx.store, body, var, min);
                    before = Some((self.loop_of(cx, id, rounds, moved)?, recurses));
                }
            }
        }
        let (mut after_begin, mut after) = (end, None);
        if let Some(most) = middle.upper() {
            let next = binary(cx.store, PrimOp::Add, most, one);
            after_begin = self.analyzer.simplify(cx.store, next);
            if !self.holds(cx.store, PrimOp::Eq, most, max) {
                let rounds = binary(cx.store, PrimOp::Sub, max, after_begin);
                let rounds = binary(cx.store, PrimOp::Add, rounds, one);
                let rounds = self.analyzer.simplify(cx.store, rounds);
                let recurses = self.holds(cx.store, PrimOp::Gt, rounds, zero);
                if !recurses {
                    after_begin = binary(cx.store, PrimOp::Min, after_begin, end);
                }
                if !self.holds(cx.store, PrimOp::Le, rounds, zero) && is_loop {
                    let moved = moved(cx.store, body, var, after_begin);
                    after = Some((self.loop_of(cx, id, rounds, moved)?, recurses));
                }
            }
        }
        if !is_loop {
            let mut cond = cx.store.prim_int(1, DType::BOOL);
            let var = cx.store.prim(PrimExpr::Var(var));
            if !self.holds(cx.store, PrimOp::Eq, begin, min) {
                let least = binary(cx.store, PrimOp::Ge, var, begin);
                cond = binary(cx.store, PrimOp::And, cond, least);
            }
            if !self.holds(cx.store, PrimOp::Eq, after_begin, end) {
                let most = binary(cx.store, PrimOp::Lt, var, after_begin);
                cond = binary(cx.store, PrimOp::And, cond, most);
            }
            let mut insert = InThreads { conds: &conds, cond, innermost: false };
            return Some(Rewriting::new(cx.store).visit(&mut insert, id));
        }
        let mut parts = Vec::new();
        let mut middle = None;
        if !self.holds(cx.store, PrimOp::Ge, begin, after_begin) {
            let known = Rewriting::new(cx.store).visit(&mut Decide { conds: &conds, value }, body);
            let moved = moved(cx.store, known, var, begin);
            let rounds = binary(cx.store, PrimOp::Sub, after_begin, begin);
            let part = self.loop_of(cx, id, rounds, moved)?;
            middle = Some(self.again(cx, part));
            for (part, recurses) in [&mut before, &mut after].into_iter().flatten() {
                if *recurses {
                    *part = self.again(cx, *part);
                }
            }
        }
        parts.extend(before.map(|(part, _)| part));
        parts.extend(middle);
        parts.extend(after.map(|(part, _)| part));
        for part in parts.iter_mut().skip(1) {
            *part = copy_stmt(cx.store, *part, &[]);
        }
        Some(cx.store.flat_seq(None, &parts))
    }

    /// Marks a hinted loop that cannot be divided for unrolling, if the configuration says so.
    fn unrolled(
        &mut self,
        cx: &mut Rewriting<'_>,
        id: StmtId,
        min: PrimId,
        max: PrimId,
        body: StmtId,
        found: &[(PrimId, bool, IntSet)],
    ) -> Option<StmtId> {
        // Conditions that hold at single values outside of the loop decide nothing.
        let is_outside = |partition: &mut Partition, store: &mut Store, set: IntSet| match set.point() {
            Some(point) => !(partition.holds(store, PrimOp::Ge, point, min) && partition.holds(store, PrimOp::Le, point, max)),
            None => false,
        };
        if found.iter().all(|(.., set)| is_outside(self, cx.store, *set)) {
            return None;
        }
        let Stmt::For(head, _) = cx.store.stmt(id).clone() else { return None };
        let rounds = binary(cx.store, PrimOp::Sub, max, min);
        let zero = cx.store.prim_int(0, cx.store.prim_dtype(rounds));
        if !self.unrolls || !self.selector.hinted.contains(&head.var) || !self.holds(cx.store, PrimOp::Gt, rounds, zero) {
            return None;
        }
        let body = self.again(cx, body);
        let one = cx.store.prim_int(1, cx.store.prim_dtype(rounds));
        let extent = binary(cx.store, PrimOp::Add, rounds, one);
        let head = For { var: head.var, min, extent, step: None, kind: ForKind::Unrolled, annotations: None };
        Some(cx.store.add_stmt(Stmt::For(head, body)))
    }

    /// Makes a part of a loop, counted from zero.
    fn loop_of(&mut self, cx: &mut Rewriting<'_>, id: StmtId, extent: PrimId, body: StmtId) -> Option<StmtId> {
        let Stmt::For(head, _) = cx.store.stmt(id).clone() else { return None };
        cx.store.for_each_stmt(body, |_| self.made += 1);
        if self.made > MOST {
            cx.fail("tir-partition", format!("dividing loops makes more than {MOST} statements"));
            return None;
        }
        let one = cx.store.prim_int(1, DType::I32);
        if self.holds(cx.store, PrimOp::Eq, extent, one) && !self.keeps_single && head.annotations.is_none() {
            let zero = cx.store.prim_int(0, DType::I32);
            return Some(substitute_stmt(cx.store, body, &[(head.var, zero)]));
        }
        if matches!(head.kind, ForKind::Thread(_)) {
            cx.fail("tir-partition", "Check failed: (for_node->kind != ForKind::kThreadBinding) is false");
            return None;
        }
        let min = cx.store.prim_int(0, cx.store.prim_dtype(head.min));
        Some(cx.store.add_stmt(Stmt::For(For { min, extent, ..head }, body)))
    }
}

/// Moves a body whose variable begins at `from`, so that it counts from zero.
fn moved(store: &mut Store, body: StmtId, var: Id<Symbol>, from: PrimId) -> StmtId {
    let value = store.prim(PrimExpr::Var(var));
    let value = binary(store, PrimOp::Add, value, from);
    substitute_stmt(store, body, &[(var, value)])
}

/// Puts the value of conditions in their place.
struct Decide<'a> {
    conds: &'a FxHashSet<PrimId>,
    value: bool,
}

impl StmtMutator for Decide<'_> {
    fn rule(&self) -> &'static str {
        ""
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        self.conds.contains(&id).then(|| cx.store.prim_int(i64::from(self.value), DType::BOOL))
    }
}

/// Puts a branch into the innermost launch of threads, in one side of which conditions are true.
struct InThreads<'a> {
    conds: &'a FxHashSet<PrimId>,
    cond: PrimId,
    innermost: bool,
}

impl StmtMutator for InThreads<'_> {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Attr { node, key, value, body } = cx.store.stmt(id).clone() else { return None };
        if cx.store.str(key) != "thread_extent" {
            return None;
        }
        self.innermost = true;
        let mut new = cx.descend(self, id);
        if self.innermost {
            let then = Rewriting::new(cx.store).visit(&mut Decide { conds: self.conds, value: true }, body);
            let other = Some(copy_stmt(cx.store, body, &[]));
            let body = cx.store.add_stmt(Stmt::If { cond: self.cond, then, other });
            new = cx.store.add_stmt(Stmt::Attr { node, key, value, body });
        }
        self.innermost = false;
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, unchanged};

    const KNOWN: &str = "\
@T.prim_func(private=True)
def f(A: T.Buffer((16,), \"float32\")):
    for i in range(16):
        if T.likely(i < 12):
            A[i] = T.float32(0.0)
";

    #[test]
    fn loops_of_known_length_are_divided_when_asked() {
        let text = after(KNOWN, "s_tir.LoopPartition()");
        assert!(text.contains("range(16)") && text.contains("if i < 12:"), "{text}");
        let text = after_with(KNOWN, "s_tir.LoopPartition()", &[("s_tir.LoopPartition", "{\"partition_const_loop\": True}")]);
        assert!(text.contains("for i in range(12):\n            if T.bool(True):"), "{text}");
        assert!(text.contains("for i in range(4):\n            if T.bool(False):"), "{text}");
    }

    #[test]
    fn what_is_not_marked_stays() {
        unchanged(&KNOWN.replace("T.likely(i < 12)", "i < 12"), "s_tir.LoopPartition()");
    }
}
