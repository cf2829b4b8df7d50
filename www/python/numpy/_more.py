"""Functions and methods that programs and tests use less often."""

import builtins
import itertools
import math
import types

import numpy as np


def nonzero(a):
    """The places of the elements that are not 0, a list for each axis."""
    return np.where(np.asarray(a).astype("bool"))


def argwhere(a):
    """The places of the elements that are not 0, one below the other."""
    found = nonzero(a)
    return np.stack(found, 1) if len(found) else np.zeros((0, 0), "int64")


def flatnonzero(a):
    """The places of the elements that are not 0, in one row."""
    return nonzero(np.ravel(a))[0]


def count_nonzero(a, axis=None, keepdims=False):
    """The number of elements that are not 0."""
    return np.asarray(a).astype("bool").astype("int64").sum(axis, keepdims)


def meshgrid(*arrays, indexing="xy", sparse=False, copy=True):
    """The coordinates of a grid."""
    arrays = [np.asarray(a).ravel() for a in arrays]
    order = [1, 0, *builtins.range(2, len(arrays))] if indexing == "xy" and len(arrays) > 1 else list(builtins.range(len(arrays)))
    shape = [len(arrays[at]) for at in order]
    made = []
    for at, a in enumerate(arrays):
        ones = [1] * len(arrays)
        ones[order.index(at)] = len(a)
        made.append(a.reshape(ones) if sparse else np.broadcast_to(a.reshape(ones), shape).copy())
    return made


def indices(dimensions, dtype="int64"):
    """The places of all elements, an array for each axis."""
    return np.stack(meshgrid(*(np.arange(n) for n in dimensions), indexing="ij")).astype(dtype)


def unravel_index(places, shape):
    """Places in a row as places in a shape."""
    found, places = [], np.asarray(places)
    for extent in reversed(list(shape)):
        found.append(places % extent)
        places = places // extent
    return builtins.tuple(reversed(found))


def ravel_multi_index(places, dims):
    """Places in a shape as places in a row."""
    total = 0
    for place, extent in zip(places, dims):
        total = total * extent + np.asarray(place)
    return total


def take_along_axis(arr, indices, axis):
    """Elements by places along an axis, of each row its own."""
    arr, indices = np.asarray(arr), np.asarray(indices)
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    axis %= arr.ndim
    shape = np.broadcast_shapes(indices.shape, builtins.tuple(1 if i == axis else n for i, n in enumerate(arr.shape)))
    places = np.broadcast_to(indices, shape)
    data = [arr[(*at[:axis], int(place), *at[axis + 1 :])].item() for at, place in zip(np.ndindex(*shape), places._data)]
    return np.array(data, arr.dtype).reshape(shape)


def put_along_axis(arr, indices, values, axis):
    """Sets elements by places along an axis, of each row its own."""
    indices = np.asarray(indices)
    values = np.broadcast_to(np.asarray(values), indices.shape)
    for at, place, value in zip(np.ndindex(*indices.shape), indices._data, values._data):
        arr[(*at[:axis], int(place), *at[axis + 1 :])] = value


def roll(a, shift, axis=None):
    """Elements moved along an axis; those that leave come in again."""
    a = np.asarray(a)
    if axis is None:
        return roll(a.reshape(-1), shift, 0).reshape(a.shape)
    for step, along in zip(*((shift,), (axis,)) if isinstance(axis, int) else (shift, axis)):
        n = a.shape[along]
        a = np.take(a, [(at - step) % n for at in builtins.range(n)], along)
    return a


def rot90(m, k=1, axes=(0, 1)):
    """Turned by right angles."""
    for _ in builtins.range(k % 4):
        m = np.flip(np.swapaxes(m, *axes), axes[0])
    return m


def cumprod(a, axis=None, dtype=None):
    """Running products."""
    a = np.asarray(a) if dtype is None else np.asarray(a).astype(dtype)
    a = a.flatten() if axis is None else a
    return np.take_along(a, axis or 0, lambda row: itertools.accumulate(row, lambda x, y: x * y))


