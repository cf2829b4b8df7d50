//! VectorizeLoop: turns loops that are marked as vectorized into operations on vectors.
//!
//! Source: `src/tirx/transform/vectorize_loop.cc`. TVM takes the target of a function that names none from its
//! surroundings; here such a function may use vectors of any length, and masks conditional operations on such vectors.

mod body;
mod expr;
mod predicate;

use super::{prim_func, targets};
use crate::ir::{
    AttrNode, AttrValue, DType, ExprId, For, ForKind, Kinds, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol,
};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, cast, math, rewrite_func, substitute_stmt};
use body::Vectors;
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.VectorizeLoop`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.VectorizeLoop",
    info_name: "tirx.VectorizeLoop",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "enable_vectorize",
        default: "True",
        doc: explained("Whether vectors are made; if not, the loops become serial."),
    }],
    config: &["tirx.enable_buffer_level_predication"],
    summary: "Makes vectors of vectorized loops.",
    doc: explained(
        "In the body of a `T.vectorized` loop, which must begin at 0, the variable becomes `T.Ramp(0, 1, n)` and all that \
depends on it a vector; scalars beside vectors are repeated with `T.Broadcast`. A statement in which something cannot be a \
vector, such as a branch that depends on the lane or a call of an unknown function, becomes a serial loop of its own, whose \
variable ends in `.s`.\n\n\
The number of rounds must be known, or be a multiple of `T.vscale()` on a machine whose vectors may have any length. There, \
and with `tirx.enable_buffer_level_predication`, a branch on `i < n` becomes loads and stores with a mask.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        for i in range(4):
            for j in T.vectorized(4):
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        for i in range(4):
            B[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)] + T.Broadcast(T.float32(1.0), 4)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, args: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    if !args.bool("enable_vectorize") {
        return rewrite_func(cx.store, func, &mut Serial).map(Some);
    }
    let target = cx.store.attr(prim.attrs, "target").cloned();
    let masks = cx.config_tir("tirx.enable_buffer_level_predication").is_some();
    let masks = masks.then(|| cx.config_flag("tirx.enable_buffer_level_predication"));
    let mut loops = Loops { target: Machine::of(cx.store, target.as_ref()), masks };
    rewrite_func(cx.store, func, &mut loops).map(Some)
}

/// The properties of a target that matter to vectorizing.
#[derive(Clone, Copy, Default)]
struct Machine {
    /// True if a target is known.
    known: bool,
    /// True if it has vectors of any length.
    any_length: bool,
    /// True if these are those of RISC-V.
    riscv: bool,
}

impl Machine {
    fn of(store: &Store, target: Option<&AttrValue>) -> Machine {
        let Some(target) = target else { return Machine::default() };
        let has = |name: &str| targets::field(store, target, name).and_then(|value| value.as_int()).is_some_and(|n| n != 0);
        let features: Vec<&str> = match targets::field(store, target, "mattr") {
            Some(AttrValue::Array(items)) => items
                .iter()
                .filter_map(|item| if let AttrValue::Str(name) = item { Some(store.str(*name)) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        let triple = match targets::field(store, target, "mtriple") {
            Some(AttrValue::Str(triple)) => store.str(triple).to_owned(),
            _ => String::new(),
        };
        let riscv = triple.starts_with("riscv") && features.contains(&"+v");
        Machine { known: true, any_length: riscv || has("feature.has_sve") || features.contains(&"+sve"), riscv }
    }
}

/// Returns the number of lanes that an expression says: a number, or a multiple of `T.vscale()`.
fn lanes_of(store: &Store, extent: PrimId) -> Option<u16> {
    let small = |n: i64| u16::try_from(n).ok().filter(|n| *n > 0 && *n < DType::SCALABLE);
    let vscale = |id: PrimId| matches!(store.prim_of_id(id), PrimExpr::Call { op, .. } if store.str(*op) == "vscale");
    match *store.prim_of_id(extent) {
        PrimExpr::Int { value, .. } => small(value),
        PrimExpr::Binary { op: PrimOp::Mul, a, b } => {
            let (number, other) = if store.as_prim_int(a).is_some() { (a, b) } else { (b, a) };
            if !vscale(other) {
                return None;
            }
            store.as_prim_int(number).and_then(small).map(|n| n | DType::SCALABLE)
        }
        _ => vscale(extent).then_some(1 | DType::SCALABLE),
    }
}

/// True if an expression has a part with a property.
fn contains(store: &Store, root: PrimId, is: impl Fn(&PrimExpr) -> bool) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, expr| found |= is(expr));
    found
}

/// Vectorized loops become serial.
struct Serial;

impl StmtMutator for Serial {
    fn rule(&self) -> &'static str {
        "vectorized loop made serial"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::VECTORIZED)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::For(head, _) = cx.store.stmt(id) else { return None };
        if head.kind != ForKind::Vectorized {
            return None;
        }
        let new = cx.descend(self, id);
        let Stmt::For(head, body) = cx.store.stmt(new).clone() else { return Some(new) };
        let head = For { kind: ForKind::Serial, annotations: None, step: None, ..head };
        Some(cx.store.add_stmt(Stmt::For(head, body)))
    }
}

/// Looks for vectorized loops.
struct Loops {
    target: Machine,
    /// The setting for masks in the configuration.
    masks: Option<bool>,
}

impl StmtMutator for Loops {
    fn rule(&self) -> &'static str {
        "loop vectorized"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::VECTORIZED)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, body) if head.kind == ForKind::Vectorized => self.vectorize(cx, &head, body),
            Stmt::Attr { node: AttrNode::Prim(node), key, .. } if cx.store.str(key) == "target" => {
                let target = targets::of_node(cx.store, node)?;
                let machine = Machine::of(cx.store, Some(&target));
                let outer = std::mem::replace(&mut self.target, machine);
                let new = cx.descend(self, id);
                self.target = outer;
                Some(new)
            }
            _ => None,
        }
    }
}

impl Loops {
    fn vectorize(&mut self, cx: &mut Rewriting<'_>, head: &For, body: StmtId) -> Option<StmtId> {
        if cx.store.as_prim_int(head.min) != Some(0) {
            cx.fail("tir-vectorize", "a vectorized loop must begin at 0");
            return None;
        }
        let known = cx.store.as_prim_int(head.extent);
        if self.target.riscv && known.is_some_and(|n| n > 1) && !calls(cx.store, body) {
            let chunks = by_chunks(cx.store, head, body);
            return Some(cx.visit(self, chunks));
        }
        let lanes = lanes_of(cx.store, head.extent);
        if known.is_none_or(|n| n < 1) {
            let vscale = cx.store.name("vscale");
            let scalable = contains(cx.store, head.extent, |part| matches!(part, PrimExpr::Call { op, .. } if *op == vscale));
            if !scalable || (self.target.known && !self.target.any_length) {
                let extent = match *cx.store.prim_of_id(head.extent) {
                    PrimExpr::Var(symbol) => cx.store.str(cx.store.symbol(symbol).name).to_owned(),
                    _ => crate::ir::show_dim(cx.store, cx.store.dim_of_prim(head.extent)),
                };
                let target = if self.target.known { "the target" } else { "target None" };
                cx.fail("tir-vectorize", format!("Failed to vectorize loop with extent {extent} for {target}"));
                return None;
            }
        }
        let Some(lanes) = lanes else {
            cx.fail("tir-vectorize", "a vector has at most 32767 lanes, or a multiple of T.vscale()");
            return None;
        };
        if lanes == 1 {
            cx.fail("tir-vectorize", "lanes > 1 (1 vs. 1): a vectorized loop of one round");
            return None;
        }
        let scalable = lanes & DType::SCALABLE != 0;
        let masks = self.masks.unwrap_or(if self.target.known { self.target.any_length } else { scalable });
        let dtype = cx.store.symbol(head.var).dtype;
        let (base, stride) = (cx.store.prim_int(0, dtype), cx.store.prim_int(1, dtype));
        let ramp = cx.store.prim(PrimExpr::Ramp { base, stride, lanes });
        let mut vectors = Vectors {
            var: head.var,
            extent: head.extent,
            lanes,
            ramp,
            scalarize: false,
            bound: FxHashMap::default(),
            masks,
            offsets: self.target.riscv,
            error: None,
        };
        Some(cx.visit(&mut vectors, body))
    }
}

fn calls(store: &Store, body: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(body, |stmt| {
        store.for_each_prim_of(stmt, |root| found |= contains(store, root, |part| matches!(part, PrimExpr::Call { .. })));
    });
    found
}

/// Makes a loop with a known number of iterations over vectors of any length, under a condition: the form for RISC-V.
fn by_chunks(store: &mut Store, head: &For, body: StmtId) -> StmtId {
    const FACTOR: i64 = 4;
    let dtype = store.symbol(head.var).dtype;
    let base = store.str(store.symbol(head.var).name).to_owned();
    let (vscale, factor) = (store.prim_call("vscale", &[], DType::I32), store.prim_int(FACTOR, DType::I32));
    let lanes = store.prim_binary(PrimOp::Mul, vscale, factor);
    let lanes_index = cast(store, dtype, lanes);
    let chunks = math::ceil_div(store, head.extent, lanes_index);
    let mut variable = |suffix: &str, dtype| {
        let name = store.name(&format!("{base}{suffix}"));
        store.add_symbol(Symbol { name, dtype, size: false })
    };
    let (outer, inner) = (variable(".vla.o", dtype), variable(".vla.i", DType::I32));
    let [outer_value, inner_value] = [outer, inner].map(|symbol| store.prim(PrimExpr::Var(symbol)));
    let inner_index = cast(store, dtype, inner_value);
    let index = binary(store, PrimOp::Mul, outer_value, lanes_index);
    let index = binary(store, PrimOp::Add, index, inner_index);
    let then = substitute_stmt(store, body, &[(head.var, index)]);
    let cond = binary(store, PrimOp::Lt, index, head.extent);
    let guarded = store.add_stmt(Stmt::If { cond, then, other: None });
    let [zero, zero_outer] = [DType::I32, dtype].map(|dtype| store.prim_int(0, dtype));
    let vector = For { var: inner, min: zero, extent: lanes, ..*head };
    let vector = store.add_stmt(Stmt::For(vector, guarded));
    let kind = ForKind::Serial;
    let serial = For { var: outer, min: zero_outer, extent: chunks, step: None, kind, annotations: None };
    store.add_stmt(Stmt::For(serial, vector))
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, error, unchanged};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("        {line}\n")).collect();
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), n: T.int32):\n    for i in T.vectorized(4):\n{body}"
        )
    }

    fn vectorized(body: &str) -> String {
        after(&source(body), "tir.VectorizeLoop()")
    }

    #[test]
    fn indices_become_ramps_and_scalars_are_repeated() {
        let text = vectorized("A[i * 2 + 1] = B[n - i] * T.exp(B[i]) + T.Cast(\"float32\", n)");
        assert!(text.contains("A[1:9:2]") || text.contains("A[T.Ramp(1, 2, 4)]"), "{text}");
        assert!(text.contains("B[T.Broadcast(n, 4) - T.Ramp(0, 1, 4)]") || text.contains("B[T.Ramp(n, -1, 4)]"), "{text}");
        assert!(text.contains("T.exp(B[T.Ramp(0, 1, 4)])") && text.contains("T.Broadcast(T.Cast(\"float32\", n), 4)"), "{text}");
    }

    #[test]
    fn what_depends_on_the_lane_is_done_round_by_round() {
        for body in
            ["if i < n:\n    A[i] = B[i]", "A[i] = T.if_then_else(i < n, B[i], B[0])", "for k in range(i):\n    A[k] = B[i]"]
        {
            let text = vectorized(body);
            assert!(text.contains("for i_s in range(4):"), "{text}");
        }
    }

    #[test]
    fn a_variable_bound_to_a_vector_is_another() {
        let text = vectorized("x: T.let[T.float32] = B[i]\nA[i] = x + x");
        assert!(text.contains("x: T.let[T.float32x4] = B[T.Ramp(0, 1, 4)]") && text.contains("A[0:4] = x + x"), "{text}");
    }

    #[test]
    fn a_branch_becomes_a_mask_when_the_configuration_says_so() {
        let config = [("tirx.enable_buffer_level_predication", "True")];
        let text = after_with(&source("if i < n:\n    A[i] = B[i]"), "tir.VectorizeLoop()", &config);
        assert!(
            text.contains("T.masked_store(A, T.masked_load(\"float32x4\", B, T.Ramp(0, 1, 4), T.get_active_lane_mask("),
            "{text}"
        );
        let text = after_with(&source("if i < n:\n    A[i] = B[n]"), "tir.VectorizeLoop()", &config);
        assert!(text.contains("for i_s"), "a load without lanes has no mask: {text}");
    }

    #[test]
    fn loops_become_serial_when_vectors_are_not_wanted() {
        let text = after(&source("A[i] = B[i]"), "tirx.VectorizeLoop(enable_vectorize=False)");
        assert!(text.contains("for i in range(4):"), "{text}");
    }

    #[test]
    fn other_loops_stay() {
        unchanged(&source("A[i] = B[i]").replace("T.vectorized", "T.parallel"), "tir.VectorizeLoop()");
    }

    #[test]
    fn what_cannot_be_vectorized_is_refused() {
        let refused = |source: String| error(&source, "tir.VectorizeLoop()");
        assert!(refused(source("A[i] = B[i]").replace("vectorized(4)", "vectorized(n)")).contains("extent n"));
        assert!(refused(source("A[i] = B[i]").replace("vectorized(4)", "vectorized(1, 4)")).contains("begin at 0"));
        assert!(refused(source("A[i] = B[i]").replace("vectorized(4)", "vectorized(1)")).contains("lanes > 1"));
        assert!(refused(source("while n < 3:\n    A[i] = B[i]")).contains("while loop"));
    }

    #[test]
    fn a_load_along_another_axis_than_the_last_is_refused() {
        let source = "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((2,), \"float32\"), C: T.Buffer((2, 3), \"float32\")):\n    \
                      for i in T.vectorized(2):\n        A[i] = C[i, 1]\n";
        assert!(error(source, "tir.VectorizeLoop()").contains("Only the last index of a buffer access may be a vector type"));
    }
}
