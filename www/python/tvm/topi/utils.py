"""Helpers of operators: constants in shapes, indices of elements, layouts by their names."""

from numbers import Integral

from tvm import te
from tvm.ir.expr import Var, is_prim_expr
from tvm.sym import Analyzer
from tvm.te import Tensor
from tvm.tirx import FloatImm, IntImm, Or, Select
from tvm.tirx.op import all as all_of
from tvm.tirx.op import const, if_then_else, indexdiv, indexmod

from . import tag
from ._axes import absolute, known
from ._axes import ravelled as ravel_index
from ._layouts import permuted


class InvalidShapeError(ValueError):
    """A shape that an operator does not take."""


def ncw_pack_layout(layout_info):
    """True for a layout NCW whose batch and channels are split."""
    return layout_info[:3] == "NCW" and "c" in layout_info and "n" in layout_info


def ncw_xc_layout(layout_info):
    """True for a layout NCW whose channels are split."""
    return layout_info[:3] == "NCW" and "c" in layout_info and layout_info[3:-1].isnumeric()


def nchw_pack_layout(layout_info):
    """True for a layout NCHW whose batch and channels are split."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and "n" in layout_info


def nchw_xc_layout(layout_info):
    """True for a layout NCHW whose channels are split."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and layout_info[4:-1].isnumeric()


def traverse_inline(s, final_op, callback):
    """Calls a function for an operation of a schedule and for all before it that are inlined, the first ones first."""
    seen = set()

    def visit(op):
        if op in seen:
            return
        seen.add(op)
        if tag.is_injective(op.tag):
            if op not in s.outputs:
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if isinstance(tensor.op, te.ComputeOp):
                    visit(tensor.op)
        callback(op)

    visit(final_op)


def prod(x):
    """The product of all items."""
    if not x:
        return const(1, "int32")
    first, *rest = x
    for item in rest:
        first = first * item
    return first


def _simplified(expr, kind):
    return expr if isinstance(expr, kind) else Analyzer().simplify(expr)


def get_const_int(expr):
    """The number that an expression is known to be."""
    if isinstance(expr, Integral):
        return expr
    expr = _simplified(expr, IntImm)
    if not isinstance(expr, IntImm):
        raise ValueError("Expect value to be constant int")
    return int(expr.value)


def get_const_float(expr):
    """The number with a fraction that an expression is known to be."""
    if isinstance(expr, float):
        return expr
    expr = _simplified(expr, FloatImm)
    if not isinstance(expr, FloatImm):
        raise ValueError("Expect value to be constant float")
    return float(expr.value)


def equal_const_int(expr, value):
    """True if an expression is known to be a number."""
    if isinstance(expr, Integral):
        return expr == value
    expr = _simplified(expr, IntImm)
    return isinstance(expr, IntImm) and int(expr.value) == value


def get_const_tuple(in_tuple):
    """A shape as numbers; what is no constant stays, simplified."""
    if isinstance(in_tuple, Tensor):
        raise TypeError("get_const_tuple expects a shape (tensor.shape), but got a te.Tensor")
    found = []
    for extent in in_tuple:
        if not isinstance(extent, (int, IntImm, Var)):
            extent = Analyzer().simplify(extent)
        found.append(int(extent.value) if isinstance(extent, IntImm) else extent)
    return tuple(found)


def get_float_tuple(in_tuple):
    """Expressions as numbers with fractions."""
    return tuple(get_const_float(item) for item in in_tuple)


def _array(values):
    import numpy

    return values if isinstance(values, numpy.ndarray) else numpy.array(values)


def _chosen(conditions, values, dtype):
    """The value whose condition holds: the last one is asked first."""
    made = const(0.0, dtype)
    for condition, value in zip(conditions, values):
        made = Select(condition, const(value, dtype), made)
    return made


