"""Buffers are variables whose type is one of a buffer, as in TVM 0.27."""

import pytest
import tvm
from tvm import tirx
from tvm.script import tirx as T


def test_a_buffer_is_a_variable():
    buffer, scalar = tirx.decl_buffer((8,), "float32", "A"), tirx.Var("x", "int32")
    assert type(buffer) is tvm.ir.Var and tirx.Buffer is tvm.ir.Var
    assert tirx.is_buffer_var(buffer) and not tirx.is_buffer_var(scalar)
    assert buffer == buffer and buffer != scalar and {buffer: 1}[buffer] == 1
    with pytest.raises(AttributeError, match="shape is only available on a Var with BufferType"):
        scalar.shape  # noqa: B018
    with pytest.raises(TypeError, match="unsupported operand"):
        buffer + 1


def test_a_variable_of_the_type_of_a_buffer_is_one():
    buffer = tirx.decl_buffer((8,), "float32", "A")
    other = tirx.Var("B", buffer.ty)
    assert tirx.is_buffer_var(other) and tuple(other.shape) == (8,) and not other.same_as(buffer)
    kind = tirx.BufferType(tvm.ir.PrimType("int8"), "shared", [4, 4], [], tirx.const(0, "int32"), 64, 1, None, [])
    made = tirx.Var("C", kind)
    assert (made.scope(), made.dtype, str(made[0, 1])) == ("shared", "int8", "C[0, 1]")


def test_parameters_of_a_program_are_its_buffers():
    @T.prim_func(private=True)
    def main(A: T.Buffer((8,), "float32"), x: T.int32):
        A[x] = T.float32(1)

    buffer = main.params[0]
    assert type(buffer) is tvm.ir.Var and buffer.same_as(main.body.buffer)
    assert not hasattr(main, "buffer_map")


def test_a_declared_buffer_lies_behind_its_pointer():
    buffer = tirx.decl_buffer((8,), "float32")
    data = tirx.Var("data", buffer.data.ty)
    assert tirx.DeclBuffer(buffer, data=data).data.same_as(data)
