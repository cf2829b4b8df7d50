"""Texts of Relay begin with a version, and virtual machines give fields under tags."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay import testing

VERSION = '#[version = "0.0.5"]\n'


@pytest.mark.parametrize("head, message", [("", "expected text format semantic version"), ('#[version = "0.0.4"]\n', 'invalid semantic version `"0.0.4"`')])
def test_a_module_begins_with_the_version(head, message):
    with pytest.raises(tvm.error.DiagnosticError, match=message):
        relay.parse(f"{head}def @main() {{ () }}")


def test_comments_may_stand_before_the_version():
    mod = relay.parse(f"// first\n/* second */\n{VERSION}def @main() {{ () }}")
    assert len(mod.functions) == 1
    assert isinstance(relay.parse_expr("()"), relay.Tuple)


def test_types_of_another_module_may_be_named():
    core = tvm.IRModule()
    core.import_from_std("core.rly")
    mod = relay.parse(f"{VERSION}def @main(%x: Storage[]) {{ %x }}", init_module=core)
    assert mod["main"].ret_type.func.name_hint == "Storage"


def _numbers(mod):
    _, cons, nil = relay.Prelude(mod).mod.get_type("List")
    return cons(relay.const(1), cons(relay.const(2), nil()))


def test_a_machine_gives_fields_under_tags():
    mod = tvm.IRModule()
    mod["main"] = relay.Function([], relay.Tuple([_numbers(mod), relay.const(3)]))
    for value in (
        tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu()).run(),
        relay.create_executor("vm", mod=mod).evaluate()(),
    ):
        head = value[0]
        assert isinstance(head, tvm.runtime.container.ADT)
        assert head.tag == mod.get_type("List")[1].tag
        assert head[0].numpy() == 1 and head[1][0].numpy() == 2 and len(head[1][1]) == 0


def test_an_interpreter_gives_constructors():
    mod = tvm.IRModule()
    mod["main"] = relay.Function([], _numbers(mod))
    value = relay.create_executor("debug", mod=mod).evaluate()()
    assert value.constructor.name_hint == "Cons"


def test_a_value_of_a_machine_may_be_given_back():
    mod = tvm.IRModule()
    mod["main"] = relay.Function([], _numbers(mod))
    value = relay.create_executor("vm", mod=mod).evaluate()()
    var = relay.var("list", relay.TypeCall(mod.get_global_type_var("List"), [relay.scalar_type("int32")]))
    mod["second"] = relay.Function([var], mod.get_global_var("nth")(var, relay.const(1)))
    assert relay.create_executor("vm", mod=mod).evaluate(mod["second"])(value).numpy() == 2


def test_inputs_of_an_executor_are_described():
    x = relay.var("x", shape=(2, 3))
    lib = relay.build(relay.Function([x], relay.exp(x)), "llvm")
    shapes, dtypes = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu())).get_input_info()
    assert (tuple(shapes["x"]), dtypes["x"]) == ((2, 3), "float32")


@pytest.mark.parametrize("layers, size", [(20, 28), (18, 224), (50, 224)])
def test_residual_networks(layers, size):
    mod, params = testing.resnet.get_workload(num_layers=layers, image_shape=(3, size, size), num_classes=10)
    convolutions = testing.count_ops(mod["main"])["nn.conv2d"]
    units = {20: 9, 18: 8, 50: 16}[layers]
    # A unit has two or three convolutions, the first of a stage one more; and there is one in front.
    assert convolutions == units * (3 if layers == 50 else 2) + (3 if size == 28 else 4) + 1
    assert mod["main"].ret_type == relay.TensorType((1, 10), "float32")


def test_networks_of_videos_and_vgg():
    mod, _ = testing.resnet_3d.get_workload(num_classes=7)
    assert testing.count_ops(mod["main"])["nn.conv3d"] == 21
    mod, _ = testing.vgg.get_workload(1, num_classes=7, batch_norm=True)
    counts = testing.count_ops(mod["main"])
    assert (counts["nn.conv2d"], counts["nn.batch_norm"], counts["nn.dense"]) == (8, 8, 3)
    with pytest.raises(ValueError, match="Invalid num_layers 12"):
        testing.vgg.get_net(1, (3, 224, 224), 10, "float32", num_layers=12)


def test_sums_to_a_shape():
    x = relay.var("x", shape=(2, 3))
    value = relay.create_executor().evaluate(relay.Function([x], relay.collapse_sum_to(x, (3,))))(np.ones((2, 3), "float32"))
    assert list(value.numpy()) == [2.0, 2.0, 2.0]


def test_places_of_a_configuration():
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), tvm.target.Target("llvm"))
    assert config.host_virtual_device.device_type == config.default_primitive_virtual_device.device_type == 1
    assert config.optional_homogeneous_target.kind.name == "llvm"
