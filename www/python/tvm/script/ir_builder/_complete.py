"""Completes a tensor program: its root block, and the regions that its blocks read and write."""

from ...tirx import stmt as _stmt
from ...tirx.buffer import is_buffer_var
from ...tirx.expr import IntImm
from ...tirx.functor import copy, post_order_visit, rebuild

DETECT = "tirx.script_parsing_detect_access"
"""The annotation of a block that does not say what it reads (1), what it writes (2) or either (3)."""


def complete(params, body, allocated):
    """The body of a program over parameters, with buffers of its root block."""
    if allocated or _needs_root(body):
        root = _stmt.SBlock([], [], [], "root", body, None, allocated)
        body = _stmt.SBlockRealize([], IntImm("bool", 1), root)
    known = {param.data: param for param in params if is_buffer_var(param)}
    return _Regions(known).visit(body)


def _needs_root(body):
    if isinstance(body, _stmt.SBlockRealize):
        return bool(body.block.iter_vars)
    found = []
    post_order_visit(body, lambda node: found.append(node) if isinstance(node, _stmt.SBlockRealize) else None)
    return bool(found)


class _Regions:
    """Fills in the regions of blocks that tell none."""

    def __init__(self, known):
        self.known = known
        self.is_root = True

    def visit(self, node):
        """A statement with its regions; scalars stay as they are."""
        if not isinstance(node, _stmt.Stmt):
            return node
        if isinstance(node, (_stmt.AllocBuffer, _stmt.DeclBuffer)):
            self.known.setdefault(node.buffer.data, node.buffer)
        return self.block(node) if isinstance(node, _stmt.SBlock) else rebuild(node, self.visit)

    def block(self, node):
        """A block, whose own buffers count for the blocks inside of it only."""
        from ...s_tir.analysis import get_sblock_access_region

        own = [*node.alloc_buffers, *(match.buffer for match in node.match_buffers)]
        self.known.update((buffer.data, buffer) for buffer in own)
        is_root, self.is_root = self.is_root, False
        made = rebuild(node, self.visit)
        self.is_root = is_root
        for buffer in own:
            self.known.pop(buffer.data, None)
        missing = node.annotations.get(DETECT) if node.annotations else None
        if missing is None:
            return made
        reads, writes, unknown = get_sblock_access_region(made, self.known)
        if unknown:
            raise ValueError("regions of a block cannot be found where it uses the pointer of a buffer: T.reads and T.writes say them")
        changes = {"annotations": {key: value for key, value in node.annotations.items() if key != DETECT}}
        if not is_root:
            changes |= {name: region for name, region, bit in (("reads", reads, 1), ("writes", writes, 2)) if int(missing) & bit}
        return copy(made, **changes)
