"""Walks over scalars and statements."""

from .._order import post_order
from .._values import Array, DataType, Map
from ..ir.expr import Call, Expr, Range, Var
from ..ir.type import PrimType
from .buffer import is_buffer_var
from .expr import BitwiseNot, BufferData, BufferLoad, BufferRef, Cast, IntImm, IterVar, PrimCall
from . import op
from .op import cast
from .stmt import Bind, BufferRegion, BufferStore, For, MatchBufferRegion, SBlock, SBlockRealize, Stmt

_FIELDS = {
    "SeqStmt": ["seq"],
    "For": ["min", "extent", "step", "body"],
    "While": ["condition", "body"],
    "IfThenElse": ["condition", "then_case", "else_case"],
    "Bind": ["value"],
    "AssertStmt": ["condition"],
    "BufferStore": ["indices", "value"],
    "AttrStmt": ["value", "body"],
    "Evaluate": ["value"],
    "Return": ["value"],
    "SBlockRealize": ["iter_values", "predicate", "block"],
    "SBlock": ["init", "body"],
    "ProducerLoad": ["indices"],
    "Reduce": ["source", "condition"],
    "PrimFunc": ["body"],
    "Cast": ["value"],
    "Select": ["condition", "true_value", "false_value"],
    "PrimCall": ["args"],
    "BufferLoad": ["indices"],
    "Ramp": ["base", "stride"],
    "Broadcast": ["value"],
    "Shuffle": ["vectors", "indices"],
    "Let": ["value", "body"],
    "Not": ["a"],
    "BitwiseNot": ["a"],
}


def fields_of(node):
    """Names of the fields that hold expressions or statements."""
    found = _FIELDS.get(type(node).__name__)
    if found is None and hasattr(type(node), "_index"):
        return ["a", "b"]
    return found or []


def parts(node):
    """The expressions and statements directly inside of one."""
    found = []
    for name in fields_of(node):
        value = getattr(node, name)
        if isinstance(value, (list, tuple)):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found


_OPERATIONS = {
    "Add": op._op_add, "Sub": op._op_sub, "Mul": op._op_mul, "Div": op.div, "Mod": op.truncmod, "FloorDiv": op.floordiv,
    "FloorMod": op.floormod, "Min": op.min_, "Max": op.max_, "LT": op._op_less, "LE": op._op_less_equal, "GT": op._op_greater,
    "GE": op._op_greater_equal, "EQ": op._equal, "NE": op._not_equal, "And": op.logical_and, "Or": op.logical_or,
    "BitwiseAnd": op.bitwise_and, "BitwiseOr": op.bitwise_or, "BitwiseXor": op.bitwise_xor, "LShift": op.shift_left, "RShift": op.shift_right,
}  # fmt: skip


def post_order_visit(node, fvisit):
    """Calls a function with every scalar and statement once, parts first."""
    for item in post_order(node, parts):
        fvisit(item)


def pre_order_visit(node, fvisit):
    """Calls a function with every scalar and statement, outer ones first; False leaves out what is inside."""
    stack = [node]
    while stack:
        item = stack.pop()
        if fvisit(item) is not False:
            stack.extend(reversed(parts(item)))


def rebuild(node, visit):
    """A node over parts that a function gives; the node itself when nothing changed."""
    changes = {}
    for name in fields_of(node):
        value = getattr(node, name)
        if isinstance(value, (list, tuple)):
            new = Array(visit(item) for item in value)
            if any(a is not b for a, b in zip(new, value)):
                changes[name] = new
        elif value is not None:
            new = visit(value)
            if new is not value:
                changes[name] = new
    return copy(node, **changes) if changes else node


def copy(node, **changes):
    """A node with other fields."""
    load = node.__dict__.pop("_load", None)
    if load is not None:
        load(node)
    made = type(node).__new__(type(node))
    kept = {key: value for key, value in node.__dict__.items() if not (len(key) == 2 and key[0] == "_")}
    made.__dict__.update(kept)
    made.__dict__.update(changes)
    made.__dict__["_from"] = node
    if hasattr(type(made), "_index") and changes:
        operation = _OPERATIONS.get(type(node).__name__)
        return operation(made.a, made.b) if operation else made
    return made


