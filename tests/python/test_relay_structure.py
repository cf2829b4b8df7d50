"""Structural equality of types with variables, relations, patterns and arms of matches in Relay."""

import pytest
import tvm
from tvm import relay
from tvm.ir import EnvFunc, structural_equal, structural_hash
from tvm.relay import Clause, PatternConstructor, PatternTuple, PatternVar, PatternWildcard

A, B = relay.TypeVar("a"), relay.TypeVar("b")


@pytest.mark.parametrize("make", [lambda var: var, lambda var: relay.TupleType([var]), lambda var: relay.RefType(var)])
def test_free_variables_are_equal_to_themselves_unless_mapped(make):
    assert structural_equal(make(A), make(A))
    assert not structural_equal(make(A), make(B))
    assert structural_equal(make(A), make(B), map_free_vars=True)


def test_bound_variables_have_no_names():
    assert structural_equal(relay.FuncType([A], A, [A]), relay.FuncType([B], B, [B]))
    assert not structural_equal(relay.FuncType([A], A, [A]), relay.FuncType([A], B, [A]))


def test_relations():
    vector = relay.TensorType((3,), "float32")
    broadcast, identity = (EnvFunc.get(f"tvm.relay.type_relation.{name}") for name in ("Broadcast", "Identity"))
    made = relay.TypeRelation(broadcast, [vector, vector], 1, None)
    same = relay.TypeRelation(EnvFunc.get("tvm.relay.type_relation.Broadcast"), [vector, relay.TensorType((3,), "float32")], 1, None)
    assert structural_equal(made, same) and structural_hash(made) == structural_hash(same)
    others = [
        relay.TypeRelation(identity, [vector, vector], 1, None),
        relay.TypeRelation(broadcast, [vector, vector], 2, None),
        relay.TypeRelation(broadcast, [vector, relay.scalar_type("int8")], 1, None),
    ]
    assert not any(structural_equal(made, other) for other in others)


def test_patterns():
    mod = relay.Prelude(tvm.IRModule()).mod
    _, cons, nil = mod.get_type("List")
    head, tail, other, more = (relay.Var(name) for name in ("head", "tail", "other", "more"))
    made = PatternConstructor(cons, [PatternVar(head), PatternVar(tail)])
    same = PatternConstructor(cons, [PatternVar(other), PatternVar(more)])
    assert structural_equal(made, same) and structural_hash(made) == structural_hash(same)
    assert not structural_equal(made, PatternConstructor(nil))
    assert structural_equal(PatternTuple([PatternWildcard()]), PatternTuple([PatternWildcard()]))
    assert structural_equal(Clause(made, head), Clause(same, other))
    assert not structural_equal(Clause(made, head), Clause(same, more))


def test_functions_for_tests_of_calls():
    assert tvm.get_global_func("testing.ReturnsVariant")(8) == 4
    assert tvm.get_global_func("testing.ReturnsVariant")(7) == "argument was odd"
    with pytest.raises(TypeError):
        tvm.get_global_func("testing.AcceptsVariant")(tvm.tir.FloatImm("float32", 0.5))


def test_attributes_that_are_made_by_their_key():
    made = tvm.ir.make_node("attrs.TestAttrs", name="here", padding=(3, 4))
    assert (made.name, made.axis, [item.value for item in made.padding]) == ("here", 10, [3, 4])
    for fields in ({}, {"name": "here", "axis": 11}, {"name": "here", "other": 1}):
        with pytest.raises(AttributeError):
            tvm.ir.make_node("attrs.TestAttrs", **fields)
    numbers = tvm.ir.make_node("DictAttrs", x=1, y=[2])
    assert numbers.x.dtype == "int32" and numbers["x"].value == 1 and numbers["y"][0] == 2


def test_modules_that_are_not_here_can_be_imported():
    import tvm.relay.op.nn._nn
    from tvm import meta_schedule, micro  # noqa: F401
    from tvm.relay.transform import fake_quantization_to_integer  # noqa: F401

    with pytest.raises(NotImplementedError, match="is not here"):
        micro.get_standalone_crt_dir()
    assert tvm.relay.op.nn._nn is not None
