"""Operators are lowered by functions of Python, of a map or registered, beside those that have a rule of their own."""

import pytest
import tvm
from tvm import relax, topi
from tvm.relax.transform import LegalizeOps
from tvm.relax.transform.legalize_ops.common import register_legalize
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Program:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.nn.relu(a)
            c = R.add(b, x)
            R.output(c)
        return c

    @R.function
    def branch(c: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32")):
        if c:
            r = R.nn.relu(x)
        else:
            r = R.add(x, x)
        return r


def calls(func):
    """The tensor programs and operators that a function calls, in order."""
    found = []

    def visit(node):
        if isinstance(node, relax.Call) and isinstance(node.op, tvm.ir.Op):
            first = node.args[0]
            found.append(first.name_hint if isinstance(first, tvm.ir.GlobalVar) else node.op.name)

    relax.analysis.post_order_visit(func, visit)
    return [str(name) for name in found]


def swapped(bb, call):
    return bb.call_te(topi.add, call.args[1], call.args[0])


def test_a_rule_of_the_map_stands_beside_rules_of_other_operators():
    made = LegalizeOps({"relax.add": swapped})(Program)
    assert sorted(var.name_hint for var in made.get_global_vars()) == ["add", "add1", "branch", "main", "relu", "relu1"]
    assert calls(made["main"]) == ["add1", "relu1", "add1"]
    assert sorted(calls(made["branch"])) == ["add", "relu"]
    first = made["main"].body.blocks[0].bindings[0].value
    assert [arg.name for arg in first.args[1].fields] == ["y", "x"]


def test_what_a_rule_emits_is_lowered_too():
    def in_two_steps(bb, call):
        return R.subtract(bb.emit(R.multiply(call.args[0], call.args[1])), call.args[1])

    made = LegalizeOps({"relax.add": in_two_steps})(Program)
    assert calls(made["main"]) == ["multiply1", "subtract1", "relu1", "multiply1", "subtract1"]
    assert made["main"].body.blocks[0].bindings[0].var.name == "lv"


def test_a_call_that_a_rule_gives_back_stays():
    made = LegalizeOps({"relax.add": lambda bb, call: call})(Program)
    assert calls(made["main"]) == ["relax.add", "relu1", "relax.add"]


def test_operators_that_are_skipped_have_no_rule():
    made = LegalizeOps({"relax.add": swapped}, skip_ops=["relax.nn.relu", "relax.add"])(Program)
    assert calls(made["main"]) == ["relax.add", "relax.nn.relu", "relax.add"]
    with pytest.raises(AttributeError):
        LegalizeOps(skip_ops=["relax.no_such_operator"])(Program)


def test_a_packed_function_in_place_of_a_pure_operator_is_called_as_pure():
    def packed(bb, call):
        return relax.Call(relax.ExternFunc("f"), call.args, None, [call.ty])

    made = LegalizeOps({"relax.nn.relu": packed})(Program)
    value = made["main"].body.blocks[0].bindings[1].value
    assert value.op.name == "relax.call_pure_packed" and value.args[0].global_symbol == "f"


def test_a_call_whose_extents_are_not_known_stays():
    x, y = relax.Var("x", relax.TensorType(None, "float32", ndim=1)), relax.Var("y", relax.TensorType((2,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.add(bb.emit(R.add(x, y)), bb.emit(R.add(y, y)))))
    made = LegalizeOps({"relax.add": swapped})(bb.get())
    assert calls(made["main"]) == ["relax.add", "add", "relax.add"]


def test_a_registered_rule_holds_until_another_one_is_registered():
    add = tvm.ir.Op.get("relax.add")
    default = add.get_attr("FLegalize")
    try:
        add.reset_attr("FLegalize")
        assert add.get_attr("FLegalize") is None
        assert calls(LegalizeOps()(Program)["main"]) == ["relax.add", "relu1", "relax.add"]

        @register_legalize("relax.add")
        def named(bb, call):
            return bb.call_te(topi.add, *call.args, primfunc_name_hint="sum")

        assert calls(LegalizeOps()(Program)["main"]) == ["sum1", "relu1", "sum1"]
        assert calls(LegalizeOps({"relax.add": swapped})(Program)["main"]) == ["add1", "relu1", "add1"]
    finally:
        add.reset_attr("FLegalize")
        register_legalize("relax.add", default)
    assert calls(LegalizeOps()(Program)["main"]) == ["add1", "relu1", "add1"]


def test_a_rule_may_go_on_with_the_rule_that_was_there():
    default = tvm.ir.Op.get("relax.nn.relu").get_attr("FLegalize")
    assert tvm.ir.Op.get("relax.call_tir").get_attr("FLegalize") is None

    def negated(bb, call):
        return bb.emit(R.negative(bb.emit(default(bb, call))))

    made = LegalizeOps({"relax.nn.relu": negated})(Program)
    assert calls(made["main"]) == ["add1", "relu1", "tir_negative1", "add1"]


def test_the_context_turns_the_pass_off():
    with tvm.transform.PassContext(config={"relax.transform.apply_legalize_ops": False}):
        tvm.ir.assert_structural_equal(LegalizeOps({"relax.add": swapped})(Program), Program)


def test_an_error_of_a_rule_reaches_the_caller():
    def fails(bb, call):
        raise KeyError("no rule")

    with pytest.raises(KeyError):
        LegalizeOps({"relax.add": fails})(Program)


def test_programs_are_those_of_the_device():
    @I.ir_module(s_tir=True)
    class OnDevice:
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm"), y: R.Tensor((4,), "float32")):
            a = R.nn.relu(x)
            b = R.nn.relu(y)
            c = R.exp(a)
            return (b, c)

    made = LegalizeOps({"relax.nn.relu": lambda bb, call: bb.call_te(topi.nn.relu, call.args[0])})(OnDevice)
    assert calls(made["main"]) == ["relu_llvm", "relu", "tir_exp_llvm"]
    assert made["relu_llvm"].attrs["target"].kind.name == "llvm" and "target" not in made["relu"].attrs
    assert "tir_exp" not in [var.name_hint for var in made.get_global_vars()]


def test_fields_of_a_tuple_in_a_variable_are_taken():
    @I.ir_module(s_tir=True)
    class Tuples:
        @R.function
        def main(x: R.Tensor((4, 6), "float32")):
            parts = R.split(x, 2, axis=1)
            both = (parts[1], parts[0])
            joined = R.concat(both, axis=0)
            return R.add(joined, joined)

        @T.prim_func(private=True, s_tir=True)
        def add(a: T.Buffer((1,), "float32")):
            a[0] = T.float32(1)

    made = LegalizeOps({"relax.add": swapped})(Tuples)
    assert calls(made["main"]) == ["split", "concatenate", "add1"]
