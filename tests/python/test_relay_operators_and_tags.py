"""Operators that Python registers, levels of support, tags of constructors and extents that are not known."""

import numpy as np
import pytest
import tvm
from tvm import relay
from tvm.relay.op import op as ops


def test_a_registered_operator_has_what_is_said_of_it():
    ops.register("tests.halve", "Half of a tensor.")
    halve = ops.get("tests.halve")
    halve.set_num_inputs(1)
    halve.add_argument("data", "Tensor", "The tensor.")
    halve.set_support_level(4)
    halve.add_type_rel("Identity")
    ops.register_pattern("tests.halve", ops.OpPattern.ELEMWISE)
    ops.register_stateful("tests.halve", True)
    assert halve.description == "Half of a tensor."
    assert halve.num_inputs == 1
    assert [(item.name, item.type_info) for item in halve.arguments] == [("data", "Tensor")]
    assert halve.support_level == 4
    assert halve.get_attr("TOpPattern") == 0
    assert halve.get_attr("TOpIsStateful") is True


def test_a_name_is_registered_once():
    ops.register("tests.once")
    for name in ("tests.once", "add"):
        with pytest.raises(tvm.TVMError, match="is registered before"):
            ops.register(name)


def test_arguments_of_the_engines_operators_stay():
    with pytest.raises(NotImplementedError, match="cannot be changed"):
        ops.get("add").add_argument("other", "Tensor", "Another one.")


@pytest.mark.parametrize("name, level", [("exp", 1), ("nn.conv2d", 2), ("round", 3), ("sum", 4), ("argsort", 6), ("shape_of", 10)])
def test_levels_of_support(name, level):
    assert ops.get(name).support_level == level


def test_tags_tell_constructors_of_all_types_apart():
    mod = relay.Prelude(tvm.IRModule()).mod
    mod.import_from_std("nat.rly")
    constructors = [item for data in mod.type_definitions.values() for item in data.constructors]
    assert len({item.tag for item in constructors}) == len(constructors)
    for item in constructors:
        assert mod.get_constructor(item.tag) == item
    with pytest.raises(ValueError, match="no constructor"):
        mod.get_constructor(-5)


def test_an_extent_may_be_any():
    x = relay.var("x", shape=(tvm.tir.Any(), 3), dtype="float32")
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    assert isinstance(mod["main"].ret_type.shape[0], tvm.tir.Any)


def test_calibration_data_has_an_output_for_each_field():
    a, b = relay.var("a", shape=(2,)), relay.var("b", shape=(2,))
    part = relay.GlobalVar("part")
    mod = tvm.IRModule()
    mod[part] = relay.Function([a, b], relay.Tuple([a + b, a - b])).with_attr("Compiler", "tests")
    mod = relay.transform.InferType()(mod)
    x = relay.var("x", shape=(2,))
    mod["main"] = relay.Function([x], relay.TupleGetItem(relay.Call(part, [x, x]), 0))
    mod = relay.transform.InferType()(mod)
    data = relay.analysis.get_calibration_data(mod, {"x": np.array([1.0, 2.0], "float32")})
    (found,) = data.values()
    assert [list(item.numpy()) for item in found["outputs"]] == [[2.0, 4.0], [0.0, 0.0]]
