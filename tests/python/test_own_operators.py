"""Operators that a script registers: their types, purity and normal form."""

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


def _infer(call, _):
    return call.args[0].ty


def _program(op, args=1):
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.emit(relax.Call(op, [x] * args))
        bb.emit_func_output(y)
    return bb.get()


@pytest.fixture
def twice():
    """An operator that is there for the length of a test."""
    name = "relax.passlab_test.twice"
    tvm.ir.register_op_attr(name, "FInferType", _infer)
    tvm.ir.register_op_attr(name, "FPurity", True)
    op = tvm.ir.Op.get(name)
    yield op
    for key in ("FInferType", "FPurity", "FNormalize"):
        op.reset_attr(key)


def test_a_call_has_the_type_that_the_script_gives(twice):
    text = _program(twice).script()
    assert 'gv: R.Tensor((2, 3), dtype="float32") = R.passlab_test.twice(x)' in text
    relax.analysis.well_formed(_program(twice))


def test_an_operator_outside_of_relax_is_printed_as_one_of_tir():
    name = "passlab_test.thrice"
    tvm.ir.register_op_attr(name, "FInferType", _infer)
    tvm.ir.register_op_attr(name, "FPurity", True)
    assert "= T.passlab_test.thrice(x)" in _program(tvm.ir.Op.get(name)).script()


def test_passes_leave_it_and_see_it(twice):
    mod = relax.transform.DeadCodeElimination()(_program(twice))
    tvm.ir.assert_structural_equal(mod, _program(twice))
    pattern = relax.dpl.is_op("relax.passlab_test.twice")(relax.dpl.wildcard())
    assert pattern.match(mod["main"].body.blocks[0].bindings[0].value)


def test_a_mutator_replaces_its_calls(twice):
    @relax.expr_functor.mutator
    class Doubled(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            return relax.op.add(call.args[0], call.args[0]) if call.op == twice else call

    text = str(Doubled().visit_expr(_program(twice)["main"]))
    assert "R.add(x, x)" in text and "twice" not in text


def test_the_normal_form_is_asked_for(twice):
    def with_two(bb, call):
        return call if len(call.args) == 2 else relax.Call(call.op, [call.args[0], relax.Tuple([])])

    tvm.ir.register_op_attr(twice.name, "FNormalize", with_two)
    assert "R.passlab_test.twice(x, R.tuple())" in _program(twice).script()


def test_an_exception_of_its_rule_comes_through(twice):
    def bad(call, _):
        raise KeyError("no such type")

    tvm.ir.register_op_attr(twice.name, "FInferType", bad, level=11)
    with pytest.raises(KeyError):
        _program(twice)


def test_an_operator_that_was_not_registered_is_refused():
    with pytest.raises(AttributeError, match="not registered"):
        tvm.ir.Op.get("relax.passlab_test.nowhere")


def test_an_exception_while_a_program_is_read_is_its_message():
    name = "relax.passlab_test.refused"
    tvm.ir.register_op_attr(name, "FInferType", lambda call, _: call.args[7].ty)
    tvm.ir.register_op_attr(name, "FPurity", True)
    op = tvm.ir.Op.get(name)
    with pytest.raises(Exception, match="index"):

        @I.ir_module
        class Refused:
            @R.function
            def main(x: R.Tensor((2,), "float32")):
                y = relax.Call(op, [x])
                return y


def test_a_rule_may_ask_for_the_types_of_other_calls():
    name = "relax.passlab_test.summed"

    def infer(call, context):
        return tvm.ir.Op.get("relax.add").get_attr("FInferType")(relax.op.add(*call.args), context)

    tvm.ir.register_op_attr(name, "FInferType", infer)
    tvm.ir.register_op_attr(name, "FPurity", True)
    assert 'R.Tensor((2, 3), dtype="float32") = R.passlab_test.summed(x, x)' in _program(tvm.ir.Op.get(name), 2).script()
