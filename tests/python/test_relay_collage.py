"""Parts of programs go to the compilers by which they cost least (`src/relay/collage`)."""

from unittest.mock import patch

import pytest
import tvm
from tvm import relay
from tvm.relay.collage import MockCostEstimator
from tvm.relay.dataflow_pattern import is_op, wildcard


def table(compiler):
    two = is_op("add")(wildcard(), wildcard())
    rows = [("own.add", two), ("own.relu", is_op("nn.relu")(wildcard())), ("own.abs", is_op("abs")(wildcard()))]
    return {"cutlass": rows[:2], "tensorrt": rows}.get(compiler)


def program():
    x = relay.var("x", shape=(8, 8))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.abs(x) + x)))


def partitioned(mod, targets, costs, **config):
    depths = {"relay.collage.tvm_max_depth": 4, "relay.collage.byoc_max_depth": 4}
    context = tvm.transform.PassContext(config={**depths, **config})
    known = tvm.target.make_compilation_config(context, [tvm.target.Target(target) for target in targets])
    with context, patch("tvm.relay.op.contrib.get_pattern_table", wraps=table):
        return relay.transform.CollagePartition(known, MockCostEstimator(costs))(mod)


def names(mod):
    return sorted(var.name_hint for var in mod.get_global_vars())


def test_a_cheap_compiler_gets_all_that_it_takes():
    made = partitioned(program(), ["cuda", "tensorrt"], {"cuda": 900, "tensorrt": 100})
    assert names(made) == ["collage_tensorrt_abs_add_nn_relu", "main"]
    func = made["collage_tensorrt_abs_add_nn_relu"]
    assert func.attrs["Compiler"] == "tensorrt" and func.attrs["Primitive"] == 1
    assert func.body.op.attrs["Composite"] == "own.relu"


def test_neighbours_for_the_same_compiler_become_one_function():
    made = partitioned(program(), ["cuda", "cutlass"], {"cuda": 900, "cutlass": 100})
    assert names(made) == ["collage_cutlass", "main"]
    assert len(made["collage_cutlass"].params) == 2 and made["main"].body.args[0].op.name == "abs"


def test_what_costs_more_elsewhere_stays():
    mod = program()
    made = partitioned(mod, ["cuda", "tensorrt"], {"cuda": 10, "tensorrt": 100})
    assert tvm.ir.structural_equal(made, relay.transform.InferType()(mod))


def test_the_style_of_fusion_is_configured():
    style = {"relay.collage.byoc_fusion_style": ["cutlass.ArbitraryFusion"]}
    made = partitioned(program(), ["cuda", "cutlass"], {"cuda": 900, "cutlass": 100}, **style)
    assert names(made) == ["collage_cutlass_add_nn_relu", "main"]
    with pytest.raises(tvm.TVMError, match="Invalid fusion name"):
        partitioned(program(), ["cuda", "cutlass"], {}, **{"relay.collage.byoc_fusion_style": ["cutlass.None"]})


def test_depths_have_to_be_said():
    with pytest.raises(tvm.TVMError, match="missing binding"):
        config = tvm.target.make_compilation_config(tvm.transform.PassContext(), [tvm.target.Target("cuda")])
        relay.transform.CollagePartition(config, MockCostEstimator({"cuda": 1}))(program())


def test_parts_are_cut_out_by_their_numbers():
    mod = relay.transform.InferType()(program())
    calls = []
    relay.analysis.post_order_visit(mod["main"], calls.append)
    at = [index for index, node in enumerate(calls) if isinstance(node, relay.Call)]
    cut = tvm.get_global_func("relay.collage.PartitionForTesting")
    func = cut(1, False, "own", at[1:], ["inner", ""])(mod)["main"].body.op
    assert func.attrs["Compiler"] == "own" and len(func.params) == 2
    assert func.body.args[0].op.attrs["Composite"] == "inner"
    assert tvm.ir.structural_equal(cut(1, False, "own", [at[0], at[2]], ["", ""])(mod), mod)
