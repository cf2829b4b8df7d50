//! HoistExpression and HoistIfThenElse: evaluates loop-invariant conditions and values before the loop.
//!
//! Source: `src/s_tir/transform/hoist_expression.cc`.

mod collect;
mod insert;

use super::prim_func;
use crate::ir::Module;
use crate::pass::spec::Param;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// The sources and kinds of hoisted conditions: bits of `hoisted_conditionals`.
const IF_STATEMENT: i64 = 1;
const IF_EXPRESSION: i64 = 2;
const BOOLEAN: i64 = 4;
const USING_BLOCK_VAR: i64 = 8;

/// The sources of hoisted values: bits of `hoisted_let_bindings`.
const REQUIRED: i64 = 1;
const BIND: i64 = 2;
const LET_EXPRESSION: i64 = 4;

/// TVM's `s_tir.transform.HoistExpression`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.HoistExpression",
    info_name: "s_tir.HoistExpression",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["s_tir.HoistExpression"],
    summary: "Takes conditions and values out of loops in which they do not change.",
    doc: explained(
        "A condition that does not depend on the variable of a loop is asked once before the loop: the loop stands in both \
branches then, and *StmtSimplify* and *RemoveNoOp*, which follow, clean up. A condition leaves only loops of which it is all that \
they do. Variables go with what needs them. The setting `hoisted_conditionals` is the sum of 1 (conditions of `if`), 2 (of \
`T.if_then_else`), 4 (sides of `and` and `or`) and 8 (also such that use indices of threads, and over their launches); \
`hoisted_let_bindings` the sum of 1 (variables that hoisted conditions need), 2 (statements) and 4 (expressions).",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), n: T.int32):
        for i in range(16):
            if n < 4 and n > 0:
                A[i] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), n: T.int32):
        if n < 4 and 0 < n:
            for i in range(16):
                A[i] = T.float32(0.0)
",
    ),
    run: Run::Module(|cx, module, _| {
        let field = |name| cx.config_field("s_tir.HoistExpression", name);
        let which = Which { conditions: field("hoisted_conditionals"), values: field("hoisted_let_bindings") };
        run(cx, module, &mut |_| which)
    }),
};

/// TVM's `s_tir.transform.HoistIfThenElse`.
pub static IF_THEN_ELSE: PassSpec = PassSpec {
    name: "s_tir.HoistIfThenElse",
    info_name: "s_tir.HoistIfThenElse",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "variant", default: "None", doc: "`\"basic\"` ignores the configuration." }],
    config: &["s_tir.HoistIfThenElse"],
    summary: "Takes branches out of loops in which their condition does not change.",
    doc: explained(
        "*HoistExpression* for conditions of `if` alone. With the setting `support_block_scope_hoisting` such that use indices of \
threads count too, and leave the launches of other threads. A function that has the attribute \
`tirx.HoistIfThenElseExprWithBlock` at 1 gets its `T.if_then_else` hoisted instead.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16, 16), \"float32\"), n: T.int32):
        for i, j in T.grid(16, 16):
            if i < n:
                A[i, j] = T.float32(0.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16, 16), \"float32\"), n: T.int32):
        for i in range(16):
            if i < n:
                for j in range(16):
                    A[i, j] = T.float32(0.0)
",
    ),
    run: Run::Module(run_if_then_else),
};

/// The conditions and values to hoist.
#[derive(Clone, Copy)]
struct Which {
    conditions: i64,
    values: i64,
}

fn run_if_then_else(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let basic = args.str("variant") == Some("basic");
    let blocks = !basic && cx.config_field("s_tir.HoistIfThenElse", "support_block_scope_hoisting") != 0;
    run(cx, module, &mut |marked| match marked && !basic {
        true => Which { conditions: USING_BLOCK_VAR | IF_EXPRESSION, values: 0 },
        false => Which { conditions: IF_STATEMENT | if blocks { USING_BLOCK_VAR } else { 0 }, values: 0 },
    })
}

/// Hoists in every function; the argument of `which` is true if the function requests expressions.
fn run(cx: &mut PassCx<'_>, module: &Module, which: &mut dyn FnMut(bool) -> Which) -> Result<Module, PassError> {
    let mut new = module.clone();
    for &(name, func) in module.functions() {
        let Some(prim) = prim_func(cx.store, func) else { continue };
        let marked = cx.store.attr_int(prim.attrs, "tirx.HoistIfThenElseExprWithBlock") == Some(1);
        let which = which(marked);
        let loops = collect::loops(cx.store, prim.body, which)?;
        let hoisted = insert::hoist(cx.store, func, loops, which)?;
        new.set_function(name, hoisted);
    }
    cx.run("tirx.StmtSimplify(), tirx.RemoveNoOp()", &new)
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, after_with, unchanged};

    fn source(body: &str) -> String {
        format!("@T.prim_func(private=True)\ndef f(A: T.Buffer((16, 16), \"float32\"), n: T.int32):\n{body}")
    }

    #[test]
    fn a_branch_with_both_sides_leaves_its_loop() {
        let body = "    for i in range(16):\n        if n < 4:\n            A[i, 0] = T.float32(0.0)\n        else:\n            A[i, 1] = T.float32(1.0)\n";
        let text = after(&source(body), "s_tir.HoistIfThenElse()");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| *line == "if n < 4:").expect("the branch");
        assert_eq!(lines[at + 1], "for i in range(16):", "{text}");
        assert_eq!(text.matches("range(16)").count(), 2, "{text}");
    }

    #[test]
    fn a_branch_beside_other_statements_stays() {
        unchanged(
            &source(
                "    for i in range(16):\n        A[i, 1] = T.float32(1.0)\n        if n < 4:\n            A[i, 0] = T.float32(0.0)\n",
            ),
            "s_tir.HoistIfThenElse()",
        );
    }

    #[test]
    fn a_condition_that_reads_memory_stays() {
        unchanged(
            &source("    for i in range(16):\n        if A[0, 0] < T.float32(1.0):\n            A[i, 0] = T.float32(0.0)\n"),
            "s_tir.HoistExpression()",
        );
    }

    #[test]
    fn what_a_condition_needs_goes_with_it() {
        let body = "    for i, j in T.grid(16, 16):\n        x: T.let = i * n\n        if x < 4:\n            A[i, j] = T.float32(0.0)\n";
        let text = after(&source(body), "s_tir.HoistExpression()");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
        assert!(at("x: T.let") < at("if ") && at("if ") < at("for j"), "{text}");
        let kept = after_with(
            &source(body),
            "s_tir.HoistExpression()",
            &[("s_tir.HoistExpression", "{\"hoisted_conditionals\": 1, \"hoisted_let_bindings\": 0}")],
        );
        assert!(kept.contains("T.grid(16, 16)"), "{kept}");
    }

    #[test]
    fn over_launches_of_threads_only_when_asked() {
        let body = "    tx = T.launch_thread(\"threadIdx.x\", 16)\n    for i in range(16):\n        if n < 4:\n            A[i, tx] = T.float32(0.0)\n";
        let text = after(&source(body), "s_tir.HoistIfThenElse()");
        assert!(text.find("launch_thread") < text.find("if n < 4"), "{text}");
        let text = after_with(
            &source(body),
            "s_tir.HoistIfThenElse()",
            &[("s_tir.HoistIfThenElse", "{\"support_block_scope_hoisting\": True}")],
        );
        assert!(text.find("if n < 4") < text.find("launch_thread"), "{text}");
    }
}
