"""Questions about schedules: layouts that suit an access, and how a block matches the description of an intrinsic."""

from ..._node import Object
from ..._values import Array, Map
from ...ir.expr import Range, Var
from ...sym import Analyzer
from ...sym.iter_affine_map import IterMapLevel, IterSumExpr, detect_iter_map
from ...tirx import op
from ...tirx.expr import BufferLoad, IntImm
from ...tirx.function import IndexMap
from ...tirx.functor import fields_of, parts, pre_order_visit
from ...tirx.stmt import BufferStore, For, SBlock, SBlockRealize, SeqStmt
from .schedule import ScheduleError


def _int(value):
    return value.value if isinstance(value, IntImm) else None


def _splits(index, loops, predicate, analyzer):
    """The digits of loop variables that an index is made of: variable, lower factor, extent."""
    ranges = {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in loops}
    found = detect_iter_map([analyzer.simplify(index)], ranges, predicate, IterMapLevel.Surjective).indices
    made, todo = [], list(found)
    while todo:
        item = todo.pop(0)
        if isinstance(item, IterSumExpr):
            todo = [*item.args, *todo]
            continue
        source = item.source.source
        if isinstance(source, Var):
            lower, extent = _int(item.lower_factor), _int(item.extent)
            if lower is None or extent is None:
                return []
            made.append((source, lower, extent))
        else:
            todo = [source, *todo]
    return made


def suggest_index_map(buffer, indices, loops, predicate):
    """The layout of a buffer in which an access under loops goes through it in order; None if there is none."""
    analyzer = Analyzer()
    dtype = buffer.shape[0].dtype if len(buffer.shape) else "int32"
    strides = list(buffer.strides)
    if not strides:
        stride = IntImm(dtype, 1)
        for extent in reversed(buffer.shape):
            strides.insert(0, stride)
            stride = stride * extent

    def flat(items):
        total = IntImm(dtype, 0)
        for stride, item in zip(strides, items):
            total = total + stride * item
        return total

    splits = _splits(flat(indices), loops, predicate, analyzer)
    if not splits:
        return None
    place = {id(loop.loop_var): at for at, loop in enumerate(loops)}
    order = sorted(range(len(splits)), key=lambda at: (place[id(splits[at][0])], -splits[at][1]))

    def forward(*items):
        for item, extent in zip(items, buffer.shape):
            analyzer.bind(item, Range.from_min_extent(0, extent))
        index, digits = flat(items), []
        for _, _, extent in reversed(splits):
            index = analyzer.simplify(index)
            digits.insert(0, analyzer.simplify(op.floormod(index, extent)))
            index = op.floordiv(index, extent)
        return [digits[at] for at in order]

    def inverse(*items):
        sorted_items = [None] * len(items)
        for item, at in zip(items, order):
            sorted_items[at] = item
        total, stride = IntImm(items[0].dtype, 0), 1
        for item, (_, _, extent) in zip(sorted_items, splits):
            analyzer.bind(item, Range.from_min_extent(0, extent))
        for item, (_, _, extent) in zip(reversed(sorted_items), reversed(splits)):
            total = item * stride + total
            stride *= extent
        made = []
        for extent in reversed(buffer.shape):
            made.insert(0, analyzer.simplify(op.floormod(total, extent)))
            total = op.floordiv(total, extent)
        return made

    def mapped(function, count, back=None):
        names = [Var(f"i{at}", "int32") for at in range(count)]
        return IndexMap(names, function(*names), back)

    return mapped(forward, len(buffer.shape), mapped(inverse, len(splits)))


class TensorizeInfo(Object):
    """The map from the loops around a block to those of a description."""

    def __init__(self, loop_map, desc_loop_indexer, block_iter_paddings):
        self.loop_map, self.desc_loop_indexer = Map(loop_map), Map(desc_loop_indexer)
        self.block_iter_paddings = block_iter_paddings


