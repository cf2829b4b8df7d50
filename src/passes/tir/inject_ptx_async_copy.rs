//! InjectPTXAsyncCopy: copies to shared memory become asynchronous ones of PTX.
//!
//! Source: `src/s_tir/transform/inject_ptx_async_copy.cc`.

use super::emit::call;
use crate::ir::{Buffer, DType, DTypeCode, ExprId, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, constant, rewrite_func};

/// TVM's `s_tir.transform.InjectPTXAsyncCopy`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectPTXAsyncCopy",
    info_name: "s_tir.InjectPTXAsyncCopy",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Copies to shared memory become asynchronous ones of PTX.",
    doc: explained(
        "Inside of an attribute `async_scope`, a store to shared memory of 4, 8 or 16 bytes that were loaded from global memory becomes \
`T.s_tir.cp_async_raw`; one that is guarded by `T.if_then_else(cond, A[i], 0.0)` gets the condition as a predicate. The attribute \
goes. Any other store stays as it is.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((32,), \"float32\")):
        tx = T.launch_thread(\"threadIdx.x\", 32)
        S = T.alloc_shared((32,))
        with T.attr(\"default\", \"async_scope\", 1):
            S[tx] = A[tx]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((32,), \"float32\")):
        tx = T.launch_thread(\"threadIdx.x\", 32)
        S = T.alloc_shared((32,))
        T.s_tir.cp_async_raw(\"float32\", S.data, tx, A.data, tx, 4)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Inject { inside: false }).map(Some)
}

struct Inject {
    /// True if copies are asynchronous here.
    inside: bool,
}

impl StmtMutator for Inject {
    fn rule(&self) -> &'static str {
        "copy made asynchronous"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Attr { key, body, .. } if cx.store.str(key) == "async_scope" => {
                if self.inside {
                    cx.fail("tir-annotation", "Nested async scopes not supported");
                    return Some(id);
                }
                self.inside = true;
                let new = cx.visit(self, body);
                self.inside = false;
                Some(new)
            }
            Stmt::Store { buffer, indices, value } if self.inside => {
                if !matches!(cx.store.str(cx.store.buffer(buffer).scope), "shared" | "shared.dyn") {
                    return None;
                }
                copy(cx.store, buffer, &indices, value)
            }
            _ => None,
        }
    }
}

/// The asynchronous copy that a store to shared memory becomes, if it is one.
fn copy(store: &mut Store, to: Id<Buffer>, place: &[PrimId], value: PrimId) -> Option<StmtId> {
    let (value, predicate) = match &*store.prim_rc(value) {
        PrimExpr::Call { op, args, .. } if store.str(*op) == "if_then_else" => {
            let or = match *store.prim_of_id(args[2]) {
                PrimExpr::Broadcast { value, .. } => value,
                _ => args[2],
            };
            // Asynchronous copies fill with zeros.
            let zero = matches!(store.prim_of_id(or), PrimExpr::Float { value, .. } if value.0 == 0.0);
            zero.then_some((args[1], Some(args[0])))?
        }
        _ => (value, None),
    };
    let PrimExpr::Load { buffer: from, indices: source } = &*store.prim_rc(value) else { return None };
    let (from, to_data) = (store.buffer(*from).clone(), store.buffer(to).clone());
    let (&[place], &[source]) = (place, &**source) else { return None };
    if store.str(from.scope) != "global" {
        return None;
    }
    let lanes = store.prim_dtype(source).lanes;
    let size = |dtype: DType| i64::from(dtype.bits).div_euclid(8).max(1) * i64::from(dtype.lanes);
    let bytes = i64::from(lanes) * size(from.dtype);
    if !matches!(bytes, 4 | 8 | 16) || store.prim_dtype(place).lanes != lanes {
        return None;
    }
    // Merged shared memory is of bytes, and its indices count elements of what is stored.
    let merged = to_data.dtype == DType::new(DTypeCode::UInt, 8) && from.dtype != to_data.dtype;
    let factor = if merged { size(from.dtype) } else { 1 };
    let base = |store: &mut Store, index: PrimId| match *store.prim_of_id(index) {
        _ if lanes == 1 => Some(index),
        PrimExpr::Ramp { base, .. } => Some(base),
        _ => None,
    };
    let source = base(store, source)?;
    let place = match *store.prim_of_id(place) {
        PrimExpr::Binary { op: PrimOp::Add, a, b } if lanes > 1 => match (store.prim_of_id(a), store.prim_of_id(b)) {
            (PrimExpr::Ramp { base, .. }, PrimExpr::Broadcast { value, .. }) => {
                let (base, value) = (*base, *value);
                binary(store, PrimOp::Add, base, value)
            }
            _ => return None,
        },
        _ => base(store, place)?,
    };
    let factor = constant(store, factor, DType::I32);
    let place = binary(store, PrimOp::Mul, place, factor);
    let from_data = match *store.prim_of_id(value) {
        PrimExpr::Load { buffer, .. } => store.prim(PrimExpr::Data(buffer)),
        _ => return None,
    };
    let to = store.prim(PrimExpr::Data(to));
    let bytes = store.prim_int(bytes, DType::I32);
    let args: Vec<PrimId> = [to, place, from_data, source, bytes].into_iter().chain(predicate).collect();
    Some(call(store, "s_tir.cp_async_raw", &args, to_data.dtype))
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error};

    const CALL: &str = "s_tir.InjectPTXAsyncCopy()";

    #[test]
    fn a_guarded_copy_has_a_predicate() {
        let text = after(&SPEC.example_before.replace("= A[tx]", "= T.if_then_else(tx < 9, A[tx], T.float32(0.0))"), CALL);
        assert!(text.contains("A.data, tx, 4, tx < 9)"), "{text}");
    }

    #[test]
    fn copies_of_other_sizes_stay() {
        let text = after(&SPEC.example_before.replace("\"float32\"", "\"int8\"").replace("((32,))", "((32,), \"int8\")"), CALL);
        assert!(text.contains("S[tx] = A[tx]") && !text.contains("async_scope"), "{text}");
    }

    #[test]
    fn scopes_do_not_nest() {
        let source = SPEC
            .example_before
            .replace("            S[tx]", "            with T.attr(\"default\", \"async_scope\", 1):\n                S[tx]");
        assert!(error(&source, CALL).contains("Nested async scopes"));
    }
}
