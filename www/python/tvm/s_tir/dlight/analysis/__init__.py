"""What rules ask about blocks."""

from ....tirx.expr import IntImm


class IterInfo:
    """An axis of a block: spatial (`S`), a reduction (`R`) or another (`O`), with its loop."""

    def __init__(self, kind, var, dom, loop_rv):
        self.kind = kind
        self.var = var
        self._dom = dom
        self.loop_rv = loop_rv

    @property
    def dom(self):
        """How often the loop runs."""
        return int(self._dom) if isinstance(self._dom, IntImm) else self._dom

    def __str__(self):
        return f'Iter("{self.kind}", {self.dom})'

    __repr__ = __str__


class SBlockInfo:
    """A block with its axes."""

    def __init__(self, name, iters, block_rv, reduction_block=False):
        self.name = name
        self.iters = iters
        self.block_rv = block_rv
        self._reduction_block = reduction_block

    def dom(self):
        """How often each loop runs."""
        return [axis.dom for axis in self.iters]

    def dom_kind(self):
        """The kinds of all axes: `SSR`."""
        return "".join(axis.kind for axis in self.iters)

    def is_injective(self):
        """True if no axis is a reduction."""
        return all(kind == "S" for kind in self.dom_kind())

    def is_reduction(self):
        """True if it has a reduction."""
        return self._reduction_block

    def is_elementwise(self, sch):
        """True if each element depends on the one at its own place."""
        block = sch.get(self.block_rv)
        if not self.is_injective() or len(block.reads) != 1 or len(block.writes) != 1:
            return False
        read, write = block.reads[0].region, block.writes[0].region
        axes = [axis.var for axis in block.iter_vars]
        at = [all(dom.min.same_as(var) and dom.extent == 1 for dom in doms) for var, *doms in zip(axes, read, write)]
        return len(read) == len(write) and all(at)

    def get_loops(self):
        """The loops of its axes."""
        return [axis.loop_rv for axis in self.iters]

    def __str__(self):
        return f'SBlockInfo("{self.name}", "{self.dom_kind()}", {self.dom()})'

    __repr__ = __str__


def normalize_prim_func(sch):
    """The blocks of a function whose loops are the axes of its blocks; nothing for others, which TVM rewrites first."""
    infos = []
    for rv in sch.get_child_blocks(sch.get_sblock("root")):
        block, loops = sch.get(rv), list(sch.get_loops(rv))
        inner = sch.get(loops[-1]).body if loops else None
        values = list(getattr(inner, "iter_values", ()))
        stmts = [sch.get(loop) for loop in loops]
        if len(values) != len(loops) or not all(a.same_as(b.loop_var) for a, b in zip(values, stmts)):
            return None
        kinds = {0: "S", 2: "R"}
        axes = [
            IterInfo(kinds.get(int(axis.iter_type), "O"), axis.var, axis.dom.extent, loop)
            for axis, loop in zip(block.iter_vars, loops)
        ]
        reduction = block.init is not None or any(axis.kind == "R" for axis in axes)
        infos.append(SBlockInfo(block.name_hint, axes, rv, reduction))
    return infos
