"""Questions about tensor programs."""

from .._values import Array
from ..ir.base import structural_equal
from ..ir.expr import Var
from .buffer import is_buffer_var
from .expr import BufferData, BufferRef, Let
from .functor import parts
from .stmt import AllocBuffer, Bind, DeclBuffer, For, SBlock


def expr_deep_equal(lhs, rhs):
    """True if two scalars are equal, variable by variable."""
    return structural_equal(lhs, rhs)


class _Scopes:
    """A walk that tells definitions of variables and buffers from uses."""

    def __init__(self, defined):
        self.defined = {id(item) for item in defined}
        self.undefined = {}
        self.twice = []
        self.lets = {}

    def define(self, item):
        if id(item) in self.defined:
            self.twice.append(item)
        self.defined.add(id(item))

    def use(self, item):
        if id(item) not in self.defined:
            self.undefined.setdefault(id(item), item)

    def buffer(self, buffer, data):
        """The parts of a buffer that are expressions."""
        buffer.scope()
        for part in (*buffer.shape, *buffer.strides, buffer._offset, buffer._data if data else None):
            if part is not None:
                self.visit(part)

    def visit(self, node):
        """Looks into a node."""
        if isinstance(node, Var):
            return self.use(node)
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            self.buffer(node.buffer, isinstance(node, DeclBuffer))
            return self.define(node.buffer)
        if isinstance(node, Let):
            self.visit(node.value)
            known = self.lets.get(id(node.var))
            if known is None:
                self.lets[id(node.var)] = node.value
                self.define(node.var)
            elif not structural_equal(known, node.value):
                self.twice.append(node.var)
            return self.visit(node.body)
        if isinstance(node, Bind):
            self.visit(node.value)
            return self.define(node.var)
        if isinstance(node, For):
            self.visit(node.min)
            self.visit(node.extent)
            self.define(node.loop_var)
            return self.visit(node.body)
        if isinstance(node, SBlock):
            for item in node.iter_vars:
                self.visit(item.dom.min)
                self.visit(item.dom.extent)
                self.define(item.var)
            for buffer in [*node.alloc_buffers, *(item.buffer for item in node.match_buffers)]:
                self.buffer(buffer, False)
                self.define(buffer)
        elif isinstance(node, (BufferData, BufferRef)):
            self.use(node.buffer)
        elif getattr(node, "attr_key", "") == "thread_extent":
            self.define(node.node.var)
        for part in parts(node):
            self.visit(part)
        buffer = getattr(node, "buffer", None)
        if buffer is not None and not isinstance(node, (BufferData, BufferRef)):
            self.use(buffer)


def undefined_vars(node, defs=()):
    """Variables and buffers that are used and not defined."""
    scopes = _Scopes(list(defs or ()))
    scopes.visit(node)
    return Array(scopes.undefined.values())


def verify_ssa(func):
    """True if each variable is defined once."""
    scopes = _Scopes([])
    for param in func.params:
        scopes.define(param)
        if is_buffer_var(param):
            for extent in param.shape:
                if isinstance(extent, Var):
                    scopes.defined.add(id(extent))
    scopes.visit(func.body)
    return not scopes.twice


def verify_well_formed(obj, assert_mode=True):
    """True if a tensor program is well formed."""
    from ..error import InternalError
    from ..relax.analysis import _problems
    from ._well_formed import across_functions, located

    found = _problems(obj)
    wrong = located(obj, found[0]) if found else across_functions(obj)
    if wrong is not None and assert_mode:
        raise InternalError(wrong)
    return wrong is None


def verify_tirx_well_formed(obj, assert_mode=True, device_func=False):
    """The same; what is told of functions for devices only is not looked at."""
    return verify_well_formed(obj, assert_mode)


def verify_memory(func):
    """True if a function for a device reads and writes its parameters only inside of launches of threads."""
    from .expr import BufferLoad
    from .stmt import BufferStore

    target = (func.attrs or {}).get("target")
    if target is None or not {"gpu", "cuda"} & {*getattr(target, "keys", ()), getattr(getattr(target, "kind", None), "name", "")}:
        return True
    outside = []

    def visit(node, inside):
        inside = inside or getattr(node, "attr_key", "") == "thread_extent" or getattr(node, "thread_binding", None) is not None
        if isinstance(node, (BufferLoad, BufferStore)) and not inside:
            outside.append(node)
        for part in parts(node):
            visit(part, inside)

    visit(func.body, False)
    return not outside
