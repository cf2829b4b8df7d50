//! Tests accepted and refused texts.

use crate::ir::{Expr, PrimParam, Stmt, Store};
use crate::parse::{Parsed, parse};

fn read(store: &mut Store, source: &str) -> Parsed {
    parse(store, source)
}

/// Returns the errors in the body of a function, with their lines.
fn wrong(body: &str) -> Vec<String> {
    let source = format!("@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), \"int32\"), count: T.int32):\n{body}");
    let parsed = read(&mut Store::new(), &source);
    let index = crate::diag::LineIndex::new(&source);
    let line = |d: &crate::diag::Diagnostic| index.line_column(&source, d.span.unwrap().start).0 - 2;
    parsed.diagnostics.iter().map(|d| format!("{} {} {}", line(d), d.code, d.message)).collect()
}

#[test]
fn every_problem_is_reported_with_its_place() {
    let lines = [
        "A[cuont] = 1",
        "A[0] = T.exp(1 2)",
        "T.where(count > 1)",
        "for i in enumerate(A): pass",
        "A[0] = count / 2",
        "A[0] = A + 1",
        "x: T.let[T.flot32] = 1",
        "with T.exp(1.0): pass",
        "A[0] = 99999999999999999999",
        "A[0] = 1",
    ];
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    assert_eq!(
        wrong(&body),
        [
            "1 tir-undefined Undefined variable: cuont",
            "2 script-syntax expected `,` or `)`, found `2`",
            "3 tir-block T.where must be called at the top of a T.sblock(), but T.where occurred outside of any T.sblock() frame",
            "4 tir-syntax Expect the for loop to be one of the following: range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll, T.thread_binding",
            "5 tir-type `/` of integers says not how to round: write `//` or `T.truncdiv`",
            "6 tir-type `A` is a buffer: it needs an index",
            "7 tir-unknown `T` of TVM 0.27 has no `flot32`",
            "8 tir-syntax `T.exp` opens no block",
            "9 tir-number this number does not fit into 64 bits",
        ]
    );
}

#[test]
fn a_bad_function_does_not_hide_the_others() {
    let store = &mut Store::new();
    let source = "\
@I.ir_module
class Module:
    @T.prim_func
    def bad(n: T.int32):
        T.evaluate(m)
    @T.prim_func
    def good(n: T.int32):
        T.evaluate(n)
";
    let parsed = read(store, source);
    assert_eq!(parsed.diagnostics.len(), 1);
    let names: Vec<&str> = parsed.program.module.functions().iter().map(|(name, _)| store.str(*name)).collect();
    assert_eq!(names, ["good"]);
    assert_eq!(parsed.program.left_out.iter().map(|name| store.str(*name)).collect::<Vec<_>>(), ["bad"]);
}

#[test]
fn a_matched_handle_is_a_buffer_parameter() {
    let store = &mut Store::new();
    let source = "\
@T.prim_func(s_tir=True)
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 4), \"int8\")
    A[0, 0] = 1
";
    let parsed = read(store, source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let Expr::PrimFunc(func) = store.expr(parsed.program.expr.unwrap()) else { panic!() };
    let func = store.prim_func(func);
    let PrimParam::Buffer(buffer) = func.params[0] else { panic!("{:?}", func.params) };
    assert_eq!(store.str(store.buffer(buffer).name), "A");
    assert!(matches!(store.stmt(func.body), Stmt::Store { .. }));
}