def const_vector(vector, name="const_vector"):
    """A tensor of the numbers of an array."""
    vector = _array(vector)
    length, dtype = int(vector.shape[0]), str(vector.dtype)
    numbers = vector.tolist()
    return te.compute(vector.shape, lambda i: _chosen([indexmod(i, length).equal(at) for at in range(length)], numbers, dtype), name=name)


def const_matrix(matrix, name="const_matrix", attrs=None):
    """A tensor of the numbers of an array of two axes."""
    rows, columns = (int(extent) for extent in matrix.shape)
    places = [(row, column) for row in range(rows) for column in range(columns)]
    numbers = [number for line in matrix.tolist() for number in line]

    def element(i, j):
        conditions = [all_of(indexmod(i, rows).equal(row), indexmod(j, columns).equal(column)) for row, column in places]
        return _chosen(conditions, numbers, str(matrix.dtype))

    attrs = {"const_matrix": True, "schedule_rule": "None"} if attrs is None else attrs
    return te.compute(matrix.shape, element, name=name, attrs=attrs)


def simplify(expr):
    """An expression, or all elements of a tensor, simplified; a number stays."""
    if isinstance(expr, Tensor):
        return te.compute(expr.shape, lambda *at: Analyzer().simplify(expr(*at)), name="simplify_output", tag="simplify")
    return Analyzer().simplify(expr) if is_prim_expr(expr) else expr


def unravel_index(idx, shape):
    """The indices of the element at a place in row-major order. The first one is not cut to its extent."""
    indices = []
    for at, extent in enumerate(reversed(shape)):
        if known(extent) == 0:
            indices.insert(0, 0)
        elif at == len(shape) - 1:
            indices.insert(0, idx)
        else:
            indices.insert(0, indexmod(idx, extent))
            idx = indexdiv(idx, extent)
    return indices


def get_max_power2_factor(n, max_value=None):
    """The greatest power of two that divides a number, no more than a bound."""
    power = 1
    while n % 2 == 0 and (max_value is None or power * 2 <= max_value):
        power, n = power * 2, n // 2
    return power


def get_shape(src_shape, src_layout, dst_layout):
    """A shape in another layout of the same axes."""
    if src_layout == dst_layout:
        return get_const_tuple(src_shape)
    if len(str(src_layout)) != len(str(dst_layout)):
        raise AssertionError(f"Incompatible layout {src_layout} vs {dst_layout}")
    return get_const_tuple(permuted(src_shape, str(src_layout), str(dst_layout)))


def _beyond(b, e, s, i):
    """True for a position before or after a slice."""
    below, above = Select(s < 0, i <= e, i < b), Select(s < 0, i > b, i >= e)
    return Or(below, above)


def within_index(b, e, s, i):
    """True for a position that a slice from `b` to `e` with the step `s` takes."""
    step = if_then_else(s < 0, ((i - e) + (e % absolute(s)) + 1) % absolute(s), (i - b) % s)
    return Select(_beyond(b, e, s, i), const(False), step.equal(0))


def make_idx(b, e, s, z, i):
    """The position in a slice of the position `i` of an axis of the extent `z`; without meaning for one that the slice does not take."""
    outside = _beyond(b, e, s, i)
    b = Select(z < b, z - 1, b)
    return if_then_else(outside, 88, if_then_else(s < 0, (b - i) // absolute(s), (i - b) // s))


def is_empty_shape(shape):
    """True if an extent is known to be 0."""
    return any(known(extent) == 0 for extent in shape)


def ceil_div(a, b):
    """The quotient, rounded up."""
    return indexdiv(a + (b - 1), b)


def swap(arr, axis):
    """A list whose last item and another have changed places."""
    return [*arr[:axis], arr[-1], *arr[axis + 1 : -1], arr[axis]]


def is_target(names):
    """True if the target that counts now has one of the names among its keys."""
    from tvm.target import Target

    names = [names] if isinstance(names, str) else names
    keys = Target.current(allow_none=False).keys
    return any(name in keys for name in names)


def is_dynamic_shape(shape):
    """True if an extent is a variable."""
    return any(isinstance(extent, Var) for extent in shape)
