"""Operations over bits as nodes, intrinsics by name, walks by the kind of an expression."""

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import ExprFunctor
from tvm.script import tirx as T

x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
f, h = tirx.Var("f", "float32"), tirx.Var("h", "handle")


@pytest.mark.parametrize(
    "made, cls, text",
    [
        (x & y, tirx.BitwiseAnd, "x & y"),
        (x | y, tirx.BitwiseOr, "x | y"),
        (x ^ y, tirx.BitwiseXor, "x ^ y"),
        (x << y, tirx.LShift, "x << y"),
        (x >> y, tirx.RShift, "x >> y"),
    ],
)
def test_operations_over_bits_are_nodes_of_two_operands(made, cls, text):
    assert isinstance(made, cls) and not isinstance(made, tvm.ir.Call)
    assert made.a.same_as(x) and made.b.same_as(y) and str(made) == text
    tvm.ir.assert_structural_equal(made, cls(x, y))


def test_the_other_bits_are_a_node_of_one_operand():
    assert isinstance(~x, tirx.BitwiseNot) and (~x).a.same_as(x) and str(~x) == "~x"


def test_bits_of_numbers_are_computed_at_once():
    assert int(tirx.IntImm("int32", 12) & 10) == 8 and int(tirx.const(1) << 4) == 16


def stored(func):
    """The value that a function of one statement writes."""
    return (func.body.block.body if hasattr(func.body, "block") else func.body).value


def test_variables_in_operations_over_bits_are_replaced():
    @T.prim_func(s_tir=True)
    def func(n: T.int32, A: T.Buffer((4,), "int32")):
        A[0] = (n & A[1]) + (~n >> 1)

    made = stored(func.specialize({func.params[0]: y}))
    assert isinstance(made.a, tirx.BitwiseAnd) and isinstance(made.b, tirx.RShift)
    assert made.a.a.same_as(y) and made.b.a.a.same_as(y)


def test_operations_over_bits_of_a_program_are_nodes():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4,), "int32")):
        A[0] = A[1] & A[2]

    made = stored(func)
    assert isinstance(made, tirx.BitwiseAnd) and isinstance(made.a, tvm.ir.TensorLoad) and made.a.source.name == "A"


def test_intrinsics_by_name():
    assert str(tirx.op.fma(f, f, f)) == "T.fma(f, f, f)" and str(tirx.op.fma(f, f, f).ty.dtype) == "float32"
    assert str(tirx.op.handle_add_byte_offset(h, 4)) == "T.handle_add_byte_offset(h, 4)"
    assert str(tirx.op.tvm_warp_shuffle(1, f, x, 32, 32)) == "T.tvm_warp_shuffle(1, f, x, 32, 32)"
    assert str(tirx.op.thread_return()) == "T.thread_return()"
    assert str(tirx.op.anylist_setitem_call_packed(h, 1, "g", x)) == 'T.anylist_setitem_call_packed(h, 1, "g", x)'


def test_intrinsics_over_buffers():
    buffer = tirx.decl_buffer((16,), "float32", "A")
    assert str(tirx.op.masked_load("float32x4", buffer.data, 0, True)) == 'T.masked_load("float32x4", A.data, 0, T.bool(True))'
    printed = tirx.op.print_buffer(buffer.data, "float32", False, False, 1, [16])
    assert str(printed) == 'T.print_buffer(A.data, "float32", T.bool(False), T.bool(False), T.uint32(1), 16)'


def test_offsets_and_addresses_in_a_buffer():
    n = tirx.Var("n", "int32")
    buffer = tirx.decl_buffer((16, 8), "float16", "B", elem_offset=n)
    assert str(buffer.byte_offset) == "n * 16 // 8"
    assert str(buffer.elem_offset_of([1, 2])) == "T.buffer_offset(B[1, 2])"
    assert str(buffer.elem_offset_of([1, 2], inner=False)) == "n + T.buffer_offset(B[1, 2])"
    assert str(buffer.byte_offset_of([1, 2])) == "T.buffer_offset(B[1, 2]) * 16 // 8"
    assert str(buffer.ptr_to([1, 2])) == "T.address_of(B[1, 2])" and not buffer.is_scalar()
    other = buffer.with_dtype("int32")
    assert not other.same_as(buffer) and [int(item) for item in other.shape] == [16, 8]


def test_a_type_tells_its_family():
    ty, code = tvm.ir.PrimType("int32x4"), tvm.DataTypeCode
    assert ty.matches_code(code.INT) and ty.matches_code(code.FLOAT, code.INT) and not ty.matches_code(code.FLOAT)
    assert ty.matches_element_type(code.INT, 32) and not ty.matches_element_type(code.INT, 8)


@pytest.mark.parametrize("name, kind", [("int32", "integer"), ("uint8x4", "integer"), ("bfloat16", "float"), ("float8_e4m3fn", "float"), ("bool", "bool"), ("handle", "handle")])
def test_an_element_type_is_of_one_kind(name, kind):
    dtype = tvm.DataType(name)
    told = {what: getattr(dtype, f"is_{what}") for what in ("bool", "float", "handle", "integer")}
    assert [what for what, answer in told.items() if (answer() if callable(answer) else answer)] == [kind]
    assert tvm.DataType.is_dtype(name)


def test_a_map_moves_the_elements_of_a_tensor():
    values = np.arange(24, dtype="float32").reshape(8, 3)
    made = tirx.IndexMap.from_func(lambda i, j: (j, i // 4, i % 4)).map_tensor(tvm.runtime.tensor(values)).numpy()
    assert made.tolist() == values.reshape(2, 4, 3).transpose(2, 0, 1).tolist()
    with pytest.raises(tvm.error.InternalError):
        tirx.IndexMap.from_func(lambda i, j: (i + j,)).map_tensor(tvm.runtime.tensor(values))
    with pytest.raises(tvm.error.InternalError):
        tirx.IndexMap.from_func(lambda i: (i,)).map_tensor(tvm.runtime.tensor(values))


class Kinds(ExprFunctor):
    def visit_add_(self, op):
        return "add"

    def visit_call_(self, op):
        return "call"

    def visit_expr_fallback_(self, op):
        return "other"


def test_a_functor_has_a_method_for_each_kind_of_scalar():
    one = relax.op.add(relax.Var("t", relax.TensorType((3,), "float32")), relax.const(1, "float32"))
    assert [Kinds().visit_expr(item) for item in (x + 1, x * 2, tirx.exp(f), one)] == ["add", "other", "call", "call"]
    with pytest.raises(NotImplementedError):
        Kinds().visit_expr(relax.ShapeExpr([tirx.IntImm("int64", 2)]))


def test_a_printer_of_trees_can_be_changed():
    from tvm.relax.testing.ast_printer import ASTPrinter, wrap_quotes

    class Printer(ASTPrinter):
        def visit_op_(self, op):
            return self.build_ast_node("Operator", name=wrap_quotes(op.name))

    one = relax.op.add(relax.Var("t", relax.TensorType((3,), "float32")), relax.const(1, "float32"))
    assert 'op=Operator(name="relax.add")' in Printer().visit_expr(one)
    assert ASTPrinter().build_list(["a"], "(", ")") == "(a)"
