"""The program under a schedule: its loops and blocks, and what is known of them."""

import enum
import collections

from ... import _engine
from ..._node import STMT, Object, get
from ...ir.module import IRModule
from ...tirx.functor import copy, parts
from ...tirx.stmt import For, SBlock, SBlockRealize
from ..sblock_scope import Dependency, SBlockScope, StmtSRef

CachedFlags = collections.namedtuple("CachedFlags", ["affine_binding", "region_cover", "stage_pipeline"])


class ScheduleDebugMask(enum.IntEnum):
    """The checks after each instruction; the engine checks always."""

    VERIFY_SREF_TREE, VERIFY_CACHED_FLAGS = 1, 2


class ScheduleState(Object):
    """A module, its loops and blocks by statement, and the facts about its blocks."""

    def __init__(self, mod, *, debug_mask="none", enable_check=True):
        if debug_mask not in ("all", "none") and not isinstance(debug_mask, int):
            raise ValueError(f"Unrecognizable `debug_mask`: {debug_mask}")
        if not isinstance(mod, IRModule):
            mod = IRModule({"main": mod})
        self.mod, self.debug_mask, self.enable_check = mod, debug_mask, enable_check
        self._srefs = {}
        self._learn()

    def _learn(self):
        """Finds the loops and blocks; those that were there are the same ones."""
        before, self._srefs = self._srefs, {}
        self._facts = None
        for func in self.mod.functions.values():
            if hasattr(func, "body"):
                self._collect(func.body, None, before)
        for key, sref in before.items():
            if self._srefs.get(key) is not sref and sref not in self._srefs.values():
                sref.stmt = None

    def _collect(self, node, parent, before):
        if isinstance(node, (For, SBlock)):
            sref = before.get(id(node)) or StmtSRef(node)
            sref.stmt, sref.parent = node, parent
            self._srefs[id(node)] = parent = sref
        for part in parts(node):
            if hasattr(part, "_row_s") or hasattr(part, "_s"):
                self._collect(part, parent, before)

    def get_sref(self, stmt):
        """A loop or block in its place; None where it does not stand in the module."""
        return self._srefs.get(id(stmt))

    def _known(self):
        if self._facts is None:
            self._facts = {}
            words = _engine.call("table_programs", "facts", _engine.words(self.mod._words()))
            at = 0
            while at < len(words):
                count, at = words[at], at + 1
                for _ in range(count):
                    stmt, bits, edges = words[at : at + 3]
                    at += 3
                    found = [words[at + 3 * i : at + 3 * i + 3] for i in range(edges)]
                    at += 3 * edges
                    self._facts[id(_block(stmt))] = bits, found
        return self._facts

    def _get_cached_flags(self, block_sref):
        bits, _ = self._known()[id(block_sref.stmt)]
        return CachedFlags(bool(bits & 1), bool(bits & 2), bool(bits & 4))

    def get_sblock_scope(self, block_sref):
        """The dependencies between the blocks in a block."""
        _, edges = self._known()[id(block_sref.stmt)]
        place = lambda number: self._srefs[id(_block(number))]  # noqa: E731
        return SBlockScope([Dependency(place(src), place(dst), kind) for src, dst, kind in edges])

    def replace(self, src_sref, tgt_stmt, block_sref_reuse=None):
        """Puts another statement in the place of a loop or block."""
        old = src_sref.stmt
        known = isinstance(old, SBlock), isinstance(tgt_stmt, SBlock)
        if known[0] != known[1] or not isinstance(tgt_stmt, (For, SBlock, SBlockRealize)):
            raise TypeError("a block is replaced by a block, and a loop by a loop or a block with values")
        for before, after in (block_sref_reuse or {}).items():
            sref = self._srefs.pop(id(before), None)
            if sref is not None:
                self._srefs[id(after)] = sref
        if isinstance(old, For) and isinstance(tgt_stmt, For) and old.loop_var is tgt_stmt.loop_var:
            self._srefs[id(tgt_stmt)] = self._srefs.pop(id(old))
        made = self.mod.clone()
        for var, func in self.mod.functions.items():
            if hasattr(func, "body"):
                body = _put(func.body, old, tgt_stmt)
                if body is not func.body:
                    made[var] = func.with_body(body)
        self.mod = made
        self._learn()


def _block(number):
    stmt = get(STMT, number)
    return getattr(stmt, "block", stmt)


def _put(node, old, new):
    if node is old:
        return new
    changes = {}
    for name in ("seq", "body", "then_case", "else_case", "block", "init"):
        value = node.__dict__.get(name) if hasattr(node, name) else None
        if isinstance(value, list):
            items = type(value)(_put(item, old, new) for item in value)
            if any(a is not b for a, b in zip(items, value)):
                changes[name] = items
        elif value is not None and (hasattr(value, "_row_s") or hasattr(value, "_s")):
            item = _put(value, old, new)
            if item is not value:
                changes[name] = item
    return copy(node, **changes) if changes else node
