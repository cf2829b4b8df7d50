"""Errors of schedules, texts with marked parts, samples of schedules, and walks over all parts of a thing."""

import pytest
import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.s_tir.schedule.analysis import get_auto_tensorize_mapping_info, get_tensorize_loop_mapping, is_output_block, suggest_index_map
from tvm.s_tir.schedule.transform import tile_with_tensor_intrin
from tvm.script import from_source
from tvm.script import tirx as T
from tvm_ffi.access_path import AccessPath


@T.prim_func(s_tir=True)
def chain(A: T.Buffer((128, 96)), D: T.Buffer((128, 96))):
    C = T.sblock_alloc_buffer((128, 96))
    for i, j in T.grid(128, 96):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0
    for i in range(128):
        for j in range(96):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + 1.0


@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64, 64))):
    for i, j, k in T.grid(64, 64, 64):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def _refused(func, act, **options):
    schedule = s_tir.Schedule(func, debug_mask="all", **options)
    with pytest.raises(s_tir.ScheduleError) as info:
        act(schedule)
    return str(info.value)


def test_an_error_shows_the_program_with_its_places():
    def act(schedule):
        i, j = schedule.get_loops(schedule.get_sblock("D"))
        schedule.fuse(j, i)

    text = _refused(chain, act)
    assert text.startswith("ScheduleError: An error occurred in the schedule primitive 'fuse'.\n\nThe IR with diagnostic is:\n")
    assert 'Access path: <root>.functions[I.GlobalVar("main")].body.block.body.seq[1].body\n' in text
    assert "            # tirx.For#1\n            for i in range(128):\n            ^^^^^^^^^^^^^^^^^^^^\n" in text
    assert text.endswith("because the outer loop tirx.For#0 is not the parent of the inner loop tirx.For#1")


def test_an_error_names_the_condition_that_is_violated():
    text = _refused(matmul, lambda schedule: schedule.parallel(schedule.get_loops(schedule.get_sblock("C"))[2]))
    assert 'Error message: The "parallel" cannot be fulfilled with regard to block s_tir.SBlock#0 because some block iter' in text
    text = _refused(chain, lambda schedule: schedule.compute_at(schedule.get_sblock("D"), schedule.get_loops(schedule.get_sblock("C"))[0]))
    assert "Not all required" not in text and "# s_tir.SBlock#0\n" in text


def test_short_errors_and_none():
    def act(schedule):
        schedule.get_sblock("X")

    assert "\n" not in _refused(chain, act, error_render_level="fast")
    assert _refused(chain, act, error_render_level="none") == "(not rendered)"


def test_a_buffer_that_a_block_does_not_use():
    schedule = s_tir.Schedule(chain)
    with pytest.raises(AssertionError, match="Could not find buffer 'X' in block 'C'"):
        schedule.cache_read(schedule.get_sblock("C"), "X", "global")
    with pytest.raises(AssertionError, match="Block C has only 1 read buffers"):
        schedule.reindex(schedule.get_sblock("C"), ("read", 1))


def test_statements_are_underlined_and_annotated():
    loop = chain.body.block.body.seq[1]
    text = chain.script(obj_to_underline=[loop.body], obj_to_annotate={loop: "outer"}, syntax_sugar=False, num_context_lines=1)
    assert "Access path: <root>.body.block.body.seq[1].body\n\n" in text
    assert "lines skipped ...)\n        for i in range(128):\n            for j in range(96):\n            ^^^^^^^^^^^^^^^^^^^\n" in text
    text = chain.script(obj_to_annotate={loop: "outer"}, syntax_sugar=False)
    assert "        # outer\n        for i in range(128):\n" in text and "T.grid" not in text


def test_a_path_that_is_not_shown():
    text = chain.script(path_to_underline=[AccessPath.root().attr("body").attr("nope")])
    assert "Note: The underlined object is the nearest visible parent of this path." in text


def test_lines_have_numbers_and_other_steps():
    assert "\n 5     # with T.sblock" in chain.script(print_line_numbers=True).replace("\n6 ", "\n 6 ") or " 6     # with" in chain.script(print_line_numbers=True)
    assert "\n  for i, j in T.grid(128, 96):\n    with" in chain.script(indent_spaces=2)


def test_a_seed_gives_the_decisions_of_tvm():
    schedule = s_tir.Schedule(chain, seed=42)
    loop = schedule.get_loops(schedule.get_sblock("D"))[0]
    made = [[int(schedule.get(item)) for item in schedule.sample_perfect_tile(loop, 4)] for _ in range(3)]
    assert made == [[1, 8, 2, 8], [16, 2, 4, 1], [4, 8, 1, 4]]
    picked = [int(schedule.get(schedule.sample_categorical([1, 2, 3], [0.2, 0.3, 0.5]))) for _ in range(5)]
    assert picked == [3, 2, 3, 3, 3]


def test_samples_refuse_wrong_numbers():
    schedule = s_tir.Schedule(chain, seed=1)
    with pytest.raises(ValueError, match="number of candidates does not match number of probabilities"):
        schedule.sample_categorical([1, 2], [1.0])
    with pytest.raises(ValueError, match="seed must be in the range"):
        s_tir.Schedule(chain, seed=-5)


