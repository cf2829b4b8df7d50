"""Buffers."""

import enum
import functools

from .._absent import DEVICE, Absent
from .._node import BUFFER, PRIM, get, is_buffer_var, lazy, makers, maybe, name_of, row
from .._values import Array, DataType
from ..error import InternalError
from ..ir.expr import Range, Var
from ..ir.type import PointerType, PrimType, Type


class BufferAccessKind(enum.IntFlag):
    """The use of a pointer."""

    READ, WRITE = 1, 2


class BufferType(Type):
    """The type of a buffer: elements, shape, and how they lie in memory."""

    def __init__(
        self,
        dtype,
        storage_scope="global",
        shape=(),
        strides=(),
        elem_offset=None,
        data_alignment=64,
        offset_factor=1,
        layout=None,
        allocated_addr=(),
        span=None,
    ):
        dtype = getattr(dtype, "dtype", dtype)
        self._of = _new("buffer", shape, dtype, strides, elem_offset, storage_scope, data_alignment, offset_factor, None, 0 if layout is None else 1)

    @classmethod
    def _describing(cls, buffer):
        made = cls.__new__(cls)
        made._of = buffer
        return made

    def _fill(self, var):
        """Makes a variable a buffer of this type."""
        self._of.scope()
        kept = ("_ty", "_b", "_pointer", "_reference", "_te_tensor", "name", "span")
        var.__dict__.update({key: value for key, value in self._of.__dict__.items() if key not in kept})
        var.__dict__["_ty"] = self

    dtype = property(lambda self: PrimType(self._of.dtype))
    shape = property(lambda self: self._of.shape)
    strides = property(lambda self: self._of.strides)
    elem_offset = property(lambda self: self._of.elem_offset)
    data_alignment = property(lambda self: self._of.data_alignment)
    offset_factor = property(lambda self: self._of.offset_factor)
    storage_scope = property(lambda self: self._of.scope())
    layout = property(lambda self: None)
    allocated_addr = property(lambda self: Array())

    def _structural(self):
        parts = [self.dtype, self.shape, self.strides, self.elem_offset, self.storage_scope]
        return [*parts, self.data_alignment, self.offset_factor]

    def __eq__(self, other):
        from ..ir.base import structural_equal

        return isinstance(other, BufferType) and structural_equal(self._structural(), other._structural())

    __hash__ = Type.__hash__

    def __str__(self):
        return f'T.Buffer({self._of.shape}, "{self._of.dtype}")'


def buffer_data_pointer_type(buffer):
    """The type of the pointer to the elements of a buffer."""
    return PointerType(PrimType(buffer.dtype), "" if buffer.scope() == "global" else buffer.scope())


def buffer_data(buffer):
    """The pointer to the elements of a buffer."""
    return buffer.data


def _lanes_at(begin, lanes):
    """Indices of as many elements from a place on."""
    from .expr import Ramp, _lanes_of

    begin = list(begin) if isinstance(begin, (list, tuple)) else [begin]
    if lanes != 1:
        begin[-1] = Ramp(begin[-1], 1, _lanes_of(lanes))
    return begin


def _new(name, shape, dtype, strides=(), elem_offset=None, scope="global", align=64, factor=1, data=None, layout=1):
    """A variable that is a buffer."""
    from .expr import convert

    made = Var.__new__(Var)
    made.__dict__.update(
        name=name,
        shape=Array(convert(extent) for extent in shape),
        _dtype=DataType(dtype),
        strides=Array(convert(stride) for stride in strides or ()),
        _offset=None if elem_offset is None else convert(elem_offset),
        _scope=scope or "global",
        data_alignment=align,
        offset_factor=factor,
        _data=data,
        _layout=layout,
        span=None,
    )
    made.__dict__["_ty"] = BufferType._describing(made)
    return made


