"""A small part of numpy: what programs and tests of TVM use of it, in plain Python. Arrays are dense and in row-major order."""

import builtins
import math
import random as _random
import struct
import types

from . import _text

nan = float("nan")
inf = float("inf")
pi = math.pi
e = math.e
newaxis = None
__version__ = "2.0.0-passlab"

_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}
_RANK = list(_FORMATS)


class dtype:  # noqa: N801
    """An element type."""

    def __new__(cls, what):
        if isinstance(what, cls):
            return what
        name = what if isinstance(what, str) else getattr(what, "__name__", str(what))
        name = {
            "bool_": "bool",
            "int": "int64",
            "float": "float64",
            "float_": "float64",
            "uint1": "bool",
        }.get(name, name)
        made = object.__new__(cls)
        made.name = str(name)
        return made

    kind = property(lambda self: {"b": "b", "u": "u", "i": "i"}.get(self.name[0], "f"))
    itemsize = property(lambda self: struct.calcsize(_FORMATS.get(self.name, "B")))
    type = property(lambda self: globals().get(self.name))

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"dtype('{self.name}')"

    def __eq__(self, other):
        try:
            return self.name == dtype(other).name
        except Exception:
            return False

    def __hash__(self):
        return hash(self.name)


def _cast(value, name):
    if name == "bool":
        return bool(value)
    if name.startswith(("int", "uint")):
        bits = int(name.lstrip("uint"))
        value = int(value) & (1 << bits) - 1
        return value - (1 << bits) if name[0] == "i" and value >> bits - 1 else value
    value = float(value)
    if name == "float32":
        return struct.unpack("f", struct.pack("f", value))[0] if builtins.abs(value) < 3.4e38 else _large(value)
    if name == "float16":
        return struct.unpack("e", struct.pack("e", value))[0] if builtins.abs(value) < 65520 else math.copysign(inf, value)
    return value


