"""Passes of the user's that write into the module that they are given. Expected values are those of TVM 0.27."""

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


def _module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            return x

    return Module


@tvm.transform.module_pass(opt_level=0, name="marks")
def marks(mod, ctx):
    for var, func in mod.functions_items():
        mod[var] = func.with_attr("marks", int(func.attrs["marks"]) + 1 if "marks" in (func.attrs or {}) else 1)
    return mod


@tvm.transform.module_pass(opt_level=0, name="Marks")
class Marks:
    def transform_module(self, mod, ctx):
        mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("marks", 1))
        return mod


def _marks(mod):
    return mod["main"].attrs["marks"]


@pytest.mark.parametrize("pass_", [marks, Marks()])
def test_what_a_pass_writes_is_its_result(pass_):
    mod = _module()
    assert _marks(pass_(mod)) == 1
    assert _marks(mod) == 1


def test_what_a_pass_writes_is_seen_by_the_next_one():
    mod = _module()
    done = tvm.transform.Sequential([marks, relax.transform.DeadCodeElimination(), marks, marks])(mod)
    assert _marks(done) == 3


def test_a_pass_that_runs_others_gives_its_own_object():
    @tvm.transform.module_pass(opt_level=0)
    def outer(mod, ctx):
        return relax.transform.DeadCodeElimination()(marks(mod))

    assert _marks(tvm.transform.Sequential([outer, marks])(_module())) == 2


def test_what_a_pass_writes_into_a_module_without_functions_is_there_afterwards():
    @tvm.transform.module_pass(opt_level=0)
    def fills(mod, ctx):
        mod["main"] = _module()["main"]
        return mod

    mod = tvm.IRModule({})
    assert len(fills(mod).functions) == 1
    assert len(mod.functions) == 1
