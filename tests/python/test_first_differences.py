"""The paths to the first difference of two things, and the message that shows it. Expected values are those of TVM 0.27."""

import pytest
import tvm
import tvm_ffi
from tvm import tirx

x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")


def _loop(var, extent, body=None, kind=tirx.ForKind.SERIAL):
    return tirx.For(var, 0, extent, kind, body or tirx.Evaluate(var))


CASES = [
    (x + 1, x + 2, "<root>.b.value"),
    (x, y, "<root>"),
    (tirx.Evaluate(x + 1), tirx.Evaluate(x + 2), "<root>.value.b.value"),
    (_loop(x, 8), _loop(y, 9), "<root>.extent.value"),
    (_loop(x, 8), _loop(y, 8, kind=tirx.ForKind.PARALLEL), "<root>.kind"),
    (tirx.PrimFunc([x], tirx.Evaluate(x)), tirx.PrimFunc([y], tirx.Evaluate(0)), "<root>.body.value"),
    (tirx.SeqStmt([tirx.Evaluate(x), tirx.Evaluate(y)]), tirx.SeqStmt([tirx.Evaluate(x), tirx.Evaluate(x)]), "<root>.seq[1].value"),
    ([1, 2], [1, 3], "<root>[1]"),
    ({"a": 1}, {"a": 2}, '<root>["a"]'),
    (tirx.const(1, "int32"), tirx.const(1, "int64"), "<root>.ty.dtype"),
    (tirx.decl_buffer((8,), name="A"), tirx.decl_buffer((9,), name="A"), "<root>.ty.shape[0].value"),
]


@pytest.mark.parametrize("lhs,rhs,path", CASES)
def test_the_path_to_a_difference(lhs, rhs, path):
    assert [str(side) for side in tvm_ffi.get_first_structural_mismatch(lhs, rhs)] == [path, path]
    with pytest.raises(ValueError) as error:
        tvm.ir.assert_structural_equal(lhs, rhs)
    assert f"StructuralEqual check failed, caused by lhs at {path}:\nAccess path: {path}\n" in str(error.value)


def test_bound_variables_are_no_difference():
    assert tvm_ffi.get_first_structural_mismatch(_loop(x, 8), _loop(y, 8)) is None


def test_a_parameter_that_is_missing():
    lhs, rhs = tirx.PrimFunc([x], tirx.Evaluate(x)), tirx.PrimFunc([x, y], tirx.Evaluate(x))
    assert [str(side) for side in tvm_ffi.get_first_structural_mismatch(lhs, rhs)] == ["<root>.params[<missing:1>]", "<root>.params[1]"]


def test_the_difference_is_underlined():
    with pytest.raises(ValueError) as error:
        tvm.ir.assert_structural_equal(_loop(x, 8), _loop(y, 9))
    assert "for x in range(8):\n               ^\n    T.evaluate(x)\nand rhs at" in str(error.value)
