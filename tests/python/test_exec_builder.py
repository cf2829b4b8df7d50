"""Executables that are written by hand, instruction by instruction."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax.testing import vm as _functions  # noqa: F401


def _tensor(*values):
    return tvm.runtime.tensor(np.array(values, "float32"))


def _machine(builder):
    return relax.VirtualMachine(builder.get(), tvm.cpu())


def test_registers_are_numbered_in_the_order_of_writing():
    ib = relax.ExecBuilder()
    with ib.function("twice", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(90))
        ib.emit_call("test.vm.mul", args=[ib.r(90), ib.imm(-2)], dst=ib.r(7))
        ib.emit_ret(ib.r(7))
    text = ib.get().as_text()
    assert "  call  test.vm.add      in: %0, %1       dst: %2\n" in text
    assert "  call  test.vm.mul      in: %2, i-2      dst: %3\n  ret   %3\n" in text
    assert 'ib.emit_call("test.vm.mul", args=[ib.r(2), ib.imm(-2)], dst=ib.r(3))' in ib.get().as_python()


def test_a_function_calls_another_and_branches():
    ib = relax.ExecBuilder()
    with ib.function("sum", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("main", num_inputs=3):
        ib.emit_call("vm.builtin.read_if_cond", args=[ib.r(0)], dst=ib.r(3))
        ib.emit_if(ib.r(3), 3)
        ib.emit_call("sum", args=[ib.r(1), ib.r(2)], dst=ib.r(4))
        ib.emit_goto(2)
        ib.emit_call("sum", args=[ib.r(1), ib.r(1)], dst=ib.r(4))
        ib.emit_ret(ib.r(4))
    machine = _machine(ib)
    for cond, wanted in ((True, 3), (False, 2)):
        given = tvm.runtime.tensor(np.array(cond))
        assert machine["main"](given, _tensor(1), _tensor(2)).numpy().tolist() == [wanted]


def test_equal_constants_are_one_and_numbers_stand_for_themselves():
    ib = relax.ExecBuilder()
    assert ib.convert_constant("a") == ib.convert_constant("a")
    assert ib.convert_constant(_tensor(1, 2)) == ib.convert_constant(_tensor(1, 2))
    assert ib.convert_constant("b") == ib.c(2)
    assert ib.convert_constant(5) == ib.imm(5)
    assert 'Constant pool (# 3): ["a", [2], "b"]' in ib.get().stats()


def test_a_register_is_written_before_it_is_read():
    ib = relax.ExecBuilder()
    with ib.function("f", num_inputs=1):
        ib.emit_call("test.vm.add", args=[ib.r(5), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    with pytest.raises(tvm.error.InternalError, match=r"register r\(5\)"):
        ib.get()


def test_instructions_stand_in_a_function():
    with pytest.raises(ValueError, match="function scope"):
        relax.ExecBuilder().emit_ret(0)


def test_inputs_are_set_by_place_and_kept():
    ib = relax.ExecBuilder()
    with ib.function("f", num_inputs=2, param_names=["a", "b"]):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    machine = _machine(ib)
    machine.set_input("f", _tensor(1), _tensor(2))
    machine.invoke_stateful("f")
    assert machine.get_outputs("f").numpy().tolist() == [3]
    with pytest.raises(tvm.error.InternalError, match="expects 2 arguments"):
        relax.VirtualMachine(ib.get(), tvm.cpu())["f"](_tensor(1))
