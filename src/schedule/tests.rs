//! Tests small schedules against the output of TVM 0.27, from the first loop on.

use super::{Failure, State, apply_trace};
use crate::ir::Store;
use crate::parse::trace::parse_trace;
use crate::print::{self, PrintOptions};

/// Sums of rows, and their positive parts.
const ROWS: &str = r#"
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
        for i, k in T.grid(6, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + A[vi, vk]
        for i in range(6):
            with T.sblock("D"):
                vi = T.axis.spatial(6, i)
                T.reads(C[vi])
                T.writes(D[vi])
                D[vi] = T.max(C[vi], T.float32(0.0))
"#;

const POSITIVE: &str = "        for i in range(6):
            with T.sblock(\"D\"):
                vi = T.axis.spatial(6, i)
                T.reads(C[vi])
                T.writes(D[vi])
                D[vi] = T.max(C[vi], T.float32(0.0))
";

fn applied(trace: &str) -> (String, Result<(), Failure>) {
    let store = &mut Store::new();
    let parsed = crate::parse::parse(store, ROWS);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let trace = parse_trace(trace).expect("a trace");
    let mut state = State::new(store, &parsed.program.module);
    let result = apply_trace(&mut state, &trace);
    let module = state.module();
    let text = print::module(store, &module, &PrintOptions::default());
    let body = text.split_once("# with T.sblock(\"root\"):\n").map_or("", |(_, body)| body).to_owned();
    (body, result)
}

#[track_caller]
fn gives(trace: &str, wanted: &str) {
    let (text, result) = applied(trace);
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(text.trim_end(), format!("{wanted}{POSITIVE}").trim_end());
}

#[test]
fn a_loop_that_is_not_divided_evenly_gets_a_predicate() {
    gives(
        "c = sch.get_sblock('C')\ni, k = sch.get_loops(c)\na, b = sch.split(i, [None, 4])\nsch.fuse(b, k)\n",
        r#"        for i_0, i_1_k_fused in T.grid(2, 32):
            with T.sblock("C"):
                vi = T.axis.spatial(6, i_0 * 4 + i_1_k_fused // 8)
                vk = T.axis.reduce(8, i_1_k_fused % 8)
                T.where(i_0 * 4 + i_1_k_fused // 8 < 6)
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + A[vi, vk]
"#,
    );
}

/// TVM takes such lines as Python does them.
#[test]
fn instructions_stand_among_the_arguments_of_others() {
    let plain = "c = sch.get_sblock('C')\ni, k = sch.get_loops(c)\na, b = sch.split(i, [None, 4])\nd, e, f = sch.split(k, [2, 2, 2])\nsch.reorder(a, d, e, f, b)\nsch.vectorize(b)\n";
    let wanted = applied(plain);
    assert!(wanted.1.is_ok(), "{wanted:?}");
    for trace in [
        "bn, t = 4, [2, 2, 2]\na, b = sch.split(sch.get_loops(sch.get_sblock('C'))[0], [None, bn])  # rows\n\
         d, e, f = sch.split(sch.get_loops('C')[-1], t)\nsch.reorder(a, d, e, f, b)\nsch.vectorize(sch.get_loops('C')[4])\n",
        "s = tvm.s_tir.Schedule(Module)\nc = s.get_block('C')\n(a, b) = s.split(s.get_loops(c)[0], factors=[None, 2 * 2])\n\
         l = s.get_loops(c)\nd, *rest = s.split(l[-1], [2, 2, 2])\ns.reorder(*l[:1], d, *rest, b)\n\
         all = rest + [b]\ns.vectorize(all[-1])\nprint(s.mod)\ns.mod.show()\n",
    ] {
        let found = applied(trace);
        assert!(found.1.is_ok(), "{:?}", found.1);
        assert_eq!(found.0, wanted.0, "{trace}");
    }
    let (_, result) = applied("i, k = sch.get_loops('C')\nsch.vectorize(sch.split(k, [2, 4])[0])\n");
    let failure = result.expect_err("a reduction");
    assert!(failure.done == 1 && failure.message.starts_with("ScheduleError: The \"parallel\""), "{failure:?}");
    let (_, result) = applied("i, = sch.get_loops('C')\n");
    assert_eq!(result.expect_err("there are two loops").message, "ValueError: 2 results for 1 names");
}

#[test]
fn a_reduction_is_divided_among_the_iterations_of_a_loop() {
    gives(
        "i, k = sch.get_loops('C')\na, b = sch.split(k, [2, 4])\nsch.rfactor(b, 0)\n",
        r#"        C_rf = T.sblock_alloc_buffer((4, 6))
        for i, k_0, k_1 in T.grid(6, 2, 4):
            with T.sblock("C_rf"):
                vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
                T.reads(A[vi, vk_0 * 4 + vk_1])
                T.writes(C_rf[vk_1, vi])
                with T.init():
                    C_rf[vk_1, vi] = T.float32(0.0)
                C_rf[vk_1, vi] = C_rf[vk_1, vi] + A[vi, vk_0 * 4 + vk_1]
        for i, k_1 in T.grid(6, 4):
            with T.sblock("C"):
                vk_1, vi = T.axis.remap("RS", [k_1, i])
                T.reads(C_rf[vk_1, vi])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + C_rf[vk_1, vi]
"#,
    );
}

#[test]
fn the_beginning_of_a_reduction_becomes_a_block() {
    gives(
        "c = sch.get_sblock('C')\ni, k = sch.get_loops(c)\nsch.decompose_reduction(c, i)\n",
        r#"        for i_init in range(6):
            with T.sblock("C_init"):
                vi = T.axis.spatial(6, i_init)
                T.reads()
                T.writes(C[vi])
                C[vi] = T.float32(0.0)
        for i, k in T.grid(6, 8):
            with T.sblock("C_update"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(C[vi], A[vi, vk])
                T.writes(C[vi])
                C[vi] = C[vi] + A[vi, vk]
"#,
    );
}

#[test]
fn what_is_read_and_written_goes_through_copies() {
    gives(
        "c = sch.get_sblock('C')\nsch.cache_read(c, 0, 'local')\nsch.cache_write(c, 0, 'local')\n",
        r#"        A_local = T.sblock_alloc_buffer((6, 8), scope="local")
        C_local = T.sblock_alloc_buffer((6,), scope="local")
        for ax0, ax1 in T.grid(6, 8):
            with T.sblock("A_local"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v0, v1])
                T.writes(A_local[v0, v1])
                A_local[v0, v1] = A[v0, v1]
        for i, k in T.grid(6, 8):
            with T.sblock("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A_local[vi, vk])
                T.writes(C_local[vi])
                with T.init():
                    C_local[vi] = T.float32(0.0)
                C_local[vi] = C_local[vi] + A_local[vi, vk]
        for ax0 in range(6):
            with T.sblock("C_local"):
                v0 = T.axis.spatial(6, ax0)
                T.reads(C_local[v0])
                T.writes(C[v0])
                C[v0] = C_local[v0]
"#,
    );
}

#[test]
fn a_consumer_moves_under_a_loop_of_its_producer() {
    let (text, result) = applied("i, k = sch.get_loops('C')\nsch.reverse_compute_at('D', i)\n");
    assert!(result.is_ok(), "{result:?}");
    assert!(
        text.starts_with("        for i in range(6):\n            for k in range(8):\n                with T.sblock(\"C\"):"),
        "{text}"
    );
    assert!(text.contains("            with T.sblock(\"D\"):\n                vi = T.axis.spatial(6, i)\n"), "{text}");
}

#[test]
fn what_tvm_refuses_is_refused_and_what_came_before_stands() {
    for (last, message) in [
        ("sch.parallel(k)", "ScheduleError: The \"parallel\""),
        ("sch.split(i, [2, 2])", "ScheduleError: The product of factors is not larger than or equal to the extent of loop"),
        ("sch.compute_inline('C')", "ScheduleError: The block has init statement"),
        ("sch.compute_inline('D')", "ScheduleError: Cannot operate on an output block"),
        ("sch.reorder(i, i)", "ScheduleError: Some loop appears in the input array for multiple times."),
        ("sch.get_sblock('E')", "ScheduleError: Cannot find a block with the name: E"),
        ("sch.split(j, [2, 2])", "NameError: name 'j' is not defined"),
        ("sch.annotate(i)", "TypeError: annotate() needs the argument `ann_val`"),
        ("sch.paralel(i)", "AttributeError: 'Schedule' has no primitive `paralel`; did you mean `parallel`?"),
        ("sch.tensorize(i, 'dot_16x4_vni')", "ValueError: TensorIntrin 'dot_16x4_vni' is not registered; did you mean"),
        ("sch.annotate('C', 'key', 1)", "TypeError: a string is no block or loop here; get the block first"),
        ("sch.reorder_block_iter_var('C', [1, 0])", "TypeError: a string is no block or loop here"),
        ("sch.vectorize('C')", "TypeError: a string is no block or loop here"),
        ("sch.set_axis_separator('C', 0, [1])", "AttributeError: TVM 0.27 has no `set_axis_separator`"),
    ] {
        let (text, result) = applied(&format!("i, k = sch.get_loops('C')\nsch.annotate(k, 'key', 1)\n{last}\n"));
        let failure = result.expect_err(last);
        assert_eq!(failure.done, 2);
        assert!(failure.message.starts_with(message), "{last}: {}", failure.message);
        assert!(text.contains("annotations={\"key\": 1}"), "{text}");
    }
}

#[test]
fn a_function_that_is_neither_main_nor_marked_is_named_even_where_it_is_the_only_one() {
    let run = |source: &str| {
        let store = &mut Store::new();
        let module = crate::parse::parse(store, source).program.module;
        let trace = parse_trace("sch.compute_inline('C')\n").expect("a trace");
        apply_trace(&mut State::new(store, &module), &trace).expect_err("it has an init statement").message
    };
    assert!(run(ROWS).starts_with("ScheduleError: The block has init statement"));
    let other = ROWS.replace("def main", "def rows");
    assert!(run(&other).starts_with("ValueError: `get_sblock` does not know which function to be working on."));
    let marked = other.replace("        for i, k", "        T.func_attr({\"tirx.is_entry_func\": True})\n        for i, k");
    assert!(run(&marked).starts_with("ScheduleError: The block has init statement"));
}

/// Registers `twice`, which doubles four numbers by a call.
const TWICE: &str = r#"
@T.prim_func(s_tir=True)
def desc(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.sblock("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.sblock("twice"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2.0)

@T.prim_func(s_tir=True)
def impl(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.sblock("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        T.call_extern("int32", "twice", T.address_of(A[0]), T.address_of(B[0]))

tvm.s_tir.TensorIntrin.register("twice", desc, impl)
b = sch.get_sblock("B")
l = sch.get_loops(b)
"#;

#[test]
fn an_intrinsic_that_the_trace_registers_takes_the_place_of_what_it_computes() {
    let store = &mut Store::new();
    let program = crate::parse::parse(
        store,
        r#"
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32")):
        for i, j in T.grid(6, 4):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2.0)
"#,
    );
    let mut run = |last: &str| {
        let trace = parse_trace(&format!("{TWICE}{last}\n")).expect("a trace");
        let mut state = State::new(store, &program.program.module);
        let result = apply_trace(&mut state, &trace).map_err(|failure| failure.message);
        let module = state.module();
        result.map(|()| print::module(store, &module, &PrintOptions::default()))
    };
    let text = run("sch.tensorize(l[-1], 'twice')").expect("it fits");
    let wanted = r#"        for i in range(6):
            with T.sblock("B_o"):
                vi_o = T.axis.spatial(6, i)
                vj_o = T.axis.spatial(1, 0)
                T.reads(A[vi_o, 0:4])
                T.writes(B[vi_o, 0:4])
                A_1 = T.match_buffer(A[vi_o, 0:4], (4,), offset_factor=1)
                B_1 = T.match_buffer(B[vi_o, 0:4], (4,), offset_factor=1)
                T.call_extern("int32", "twice", T.address_of(A_1[0]), T.address_of(B_1[0]))"#;
    assert!(text.trim_end().ends_with(wanted), "{text}");
    let refused = run("sch.tensorize(l[0], 'twice')").expect_err("it computes 24 numbers");
    assert_eq!(refused, "ScheduleError: The stmt doesn't match the tensor intrin.");
    let twice = run("tvm.s_tir.TensorIntrin.register('twice', desc, impl)").expect_err("there is one");
    assert_eq!(twice, "ValueError: TensorIntrin 'twice' has already been registered");
}

/// A block that doubles ten numbers, and one that adds one to each.
const TEN: &str = r#"
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((10,), "float32"), D: T.Buffer((10,), "float32")):
        B = T.sblock_alloc_buffer((10,))
        for i in range(10):
            with T.sblock("B"):
                vi = T.axis.spatial(10, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2.0)
        for i in range(10):
            with T.sblock("D"):
                vi = T.axis.spatial(10, i)
                T.reads(B[vi])
                T.writes(D[vi])
                D[vi] = B[vi] + T.float32(1.0)
"#;

#[test]
fn padding_is_written_by_the_writer_or_behind_it_and_assumed_of_what_is_only_read() {
    let run = |before: &str, buffer: &str, value: &str| {
        let store = &mut Store::new();
        let module = crate::parse::parse(store, TEN).program.module;
        let text = format!(
            "b = sch.get_sblock('B')\nl, = sch.get_loops(b)\n{before}\n\
             sch.transform_layout(b, {buffer}, lambda i: (i // 4, i % 4), pad_value={value})\n"
        );
        let trace = parse_trace(&text).expect("a trace");
        let mut state = State::new(store, &module);
        let result = apply_trace(&mut state, &trace).map_err(|failure| failure.message);
        let module = state.module();
        result.map(|()| print::module(store, &module, &PrintOptions::default()))
    };
    let written = run("", "('write', 0)", "0.0").expect("it can be padded");
    assert!(
        written.contains(
            "\
        for axis0, axis1 in T.grid(3, 4):
            with T.sblock(\"B\"):
                v_axis0, v_axis1 = T.axis.remap(\"SS\", [axis0, axis1])
                T.reads(A[v_axis0 * 4 + v_axis1])
                T.writes(B[v_axis0, v_axis1])
                B[v_axis0, v_axis1] = T.if_then_else(v_axis0 == 2 and 2 <= v_axis1, T.float32(0.0), A[v_axis0 * 4 + v_axis1] * T.float32(2.0))
"
        ),
        "{written}"
    );
    let behind = run("sch.parallel(l)", "('write', 0)", "lambda i, j: T.float32(0.0)").expect("it can be padded");
    assert!(
        behind.contains(
            "\
                B[vi // 4, vi % 4] = A[vi] * T.float32(2.0)
        for axis0, axis1 in T.grid(3, 4):
            with T.sblock(\"buffer_B_padding\"):
                v_axis0, v_axis1 = T.axis.remap(\"SS\", [axis0, axis1])
                T.where(axis0 == 2 and 2 <= axis1)
                T.reads()
                T.writes(B[v_axis0, v_axis1])
                B[v_axis0, v_axis1] = T.float32(0.0)
"
        ),
        "{behind}"
    );
    let assumed = run("", "('read', 0)", "0.0").expect("it can be padded");
    assert!(
        assumed.contains("T.assume(not (v_axis0 == 2 and 2 <= v_axis1) or A[v_axis0, v_axis1] == T.float32(0.0))"),
        "{assumed}"
    );
    assert_eq!(run("", "('write', 0)", "0"), Err("ScheduleError: Type mismatch float32 vs int32".to_owned()));
    assert!(run("", "('write', 0)", "None").expect_err("no value").starts_with("ScheduleError: Transformation would introduce"));
}

/// Its end was looked for among iterators that it has not.
#[test]
fn a_block_without_iterators_is_padded() {
    let text = "@I.ir_module(s_tir=True)\nclass Module:\n    @T.prim_func(s_tir=True)\n    def main(A: T.Buffer((14, 32), \"int32\")):\n        \
                B = T.sblock_alloc_buffer(14, \"int32\")\n        for i in T.serial(14):\n            B[i] = 0\n            \
                for k in T.serial(32):\n                with T.sblock(\"block\"):\n                    B[i] = B[i] + A[i, k]\n";
    let store = &mut Store::new();
    let module = crate::parse::parse(store, text).program.module;
    let trace = "b = sch.get_sblock('block')\nsch.transform_layout(b, ('write', 0), lambda i: (i // 4, i % 4), pad_value=0)\n";
    let trace = parse_trace(trace).expect("a trace");
    let mut state = State::new(store, &module);
    apply_trace(&mut state, &trace).unwrap_or_else(|failure| panic!("{}", failure.message));
    let module = state.module();
    let text = print::module(store, &module, &PrintOptions::default());
    // As TVM 0.27 prints it.
    assert!(
        text.contains(
            "B[axis0, axis1] = T.if_then_else(axis0 == 3 and 2 <= axis1, 0, B[axis0, axis1] + A[axis0 * 4 + axis1, k])"
        )
    );
}
