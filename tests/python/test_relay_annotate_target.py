"""Regions of compilers that a program registers operators for."""

import tvm
from tvm import relay
from tvm.relay import transform


def annotated(expr, name, ops, **options):
    """The body after annotation for a compiler that takes some operators."""
    for op in ops:
        tvm.ir.register_op_attr(op, f"target.{name}", lambda call: True)
    func = relay.Function(relay.analysis.free_vars(expr), expr)
    mod = transform.AnnotateTarget(name, **options)(tvm.IRModule.from_expr(func))
    return mod["main"].body


def compilers(expr):
    """The compilers that begin or end, in the order of the text."""
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and hasattr(node.op, "name") and node.op.name.startswith("annotation."):
            found.append((node.op.name.rpartition("_")[2], str(node.attrs.compiler)))

    relay.analysis.post_order_visit(expr, visit)
    return found


def test_registered_operators_are_taken():
    x = relay.var("x", shape=(4,))
    body = annotated(relay.tanh(relay.abs(x)), "takes_abs", ["abs"])
    assert compilers(body) == [("begin", "takes_abs"), ("end", "takes_abs"), ("begin", "default"), ("end", "default")]


def test_a_tuple_has_the_target_that_its_fields_share():
    x = relay.var("x", shape=(4,))
    shared = annotated(relay.Tuple([relay.abs(x), relay.abs(x)]), "takes_both", ["abs"])
    assert compilers(shared)[-1] == ("end", "takes_both")
    mixed = annotated(relay.Tuple([relay.abs(x), relay.tanh(x)]), "takes_one", ["abs"])
    assert compilers(mixed)[-1] == ("end", "default")
    alone = annotated(relay.Tuple([relay.abs(x), relay.abs(x)]), "takes_calls", ["abs"], include_non_call_ops=False)
    assert isinstance(alone, relay.Tuple)


def test_a_branch_ends_the_regions_within_it():
    x, c = relay.var("x", shape=(4,)), relay.var("c", "bool")
    body = annotated(relay.If(c, relay.abs(x), relay.tanh(x)), "in_branches", ["abs"])
    assert isinstance(body, relay.If)
    assert str(body.true_branch.attrs.compiler) == "in_branches"
    assert str(body.false_branch.attrs.compiler) == "default"


def test_a_region_becomes_a_function():
    x = relay.var("x", shape=(4,))
    tvm.ir.register_op_attr("exp", "target.takes_exp", lambda call: True)
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.tanh(relay.exp(x))))
    passes = [transform.AnnotateTarget("takes_exp"), transform.MergeCompilerRegions(), transform.PartitionGraph()]
    made = tvm.transform.Sequential(passes)(mod)
    func = made["tvmgen_default_takes_exp_main_0"]
    assert func.attrs["Compiler"] == "takes_exp" and func.body.op.name == "exp"
    assert made["main"].body.op.name == "tanh"
