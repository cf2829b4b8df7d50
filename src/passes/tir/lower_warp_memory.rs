//! LowerWarpMemory: memory of a warp becomes registers of its threads, and reads of other threads' become shuffles.
//!
//! Source: `src/tirx/transform/lower_warp_memory.cc`. An element `m * threadIdx.x + j` of a buffer lies in thread
//! `threadIdx.x`: the stores to the buffer say `m`.

use super::{func_attrs, prim_func, targets};
use crate::ir::{AttrNode, Buffer, DType, DTypeCode, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func, substitute};

/// TVM's `tirx.transform.LowerWarpMemory`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.LowerWarpMemory",
    info_name: "tirx.LowerWarpMemory",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Turns memory of warps into registers and shuffles.",
    doc: explained("A buffer of scope `warp` is shared by the threads of a warp, which no device has. Each thread gets its part in registers \
(`local`); what it reads from another thread comes by `T.tvm_warp_shuffle`. The stores say which part is whose: their index must be \
linear in `threadIdx.x`, whose extent divides the warp size of the function's `target`. Buffers must be flat."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((128,), \"float32\"), B: T.Buffer((128,), \"float32\")):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        W = T.alloc_buffer((32,), scope=\"warp\", layout=None)
        with T.launch_thread(\"threadIdx.x\", 32) as tx:
            W[tx] = A[tx]
            B[tx] = W[(tx + 3) % 32]
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((128,), \"float32\"), B: T.Buffer((128,), \"float32\")):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        W = T.alloc_local((1,), layout=None)
        with T.launch_thread(\"threadIdx.x\", 32) as tx:
            W[0] = A[tx]
            B[tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[0], (tx + 3) % 32, 32, 32)
"),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    let target = cx.store.attr(func_attrs(cx.store, func), "target").cloned();
    let Some(target) = target else {
        let message = "LowerWarpMemory: Require the target attribute";
        return Err(vec![crate::diag::Diagnostic::error("tir-target", message, None)]);
    };
    let warp = targets::field(cx.store, &target, "thread_warp_size").and_then(|size| size.as_int()).unwrap_or(1);
    if warp == 1 {
        return Ok(Some(func));
    }
    let mut analyzer = Analyzer::new();
    bind(cx.store, prim.body, &mut analyzer);
    rewrite_func(cx.store, func, &mut Lower { warp, analyzer, at: None }).map(Some)
}

/// Tells the analyzer the ranges of loops and threads.
fn bind(store: &mut Store, id: StmtId, analyzer: &mut Analyzer) {
    match store.stmt(id).clone() {
        Stmt::For(head, _) => analyzer.bind_range(store, head.var, head.min, head.extent),
        Stmt::Attr { node: AttrNode::Thread { var, .. }, value, .. } => {
            let zero = store.prim_int(0, store.prim_dtype(value));
            analyzer.bind_range(store, var, zero, value);
        }
        _ => {}
    }
    let mut inner = Vec::new();
    store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
    inner.into_iter().for_each(|stmt| bind(store, stmt, analyzer));
}

/// A buffer of a warp, and its part in each thread.
struct Warp {
    old: Id<Buffer>,
    new: Id<Buffer>,
    /// `threadIdx.x`
    index: Id<Symbol>,
    /// The number of threads.
    width: i64,
    /// The number of elements in a row that a thread has.
    coeff: i64,
    /// The number of such rows.
    groups: i64,
}

struct Lower {
    warp: i64,
    analyzer: Analyzer,
    at: Option<Warp>,
}

/// The index of threads in a body, and their number.
fn thread_of(store: &Store, id: StmtId, warp: i64, found: &mut Option<(Id<Symbol>, i64)>) -> Result<(), String> {
    if let Stmt::Attr { node: AttrNode::Thread { var, tag }, key, value, .. } = store.stmt(id)
        && store.str(*key) == "thread_extent"
        && store.str(*tag) == "threadIdx.x"
    {
        let extent = store.as_prim_int(*value).filter(|extent| *extent > 0 && *extent <= warp && warp % extent == 0);
        let Some(extent) = extent else {
            return Err(format!(
                "Expect threadIdx.x 's size to be no larger than, and a factor of warp size({warp}) to enable warp memory"
            ));
        };
        match found {
            Some((known, _)) if known != var => {
                return Err("Find two instance of threadIdx.x in the same kernel. Please create it using thread_axis once and \
reuse the axis across multiple binds in the same kernel"
                    .to_owned());
            }
            Some(_) => {}
            None => *found = Some((*var, extent)),
        }
    }
    let mut inner = Vec::new();
    store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
    inner.into_iter().try_for_each(|stmt| thread_of(store, stmt, warp, found))
}

impl Lower {
    /// The part of a thread in an index: how much one more thread adds.
    fn pattern(&mut self, store: &mut Store, index: PrimId, thread: Id<Symbol>, coeff: &mut i64) -> Result<(), String> {
        let base = match *store.prim_of_id(index) {
            PrimExpr::Ramp { base, stride, .. } if store.as_prim_int(stride) == Some(1) => base,
            PrimExpr::Ramp { .. } => return Err("LowerWarpMemory failed, can only handle continuous store".to_owned()),
            _ => index,
        };
        let dtype = store.symbol(thread).dtype;
        let at = |store: &mut Store, number: i64| {
            let number = store.prim_int(number, dtype);
            substitute(store, base, &mut |_, of| (of == thread).then_some(number))
        };
        let (zero, one, two) = (at(store, 0), at(store, 1), at(store, 2));
        let [first, second] = [(one, zero), (two, one)].map(|(a, b)| {
            let step = binary(store, PrimOp::Sub, a, b);
            let step = self.analyzer.canonical_simplify(store, step);
            store.as_prim_int(step)
        });
        let Some(step) = first.filter(|step| *step > 0 && first == second) else {
            return Err(
                "LowerWarpMemory failed due to store index, require positive constant coefficient on warp index".to_owned()
            );
        };
        if *coeff != 0 && *coeff != step {
            return Err("LowerWarpMemory failed due to two different store coefficient to warp index".to_owned());
        }
        *coeff = step;
        Ok(())
    }

    fn coefficient(&mut self, store: &mut Store, body: &[StmtId], old: Id<Buffer>, thread: Id<Symbol>) -> Result<i64, String> {
        let (mut indices, mut coeff) = (Vec::new(), 0);
        for stmt in body {
            store.for_each_stmt(*stmt, |stmt| {
                if let Stmt::Store { buffer, indices: at, .. } = stmt
                    && *buffer == old
                {
                    indices.push(at.to_vec());
                }
            });
        }
        for at in indices {
            let [index] = at[..] else { return Err(FLAT.to_owned()) };
            self.pattern(store, index, thread, &mut coeff)?;
        }
        if coeff == 0 { Err("Divide by zero".to_owned()) } else { Ok(coeff) }
    }

    fn enter(&mut self, store: &mut Store, old: Id<Buffer>, body: &[StmtId]) -> Result<Warp, String> {
        let buffer = store.buffer(old).clone();
        let extents: Option<Vec<i64>> = buffer.shape.iter().map(|extent| store.as_prim_int(*extent)).collect();
        let size = extents.map_or(0, |extents| extents.into_iter().product::<i64>());
        if size <= 0 {
            return Err("warp memory only support constant alloc size".to_owned());
        }
        let size = size.saturating_mul(i64::from(buffer.dtype.lanes));
        let mut found = None;
        body.iter().try_for_each(|stmt| thread_of(store, *stmt, self.warp, &mut found))?;
        let Some((index, width)) = found else {
            return Err("Cannot find warp index(threadIdx.x) within the scope of warp memory".to_owned());
        };
        let coeff = self.coefficient(store, body, old, index)?;
        let factor = width.saturating_mul(coeff);
        let groups = size.saturating_add(factor - 1) / factor;
        let extent = store.prim_int(groups * coeff, DType::I32);
        let scope = store.name("local");
        let new = Buffer { scope, shape: [extent].into(), strides: [].into(), elem_offset: None, ..buffer };
        Ok(Warp { old, new: store.add_buffer(new), index, width, coeff, groups })
    }

    /// The place of an element in a thread, and the thread.
    fn split(&mut self, store: &mut Store, index: PrimId) -> (PrimId, PrimId) {
        if let PrimExpr::Ramp { base, stride, lanes } = *store.prim_of_id(index) {
            let (local, group) = self.split(store, base);
            return (store.prim(PrimExpr::Ramp { base: local, stride, lanes }), group);
        }
        let Some(Warp { coeff, width, groups, .. }) = self.at else { return (index, index) };
        let dtype = store.prim_dtype(index);
        let [m, all] = [coeff, coeff * width].map(|number| store.prim_int(number, dtype));
        let x = binary(store, PrimOp::FloorMod, index, m);
        let x = self.analyzer.canonical_simplify(store, x);
        if groups == 1 {
            let z = binary(store, PrimOp::FloorDiv, index, m);
            return (x, self.analyzer.canonical_simplify(store, z));
        }
        let row = binary(store, PrimOp::Div, index, all);
        let row = binary(store, PrimOp::Mul, row, m);
        let y = binary(store, PrimOp::Add, row, x);
        let rest = binary(store, PrimOp::FloorMod, index, all);
        let z = binary(store, PrimOp::FloorDiv, rest, m);
        (self.analyzer.canonical_simplify(store, y), self.analyzer.canonical_simplify(store, z))
    }
}

const FLAT: &str = "Expected flat memory to use as warp memory.  Has FlattenBuffer been run?";

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "memory of a warp lowered"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Seq(list) if self.at.is_none() => {
                let stmts: Vec<StmtId> = cx.store.items(list).collect();
                let is_warp = |stmt: &StmtId| match cx.store.stmt(*stmt) {
                    Stmt::Alloc(buffer, _) => cx.store.str(cx.store.buffer(*buffer).scope) == "warp",
                    _ => false,
                };
                let at = stmts.iter().position(is_warp)?;
                let Stmt::Alloc(old, attrs) = *cx.store.stmt(stmts[at]) else { return None };
                let mut new: Vec<StmtId> = stmts[..at].iter().map(|stmt| cx.visit(self, *stmt)).collect();
                let rest = &stmts[at + 1..];
                match self.enter(cx.store, old, rest) {
                    Ok(warp) => {
                        new.push(cx.store.add_stmt(Stmt::Alloc(warp.new, attrs)));
                        self.at = Some(warp);
                        new.extend(cx.apart(|cx| rest.iter().map(|stmt| cx.visit(self, *stmt)).collect::<Vec<_>>()));
                        self.at = None;
                    }
                    Err(message) => cx.fail("tir-warp", message),
                }
                Some(cx.store.flat_seq(Some(id), &new))
            }
            Stmt::Store { buffer, indices, value } if self.at.as_ref().is_some_and(|warp| warp.old == buffer) => {
                let value = cx.root(self, value);
                let [index] = indices[..] else {
                    cx.fail("tir-warp", FLAT);
                    return None;
                };
                let index = cx.root(self, index);
                let (local, _) = self.split(cx.store, index);
                let buffer = self.at.as_ref()?.new;
                Some(cx.store.rebuild_stmt(id, Stmt::Store { buffer, indices: [local].into(), value }))
            }
            _ => None,
        }
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let Some(Warp { old, new, index: thread, width, .. }) = self.at else { return post };
        match cx.store.prim_of_id(post).clone() {
            PrimExpr::Load { buffer, indices } if buffer == old => {
                let [index] = indices[..] else {
                    cx.fail("tir-warp", FLAT);
                    return post;
                };
                let (local, group) = self.split(cx.store, index);
                let mut uses = false;
                cx.store.for_each_prim(local, &mut |_, part| uses |= matches!(part, PrimExpr::Var(of) if *of == thread));
                if uses {
                    cx.fail(
                        "tir-warp",
                        "LowerWarpMemory failed to rewrite load to shuffle for an index with the index of the warp",
                    );
                }
                let dtype = cx.store.prim_dtype(post);
                let load = cx.store.prim(PrimExpr::Load { buffer: new, indices: [local].into() });
                let own = cx.store.prim(PrimExpr::Var(thread));
                if self.analyzer.can_prove_equal(cx.store, group, own) {
                    return load;
                }
                let mask = cx.store.prim_call("tvm_warp_activemask", &[], DType::new(DTypeCode::UInt, 32));
                let [width, warp] = [width, self.warp].map(|number| cx.store.prim_int(number, DType::I32));
                cx.store.prim_call("tvm_warp_shuffle", &[mask, load, group, width, warp], dtype)
            }
            PrimExpr::Call { op, args, dtype } => {
                let at: &[usize] = match cx.store.str(op) {
                    "ptx_legacy.mma" => &[6, 8, 10],
                    "mma_store" | "mma_store_legacy" | "ptx_legacy.ldmatrix" => &[3],
                    "mma_fill" | "mma_fill_legacy" => &[1],
                    _ => return post,
                };
                let mut args = args.to_vec();
                for at in at {
                    let is = args.get(*at).is_some_and(|arg| *cx.store.prim_of_id(*arg) == PrimExpr::Data(old));
                    if let (true, Some(index)) = (is, args.get(at + 1).copied()) {
                        args[*at] = cx.store.prim(PrimExpr::Data(new));
                        args[at + 1] = self.split(cx.store, index).0;
                    }
                }
                cx.store.prim(PrimExpr::Call { op, args: args.into(), dtype })
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "tirx.LowerWarpMemory()";

    #[test]
    fn what_a_thread_stored_itself_is_read_without_a_shuffle() {
        let text = after(&SPEC.example_before.replace("W[(tx + 3) % 32]", "W[tx]"), CALL);
        assert!(text.contains("W = T.alloc_local((1,), layout=None)") && text.contains("B[tx] = W[0]"), "{text}");
    }

    #[test]
    fn other_memory_stays() {
        unchanged(&SPEC.example_before.replace("scope=\"warp\"", "scope=\"shared\""), CALL);
    }

    #[test]
    fn stores_that_are_not_linear_in_the_thread_are_refused() {
        for (from, to, message) in [
            ("W[tx] =", "W[tx * tx] =", "LowerWarpMemory failed"),
            ("\"threadIdx.x\", 32", "\"threadIdx.x\", 24", "Expect threadIdx.x 's size to be no larger than"),
            ("\"threadIdx.x\"", "\"threadIdx.y\"", "Cannot find warp index(threadIdx.x)"),
        ] {
            let error = error(&SPEC.example_before.replace(from, to), CALL);
            assert!(error.starts_with(message), "{error}");
        }
    }
}
