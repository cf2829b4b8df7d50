"""Rules of a script for operators between `qnn.dequantize` and `qnn.quantize`."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.ir import TensorAffineType
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.transform import FakeQuantizationToInteger

KEY = "FTVMFakeQuantizationToInteger"


def quantized(op, *more):
    x = relay.var("x", shape=(2, 4), dtype="int8")
    real = relay.qnn.op.dequantize(x, relay.const(0.5), relay.const(3))
    out = relay.qnn.op.quantize(op(real, *more), relay.const(0.5), relay.const(3))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], out)))


def operators(mod):
    found = []
    relay.analysis.post_order_visit(mod["main"], lambda node: found.append(node.op.name) if isinstance(node, relay.Call) else None)
    return found


def test_a_rule_sees_what_its_arguments_stand_for():
    seen = []

    def rule(expr, types):
        seen.append(types[expr.args[0]])
        return [relay.reverse(expr.args[0], axis=1), types[expr.args[0]]]

    mod = quantized(lambda real: relay.reverse(real, axis=1))
    assert tvm.ir.structural_equal(FakeQuantizationToInteger()(mod), mod)
    with TempOpAttr("reverse", KEY, rule):
        made = FakeQuantizationToInteger(hard_fail=True)(mod)
    assert operators(made) == ["reverse"] and made["main"].ret_type.dtype == "int8"
    assert seen[0].dtype == "int8" and seen[0].axis == -1 and float(seen[0].scale.data.numpy()) == 0.5


def test_a_rule_may_change_scale_and_type():
    def rule(expr, types):
        known = types[expr.args[0]]
        return [relay.cast(expr.args[0], "int32"), TensorAffineType(relay.const(2.0), known.zero_point, "int32", 0)]

    with TempOpAttr("nn.relu", KEY, rule):
        made = FakeQuantizationToInteger()(quantized(relay.nn.relu))
    last = made["main"].body
    assert operators(made) == ["cast", "qnn.requantize"]
    assert float(last.args[1].data.numpy()) == 2.0 and last.attrs.axis == 0


def test_a_rule_that_fails_leaves_its_region_or_is_an_error():
    def rule(expr, types):
        raise NotImplementedError("not this one")

    mod = quantized(relay.nn.relu)
    with TempOpAttr("nn.relu", KEY, rule):
        assert tvm.ir.structural_equal(FakeQuantizationToInteger(hard_fail=False)(mod), mod)
        with pytest.raises(Exception, match="not this one"):
            FakeQuantizationToInteger(hard_fail=True)(mod)
    assert operators(FakeQuantizationToInteger()(mod)) == ["maximum"] or "nn.relu" not in operators(FakeQuantizationToInteger()(mod))


def test_operators_of_regions_are_counted():
    mod = quantized(lambda real: relay.nn.relu(relay.nn.relu(relay.reshape(real, (4, 2)))))
    assert dict(relay.analysis.list_fake_quantized_op_freqs(mod)) == {"nn.relu": 2, "reshape": 1}
    x = relay.var("x", shape=(2,))
    out = relay.qnn.op.quantize(relay.nn.relu(x), relay.const(0.5), relay.const(0))
    assert dict(relay.analysis.list_fake_quantized_op_freqs(tvm.IRModule.from_expr(relay.Function([x], out)))) == {}


_ = np
