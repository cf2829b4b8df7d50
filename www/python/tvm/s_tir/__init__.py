"""Tensor programs that can be scheduled."""

from ..tirx.stmt import MatchBufferRegion, SBlock, SBlockRealize
from ..tirx.stmt_functor import renew_defs
from . import analysis, dlight, sblock_scope, schedule, transform
from .sblock_scope import SBlockDependenceInfo, SBlockScope, StmtSRef
from .schedule import Schedule, ScheduleError, ScheduleState, Trace


class TensorIntrin:
    """An intrinsic of hardware as a tensor program, by name."""

    _known = {}

    def __init__(self, desc, impl):
        self.desc, self.impl = desc, impl

    @staticmethod
    def register(name, desc, impl, override=False):
        """Gives a pair of programs a name."""
        if name in TensorIntrin._known and not override:
            raise ValueError(f"TensorIntrin '{name}' has already been registered")
        TensorIntrin._known[name] = TensorIntrin(desc, impl)

    @staticmethod
    def get(name, allow_missing=False):
        """The pair of a name."""
        found = TensorIntrin._known.get(name)
        if found is None and not allow_missing:
            raise ValueError(f"TensorIntrin '{name}' is not registered")
        return found