def _large(value):
    """Casts a number near the largest one of float32, or beyond it."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(inf, value)


def _casts(values, name):
    """Casts many numbers."""
    if name == "float32":
        try:
            return list(struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values)))
        except (OverflowError, struct.error, TypeError):
            pass
    elif name == "float64":
        return list(map(float, values))
    return [_cast(value, name) for value in values]


def _product(shape):
    return math.prod(shape)


class generic:  # noqa: N801
    """The base class of scalars."""


class ndarray:  # noqa: N801
    """An array."""

    __array_priority__ = 0.0
    __hash__ = None

    def __init__(self, shape, dtype="float64", buffer=None):
        self.shape = (shape,) if isinstance(shape, int) else builtins.tuple(shape)
        self.dtype = globals()["dtype"](dtype)
        self._data = [_cast(0, self.dtype.name)] * _product(self.shape)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: len(self._data))
    nbytes = property(lambda self: len(self._data) * self.dtype.itemsize)
    T = property(lambda self: self.transpose())
    flat = property(lambda self: iter(self.reshape(-1)))

    def tobytes(self):
        """The elements, little endian."""
        if self.dtype.name not in _FORMATS:
            if self.dtype.name == "bfloat16":
                return b"".join(struct.pack("<I", struct.unpack("<I", struct.pack("<f", v))[0])[2:] for v in self._data)
            raise TypeError(f"elements of the type {self.dtype} are not supported by this stand-in for numpy")
        return struct.pack(f"<{len(self._data)}{_FORMATS[self.dtype.name]}", *self._data)

    def tolist(self):
        """The elements as nested lists."""

        def nest(shape, at, step):
            if not shape:
                return self._data[at]
            step //= shape[0] or 1
            return [nest(shape[1:], at + index * step, step) for index in builtins.range(shape[0])]

        return nest(self.shape, 0, len(self._data))

    def item(self, *index):
        """An element as a number of Python."""
        if index:
            return self[index if len(index) > 1 else index[0]].item()
        if len(self._data) != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self._data[0]

    def copy(self):
        """A copy."""
        return _make(self.shape, self.dtype.name, builtins.list(self._data))

    def astype(self, what, copy=True):
        """The elements in another type."""
        name = dtype(what).name
        return _make(self.shape, name, _casts(self._data, name))

    def view(self, what=None):
        """The same bytes as another type."""
        return _of_bytes(self.tobytes(), self.shape, dtype(what).name)

    def reshape(self, *shape):
        """Another shape."""
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (builtins.tuple, builtins.list)) else shape
        shape = builtins.list(int(extent) for extent in shape)
        if -1 in shape:
            rest = _product(extent for extent in shape if extent != -1)
            shape[shape.index(-1)] = len(self._data) // rest if rest else 0
        if _product(shape) != len(self._data):
            raise ValueError(f"cannot reshape array of size {len(self._data)} into shape {builtins.tuple(shape)}")
        made = _make(builtins.tuple(shape), self.dtype.name, self._data)
        return made

    def flatten(self):
        """All elements in a row."""
        return self.reshape(-1).copy()

    ravel = flatten

    def transpose(self, *axes):
        """The axes in another order."""
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (builtins.tuple, builtins.list)) else axes
        axes = builtins.list(axes) or builtins.list(builtins.range(self.ndim))[::-1]
        steps = _steps(self.shape)
        shape = builtins.tuple(self.shape[axis] for axis in axes)
        moved = [steps[axis] for axis in axes]
        data = [self._data[builtins.sum(i * s for i, s in zip(index, moved))] for index in ndindex(*shape)]
        return _make(shape, self.dtype.name, data)

    def squeeze(self, axis=None):
        """Without axes of one element."""
        axes = None if axis is None else {a % self.ndim for a in ((axis,) if isinstance(axis, int) else axis)}
        return self.reshape([n for i, n in enumerate(self.shape) if n != 1 or (axes is not None and i not in axes)])

    def fill(self, value):
        """Sets all elements."""
        self._data[:] = [_cast(value, self.dtype.name)] * len(self._data)

    def _pick(self, index):
        index = index if isinstance(index, builtins.tuple) else (index,)
        if Ellipsis in [i for i in index if not isinstance(i, ndarray)]:
            at = [i is Ellipsis for i in index].index(True)
            rest = self.ndim - builtins.sum(1 for i in index if i is not None and i is not Ellipsis)
            index = index[:at] + (slice(None),) * rest + index[at + 1 :]
        index += (slice(None),) * (self.ndim - builtins.sum(1 for i in index if i is not None))
        axes, shape, axis = [], [], 0
        for part in index:
            if part is None:
                shape.append(1)
                continue
            extent = self.shape[axis]
            if isinstance(part, slice):
                places = builtins.list(builtins.range(*part.indices(extent)))
                shape.append(len(places))
            elif isinstance(part, (ndarray, builtins.list)):
                part = asarray(part)
                if part.dtype.name == "bool":
                    places = [i for i, on in enumerate(part._data) if on]
                    shape.append(len(places))
                else:
                    places = [int(i) % extent for i in part._data]
                    shape.extend(part.shape)
            else:
                part = int(part)
                if not -extent <= part < extent:
                    raise IndexError(f"index {part} is out of bounds for axis {axis} with size {extent}")
                places = [part % extent]
            axes.append(places)
            axis += 1
        steps = _steps(self.shape)
        flat = [0]
        for places, step in zip(axes, steps):
            flat = [base + place * step for base in flat for place in places]
        return builtins.tuple(shape), flat

    def __getitem__(self, index):
        if isinstance(index, ndarray) and index.dtype.name == "bool" and index.shape == self.shape:
            data = [value for value, on in zip(self._data, index._data) if on]
            return _make((len(data),), self.dtype.name, data)
        shape, flat = self._pick(index)
        data = [self._data[place] for place in flat]
        return _make(shape, self.dtype.name, data) if shape or not flat else _scalar(data[0], self.dtype.name)

    def __setitem__(self, index, value):
        if isinstance(index, ndarray) and index.dtype.name == "bool":
            flat = [i for i, on in enumerate(index._data) if on]
            shape = (len(flat),)
        else:
            shape, flat = self._pick(index)
        values = broadcast_to(asarray(value), shape)._data if shape else [asarray(value).item()]
        for place, item in zip(flat, values):
            self._data[place] = _cast(item, self.dtype.name)

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in builtins.range(self.shape[0]))

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __bool__(self):
        if len(self._data) != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
        return bool(self._data[0])

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        return int(self.item())

    def __contains__(self, value):
        return value in self._data

    def __str__(self):
        return _text.array2string(self)

    def __repr__(self):
        return _text.array_repr(self)

    def _reduce(self, function, axis=None, keepdims=False, out=None):
        if axis is None:
            value = function(self._data)
            made = _make(
                (1,) * self.ndim if keepdims else (),
                out or self.dtype.name,
                [_cast(value, out or self.dtype.name)],
            )
            return made if keepdims else _scalar(made._data[0], made.dtype.name)
        axes = sorted({a % self.ndim for a in ((axis,) if isinstance(axis, int) else axis)})
        kept = [i for i in builtins.range(self.ndim) if i not in axes]
        steps = _steps(self.shape)
        data = []
        for index in ndindex(*[self.shape[i] for i in kept]):
            base = builtins.sum(n * steps[i] for n, i in zip(index, kept))
            inner = [self._data[base + builtins.sum(n * steps[i] for n, i in zip(place, axes))] for place in ndindex(*[self.shape[i] for i in axes])]
            data.append(_cast(function(inner), out or self.dtype.name))
        shape = [1 if i in axes else n for i, n in enumerate(self.shape) if keepdims or i not in axes]
        return _make(builtins.tuple(shape), out or self.dtype.name, data)

    def sum(self, axis=None, keepdims=False, dtype=None):
        """The sum of the elements."""
        name = str(dtype) if dtype else {"bool": "int64", "int32": "int64", "int8": "int64"}.get(self.dtype.name, self.dtype.name)
        return self._reduce(math.fsum if name.startswith("float") else builtins.sum, axis, keepdims, name)

    def prod(self, axis=None, keepdims=False):
        """The product of the elements."""
        return self._reduce(math.prod, axis, keepdims)

    def mean(self, axis=None, keepdims=False):
        """The mean of the elements."""
        name = self.dtype.name if self.dtype.kind == "f" else "float64"
        return self._reduce(lambda items: math.fsum(items) / len(items), axis, keepdims, name)

    def var(self, axis=None, keepdims=False):
        """The variance of the elements."""

        def variance(items):
            middle = math.fsum(items) / len(items)
            return math.fsum((item - middle) ** 2 for item in items) / len(items)

        return self._reduce(variance, axis, keepdims)

    def std(self, axis=None, keepdims=False):
        """The standard deviation of the elements."""
        return sqrt(self.var(axis, keepdims))

    def max(self, axis=None, keepdims=False):
        """The largest element."""
        return self._reduce(builtins.max, axis, keepdims)

    def min(self, axis=None, keepdims=False):
        """The smallest element."""
        return self._reduce(builtins.min, axis, keepdims)

    def argmax(self, axis=None):
        """The place of the largest element."""
        return self._reduce(lambda items: items.index(builtins.max(items)), axis, False, "int64")

    def argmin(self, axis=None):
        """The place of the smallest element."""
        return self._reduce(lambda items: items.index(builtins.min(items)), axis, False, "int64")

    def all(self, axis=None):
        """True if all elements are true."""
        return self._reduce(builtins.all, axis, False, "bool")

    def any(self, axis=None):
        """True if any element is true."""
        return self._reduce(builtins.any, axis, False, "bool")

    def clip(self, low, high):
        """The elements within bounds."""
        return minimum(maximum(self, low), high)

    def dot(self, other):
        """The product of matrices."""
        return matmul(self, other)

    def __neg__(self):
        return _map(lambda value: -value, self)

    def __invert__(self):
        return _map(lambda value: not value if isinstance(value, bool) else ~value, self)

    def __abs__(self):
        return _map(abs, self)


class _Scalar(ndarray, generic):
    """An array without axes."""

    def __hash__(self):
        return hash(self._data[0])

    def __format__(self, spec):
        return format(self._data[0], spec)

    def __repr__(self):
        return repr(self._data[0])

    def __round__(self, digits=None):
        return round(self._data[0], digits)


def _steps(shape):
    steps, step = [], 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return steps[::-1]


def _make(shape, name, data):
    made = ndarray.__new__(ndarray)
    made.shape, made.dtype, made._data = builtins.tuple(shape), dtype(name), data
    return made


def _scalar(value, name):
    made = _Scalar.__new__(_Scalar)
    made.shape, made.dtype, made._data = (), dtype(name), [value]
    return made


def _of_bytes(data, shape, name):
    if name == "bfloat16":
        values = [struct.unpack("<f", b"\0\0" + data[at : at + 2])[0] for at in builtins.range(0, len(data), 2)]
        return _make(shape, name, values)
    code = _FORMATS.get(name)
    if code is None:
        raise TypeError(f"elements of the type {name} are not supported by this stand-in for numpy")
    return _make(
        shape,
        name,
        builtins.list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)),
    )


def frombuffer(buffer, dtype="float64"):
    """An array of the bytes of something."""
    data = bytes(buffer)
    name = globals()["dtype"](dtype).name
    return _of_bytes(data, (len(data) // struct.calcsize(_FORMATS[name]),), name)


def ndindex(*shape):
    """All indices of a shape."""
    import itertools

    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], builtins.tuple) else shape
    return itertools.product(*(builtins.range(extent) for extent in shape))


def _natural(value):
    if isinstance(value, bool):
        return "bool"
    return "int64" if isinstance(value, int) else "float64"


def array(value, dtype=None, copy=True, ndmin=0):
    """An array of nested lists of numbers."""
    if hasattr(value, "numpy") and not isinstance(value, ndarray):
        value = value.numpy()
    if isinstance(value, ndarray):
        return value.copy() if dtype is None else value.astype(dtype)
    if hasattr(value, "value") and not isinstance(value, (int, float)):
        value = value.value
    if not isinstance(value, (builtins.list, builtins.tuple, builtins.range)):
        name = globals()["dtype"](dtype).name if dtype is not None else _natural(value)
        return _make((), name, [_cast(value, name)])
    parts = [array(item, dtype) for item in value]
    if not parts:
        return _make((0,), globals()["dtype"](dtype or "float64").name, [])
    if builtins.any(part.shape != parts[0].shape for part in parts):
        raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape")
    name = globals()["dtype"](dtype).name if dtype is not None else result_type(*parts).name
    data = _casts([item for part in parts for item in part._data], name)
    return _make((len(parts), *parts[0].shape), name, data)


def asarray(value, dtype=None):
    """An array; one that is it already stays itself."""
    if isinstance(value, ndarray) and (dtype is None or value.dtype == dtype):
        return value
    return array(value, dtype)


ascontiguousarray = asarray


def result_type(*values):
    """The type that values of several types have in common."""
    best = "bool"
    for value in values:
        name = value.dtype.name if isinstance(value, ndarray) else dtype(value).name
        if name not in _RANK:
            return dtype(name)
        best = builtins.max(best, name, key=_RANK.index)
    return dtype(best)


def _pair(a, b):
    weak_a, weak_b = not isinstance(a, ndarray), not isinstance(b, ndarray)
    a, b = asarray(a), asarray(b)
    if weak_a != weak_b:
        weak, other = (a, b) if weak_a else (b, a)
        if not weak.shape and (other.dtype.kind == "f" or weak.dtype.kind != "f") and other.dtype.name != "bool":
            name = other.dtype.name
            if name in ("float16", "float32"):
                # A number of Python becomes one of this type before it is used.
                weak = _make((), name, [_cast(weak._data[0], name)])
                a, b = (weak, b) if weak_a else (a, weak)
            return a, b, name
    return a, b, result_type(a, b).name


def broadcast_shapes(*shapes):
    """The shape that shapes have in common."""
    made = []
    for at in builtins.range(1, builtins.max(len(shape) for shape in shapes) + 1):
        extents = {shape[-at] for shape in shapes if len(shape) >= at} - {1}
        if len(extents) > 1:
            raise ValueError("operands could not be broadcast together with shapes " + " ".join(map(str, shapes)))
        made.append(extents.pop() if extents else 1)
    return builtins.tuple(reversed(made))


def broadcast_to(value, shape):
    """The elements, repeated to a shape."""
    value = asarray(value)
    shape = (shape,) if isinstance(shape, int) else builtins.tuple(shape)
    if value.shape == shape:
        return value
    if len(value._data) == 1:
        return _make(shape, value.dtype.name, value._data * _product(shape))
    old = (1,) * (len(shape) - value.ndim) + value.shape
    if builtins.any(a not in (1, b) for a, b in zip(old, shape)) or len(old) != len(shape):
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {shape}")
    steps = [0 if n == 1 else s for n, s in zip(old, _steps(old))]
    data = [value._data[builtins.sum(i * s for i, s in zip(index, steps))] for index in ndindex(*shape)]
    return _make(shape, value.dtype.name, data)


def _zip(function, a, b, out=None):
    a, b, name = _pair(a, b)
    shape = broadcast_shapes(a.shape, b.shape)
    name = out(name) if callable(out) else out or name
    left, right = broadcast_to(a, shape)._data, broadcast_to(b, shape)._data
    data = _casts([function(x, y) for x, y in zip(left, right)], name)
    return _make(shape, name, data) if shape else _scalar(data[0], name)


def _map(function, a, out=None):
    a = asarray(a)
    name = out(a.dtype.name) if callable(out) else out or a.dtype.name
    data = _casts([function(x) for x in a._data], name)
    return _make(a.shape, name, data) if a.shape else _scalar(data[0], name)


def _as_float(name):
    return name if name.startswith(("float", "bfloat")) else "float64"


def _divide(x, y):
    if y == 0:
        return nan if x == 0 or x != x else math.copysign(inf, x) * math.copysign(1, y)
    return x / y


_BINARY = {
    "add": (lambda x, y: x + y, None),
    "sub": (lambda x, y: x - y, None),
    "mul": (lambda x, y: x * y, None),
    "truediv": (_divide, _as_float),
    "floordiv": (lambda x, y: x // y if y else 0, None),
    "mod": (lambda x, y: x % y if y else 0, None),
    "pow": (lambda x, y: x**y, None),
    "and": (lambda x, y: x & y, None),
    "or": (lambda x, y: x | y, None),
    "xor": (lambda x, y: x ^ y, None),
    "lshift": (lambda x, y: x << y, None),
    "rshift": (lambda x, y: x >> y, None),
    "eq": (lambda x, y: x == y, "bool"),
    "ne": (lambda x, y: x != y, "bool"),
    "lt": (lambda x, y: x < y, "bool"),
    "le": (lambda x, y: x <= y, "bool"),
    "gt": (lambda x, y: x > y, "bool"),
    "ge": (lambda x, y: x >= y, "bool"),
}


def _operator(function, out):
    def forward(a, b):
        return NotImplemented if _foreign(b) else _zip(function, a, b, out)

    def backward(a, b):
        return NotImplemented if _foreign(b) else _zip(function, b, a, out)

    return forward, backward


def _foreign(value):
    return not isinstance(value, (ndarray, int, float, builtins.list, builtins.tuple)) and not hasattr(value, "numpy")


for _name, (_function, _out) in _BINARY.items():
    _forward, _backward = _operator(_function, _out)
    setattr(ndarray, f"__{_name}__", _forward)
    if _name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(ndarray, f"__r{_name}__", _backward)
ndarray.__matmul__ = lambda a, b: matmul(a, b)

add = lambda a, b: _zip(_BINARY["add"][0], a, b)  # noqa: E731
subtract = lambda a, b: _zip(_BINARY["sub"][0], a, b)  # noqa: E731
multiply = lambda a, b: _zip(_BINARY["mul"][0], a, b)  # noqa: E731
divide = true_divide = lambda a, b: _zip(_divide, a, b, _as_float)  # noqa: E731
floor_divide = lambda a, b: _zip(_BINARY["floordiv"][0], a, b)  # noqa: E731
mod = remainder = lambda a, b: _zip(_BINARY["mod"][0], a, b)  # noqa: E731
power = lambda a, b: _zip(_BINARY["pow"][0], a, b)  # noqa: E731
equal = lambda a, b: _zip(_BINARY["eq"][0], a, b, "bool")  # noqa: E731
not_equal = lambda a, b: _zip(_BINARY["ne"][0], a, b, "bool")  # noqa: E731
less = lambda a, b: _zip(_BINARY["lt"][0], a, b, "bool")  # noqa: E731
less_equal = lambda a, b: _zip(_BINARY["le"][0], a, b, "bool")  # noqa: E731
greater = lambda a, b: _zip(_BINARY["gt"][0], a, b, "bool")  # noqa: E731
greater_equal = lambda a, b: _zip(_BINARY["ge"][0], a, b, "bool")  # noqa: E731
logical_and = lambda a, b: _zip(lambda x, y: bool(x) and bool(y), a, b, "bool")  # noqa: E731
logical_or = lambda a, b: _zip(lambda x, y: bool(x) or bool(y), a, b, "bool")  # noqa: E731
maximum = lambda a, b: _zip(builtins.max, a, b)  # noqa: E731
minimum = lambda a, b: _zip(builtins.min, a, b)  # noqa: E731
arctan2 = lambda a, b: _zip(math.atan2, a, b, _as_float)  # noqa: E731
hypot = lambda a, b: _zip(math.hypot, a, b, _as_float)  # noqa: E731
ldexp = lambda a, b: _zip(lambda x, y: x * 2.0 ** builtins.int(y), a, b, _as_float)  # noqa: E731
bitwise_and = lambda a, b: _zip(_BINARY["and"][0], a, b)  # noqa: E731
bitwise_or = lambda a, b: _zip(_BINARY["or"][0], a, b)  # noqa: E731
bitwise_xor = lambda a, b: _zip(_BINARY["xor"][0], a, b)  # noqa: E731


def _guarded(function, low=None, high=None):
    def apply(x):
        try:
            return function(x)
        except (ValueError, ZeroDivisionError):
            return -inf if x == 0 else nan
        except OverflowError:
            return inf

    return apply


for _name, _function in {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "arcsinh": math.asinh,
    "arccosh": math.acosh,
    "arctanh": math.atanh,
    "expm1": math.expm1,
}.items():
    globals()[_name] = (lambda function: lambda a: _map(function, a, _as_float))(_guarded(_function))


def _whole(function):
    return lambda x: function(x) if math.isfinite(x) else x


floor = lambda a: _map(_whole(math.floor), a)  # noqa: E731
ceil = lambda a: _map(_whole(math.ceil), a)  # noqa: E731
trunc = lambda a: _map(_whole(math.trunc), a)  # noqa: E731
rint = lambda a: _map(_whole(builtins.round), a)  # noqa: E731
around = round = lambda a, decimals=0: _map(lambda x: builtins.round(x, decimals), a)  # noqa: E731
abs = absolute = lambda a: _map(lambda x: x if x >= 0 else -x, a)  # noqa: E731, A001
negative = lambda a: _map(lambda x: -x, a)  # noqa: E731
square = lambda a: _map(lambda x: x * x, a)  # noqa: E731
sign = lambda a: _map(lambda x: (x > 0) - (x < 0), a)  # noqa: E731
isnan = lambda a: _map(lambda x: x != x, a, "bool")  # noqa: E731
isinf = lambda a: _map(lambda x: x in (inf, -inf), a, "bool")  # noqa: E731
isfinite = lambda a: _map(lambda x: x == x and x not in (inf, -inf), a, "bool")  # noqa: E731
logical_not = lambda a: _map(lambda x: not x, a, "bool")  # noqa: E731


def zeros(shape, dtype="float64"):
    """An array of zeros."""
    return ndarray(shape, dtype)


def ones(shape, dtype="float64"):
    """An array of ones."""
    return full(shape, 1, dtype)


def full(shape, value, dtype=None):
    """An array of one value."""
    made = ndarray(shape, dtype or _natural(value))
    made.fill(value)
    return made


def empty(shape, dtype="float64"):
    """An array whose elements do not matter; here they are 0."""
    return ndarray(shape, dtype)


zeros_like = lambda a, dtype=None: zeros(asarray(a).shape, dtype or asarray(a).dtype)  # noqa: E731
ones_like = lambda a, dtype=None: ones(asarray(a).shape, dtype or asarray(a).dtype)  # noqa: E731
full_like = lambda a, value, dtype=None: full(asarray(a).shape, value, dtype or asarray(a).dtype)  # noqa: E731
empty_like = zeros_like


def arange(start, stop=None, step=1, dtype=None):
    """Numbers in equal distances."""
    if stop is None:
        start, stop = 0, start
    count = builtins.max(0, math.ceil((stop - start) / step))
    name = dtype or ("float64" if builtins.any(isinstance(x, float) for x in (start, stop, step)) else "int64")
    return array([start + index * step for index in builtins.range(count)], name) if count else zeros((0,), name)


def linspace(start, stop, num=50, dtype=None):
    """Numbers in equal distances, both ends among them."""
    step = (stop - start) / (num - 1) if num > 1 else 0
    return array([start + index * step for index in builtins.range(num)], dtype or "float64")


def eye(rows, columns=None, k=0, dtype="float64"):
    """Ones along a diagonal."""
    columns = rows if columns is None else columns
    return array([[int(j - i == k) for j in builtins.range(columns)] for i in builtins.range(rows)], dtype)


identity = eye


def reshape(a, shape):
    """Another shape."""
    return asarray(a).reshape(shape)


def transpose(a, axes=None):
    """The axes in another order."""
    return asarray(a).transpose(*(axes or ()))


def squeeze(a, axis=None):
    """Without axes of one element."""
    return asarray(a).squeeze(axis)


def expand_dims(a, axis):
    """With more axes of one element."""
    a = asarray(a)
    axes = (axis,) if isinstance(axis, int) else axis
    rank = a.ndim + len(axes)
    axes = {x % rank for x in axes}
    rest = iter(a.shape)
    return a.reshape([1 if i in axes else next(rest) for i in builtins.range(rank)])


def append(arr, values, axis=None):
    """The elements behind those of another array, flat unless an axis is given."""
    if axis is None:
        return concatenate([asarray(arr).reshape(-1), asarray(values).reshape(-1)])
    return concatenate([asarray(arr), asarray(values)], axis=axis)


def concatenate(arrays, axis=0):
    """Arrays one behind the other."""
    arrays = [asarray(a) for a in arrays]
    axis %= arrays[0].ndim
    name = result_type(*arrays).name
    outer = _product(arrays[0].shape[:axis])
    inner = [_product(a.shape[axis:]) for a in arrays]
    data = []
    for row in builtins.range(outer):
        for a, step in zip(arrays, inner):
            data.extend(_cast(x, name) for x in a._data[row * step : (row + 1) * step])
    shape = builtins.list(arrays[0].shape)
    shape[axis] = builtins.sum(a.shape[axis] for a in arrays)
    return _make(shape, name, data)


def stack(arrays, axis=0):
    """Arrays along a new axis."""
    return concatenate([expand_dims(a, axis) for a in arrays], axis)


def split(a, sections, axis=0):
    """Parts of an array."""
    a = asarray(a)
    axis %= a.ndim
    extent = a.shape[axis]
    if isinstance(sections, int):
        if extent % sections:
            raise ValueError("array split does not result in an equal division")
        sections = builtins.list(builtins.range(extent // sections, extent, extent // sections))
    edges = [0, *sections, extent]
    return [a[(slice(None),) * axis + (slice(x, y),)] for x, y in zip(edges, edges[1:])]


def where(condition, a=None, b=None):
    """One of two, by a condition."""
    condition = asarray(condition)
    if a is None:
        found = [index for index, on in zip(ndindex(*condition.shape), condition._data) if on]
        return builtins.tuple(array([index[axis] for index in found], "int64") for axis in builtins.range(condition.ndim))
    left, right, name = _pair(a, b)
    shape = broadcast_shapes(condition.shape, left.shape, right.shape)
    parts = [broadcast_to(x, shape)._data for x in (condition, left, right)]
    return _make(shape, name, [_cast(x if on else y, name) for on, x, y in zip(*parts)])


def take(a, indices, axis=None, mode="raise"):
    """Elements by place. Places beyond the ends are wrong, or wrapped around, or the ends themselves."""
    a, indices = asarray(a), asarray(indices)
    if axis is None:
        a, axis = a.flatten(), 0
    n = a.shape[axis]
    if mode == "wrap":
        indices = indices % n
    elif mode == "clip":
        indices = clip(indices, 0, n - 1)
    return a[(slice(None),) * (axis % a.ndim) + (indices,)]


ndarray.take = take


def tile(a, reps):
    """An array, repeated."""
    a = asarray(a)
    reps = (reps,) if isinstance(reps, int) else builtins.tuple(reps)
    a = a.reshape((1,) * (len(reps) - a.ndim) + a.shape)
    reps = (1,) * (a.ndim - len(reps)) + reps
    for axis, count in enumerate(reps):
        a = concatenate([a] * count, axis)
    return a


def repeat(a, repeats, axis=None):
    """Elements, each repeated."""
    a = asarray(a).flatten() if axis is None else asarray(a)
    axis = 0 if axis is None else axis
    return take(a, [i for i in builtins.range(a.shape[axis]) for _ in builtins.range(repeats)], axis)


def flip(a, axis=0):
    """The other way round along an axis."""
    a = asarray(a)
    return a[(slice(None),) * (axis % a.ndim) + (slice(None, None, -1),)]


def matmul(a, b):
    """The product of matrices."""
    a, b = asarray(a), asarray(b)
    name = result_type(a, b).name
    if a.ndim == 1 and b.ndim == 1:
        return _scalar(_cast(builtins.sum(x * y for x, y in zip(a._data, b._data)), name), name)
    one, two = a.ndim == 1, b.ndim == 1
    a = a.reshape((1, *a.shape)) if one else a
    b = b.reshape((*b.shape, 1)) if two else b
    outer = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, k, m = a.shape[-2], a.shape[-1], b.shape[-1]
    if b.shape[-2] != k:
        raise ValueError("matmul: the extents of the operands do not match")
    a, b = broadcast_to(a, outer + (n, k)), broadcast_to(b, outer + (k, m))
    data = []
    for batch in builtins.range(_product(outer)):
        rows = [a._data[(batch * n + i) * k : (batch * n + i + 1) * k] for i in builtins.range(n)]
        columns = [b._data[batch * k * m + j : (batch + 1) * k * m : m] for j in builtins.range(m)]
        data.extend(_cast(math.sumprod(row, column), name) for row in rows for column in columns)
    made = _make(outer + (n, m), name, data)
    return made.squeeze(-2) if one else made.squeeze(-1) if two else made


dot = matmul


def outer(a, b):
    """All products of two rows."""
    return asarray(a).reshape(-1, 1) * asarray(b).reshape(1, -1)


def take_along(a, axis, function):
    """A function over the elements along an axis."""
    axis %= a.ndim
    moved = [i for i in builtins.range(a.ndim) if i != axis] + [axis]
    rows = a.transpose(*moved)
    n = a.shape[axis]
    data = [x for at in builtins.range(0, a.size, n) for x in function(rows._data[at : at + n])]
    back = builtins.list(moved)
    for place, i in enumerate(moved):
        back[i] = place
    return _make(rows.shape, a.dtype.name, data).transpose(*back)


def cumsum(a, axis=None):
    """Running sums."""
    import itertools

    a = asarray(a).flatten() if axis is None else asarray(a)
    return take_along(a, axis or 0, lambda row: itertools.accumulate(row))


def tril(a, k=0):
    """The lower triangle."""
    a = asarray(a)
    return _make(
        a.shape,
        a.dtype.name,
        [x if i[-1] - i[-2] <= k else _cast(0, a.dtype.name) for i, x in zip(ndindex(*a.shape), a._data)],
    )


def triu(a, k=0):
    """The upper triangle."""
    a = asarray(a)
    return _make(
        a.shape,
        a.dtype.name,
        [x if i[-1] - i[-2] >= k else _cast(0, a.dtype.name) for i, x in zip(ndindex(*a.shape), a._data)],
    )


def clip(a, low, high):
    """The elements within bounds."""
    return asarray(a).clip(low, high)


def _method(name):
    return lambda a, *args, **kwargs: getattr(asarray(a), name)(*args, **kwargs)


for _name in "sum prod mean var std max min argmax argmin all any".split():
    globals()[_name] = _method(_name)
amax, amin = globals()["max"], globals()["min"]


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """True if all elements are about equal."""
    close = lambda x, y: x == y or (x != x and y != y and equal_nan) or builtins.abs(x - y) <= atol + rtol * builtins.abs(y)  # noqa: E731
    return bool(_zip(close, asarray(a).astype("float64"), asarray(b).astype("float64"), "bool").all())


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """True where elements are about equal."""
    a, b = asarray(a), asarray(b)
    shape = broadcast_shapes(a.shape, b.shape)
    pairs = zip(broadcast_to(a, shape).ravel().tolist(), broadcast_to(b, shape).ravel().tolist())
    return array([allclose(x, y, rtol, atol, equal_nan) for x, y in pairs], "bool").reshape(shape)


def array_equal(a, b):
    """True if shapes and elements are equal."""
    a, b = asarray(a), asarray(b)
    return a.shape == b.shape and a._data == b._data


def size(a, axis=None):
    """The number of elements, or the extent of an axis."""
    a = asarray(a)
    return a.size if axis is None else a.shape[axis]


def vstack(arrays):
    """Arrays one below the other."""
    arrays = [asarray(item) for item in arrays]
    return concatenate([item.reshape(1, -1) if item.ndim < 2 else item for item in arrays])


def hstack(arrays):
    """Arrays side by side."""
    arrays = [asarray(item) for item in arrays]
    return concatenate([item.reshape(-1) if item.ndim == 0 else item for item in arrays], 0 if arrays[0].ndim < 2 else 1)


def moveaxis(a, source, destination):
    """An array with an axis at another place."""
    a = asarray(a)
    order = [axis for axis in range(a.ndim) if axis != source % a.ndim]
    order.insert(destination % a.ndim, source % a.ndim)
    return a.transpose(order)


def swapaxes(a, axis1, axis2):
    """An array with two axes exchanged."""
    a = asarray(a)
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return a.transpose(order)


def copy(a):
    """An array of its own."""
    return array(a)


def ravel(a):
    """The elements in one row."""
    return asarray(a).reshape(-1)


def isscalar(value):
    """True if a value is a number."""
    return isinstance(value, (int, float, generic))


def ndim(a):
    """The number of axes."""
    return asarray(a).ndim


def shape(a):
    """The extents."""
    return asarray(a).shape


class _Numbers(type):
    """The type of kinds of numbers: all scalars are of one class, and know their types."""

    def __instancecheck__(cls, value):
        if not isinstance(value, _Scalar):
            return False
        name = cls.__dict__.get("_of")
        return value.dtype.name == name if name else issubclass(_kind(value.dtype.name), cls)


class number(generic, metaclass=_Numbers):  # noqa: N801
    """The types of numbers."""


class integer(number):  # noqa: N801
    """The types of whole numbers."""


class signedinteger(integer):  # noqa: N801
    """The types of whole numbers with a sign."""


class unsignedinteger(integer):  # noqa: N801
    """The types of whole numbers without a sign."""


class floating(number):  # noqa: N801
    """The types of floating point numbers."""


_KINDS = {"i": signedinteger, "u": unsignedinteger, "b": generic}


def _kind(name):
    return floating if name.startswith("bfloat") else _KINDS.get(name[0], floating)


def issubdtype(arg1, arg2):
    """True if a type is another one, or of its kind."""
    kinds = (generic, number, integer, signedinteger, unsignedinteger, floating)
    found = arg1 if arg1 in kinds else _kind(dtype(arg1).name)
    return issubclass(found, arg2) if arg2 in kinds else arg1 not in kinds and dtype(arg1).name == dtype(arg2).name


def _scalar_type(name):
    def make(cls, value=0):
        return _scalar(_cast(asarray(value).item() if isinstance(value, ndarray) else value, name), name)

    return _Numbers(name, (_kind(name),), {"_of": name, "__new__": make, "dtype": property(lambda self: dtype(name))})


for _name in _FORMATS:
    globals()[_name if _name != "bool" else "bool_"] = _scalar_type(_name)


class finfo:  # noqa: N801
    """The bounds of a floating point type."""

    def __init__(self, what):
        name = dtype(what).name
        self.dtype = dtype(name)
        self.bits = int(name.lstrip("bfloat"))
        top = {
            "float16": (65504.0, 6.104e-05, 0.000977),
            "float32": (3.4028234663852886e38, 1.1754943508222875e-38, 1.1920929e-07),
            "float64": (1.7976931348623157e308, 2.2250738585072014e-308, 2.220446049250313e-16),
        }[name]
        self.max, self.min, self.tiny, self.eps = top[0], -top[0], top[1], top[2]


class iinfo:  # noqa: N801
    """The bounds of a type of whole numbers."""

    def __init__(self, what):
        name = dtype(what).name
        self.dtype = dtype(name)
        self.bits = int(name.lstrip("uint"))
        self.max = (1 << self.bits - (name[0] == "i")) - 1
        self.min = -(1 << self.bits - 1) if name[0] == "i" else 0


def _fail(message, err_msg=""):
    raise AssertionError(f"\n{message}\n{err_msg}")


class _Testing(types.ModuleType):
    @staticmethod
    def assert_allclose(actual, desired, rtol=1e-7, atol=0, equal_nan=True, err_msg="", verbose=True):
        """Raises AssertionError unless all elements are about equal."""
        a, b = asarray(actual), asarray(desired)
        if a.shape != b.shape and a.shape and b.shape:
            _fail(f"Not equal to tolerance: shapes {a.shape}, {b.shape} mismatch", err_msg)
        if not allclose(a, b, rtol, atol, equal_nan):
            _fail(f"Not equal to tolerance rtol={rtol}, atol={atol}\n {a!r}\n {b!r}", err_msg)

    @staticmethod
    def assert_array_equal(actual, desired, err_msg=""):
        """Raises AssertionError unless shapes and elements are equal."""
        a, b = asarray(actual), asarray(desired)
        if a.shape != b.shape and a.shape and b.shape or not bool(equal(a, b).all()):
            _fail(f"Arrays are not equal\n {a!r}\n {b!r}", err_msg)

    @staticmethod
    def assert_equal(actual, desired, err_msg=""):
        """Raises AssertionError unless two things are equal."""
        if isinstance(actual, ndarray) or isinstance(desired, ndarray):
            _Testing.assert_array_equal(actual, desired, err_msg)
        elif actual != desired:
            _fail(f"Items are not equal:\n ACTUAL: {actual}\n DESIRED: {desired}", err_msg)

    assert_almost_equal = staticmethod(lambda a, b, decimal=7: _Testing.assert_allclose(a, b, 0, 1.5 * 10**-decimal))


testing = _Testing("numpy.testing")


class _Generator:
    """Random numbers."""

    def __init__(self, seed=None):
        self._random = _random.Random(seed)

    def _fill(self, size, function, name="float64"):
        if size is None:
            return _scalar(function(), name)
        shape = (size,) if isinstance(size, int) else builtins.tuple(int(n) for n in size)
        return _make(shape, name, _casts([function() for _ in builtins.range(_product(shape))], name))

    def seed(self, seed=None):
        """Begins anew."""
        self._random.seed(seed)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Evenly spread numbers."""
        return self._fill(size, lambda: self._random.uniform(low, high))

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normally spread numbers."""
        return self._fill(size, lambda: self._random.gauss(loc, scale))

    def rand(self, *shape):
        """Evenly spread numbers from 0 to 1."""
        return self._fill(shape or None, self._random.random)

    def randn(self, *shape):
        """Normally spread numbers."""
        return self._fill(shape or None, lambda: self._random.gauss(0, 1))

    def random(self, size=None, dtype="float64"):
        """Evenly spread numbers from 0 to 1."""
        return self._fill(size, self._random.random, globals()["dtype"](dtype).name)

    random_sample = random

    def standard_normal(self, size=None, dtype="float64"):
        """Normally spread numbers."""
        return self._fill(size, lambda: self._random.gauss(0, 1), globals()["dtype"](dtype).name)

    def randint(self, low, high=None, size=None, dtype="int64"):
        """Evenly spread whole numbers."""
        low, high = (0, low) if high is None else (low, high)
        return self._fill(size, lambda: self._random.randrange(low, high), globals()["dtype"](dtype).name)

    integers = randint

    def choice(self, items, size=None, replace=True):
        """Some of several."""
        items = builtins.list(builtins.range(items)) if isinstance(items, int) else builtins.list(items)
        return items[self._random.randrange(len(items))] if size is None else array([self._random.choice(items) for _ in builtins.range(size)])

    def permutation(self, items):
        """Items in another order."""
        items = builtins.list(builtins.range(items)) if isinstance(items, int) else builtins.list(items)
        self._random.shuffle(items)
        return array(items)

    def shuffle(self, items):
        """Puts items into another order."""
        self._random.shuffle(items)


class _RandomModule(types.ModuleType):
    RandomState = Generator = _Generator
    default_rng = staticmethod(_Generator)


random = _RandomModule("numpy.random")
_shared = _Generator()
for _name in dir(_Generator):
    if not _name.startswith("_"):
        setattr(random, _name, getattr(_shared, _name))

import sys as _sys  # noqa: E402

_sys.modules["numpy.testing"] = testing
_sys.modules["numpy.random"] = random

from . import _more  # noqa: E402

for _name, _value in vars(_more).items():
    if not _name.startswith("_") and _name not in ("builtins", "itertools", "math", "types", "np", "extend"):
        globals()[_name] = _value
_more.extend(ndarray)
_sys.modules["numpy.linalg"] = _more.linalg