def diff(a, n=1, axis=-1):
    """Differences of neighbours."""
    a = np.asarray(a)
    for _ in builtins.range(n):
        extent = a.shape[axis]
        a = np.take(a, list(builtins.range(1, extent)), axis) - np.take(a, list(builtins.range(extent - 1)), axis)
    return a


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The elements of a diagonal."""
    a = np.asarray(a)
    rest = [axis for axis in builtins.range(a.ndim) if axis not in (axis1 % a.ndim, axis2 % a.ndim)]
    a = a.transpose(*rest, axis1, axis2)
    rows, columns = a.shape[-2:]
    at = [(i, i + offset) for i in builtins.range(rows) if 0 <= i + offset < columns]
    parts = [a[(..., i, j)] for i, j in at]
    return np.stack(parts, -1) if parts else np.zeros((*a.shape[:-2], 0), a.dtype)


def diag(v, k=0):
    """A matrix with a diagonal, or the diagonal of a matrix."""
    v = np.asarray(v)
    if v.ndim == 2:
        return diagonal(v, k)
    made = np.zeros((v.size + builtins.abs(k),) * 2, v.dtype)
    for at, value in enumerate(v._data):
        made[at + builtins.max(-k, 0), at + builtins.max(k, 0)] = value
    return made


def fill_diagonal(a, val, wrap=False):
    """Sets the elements of the diagonal."""
    for at in builtins.range(builtins.min(a.shape)):
        a[(at,) * a.ndim] = val


def trace(a, offset=0):
    """The sum of the diagonal."""
    return diagonal(a, offset).sum(-1)


def tri(rows, columns=None, k=0, dtype="float64"):
    """Ones below a diagonal."""
    return np.tril(np.ones((rows, rows if columns is None else columns), dtype), k)


def searchsorted(a, v, side="left"):
    """The places at which values would go into a sorted row."""
    import bisect

    row, v = np.asarray(a)._data, np.asarray(v)
    find = bisect.bisect_right if side == "right" else bisect.bisect_left
    found = np.array([find(row, value) for value in v._data], "int64").reshape(v.shape)
    return found if v.shape else found.item()


def einsum(equation, *operands):
    """Sums of products of elements, in the notation of Einstein."""
    operands = [np.asarray(operand) for operand in operands]
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in equation:
        rank = builtins.max(operand.ndim - len(term.replace("...", "")) for operand, term in zip(operands, terms) if "." in term)
        more = "0123456789"[:rank]
        terms = [term.replace("...", more[rank - (operand.ndim - len(term.replace("...", ""))) :]) for operand, term in zip(operands, terms)]
        right = right.replace("...", more)
    if not arrow:
        letters = "".join(terms)
        right = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    sizes = {letter: n for term, operand in zip(terms, operands) for letter, n in zip(term, operand.shape)}
    summed = [letter for letter in sizes if letter not in right]
    name, data = np.result_type(*operands).name, []
    for at in np.ndindex(*(sizes[letter] for letter in right)):
        known, total = dict(zip(right, at)), 0
        for place in np.ndindex(*(sizes[letter] for letter in summed)):
            known.update(zip(summed, place))
            total += math.prod(operand[builtins.tuple(known[letter] for letter in term)].item() for operand, term in zip(operands, terms))
        data.append(total)
    return np.array(data, name).reshape(builtins.tuple(sizes[letter] for letter in right))


def tensordot(a, b, axes=2):
    """Sums of products over several axes."""
    a, b = np.asarray(a), np.asarray(b)
    if isinstance(axes, int):
        axes = (list(builtins.range(a.ndim - axes, a.ndim)), list(builtins.range(axes)))
    one, two = ([x] if isinstance(x, int) else list(x) for x in axes)
    rest = [i for i in builtins.range(a.ndim) if i not in [x % a.ndim for x in one]]
    other = [i for i in builtins.range(b.ndim) if i not in [x % b.ndim for x in two]]
    inner = math.prod(a.shape[x] for x in one)
    left = a.transpose(*rest, *one).reshape(-1, inner)
    right = b.transpose(*two, *other).reshape(inner, -1)
    return np.matmul(left, right).reshape([*(a.shape[i] for i in rest), *(b.shape[i] for i in other)])


def percentile(a, q, axis=None, keepdims=False):
    """The values below which some percent of the elements lie."""

    def at(row):
        row = sorted(row)
        place = (len(row) - 1) * q / 100
        low = math.floor(place)
        return row[low] + (row[builtins.min(low + 1, len(row) - 1)] - row[low]) * (place - low)

    return np.asarray(a).astype("float64")._reduce(at, axis, keepdims)


def average(a, axis=None, weights=None):
    """The mean, with weights."""
    a = np.asarray(a)
    return a.mean(axis) if weights is None else (a * weights).sum(axis) / np.asarray(weights).sum(axis)


def isin(element, test_elements, invert=False):
    """True where an element is one of several."""
    known = set(np.asarray(test_elements)._data)
    return np._map(lambda value: (value in known) != invert, element, "bool")


def array_split(ary, sections, axis=0):
    """Parts of an array, about equally long."""
    n = np.asarray(ary).shape[axis]
    if isinstance(sections, int):
        size, more = divmod(n, sections)
        sections = list(itertools.accumulate([size + 1] * more + [size] * (sections - more)))[:-1]
    return np.split(ary, sections, axis)


def broadcast_arrays(*arrays):
    """Arrays of the shape that they have in common."""
    shape = np.broadcast_shapes(*(np.asarray(a).shape for a in arrays))
    return [np.broadcast_to(a, shape) for a in arrays]


def delete(arr, obj, axis=None):
    """Without some elements along an axis."""
    arr = np.asarray(arr) if axis is not None else np.ravel(arr)
    axis = axis or 0
    n = arr.shape[axis]
    gone = {int(at) % n for at in np.asarray(obj).reshape(-1)._data}
    return np.take(arr, [at for at in builtins.range(n) if at not in gone], axis)


def insert(arr, obj, values, axis=None):
    """With more elements before a place."""
    arr = np.asarray(arr) if axis is not None else np.ravel(arr)
    axis = axis or 0
    before, after = np.split(arr, [obj], axis)
    shape = list(arr.shape)
    shape[axis] = np.asarray(values).size if arr.ndim == 1 else 1
    return np.concatenate([before, np.broadcast_to(np.asarray(values), shape).astype(arr.dtype), after], axis)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function of each row along an axis."""
    arr = np.moveaxis(np.asarray(arr), axis, -1)
    rows = [np.asarray(func1d(arr[at], *args, **kwargs)) for at in np.ndindex(*arr.shape[:-1])]
    made = np.stack(rows).reshape(arr.shape[:-1] + rows[0].shape)
    return np.moveaxis(made, -1, axis) if rows[0].shape else made


