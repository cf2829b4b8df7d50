"""Texts and calls of Relax that TVM refuses, and forms that it reads. All of it passes on TVM itself."""

import pytest
import tvm
from tvm import relax
from tvm.error import DiagnosticError
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

X = 'x: R.Tensor((2,), "float32")'

REFUSED = [
    (X, "R.exp(x)\nreturn x", "Non-void"),
    (X, "x\nreturn x", "Non-void"),
    (X, 'R.match_cast(x, R.Tensor((2,), "float32"))\nreturn x', None),
    (X, "return None", "Cannot convert None"),
    (X, "a, b = x\nreturn a", "too many values"),
    (X, "a, b = R.split(x, 2)\nreturn a", "too many values"),
    (X, "y = x[0]\nreturn y", None),
    (X, "with R.dataflow() as d:\n    y = R.exp(x)\n    R.output(y)\nreturn y", "binding expressions"),
    (X, 'y = R.match_cast(x, R.Tensor((3,), "float32"))\nreturn y', "impossible to match cast"),
    (X, "y = R.match_cast((x, x), R.Any)\nreturn y", None),
    (X, "y = T.max(16)\nreturn y", None),
    (X, 'y = R.call_pure_packed("f", x)\nreturn y', "ty_args"),
    (X + ", x: R.Any", "return x", "already defined"),
    ('x: R.Tensor(("n",), "float32"), n: T.int64', "return x", "already defined"),
    ('x: R.Tensor(("n",), "float32")', "n = T.int32()\nreturn x", "same dtype"),
    ('x: R.Tensor(("n",), "float32")', 'y: R.Tensor(("n",), "float32") = x\nreturn y', "String-defined"),
    ("n: T.int32", "y = R.shape([n])\nreturn y", "int64"),
]


def read(params, body, decorator="@R.function"):
    lines = "\n".join("    " + line for line in body.split("\n"))
    return tvm.script.from_source(f"{decorator}\ndef main({params}):\n{lines}\n", {"I": I, "R": R, "T": T})


@pytest.mark.parametrize("params, body, why", REFUSED)
def test_a_text_is_refused(params, body, why):
    with pytest.raises(DiagnosticError, match=why):
        read(params, body)


def test_a_private_function_has_no_global_symbol():
    with pytest.raises(DiagnosticError, match="global_symbol"):
        read(X, 'R.func_attr({"global_symbol": "main"})\nreturn x', "@R.function(private=True)")
    with pytest.raises(DiagnosticError, match="inline"):
        read(X, "return x", "@R.function(inline=True)")


def test_functions_of_a_module_are_called_through_its_class():
    text = """@I.ir_module
class Module:
    @R.function
    def f(x: R.Any) -> R.Any:
        return x
    @R.function
    def main(x: R.Any):
        return f(x)
"""
    names = {"I": I, "R": R, "T": T}
    with pytest.raises(DiagnosticError, match="Undefined variable: f"):
        tvm.script.from_source(text, names)
    assert tvm.script.from_source(text.replace("return f", "return Module.f"), names)


def test_branches_in_the_other_branch():
    text = "if n < 1:\n    y = x\nelif n < 2:\n    y = R.exp(x)\nelse:\n    y = R.sin(x)\nreturn y"
    (binding,) = read("n: T.int64, " + X, text).body.blocks[0].bindings
    assert isinstance(binding.value.false_branch.blocks[0].bindings[0].value, relax.If)


def test_a_result_forgets_scalars_of_the_parameters():
    func = read("n: T.int64", 'return R.zeros(R.shape([n]), "float32")')
    assert func.ret_ty.ndim == 1 and func.ret_ty.shape is None


def test_attention_takes_its_bias_by_place():
    q = 'q: R.Tensor((2, 4, 8, 16), "float16"), b: R.Tensor((2, 8, 4, 4), "float16")'
    (binding,) = read(q, "x = R.nn.attention(q, q, q, b, 0.5)\nreturn x").body.blocks[0].bindings
    assert binding.value.op.name == "relax.nn.attention_bias" and binding.value.attrs.scale.value == 0.5


def test_devices_have_the_defaults_of_their_target():
    text = '@I.ir_module\nclass M:\n    I.module_global_infos({"vdevice": [I.vdevice(KIND)]})\n'
    text += "    @R.function\n    def f(x: R.Any):\n        return x\n"
    names = {"I": I, "R": R, "T": T}
    mod = tvm.script.from_source(text.replace("KIND", '"metal"'), names)
    assert '"max_num_threads": 256' in mod.script()
    mod = tvm.script.from_source(text.replace("KIND", '{"kind": "llvm", "mcpu": "skylake"}'), names)
    assert "mtriple" not in mod.script()
    with pytest.raises(DiagnosticError):
        tvm.script.from_source(text.replace("KIND", '"abacus"'), names)


def tensor(shape, dtype="float32"):
    return relax.Var("x", relax.TensorType(shape, dtype))


CALLS = [
    (relax.op.scatter_elements, [tensor((2, 3)), tensor((2, 3)), tensor((2, 3))], TypeError),
    (relax.op.scatter_elements, [tensor((2, 3)), tensor((2, 2), "int64"), tensor((2, 3))], ValueError),
    (relax.op.scatter_nd, [tensor((2, 3)), tensor((1, 3), "int64"), tensor((2, 3))], ValueError),
    (relax.op.nn.layer_norm, [tensor((2, 3)), tensor((4,)), tensor((3,)), [-1]], ValueError),
    (relax.op.nn.layer_norm, [tensor((2, 3)), tensor((3,), "float16"), tensor((3,)), [-1]], TypeError),
    (relax.op.nn.nll_loss, [tensor((3, 5)), tensor((4,), "int64")], ValueError),
    (relax.op.nn.nll_loss, [tensor((3, 5)), tensor((3,))], TypeError),
    (relax.op.nn.attention, [tensor((2, 4, 8, 16)), tensor((2, 5, 7, 16)), tensor((2, 5, 8, 16))], ValueError),
    (relax.op.index_put, [tensor((2, 3)), relax.Tuple([tensor((2,), "int64")]), tensor((2, 3))], ValueError),
    (relax.op.meshgrid, [relax.Tuple([tensor((2, 3))])], ValueError),
    (relax.op.collapse_sum_to, [tensor((2, 3)), relax.ShapeExpr([4])], ValueError),
    (relax.op.dequantize, [tensor((2, 3), "int8"), tensor(()), tensor((), "int8"), 1, "int8"], TypeError),
    (relax.op.assert_op, [tensor(())], TypeError),
]


@pytest.mark.parametrize("make, args, error", CALLS)
def test_a_call_is_refused(make, args, error):
    with pytest.raises(error):
        relax.BlockBuilder().normalize(make(*args))
