//! ForceNarrowIndexToInt32: all indices get 32 bits.
//!
//! Source: `src/tirx/transform/force_narrow_index_to_i32.cc`.

use super::{prim_func, with_func};
use crate::diag::Diagnostic;
use crate::ir::{Buffer, DType, ExprId, Id, Module, PrimId, PrimParam, Stmt, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::Rewriting;
use crate::tir::index_types::{Place, Policy, Types, is_int, rewritten};
use rustc_hash::FxHashMap;

/// TVM's `tirx.transform.ForceNarrowIndexToInt32`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.ForceNarrowIndexToInt32",
    info_name: "tirx.NarrowDataType",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes all indices integers of 32 bits, whether they fit or not.",
    doc: explained(
        "Variables of loops, blocks and threads, integer parameters, shapes, indices and every `int64` number become `int32`, \
and conversions between them go. For programs whose sizes are known to be small. A number that is too large is refused, and so \
is a function whose buffers hold `int64`, since their contents would change.\n\n\
Where an iterator of a block stands in no index of its body, TVM leaves the regions of the block as they were, over a variable \
that nothing defines any more. Here they are narrowed, too.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(n: T.int64, A: T.Buffer((64,), \"float32\")):
        for i in range(n):
            A[i + T.int64(1)] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(n: T.int32, A: T.Buffer((64,), \"float32\")):
        for i in range(n):
            A[i + 1] = T.float32(0.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let mut wide = Vec::new();
    let mut look = |store: &Store, buffer: Id<Buffer>, how: &str| {
        let data = store.buffer(buffer);
        if is_int(data.dtype) && data.dtype.bits > 32 {
            let message = format!("The buffer {} {how} has dtype {}", store.str(data.name), data.dtype);
            wide.push(Diagnostic::error("tir-index-type", message, store.source_span(func)));
        }
    };
    for param in &prim.params {
        if let PrimParam::Buffer(buffer) = *param {
            look(cx.store, buffer, "that is a parameter");
        }
    }
    cx.store.for_each_stmt(prim.body, |stmt| {
        if let Stmt::Block(block) = stmt {
            cx.store.prim_block(*block).allocs.iter().for_each(|buffer| look(cx.store, *buffer, "allocated in the function"));
        }
    });
    if !wide.is_empty() {
        return Err(wide);
    }
    let at = Place { is_index: false, is_condition: false, bits: 64 };
    let mut types = Types { policy: Force, at, vars: FxHashMap::default(), rule: "index narrowed", error: None };
    let new = with_func(cx.store, "index narrowed", func, |store, old| {
        // A first round finds the variables that are indices anywhere.
        Rewriting::new(store).visit(&mut types, old.body);
        rewritten(store, &mut types, old)
    });
    match types.error {
        Some(message) => Err(vec![Diagnostic::error("tir-index-type", message, cx.store.source_span(new))]),
        None => Ok(Some(new)),
    }
}

struct Force;

fn is_wide(dtype: DType) -> bool {
    is_int(dtype) && dtype.bits >= 32
}

impl Policy for Force {
    fn inside(&mut self, _: &mut Store, _: PrimId, at: Place) -> Place {
        at
    }

    fn index(&self, at: Place) -> Place {
        Place { is_index: true, ..at }
    }

    fn number(&mut self, value: i64, dtype: DType, _: Place) -> Result<DType, String> {
        if dtype != DType::I64 {
            return Ok(dtype);
        }
        match i32::try_from(value) {
            Ok(_) => Ok(DType::I32),
            Err(_) => Err(format!("{value} does not fit into 32 bits")),
        }
    }

    fn variable(&mut self, store: &Store, symbol: Id<Symbol>, at: Place) -> DType {
        let dtype = store.symbol(symbol).dtype;
        if at.is_index && is_wide(dtype) && dtype != DType::I32 { DType::I32 } else { dtype }
    }

    fn conversion(&self, dtype: DType, at: Place) -> Option<DType> {
        (at.is_index && is_wide(dtype)).then_some(DType::I32)
    }

    fn looks_again(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        format!("@T.prim_func(private=True, s_tir=True)\ndef f(n: T.int64, A: T.Buffer((n,), \"float32\")):\n{body}")
    }

    const CALL: &str = "tir.ForceNarrowIndexToInt32()";

    #[test]
    fn parameters_and_shapes_are_narrowed_too() {
        let text = after(&source("A[n - T.int64(1)] = T.Cast(\"float32\", n)"), CALL);
        assert!(text.contains("n: T.int32, A: T.Buffer((n,)") && text.contains("A[n - 1]"), "{text}");
    }

    #[test]
    fn a_condition_is_narrowed_with_its_numbers() {
        let text = after(&source("for i in range(n):\n    if i < T.int64(4):\n        A[i] = T.float32(0.0)"), CALL);
        assert!(text.contains("for i in range(n):") && text.contains("if i < 4:"), "{text}");
    }

    #[test]
    fn numbers_and_buffers_that_do_not_fit_are_refused() {
        assert!(error(&source("A[T.int64(4294967296)] = T.float32(0.0)"), CALL).contains("does not fit"));
        assert!(error(&source("A[n] = T.int64(0)").replace("float32", "int64"), CALL).contains("has dtype int64"));
    }

    #[test]
    fn what_is_narrow_stays() {
        unchanged(&source("A[n] = T.float32(0.0)").replace("int64", "int32"), CALL);
    }
}
