"""Tensor programs that can be scheduled."""

import difflib

from ..tirx.stmt import MatchBufferRegion, SBlock, SBlockRealize
from ..tirx.stmt_functor import renew_defs
from . import analysis, dlight, sblock_scope, schedule, transform
from .data_layout import SBijectiveLayout, SLayout, sbijective_layout, slayout
from .sblock_scope import SBlockDependenceInfo, SBlockScope, StmtSRef
from .schedule import Schedule, ScheduleError, ScheduleState, Trace


def _registered(name):
    """One of the intrinsics that TVM registers: the engine has them."""
    from .. import _engine
    from ..ir.module import IRModule

    words = _engine.call("table_intrinsic", name)
    if not len(words):
        return None
    mod = IRModule._of_words(words)
    TensorIntrin._known[name] = TensorIntrin(mod["desc"], mod["impl"])
    return TensorIntrin._known[name]


class TensorIntrin:
    """An intrinsic of hardware as a tensor program, by name."""

    _known = {}

    def __init__(self, desc, impl):
        self.desc, self.impl = desc, impl

    @staticmethod
    def register(name, desc, impl, override=False):
        """Gives a pair of programs a name."""
        if not override and TensorIntrin.get(name, allow_missing=True) is not None:
            raise ValueError(f"TensorIntrin '{name}' has already been registered")
        TensorIntrin._known[name] = TensorIntrin(desc, impl)

    @staticmethod
    def get(name, allow_missing=False):
        """The pair of a name."""
        found = TensorIntrin._known.get(name) or _registered(name)
        if found is None and not allow_missing:
            from .tensor_intrin._names import NAMES

            known = [*TensorIntrin._known, *(other for names in NAMES.values() for other in names.values())]
            near = difflib.get_close_matches(name, known, 1)
            raise ValueError(f"TensorIntrin '{name}' is not registered{f'; did you mean {near[0]}?' if near else ''}")
        return found
