"""Tests what the builder of tensor programs refuses, and what it casts. Expected messages are those of TVM 0.27."""

import pytest
from tvm import ir, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T


def _twice():
    with T.prim_func():
        T.func_name("a")
        T.func_name("b")


def _two_results():
    with T.prim_func():
        T.func_ret(ir.PrimType("int8"))
        T.func_ret(ir.PrimType("int8"))


def _no_branch():
    with T.If(tirx.const(True)):
        T.evaluate(0)


def _not_a_variable():
    with T.sblock("x"):
        T.axis.remap("SS", [1, 2])


CASES = [
    (lambda: T.func_name("x"), "T.func_name must be called at the top of a PrimFunc"),
    (lambda: T.reads(), "T.reads must be called at the top of a T.sblock"),
    (lambda: T.axis.spatial(1, 2), "The last frame is not SBlockFrame"),
    (lambda: T.Then().__enter__(), "Please ensure 'T.then_' is called under T.if_"),
    (_twice, "Duplicate prim func name, previous one is a"),
    (_two_results, "Duplicate prim func return type, previous one is T.int8"),
    (_no_branch, "should be either in ThenFrame or ElseFrame"),
    (_not_a_variable, "Only Var is supported in T.axis.remap"),
]


@pytest.mark.parametrize("build,message", CASES)
def test_what_the_builder_refuses(build, message):
    with pytest.raises(Exception, match=message), IRBuilder():
        build()


def test_a_builder_without_a_result():
    with pytest.raises(IndexError, match="No result exists in IRBuilder yet"):
        IRBuilder().get()
    with pytest.raises(ValueError, match="No builder in current scope"):
        IRBuilder.current()


def test_a_stored_value_is_of_the_type_of_the_elements():
    with IRBuilder() as builder, T.prim_func():
        T.func_name("main")
        buffer = T.arg("A", T.Buffer((4,), "int8"))
        T.buffer_store(buffer, 1, [0])
        T.buffer_store(buffer, tirx.Var("x", "int32"), [1])
    text = builder.get().script()
    assert "A[0] = T.int8(1)" in text and 'A[1] = T.Cast("int8", x)' in text


def test_short_names_of_element_types():
    assert [str(getattr(T, name)().ty) for name in ("i8", "f16", "bf16", "float8_e4m3fn")] == ["int8", "float16", "bfloat16", "float8_e4m3fn"]
    assert str(T.float32("inf")) == 'T.float32("inf")'
