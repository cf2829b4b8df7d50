"""The networks of `tvm.relay.testing`, and values of several parts by the names of TVM 0.19."""

import math
import pickle

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relay
from tvm.relay import testing
from tvm.runtime import container


def conv(inputs, outputs, kernel, bias=False):
    return inputs * outputs * kernel + (outputs if bias else 0)


def size_of_squeezenet_1_1(of_1_0):
    """The first convolution has 64 kernels of 3 × 3 instead of 96 of 7 × 7, and 16 of 1 × 1 read what it gives."""
    return of_1_0 - conv(3, 96, 49, True) - conv(96, 16, 1) + conv(3, 64, 9, True) + conv(64, 16, 1)


def size_of_lstm(steps, hidden):
    """Four gates, each of the input and of the state, with a weight and a bias. Each step has its own."""
    return steps * 2 * 4 * (hidden * hidden + hidden)


def size_of_dqn(inputs, actions, pixels):
    """Three convolutions and two dense layers, all with a bias."""
    convs = conv(inputs, 32, 64, True) + conv(32, 64, 16, True) + conv(64, 64, 9, True)
    return convs + conv(64 * pixels, 512, 1, True) + conv(512, actions, 1, True)


def size_of_dcgan(inputs, features, colours):
    """A dense layer, three convolutions of 4 × 4 with four numbers a channel to normalize with, and one without."""
    widths = [8 * features, 4 * features, 2 * features, features]
    convs = sum(conv(before, after, 16) + 4 * after for before, after in zip(widths, widths[1:]))
    return inputs * 16 * widths[0] + convs + conv(features, colours, 16)


def size_of_synthetic(channels, width):
    """Two dense layers and two convolutions, a bias, and four numbers a channel to normalize with."""
    return 2 * width * width + 2 * conv(channels, channels, 9) + channels + 4 * channels


def size_of_densenet(channels, growth, blocks, classes):
    """The first layer of a block reads what is before it, each other one the layer before; the next reads all layers."""
    found, inputs = conv(3, channels, 49) + 4 * channels, channels
    for at, count in enumerate(blocks):
        for before in [inputs] + [growth] * (count - 1):
            found += 4 * before + conv(before, 4 * growth, 1) + 4 * 4 * growth + conv(4 * growth, growth, 9)
        inputs, channels = count * growth, channels + count * growth
        if at < len(blocks) - 1:
            channels //= 2
            found, inputs = found + 4 * inputs + conv(inputs, channels, 1), channels
    return found + 4 * inputs + conv(inputs, classes, 1, True)


# The paper of SqueezeNet has 1,248,424 parameters (table 1). Keras has 23,851,784 for Inception V3, to which TVM adds a
# factor, which nothing reads, for each of 17,216 channels. Keras has 4,253,864 for MobileNet.
SQUEEZENET, INCEPTION, MOBILENET = 1_248_424, 23_851_784 + 17_216, 4_253_864