class _BufferMethods:
    """Methods of variables that are buffers."""

    @property
    def data(self):
        """The pointer to its elements."""
        found = self.__dict__.get("_pointer")
        if found is None:
            from .expr import BufferData

            found = self.__dict__["_pointer"] = BufferData(self)
        return found

    @property
    def elem_offset(self):
        """The place of its first element."""
        from .expr import IntImm

        if self._offset is not None:
            return self._offset
        return IntImm(self.shape[0].dtype if self.shape else "int32", 0)

    allocated_addr = property(lambda self: Array())

    def _as_attr(self):
        found = self.__dict__.get("_reference")
        if found is None:
            from .expr import BufferRef

            found = self.__dict__["_reference"] = BufferRef(self)
        return found

    def scope(self):
        """The kind of memory."""
        if self.__dict__.get("_load"):
            self.name  # noqa: B018
        return self._scope

    type_annotation = property(lambda self: PointerType(PrimType(self.dtype), self.scope()))
    dtype = property(lambda self: self._dtype)
    layout = property(lambda self: None)

    def _changed(self, **changes):
        """A buffer with other fields."""
        self.scope()
        made = Var.__new__(Var)
        kept = ("_ty", "_b", "_pointer", "_reference", "_te_tensor")
        made.__dict__.update({key: value for key, value in self.__dict__.items() if key not in kept})
        made.__dict__.update(changes)
        made.__dict__["_ty"] = BufferType._describing(made)
        return made

    def _over(self, data):
        """This buffer itself, behind a pointer."""
        if self.__dict__.get("_b") is None:
            self._data = data
            return self
        return self._changed(_data=data)

    def vload(self, begin, dtype=None, predicate=None):
        """An element or several."""
        from .expr import BufferLoad

        return BufferLoad(self, _lanes_at(begin, DataType(dtype).lanes if dtype else 1), predicate)

    def vstore(self, begin, value, predicate=None):
        """Writes an element or several."""
        from .stmt import BufferStore

        return BufferStore(self, value, _lanes_at(begin, value.dtype.lanes), predicate)

    def offset_of(self, indices):
        """The place of an element, counted in elements."""
        from ..sym import Analyzer
        from .expr import convert
        from .op import _op_add, _op_mul

        parts = self.strides or self.shape
        indices = indices if isinstance(indices, (list, tuple)) else [indices]
        if len(indices) != len(self.shape):
            raise InternalError(
                f"Check failed: shape.size() == input_indices.size() ({len(self.shape)} vs. {len(indices)}) : BufferType is "
                f"{len(self.shape)}-dimensional, cannot be indexed with the {len(indices)}-dimensional indices provided."
            )
        made = None
        for index, part in zip(indices, parts):
            index = convert(index)
            if self.strides:
                index = _op_mul(index, part)
                made = index if made is None else _op_add(made, index)
            else:
                made = index if made is None else _op_add(_op_mul(made, part), index)
        if made is None:
            made = convert(0)
        if self._offset is not None:
            made = _op_add(made, self._offset)
        return Array([Analyzer().simplify(made)])

    def access_ptr(self, access_mask, ptr_type="handle", content_lanes=1, offset=0, extent=None):
        """A pointer to its elements."""
        from .expr import PrimCall, _scalar, intrinsic_op
        from .op import cast, type_annotation

        if isinstance(access_mask, str):
            kinds = {"r": BufferAccessKind.READ, "w": BufferAccessKind.WRITE}
            unknown = [letter for letter in access_mask if letter not in kinds]
            if unknown:
                raise ValueError(f"Unknown access_mask {access_mask}")
            access_mask = sum(kinds[letter] for letter in set(access_mask))
        size = extent
        if size is None:
            if self.strides:
                size = self.strides[0] * self.shape[0]
            else:
                size = 1
                for item in self.shape:
                    size = item * size if isinstance(size, int) else size * item
            size = size - offset
        dtype = self.dtype
        if content_lanes > 1:
            size, dtype = size // content_lanes, dtype.with_lanes(dtype.lanes * content_lanes)
        element = PrimType("void") if ptr_type == "handle" else PrimType(getattr(ptr_type, "dtype", ptr_type))
        pointer = PointerType(element, "" if self.scope() == "global" else self.scope())
        low = cast(_scalar(offset), self.elem_offset.dtype) if isinstance(offset, int) else offset
        args = [type_annotation(dtype), self.data, low, _scalar(size), _scalar(int(access_mask))]
        return PrimCall(intrinsic_op("tvm_access_ptr"), args, pointer)

    def elem_offset_of(self, indices, inner=True):
        """The place of an element, counted in elements: from the first of the buffer on, or from the pointer on."""
        from .intrin import _call

        offset = _call("buffer_offset", [self[tuple(indices)]], "int32")
        return offset if inner else self.elem_offset + offset

    def byte_offset_of(self, indices, inner=True):
        """The same in bytes."""
        return self.elem_offset_of(indices, inner) * self.dtype.bits // 8

    byte_offset = property(lambda self: self.elem_offset * self.dtype.bits // 8)

    def ptr_to(self, indices):
        """The address of an element."""
        from .intrin import address_of

        return address_of(self[tuple(indices)])

    def with_dtype(self, dtype):
        """A buffer of its own with elements of another type."""
        return self._changed(_dtype=DataType(getattr(dtype, "dtype", dtype)), _data=None)

    def is_scalar(self, alloc_or_decl=True):
        """True for a scalar of the dialect of a device, which no buffer here is."""
        return False

    def get_flattened_buffer(self):
        """The buffer with one axis; itself where it has one."""
        from ..sym import Analyzer
        from .expr import convert

        if len(self.shape) == 1 and not self.strides:
            return self
        size = self.strides[0] * self.shape[0] if self.strides else convert(1)
        for extent in () if self.strides else self.shape:
            size = size * extent
        return self._changed(shape=Array([Analyzer().simplify(size)]), strides=Array())

    def __getitem__(self, indices):
        from ..sym import Analyzer
        from .expr import BufferLoad, convert
        from .stmt import BufferRegion

        indices = indices if isinstance(indices, tuple) else (indices,)
        if len(indices) > len(self.shape):
            raise IndexError(f"Indices length {len(indices)} exceeds the rank of the buffer {len(self.shape)}")
        if len(indices) == len(self.shape) and not any(isinstance(index, slice) for index in indices):
            return BufferLoad(self, indices)
        made = []
        # An axis without an index is there as a whole.
        for index, extent in zip([*indices, *[slice(None)] * (len(self.shape) - len(indices))], self.shape):
            if not isinstance(index, slice):
                made.append(Range.from_min_extent(index, 1))
                continue
            if index.step is not None and str(index.step) != "1":
                raise ValueError("Check failed: (!step.has_value() || is_one(step.value())) is false: Buffer slices with a non-unit step are not supported")
            low = convert(0 if index.start is None else index.start)
            stop = convert(extent if index.stop is None else index.stop)
            made.append(Range.from_min_extent(low, Analyzer().simplify(stop - low)))
        return BufferRegion(self, made)

    def _row_p(self, w):
        self._as_attr()._row_p(w)

    def _row_b(self, w):
        w.text(self.name)
        w.text(self.dtype)
        w.text(self._scope)
        w.maybe(PRIM, self._offset)
        w.number(self.offset_factor)
        w.number(self.data_alignment)
        w.maybe(PRIM, self._data)
        w.number(self._layout)
        w.number(len(self.shape))
        for part in (*self.shape, *self.strides):
            w.refer(PRIM, part)


for _name in "chunk local permute rearrange sub tile view with_allocated_addr".split():
    setattr(_BufferMethods, _name, Absent(f"Buffer.{_name}", DEVICE))


def _graft():
    """Gives variables the methods of buffers: in TVM a buffer is a variable whose type is one of a buffer."""
    for name, method in vars(_BufferMethods).items():
        if name.startswith("__") and name != "__getitem__":
            continue
        setattr(Var, name, _dispatched(name, method, getattr(Var, name, None)))
    Var.__getattr__ = _missing


_FIELDS = frozenset("shape strides data elem_offset data_alignment offset_factor layout allocated_addr byte_offset dtype".split())
"""Attributes that only variables have that are buffers."""


def _missing(self, name):
    if name in _FIELDS and "_load" not in self.__dict__:
        raise AttributeError(f"{name} is only available on a Var with BufferType")
    return super(Var, self).__getattr__(name)


def _dispatched(name, method, other):
    if isinstance(method, property):
        before = getattr(other, "fget", None)

        def found(self):
            if is_buffer_var(self):
                return method.fget(self)
            if before is not None:
                return before(self)
            raise AttributeError(f"{name} is only available on a Var with BufferType")

        return property(found)
    if not callable(method) or isinstance(method, Absent):
        return method

    @functools.wraps(method)
    def called(self, *args, **options):
        if is_buffer_var(self):
            return method(self, *args, **options)
        if other is not None:
            return other(self, *args, **options)
        raise AttributeError(f"{name} is only available on a Var with BufferType")

    return called


_graft()
Buffer = Var
"""The name of buffers, which are variables."""


def _load(buffer):
    words = row(BUFFER, buffer._b)
    n = words[8]
    buffer.__dict__.update(
        name=name_of(words[0]),
        _dtype=DataType(name_of(words[1])),
        _scope=name_of(words[2]),
        _offset=maybe(PRIM, words[3]),
        offset_factor=words[4],
        data_alignment=words[5],
        _data=maybe(PRIM, words[6]),
        _layout=words[7],
        shape=Array(get(PRIM, item) for item in words[9 : 9 + n]),
        strides=Array(get(PRIM, item) for item in words[9 + n :]),
    )


def _make(number, words):
    made = lazy(Var, BUFFER, number, _load)
    made.__dict__["_ty"] = BufferType._describing(made)
    return made


makers[BUFFER] = _make


def decl_buffer(
    shape,
    dtype=None,
    name="buffer",
    data=None,
    strides=None,
    elem_offset=None,
    scope="",
    data_alignment=-1,
    offset_factor=0,
    buffer_type="",
    axis_separators=None,
    span=None,
    layout="default",
):
    """A new buffer."""
    shape = shape if isinstance(shape, (list, tuple)) else (shape,)
    if data is not None and not scope:
        scope = getattr(getattr(data, "ty", None), "storage_scope", "")
    return _new(
        name,
        shape,
        getattr(dtype, "dtype", dtype) or "float32",
        strides,
        elem_offset,
        scope or "global",
        64 if data_alignment in (-1, 0) else data_alignment,
        offset_factor or 1,
        data,
        layout=0 if layout is None or not shape else 1,
    )
