"""Regions between annotations (`src/relay/analysis/annotated_region_set.cc`)."""

from ..._node import Object
from ..._values import Array
from ...error import TVMError
from .. import _walk
from ..expr import Call, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem


class AnnotatedRegion(Object):
    """Expressions between annotations, with those where it begins and ends."""

    def __init__(self, number, target):
        self.id, self.target = number, target
        self.args, self.rets, self.nodes = Array(), Array(), Array()

    def _has(self, expr):
        return any(node is expr for node in self.nodes)

    def _add(self, expr):
        if not self._has(expr):
            self.nodes = Array([*self.nodes, expr])


class AnnotatedRegionSet(Object):
    """The regions of an expression."""

    def __init__(self, expr, region_begin_op, region_end_op):
        self._begin, self._end = region_begin_op, region_end_op
        self._regions, self._made = [], 0
        for node in _walk.post_order(expr):
            self._visit(node)

    def __len__(self):
        return len(self._regions)

    def __iter__(self):
        return iter(list(self._regions))

    def get_region(self, expr):
        """The region that an expression belongs to; None if it is in none."""
        return next((region for region in self._regions if region._has(expr)), None)

    def _visit(self, node):
        match node:
            case Call() if node.op == self._begin:
                region = AnnotatedRegion(self._made, str(node.attrs.compiler))
                self._made += 1
                region._add(node)
                region.args = Array([node])
                self._regions.append(region)
            case Call() if node.op == self._end:
                region = self.get_region(node.args[0])
                if region is None:
                    raise TVMError(f"Cannot find the corresponding region for end annotation:\n{node}")
                region._add(node)
                region.rets = Array([*region.rets, node])
            case Call():
                self._join(node, list(node.args))
            case RefWrite():
                self._join(node, [node.ref])
            case Tuple() | TupleGetItem() | Let() | If() | RefCreate() | RefRead():
                self._join(node, _walk.children(node))

    def _join(self, node, parts):
        """Puts an expression into the region of its parts, which become one."""
        parts = [part for part in parts if not (isinstance(part, Call) and part.op == self._end)]
        regions = [self.get_region(part) for part in parts]
        region = next((found for found in regions if found is not None), None)
        if region is None:
            return
        if any(found is None for found in regions):
            raise TVMError(f"Arg regions are inconsistent: {node}")
        for part in parts:
            self._merge(self.get_region(part), region)
        known = self.get_region(node)
        if known is None:
            region._add(node)
        else:
            self._merge(known, region)

    def _merge(self, source, into):
        if source is into:
            return
        for node in source.nodes:
            into._add(node)
        args, rets = [*into.args, *source.args], [*into.rets, *source.rets]
        inner = [arg for arg in args if source._has(arg.args[0])]
        into.args = Array(arg for arg in args if not any(arg is other for other in inner))
        into.rets = Array(ret for ret in rets if not any(ret is arg.args[0] for arg in inner))
        self._regions = [region for region in self._regions if region is not source]
