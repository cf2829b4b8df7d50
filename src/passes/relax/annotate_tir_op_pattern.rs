//! AnnotateTIROpPattern: annotates every tensor program with its pattern, which FuseOps reads.
//!
//! A block is classified by its one store and its loads: the same indices are element-wise, a subsequence of them is a
//! broadcast, and anything computed from the variables of the store is injective. A block that reads more than that is
//! a reduction, and one that multiplies and adds, or reads at sums of variables, is `OutEWiseFusable`. The function has
//! the worst pattern of its blocks.
//!
//! TVM tells indices apart by pointer; here two indices are the same when they are the same variable, which has the
//! same effect on its programs.
//!
//! Source: `src/relax/transform/annotate_tir_op_pattern.cc`, `src/relax/analysis/tir_op_pattern_kind.cc`.

use crate::ir::{AttrValue, Block, Buffer, Expr, ExprId, Id, IterKind, Module, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam};
use crate::ir::{Stmt, StmtId, Store, Symbol};
use crate::ops::OpPattern;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.AnnotateTIROpPattern`.
pub static SPEC: PassSpec = PassSpec {
    name: "AnnotateTIROpPattern",
    info_name: "AnnotateTIROpPattern",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Says on each tensor program how it computes, for FuseOps.",
    doc: explained(
        "The attribute `op_pattern` of a tensor program is 0 when every element of the result depends on the elements at \
the same place, 1 when some are broadcast, 2 when elements are moved, 3 for a reduction, 4 for a complex program behind which \
element-wise work can be fused, such as a matrix product, and 8 when nothing is known. The pass finds it from the indices with \
which blocks load and store. A function that has a pattern other than 0 keeps it.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(4),), \"float32\")):
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(4),), \"float32\")):
        T.func_attr({\"op_pattern\": 0})
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut result = module.clone();
    for &(name, function) in module.functions() {
        let new = annotated(cx.store, function);
        result.set_function(name, new);
    }
    Ok(result)
}

fn annotated(store: &mut Store, function: ExprId) -> ExprId {
    let Expr::PrimFunc(id) = store.expr(function) else { return function };
    let attrs = store.prim_func(id).attrs;
    if store.attr_int(attrs, "op_pattern").is_some_and(|kind| kind != 0) {
        return function;
    }
    let kind = op_pattern(store, id);
    store.rewrite("pattern found", function, function, |store| {
        let old = store.prim_func(id).clone();
        let attrs = store.with_attr(old.attrs, "op_pattern", AttrValue::Int { value: kind as i64, bits: 64 });
        if Some(attrs) == old.attrs {
            return function;
        }
        let new = store.add_prim_func(PrimFunc { attrs: Some(attrs), ..old });
        let ty = store.checked_type(function);
        store.rebuild(function, Expr::PrimFunc(new), ty)
    })
}

/// Returns the pattern of a tensor program (TVM's `AnalyzeOpPatternKind`).
pub fn op_pattern(store: &Store, function: Id<PrimFunc>) -> OpPattern {
    let function = store.prim_func(function);
    let mut analyzer = Analyzer { store, stored: None, loads: Vec::new(), kind: OpPattern::ElemWise, params: &function.params };
    analyzer.walk(function.body);
    analyzer.kind
}

/// A buffer and indices into it.
type Access = (Id<Buffer>, Box<[PrimId]>);

struct Analyzer<'s> {
    store: &'s Store,
    /// The last store visited.
    stored: Option<Access>,
    /// The loads of the current block.
    loads: Vec<Access>,
    kind: OpPattern,
    params: &'s [PrimParam],
}

enum Step {
    Enter(StmtId),
    /// Leaves a block, all of whose statements were visited.
    Leave(Id<Block>),
}

impl Analyzer<'_> {
    fn walk(&mut self, body: StmtId) {
        let mut stack = vec![Step::Enter(body)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave(block) => self.leave(block),
                Step::Enter(id) => self.enter(id, &mut stack),
            }
        }
    }

    fn enter(&mut self, id: StmtId, stack: &mut Vec<Step>) {
        let store = self.store;
        match store.stmt(id) {
            Stmt::Seq(list) => stack.extend(store.items(*list).rev().map(Step::Enter)),
            Stmt::Block(id) => {
                let block = store.prim_block(*id);
                block.iters.iter().filter_map(|iter| iter.value).chain(block.predicate).for_each(|value| self.prim(value));
                if store.str(block.name) != "root" {
                    self.loads.clear();
                    self.stored = None;
                    stack.push(Step::Leave(*id));
                }
                stack.push(Step::Enter(block.body));
                return;
            }
            Stmt::Store { buffer, indices, value } => {
                if self.stored.as_ref().is_some_and(|(_, known)| !same(store, known, indices)) {
                    self.kind = OpPattern::Opaque;
                    return;
                }
                self.stored = Some((*buffer, indices.clone()));
                self.prim(*value);
                indices.iter().for_each(|index| self.prim(*index));
            }
            Stmt::For(head, _) => [Some(head.min), Some(head.extent), head.step].into_iter().flatten().for_each(|p| self.prim(p)),
            Stmt::If { cond, .. } | Stmt::While { cond, .. } | Stmt::Assert { cond, .. } => self.prim(*cond),
            Stmt::Bind { value, .. } | Stmt::Attr { value, .. } | Stmt::Evaluate(value) | Stmt::Return(value) => {
                self.prim(*value)
            }
            Stmt::Alloc(..) | Stmt::Declare(_) | Stmt::Break | Stmt::Continue => {}
        }
        stack.extend(store.stmt(id).nested().into_iter().flatten().rev().map(Step::Enter));
    }

    fn prim(&mut self, root: PrimId) {
        let loads = &mut self.loads;
        self.store.for_each_prim(root, &mut |_, expr| {
            if let PrimExpr::Load { buffer, indices } = expr {
                loads.push((*buffer, indices.clone()));
            }
        });
    }

    fn leave(&mut self, id: Id<Block>) {
        let store = self.store;
        let block = store.prim_block(id);
        let Some(stored) = &self.stored else {
            self.kind = OpPattern::Opaque;
            return;
        };
        if let Some(pattern) = indexing(store, stored, &self.loads) {
            let output = block.writes.iter().any(|region| self.params.contains(&PrimParam::Buffer(region.buffer)));
            // Element-wise work may follow a reduction in the same function, as in softmax.
            self.kind = match output && self.kind == OpPattern::CommReduce {
                true => OpPattern::OutEWiseFusable,
                false => self.kind.max(pattern),
            };
            return;
        }
        let reduced: Vec<Id<Symbol>> =
            block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce).map(|iter| iter.var).collect();
        if reduced.is_empty() {
            self.kind = OpPattern::Opaque;
            return;
        }
        let plain = |index: &PrimId| as_var(store, *index).is_some() || !uses(store, *index, &|var| reduced.contains(&var));
        let pure = self.loads.iter().all(|(_, indices)| indices.iter().all(plain));
        let found = match multiplies_and_adds(store, block.body) || !pure {
            true => OpPattern::OutEWiseFusable,
            false => OpPattern::CommReduce,
        };
        self.kind = self.kind.max(found);
    }
}

/// Returns the pattern of a block without arithmetic; `None` when its store does not determine the indices of a load.
fn indexing(store: &Store, stored: &Access, loads: &[Access]) -> Option<OpPattern> {
    let mut worst = OpPattern::ElemWise;
    let mut element_wise = false;
    for load in loads {
        if same(store, &stored.1, &load.1) {
            element_wise = true;
        } else if is_broadcast(store, stored, load) {
            worst = worst.max(OpPattern::Broadcast);
        } else if is_injective(store, stored, load) {
            worst = worst.max(OpPattern::Injective);
        } else {
            return None;
        }
    }
    Some(if worst == OpPattern::Broadcast && element_wise { OpPattern::ElemWise } else { worst })
}

fn as_var(store: &Store, id: PrimId) -> Option<Id<Symbol>> {
    match *store.prim_of_id(id) {
        PrimExpr::Var(symbol) => Some(symbol),
        _ => None,
    }
}

fn same(store: &Store, a: &[PrimId], b: &[PrimId]) -> bool {
    a == b && a.iter().all(|index| as_var(store, *index).is_some())
}

/// True if the indices of a load are among those of the store, in the same order.
fn is_broadcast(store: &Store, stored: &Access, load: &Access) -> bool {
    let mut rest = stored.1.iter();
    let shape = &store.buffer(load.0).shape;
    load.1.iter().enumerate().all(|(axis, index)| {
        let unit = shape.get(axis).is_some_and(|extent| store.as_prim_int(*extent) == Some(1));
        (unit && store.as_prim_int(*index) == Some(0)) || (rest.any(|known| known == index) && as_var(store, *index).is_some())
    })
}

/// True if the indices of a load are computed from those of the store, which are variables.
fn is_injective(store: &Store, stored: &Access, load: &Access) -> bool {
    let vars: Option<Vec<Id<Symbol>>> = stored.1.iter().map(|index| as_var(store, *index)).collect();
    vars.is_some_and(|vars| !load.1.iter().any(|index| uses(store, *index, &|var| !vars.contains(&var)) || loads(store, *index)))
}

fn uses(store: &Store, root: PrimId, wanted: &dyn Fn(Id<Symbol>) -> bool) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, expr| found |= matches!(expr, PrimExpr::Var(var) if wanted(*var)));
    found
}

/// True if an index reads a buffer: it has a variable that is no index of any store.
fn loads(store: &Store, root: PrimId) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, expr| {
        found |= matches!(expr, PrimExpr::Load { .. } | PrimExpr::Data(_) | PrimExpr::Buffer(_));
    });
    found
}

fn without_cast(store: &Store, mut id: PrimId) -> &PrimExpr {
    while let PrimExpr::Cast { value, .. } = store.prim_of_id(id) {
        id = *value;
    }
    store.prim_of_id(id)
}

/// True for `C[i, j] = C[i, j] + A[i, k] * B[k, j]`, casts aside, if elements of both factors are used again.
fn multiplies_and_adds(store: &Store, body: StmtId) -> bool {
    let Stmt::Store { buffer, indices, value } = store.stmt(body) else { return false };
    let PrimExpr::Binary { op: PrimOp::Add, a, b } = without_cast(store, *value) else { return false };
    let PrimExpr::Binary { op: PrimOp::Mul, a: left, b: right } = without_cast(store, *b) else { return false };
    let PrimExpr::Load { buffer: sum, indices: at } = without_cast(store, *a) else { return false };
    if sum != buffer || !same(store, at, indices) {
        return false;
    }
    [*left, *right].into_iter().all(|factor| match without_cast(store, factor) {
        PrimExpr::Load { indices: at, .. } => reuses(store, indices, at),
        _ => false,
    })
}

/// True if the indices of the load lack some variable of the store.
fn reuses(store: &Store, stored: &[PrimId], load: &[PrimId]) -> bool {
    let vars: Option<Vec<Id<Symbol>>> = stored.iter().map(|index| as_var(store, *index)).collect();
    vars.is_some_and(|vars| vars.iter().any(|var| !load.iter().any(|index| uses(store, *index, &|used| used == *var))))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// Returns the pattern of a function whose block has these axes and this body.
    fn pattern(kinds: &str, body: &str) -> String {
        let text = format!(
            "@I.ir_module\nclass Module:\n    @T.prim_func(private=True, s_tir=True)\n    def f(A: T.Buffer((4, 4), \
             \"float32\"), B: T.Buffer((4, 4), \"float32\"), C: T.Buffer((4, 4), \"float32\"), D: T.Buffer((4,), \
             \"int32\")):\n        for i, j, k in T.grid(4, 4, 4):\n            with T.sblock(\"b\"):\n                v_i, \
             v_j, v_k = T.axis.remap(\"{kinds}\", [i, j, k])\n                T.reads()\n                \
             T.writes()\n                {body}\n"
        );
        let made = after(&text, "AnnotateTIROpPattern()");
        made.split("\"op_pattern\": ").nth(1).map(|rest| rest[..1].to_owned()).unwrap_or_default()
    }

    #[test]
    fn the_indices_of_a_block_say_how_it_computes() {
        for (kinds, body, wanted) in [
            ("SSS", "C[v_i, v_j] = A[v_i, v_j] + T.float32(1.0)", "0"),
            ("SSS", "C[v_i, v_j] = A[v_i, v_j] + T.Cast(\"float32\", D[v_j])", "0"),
            ("SSS", "C[v_i, v_j] = T.Cast(\"float32\", D[v_j])", "1"),
            ("SSS", "C[v_i, v_j] = A[v_j, v_i]", "2"),
            ("SSR", "C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k]", "3"),
            ("SSR", "C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]", "4"),
            ("SSR", "C[v_i, v_j] = T.max(C[v_i, v_j], A[v_i, v_j + v_k])", "4"),
            ("SSS", "C[v_i, v_j] = A[v_i, v_k]", "8"),
            ("SSS", "C[v_i, v_j] = A[v_i, D[v_j]]", "8"),
        ] {
            assert_eq!(pattern(kinds, body), wanted, "{body}");
        }
    }

    #[test]
    fn blocks_that_store_twice_at_other_places_or_not_at_all_are_opaque() {
        let twice = "C[v_i, v_j] = A[v_i, v_j]\n                C[v_j, v_i] = A[v_i, v_j]";
        assert_eq!(pattern("SSS", twice), "8");
        assert_eq!(pattern("SSS", "T.evaluate(0)"), "8");
    }
}
