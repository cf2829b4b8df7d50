"""Linked functions for tests of programs that are run, by the names that TVM's tests know."""

import numpy as np

from ... import testing
from ...runtime import convert, tensor
from ...runtime.registry import register_global_func


@register_global_func("test.vm.move")
def move(src):
    """The value as it is."""
    return src


@register_global_func("test.vm.add")
def add(a, b):
    """A sum."""
    return tensor(a.numpy() + b.numpy())


@register_global_func("test.vm.mul")
def mul(a, b):
    """A product."""
    return tensor(a.numpy() * b.numpy())


@register_global_func("test.vm.equal_zero")
def equal_zero(a):
    """True if all elements are zero."""
    return tensor(np.all(a.numpy() == 0))


@register_global_func("test.vm.subtract_one")
def subtract_one(a):
    """One less."""
    return tensor(np.subtract(a.numpy(), 1))


@register_global_func("test.vm.identity")
def identity_packed(a, b):
    """Writes the first tensor into the second."""
    b[:] = tensor(a.numpy())


@register_global_func("test.vm.tile")
def tile_packed(a, b):
    """Writes the first tensor twice, side by side, into the second."""
    b[:] = tensor(np.tile(a.numpy(), (1, 2)))


@register_global_func("test.vm.add_scalar")
def add_scalar(a, b):
    """A sum of numbers."""
    return a + b


@register_global_func("test.vm.get_device_id")
def get_device_id(device):
    """The number of a device."""
    return device.index


@register_global_func("test.vm.check_if_defined")
def check_if_defined(obj):
    """True if there is a value."""
    return convert(obj is not None)


def check_saved_func(vm, func_name, *inputs):
    """Runs a function, and its closure over the same inputs, which has to give the same."""
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    result = vm[func_name](*inputs)
    testing.assert_allclose(result.numpy(), vm[saved]().numpy(), rtol=1e-7, atol=1e-7)
    return result