#[test]
fn a_block_at_the_top_goes_without_saying() {
    let store = &mut Store::new();
    let source = "\
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), \"int32\")):
    for i in range(4):
        with T.sblock(\"b\"):
            v = T.axis.spatial(4, i)
            A[v] = 1
";
    let parsed = read(store, source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let Expr::PrimFunc(func) = store.expr(parsed.program.expr.unwrap()) else { panic!() };
    let Stmt::Block(root) = *store.stmt(store.prim_func(func).body) else { panic!() };
    assert_eq!(store.str(store.prim_block(root).name), "root");
    assert!(matches!(store.stmt(store.prim_block(root).body), Stmt::For(..)));
}

#[test]
fn no_damage_makes_it_panic() {
    let source = "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((\"n\", 4), \"int8\"), n: T.int32):\n    for i, j in T.grid(n, 4):\n        with T.sblock(\"b\"):\n            vi, vj = T.axis.remap(\"SR\", [i, j])\n            T.reads(A[vi, 0:vj + 1])\n            with T.init():\n                A[vi, vj] = T.int8(0)\n            A[vi, 0:4:2] = A[vi, 0:2] * T.Cast(\"int8\", n // 2)\n";
    let store = &mut Store::new();
    let mut cut = source;
    while !cut.is_empty() {
        cut = &cut[..cut.len() - 1];
        read(store, cut);
    }
    let words: Vec<&str> = source.split_inclusive([' ', '(', ')', ',', '[', ']', '\n']).collect();
    for i in 0..words.len() {
        for other in [0, i / 2, words.len() - 1] {
            let mut damaged = words.clone();
            damaged.swap(i, other);
            read(store, &damaged.concat());
            damaged.remove(i);
            read(store, &damaged.concat());
        }
    }
}

/// The first operand was taken for the count that TVM 0.19 writes.
#[test]
fn an_intrinsic_whose_name_is_looked_up_keeps_its_operands() {
    for (source, operands) in [("A[0], A[1]", "A[0], A[1]"), ("T.uint32(2), A[0], A[1]", "A[0], A[1]")] {
        let text = format!(
            "@I.ir_module\nclass Module:\n    @T.prim_func\n    def f(A: T.Buffer((4,), \"int32\")):\n        A[0] = \
             T.call_llvm_pure_intrin(T.llvm_lookup_intrinsic_id(\"llvm.x\"), {source}, dtype=\"int32\")\n"
        );
        let store = &mut Store::new();
        let parsed = crate::parse::parse(store, &text);
        let shown = crate::print::module(store, &parsed.program.module, &crate::print::PrintOptions::default());
        assert!(shown.contains(&format!("T.call_llvm_pure_intrin(\"int32\", \"llvm.x\", {operands})")), "{shown}");
    }
}

/// The results are those of `scope_handler.py` and `script_complete.cc` of 2021.
#[test]
fn a_block_of_2021_follows_its_loops_or_gets_some() {
    let store = &mut Store::new();
    let mut text = |head: &str, body: &str| {
        let source = format!(
            "@tvm.script.tir\ndef f(a: ty.handle) -> None:\n    A = tir.match_buffer(a, [4, 8])\n{head}with tir.block([4, 8], \"b\") as \
             [vi, vj]:\n{body}            A[vi, vj] = 0.0\n"
        );
        let parsed = read(store, &source);
        let errors: Vec<_> =
            parsed.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.message.clone()).collect();
        match (parsed.program.expr, &errors[..]) {
            (Some(expr), []) => crate::print::relax_expr(store, expr, &crate::print::PrintOptions::default()),
            _ => errors.join("\n"),
        }
    };
    let grid = "    for i, j in tir.grid(4, 8):\n        ";
    assert!(text(grid, "").contains("T.axis.remap(\"SS\", [i, j])"), "{}", text(grid, ""));
    let alone = text("    ", "");
    assert!(alone.contains("for i0, i1 in T.grid(4, 8):") && alone.contains("T.axis.remap(\"SS\", [i0, i1])"), "{alone}");
    let few = text("    for i in range(0, 4):\n        ", "");
    assert_eq!(few, "Number of block iter var and outer loop nesting mismatch, 2 block iter vars but 1 loops");
    assert_eq!(text(grid, "            tir.bind(vi, i)\n"), "Missing block iter var binding for vj");
}

#[test]
fn an_attribute_with_its_older_name_tells_an_older_text_without_imports() {
    let body = "T.func_attr({\"tir.noalias\": T.bool(True)})\nA_1 = T.Buffer((16,), data=A.data)\nx: T.int32 = 1\nA_1[x] = T.float32(0)\n";
    let head = "@I.ir_module\nclass M:\n    @T.prim_func\n    def f(A: T.Buffer((4, 4), \"float32\")):\n        ";
    let text = format!("{head}{}\n", body.trim_end().replace('\n', "\n        "));
    let store = &mut Store::new();
    let parsed = read(store, &text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let printed = crate::print::module(store, &parsed.program.module, &Default::default());
    // Today an annotation without `T.let` makes a scalar in memory.
    assert!(printed.contains("x: T.let[T.int32] = 1\n") && printed.contains("\"tirx.noalias\""), "{printed}");
}