# Each network: a function that makes it, the shape of its result, its number of parameters.
NETWORKS = {
    "synthetic": (lambda: testing.synthetic.get_workload(), (1, 3, 24, 12), size_of_synthetic(3, 12)),
    "synthetic small": (lambda: testing.synthetic.get_workload((2, 4, 5, 7)), (2, 4, 5, 7), size_of_synthetic(4, 7)),
    "squeezenet": (lambda: testing.squeezenet.get_workload(), (1, 1000), SQUEEZENET),
    "squeezenet 1.1": (
        lambda: testing.squeezenet.get_workload(2, version="1.1", image_shape=(3, 64, 64)),
        (2, 1000),
        size_of_squeezenet_1_1(SQUEEZENET),
    ),
    "lstm": (lambda: testing.lstm.get_workload(3, 8), (1, 8), size_of_lstm(3, 8)),
    "lstm small": (lambda: testing.lstm.get_workload(1, 4, 2, "float16"), (2, 4), size_of_lstm(1, 4)),
    "inception_v3": (lambda: testing.inception_v3.get_workload(), (1, 1000), INCEPTION),
    "inception_v3 small": (
        lambda: testing.inception_v3.get_workload(2, 10, dtype="float16"),
        (2, 10),
        INCEPTION - 990 * (2048 + 1),
    ),
    # Pictures of 84 × 84 become 20 × 20, 9 × 9 and 7 × 7; those of 44 × 44 become 10 × 10, 4 × 4 and 2 × 2.
    "dqn": (lambda: testing.dqn.get_workload(1), (1, 18), size_of_dqn(4, 18, 7 * 7)),
    "dqn small": (
        lambda: testing.dqn.get_workload(2, 3, (44, 44, 1), layout="NHWC"),
        (2, 3),
        size_of_dqn(1, 3, 2 * 2),
    ),
    "densenet": (lambda: testing.densenet.get_workload(), (4, 1000), size_of_densenet(64, 32, (6, 12, 24, 16), 1000)),
    "densenet small": (
        lambda: testing.densenet.get_workload(169, 10, 1),
        (1, 10),
        size_of_densenet(69, 32, (6, 12, 32, 32), 10),
    ),
    "dcgan": (lambda: testing.dcgan.get_workload(1), (1, 3, 64, 64), size_of_dcgan(100, 128, 3)),
    "dcgan small": (
        lambda: testing.dcgan.get_workload(2, (1, 64, 64), 4, 10, "NHWC"),
        (2, 64, 64, 1),
        size_of_dcgan(10, 4, 1),
    ),
    "mobilenet": (lambda: testing.mobilenet.get_workload(), (1, 1000), MOBILENET),
    # In every layout axis 1 is what the first convolution is normalized over: here it has 32 rows, as many as channels.
    "mobilenet small": (
        lambda: testing.mobilenet.get_workload(2, 10, (64, 64, 3), layout="NHWC"),
        (2, 10),
        MOBILENET - 990 * (1024 + 1),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_has_its_size_and_is_fused(name):
    make, shape, size = NETWORKS[name]
    mod, params = make()
    result = mod["main"].ret_type
    assert tuple(map(int, result.shape)) == shape
    assert sum(math.prod(value.shape) for value in params.values()) == size
    passes = [relay.transform.SimplifyInference()]
    if name.startswith("synthetic"):
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    if size < 10_000:
        passes.append(relay.transform.FoldConstant())
    fused = tvm.transform.Sequential([relay.transform.InferType(), *passes, relay.transform.FuseOps(2)])(mod)
    assert fused["main"].ret_type == result
    before, after = testing.count_ops(mod["main"]), testing.count_ops(fused["main"])
    assert not {"nn.batch_norm", "nn.dropout"} & set(after)
    for op in ("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "concatenate"):
        assert before[op] == after[op]
    assert str(fused["main"]).count("Primitive=1") >= before["nn.conv2d"] + before["nn.dense"]


def test_variables_have_the_names_of_tvm():
    def names(workload):
        return [param.name_hint for param in workload[0]["main"].params]

    first = ["data", "conv1_weight", "conv1_bias", "fire1_input_conv_weight", "fire1_input_conv_bias"]
    assert names(testing.squeezenet.get_workload())[:5] == first
    assert names(testing.inception_v3.get_workload())[-2:] == ["fc1_weight", "fc2_bias"]
    assert "mixed_10_tower_1_mixed_conv_1_bn_moving_var" in names(testing.inception_v3.get_workload())
    assert "conv2d_2_3_15_weight" in names(testing.densenet.get_workload())
    assert set(names(testing.lstm.get_workload(2, 4))) == {
        "data",
        *(f"{of}_{step}_{kind}" for of in ("i2h", "h2h") for step in (0, 1) for kind in ("weight", "bias")),
    }


def test_a_step_of_the_memory():
    """With weights of zeros each gate is 1/2 and nothing is new, so that half of the state stays."""
    cell = testing.lstm.lstm_cell(2)
    zeros = [np.zeros(tuple(map(int, param.type_annotation.shape)), "float32") for param in cell.params[2:]]
    one = np.full((1, 2), 2, "float32")
    out, (hidden, state) = relay.create_executor().evaluate(cell)(one, (one, one), *zeros)
    np.testing.assert_allclose(state.numpy(), np.ones((1, 2)))
    np.testing.assert_allclose(out.numpy(), np.full((1, 2), math.tanh(1) / 2), rtol=1e-5)
    np.testing.assert_allclose(hidden.numpy(), out.numpy())


def test_parameters_start_as_the_initializer_says():
    _, params = testing.synthetic.get_workload()
    np.testing.assert_allclose(params["conv_weight"].numpy(), np.full((3, 3, 3, 3), 1 / 81), rtol=1e-5)
    assert params["bias"].numpy().tolist() == [0, 0, 0]
    assert params["batch_norm_gamma"].numpy().tolist() == params["batch_norm_moving_var"].numpy().tolist() == [1, 1, 1]
    weight = np.zeros((4, 8, 3, 3), "float32")
    testing.init.Xavier()("some_weight", weight)
    scale = math.sqrt(3 / (9 * (4 + 8) / 2))  # The mean of 36 outputs and 72 inputs.
    assert 0.9 * scale < weight.max() <= scale and -scale <= weight.min() < -0.9 * scale
    with pytest.raises(ValueError):
        testing.init.Xavier()("bias_of_a_kind", weight)
    with pytest.raises(ValueError):
        testing.init.Xavier()("weight", np.zeros(3, "float32"))


def test_what_no_network_has_is_refused():
    for make in (
        lambda: testing.squeezenet.get_workload(version="2.0"),
        lambda: testing.dcgan.get_workload(1, (3, 32, 32)),
        lambda: testing.dcgan.get_workload(1, layout="CHWN"),
        lambda: testing.dqn.get_workload(1, layout="CHWN"),
        lambda: testing.inception_v3.Pooling(relay.var("x"), (2, 2), (1, 1), (0, 0), "min", "pool"),
    ):
        with pytest.raises(ValueError):
            make()


def test_fields_stand_under_a_tag():
    array = tvm.nd.array(np.array([1, 2, 3]))
    value = container.ADT(4, [array, array])
    assert value.tag == 4 and len(value) == 2
    assert value[-1] is value[0:1][0] is array
    with pytest.raises(IndexError):
        value[2]
    with pytest.raises(TypeError):
        container.ADT(0, [1])
    pair = relay.TupleType([relay.TensorType((), "int32")] * 2)
    param = relay.Var("x", pair)
    second = relay.create_executor().evaluate(relay.Function([param], relay.TupleGetItem(param, 1)))
    given = container.tuple_object([tvm.nd.array(np.array(number, "int32")) for number in (11, 12)])
    assert given.tag == 0 and int(second(given)) == 12
    assert len(container.tuple_object()) == 0


def test_shapes_and_texts():
    shape = container.ShapeTuple([2, -1, 3])
    assert shape == [2, -1, 3] and shape == (2, -1, 3) and shape == container.ShapeTuple((2, -1, 3))
    assert shape != [2, -1] and not shape != [2, -1, 3]
    assert isinstance(shape, tvm.runtime.ShapeTuple) and len(shape) == 3 and shape[-1] == 3
    assert hash(shape) == hash((2, -1, 3)) and pickle.loads(pickle.dumps(shape)) == shape
    for wrong in ("12", [1.5], 3):
        with pytest.raises(TypeError):
            container.ShapeTuple(wrong)
    assert tvm.runtime.String is container.String is tvm_ffi.core.String
    assert tvm_ffi.core.String("xy") + "z" == "xyz"
    assert isinstance(tvm.runtime.convert([1]), tvm_ffi.container.Array)
    assert isinstance(tvm.runtime.convert({"a": 1}), tvm_ffi.container.Map)
