//! Programs that the pass changes, and that it leaves alone. The texts that are expected come from TVM.

mod refuses;

use super::SPEC;
use crate::passes::tir::testing::{after, unchanged};

const PASS: &str = "s_tir.LowerAutoCopy()";

/// Makes a program with one copy, in 2 warps.
fn copy(allocs: &[&str], reads: &str, writes: &str, annotations: &str, grid: &str, body: &str) -> String {
    let allocs: String = allocs.iter().map(|alloc| format!("                    {alloc}\n")).collect();
    format!(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")):
        with T.sblock(\"root\"):
            T.sblock_attr({{\"warp_execution\": True}})
            for t in T.thread_binding(2, thread=\"threadIdx.y\"):
                with T.sblock(\"\"):
                    T.reads()
                    T.writes()
{allocs}                    with T.sblock(\"copy\"):
                        T.reads({reads})
                        T.writes({writes})
                        T.sblock_attr({{\"auto_copy\": True{annotations}}})
                        for x, y in T.grid({grid}):
                            {body}
"
    )
}

/// Runs the pass, and returns what stands in the block around the copy.
fn lowered(source: &str) -> String {
    let text = after(source, PASS);
    let lines = text.lines().skip_while(|line| line.trim() != "T.writes()").skip(1);
    let lines = lines.skip_while(|line| line.trim() != "T.writes()").skip(1);
    lines.map(|line| format!("{}\n", line.get(20..).unwrap_or_default())).collect()
}

#[test]
fn a_program_without_a_marked_block_stays() {
    unchanged(&SPEC.example_before.replace("auto_copy", "other"), PASS);
    unchanged(&SPEC.example_before.replace("\"auto_copy\": True", "\"auto_copy\": False"), PASS);
}

#[test]
fn a_copy_with_a_local_stage_loads_all_before_it_stores() {
    let source = copy(
        &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
        "A[0:32, 0:32]",
        "S[0:32, 0:32]",
        ", \"local_stage\": 1, \"vector_bytes\": 16",
        "32, 32",
        "S[x, y] = A[x, y]",
    );
    let expected = "\
S = T.sblock_alloc_buffer((32, 32), strides=(32, 1), scope=\"shared\")
with T.sblock(\"copy\"):
    T.reads(A[0:32, 0:32])
    T.writes(S[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True, \"local_stage\": 1, \"vector_bytes\": 16})
    S_local = T.sblock_alloc_buffer((4, 4), scope=\"local\")
    for x_y_fused_1 in T.thread_binding(2, thread=\"threadIdx.y\"):
        for x_y_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
            for x_y_fused_0_cache in range(4):
                for x_y_fused_3_cache in T.vectorized(4):
                    S_local[x_y_fused_0_cache * 2 * 32 * 4 // 32 % 32 // 8, x_y_fused_3_cache % 32] = A[(((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3_cache) // 32 % 32, (((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3_cache) % 32]
            for x_y_fused_0 in range(4):
                for x_y_fused_3 in T.vectorized(4):
                    S[(((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3) // 32 % 32, (((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 4 + x_y_fused_3) % 32] = S_local[x_y_fused_0 * 2 * 32 * 4 // 32 % 32 // 8, x_y_fused_3 % 32]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn a_value_that_is_computed_goes_through_registers_by_loops() {
    let source = copy(
        &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
        "A[0:32, 0:32]",
        "S[0:32, 0:32]",
        ", \"local_stage\": 1",
        "32, 32",
        "S[x, y] = A[x, y] + T.float32(1.0)",
    );
    let expected = "\
S = T.sblock_alloc_buffer((32, 32), strides=(32, 1), scope=\"shared\")
with T.sblock(\"copy\"):
    T.reads(A[0:32, 0:32])
    T.writes(S[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True, \"local_stage\": 1})
    S_local = T.sblock_alloc_buffer((16, 1), scope=\"local\")
    for x_y_fused_1 in T.thread_binding(2, thread=\"threadIdx.y\"):
        for x_y_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
            for x_y_fused_0_cache in range(16):
                for x_y_fused_3_cache in T.vectorized(1):
                    S_local[x_y_fused_0_cache, x_y_fused_3_cache] = A[((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2 + x_y_fused_3_cache) // 32 % 32, ((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2 + x_y_fused_3_cache) % 32] + T.float32(1.0)
            for x_y_fused_0 in range(16):
                for x_y_fused_3 in T.vectorized(1):
                    S[((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2 + x_y_fused_3) // 32 % 32, ((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2 + x_y_fused_3) % 32] = S_local[x_y_fused_0, x_y_fused_3]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn threads_that_are_too_many_do_nothing() {
    let source = copy(
        &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
        "A[0:12, 0:7]",
        "S[0:12, 0:7]",
        ", \"local_stage\": 1, \"vector_bytes\": 8",
        "12, 7",
        "S[x, y] = A[x, y]",
    );
    let expected = "\
S = T.sblock_alloc_buffer((32, 32), strides=(32, 1), scope=\"shared\")
with T.sblock(\"copy\"):
    T.reads(A[0:12, 0:7])
    T.writes(S[0:12, 0:7])
    T.sblock_attr({\"auto_copy\": True, \"local_stage\": 1, \"vector_bytes\": 8})
    S_local = T.sblock_alloc_buffer((1, 2), scope=\"local\")
    for x_y_fused_1 in T.thread_binding(2, thread=\"threadIdx.y\"):
        for x_y_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
            for x_y_fused_0_cache in range(1):
                for x_y_fused_3_cache in T.vectorized(2):
                    if ((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 2 + x_y_fused_3_cache < 84:
                        S_local[x_y_fused_0_cache, x_y_fused_3_cache] = A[(((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 2 + x_y_fused_3_cache) // 7 % 12, (((x_y_fused_0_cache * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 2 + x_y_fused_3_cache) % 7]
            for x_y_fused_0 in range(1):
                for x_y_fused_3 in T.vectorized(2):
                    if ((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 2 + x_y_fused_3 < 84:
                        S[(((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 2 + x_y_fused_3) // 7 % 12, (((x_y_fused_0 * 2 + x_y_fused_1) * 32 + x_y_fused_2) * 2 + x_y_fused_3) % 7] = S_local[x_y_fused_0, x_y_fused_3]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn a_copy_to_global_memory_is_in_the_order_of_the_writes() {
    let source = copy(
        &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
        "S[0:32, 0:32]",
        "B[0:32, 0:32]",
        "",
        "32, 32",
        "B[y, x] = S[x, y]",
    );
    let expected = "\
S = T.sblock_alloc_buffer((32, 32), strides=(33, 1), scope=\"shared\")
with T.sblock(\"copy\"):
    T.reads(S[0:32, 0:32])
    T.writes(B[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True})
    for x_inverse_y_inverse_fused_0 in range(16):
        for x_inverse_y_inverse_fused_1 in T.thread_binding(2, thread=\"threadIdx.y\"):
            for x_inverse_y_inverse_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
                for x_inverse_y_inverse_fused_3 in T.vectorized(1):
                    B[((x_inverse_y_inverse_fused_0 * 2 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) // 32 % 32, ((x_inverse_y_inverse_fused_0 * 2 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) % 32] = S[((x_inverse_y_inverse_fused_0 * 2 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) % 32, ((x_inverse_y_inverse_fused_0 * 2 + x_inverse_y_inverse_fused_1) * 32 + x_inverse_y_inverse_fused_2 + x_inverse_y_inverse_fused_3) // 32 % 32]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn tiles_are_loaded_by_an_instruction() {
    let source = copy(
        &[
            "S = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"shared\")",
            "W = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"wmma.matrix_b\")",
        ],
        "S[0:32, 0:32]",
        "W[0:32, 0:32]",
        "",
        "32, 32",
        "W[x, y] = S[x, y]",
    );
    let expected = "\
S = T.sblock_alloc_buffer((32, 32), \"float16\", strides=(40, 1), scope=\"shared\")
W = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"wmma.matrix_b\")
with T.sblock(\"copy\"):
    T.reads(S[0:32, 0:32])
    T.writes(W[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True})
    for x_0, y_0 in T.grid(2, 2):
        with T.sblock(\"wmma_load\"):
            T.reads(S[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16])
            T.writes(W[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16])
            src = T.match_buffer(S[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16], (16, 16), \"float16\", strides=(\"s1\", \"s0\"), scope=\"shared\", offset_factor=16)
            tgt = T.match_buffer(W[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16], (16, 16), \"float16\", scope=\"wmma.matrix_b\", offset_factor=16)
            T.tvm_load_matrix_sync(tgt.data, 16, 16, 16, tgt.elem_offset // 256 + tgt.elem_offset % 256 // 16, T.tvm_access_ptr(T.type_annotation(\"float16\"), src.data, src.elem_offset, src.strides[0] * 16, 1), src.strides[0], \"col_major\")
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn tiles_are_stored_by_an_instruction() {
    let source = copy(
        &[
            "S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")",
            "W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")",
        ],
        "W[0:32, 0:32]",
        "S[0:32, 0:32]",
        "",
        "32, 32",
        "S[x, y] = W[x, y]",
    );
    let expected = "\
S = T.sblock_alloc_buffer((32, 32), strides=(40, 1), scope=\"shared\")
W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")
with T.sblock(\"copy\"):
    T.reads(W[0:32, 0:32])
    T.writes(S[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True})
    for x_0, y_0 in T.grid(2, 2):
        with T.sblock(\"wmma_store\"):
            T.reads(W[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16])
            T.writes(S[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16])
            src = T.match_buffer(W[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16], (16, 16), scope=\"wmma.accumulator\", offset_factor=16)
            tgt = T.match_buffer(S[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16], (16, 16), strides=(\"s1\", \"s0\"), scope=\"shared\", offset_factor=16)
            T.tvm_store_matrix_sync(src.data, 16, 16, 16, src.elem_offset // 256 + src.elem_offset % 256 // 16, T.tvm_access_ptr(T.type_annotation(\"float32\"), tgt.data, tgt.elem_offset, tgt.strides[0] * 16, 2), tgt.strides[0], \"row_major\")
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn results_of_a_tensor_core_go_through_shared_memory() {
    let source = copy(
        &["W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")"],
        "W[0:32, 0:32], A[0:32, 0:32]",
        "B[0:32, 0:32]",
        ", \"vector_bytes\": 16",
        "32, 32",
        "B[x, y] = W[x, y] + A[x, y]",
    );
    let expected = "\
W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")
with T.sblock(\"copy\"):
    T.reads(W[0:32, 0:32], A[0:32, 0:32])
    T.writes(B[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True, \"vector_bytes\": 16})
    W_shared_dyn = T.sblock_alloc_buffer((2, 2, 16, 16), strides=(512, 256, 16, 1), scope=\"shared.dyn\")
    for x_0 in range(2):
        for y_0 in range(2):
            with T.sblock(\"wmma_store\"):
                T.reads(W[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16])
                T.writes(W_shared_dyn[t, y_0, 0:16, 0:16])
                src = T.match_buffer(W[x_0 * 16:x_0 * 16 + 16, y_0 * 16:y_0 * 16 + 16], (16, 16), scope=\"wmma.accumulator\", offset_factor=16)
                tgt = T.match_buffer(W_shared_dyn[t, y_0, 0:16, 0:16], (16, 16), strides=(\"s1\", \"s0\"), scope=\"shared.dyn\", offset_factor=16)
                T.tvm_store_matrix_sync(src.data, 16, 16, 16, src.elem_offset // 256 + src.elem_offset % 256 // 16, T.tvm_access_ptr(T.type_annotation(\"float32\"), tgt.data, tgt.elem_offset, tgt.strides[0] * 16, 2), tgt.strides[0], \"row_major\")
        for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 in range(4):
            for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1 in T.thread_binding(2, thread=\"threadIdx.y\"):
                for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
                    for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3 in T.vectorized(4):
                        B[x_0 * 16 + (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 % 16, (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 // 16 % 2 * 16 + (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) % 16] = W_shared_dyn[(((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 // 16 // 2 % 2, (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 // 16 % 2, (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 % 16, (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) % 16] + A[x_0 * 16 + (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 % 16, (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 16 // 16 % 2 * 16 + (((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2) * 4 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) % 16]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn lanes_store_their_own_results_of_a_tensor_core() {
    let source = copy(
        &["W = T.sblock_alloc_buffer((32, 32), scope=\"m16n8k8.matrixC\")"],
        "W[0:32, 0:32]",
        "B[0:32, 0:32]",
        "",
        "32, 32",
        "B[x, y] = W[x, y]",
    );
    let expected = "\
W = T.sblock_alloc_buffer((32, 32), scope=\"m16n8k8.matrixC\")
with T.sblock(\"copy\"):
    T.reads(W[0:32, 0:32])
    T.writes(B[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True})
    W_shared_dyn = T.sblock_alloc_buffer((2, 4, 8, 8), strides=(256, 64, 8, 1), scope=\"shared.dyn\")
    for x_0 in range(4):
        for y_0 in range(4):
            with T.sblock(\"mma_store\"):
                T.reads(W[x_0 * 8:x_0 * 8 + 8, y_0 * 8:y_0 * 8 + 8])
                T.writes(W_shared_dyn[t, y_0, 0:8, 0:8])
                src = T.match_buffer(W[x_0 * 8:x_0 * 8 + 8, y_0 * 8:y_0 * 8 + 8], (8, 8), scope=\"m16n8k8.matrixC\", offset_factor=8)
                tgt = T.match_buffer(W_shared_dyn[t, y_0, 0:8, 0:8], (8, 8), strides=(\"s1\", \"s0\"), scope=\"shared.dyn\", offset_factor=8)
                tx = T.launch_thread(\"threadIdx.x\", 32)
                for vec in T.vectorized(2):
                    tgt[tx // 4, tx % 4 * 2 + vec] = src[tx // 4, tx % 4 * 2 + vec]
        for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 in range(8):
            for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1 in T.thread_binding(2, thread=\"threadIdx.y\"):
                for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 in T.thread_binding(32, thread=\"threadIdx.x\"):
                    for t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3 in T.vectorized(1):
                        B[x_0 * 8 + ((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 8 % 8, ((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 8 // 8 % 4 * 8 + ((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) % 8] = W_shared_dyn[((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 8 // 8 // 4 % 2, ((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 8 // 8 % 4, ((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) // 8 % 8, ((t_cache_y_0_cache_x_1_cache_y_1_cache_fused_0 * 2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_1) * 32 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_2 + t_cache_y_0_cache_x_1_cache_y_1_cache_fused_3) % 8]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn a_copy_between_other_memories_stays() {
    let source = copy(
        &["W = T.sblock_alloc_buffer((32, 32), scope=\"local\")"],
        "A[0:32, 0:32]",
        "W[0:32, 0:32]",
        "",
        "32, 32",
        "W[x, y] = A[x, y]",
    );
    let expected = "\
W = T.sblock_alloc_buffer((32, 32), scope=\"local\")
with T.sblock(\"copy\"):
    T.reads(A[0:32, 0:32])
    T.writes(W[0:32, 0:32])
    T.sblock_attr({\"auto_copy\": True})
    for x, y in T.grid(32, 32):
        W[x, y] = A[x, y]
";
    assert_eq!(lowered(&source), expected);
}

#[test]
fn a_pointer_to_a_padded_buffer_follows_it() {
    let source = copy(
        &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
        "A[0:32, 0:32]",
        "S[0:32, 0:32]",
        "",
        "32, 32",
        "S[x, y] = A[x, y]",
    );
    let source = format!("{source}                    T.evaluate(T.call_extern(\"int32\", \"g\", S.data))\n");
    let text = lowered(&source);
    assert!(text.contains("strides=(32, 1)") && text.ends_with("T.call_extern(\"int32\", \"g\", S.data)\n"), "{text}");
}
