"""A device of a module is replaced by another one."""

from ...ir.op import Op
from ...ir.transform import PassInfo, PyModulePass
from ...ir.type import TensorType
from ..expr import Function
from ..op import to_vdevice
from .bind import _Substitute


class _Update(_Substitute):
    """Replaces a device in types and attributes."""

    def __init__(self, mod, old, new):
        super().__init__(mod, {})
        self._old, self._new = old, new

    def visit_type(self, ty):
        if not isinstance(ty, TensorType):
            return super().visit_type(ty)
        if ty.vdevice is None or ty.vdevice != self._old:
            return ty
        return TensorType(ty.shape, ty.dtype, self._new, -1 if ty.shape is not None else ty.ndim)

    def visit_call_(self, op):
        call = super().visit_call_(op)
        if call.op == Op.get("relax.to_vdevice") and call.attrs["dst_vdevice"] == self._old:
            return to_vdevice(call.args[0], self._new)
        return call


def update_vdevice_pass(new_vdevice, index):
    """See `UpdateVDevice`."""

    def apply(mod, ctx):
        devices = list(mod.global_infos["vdevice"])
        if not 0 <= index < len(devices):
            raise IndexError(f"there is no device {index} among the {len(devices)} of the module")
        old = devices[index]
        made = mod.clone()
        made.update_global_info("vdevice", [new_vdevice if device == old else device for device in devices])
        mutator = _Update(made, old, new_vdevice)
        for var, func in mod.functions_items():
            if isinstance(func, Function):
                made[var] = mutator.visit_expr(func)
        return made

    return PyModulePass(apply, PassInfo(0, "UpdateVDevice"))
