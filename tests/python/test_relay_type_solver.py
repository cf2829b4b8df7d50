"""The solver of constraints between types, as TVM's developers see it (`type_solver.cc`)."""

import pytest
import tvm
import tvm.ir
from tvm import relay


def solver():
    return tvm.get_global_func("relay.analysis._test_type_solver")()


def relation(name, *args):
    return relay.TypeRelation(tvm.ir.EnvFunc.get(f"tvm.relay.type_relation.{name}"), list(args), len(args) - 1, None)


def test_extents_of_two_operands_are_broadcast():
    found = solver()
    out, rank = relay.IncompleteType(), relay.IncompleteType()
    found("AddConstraint")(relation("Broadcast", relay.TensorType((4, 1)), relay.TensorType((7,)), out))
    found("AddConstraint")(relation("Identity", out, rank))
    assert found("Solve")()
    assert found("Resolve")(out) == relay.TensorType((4, 7))
    assert found("Resolve")(rank) == relay.TensorType((4, 7))


def test_a_relation_waits_until_a_later_equality_says_its_operand():
    found = solver()
    operand, out, pair = relay.IncompleteType(), relay.IncompleteType(), relay.IncompleteType()
    found("AddConstraint")(relation("Broadcast", operand, relay.TensorType((2, 3)), out))
    assert not found("Solve")()
    found("Unify")(pair, relay.TupleType([operand, relay.scalar_type("int8")]))
    found("Unify")(pair, relay.TupleType([relay.TensorType((3,)), relay.scalar_type("int8")]))
    assert found("Solve")()
    assert found("Resolve")(out) == relay.TensorType((2, 3))
    assert found("Resolve")(pair) == relay.TupleType([relay.TensorType((3,)), relay.scalar_type("int8")])


def test_holes_inside_of_functions_and_definitions_are_filled():
    found = solver()
    hole, other = relay.IncompleteType(), relay.IncompleteType()
    name, a = relay.GlobalTypeVar("Pair"), relay.TensorType((5,), "int8")
    found("Unify")(relay.TypeCall(name, [hole, a]), relay.TypeCall(name, [a, other]))
    assert found("Resolve")(hole) == a and found("Resolve")(other) == a
    var = relay.TypeVar("v")
    generic = relay.FuncType([var, var], relay.TupleType([var]), [var])
    found("Unify")(generic, relay.FuncType([a, a], relay.TupleType([a])))


def test_what_cannot_be_the_same_is_refused():
    hole = relay.IncompleteType()
    with pytest.raises(tvm.TVMError, match="occurs in"):
        solver()("Unify")(hole, relay.TupleType([hole, hole]))
    with pytest.raises(tvm.error.DiagnosticError, match="does not match"):
        solver()("Unify")(relay.TupleType([relay.scalar_type("int8")]), relay.TupleType([]))
    with pytest.raises(tvm.error.DiagnosticError, match="dimension 1 conflicts"):
        solver()("Unify")(relay.TensorType((1, 2)), relay.TensorType((1, 3)))
    with pytest.raises(tvm.error.DiagnosticError):
        solver()("Unify")(relay.TypeVar("a"), relay.TypeVar("a"))


def test_a_variable_is_the_extent_that_it_met():
    n = tvm.te.var("n")
    found = solver()
    found("Unify")(relay.TensorType((n,)), relay.TensorType((8,)))
    with pytest.raises(tvm.error.DiagnosticError):
        found("Unify")(relay.TensorType((n, 1)), relay.TensorType((9, 1)))