class Mapping:
    """Statements and scalars with variables and buffers replaced. A buffer whose shape changes is another one everywhere."""

    def __init__(self, find_var=None, find_buffer=None):
        self.find_var = find_var or (lambda var: None)
        self.find_buffer = find_buffer or (lambda buffer: None)
        self.known = {}
        self.buffers = {}

    def buffer(self, old):
        """The buffer that stands for one."""
        found = self.buffers.get(id(old))
        if found is None:
            new = self.find_buffer(old)
            found = old if new is None else new
            if new is None:
                old.scope()
                shape = Array(self(extent) for extent in old.shape)
                strides = Array(self(stride) for stride in old.strides)
                offset = None if old._offset is None else self(old._offset)
                data = None if old._data is None else self(old._data)
                pairs = [*zip(shape, old.shape), *zip(strides, old.strides), (offset, old._offset), (data, old._data)]
                if any(a is not b for a, b in pairs):
                    found = old._changed(shape=shape, strides=strides, _offset=offset, _data=data)
            self.buffers[id(old)] = found
        return found

    def __call__(self, node):
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = self.visit(node)
        return found

    def visit(self, node):
        """The node that stands for another one."""
        if isinstance(node, Var):
            new = self.find_var(node)
            if new is None:
                return node
            return new if isinstance(new, Expr) else IntImm(node.dtype, int(new))
        if isinstance(node, SBlock):
            return self.block(node)
        made = rebuild(node, self)
        buffer = getattr(node, "buffer", None)
        if buffer is not None:
            new = self.buffer(buffer)
            if new is not buffer:
                if isinstance(node, (BufferData, BufferRef)):
                    return new.data if isinstance(node, BufferData) else type(node)(new)
                if isinstance(node, BufferLoad):
                    return BufferLoad(new, made.indices, made.predicate)
                made = copy(made, buffer=new)
        return made

    def range(self, item):
        """A range with other ends."""
        low, extent = self(item.min), self(item.extent)
        return item if low is item.min and extent is item.extent else Range.from_min_extent(low, extent)

    def region(self, item):
        """A part of a buffer."""
        return BufferRegion(self.buffer(item.buffer), [self.range(part) for part in item.region])

    def iter(self, item):
        """A variable of a block."""
        dom = self.range(item.dom)
        return item if dom is item.dom else IterVar(dom, item.var, item.iter_type, item.thread_tag)

    def attr(self, value):
        """The value of an annotation, which may name buffers."""
        if is_buffer_var(value):
            return self.buffer(value)
        if isinstance(value, BufferRef):
            return self(value)
        if isinstance(value, (list, tuple)):
            items = [self.attr(item) for item in value]
            return value if all(a is b for a, b in zip(items, value)) else Array(items)
        return value

    def block(self, node):
        """A block with all of its parts."""
        node.body  # noqa: B018 - reads the block
        notes = {key: self.attr(value) for key, value in node.annotations.items()}
        changes = {
            "iter_vars": [self.iter(item) for item in node.iter_vars],
            "reads": [self.region(item) for item in node.reads],
            "writes": [self.region(item) for item in node.writes],
            "alloc_buffers": [self.buffer(item) for item in node.alloc_buffers],
            "match_buffers": [MatchBufferRegion(self.buffer(item.buffer), self.region(item.source)) for item in node.match_buffers],
        }
        made = rebuild(node, self)
        same = (
            made is node
            and not node.match_buffers
            and all(notes[key] is value for key, value in node.annotations.items())
            and all(a is b or isinstance(a, BufferRegion) and _same_region(a, b) for name, items in changes.items() for a, b in zip(items, getattr(node, name)))
        )
        changes = {name: Array(items) for name, items in changes.items()}
        return node if same else copy(made, annotations=Map(notes), **changes)


def _same_region(a, b):
    return a.buffer is b.buffer and all(x.min is y.min and x.extent is y.extent for x, y in zip(a.region, b.region))


def substitute(node, vmap):
    """A node with variables replaced: a dictionary or a function."""
    if not callable(vmap) and not vmap:
        return node
    return Mapping(vmap if callable(vmap) else vmap.get)(node)


def map_buffers(node, find):
    """A node over other buffers: a function gives the new one, or None."""
    return Mapping(None, find)(node)


