//! Programs that the pass refuses: those that TVM refuses, in its words, and those that crash it.

use super::{PASS, copy};
use crate::passes::tir::testing::error;

/// Asserts that a program is refused with a message, which may go on.
fn refused(source: &str, message: &str) {
    let found = error(source, PASS);
    assert!(found.starts_with(message.trim_end()), "{message}: {found}");
}

#[test]
fn regions_and_statements_that_tvm_does_not_expect_are_refused() {
    // One region is written.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "A[0:32, 0:32]",
            "S[0:32, 0:32], B[0, 0]",
            "",
            "32, 32",
            "S[x, y] = A[x, y]",
        ),
        "Check failed: block->writes.size() == 1 (2 vs. 1) : ",
    );
    // One region is read.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "A[0:32, 0:32], B[0:32, 0:32]",
            "S[0:32, 0:32]",
            "",
            "32, 32",
            "S[x, y] = A[x, y] + B[x, y]",
        ),
        "Check failed: (found) is false: Multiple buffer read",
    );
    // A copy stores.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "S[0:32, 0:32]",
            "B[0:32, 0:32]",
            "",
            "32, 32",
            "T.evaluate(S[x, y])",
        ),
        "Check failed: (result) is false: Expects `body` to have type `tirx.BufferStore`, but gets: tirx.Evaluate",
    );
    // Only what is stored is written.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "S[0:32, 0:32]",
            "A[0:32, 0:32]",
            "",
            "32, 32",
            "B[x, y] = S[x, y]",
        ),
        "Check failed: (write_region->region.size() == write_index.size() && write_region->source.as_or_throw<tvm::tirx::BufferVar>().same_as(buf_store->buffer)) is false: ",
    );
}

#[test]
fn loops_that_cannot_be_spread_are_refused() {
    // The order of the writes is that of the reads, exchanged.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "S[0:32, 0:32]",
            "B[0:32, 0:32]",
            "",
            "32, 32",
            "B[x, x] = S[x, y]",
        ),
        "Check failed: iter_map->indices.size() == loop_vars.size() (0 vs. 2) : ",
    );
    // A loop has a round.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "A[0:32, 0:32]",
            "S[0:32, 0:32]",
            "",
            "16, 0",
            "S[x, y] = A[x, y]",
        ),
        "Check failed: pb->value != 0 (0 vs. 0) : Divide by zero",
    );
    // Only loops move an index into shared memory.
    refused(
        &copy(
            &["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"],
            "A[0:32, 0:32]",
            "S[0:32, 0:32]",
            "",
            "32, 32",
            "S[x, y + T.Cast(\"int32\", A[0, 0])] = A[x, y]",
        ),
        "key is not in Map",
    );
}

#[test]
fn tiles_that_no_instruction_moves_are_refused() {
    // A tile is 16 x 16.
    refused(
        &copy(
            &[
                "S = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"shared\")",
                "W = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"wmma.matrix_a\")",
            ],
            "S[0:32, 0:32]",
            "W[0:32, 0:32]",
            "",
            "32, 24",
            "W[x, y] = S[x, y]",
        ),
        "Check failed: (analyzer->CanProve(source_range->extent == buffer_shape)) is false: The dimension mismatched between source region and target buffer shape, got 32 vs. 16.",
    );
    // A tile is of half floats.
    refused(
        &copy(
            &[
                "S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")",
                "W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.matrix_a\")",
            ],
            "S[0:32, 0:32]",
            "W[0:32, 0:32]",
            "",
            "32, 32",
            "W[x, y] = S[x, y]",
        ),
        "Check failed: buffer->dtype == source_buffer->dtype (T.float16 vs. T.float32) : MatchBuffer src data type mismatch:T.float16 vs. T.float32",
    );
    // A tile is loaded as it is.
    refused(
        &copy(
            &[
                "S = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"shared\")",
                "W = T.sblock_alloc_buffer((32, 32), \"float16\", scope=\"wmma.matrix_a\")",
            ],
            "S[0:32, 0:32]",
            "W[0:32, 0:32]",
            "",
            "32, 32",
            "W[x, y] = S[x, y] + S[x, y]",
        ),
        "Check failed: (result) is false: Expects `buf_store->value` to have type `ir.TensorLoad`, but gets: prim.Add",
    );
    // A tile is stored.
    refused(
        &copy(
            &["W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")"],
            "W[0:32, 0:32]",
            "B[0:32, 0:32]",
            "",
            "32, 32",
            "B[x, y] = T.float32(1.0)",
        ),
        "Check failed: (target_buffer_load) is false: ",
    );
}

