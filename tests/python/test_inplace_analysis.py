"""Facts about a dataflow block by which calls may write over their arguments. Expected values are those of TVM 0.27."""

import pytest
from tvm import relax
from tvm.relax.testing.transform import (
    InplaceOpportunity,
    dataflow_alias_analysis,
    dataflow_inplace_analysis,
    dataflow_liveness_analysis,
    dataflow_single_inplace_call,
)
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(s_tir=True)
    def same(x: T.Buffer((2, 3), "int32"), y: T.Buffer((2, 3), "int32")):
        for i, j in T.grid(2, 3):
            with T.sblock("b"):
                a, b = T.axis.remap("SS", [i, j])
                y[a, b] = x[a, b]

    @R.function
    def ident(x: R.Tensor((2, 3), "int32")) -> R.Tensor((2, 3), "int32"):
        return x

    @R.function
    def main(
        x: R.Tensor((2, 3), "int32"),
        y: R.Tensor((2, 3), "int32"),
        t: R.Tuple(R.Tensor((2, 3), "int32"), R.Tuple(R.Tensor((2, 3), "int32"), R.Tensor((2, 3), "int32"))),
    ) -> R.Tensor((2, 3), "int32"):
        cls = Module
        with R.dataflow():
            z = R.add(x, y)
            a = R.multiply(z, y)
            q = R.reshape(a, (3, 2))
            c = R.call_tir(cls.same, (a,), out_ty=R.Tensor((2, 3), "int32"))
            p = cls.ident(c)
            pair = (z, p)
            w = pair[1]
            u = t[1]
            u0 = u[0]
            k = R.subtract(w, u0)
            m = R.add(k, R.const(1, "int32"))
            n0 = R.call_pure_packed("f", k, ty_args=R.Tensor((2, 3), "int32"))
            e = R.split(q, 3)  # noqa: F841
            o = R.divide(m, n0)
            fin = R.nn.relu(o)
            R.output(fin)
        return fin

    @R.function
    def grows(x: R.Tensor((2, 3), "int32"), y: R.Tensor((1, 3), "int32"), s: R.Tensor(("n", 3), "int32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.add(y, a)
            c = R.add(b, b)
            d = R.add(s, s)
            e = R.multiply(d, R.const(2, "int32"))
            g = R.permute_dims(c)
            h = R.add(c, c)
            R.output(e, g, h)
        return (e, g, h)


def block(name):
    return Module[name].body.blocks[0]


def named(found):
    return {var.name if hasattr(var, "name") else var.name_hint: value for var, value in found.items()}


def test_ranges_in_which_a_variable_is_needed():
    ranges = named(dataflow_liveness_analysis(block("main")))
    assert ranges["x"] == (-1, 15) and ranges["z"] == (0, 5) and ranges["q"] == (2, 12) and ranges["e"] == (12, 12)
    # A field of a tuple needs nothing of the tuple.
    assert ranges["pair"] == (5, 5) and ranges["u0"] == (8, 9) and ranges["fin"] == (14, 15)


def test_pieces_of_memory():
    aliases, fields = dataflow_alias_analysis(block("main"), list(Module["main"].params))
    aliases = named(aliases)
    assert aliases["t"] == {2} and aliases["u"] == {4} and aliases["u0"] == {5}
    assert aliases["q"] == aliases["a"] and aliases["w"] == aliases["p"] == {9, 10} and aliases["n0"] == {12, 14}
    assert {int(key): value for key, value in fields.items()} == {
        2: [{3}, {4}],
        4: [{5}, {6}],
        11: [{7}, {9, 10}],
        15: [{16}, {17}, {18}],
    }


def test_pieces_of_memory_that_come_from_outside():
    aliases, _ = dataflow_alias_analysis(block("main"), [])
    assert named(aliases)["u"] == {-1} and named(aliases)["u0"] == {-1} and named(aliases)["z"] == {0}


def test_arguments_that_may_be_written_over():
    with_inputs = dataflow_inplace_analysis(block("main"), list(Module["main"].params), Module)
    assert with_inputs == ([(9, {0, 1}), (13, {0, 1}), (14, {0})],) * 2
    assert dataflow_inplace_analysis(block("main"), [], Module) == ([(9, {0}), (13, {0, 1}), (14, {0})],) * 2


def test_an_argument_needs_as_much_memory_as_the_result():
    assert dataflow_inplace_analysis(block("grows"), [], Module) == ([(1, {1}), (2, {0, 1}), (4, {0})],) * 2


@pytest.mark.parametrize("index", [0, 1])
def test_a_call_that_writes_over_an_argument(index):
    @I.ir_module
    class Two:
        @R.function
        def main(x: R.Tensor((2, 3), "int32"), y: R.Tensor((2, 3), "int32")) -> R.Tensor((2, 3), "int32"):
            with R.dataflow():
                z = R.add(x, y)
                R.output(z)
            return z

    call, mod = dataflow_single_inplace_call(Two, Two["main"].body.blocks[0].bindings[0].value, [index])
    assert call.op.name == "relax.call_tir_inplace" and [int(item) for item in call.attrs.inplace_indices] == [index]
    assert call.args[0].name_hint == "add_inplace" and len(mod["add_inplace"].params) == 2
    store = mod["add_inplace"].body.block.body.body.body.block.body
    assert store.buffer.name == "xy"[index]


def test_an_opportunity_is_not_made_by_hand():
    with pytest.raises(NotImplementedError):
        InplaceOpportunity(1, [0])


def test_the_pass_agrees():
    made = relax.transform.DataflowUseInplaceCalls()(Module)
    assert made["main"].script().count("call_tir_inplace") == 3
    assert relax.analysis.check_well_formed(made)
