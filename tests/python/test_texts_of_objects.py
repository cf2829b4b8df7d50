"""Texts of containers, bounds, iterators and traces, and what constructors refuse."""

import pytest
import tvm
from tvm import s_tir, te, tirx
from tvm.ir import Range
from tvm.script import tirx as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as B
from tvm.sym import Analyzer, IntervalSet, IterMark, IterSplitExpr

x, n, f = tirx.Var("x", "int32"), tirx.Var("n", "int64"), tirx.Var("f", "float32")
A = tirx.decl_buffer((8, 4), "float32", "A")


def test_containers():
    assert str(tvm.runtime.convert([1, "a", x])) == '(1, "a", x)'
    assert str(A.shape) == "(8, 4)" and str(tvm.runtime.convert([1])) == "(1,)" and str(tvm.runtime.convert([])) == "()"
    assert str(tvm.runtime.convert({"a": 1})) == '{"a": 1}'


def test_bounds_and_iterators():
    assert str(Analyzer().modular_set(x * 4 + 1)) == "sym.ModularSet(coeff=4, base=1)"
    assert str(IntervalSet(0, x)) == "sym.IntervalSet(min_value=0, max_value=x)"
    assert "ConstIntBound(min_value=-2147483648, max_value=2147483647)" in str(Analyzer().const_int_bound(x))
    split = IterSplitExpr(IterMark(x, 16), 2, 4, 1)
    assert str(split).endswith("source=sym.IterMark(source=x, extent=16), lower_factor=2, extent=4, scale=1)")
    assert str(tirx.IterVar(None, x, 1, "threadIdx.x")) == 'T.iter_var(x, None, "ThreadIndex", "threadIdx.x")'


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: tirx.For(x, 0, n, tirx.ForKind.SERIAL, tirx.Evaluate(x)), tvm.error.InternalError, "is narrower than"),
        (lambda: tirx.For(f, 0, 8, tirx.ForKind.SERIAL, tirx.Evaluate(f)), tvm.error.InternalError, "require a scalar integer as the loop_var"),
        (lambda: tirx.SeqStmt([tirx.Evaluate(1)]), tvm.error.InternalError, "A SeqStmt of length 1 is prohibited"),
        (lambda: tirx.Bind(x, n), tvm.error.InternalError, "StructuralEqual"),
        (lambda: tirx.BufferStore(A, 1, [0, 0]), TypeError, "buffer's dtype is `T.float32`.* RHS's dtype is `T.int32`"),
        (lambda: tirx.BufferStore(A, 1.0, [0]), tvm.error.InternalError, "A is 2-dimensional, cannot be indexed with the 1-dimensional"),
        (lambda: tirx.BufferLoad(A, [tirx.Ramp(0, 1, 4), 0]), tvm.error.InternalError, "Only the last index"),
        (lambda: tirx.Ramp(x, 1, 1), tvm.error.InternalError, r"lanes > 1 \(1 vs. 1\)"),
        (lambda: tirx.Broadcast(tirx.Broadcast(x, 4), 2), tvm.error.InternalError, "IsScalar"),
        (lambda: tirx.FloatImm("float16", 1e9), ValueError, "exceeds maximum of float16"),
        (lambda: tirx.IntImm("bool", 2), ValueError, "exceeds range of bool"),
        (lambda: tirx.And(x, x), tvm.error.InternalError, "kDLBool"),
        (lambda: A[0:8:2, 0], ValueError, "non-unit step"),
        (lambda: tirx.Var("v", "foo"), ValueError, "unknown dtype `foo`"),
        (lambda: x + "a", TypeError, r"unsupported operand type\(s\) for \+: 'Var' and 'str'"),
        (lambda: te.compute((4,), lambda i: te.sum(A_t[i], axis=te.reduce_axis((0, 4), "k")) + 1), tvm.error.InternalError, "top level of compute"),
    ],
)
def test_what_constructors_refuse(make, error, message):
    with pytest.raises(error, match=message):
        make()


A_t = te.placeholder((4,), name="A_t")


def test_a_part_of_a_buffer_with_fewer_indices():
    assert str(A[0]) == "A[0, 0:4]"


def test_sequences_become_flat():
    stmts = tirx.SeqStmt([tirx.SeqStmt([tirx.Evaluate(x), tirx.Evaluate(x)]), tirx.Evaluate(0)])
    assert len(stmts) == 2


def test_a_private_program_of_the_builder():
    with IRBuilder() as builder:
        with B.prim_func(private=True):
            B.func_name("main")
            B.evaluate(0)
    assert "@T.prim_func(private=True)" in builder.get().script()


@T.prim_func(s_tir=True)
def copy(X: T.Buffer((64, 64)), Y: T.Buffer((64, 64))):
    for i, j in T.grid(64, 64):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] + 1.0


def test_traces_have_no_more_brackets_than_needed():
    schedule = s_tir.Schedule(copy)
    block = schedule.get_sblock("Y")
    schedule.transform_layout(block, ("write", 0), lambda i, j: (i // 16, j, i % 16))
    schedule.add_unit_loop(block)
    text = str(schedule.trace)
    assert "index_map=lambda i, j: (i // 16, j, i % 16,), pad_value=None, assume_injective_transform=False)" in text
    assert "sch.add_unit_loop(block_or_loop=b0)" in text


def test_ranges_of_regions():
    from tvm.sym import estimate_region_upper_bound

    assert str(estimate_region_upper_bound([Range(x, x + 4)], {x: Range(0, 8)}, True)).startswith("(sym.IntervalSet(")


def test_programs_that_tests_of_tuning_use():
    from tvm.s_tir.meta_schedule.testing import te_workload

    text = te.create_prim_func(te_workload.matmul_relu(8, 8, 4)).script()
    assert "C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]" in text and "T.max(C[v_i0, v_i1], T.float32(0.0))" in text
    assert "T_softmax_norm" in te.create_prim_func(te_workload.softmax_mn(4, 4)).script()
