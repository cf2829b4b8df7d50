"""Tensors: elements with a shape."""

import math

import numpy as np

from .. import _engine
from .._node import Object
from .._values import DataType
from .device import Device


class Tensor(Object):
    """A tensor, on a device that is a name."""

    def __init__(self, array, device=None, engine=None, dtype=None):
        self._array = array
        self._bytes = None
        self._engine = engine
        self._own_dtype = dtype
        self.device = device or Device(1, 0)

    @staticmethod
    def of_engine(number):
        """The tensor of a constant."""
        return Tensor(None, None, number)

    def _raw(self):
        """Element type, extents and bytes of a tensor that is no array yet: one of millions of elements is mostly handed on."""
        if self._bytes is None:
            dtype, shape, data = _engine.call("user_constant", self._engine)
            if data is None:
                raise ValueError("the value of this constant is not known")
            self._bytes = dtype, tuple(int(extent) for extent in shape), bytes(data)
        return self._bytes

    def _facts(self):
        if self._array is None:
            dtype, shape, data = self._raw()
            self._array = np._of_bytes(data, shape, dtype)
            self._own_dtype = DataType(dtype)
            self._bytes = None
        return self._array

    def numpy(self):
        """The elements."""
        return self._facts().copy()

    def asnumpy(self):
        """The elements."""
        return self.numpy()

    def tobytes(self):
        """The elements, little endian."""
        return self._raw()[2] if self._array is None else self._array.tobytes()

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    @property
    def shape(self):
        """Extents."""
        return self._raw()[1] if self._array is None else tuple(self._array.shape)

    @property
    def dtype(self):
        """The type of the elements."""
        if self._own_dtype is None:
            self._own_dtype = DataType(self._raw()[0] if self._array is None else str(self._array.dtype))
        return self._own_dtype

    @property
    def strides(self):
        """Distances of neighbours along each axis, counted in elements."""
        made, step = [], 1
        for extent in reversed(self.shape):
            made.append(step)
            step *= extent
        return tuple(reversed(made))

    def numel(self):
        """The number of elements."""
        return math.prod(self.shape)

    def is_contiguous(self):
        """True: elements lie one after the other."""
        return True

    def data_ptr(self):
        """The address of the elements, which none has here."""
        raise NotImplementedError("a tensor has no address here: numpy() gives its elements")

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self._facts().size)
    ctx = property(lambda self: self.device)

    def copyfrom(self, source):
        """Takes other elements."""
        source = source.numpy() if isinstance(source, Tensor) else np.asarray(source)
        if tuple(source.shape) != self.shape:
            raise ValueError(f"array shape do not match the shape of Tensor {source.shape} vs {self.shape}")
        self._array = source.astype(str(self.dtype))
        return self

    def copyto(self, target, mem_scope=None):
        """Copies to another tensor or device."""
        if isinstance(target, Tensor):
            return target.copyfrom(self)
        return Tensor(self.numpy(), target, dtype=self._own_dtype)

    def to(self, target, mem_scope=None):
        """A copy on a device."""
        return self.copyto(target)

    def __getitem__(self, index):
        return self.numpy()[index]

    def __setitem__(self, index, value):
        if index == slice(None):
            self.copyfrom(value)
        else:
            self._facts()[index] = value

    def item(self):
        """The only element."""
        return self._facts().item()

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __len__(self):
        return self.shape[0]

    def __eq__(self, other):
        return self is other

    __hash__ = Object.__hash__

    def _structural(self):
        return [list(self.shape), str(self.dtype), self.tobytes().hex()]

    def __str__(self):
        return str(self._facts())

    def __repr__(self):
        return f"<tvm.runtime.Tensor shape={self.shape}, {self.device}>\n{self._facts()!r}"


NDArray = Tensor


def tensor(arr, dtype=None, device=None, mem_scope=None):
    """A tensor of numbers."""
    if isinstance(dtype, Device):
        dtype, device = None, dtype
    if isinstance(arr, Tensor):
        made = arr.numpy()
        return Tensor(made if dtype is None else made.astype(str(dtype)), device or arr.device)
    array = np.asarray(arr, None if dtype is None else str(dtype))
    return Tensor(array.copy() if array is arr else array, device)


array = tensor


def empty(shape, dtype="float32", device=None, mem_scope=None):
    """A tensor whose elements do not matter; here they are 0."""
    shape = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
    return Tensor(np.zeros(shape, str(dtype)), device)


def from_dlpack(ext_tensor):
    """A tensor of anything that has elements."""
    return tensor(ext_tensor)