def vectorize(pyfunc, otypes=None):
    """A function over elements."""
    return lambda *args: np.array([pyfunc(*items) for items in zip(*(a._data for a in broadcast_arrays(*args)))]).reshape(broadcast_arrays(*args)[0].shape)


def fromfunction(function, shape, dtype="float64"):
    """An array of a function of places."""
    return np.asarray(function(*indices(shape, dtype)))


def fromiter(iterable, dtype, count=-1):
    """An array of what comes one after another."""
    return np.array(list(iterable), dtype)


def ndenumerate(a):
    """Places and elements."""
    a = np.asarray(a)
    return ((at, a[at]) for at in np.ndindex(*a.shape))


def copyto(dst, src, where=True):
    """Sets the elements that are named."""
    dst[...] = np.where(np.broadcast_to(np.asarray(where), dst.shape), np.broadcast_to(np.asarray(src), dst.shape), dst)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """With numbers for what is none."""
    return np._map(lambda value: nan if value != value else value, x)


def atleast_1d(a):
    """With one axis at least."""
    a = np.asarray(a)
    return a if a.ndim else a.reshape(1)


def atleast_2d(a):
    """With two axes at least."""
    a = np.asarray(a)
    return a if a.ndim > 1 else a.reshape(1, -1)


def dstack(arrays):
    """Arrays behind each other."""
    arrays = [atleast_2d(a) for a in arrays]
    return np.concatenate([a if a.ndim > 2 else a.reshape(*a.shape, 1) for a in arrays], 2)


