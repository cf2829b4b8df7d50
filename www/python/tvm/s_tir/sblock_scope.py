"""Loops and blocks of a program under transformation, and which blocks depend on each other."""

import enum

from .._node import Object
from .._values import Array


class StmtSRef(Object):
    """A loop or block in its place."""

    def __init__(self, stmt, parent=None, seq_index=-1):
        self.stmt, self.parent, self.seq_index = stmt, parent, seq_index

    @staticmethod
    def inline_mark():
        """In the place of a loop: the block is written out where it is used."""
        return _INLINE

    @staticmethod
    def root_mark():
        """In the place of a loop: the block stays where it is."""
        return _ROOT


_INLINE, _ROOT = StmtSRef(None), StmtSRef(None)


class DepKind(enum.IntEnum):
    """The way in which one block depends on another: read after write, write after write, write after read, unknown."""

    RAW, WAW, WAR, OPAQUE = range(4)


class Dependency(Object):
    """One block that depends on another."""

    def __init__(self, src, dst, kind):
        self.src, self.dst, self.kind = src, dst, DepKind(kind)


class SBlockScope(Object):
    """The blocks in a block, and how they depend on each other."""

    def __init__(self, dependencies):
        self._all = dependencies

    def get_deps_by_src(self, block):
        """The dependencies of other blocks on a block."""
        return Array(item for item in self._all if item.src is block)

    def get_deps_by_dst(self, block):
        """The dependencies of a block on other blocks."""
        return Array(item for item in self._all if item.dst is block)


class SBlockDependenceInfo(Object):
    """The dependencies between the blocks of a module."""

    def __init__(self, mod):
        from .schedule.state import ScheduleState

        self._state = ScheduleState(mod)

    def get_sref(self, block):
        """A block in its place."""
        return self._state.get_sref(block)

    def get_sblock_scope(self, block_sref):
        """The dependencies between the blocks in a block."""
        return self._state.get_sblock_scope(block_sref)
