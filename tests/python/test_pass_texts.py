"""Passes, their infos and contexts as texts, and the types of the options of a context."""

import pytest
import tvm
from tvm import relax, tirx


def test_a_pass_says_what_it_is_over():
    info = 'transform.PassInfo(opt_level=0, name="FoldConstant", required=(), traceable=False)'
    assert str(relax.transform.FoldConstant().info) == info
    assert str(relax.transform.FoldConstant()) == f"relax.FunctionPass(pass_info={info})"
    assert str(relax.transform.FuseOps()).startswith("transform.ModulePass(")
    assert str(relax.transform.ConvertLayout({})).startswith("relax.DataflowBlockPass(")
    assert str(tirx.transform.StmtSimplify()).startswith("tirx.PrimFuncPass(")
    one = tvm.transform.Sequential([relax.transform.FoldConstant()], opt_level=1, name="one")
    assert str(one).startswith('transform.Sequential(pass_info=transform.PassInfo(opt_level=1, name="one"')
    assert str(one).endswith(f"passes=(relax.FunctionPass(pass_info={info}),))")


def test_passes_of_a_program_are_written_as_others():
    @tvm.transform.module_pass(opt_level=1, name="mine")
    def mine(mod, ctx):
        return mod

    @relax.transform.function_pass(opt_level=2, required=["mine"])
    def of_functions(func, mod, ctx):
        return func

    assert str(mine) == 'transform.ModulePass(pass_info=transform.PassInfo(opt_level=1, name="mine", required=(), traceable=False))'
    assert 'relax.FunctionPass(pass_info=transform.PassInfo(opt_level=2, name="of_functions", required=("mine",)' in str(of_functions)


def test_a_context_is_written_with_its_options():
    context = tvm.transform.PassContext(opt_level=3, required_pass=["a"], disabled_pass=["b"], config={"tirx.noalias": 1})
    expected = 'opt_level=3, required_pass=("a",), disabled_pass=("b",), instruments=(), config={"tirx.noalias": True}'
    assert str(context) == f"transform.PassContext({expected})"


def test_options_have_types():
    types = tvm.transform.PassContext.list_configs()
    names = ["tirx.noalias", "relax.FuseOps.max_depth", "tirx.add_lower_pass"]
    assert [types[name]["type"] for name in names] == ["bool", "int", "ffi.Array"]
    for config, words in [
        ({"tirx.noalias": 1.5}, "to have type bool, but instead get float"),
        ({"relax.FuseOps.max_depth": "a"}, "to have type int, but instead get ffi.SmallStr"),
        ({"tirx.add_lower_pass": 1}, "to have type ffi.Array, but instead get int"),
        ({"no.such.option": 1}, "Invalid config option 'no.such.option' candidates are"),
    ]:
        with pytest.raises(AttributeError, match=words):
            tvm.transform.PassContext(config=config)
    with pytest.raises(TypeError):
        tvm.transform.PassContext(opt_level="a")


def test_a_pass_says_which_argument_it_lacks():
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'storage_scope'"):
        tvm.s_tir.transform.ThreadSync()
    with pytest.raises(TypeError, match=r"NarrowDataType\(\) missing 1 required positional argument: 'target_bits'"):
        tvm.tirx.transform.NarrowDataType()
