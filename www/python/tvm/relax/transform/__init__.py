"""Passes over programs of Relax."""

import sys

from ..._catalogue import passes
from ...ir.module import IRModule
from ...ir.transform import ModulePass, Pass, PassInfo, PyModulePass, UserPass, decorator, make_factory


def _fill():
    here = sys.modules[__name__]
    for dialect in ("relay", "tir", "relax"):
        for name, item in passes(dialect).items():
            if "." not in name and "relax" in item["dialects"]:
                setattr(here, name, make_factory(name, item, "relax"))


_fill()


class FunctionPass(Pass):
    """A pass over the functions of Relax."""


class DataflowBlockPass(Pass):
    """A pass over dataflow blocks."""


class PyFunctionPass(PyModulePass, FunctionPass):
    """A pass of the user's over functions."""

    def _apply(self, mod):
        from ...ir.transform import PassContext
        from ..expr import Function

        made = mod.clone()
        changed = False
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                new = self._function(func, made, PassContext.current())
                if not isinstance(new, Function):
                    raise TypeError(f"a function pass must return a function, not {type(new).__name__}")
                if new is not func:
                    made[var] = new
                    changed = True
        return made if changed else mod


class PyDataflowBlockPass(PyModulePass, DataflowBlockPass):
    """A pass of the user's over dataflow blocks."""

    def _apply(self, mod):
        from ...ir.transform import PassContext
        from ..expr import Function
        from ..expr_functor import map_dataflow_blocks

        made = mod.clone()
        changed = False
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                new = map_dataflow_blocks(func, made, lambda block: self._function(block, made, PassContext.current()))
                if new is not func:
                    made[var] = new
                    changed = True
        return made if changed else mod


def function_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Makes a pass over functions of a function `(func, mod, ctx)` or of a class with `transform_function`."""
    return decorator(
        pass_func, opt_level, name, required, traceable, PyFunctionPass, "transform_function", "function pass"
    )


def dataflowblock_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Makes a pass over dataflow blocks of a function `(block, mod, ctx)` or of a class with `transform_dataflowblock`."""
    return decorator(
        pass_func,
        opt_level,
        name,
        required,
        traceable,
        PyDataflowBlockPass,
        "transform_dataflowblock",
        "dataflowblock pass",
    )


def _rename_globals(mod, replacements):
    from ..expr_functor import rename_globals

    return rename_globals(mod, replacements)


transform = sys.modules[__name__]
sys.modules[__name__ + ".transform"] = transform
_ = (IRModule, ModulePass, PassInfo, UserPass)
