"""Passes with functions of the user's, the builder's conditionals, functions by themselves, names of functions."""

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import relax as B


@I.ir_module
class Calls:
    @R.function(private=True)
    def same(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        return x

    @R.function
    def main(x: R.Tensor(("k",), "float32"), w: R.Tensor(("k",), "float32")):
        y = Calls.same(w)
        z = R.add(x, y)
        return z


def test_a_function_by_itself_may_call_others():
    func = Calls["main"]
    assert 'R.Tensor((5,), dtype="float32")' in str(func.bind_symbolic_vars({"k": 5}))
    bound = func.bind_params({"w": np.ones((4,), "float32")})
    assert len(bound.params) == 1 and "same(" in str(bound)


def test_a_name_in_a_call_has_the_type_of_its_function():
    call = Calls["main"].body.blocks[0].bindings[0].value
    tvm.ir.assert_structural_equal(call.op.ty, Calls.get_global_var("same").ty)


def test_attributes_are_added():
    func = Calls["main"].with_attr("a", 1).with_attrs({"b": 2})
    assert func.attrs["a"] == 1 and func.attrs["b"] == 2


def test_types_of_parameters_come_from_a_function():
    @I.ir_module
    class Product:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((3,), "float32"):
            y = R.matmul(w, x)
            return y

    wider = relax.transform.UpdateParamType(lambda var: relax.TensorType([8, 4], "float32") if var.name == "w" else None)
    assert list(wider(Product)["main"].ret_ty.shape.values) == [8]


def test_weights_are_fetched_with_further_parameters():
    @I.ir_module
    class Weights:
        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((4,), "float32"))) -> R.Tuple(R.Tensor((4,), "float32")):
            R.func_attr({"relax.force_pure": True})
            v = params[0]
            w = R.exp(v)
            out = (w,)
            return out

    made = relax.transform.LazyTransformParams(extra_get_item_params=[relax.Var("loader", relax.AnyType())])(Weights)
    text = str(made["main_transform_params"])
    assert "def main_transform_params(loader: R.Any)" in text and 'R.call_packed("get_item", loader, ' in text
    kept = relax.transform.LazyTransformParams(fset_item=None)(Weights)
    assert "set_item" not in str(kept)


def test_a_branch_may_end_with_a_dataflow_block():
    @R.function(private=True)
    def func(x: R.Tensor((4,), "float32"), cond: R.Prim("bool")):
        if cond:
            with R.dataflow():
                y = R.exp(x)
                out = R.add(y, x)
                R.output(out)
        else:
            out = R.multiply(x, x)
        return out

    text = str(func)
    assert "R.output(out_then)" in text and 'out: R.Tensor((4,), dtype="float32") = out_then' in text


def test_the_builder_has_conditionals():
    with IRBuilder() as builder:
        with B.function():
            B.func_name("main")
            cond, x = B.arg("cond", relax.TensorType([], "bool")), B.arg("x", relax.TensorType([1], "float32"))
            with B.If(cond) as branch:
                with B.Then():
                    IRBuilder.name("w", B.emit(relax.op.add(x, x)))
                with B.Else():
                    IRBuilder.name("w", B.emit(relax.op.multiply(x, x)))
            B.func_ret_value(branch.var)

    @R.function
    def main(cond: R.Tensor((), "bool"), x: R.Tensor((1,), "float32")):
        if cond:
            w = R.add(x, x)
        else:
            w = R.multiply(x, x)
        return w

    tvm.ir.assert_structural_equal(builder.get(), main)
    assert "w_then" in str(builder.get()) and "w_else" in str(builder.get())


def test_modules_reduce_over_workers():
    from tvm.relax.frontend import nn

    class Reduce(nn.Module):
        def forward(self, x):
            return nn.op.ccl_allreduce(x)

    mod, _ = Reduce().export_tvm(spec={"forward": {"x": nn.spec.Tensor((2,), "float32")}})
    assert "R.ccl.allreduce" in str(mod)
