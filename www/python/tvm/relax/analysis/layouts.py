"""Layouts of a tensor program's blocks and inputs that go with layouts of its outputs (`layout_transformation.cc`)."""

from ..._values import Map
from ...error import InternalError
from ...tirx import BufferLoad, BufferStore, IndexMap, IterVar, SBlock, SBlockRealize, Var, is_buffer_var
from ...tirx.analysis import undefined_vars
from ...tirx.stmt_functor import pre_order_visit


def suggest_layout_transforms(func, write_buffer_transforms):
    """For each block that can follow: the maps of its iterators and of buffers that are read and written in order.

    The maps are those of the last parameters, functions or `IndexMap`s. A block that nests others, writes several buffers or
    does not go through its output in order is left out.
    """
    shapes = [param.shape for param in func.params if is_buffer_var(param)]
    dtype = next((shape[0].dtype for shape in shapes if len(shape) > 0), "int64")
    maps = []
    for transform in write_buffer_transforms:
        if not isinstance(transform, IndexMap):
            assert callable(transform)
            transform = IndexMap.from_func(transform, index_dtype=dtype)
        maps.append(transform)
    if not maps:
        return Map({})
    if len(maps) > len(func.params):
        raise InternalError("Check failed: Incompatible PrimFunc and write_transformations")
    known = {}
    for param, transform in zip(func.params[len(func.params) - len(maps) :], maps):
        if len(param.shape) != len(transform.initial_indices):
            raise InternalError("Check failed: Mismatch between output buffer shape and index map")
        known[param] = transform
    found = {}
    for block in _outer_blocks(func.body):
        if len(block.writes) != 1:
            continue
        written = block.writes[0].buffer
        made = _Block(block).follow(known, known.get(written)) if written in known else None
        if made is None:
            continue
        own, reads = made
        known.update(reads)
        found[block] = Map({block: own} | {buffer: known[buffer] for buffer in (written, *reads)})
    return Map(found)


def _outer_blocks(body):
    blocks = []

    def visit(node):
        block = node.block if isinstance(node, SBlockRealize) else node
        if isinstance(block, SBlock) and block.name_hint != "root":
            if block not in blocks:
                blocks.append(block)
            return False
        return True

    pre_order_visit(body, visit)
    return blocks


def _layout(indices, domain):
    """The iterator that each index goes along, None where there is none; None for indices that mix iterators."""
    from ...sym import IterMapLevel, detect_iter_map

    found = detect_iter_map(indices, domain, check_level=IterMapLevel.NoCheck)
    if len(found.indices) == 0:
        return None
    layout = []
    for index in found.indices:
        used = _iterators(index)
        if len(used) > 1:
            return None
        layout.append(used[0] if used else None)
    return layout


def _iterators(index):
    """The iterators of a sum of digits."""
    used = []
    for digit in index.args:
        source = digit.source.source
        used += [source] if isinstance(source, Var) else _iterators(source) if hasattr(source, "args") else []
    return used


def _same(a, b):
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


class _Block:
    """A block with the layouts of the accesses in it."""

    def __init__(self, block):
        self.block = block
        self.layouts = {}
        self.fits = all(axis.iter_type in (IterVar.DataPar, IterVar.CommReduce) for axis in block.iter_vars)
        self.spatial = {axis.var: axis.dom for axis in block.iter_vars if axis.iter_type == IterVar.DataPar}
        self.places = {axis.var: place for place, axis in enumerate(block.iter_vars)}
        pre_order_visit(block.body, self._visit)

    def _visit(self, node):
        if isinstance(node, (SBlock, SBlockRealize)):
            self.fits = False
            return False
        if isinstance(node, BufferStore) and node.buffer is not self.block.writes[0].buffer:
            self.fits = False
        elif isinstance(node, (BufferStore, BufferLoad)):
            layout = _layout(node.indices, self.spatial)
            before = self.layouts.get(node.buffer, layout)
            good = layout and before and _same(layout, before)
            self.layouts[node.buffer] = layout if good else None
        return True

    def _in_order(self, layout):
        places = [self.places[var] for var in layout if var is not None]
        return all(a < b for a, b in zip(places, places[1:]))

    def follow(self, known, transform):
        """The map of the block's iterators and those of buffers that it reads; None if it cannot follow."""
        from ...sym import IterMapLevel, detect_iter_map

        written = self.layouts.get(self.block.writes[0].buffer)
        if not self.fits or not written or not self._in_order(written):
            return None
        own = _inferred(written, transform, [axis.var for axis in self.block.iter_vars])
        if own is None:
            return None
        ranges = dict(zip(own.initial_indices, [axis.dom for axis in self.block.iter_vars]))
        if len(detect_iter_map(own.final_indices, ranges, check_level=IterMapLevel.Bijective).indices) == 0:
            return None
        reads = {}
        for region in self.block.reads:
            layout = self.layouts.get(region.buffer)
            if not layout or not self._in_order(layout) or region.buffer in known:
                continue
            made = _inferred(written, transform, layout)
            if made is not None:
                reads[region.buffer] = made
        return own, reads


def _inferred(layout, transform, wanted):
    """The map for a layout, from the map for another; None if an index of it mixes what is there with what is not."""
    if any(var is None for var in layout):
        raise InternalError("Check failed: i.has_value() is false")
    there = [var for var in wanted if var is not None]
    has = lambda var, variables: any(var is other for other in variables)  # noqa: E731
    initial = [index for var, index in zip(layout, transform.initial_indices) if has(var, there)]
    final = []
    for index in transform.final_indices:
        missing = [not has(var, initial) for var in undefined_vars(index)]
        if not any(missing):
            final.append(index)
        elif not all(missing):
            return None
    for place, var in enumerate(wanted):
        if var is None or not has(var, layout):
            dim = Var("d", "int32")
            initial.insert(place, dim)
            final.insert(min(place, len(final)), dim)
    return IndexMap(initial, final)
