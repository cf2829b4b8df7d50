"""Quantized programs of Relay whose scales come from data, and whose conversions are functions of their own."""

import numpy as np
import pytest
from tvm import relay
from tvm.relay import testing
from tvm.relay.quantize._calibrate import _find_scale_by_kl, _find_scale_by_percentile


def network():
    data, weight = relay.var("data", shape=(1, 3, 8, 8)), relay.var("weight", shape=(4, 3, 3, 3))
    body = relay.nn.relu(relay.nn.conv2d(data, weight, kernel_size=(3, 3), channels=4, padding=(1, 1)))
    return testing.create_workload(relay.Function([data, weight], body))


def dataset():
    return [{"data": np.random.rand(1, 3, 8, 8).astype("float32")} for _ in range(2)]


@pytest.mark.parametrize("mode", ["kl_divergence", "percentile"])
def test_scales_come_from_data(mode):
    mod, params = network()
    with relay.quantize.qconfig(calibrate_mode=mode, skip_conv_layers=None):
        made = relay.quantize.quantize(mod, params, dataset())
    assert "int8" in made.astext(False)
    with relay.quantize.qconfig(calibrate_mode=mode, skip_conv_layers=None):
        with pytest.raises(TypeError):
            relay.quantize.quantize(mod, params)


def test_an_unknown_mode_is_refused():
    mod, params = network()
    with relay.quantize.qconfig(calibrate_mode="guess"), pytest.raises(ValueError):
        relay.quantize.quantize(mod, params)


def test_scales_of_known_values():
    values = np.array([0.5] * 99 + [4.0], "float32")
    assert _find_scale_by_percentile(values, 0.98) == 0.5
    assert _find_scale_by_percentile(values) == 4.0
    # All values lie at the ends: nothing may be cut off.
    assert abs(_find_scale_by_kl(np.array([-2.0, 2.0] * 50, "float32")) - 2.0) < 0.01


def test_conversions_are_functions_of_their_own():
    mod, params = network()
    with relay.quantize.qconfig(partition_conversions="enabled", skip_conv_layers=None):
        made = relay.quantize.quantize(mod, params)
    names = sorted(var.name_hint for var in made.functions)
    assert names == ["dequantize_outputs", "main", "quantize_inputs", "quantized_main"]
    assert [str(field.dtype) for field in made["quantize_inputs"].ret_type.fields] == ["int8"]
    assert str(made["dequantize_outputs"].ret_type.dtype) == "float32"
    data = dataset()[0]["data"]
    with relay.quantize.qconfig(skip_conv_layers=None):
        whole = relay.quantize.quantize(mod, params)
    results = [relay.create_executor("vm", mod=each).evaluate()(data).numpy() for each in (made, whole)]
    np.testing.assert_allclose(*results)


def test_options_cannot_be_set_later():
    config = relay.quantize.qconfig(nbit_input=4)
    assert config.get_nbit_by_kind(relay.quantize.QAnnotateKind.INPUT) == 4
    with pytest.raises(AttributeError):
        config.nbit_input = 8
