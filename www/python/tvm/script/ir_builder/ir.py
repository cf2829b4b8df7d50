"""`I`: modules, call by call."""

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


def module_global_infos(infos):
    """Sets what all functions of the module may name."""
    innermost(IRModuleFrame, "I.ir_module()").infos = infos
