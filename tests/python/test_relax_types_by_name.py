"""Types whose shapes and ranks are names, the errors of rules, and classes under decorators. All of it passes on TVM itself."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import relax as R


@pytest.mark.parametrize("shape, ndim", [([16], -1), (None, 1), (None, -1)])
def test_shapes_and_ranks_may_be_names(shape, ndim):
    @R.function
    def func(a: R.Tensor(shape, ndim=ndim, dtype="float32"), s: R.Shape(shape, ndim=ndim)):
        b: R.Tensor(shape, ndim=ndim, dtype="float32") = a
        t: R.Shape(shape, ndim=ndim) = s
        return (b, t)

    tensor, extents = (param.ty for param in func.params)
    assert tensor.ndim == extents.ndim == (1 if shape else ndim)
    assert (tensor.shape is None) == (shape is None)


def test_a_range_has_the_type_of_its_numbers():
    assert [str(relax.op.arange(*given).attrs.dtype) for given in [(10,), (1, 10, 2), (10.0,), (0, 4, 0.5)]] == [
        "int64",
        "int64",
        "float32",
        "float32",
    ]


def normalized(call):
    return relax.BlockBuilder().normalize(call)


def test_another_kind_is_a_type_error_and_another_extent_a_value_error():
    k = tirx.Var("k", "int64")
    floats, ints = relax.Var("x", R.Tensor((2, 3), "float32")), relax.Var("y", R.Tensor((2, 3), "int32"))
    wide, tall = relax.Var("a", R.Tensor((3, k), "float32")), relax.Var("b", R.Tensor((k + 1, 5), "float32"))
    with pytest.raises(TypeError):
        normalized(relax.op.add(floats, ints))
    with pytest.raises(TypeError):
        normalized(relax.op.add(relax.Var("s", R.Shape((2, 3))), floats))
    with pytest.raises(ValueError):
        normalized(relax.op.matmul(wide, tall))


def test_constructors_refuse_what_says_two_things_or_nothing():
    for made in (lambda: relax.ShapeType([1, 2], ndim=2), lambda: relax.TensorType([1, 2], ndim=2), lambda: relax.Call(None, [])):
        with pytest.raises(ValueError):
            made()
    with pytest.raises((RuntimeError, TypeError)):
        tvm.ir.PrimType([1])


def test_a_class_under_a_decorator_is_inherited_by_its_own_name():
    @relax.expr_functor.visitor
    class Calls(relax.PyExprVisitor):
        def __init__(self):
            super().__init__()
            self.seen = []

        def visit_call_(self, op):
            self.seen.append(op.op.name)

    @relax.expr_functor.visitor
    class More(Calls._cls):
        pass

    more = More()
    more.visit_expr(relax.op.exp(relax.Var("x", R.Tensor((2,), "float32"))))
    assert more.seen == ["relax.exp"]
    with pytest.raises(TypeError, match="_cls"):

        @relax.expr_functor.visitor
        class Wrong(Calls):
            pass
