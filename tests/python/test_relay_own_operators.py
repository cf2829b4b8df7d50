"""Operators of Relay that a script registers: relations of types by name and of the script's own, and passes over them."""

import pytest
import tvm
from tvm import relay
from tvm.relay import testing
from tvm.relay.op import op as ops

VECTOR = relay.TensorType((3, 4), "float32")


def _register(name, inputs=1, relation="Identity", function=None, pattern=None):
    ops.register(name, "An operator of this test.")
    made = ops.get(name)
    made.set_num_inputs(inputs)
    made.add_type_rel(relation, function)
    if pattern is not None:
        ops.register_pattern(name, pattern)
    return made


def _typed(*params, body):
    mod = tvm.IRModule.from_expr(relay.Function(list(params), body))
    return relay.transform.InferType()(mod)["main"]


@pytest.mark.parametrize(
    "relation, expected",
    [
        ("Broadcast", relay.TensorType((2, 3, 4), "float32")),
        ("BroadcastComp", relay.TensorType((2, 3, 4), "bool")),
    ],
)
def test_a_relation_by_name(relation, expected):
    made = _register(f"tests.own.{relation}", 2, relation)
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(2, 3, 1))
    assert _typed(x, y, body=relay.Call(made, [x, y])).ret_type == expected


def test_a_relation_that_tvm_has_not():
    with pytest.raises(tvm.TVMError, match="no type_relation registered"):
        _register("tests.own.no_relation", relation="Sideways")


def test_a_relation_of_the_script_sees_types_and_attributes():
    seen = []

    def relation(types, attrs):
        seen.append((list(types), attrs))
        return relay.TensorType([types[0].shape[0], attrs["columns"]], types[0].dtype)

    made = _register("tests.own.columns", relation="tests.own.columns", function=relation)
    x = relay.var("x", VECTOR)
    typed = _typed(x, body=relay.Call(made, [x], tvm.ir.make_node("DictAttrs", columns=7)))
    assert typed.ret_type == relay.TensorType((3, 7), "float32")
    assert seen[0][0] == [VECTOR]


def test_a_relation_waits_for_types():
    made = _register("tests.own.waits", relation="tests.own.waits", function=lambda types, attrs: types[0])
    x, y = relay.var("x", VECTOR), relay.var("y")
    body = relay.Let(y, relay.exp(x), relay.Call(made, [y]))
    assert _typed(x, body=body).ret_type == VECTOR


def test_a_relation_without_an_answer_leaves_no_type():
    made = _register("tests.own.nothing", relation="tests.own.nothing", function=lambda types, attrs: None)
    x = relay.var("x", VECTOR)
    with pytest.raises(tvm.error.TVMError):
        _typed(x, body=relay.Call(made, [x]))


def test_an_exception_of_a_relation_comes_through():
    def relation(types, attrs):
        raise KeyError("no such type")

    made = _register("tests.own.raises", relation="tests.own.raises", function=relation)
    x = relay.var("x", VECTOR)
    with pytest.raises(KeyError):
        _typed(x, body=relay.Call(made, [x]))


def test_the_number_of_inputs_is_checked():
    made = _register("tests.own.unary")
    x = relay.var("x", VECTOR)
    with pytest.raises(tvm.error.TVMError, match="expected 1, found 2"):
        _typed(x, body=relay.Call(made, [x, x]))


def test_texts_name_it():
    _register("tests.own.named")
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3, 4), float32]) { tests.own.named(%x) }'
    mod = relay.transform.InferType()(relay.parse(text))
    assert mod["main"].ret_type == VECTOR
    assert "tests.own.named(%x)" in mod.astext()
    assert mod["main"].body.op.same_as(ops.get("tests.own.named"))


def test_operators_are_fused_by_their_pattern():
    made = _register("tests.own.fused", pattern=ops.OpPattern.ELEMWISE)
    alone = _register("tests.own.alone", pattern=ops.OpPattern.OPAQUE)
    x = relay.var("x", VECTOR)
    for op, count in ((made, 1), (alone, 2)):
        func = relay.Function([x], relay.exp(relay.Call(op, [x])))
        text = str(testing.run_opt_pass(func, tvm.transform.Sequential([relay.transform.FuseOps(2)])))
        assert text.count("Primitive=1") == count


def test_types_of_arguments_of_a_call():
    x, y = relay.var("x", shape=(10, 10)), relay.var("y", shape=(1, 10))
    call = _typed(x, y, body=relay.add(x, y)).body
    assert [tuple(map(int, ty.shape)) for ty in call.type_args] == [(10, 10), (1, 10)]
    assert len(relay.add(x, y).type_args) == 0
