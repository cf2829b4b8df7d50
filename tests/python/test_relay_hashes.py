"""Things of Relay have one hash if and only if they are structurally equal."""

import numpy as np
import pytest
import tvm
import tvm.ir
from tvm import relay


def same(a, b, map_free_vars=False):
    equal = tvm.ir.structural_equal(a, b, map_free_vars)
    hashes = [tvm.ir.structural_hash(side, map_free_vars=map_free_vars) for side in (a, b)]
    assert equal == (hashes[0] == hashes[1])
    return equal


def test_order_of_arguments_and_sharing_count():
    x, y = relay.var("x"), relay.var("y")
    assert not same(relay.Function([x, y], relay.add(x, y)), relay.Function([x, y], relay.add(y, x)))
    assert same(relay.Function([x], relay.add(x, x)), relay.Function([y], relay.add(y, y)))
    once = relay.add(x, y)
    assert not same(relay.add(once, once), relay.add(relay.add(x, y), relay.add(x, y)))
    one = relay.const(1)
    assert same(relay.add(one, one), relay.add(relay.const(1), relay.const(1)))
    assert not same(relay.const(np.array([1, 2])), relay.const(np.array([1, 3])))


def test_free_variables_are_mapped_on_demand():
    x, y = relay.Var("x"), relay.Var("y")
    assert not same(x, y) and same(x, y, True) and same(x, x)
    assert not same(relay.TypeVar("a"), relay.TypeVar("a")) and same(relay.TypeVar("a"), relay.TypeVar("b"), True)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: relay.TensorType((1, n)),
        lambda n: relay.TupleType([relay.TensorType((n,))]),
        lambda n: relay.FuncType([relay.TensorType((n,))], relay.TupleType([])),
        lambda n: relay.TypeCall(relay.GlobalTypeVar("T"), [relay.TensorType((n,))]),
        lambda n: relay.IncompleteType(n),
        lambda n: relay.Span(relay.SourceName("s"), 1, 1, n, n),
        lambda n: relay.SequentialSpan([relay.Span(relay.SourceName("s"), 1, 1, n, n)]),
        lambda n: relay.GlobalVar(f"g{n}"),
        lambda n: relay.const(n),
        lambda n: relay.TypeRelation(tvm.ir.EnvFunc.get("tvm.relay.type_relation.Identity"), [relay.TensorType((n,))], 1, None),
        lambda n: relay.Function([], relay.const(1)).with_attr("a", n),
        lambda n: tvm.IRModule.from_expr(relay.const(n)),
    ],
)
def test_what_is_made_alike_is_equal(make):
    assert same(make(1), make(1)) and not same(make(1), make(0))