#[test]
fn tiles_of_several_buffers_or_places_are_refused() {
    // All tiles are of one buffer.
    refused(
        &copy(
            &[
                "W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")",
                "V = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")",
            ],
            "W[0:32, 0:32]",
            "B[0:32, 0:32]",
            "",
            "32, 32",
            "B[x, y] = W[x, y] + V[x, y]",
        ),
        "Check failed: (target_buffer_load->source.as_or_throw<tvm::tirx::BufferVar>().same_as( buffer_load->source.as_or_throw<tvm::tirx::BufferVar>())) is false: More than one target buffer found",
    );
    // Stored tiles are of one buffer.
    refused(
        &copy(
            &[
                "S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")",
                "W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")",
                "V = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")",
            ],
            "W[0:32, 0:32]",
            "S[0:32, 0:32]",
            "",
            "32, 32",
            "S[x, y] = W[x, y] + V[x, y]",
        ),
        "Check failed: (buf_load == nullptr || buf_load->source.as_or_throw<tvm::tirx::BufferVar>().same_as( load->source.as_or_throw<tvm::tirx::BufferVar>())) is false: More than one source buffer of wmma accumulator found",
    );
    // Tiles are the same.
    refused(
        &copy(
            &["W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")"],
            "W[0:32, 0:32]",
            "B[0:32, 0:32]",
            "",
            "32, 32",
            "B[x, y] = W[x, y] + W[y, x]",
        ),
        "Check failed: (analyzer->CanProveEqual(target_buffer_load->indices[i], buffer_load->indices[i])) is false: ",
    );
}

#[test]
fn a_block_within_a_copy_of_tiles_is_refused() {
    let tiles = [
        "S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")",
        "W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")",
    ];
    let block = "with T.sblock(\"inside\"):\n                                S[x, y] = W[x, y]";
    refused(
        &copy(&tiles, "W[0:32, 0:32]", "S[0:32, 0:32]", "", "32, 32", block),
        "Check failed: (result) is false: Expects `body` to have type `tirx.BufferStore`, but gets: s_tir.SBlockRealize",
    );
}

#[test]
fn an_index_without_an_inverse_is_refused() {
    let shared = ["S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")"];
    let (from, to) = ("S[0:32, 0:32]", "B[0:32, 0:32]");
    let doubled = copy(&shared, from, to, "", "32, 32", "B[y, x * 2] = S[x, y]");
    refused(&doubled, "Check failed: (analyzer_->CanProveEqual(prim::IntegerAbs(source->scale), 1)) is false: ");
    let begins_later =
        copy(&shared, from, to, "", "32, 32", "B[0, x] = S[0, x]").replace("x, y in T.grid(32, 32)", "x in range(1, 32)");
    refused(&begins_later, "Cannot treat type `prim.Sub` as type `ir.Var`");
}

#[test]
fn memory_that_tvm_does_not_have_is_refused() {
    let strange = ["S = T.sblock_alloc_buffer((32, 32), scope=\"scratch\")"];
    refused(
        &copy(&strange, "A[0:32, 0:32]", "S[0:32, 0:32]", "", "32, 32", "S[x, y] = A[x, y]"),
        "unknown storage scope scratch",
    );
}

#[test]
fn what_crashes_tvm_is_refused() {
    let shared = "S = T.sblock_alloc_buffer((32, 32), scope=\"shared\")";
    let tile = "W = T.sblock_alloc_buffer((32, 32), scope=\"wmma.accumulator\")";
    let [a, s, w] = ["A[0:32, 0:32]", "S[0:32, 0:32]", "W[0:32, 0:32]"];
    for (source, message) in [
        (copy(&[shared], a, s, "", "16, 16", "S[x, y + 1] = A[x, y]"), "TVM reads an operand that is not there"),
        (
            copy(&[shared], a, s, "", "1, 1", "S[0, 0] = A[0, 0]").replace("for x, y in T.grid(1, 1)", "if t > 0"),
            "the body of a block with `auto_copy` is no loop",
        ),
        (copy(&[shared, tile], w, s, "", "32, 32", "S[x, y] = T.float32(1.0)"), "no tile of a tensor core is loaded"),
        (
            copy(&[shared, tile], w, s, "", "32, 32", "S[x, x] = W[x, x]").replace("x, y in T.grid(32, 32)", "x in range(32)"),
            "a copy of tiles",
        ),
        (copy(&[shared], a, s, ", \"local_stage\": 1", "16, 16", "S[x, y] = A[x * t, y]"), "an index of a copy has a factor"),
    ] {
        refused(&source, message);
    }
}