def column_stack(arrays):
    """Rows as columns side by side."""
    arrays = [np.asarray(a) for a in arrays]
    return np.concatenate([a if a.ndim > 1 else a.reshape(-1, 1) for a in arrays], 1)


def bincount(x, weights=None, minlength=0):
    """Counts how often each number occurs."""
    x = [int(value) for value in np.asarray(x)._data]
    found = [0] * builtins.max(minlength, builtins.max(x, default=-1) + 1)
    for at, value in enumerate(x):
        found[value] += 1 if weights is None else weights[at]
    return np.array(found)


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    """Each value once, in order; with the places where it comes first, of each element, and how often it occurs."""
    flat = np.asarray(ar)._data
    values = sorted(set(flat))
    made = [np.array(values, np.asarray(ar).dtype)]
    if return_index:
        made.append(np.array([flat.index(value) for value in values], "int64"))
    if return_inverse:
        place = {value: at for at, value in enumerate(values)}
        made.append(np.array([place[value] for value in flat], "int64"))
    if return_counts:
        made.append(np.array([flat.count(value) for value in values], "int64"))
    return made[0] if len(made) == 1 else builtins.tuple(made)


_BEYOND = {
    "edge": lambda at, n: builtins.min(builtins.max(at, 0), n - 1),
    "reflect": lambda at, n: (n - 1) - builtins.abs((n - 1) - at % (2 * n - 2)) if n > 1 else 0,
    "symmetric": lambda at, n: at % (2 * n) if at % (2 * n) < n else 2 * n - 1 - at % (2 * n),
    "wrap": lambda at, n: at % n,
}
"""The element that stands at a place beyond the ends, by mode."""


def pad(array, pad_width, mode="constant", constant_values=0):
    """With more elements around."""
    array = np.asarray(array)
    widths = [[int(x) for x in np.asarray(width).reshape(-1)] for width in ([pad_width] if isinstance(pad_width, int) else pad_width)]
    if all(len(width) == 1 for width in widths):
        widths = [widths[0] * 2] if len(widths) == 1 else [[widths[0][0], widths[1][0]]]
    widths = widths * array.ndim if len(widths) == 1 else widths
    if mode == "constant":
        value = np.asarray(constant_values)._data[0]
        made = np.full([n + x + y for n, (x, y) in zip(array.shape, widths)], value, array.dtype)
        made[builtins.tuple(slice(x, x + n) for n, (x, _) in zip(array.shape, widths))] = array
        return made
    for axis, (before, after) in enumerate(widths):
        n = array.shape[axis]
        array = np.take(array, [_BEYOND[mode](at, n) for at in builtins.range(-before, n + after)], axis)
    return array


def argsort(a, axis=-1, kind=None, order=None):
    """The places of the elements in order."""
    a = np.asarray(a) if axis is not None else np.ravel(a)
    return np.take_along(a, 0 if axis is None else axis, lambda row: sorted(builtins.range(len(row)), key=row.__getitem__)).astype("int64")


def sort(a, axis=-1, kind=None, order=None):
    """The elements in order."""
    return np.take_along(np.asarray(a) if axis is not None else np.ravel(a), 0 if axis is None else axis, sorted)


def ptp(a, axis=None):
    """The largest less the smallest element."""
    return np.max(a, axis) - np.min(a, axis)


def argpartition(a, kth, axis=-1):
    """The places of the elements in order."""
    return np.argsort(a, axis)


def _pairs(function, out=None):
    return lambda a, b: np._zip(function, a, b, out)


def _each(function, out=None):
    return lambda a: np._map(function, a, out)


