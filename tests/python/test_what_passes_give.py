"""The object that a pass gives, and what becomes of instruments that raise."""

import pytest
import tvm
from tvm import relax


def _module(name):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with bb.function(name, [x]):
        bb.emit_func_output(bb.emit(relax.op.exp(x)))
    return bb.get()


def test_the_module_that_a_pass_returns_is_the_result():
    before, after = _module("before"), _module("after")

    @tvm.transform.module_pass(opt_level=0)
    def replace(mod, ctx):
        return after

    assert replace(before).same_as(after)
    assert tvm.transform.Sequential([replace, replace])(before).same_as(after)


def test_a_pass_within_a_pass_keeps_its_result():
    before, after = _module("before"), _module("after")

    @tvm.transform.module_pass(opt_level=0)
    def inner(mod, ctx):
        return after

    @tvm.transform.module_pass(opt_level=0)
    def outer(mod, ctx):
        return inner(mod)

    assert outer(before).same_as(after)


def test_the_module_is_printed_where_tvm_logs(capfd):
    tvm.transform.PrintIR("here")(_module("shown"))
    printed = capfd.readouterr().err
    assert "PrintIR(here)" in printed
    assert "def shown" in printed


@pytest.mark.parametrize("when", ["enter_pass_ctx", "exit_pass_ctx"])
def test_instruments_go_where_one_of_them_raises(when):
    def fail(self):
        raise RuntimeError("on purpose")

    bad = tvm.instrument.pass_instrument(type("Bad", (), {when: fail}))()
    ctx = tvm.transform.PassContext(instruments=[bad])
    with pytest.raises(RuntimeError, match="on purpose"):
        with ctx:
            pass
    assert not list(ctx.instruments or [])
