"""Buffers."""

from .._node import BUFFER, PRIM, get, lazy, makers, maybe, name_of, row
from .._values import Array, DataType
from ..ir.base import Node
from ..ir.expr import Range, Var
from ..ir.type import PointerType, PrimType


class Buffer(Node):
    """A piece of memory with a shape."""

    READ, WRITE = 1, 2

    def __init__(
        self,
        name="buffer",
        shape=(),
        dtype="float32",
        strides=(),
        elem_offset=None,
        scope="global",
        align=64,
        factor=1,
        data=None,
        layout=1,
    ):
        from .expr import convert

        self.name = name
        self.shape = Array(convert(extent) for extent in shape)
        self.dtype = DataType(dtype)
        self.strides = Array(convert(stride) for stride in strides or ())
        self._offset = None if elem_offset is None else convert(elem_offset)
        self._scope = scope or "global"
        self.data_alignment = align
        self.offset_factor = factor
        self._data = data
        self._layout = layout

    @property
    def data(self):
        """The pointer to its elements."""
        if self.__dict__.get("_load"):
            self.name  # noqa: B018
        if self._data is not None:
            return self._data
        found = self.__dict__.get("_pointer")
        if found is None:
            from .expr import BufferData

            found = self.__dict__["_pointer"] = BufferData(self)
        return found

    @property
    def elem_offset(self):
        """Where its first element is."""
        from .expr import IntImm

        if self._offset is not None:
            return self._offset
        return IntImm(self.shape[0].dtype if self.shape else "int32", 0)

    buffer_type = 1
    axis_separators = Array()

    def scope(self):
        """The kind of memory."""
        if self.__dict__.get("_load"):
            self.name  # noqa: B018
        return self._scope

    @property
    def ty(self):
        """The type of the elements."""
        return PrimType(self.dtype)

    def vload(self, begin, dtype=None):
        """An element or several."""
        from .expr import BufferLoad, Ramp

        begin = list(begin) if isinstance(begin, (list, tuple)) else [begin]
        lanes = DataType(dtype).lanes if dtype else 1
        if lanes > 1:
            begin[-1] = Ramp(begin[-1], 1, lanes)
        return BufferLoad(self, begin)

    def vstore(self, begin, value):
        """Writes an element or several."""
        from .expr import Ramp
        from .stmt import BufferStore

        begin = list(begin) if isinstance(begin, (list, tuple)) else [begin]
        if value.dtype.lanes > 1:
            begin[-1] = Ramp(begin[-1], 1, value.dtype.lanes)
        return BufferStore(self, value, begin)

    def offset_of(self, indices):
        """The place of an element, counted in elements."""
        from .expr import convert
        from .op import _op_add, _op_mul

        made = None
        for index, extent in zip(indices, self.shape):
            made = convert(index) if made is None else _op_add(_op_mul(made, extent), index)
        return Array([made])

    def access_ptr(self, access_mask, ptr_type="handle", content_lanes=1, offset=0, extent=None):
        """A pointer to its elements."""
        from .op import call_intrin

        mask = {"r": 1, "w": 2, "rw": 3, "wr": 3}.get(access_mask, access_mask)
        size = extent
        if size is None:
            size = 1
            for item in self.shape:
                size = item * size
            size = size - offset
        from .expr import Var as _Var

        _ = _Var
        return call_intrin(
            ptr_type,
            "tvm_access_ptr",
            call_intrin(self.dtype, "type_annotation"),
            self.data,
            offset,
            size,
            mask,
        )

    def __getitem__(self, indices):
        from .expr import BufferLoad
        from .stmt import BufferRegion

        indices = indices if isinstance(indices, tuple) else (indices,)
        if any(isinstance(index, slice) for index in indices):
            region = []
            for index, extent in zip(indices, self.shape):
                if isinstance(index, slice):
                    start = index.start or 0
                    stop = extent if index.stop is None else index.stop
                    region.append(Range(start, stop))
                else:
                    region.append(Range.from_min_extent(index, 1))
            return BufferRegion(self, region)
        return BufferLoad(self, indices)

    def _row_b(self, w):
        w.text(self.name)
        w.text(self.dtype)
        w.text(self._scope)
        w.maybe(PRIM, self._offset)
        w.number(self.offset_factor)
        w.number(self.data_alignment)
        data = self._data
        w.maybe(PRIM, data if isinstance(data, Var) else None)
        w.number(self._layout)
        w.number(len(self.shape))
        for part in (*self.shape, *self.strides):
            w.refer(PRIM, part)


def _load(buffer):
    words = row(BUFFER, buffer._b)
    n = words[8]
    buffer.__dict__.update(
        name=name_of(words[0]),
        dtype=DataType(name_of(words[1])),
        _scope=name_of(words[2]),
        _offset=maybe(PRIM, words[3]),
        offset_factor=words[4],
        data_alignment=words[5],
        _data=maybe(PRIM, words[6]),
        _layout=words[7],
        shape=Array(get(PRIM, item) for item in words[9 : 9 + n]),
        strides=Array(get(PRIM, item) for item in words[9 + n :]),
    )


makers[BUFFER] = lambda number, words: lazy(Buffer, BUFFER, number, _load)


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
    layout=None,
):
    """A new buffer."""
    shape = shape if isinstance(shape, (list, tuple)) else (shape,)
    return Buffer(
        name,
        shape,
        dtype or "float32",
        strides,
        elem_offset,
        scope or "global",
        64 if data_alignment in (-1, 0) else data_alignment,
        offset_factor or 1,
        data,
    )


_ = PointerType
