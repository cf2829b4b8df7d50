"""Walks over all parts of a thing, with functions for parts of some types."""

import typing
from enum import IntEnum

from tvm._node import Object


class WalkOrder(IntEnum):
    """Before or after the parts of a thing."""

    PREORDER, POSTORDER = 0, 1


class WalkResult(IntEnum):
    """The way in which a walk goes on: into the parts of a thing, or past them."""

    ADVANCE, SKIP = 0, 1


class InplaceMode(IntEnum):
    """The permission to change a thing in place; here none is changed."""

    DISALLOW, ALLOW = 0, 1


class DefRegionKind(IntEnum):
    """The role of a variable where it stands: used, or defined."""

    NONE, DEF_PATTERN, DEF_SIMPLE = 0, 1, 2


class VisitInterrupt(Object):
    """Ends a walk, with a value for the caller."""

    def __init__(self, value=None):
        self.value = value


def _entries(callbacks, name):
    """Pairs of a type and a function."""
    if callable(callbacks):
        return [(typing.Any, callbacks)]
    if isinstance(callbacks, tuple) and len(callbacks) == 2 and callable(callbacks[1]):
        callbacks = [callbacks]
    elif not isinstance(callbacks, (list, tuple)):
        raise TypeError(f"{name} callbacks must be callbacks, (type, callback) entries, ((type1, type2, ...), callback) entries, or sequences of tuple entries")
    made = []
    for entry in callbacks:
        if not isinstance(entry, tuple) or len(entry) != 2 or not callable(entry[1]):
            raise TypeError(f"{name} callbacks within a sequence must be (type, callback) tuples")
        made += [(kind, entry[1]) for kind in (entry[0] if isinstance(entry[0], tuple) else (entry[0],))]
    return made


def _order(order, name):
    if order in ("pre", "post"):
        return order == "pre"
    if not isinstance(order, WalkOrder):
        raise ValueError(f"Unknown structural {name} order: {order!r}")
    return order == WalkOrder.PREORDER


class _Calls:
    """The function for a thing, of those that were given."""

    def __init__(self, callbacks, with_kind, name):
        self.plain, self.kinds = _entries(callbacks, name), _entries(with_kind, name)

    def _find(self, entries, value):
        from tvm.ir.expr import Var
        from tvm.tirx.buffer import Buffer

        for kind, call in entries:
            if kind in (typing.Any, object) or isinstance(value, kind) or kind is Var and isinstance(value, Buffer):
                return call
        return None

    def __call__(self, value, kind, otherwise=None):
        call = self._find(self.plain, value)
        if call is not None:
            return call(value)
        call = self._find(self.kinds, value)
        return otherwise if call is None else call(value, kind)


def _parts(node):
    """The parts directly inside of a thing, each with its role there: a list, in TVM's order."""
    from tvm.ir.expr import Range
    from tvm.ir.module import IRModule
    from tvm.tirx.expr import IterVar
    from tvm.tirx.function import PrimFunc
    from tvm.tirx.functor import fields_of
    from tvm.tirx.stmt import BufferRegion, MatchBufferRegion, SBlock

    use, new = DefRegionKind.NONE, DefRegionKind.DEF_SIMPLE
    if isinstance(node, (list, tuple)):
        return [(item, use) for item in node]
    if isinstance(node, dict):
        return [(item, use) for item in node.values()]
    if isinstance(node, IRModule):
        return [(func, use) for func in node.functions.values()]
    if isinstance(node, PrimFunc):
        return [(param, DefRegionKind.DEF_PATTERN) for param in node.params] + [(node.body, use)]
    if isinstance(node, Range):
        return [(node.min, use), (node.extent, use)]
    if isinstance(node, IterVar):
        return [*([(node.dom, use)] if node.dom is not None else []), (node.var, new)]
    if isinstance(node, BufferRegion):
        return [(node.buffer, use), *((item, use) for item in node.region)]
    if isinstance(node, MatchBufferRegion):
        return [(node.buffer, new), (node.source, use)]
    name = type(node).__name__
    found = []
    if name in ("For", "Bind", "Let"):
        found.append((node.loop_var if name == "For" else node.var, new))
    if isinstance(node, SBlock):
        found += [(item, use) for item in node.iter_vars] + [(item, new) for item in node.alloc_buffers]
        found += [(item, use) for item in (*node.match_buffers, *node.reads, *node.writes)]
    buffer = getattr(node, "buffer", None)
    if buffer is not None:
        found.append((buffer, new if name in ("AllocBuffer", "DeclBuffer") else use))
    names = ["value", "indices"] if name == "BufferStore" else fields_of(node)
    for name in names:
        value = getattr(node, name, None)
        if name == "step" and value is not None and str(value) == "1":
            continue
        if isinstance(value, (list, tuple)):
            found += [(item, use) for item in value]
        elif value is not None:
            found.append((value, use))
    return found


def _is_relax(node):
    from tvm.relax.expr import Function

    return isinstance(node, Function)


def structural_walk(root, callbacks=(), with_def_region_kind=(), order="post"):
    """Calls the function for the type of each part of a thing, as often as the part is there."""
    before = _order(order, "walk")
    calls = _Calls(callbacks, with_def_region_kind, "structural_walk")
    todo = [(root, DefRegionKind.NONE, False)]
    while todo:
        node, kind, done = todo.pop()
        if _is_relax(node):
            from tvm.relax._walks import post_order_visit

            post_order_visit(node, lambda part: calls(part, DefRegionKind.NONE))
            continue
        if done or before:
            result = calls(node, kind)
            if isinstance(result, VisitInterrupt):
                return result
            if done or result == WalkResult.SKIP and isinstance(result, WalkResult):
                continue
        if not before:
            todo.append((node, kind, True))
        todo.extend((part, kind, False) for part, kind in reversed(_parts(node)))
    return None