def ir_transform(stmt, preorder, postorder, only_enable=None):
    """A statement with parts changed, before and after their own parts are."""
    names = None if only_enable is None else {name.rsplit(".", 1)[-1] for name in only_enable}

    def wanted(node):
        name = "Call" if isinstance(node, PrimCall) else type(node).__name__
        return names is None or name in names

    def visit(node):
        if preorder is not None and wanted(node):
            new = preorder(node)
            if new is not None:
                return new
        made = rebuild(node, visit)
        if postorder is not None and wanted(node):
            new = postorder(made)
            if new is not None:
                return new
        return made

    return visit(stmt)


def with_index_dtype(func, dtype, values=False):
    """A function whose indices are of another type: variables of loops and blocks, extents, and what is made of them. With
    `values`, integers of 64 bits that are values or elements are of that type, too."""
    dtype = DataType(getattr(dtype, "dtype", dtype))
    renamed = {}

    def is_index(value):
        return value.dtype.type_code == 0 and value.dtype.bits in (32, 64) and value.dtype.lanes == 1

    def variable(var):
        if not is_index(var) or var.dtype == dtype:
            return None
        if id(var) not in renamed:
            renamed[id(var)] = Var(var.name, dtype), var
        return renamed[id(var)][0]

    class _Indices(Mapping):
        def __init__(self):
            super().__init__(variable)
            # Numbers of an index are of the other type, too; those of a value keep theirs, so both are kept apart.
            self.inside, self.within = values, {}

        def index(self, value):
            if self.inside:
                value = self(value)
            else:
                outside, self.inside, self.known = self.known, True, self.within
                value = self(value)
                self.inside, self.known = False, outside
            # An element that names an element keeps its type.
            return cast(value, dtype) if is_index(value) and not isinstance(value, BufferLoad) else value

        def visit(self, node):
            if self.inside and isinstance(node, IntImm) and is_index(node):
                return IntImm(dtype, node.value)
            if isinstance(node, For):
                var = self(node.loop_var)
                ends = {"min": self.index(node.min), "extent": self.index(node.extent)}
                return copy(node, loop_var=var, body=self(node.body), **ends)
            if isinstance(node, BufferLoad):
                return BufferLoad(self.buffer(node.buffer), [self.index(index) for index in node.indices])
            if isinstance(node, BufferStore):
                indices = [self.index(index) for index in node.indices]
                return BufferStore(self.buffer(node.buffer), self(node.value), indices)
            if isinstance(node, SBlockRealize):
                places = [self.index(value) for value in node.iter_values]
                return SBlockRealize(places, self(node.predicate), self(node.block))
            if isinstance(node, Cast) and (values and node.dtype == "int64" or self.inside and is_index(node)):
                return cast(self(node.value), dtype)
            if isinstance(node, Cast) and is_index(node):
                return cast(self(node.value), node.dtype)
            if self.inside and isinstance(node, PrimCall) and is_index(node):
                return copy(super().visit(node), _ty=PrimType(dtype))
            if isinstance(node, Bind):
                return copy(node, var=self(node.var), value=self(node.value))
            if isinstance(node, BitwiseNot):
                return op.bitwise_not(self(node.a))
            if len(fields_of(node)) == 2 and hasattr(type(node), "_index"):
                a, b = self(node.a), self(node.b)
                if a is node.a and b is node.b:
                    return node
                return _OPERATIONS[type(node).__name__](a, b)
            return super().visit(node)

        def range(self, item):
            return Range.from_min_extent(self.index(item.min), self.index(item.extent))

        def iter(self, item):
            return IterVar(self.range(item.dom), self(item.var), item.iter_type, item.thread_tag)

        def buffer(self, old):
            found = self.buffers.get(id(old))
            if found is None:
                shape, strides = ([self.index(item) for item in items] for items in (old.shape, old.strides))
                offset = None if old._offset is None else self.index(old._offset)
                elements = dtype if values and old.dtype == "int64" else old.dtype
                found = old._changed(shape=Array(shape), strides=Array(strides), _offset=offset, dtype=elements)
                self.buffers[id(old)] = found
            return found

    mapping = _Indices()
    params = [mapping.buffer(param) if is_buffer_var(param) else mapping(param) for param in func.params]
    return func._copy(_params=params, body=mapping(func.body))


_ = (Call, Stmt)
