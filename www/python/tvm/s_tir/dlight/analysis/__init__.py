"""Facts about blocks that rules ask for."""

from ....error import InternalError
from ....ir.expr import Var
from ....tirx.expr import IntImm
from ....tirx.function import IndexMap
from ...schedule import ScheduleError


class IterInfo:
    """An axis of a block: spatial (`S`), a reduction (`R`) or another (`O`), with its loop."""

    def __init__(self, kind, var, dom, loop_rv):
        self.kind = kind
        self.var = var
        self._dom = dom
        self.loop_rv = loop_rv

    @property
    def dom(self):
        """The number of iterations of the loop."""
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
        """The number of iterations of each loop."""
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


def _is_normal(sch, rv):
    """True if the loops over a block begin at zero and are its axes, in order."""
    loops = [sch.get(loop) for loop in sch.get_loops(rv)]
    values = list(getattr(loops[-1].body, "iter_values", ())) if loops else []
    return len(values) == len(loops) and all(a.same_as(loop.loop_var) and isinstance(loop.min, IntImm) and loop.min.value == 0 for a, loop in zip(values, loops))


def _without_unit_axes(sch, rv):
    """Leaves out the axes of a block that have one value; a block without a spatial axis gets one."""
    iters = sch.get(rv).iter_vars
    names = [Var(axis.var.name, axis.var.ty.dtype) for axis in iters]
    kept = [(name, axis) for name, axis in zip(names, iters) if not (isinstance(axis.dom.extent, IntImm) and axis.dom.extent.value == 1)]
    outputs = [name for name, _ in kept]
    if not any(int(axis.iter_type) == 0 for _, axis in kept):
        outputs.insert(0, IntImm("int64", 0))
    try:
        sch.transform_block_layout(rv, IndexMap(names, outputs, None))
    except (ScheduleError, InternalError):
        pass


def normalize_prim_func(sch):
    """The blocks of a function whose loops are the axes of its blocks; nothing for others, which TVM rewrites first."""
    blocks = sch.get_child_blocks(sch.get_sblock("root"))
    if not all(_is_normal(sch, rv) for rv in blocks if sch.get_loops(rv)):
        return None
    infos = []
    for rv in blocks:
        _without_unit_axes(sch, rv)
        block, kinds = sch.get(rv), {0: "S", 2: "R"}
        axes = [IterInfo(kinds.get(int(axis.iter_type), "O"), axis.var, axis.dom.extent, loop) for axis, loop in zip(block.iter_vars, sch.get_loops(rv))]
        reduction = block.init is not None or any(axis.kind == "R" for axis in axes)
        infos.append(SBlockInfo(block.name_hint, axes, rv, reduction))
    return infos
