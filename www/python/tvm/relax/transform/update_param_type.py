"""Parameters with other types."""

from ...ir.transform import BuiltInPass, PassInfo, PyModulePass, call_text
from ..expr import Function


def update_param_type_pass(ty_func):
    """See `UpdateParamType`."""
    if not callable(ty_func):
        return BuiltInPass(call_text("UpdateParamType", {"ty_func": ty_func}))

    def apply(mod, ctx):
        types = {}
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                for param in func.params:
                    ty = ty_func(param)
                    if ty is not None:
                        types[f"{var.name_hint}.{param.name}"] = str(ty)
        return BuiltInPass(call_text("UpdateParamType", {"ty_func": types}))(mod) if types else mod

    return PyModulePass(apply, PassInfo(1, "UpdateParamType"))