def test_a_layout_is_suggested_for_an_access():
    i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
    loops = [tirx.For(var, 0, extent, tirx.ForKind.SERIAL, tirx.Evaluate(0)) for var, extent in ((i, 32), (j, 64))]
    indices = [i // 16, j // 16 * 256 + i % 16 * 16 + j % 16]
    found = suggest_index_map(tirx.decl_buffer((2, 1024)), indices, loops, tirx.const(True, "bool"))
    assert str(found).startswith("T.index_map(lambda i0, i1: (i0, i1 % 256 // 16, i1 // 256, i1 % 16), inverse_index_map=lambda")


@T.prim_func(s_tir=True)
def tile(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16))
    B = T.match_buffer(b, (16, 16))
    C = T.match_buffer(c, (16, 16))
    with T.sblock("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.sblock("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_loops_are_matched_with_a_description():
    schedule = s_tir.Schedule(matmul)
    block = schedule.get_sblock("C")
    info = get_tensorize_loop_mapping(schedule, block, tile)
    pairs = sorted((sref.stmt.loop_var.name, loop.loop_var.name) for sref, loop in info.loop_map.items())
    assert pairs == [("i", "i"), ("j", "j"), ("k", "k")] and info.block_iter_paddings is None
    found = get_auto_tensorize_mapping_info(schedule, block, tile)
    assert str(found.mappings[0]) == "T.index_map(lambda vi, vj, vk: (vi, vj, vk))"
    assert is_output_block(schedule, block)


def test_loops_are_tiled_for_an_intrinsic():
    s_tir.TensorIntrin.register("test_tile_16", tile, tile, override=True)
    schedule = s_tir.Schedule(matmul)
    assert tile_with_tensor_intrin(schedule, schedule.get_sblock("C"), "test_tile_16") is not None
    assert "T.grid(4, 4, 4, 16, 16, 16)" in schedule.mod.script()


def test_all_parts_of_a_thing_are_walked():
    found = []
    tvm_ffi.structural_walk(chain, (tirx.For, lambda loop: found.append(loop.loop_var.name)), order="pre")
    assert found == ["i", "j", "i", "j"]
    kinds = []
    tvm_ffi.structural_walk(chain.body.block.body.seq[0], (), (tirx.Var, lambda var, kind: kinds.append(f"{var.name}:{kind.name}")))
    assert kinds[:6] == ["i:DEF_SIMPLE", "j:DEF_SIMPLE", "i:NONE", "j:NONE", "vi:DEF_SIMPLE", "vj:DEF_SIMPLE"]
    result = tvm_ffi.structural_walk(chain, (tirx.For, lambda loop: tvm_ffi.VisitInterrupt(loop.extent)), order="pre")
    assert int(result.value) == 128


def test_parts_of_a_thing_are_replaced():
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    assert str(tvm_ffi.structural_map(x * 2 + y, (tirx.Var, lambda var: y if var.same_as(x) else var))) == "y * 2 + y"
    text = str(tvm_ffi.structural_map(chain, (tirx.FloatImm, lambda value: tirx.FloatImm("float32", value.value + 1))))
    assert "A[vi, vj] * T.float32(3.0)" in text and "T.float32(2.0)" in text

    def mutate(loop, mutator):
        return tirx.Evaluate(0) if loop.loop_var.name == "j" else mutator.default_mutate(loop)

    assert "T.sblock_alloc_buffer" in str(tvm_ffi.structural_mutate(chain, (tirx.For, mutate)))
    with pytest.raises(ValueError, match="Unknown structural walk order"):
        tvm_ffi.structural_walk(x, print, order="other")


def _read(body, signature="()"):
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return from_source(f"@T.prim_func(s_tir=True)\ndef f{signature}:\n{lines}\n")


def test_loop_variables_with_a_star():
    func = _read("for *s, r in T.grid(*A.shape):\n    A[s[0], s[1], r] = 1.0", "(A: T.Buffer((2, 3, 4)))")
    assert "for s_0, s_1, r in T.grid(2, 3, 4):" in func.script()


def test_annotations_of_a_block_are_merged():
    func = _read("with T.sblock('b'):\n    T.sblock_attr({'k': {'a': '1'}})\n    T.sblock_attr({'k': {'b': '2'}})\n    T.evaluate(0)")
    assert 'T.sblock_attr({"k": {"a": "1", "b": "2"}})' in func.script()
    with pytest.raises(tvm.error.DiagnosticError, match="Try to merge two annotations with different values for key `k`"):
        _read("with T.sblock('b'):\n    T.sblock_attr({'k': 1})\n    T.sblock_attr({'k': 2})\n    T.evaluate(0)")


@pytest.mark.parametrize(
    "body, message",
    [
        ("with T.sblock():\n    v = T.axis.S(8)\n    T.evaluate(0)", "missing 1 required positional argument: 'binding'"),
        ("with T.sblock('b') as x:\n    T.evaluate(0)", "Do not know how to bind type"),
        ("with T.sblock():\n    v = T.axis.S(0.1, 0.1)\n    T.evaluate(0)", "The dtype of the domain of an IterVar must be an integer"),
    ],
)
def test_heads_of_blocks_that_are_refused(body, message):
    with pytest.raises(tvm.error.DiagnosticError, match=message):
        _read(body)


def test_a_body_without_statements():
    assert "    T.evaluate(0)" in _read("A = T.sblock_alloc_buffer((10, 10), 'int8')").script()
    func = _read("T.evaluate(T.call_intrin('int32', 'tirx.tvm_storage_sync', 'shared'))")
    assert 'T.tvm_storage_sync("shared")' in func.script()
