"""Mutators of Relax over parameters, types and scalars, and parameters bound to values. The tests pass on TVM 0.27, too."""

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def test_a_new_parameter_stands_for_the_old_one():
    @mutator
    class Wider(PyExprMutator):
        def visit_var_def_(self, var):
            return relax.Var(var.name, relax.TensorType([8, 4], "float32")) if var.name == "x" else var

    @R.function(private=True)
    def before(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        y = R.exp(x)
        return y

    @R.function(private=True)
    def expected(x: R.Tensor((8, 4), "float32")) -> R.Tensor((8, 4), "float32"):
        y = R.exp(x)
        return y

    tvm.ir.assert_structural_equal(Wider().visit_expr(before), expected)


def test_a_symbolic_variable_is_replaced_in_types():
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 4], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))

    @mutator
    class Fixed(PyExprMutator):
        def visit_var_(self, op):
            return tirx.IntImm("int64", 3) if op.same_as(n) else super().visit_var_(op)

    made = Fixed().visit_expr(builder.get()["main"])
    tvm.ir.assert_structural_equal(made.params[0].ty, relax.TensorType([3, 4], "float32"))
    tvm.ir.assert_structural_equal(made.ret_ty, relax.TensorType([3, 4], "float32"))


def test_calls_within_scalars_are_visited_as_calls():
    found = []

    @visitor
    class Calls(PyExprVisitor):
        def visit_call_(self, op):
            found.append(op.op.name.split(".")[-1])

    n = tirx.Var("n", "int64")
    Calls().visit_expr(relax.ShapeExpr([tirx.ceil(n.astype("float32")).astype("int64"), n + 1]))
    assert found == ["ceil"]


def test_extents_have_64_bits():
    shape = relax.ShapeExpr([tirx.IntImm("int32", 3), 4])
    assert [str(value.ty.dtype) for value in shape.values] == ["int64", "int64"]


def _scaled():
    n = relax.Var("n", tvm.ir.PrimType("int64"))
    x = relax.Var("x", relax.TensorType([n], "float32"))
    return n, x, relax.Function([n, x], n, tvm.ir.PrimType("int64"))


def test_an_explicit_value_agrees_with_the_shape():
    n, x, func = _scaled()
    made = func.bind_params({n: 3, x: np.zeros([3], "float32")})
    assert len(made.params) == 0 and int(made.body.body) == 3


def test_an_explicit_value_against_the_shape():
    n, x, func = _scaled()
    with pytest.raises(ValueError, match="conflicts with the value inferred"):
        func.bind_params({n: 4, x: np.zeros([3], "float32")})


def test_a_symbolic_variable_is_no_tensor():
    n, _, func = _scaled()
    with pytest.raises(ValueError, match="must be a primitive expression"):
        func.bind_params({n: relax.const(3, "int64")})


def test_unused_bindings_go_without_instruments():
    @tvm.instrument.pass_instrument
    class Refuses:
        def run_before_pass(self, mod, info):
            raise AssertionError("no pass of the user's runs here")

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        kept = R.call_packed("kept", x, ty_args=R.Tensor((4,), "float32"))  # noqa: F841
        gone = R.exp(x)  # noqa: F841
        return x

    with tvm.transform.PassContext(instruments=[Refuses()]):
        made = relax.analysis.remove_all_unused(main)
    assert [binding.var.name for binding in made.body.blocks[0].bindings] == ["kept"]


def test_a_builder_gives_one_module_until_it_changes():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([4], "float32"))
    with builder.function("first", [x]):
        builder.emit_func_output(x)
    first = builder.get()
    builder.get().update_global_info("vdevice", [I.vdevice("llvm")])
    assert len(first.global_infos["vdevice"]) == 1
    y = relax.Var("y", relax.TensorType([4], "float32"))
    with builder.function("second", [y]):
        builder.emit_func_output(y)
    assert [var.name_hint for var in first.get_global_vars()] == ["first"]
    assert len(builder.get().functions) == 2


def test_a_global_variable_has_the_type_of_its_function():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

    tensor = relax.TensorType([4], "float32")
    tvm.ir.assert_structural_equal(Module.get_global_var("main").ty, relax.FuncType([tensor], tensor))


def test_names_of_variables_and_programs():
    x = relax.Var(name_hint="x")
    assert x.name == "x" and not hasattr(x, "name_hint")
    with pytest.raises(TypeError):
        relax.Var(name="x", name_hint="x")

    @T.prim_func
    def nothing():
        T.evaluate(0)

    assert nothing.__name__ == "nothing"