fmod = _pairs(math.fmod)
copysign = _pairs(math.copysign, np._as_float)
logaddexp = _pairs(lambda x, y: builtins.max(x, y) + math.log1p(math.exp(-builtins.abs(x - y))), np._as_float)
logical_xor = _pairs(lambda x, y: bool(x) != bool(y), "bool")
left_shift = _pairs(lambda x, y: x << y)
right_shift = _pairs(lambda x, y: x >> y)
gcd, lcm = _pairs(math.gcd), _pairs(math.lcm)
fmax = _pairs(lambda x, y: y if x != x else x if y != y else builtins.max(x, y))
fmin = _pairs(lambda x, y: y if x != x else x if y != y else builtins.min(x, y))
invert = bitwise_not = lambda a: ~np.asarray(a)  # noqa: E731
cbrt = _each(lambda x: math.copysign(builtins.abs(x) ** (1 / 3), x), np._as_float)
reciprocal = _each(lambda x: 1 / x)
deg2rad = _each(math.radians, np._as_float)
signbit = _each(lambda x: math.copysign(1, x) < 0, "bool")
fix, fabs, inner, vdot = np.trunc, np.abs, np.matmul, np.dot
fliplr = lambda m: np.flip(m, 1)  # noqa: E731
flipud = lambda m: np.flip(m, 0)  # noqa: E731
median = lambda a, axis=None, keepdims=False: percentile(a, 50, axis, keepdims)  # noqa: E731
quantile = lambda a, q, axis=None, keepdims=False: percentile(a, q * 100, axis, keepdims)  # noqa: E731
row_stack, in1d, promote_types, require = np.vstack, isin, np.result_type, np.asarray
tril_indices = lambda n, k=0, m=None: nonzero(tri(n, m, k))  # noqa: E731
triu_indices = lambda n, k=0, m=None: nonzero(1 - tri(n, m, k - 1))  # noqa: E731
can_cast = lambda a, b: np.result_type(a, b) == np.dtype(b)  # noqa: E731
set_printoptions = lambda **options: None  # noqa: E731


intp, longlong, int_, double, single, half, uintp = np.int64, np.int64, np.int64, np.float64, np.float32, np.float16, np.uint64
str_, object_, bytes_ = str, object, bytes


class errstate:  # noqa: N801
    """A `with` in which nothing is said of divisions by zero, as here it never is."""

    def __init__(self, **kinds):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def _norm(x, ord=None, axis=None, keepdims=False):
    """The length of vectors."""
    x = np.asarray(x).astype("float64") if np.asarray(x).dtype.kind != "f" else np.asarray(x)
    if ord == 1:
        return np.abs(x).sum(axis, keepdims)
    return np.abs(x).max(axis, keepdims) if ord == math.inf else np.sqrt(np.square(x).sum(axis, keepdims))


def _almost_equal(actual, desired, decimal=6, err_msg="", verbose=True):
    """Raises AssertionError unless all elements are equal up to some digits."""
    np.testing.assert_allclose(actual, desired, 0, 1.5 * 10**-decimal, err_msg=err_msg)


np.testing.assert_array_almost_equal = _almost_equal
linalg = types.ModuleType("numpy.linalg")
linalg.norm = _norm


def _sorted_in_place(self, axis=-1):
    """Puts the elements in order."""
    self._data[:] = np.sort(self, axis)._data


def extend(array):
    """Gives arrays the methods."""
    for name, function in {
        "argsort": argsort, "nonzero": nonzero, "repeat": np.repeat, "cumsum": np.cumsum, "cumprod": cumprod, "swapaxes": np.swapaxes,
        "diagonal": diagonal, "trace": trace, "searchsorted": searchsorted, "round": np.round, "ptp": ptp, "sort": _sorted_in_place,
        "conj": lambda self: self, "__array__": lambda self, *_: self,
    }.items():  # fmt: skip
        setattr(array, name, function)
    array.real = property(lambda self: self)
    array.itemsize = property(lambda self: self.dtype.itemsize)
    array.strides = property(lambda self: builtins.tuple(step * self.dtype.itemsize for step in np._steps(self.shape)))