class AutoTensorizeMappingInfo(Object):
    """The map from the variables of a block to those of a description."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def _description(func):
    """The block of a description and the loops around it."""
    node, loops = func.body.block.body, []
    while not isinstance(node, SBlockRealize):
        if isinstance(node, For):
            loops.append(node)
        node = parts(node)[-1]
    return node, loops


def _realize(sch, block):
    """A block with the values of its variables, and the loops right around it."""
    stmt, found = sch.get(block), []
    todo = [(func.body, []) for func in sch.mod.functions.values() if hasattr(func, "body")]
    while todo:
        node, loops = todo.pop()
        if isinstance(node, SBlockRealize) and node.block is stmt:
            found = loops
            break
        inside = [*loops, node] if isinstance(node, For) and not isinstance(node.body, SeqStmt) else loops if isinstance(node, SBlockRealize) else []
        inside = [] if isinstance(node, SBlock) else inside
        todo += [(part, inside) for part in parts(node)]
    else:
        return None, []
    return node, found


def _uses(value, variables):
    known, found = {id(var) for var in variables}, []
    pre_order_visit(value, lambda part: found.append(part) if id(part) in known else None)
    return bool(found)


def get_tensorize_loop_mapping(sch, block, desc_func, allow_padding=False):
    """The loops around a block that stand for those of a description; None if they do not fit."""
    analyzer = Analyzer()
    realize, loops = _realize(sch, block)
    desc, desc_loops = _description(desc_func)
    if any(_int(analyzer.simplify(loop.min)) != 0 for loop in loops):
        return None
    iters, desc_iters = realize.block.iter_vars, desc.block.iter_vars
    if len(iters) < len(desc_iters):
        return None
    loop_map, paddings, following = {}, {}, len(loops) - 1
    taken = set()
    for at in range(len(desc_iters) - 1, -1, -1):
        kind, desc_loop = desc_iters[at].iter_type, None
        for index, loop in enumerate(desc_loops):
            if not _uses(analyzer.simplify(desc.iter_values[at] - loop.loop_var), [item.loop_var for item in desc_loops]):
                desc_loop, kind = loop, desc_iters[index].iter_type
                break
        if desc_loop is None or _int(desc_loop.extent) is None:
            return None
        current = following
        while current >= 0 and iters[current].iter_type != kind:
            current -= 1
        if current < 0:
            return None
        following = current - 1
        for loop in loops:
            if id(loop) in taken:
                continue
            residual = analyzer.simplify(realize.iter_values[current] - loop.loop_var)
            if _uses(residual, [item.loop_var for item in loops]):
                continue
            allow_padding = allow_padding and _int(residual) == 0
            extent = _int(loop.extent)
            if extent is None:
                return None
            if extent % desc_loop.extent.value:
                if not allow_padding:
                    return None
                paddings[current] = desc_loop.extent.value
            taken.add(id(loop))
            loop_map[sch.get_sref(loop)] = desc_loop
            break
    if paddings and not allow_padding:
        return None
    padded = Array(paddings.get(at, 1) for at in range(len(iters))) if paddings else None
    return TensorizeInfo(loop_map, {loop: at for at, loop in enumerate(desc_loops)}, padded)


class _Comparison:
    """Two bodies that are the same up to buffers and indices."""

    def __init__(self):
        self.buffers, self.indices, self.desc_indices = {}, {}, {}

    def access(self, ours, theirs):
        """Notes an access of a buffer, which always stands for the same one."""
        known = self.buffers.setdefault(theirs.buffer, ours.buffer)
        if known is not ours.buffer or theirs.buffer.dtype != ours.buffer.dtype:
            return False
        if [ours.buffer] != [self.buffers[key] for key in self.buffers if self.buffers[key] is ours.buffer]:
            return False
        first = self.indices.setdefault(ours.buffer, list(ours.indices))
        if len(first) != len(ours.indices) or any(str(a) != str(b) for a, b in zip(first, ours.indices)):
            return False
        self.desc_indices.setdefault(theirs.buffer, Array(theirs.indices))
        return True

    def same(self, ours, theirs):
        """True if two statements or scalars are the same in this sense."""
        if type(ours) is not type(theirs):
            return False
        if isinstance(ours, (BufferLoad, BufferStore)):
            return self.access(ours, theirs) and (isinstance(ours, BufferLoad) or self.same(ours.value, theirs.value))
        if isinstance(ours, Var):
            return True
        if not fields_of(ours):
            return str(ours) == str(theirs)
        if getattr(ours, "dtype", None) != getattr(theirs, "dtype", None) or getattr(ours, "op", None) is not getattr(theirs, "op", None):
            return False
        left, right = parts(ours), parts(theirs)
        return len(left) == len(right) and all(self.same(a, b) for a, b in zip(left, right))


def _mapping(compared, iters, desc_iters):
    """The map that makes variables of a description of those of a block; None if there is not exactly one."""
    order = list(compared.buffers)

    def used(table, variables):
        masks = {id(item.var): set() for item in variables}
        for at, buffer in enumerate(order):
            for index in table[buffer]:
                pre_order_visit(index, lambda part, at=at: masks[id(part)].add(at) if id(part) in masks else None)
        return masks

    ours = used({buffer: compared.indices[compared.buffers[buffer]] for buffer in order}, iters)
    theirs = used(compared.desc_indices, desc_iters)
    source = [Var(item.var.name, item.var.dtype) for item in iters]
    fused, free, taken = {id(item.var): IntImm(item.var.dtype, 0) for item in desc_iters}, [], set()
    for var, item in zip(source, iters):
        found = [other for other in desc_iters if theirs[id(other.var)] == ours[id(item.var)] and other.iter_type == item.iter_type]
        if not found:
            free.append(var)
        elif len(found) > 1:
            return None
        else:
            key = id(found[0].var)
            fused[key] = fused[key] * item.dom.extent + var
            taken.add(key)
    if any(id(item.var) not in taken for item in desc_iters):
        return None
    analyzer = Analyzer()
    return IndexMap(source, [*free, *(analyzer.simplify(fused[id(item.var)]) for item in desc_iters)], None)


def get_auto_tensorize_mapping_info(sch, block, desc_func):
    """The map that puts a block into the form of a description; None if it does something else."""
    ours, (theirs, _) = sch.get(block), _description(desc_func)
    compared = _Comparison()
    if not compared.same(ours.body, theirs.block.body):
        return None
    mapping = _mapping(compared, list(ours.iter_vars), list(theirs.block.iter_vars))
    if mapping is None:
        return None
    return AutoTensorizeMappingInfo(
        mappings=Array([mapping]),
        lhs_buffer_map=Map({value: key for key, value in compared.buffers.items()}),
        rhs_buffer_indices=Map(compared.desc_indices),
        lhs_iters=ours.iter_vars,
        rhs_iters=theirs.block.iter_vars,
    )


def has_block(sch, block_name):
    """True if the function that is worked on has a block of this name."""
    try:
        sch._clone().get_sblock(block_name)
    except ScheduleError as error:
        return "Found" in (error.args[0] if error.args else "")
    return True


def is_output_block(sch, block):
    """True if a block writes what its scope gives out."""
    here = sch._clone()
    stmt, scope = here.get(block), None
    todo = [(func.body, None) for func in here.mod.functions.values() if hasattr(func, "body")]
    while todo:
        node, around = todo.pop()
        if node is stmt:
            scope = around
            break
        around = node if isinstance(node, SBlock) else around
        todo += [(part, around) for part in parts(node)]
    inner = [] if scope is None else list(scope.alloc_buffers)
    return any(all(region.buffer is not buffer for buffer in inner) for region in stmt.writes)
