"""What the page is told of modules whose constants are large: their texts, and none of their values."""

import json
import sys
import types

import pytest


@pytest.fixture
def report(monkeypatch):
    """Loads scripts as *My passes* does; gives what the page is told, and what is printed."""
    lines = []
    stub = types.ModuleType("_passlab_page")
    stub.print = lines.append
    monkeypatch.setitem(sys.modules, "_passlab_page", stub)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    page = pytest.importorskip("tvm._page")
    from tvm.ir import transform

    yield lambda script: (json.loads(page.load(script)), lines)
    transform._watchers.remove(page._notebook)
    transform.PassContext.current().override_instruments([])
    del sys.modules["tvm._page"]


LARGE = """import numpy as np
import tvm
from tvm import relay

x = relay.var("x", shape=(1000, 700))
ones = relay.const(np.ones((1000, 700), "float32"))
mod = tvm.IRModule.from_expr(relay.Function([x], relay.add(x, ones)))
mod = relay.transform.InferType()(mod)
raw = tvm.IRModule.from_expr(relay.Function([x], relay.subtract(x, ones)))
small = tvm.IRModule.from_expr(relay.add(relay.const(np.ones(2, "float32")), relay.const(1.0)))
"""


def test_a_step_of_a_module_with_large_constants_is_kept_without_their_values(report):
    told, printed = report(LARGE)
    steps, modules = ([each["text"] for each in told[kind]] for kind in ("steps", "modules"))
    assert ["#[metadata]" in text for text in steps] == [False, False, False, True]
    assert ["#[metadata]" in text for text in modules] == [False, False, True]
    # Without a type in the text the page could not read it: two of the modules were not inferred yet.
    for text in [*steps[:-1], *modules[:-1]]:
        assert "meta[relay.Constant][0] /* ty=Tensor[(1000, 700), float32] */" in text
    assert printed == []


def test_of_more_steps_than_there_is_room_for_it_is_said_how_many_are_kept(report):
    # Each of the two texts holds the name twice, and the room is for two million characters.
    told, printed = report(LARGE.replace('relay.var("x"', 'relay.var("x" * 700_000'))
    assert len(told["steps"]) == 1
    assert len(told["modules"]) == 1
    assert [line.split(".")[0] for line in printed] == ["Modules kept: 1", "Steps kept: 1"]


MANY = """import tvm
from tvm import relay

x = relay.var("x", shape=(2,))
mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
for at in range(510):
    mod = relay.transform.InferType()(mod)
for at in range(110):
    globals()[f"mod{at}"] = tvm.IRModule.from_expr(relay.const(float(at)))
"""


def test_of_many_steps_and_modules_the_first_are_kept_and_it_is_said(report):
    told, printed = report(MANY)
    assert len(told["modules"]) == 100
    assert printed == ["Steps kept: the first 500; 10 more passes ran.", "Modules kept: the first 100."]
