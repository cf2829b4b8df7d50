"""Patterns that libraries take over. Expected values are those of TVM 0.27."""

import pytest
from tvm import relax
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.cuda.cublas import partition_for_cublas
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.backend.patterns import (
    make_attention_pattern,
    make_conv2d_pattern,
    make_fused_bias_activation_pattern,
    make_matmul_pattern,
    make_residual_block_pattern,
    make_rms_norm_pattern,
)
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 8, 16), "float16"), w: R.Tensor((32, 16), "float16"), b: R.Tensor((32,), "float16"), v: R.Tensor((2, 32, 4), "float16")):
        with R.dataflow():
            wt = R.permute_dims(w)
            y = R.nn.relu(R.add(R.matmul(x, wt), b))
            z = R.matmul(y, v)
            R.output(z)
        return z

    @R.function
    def leaks(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 16), "float32"), b: R.Tensor((16,), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(R.add(y, b), y)
            R.output(z)
        return z

    @R.function
    def refused(x: R.Tensor((8, 16), "int8"), w: R.Tensor((16, 6), "int8"), v: R.Tensor((4, "k"), "float32"), u: R.Tensor(("k", 8), "float32")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="int32")
            z = R.matmul(v, u)
            R.output(y, z)
        return (y, z)


def _taken(mod):
    found = []
    for func in mod.functions.values():
        if func.attrs is not None and "Codegen" in func.attrs:
            found += [inner.value.attrs["Composite"] for inner in func.body.blocks[0].bindings if isinstance(inner.value, relax.Function)]
    return sorted(str(name) for name in found)


@pytest.mark.parametrize("bind_constants", [False, True])
def test_products_of_matrices_go_to_cublas(bind_constants):
    taken = _taken(partition_for_cublas(Module, bind_constants=bind_constants))
    assert taken == ["cublas.matmul", "cublas.matmul", "cublas.matmul_transposed_bias_relu"]


def test_later_patterns_come_first():
    names = [item.name for item in get_patterns_with_prefix("cublas")]
    assert names[0] == "cublas.matmul_transposed_multiply" and names[-1] == "cublas.matmul"
    register_patterns([("passlab_test.conv2d", *make_conv2d_pattern()), ("passlab_test.conv2d_relu", *make_conv2d_pattern(activation="relax.nn.relu"))])

    @I.ir_module
    class Convolution:
        @R.function
        def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
            with R.dataflow():
                y = R.nn.relu(R.nn.conv2d(x, w))
                R.output(y)
            return y

    made = relax.transform.FuseOpsByPattern(get_patterns_with_prefix("passlab_test"), annotate_codegen=True)(Convolution)
    assert _taken(made) == ["passlab_test.conv2d_relu"]


def test_parts_of_patterns_have_names():
    assert sorted(make_residual_block_pattern(make_conv2d_pattern(with_bias=True))[1]) == ["bias", "input", "residual", "root", "weight"]
    assert sorted(make_attention_pattern(with_bias=True)[1]) == ["bias", "key", "query", "value"]
    assert sorted(make_rms_norm_pattern()[1]) == ["gv", "inp", "rms_norm"]
    assert sorted(make_fused_bias_activation_pattern("relax.add", True, "relax.exp", True)[1]) == ["bias", "lhs", "rhs", "root"]


def test_a_pattern_matches_the_whole_expression():
    x, w = (relax.Var(name, relax.TensorType([4, 4], "float32")) for name in "xw")
    assert make_matmul_pattern(activation="relax.exp")[0].match(relax.op.exp(relax.op.matmul(x, w)))
    assert not make_matmul_pattern(with_bias=True)[0].match(relax.op.matmul(x, w))
