"""`I`: modules, call by call."""

from ..ir import dummy_global_info, vdevice  # noqa: F401
from .base import Frame, innermost


class IRModuleFrame(Frame):
    """A module that is being built."""

    def __init__(self):
        self.functions, self.variables, self.attrs, self.infos = {}, {}, None, {}

    def declare(self, name, func):
        """Adds a function under a name."""
        from ...ir.expr import GlobalVar

        if name in self.variables:
            raise ValueError(f"function {name} already exists")
        self.functions[name] = func
        self.variables[name] = GlobalVar(name)
        return self.variables[name]

    def add(self, made):
        """Adds a function under the name that it was given."""
        name, func = made
        if name not in self.variables:
            self.declare(name, func)
        self.functions[name] = func

    def close(self):
        """Makes the module."""
        from ...ir.module import IRModule

        made = IRModule({self.variables[name]: func for name, func in self.functions.items()})
        if self.attrs:
            made = made.with_attrs(self.attrs)
        if self.infos:
            made.global_infos.update(self.infos)
        self.give(made)


def ir_module():
    """Opens a module."""
    return IRModuleFrame()


def decl_function(func_name, func_signature):
    """Declares a function of the module."""
    return innermost(IRModuleFrame, "I.ir_module()").declare(func_name, func_signature)


def def_function(func_name, func):
    """Gives a declared function its body."""
    frame = innermost(IRModuleFrame, "I.ir_module()")
    if func_name not in frame.variables:
        raise ValueError(f"function {func_name} does not exist, please declare it first.")
    frame.functions[func_name] = func


def module_attrs(attrs, allow_overwrite=False):
    """Sets the attributes of the module."""
    frame = innermost(IRModuleFrame, "I.ir_module()")
    if frame.attrs and not allow_overwrite:
        raise ValueError(f"Duplicate module attrs, previous one is:\n{frame.attrs}")
    frame.attrs = attrs


def module_get_attr(attr_key):
    """An attribute of the module; None where it has none of the name."""
    return (innermost(IRModuleFrame, "I.ir_module()").attrs or {}).get(attr_key)


def module_set_attr(attr_key, attr_value, allow_overwrite=False):
    """Sets an attribute of the module."""
    frame = innermost(IRModuleFrame, "I.ir_module()")
    if not allow_overwrite and attr_key in (frame.attrs or {}):
        raise ValueError(f"Duplicate module attr {attr_key}")
    frame.attrs = {**(frame.attrs or {}), attr_key: attr_value}


def module_global_infos(global_infos):
    """Sets what all functions of the module may name."""
    innermost(IRModuleFrame, "I.ir_module()").infos = global_infos


def lookup_name(name):
    """True if the module has a function of a name."""
    return name in innermost(IRModuleFrame, "I.ir_module()").variables


def lookup_vdevice(target_kind=None, device_index=-1):
    """The device of a kind and a number among the global infos of the module."""
    devices = list(innermost(IRModuleFrame, "I.ir_module()").infos.get("vdevice", ()))
    if target_kind is not None:
        devices = [device for device in devices if device.target.kind.name == target_kind]
    if not devices:
        raise ValueError(f"The module has no device {target_kind or ''}")
    return devices[max(device_index, 0)]


def meta_var(value):
    """A value of Python under a name, which no variable of the program stands for."""
    return value
