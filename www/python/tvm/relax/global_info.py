"""Devices that tensors are on."""

from .._values import OtherObject, object_classes
from ..ir.global_info import GlobalInfo


class DummyGlobalInfo(GlobalInfo):
    """A global info that says nothing."""

    def _structural(self):
        return []

    def __repr__(self):
        return "relax.DummyGlobalInfo"

    def _row_o(self, w):
        w.text("DummyGlobalInfo")
        w.maybe_text(None)
        w.number(0)
        w.fields([])

    def _loaded(self):
        pass


def _written(value):
    """A target as it stands in a program: its fields in order, and integers of 64 bits."""
    from ..tirx import IntImm

    if isinstance(value, dict):
        return {key: _written(field) for key, field in sorted(value.items())}
    return IntImm("int64", value) if type(value) is int else value


class VDevice(GlobalInfo):
    """A device that a program may name before there is one."""

    def __init__(self, target=None, vdevice_id=0, memory_scope="global"):
        from ..target import Target

        if isinstance(target, (str, dict)):
            target = Target(target)
        self.target = target
        self.vdevice_id = int(vdevice_id)
        self.memory_scope = memory_scope

    @staticmethod
    def of_text(text):
        """The device that `llvm:0:global` names."""
        kind, _, rest = text.partition(":")
        index, _, scope = rest.partition(":")
        return VDevice(kind, int(index or 0), scope or "global")

    def __repr__(self):
        return f'relax.VDevice(target={self.target}, vdevice_id={self.vdevice_id}, memory_scope="{self.memory_scope}")'

    def _structural(self):
        return [self.target and self.target.export(), self.vdevice_id, self.memory_scope]

    def _loaded(self):
        from ..target import Target

        fields = self._fields
        target = fields.get("target")
        self.target = target if isinstance(target, Target) or target is None else Target(target)
        self.vdevice_id = int(fields.get("vdevice_id", 0))
        self.memory_scope = fields.get("memory_scope", "global")

    def _row_o(self, w):
        w.text("VDevice")
        w.maybe_text(None)
        w.number(0)
        w.fields(
            [
                ("target", self.target and _written(self.target.export())),
                ("vdevice_id", self.vdevice_id),
                ("memory_scope", self.memory_scope),
            ]
        )


object_classes["relax.VDevice"] = VDevice
object_classes["VDevice"] = VDevice
object_classes["relax.DummyGlobalInfo"] = DummyGlobalInfo
object_classes["DummyGlobalInfo"] = DummyGlobalInfo
_ = OtherObject
