//! VerifyVTCMLimit: tightly coupled memory must suffice.
//!
//! Source: `src/s_tir/analysis/calculate_allocated_memory.cc`.

use super::{prim_func, targets};
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Module, Stmt, StmtId, Store};
use crate::pass::spec::Param;
use crate::pass::{Args, Literal, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `s_tir.transform.VerifyVTCMLimit`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.VerifyVTCMLimit",
    info_name: "s_tir.VerifyVTCMLimit",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "default_target", default: "None", doc: "The target of functions that say none." }],
    config: &["tirx.vtcm_capacity"],
    summary: "Fails when more tightly coupled memory is allocated than there is.",
    doc: explained(
        "Adds up what is allocated of `global.vtcm` at a time, and compares the most with the `vtcm-capacity` of a Hexagon target, or \
with the key `tirx.vtcm_capacity`. Without a limit, or in a function without a target, nothing is looked at. The program stays as \
it is.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\")):
        B = T.alloc_buffer((16,), scope=\"global.vtcm\")
        B[0] = A[0]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), \"float32\")):
        B = T.alloc_buffer((16,), scope=\"global.vtcm\")
        B[0] = A[0]
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let default = match args.get("default_target") {
        Literal::None => None,
        given => {
            let wrong = |message| vec![Diagnostic::error("pass-argument", format!("VerifyVTCMLimit: {message}"), None)];
            Some(targets::read(cx.store, given).map_err(wrong)?)
        }
    };
    for &(_, func) in module.functions() {
        let Some(prim) = prim_func(cx.store, func) else { continue };
        let Some(target) = cx.store.attr(prim.attrs, "target").cloned().or_else(|| default.clone()) else { continue };
        let kind = targets::field(cx.store, &target, "kind");
        let is_hexagon = matches!(kind, Some(AttrValue::Str(kind)) if cx.store.str(kind) == "hexagon");
        let own = targets::field(cx.store, &target, "vtcm-capacity").and_then(|value| cx.store.value_int(&value));
        let limit = own.filter(|limit| is_hexagon && *limit > 0).unwrap_or_else(|| cx.config_int("tirx.vtcm_capacity", 0));
        let mut memory = Memory::default();
        memory.stmt(cx.store, prim.body);
        if limit > 0 && memory.most > limit {
            let message = format!(
                "The global.vtcm memory allocation limit has been exceeded (allocated: {}, limit: {limit}).",
                memory.most
            );
            return Err(vec![Diagnostic::error("tir-memory", message, None)]);
        }
    }
    Ok(module.clone())
}

/// Bytes of `global.vtcm`.
#[derive(Default)]
struct Memory {
    now: i64,
    most: i64,
}

impl Memory {
    fn stmt(&mut self, store: &Store, id: StmtId) {
        let stmt = store.stmt(id);
        if let Stmt::Alloc(buffer, _) = stmt {
            let buffer = store.buffer(*buffer);
            if store.str(buffer.scope) == "global.vtcm" {
                let element = (i64::from(buffer.dtype.bits) * i64::from(buffer.dtype.lanes) + 7) / 8;
                let mut extents = buffer.shape.iter().map(|extent| store.as_prim_int(*extent));
                let size = extents.try_fold(1i64, |size, extent| Some(size.saturating_mul(extent?))).unwrap_or(0);
                self.now = self.now.saturating_add(size.saturating_mul(element));
                self.most = self.most.max(self.now);
            }
        }
        let before = self.now;
        let mut inner = Vec::new();
        store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().for_each(|stmt| self.stmt(store, stmt));
        if matches!(stmt, Stmt::For(..) | Stmt::If { .. } | Stmt::Attr { .. }) {
            self.now = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{error, unchanged};

    fn source(attrs: &str) -> String {
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((16,), \"float32\")):\n    {attrs}\n    for i in range(2):\n        B = T.alloc_buffer((16,), scope=\"global.vtcm\")\n        B[i] = A[i]\n    C = T.alloc_buffer((4,), \"int8\", scope=\"global.vtcm\")\n    C[0] = T.int8(0)\n"
        )
    }

    #[test]
    fn what_is_allocated_at_a_time_counts() {
        let target = "T.func_attr({\"target\": T.target({\"kind\": \"hexagon\", \"keys\": [\"hexagon\", \"cpu\"], \"vtcm-capacity\": 64, \"tag\": \"\"})})";
        unchanged(&source(target), "s_tir.VerifyVTCMLimit()");
        let error = error(&source(&target.replace("64", "63")), "s_tir.VerifyVTCMLimit()");
        assert!(error.ends_with("(allocated: 64, limit: 63)."), "{error}");
    }

    #[test]
    fn without_a_target_there_is_no_limit() {
        unchanged(&source("T.evaluate(1)"), "s_tir.VerifyVTCMLimit()");
    }
}
