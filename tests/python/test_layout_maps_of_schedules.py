"""Maps of indices that schedules are given: over any number of indices, with values for what is padded, and refusals. Expected
values are those of TVM 0.27."""

import pytest
import tvm
from tvm import s_tir, tirx
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def doubled(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


def _schedule():
    schedule = s_tir.Schedule(doubled)
    return schedule, schedule.get_sblock("B")


def test_a_layout_over_any_number_of_indices():
    schedule, block = _schedule()
    schedule.transform_layout(block, "A", lambda *indices: indices[::-1])
    assert "A: T.Buffer((32, 16)" in schedule.mod["main"].script()
    assert "index_map=lambda i_0, i_1: (i_1, i_0,)" in str(schedule.trace).replace("indices_", "i_")


def test_the_value_of_padding_is_a_number():
    schedule, block = _schedule()
    schedule.transform_layout(block, "A", lambda i, j: [i // 5, i % 5, j], pad_value=0.0)
    assert "A[v_axis0, v_axis1, v_j] == T.float32(0.0)" in schedule.mod["main"].script()
    assert "pad_value=lambda indices_0, indices_1, indices_2: (T.float32(0.0),)" in str(schedule.trace)


def test_the_value_of_padding_is_a_function():
    schedule, block = _schedule()
    schedule.transform_layout(block, "B", lambda i, j: [i // 5, i % 5, j], pad_value=lambda i, j, k: tirx.if_then_else(i > 1, 1.0, 2.0))
    assert "T.if_then_else(1 < v_axis0, T.float32(1.0), T.float32(2.0))" in schedule.mod["main"].script()


def test_results_of_instructions_are_lists():
    schedule, block = _schedule()
    loops = schedule.get_loops(block)
    assert isinstance(loops, list) and repr(loops[0]) == "s_tir.LoopRV"
    assert isinstance(schedule.split(loops[0], [4, None]), list)


def test_what_is_no_schedule_or_map_is_refused():
    with pytest.raises(TypeError, match='"mod" has wrong type'):
        s_tir.Schedule(1)
    with pytest.raises(ValueError, match="error_render_level can be"):
        s_tir.Schedule(doubled, error_render_level="loud")
    schedule, block = _schedule()
    with pytest.raises(AssertionError, match="ndim must be specified"):
        schedule.transform_block_layout(block, lambda *indices: indices)
    with pytest.raises(TypeError, match="Expected mapping function to return"):
        schedule.transform_layout(block, "A", lambda i, j: [i, j, 3])


@pytest.mark.parametrize(
    "mapping,shape,reason",
    [
        (lambda i, j: [i * 8 + j], [4, 7], "Could not normalize iterators"),
        (lambda i: [i // 4, i % 4], [15], "The iterations do not traverse full iter space"),
        (lambda i, j: [i, i], [4, 4], "Index mapping does not form a bijective transform."),
    ],
)
def test_a_map_without_an_inverse_says_why(mapping, shape, reason):
    with pytest.raises(tvm.error.InternalError, match=reason):
        tirx.IndexMap.from_func(mapping).inverse(shape)
