"""Counts of arithmetic operations, output blocks within blocks, and operators by their names. Expected values are those of TVM 0.27."""

import pytest
import tvm
from tvm import s_tir, tirx
from tvm.script import tirx as T


def _flops(func):
    return s_tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func}))


def test_operations_of_all_types_count_and_indices_do_not():
    @T.prim_func(private=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int32")):
        for i in range(8):
            A[i * 2 + 1] = A[i + 3]
            B[i] = T.Select(B[i] > 2, B[i] + 1, B[i] * 2 + 3)

    assert _flops(main) == 16.0


def test_a_loop_of_unknown_length_runs_as_often_as_it_may():
    @T.prim_func(private=True)
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(n):
            A[i] = A[i] * T.float32(2) + T.exp(A[i])

    assert _flops(main) == 2.0 * (2**31 - 1)


def test_output_blocks_within_output_blocks():
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        with T.sblock("outer"):
            vo = T.axis.spatial(1, 0)  # noqa: F841
            for i in range(16):
                with T.sblock("inner"):
                    vi = T.axis.spatial(16, i)
                    B[vi] = A[vi] + T.float32(1)

    schedule = s_tir.Schedule(main)
    assert [schedule.get(block).name_hint for block in schedule.get_output_blocks("root")] == ["outer", "inner"]
    assert [schedule.get(block).name_hint for block in schedule.get_output_blocks("outer")] == ["inner"]


def test_intrinsics_are_operators_by_name():
    assert tvm.ir.Op.get("tirx.exp").name == "tirx.exp" and tvm.ir.Op.get("prim.likely").name == "prim.likely"
    assert tvm.ir.Op.get("tirx.exp").same_as(tirx.exp(tirx.Var("x", "float32")).op)
    with pytest.raises(AttributeError, match="is not registered"):
        tvm.ir.Op.get("tirx.nothing_of_the_kind")
