"""Patterns of Relay: dominators, groups that overlap, and rewrites that do not end."""

import pytest
import tvm
from tvm import relay
from tvm.relay.dataflow_pattern import DFPatternCallback, FunctionPattern, dominates, is_constant, is_op, is_tuple, rewrite, wildcard


def _diamond():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    return dominates(conv, path, is_op("add")(wildcard(), wildcard()))


def test_every_way_leads_to_the_parent():
    x, w = relay.var("x"), relay.var("w")
    conv = relay.nn.conv2d(x, w)
    assert _diamond().match(relay.nn.relu(conv) + relay.nn.leaky_relu(conv, 0.5))
    assert not _diamond().match(relay.nn.relu(conv) + relay.nn.leaky_relu(x, 0.5))
    assert not _diamond().match(relay.nn.relu(conv) + relay.nn.dense(conv, w))


def test_a_parent_alone_is_no_match():
    x, w = relay.var("x"), relay.var("w")
    conv = relay.nn.conv2d(x, w)
    assert not _diamond().match(conv)
    assert not _diamond().match(relay.nn.relu(conv))


def test_a_diamond_becomes_one_function():
    x, w = relay.var("x"), relay.var("w")
    conv = relay.nn.conv2d(x, w)
    made = _diamond().partition(relay.nn.relu(conv) + relay.nn.leaky_relu(conv, 0.5))
    assert made.op.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.relu_nn.leaky_relu_add_"
    assert [arg.name_hint for arg in made.args] == ["x", "w"]


def test_a_value_that_is_used_elsewhere_is_not_taken():
    x, y = relay.var("x"), relay.var("y")
    pattern = is_op("exp")(is_op("add")(wildcard(), wildcard()))
    added = x + y
    assert pattern.partition(relay.Tuple([relay.exp(added), added])).fields[0].op.name == "exp"
    assert isinstance(pattern.partition(relay.Tuple([relay.exp(added), x])).fields[0].op, relay.Function)


def test_a_check_is_asked_for_groups_that_do_not_overlap():
    x = relay.var("x")
    pattern = is_op("exp")(is_op("exp")(wildcard()))
    chain = relay.exp(relay.exp(relay.exp(x)))
    assert pattern.partition(chain, check=lambda root: root is not chain).op.name == "exp"


def test_constants_that_a_pattern_names_stay_inside():
    x, c = relay.var("x"), relay.const(2.0)
    assert len(is_op("add")(wildcard(), is_constant()).partition(x + c).args) == 1
    assert len(is_op("add")(wildcard(), wildcard() | is_constant()).partition(x + c).args) == 2


def test_any_operands_are_operands_of_the_function():
    x, y = relay.var("x"), relay.var("y")
    pattern = is_op("concatenate")(is_tuple(None))
    made = pattern.partition(relay.concatenate([x, y], 0))
    assert len(made.args) == 2
    assert made.op.attrs["PartitionedFromPattern"] == "Tuple_concatenate_"


def test_a_function_that_is_not_called_stays():
    x = relay.var("x")
    func = relay.Function([x], x + x)
    assert FunctionPattern([wildcard()], wildcard()).partition(func).same_as(func)


def test_bodies_of_called_functions_are_no_operands():
    x, y = relay.var("x"), relay.var("y")
    func = relay.Function([x], relay.exp(x))
    made = FunctionPattern([wildcard()], wildcard())(wildcard()).partition(relay.Call(func, [y]))
    assert [arg.name_hint for arg in made.args] == ["y"]
    assert isinstance(made.op.body.op, relay.Function)


def test_rewrites_without_end():
    class Count(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x, self.number = wildcard(), is_constant()
            self.pattern = is_op("add")(self.x, self.number)

        def callback(self, pre, post, node_map):
            return node_map[self.x][0] + relay.const(node_map[self.number][0].data.numpy().item() + 1)

    with pytest.raises(tvm.TVMError, match="Observed 100 rewrite passes"):
        rewrite(Count(), relay.var("x", shape=(2,)) + relay.const(0))


def test_a_rewrite_once_waits_for_its_change():
    class Once(DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.x = wildcard()
            self.pattern = is_op("sqrt")(self.x)

        def callback(self, pre, post, node_map):
            return relay.abs(node_map[self.x][0])

    class Begin(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("exp")(self.x)

        def callback(self, pre, post, node_map):
            return relay.sqrt(node_map[self.x][0])

    assert rewrite([Once(), Begin()], relay.exp(relay.var("x"))).op.name == "abs"
