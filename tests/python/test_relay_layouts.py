"""ConvertLayout from Python: convolutions that are left out, and rules that a script registers."""

import pytest
import tvm
from tvm import relay
from tvm.relay import testing
from tvm.relay.op import op as ops


def _two_convolutions():
    x = relay.var("x", shape=(1, 8, 8, 4))
    first, second = relay.var("first", shape=(3, 3, 4, 4)), relay.var("second", shape=(3, 3, 4, 4))
    options = {"channels": 4, "kernel_size": (3, 3), "data_layout": "NHWC", "kernel_layout": "HWIO"}
    y = relay.nn.conv2d(relay.nn.conv2d(x, first, **options), second, **options)
    return relay.Function([x, first, second], y)


def _layouts(func):
    found = []
    relay.analysis.post_order_visit(func, lambda node: found.append(str(node.attrs.data_layout)) if "conv2d" in str(getattr(node, "op", "")) else None)
    return found


def _converted(func):
    return testing.run_opt_pass(func, relay.transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]}))


@pytest.mark.parametrize("skipped, layouts", [([], ["NCHW", "NCHW"]), ([0], ["NHWC", "NCHW"]), ([1], ["NCHW", "NHWC"])])
def test_layers_that_are_left_out(skipped, layouts):
    with relay.transform.LayoutConfig(skip_layers=skipped):
        assert _layouts(_converted(_two_convolutions())) == layouts
    assert relay.transform.LayoutConfig.current is None


def test_layers_are_counted():
    config = relay.transform.LayoutConfig([1])
    assert [config.check_skip() for _ in range(3)] == [False, True, False]
    config.reset()
    assert not config.check_skip()


def test_a_registered_rule_is_asked_for_operators_that_are_named():
    asked = []

    def rule(attrs, inputs, tinfos, desired_layouts):
        asked.append((len(tinfos), list(desired_layouts)))
        return relay.nn.conv2d(*inputs, **dict(attrs))

    try:
        ops.register_convert_op_layout("nn.conv2d", rule, level=15)
        assert _layouts(_converted(_two_convolutions())) == ["NHWC", "NHWC"]
        assert asked == [(3, ["NCHW", "default"])] * 2
    finally:
        ops.get("nn.conv2d").reset_attr("FTVMConvertOpLayout")


def test_parameters_of_another_batch():
    x = relay.var("x", shape=(1, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    mod = relay.transform.ChangeBatch({x: 0}, batch_size=8)(mod)
    assert relay.transform.InferType()(mod)["main"].ret_type == relay.TensorType((8, 4), "float32")


def test_a_constant_shape_keeps_its_width():
    x = relay.var("x", shape=(1, 1))
    for dtype in ("int32", "int64"):
        shape = relay.const([1, 2], dtype=dtype)
        typed = testing.run_infer_type(relay.broadcast_to(x, shape)).checked_type
        assert [extent.dtype for extent in typed.shape] == [dtype, dtype]
    wide = relay.reshape(x, [tvm.tir.IntImm("int64", 1), -1])
    assert "newshape=[1i64, -1]" in wide.astext()
