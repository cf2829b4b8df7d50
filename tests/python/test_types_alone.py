"""Types that stand alone, and linked functions."""

import pytest
import tvm
from tvm import relax, tirx

M = tirx.Var("m", "int64")


@pytest.mark.parametrize(
    "ty, text",
    [
        (relax.TupleType([]), "None"),
        (relax.TupleType([relax.TensorType([4], "float32")]), 'T.Tuple(R.Tensor((T.int64(4),), dtype="float32"))'),
        (relax.TupleType([relax.ShapeType([M, M * 2])]), "T.Tuple(R.Shape([m, m * T.int64(2)]))"),
        (relax.TensorType([4, M * 2], "float32"), 'R.Tensor((4, m * 2), dtype="float32")'),
        (relax.ShapeType([M + 1]), "R.Shape([m + 1])"),
        (relax.FuncType.opaque_func(), "R.Callable"),
        (relax.PackedFuncType(), "R.PackedFunc"),
        (relax.FuncType([], relax.TupleType([relax.ShapeType([4])])), "R.Callable((), R.Tuple(R.Shape([4])), True)"),
        (tvm.ir.PrimType("int64"), "int64"),
        (tvm.ir.StringType(), "ir.StringType(span=None)"),
    ],
)
def test_text(ty, text):
    assert str(ty) == text


def test_linked_functions_say_their_type_if_there_is_one():
    assert str(relax.ExternFunc("f")).strip() == 'R.ExternFunc("f")'
    ty = relax.FuncType([relax.AnyType()], relax.ShapeType([4]))
    assert 'R.ExternFunc("f", R.Callable((R.Any,), R.Shape([4]), True))' in str(relax.ExternFunc("f", ty))
    with pytest.raises(tvm.error.InternalError, match="must have FuncType"):
        relax.ExternFunc("f", relax.PackedFuncType())


def test_a_call_of_a_linked_function_has_its_result():
    func = relax.ExternFunc("f", relax.FuncType([relax.AnyType()], relax.ShapeType([4])))
    call = relax.BlockBuilder().normalize(relax.Call(func, [relax.Var("x", relax.AnyType())]))
    assert isinstance(call.ty, relax.ShapeType)


def test_symbolic_variables_that_a_script_makes_are_defined_by_shapes():
    x = relax.Var("x", relax.TensorType([M], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.Tuple([M, relax.op.strided_slice(x, [0], [0], [M])])))
    func = bb.get()["main"]
    assert relax.analysis.check_well_formed(bb.get())
    assert list(relax.analysis.free_vars(func)) == []
    tvm.ir.assert_structural_equal(func, relax.utils.copy_with_new_vars(func))
