"""Functions of Python that a program names are called when it runs."""

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@tvm.register_global_func("passlab.test.copy", override=True)
def copied(source, target):
    target.copyfrom(source.numpy() + 1)


@tvm.register_global_func("passlab.test.sum", override=True)
def summed(first, second):
    return tvm.runtime.tensor(first.numpy() + second.numpy())


@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        z = R.call_packed("passlab.test.sum", x, y, ty_args=(R.Tensor((3,), "float32"),))
        w = R.call_dps_packed("passlab.test.copy", (z,), out_ty=R.Tensor((3,), "float32"))
        _ = R.call_packed("passlab.test.copy", w, x, ty_args=(R.Tuple,))
        return w


def _machine():
    return relax.VirtualMachine(relax.build(Module, "llvm"), tvm.cpu())


def test_results_and_outputs_and_what_is_written_are_seen():
    x, y = tvm.runtime.tensor(np.array([1, 2, 3], "float32")), tvm.runtime.tensor(np.array([1, 1, 1], "float32"))
    assert _machine()["main"](x, y).numpy().tolist() == [3, 4, 5]
    assert x.numpy().tolist() == [4, 5, 6]


def test_a_function_may_be_an_argument():
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"))):
        y = f(x)
        z = R.add(y, y)
        return z

    machine = relax.VirtualMachine(relax.build(tvm.IRModule({"main": main.with_attr("global_symbol", "main")}), "llvm"), tvm.cpu())
    x = tvm.runtime.tensor(np.array([1, 2], "float32"))
    result = machine["main"](x, lambda value: tvm.runtime.tensor(value.numpy() * 5))
    assert result.numpy().tolist() == [10, 20]


def test_a_function_is_kept_with_its_arguments():
    x, y = tvm.runtime.tensor(np.array([1, 2, 3], "float32")), tvm.runtime.tensor(np.array([0, 0, 0], "float32"))
    machine = _machine()
    machine.save_function("main", "saved", x, y)
    assert machine["saved"]().numpy().tolist() == [2, 3, 4]


def test_a_function_that_runs_a_program_leaves_the_functions_of_the_run_around_it():
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"))):
        y = f(x)
        z = f(y)
        return z

    machine = relax.VirtualMachine(relax.build(tvm.IRModule({"main": main.with_attr("global_symbol", "main")}), "llvm"), tvm.cpu())

    def inner(value):
        return tvm.runtime.tensor(value.numpy() + 1)

    def outer(value):
        return machine["main"](value, inner)

    x = tvm.runtime.tensor(np.array([1, 2], "float32"))
    assert machine["main"](x, outer).numpy().tolist() == [5, 6]