class StructuralVisitor(Object):
    """Goes on into parts, for functions that decide themselves where to."""

    def __init__(self, entries):
        self._entries, self._kind = entries, DefRegionKind.NONE

    def visit(self, value):
        """Calls the function for a thing, or goes into its parts if there is none."""
        for kind, call in self._entries:
            if kind in (typing.Any, object) or isinstance(value, kind):
                result = call(value, self)
                return result if isinstance(result, VisitInterrupt) else None
        return self.default_visit(value)

    def default_visit(self, value):
        """Goes into the parts of a thing."""
        for part, kind in _parts(value):
            outer, self._kind = self._kind, kind
            result = self.visit(part)
            self._kind = outer
            if result is not None:
                return result
        return None

    def def_region_kind(self):
        """The role of the current thing where it stands."""
        return self._kind

    def with_def_region_kind(self, kind, callback):
        """Calls a function while the current thing is taken for this."""
        outer, self._kind = self._kind, DefRegionKind(kind)
        try:
            return callback()
        finally:
            self._kind = outer


def structural_visit(root, callbacks=()):
    """Calls the function for the type of a thing, which goes on into the parts that it wants."""
    return StructuralVisitor(_entries(callbacks, "structural_visit")).visit(root)


def _rebuilt(node, change, buffers):
    """A thing whose parts a function changes; the thing itself if it changes none."""
    from tvm.ir.module import IRModule
    from tvm.tirx.function import PrimFunc
    from tvm.tirx.functor import Mapping, copy

    if isinstance(node, (list, tuple)):
        items = [change(item, DefRegionKind.NONE) for item in node]
        return node if all(a is b for a, b in zip(items, node)) else type(node)(items)
    if isinstance(node, IRModule):
        return IRModule({var: change(func, DefRegionKind.NONE) for var, func in node.functions.items()}, attrs=node.attrs)
    if isinstance(node, PrimFunc):
        params = [change(param, DefRegionKind.DEF_PATTERN) for param in node.params]
        body = change(node.body, DefRegionKind.NONE)
        same = body is node.body and all(a is b for a, b in zip(params, node.params))
        return node if same else node._copy(_params=params, body=body)

    class _Parts(Mapping):
        def __call__(self, part):
            return change(part, DefRegionKind.NONE)

        def buffer(self, old):
            return buffers(old)

    made = Mapping.visit(_Parts(), node)
    name = {"For": "loop_var", "Bind": "var", "Let": "var"}.get(type(node).__name__)
    if name is not None:
        var = change(getattr(node, name), DefRegionKind.DEF_SIMPLE)
        made = made if var is getattr(node, name) else copy(made, **{name: var})
    return made


class StructuralMutator(Object):
    """Makes things anew, for functions that decide themselves which parts change."""

    def __init__(self, entries):
        self._entries, self._kind, self._known = entries, DefRegionKind.NONE, {}

    def _changed(self, value, kind):
        from tvm.ir.expr import Var

        if value in self._known if isinstance(value, Var) else False:
            return self._known[value]
        outer, self._kind = self._kind, kind
        try:
            return self.mutate(value)
        finally:
            self._kind = outer

    def mutate(self, value):
        """The result of the function for a thing, or the thing over other parts if there is none."""
        import inspect

        for kind, call in self._entries:
            if kind in (typing.Any, object) or isinstance(value, kind):
                count = len(inspect.signature(call).parameters)
                return call(value, self) if count < 3 else call(value, self, InplaceMode.DISALLOW)
        return self.default_mutate(value)

    def default_mutate(self, value):
        """The thing over other parts."""
        from tvm.ir.expr import Var

        if isinstance(value, Var):
            return self._known.get(value, value)
        return _rebuilt(value, self._changed, lambda buffer: self._known.get(buffer, buffer))

    def var_remap_get(self, var):
        """The thing that stands for a variable from now on, or None."""
        return self._known.get(var)

    def var_remap_set(self, var, mapped_value):
        """Says what stands for a variable from now on."""
        self._known[var] = mapped_value

    def def_region_kind(self):
        """The role of the current thing where it stands."""
        return self._kind

    with_def_region_kind = StructuralVisitor.with_def_region_kind


def structural_mutate(root, callbacks=()):
    """The result of the function for the type of a thing, which asks for the parts that it wants."""
    return StructuralMutator(_entries(callbacks, "structural_mutate")).mutate(root)


def structural_map(root, callbacks=(), with_def_region_kind=(), order="post"):
    """A thing in which functions replaced parts of their types, before or after the parts of those."""
    from tvm.ir.expr import Var

    before = _order(order, "map")
    calls = _Calls(callbacks, with_def_region_kind, "structural_map")
    known = {}

    def change(value, kind):
        if isinstance(value, Var):
            if kind != DefRegionKind.NONE:
                known[value] = calls(value, kind, value)
                return known[value]
            return calls(known.get(value, value), kind, known.get(value, value))
        if before:
            value = calls(value, kind, value)
        made = _rebuilt(value, change, lambda buffer: calls(buffer, DefRegionKind.NONE, buffer))
        return made if before else calls(made, kind, made)

    return change(root, DefRegionKind.NONE)
