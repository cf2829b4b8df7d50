"""Tensors of tensor expressions, and the operations that give them."""

from .._node import Object
from .._values import Array, DataType, Map
from ..error import InternalError
from ..ir.expr import Expr, is_prim_expr
from ..ir.type import PrimType
from ..tirx.buffer import _new
from ..tirx.expr import BufferLoad, EqualOp, Reduce, _scalar


def _operand(value):
    return value.asobject() if isinstance(value, TensorSlice) else value


_OPERATORS = ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow lshift rlshift rshift rrshift and rand or ror xor rxor lt le gt ge eq ne").split()


class TensorSlice:
    """An element of a tensor, or the tensor with the first indices given."""

    def __init__(self, tensor, indices):
        self.tensor = tensor
        self.indices = indices if isinstance(indices, tuple) else (indices,)

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self.tensor, self.indices + indices)

    def asobject(self):
        """The element as a scalar expression."""
        return self.tensor(*self.indices)

    dtype = property(lambda self: self.tensor.dtype)
    ty = property(lambda self: PrimType(self.tensor.dtype))

    def expr_ty(self):
        """The type of the element."""
        return self.ty

    def astype(self, dtype, span=None):
        """The element in another type."""
        return self.asobject().astype(dtype)

    def equal(self, other, span=None):
        """The comparison with another scalar, as an expression."""
        return self.asobject().equal(_operand(other))

    def __neg__(self):
        return -self.asobject()

    def __invert__(self):
        return ~self.asobject()

    def __bool__(self):
        return bool(self.asobject())

    __hash__ = object.__hash__


for _name in _OPERATORS:

    def _forward(self, other, _name=f"__{_name}__"):
        return getattr(self.asobject(), _name)(_operand(other))

    setattr(TensorSlice, f"__{_name}__", _forward)


class ProducerLoad(BufferLoad):
    """An element of a tensor. The engine takes it as one of a buffer of that name."""

    def __init__(self, producer, indices, span=None):
        super().__init__(producer._buffer, indices)
        self.producer = producer


class Tensor(Expr):
    """A tensor that an operation gives."""

    def __init__(self, shape, dtype, op, value_index):
        self.shape, self.dtype_, self.op, self.value_index = Array(shape), DataType(dtype), op, value_index
        self._buffer = _new(self._hint, self.shape, self.dtype_)
        self._buffer._te_tensor = self

    dtype = property(lambda self: self.dtype_)
    ndim = property(lambda self: len(self.shape))
    _hint = property(lambda self: self.op.name if self.op.num_outputs == 1 else f"{self.op.name}_v{self.value_index}")

    @property
    def name(self):
        """The name of its operation, of which it may be one result."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def expr_ty(self):
        """The type of its elements."""
        return PrimType(self.dtype_)

    def __call__(self, *indices):
        if len(indices) != self.ndim:
            raise ValueError(f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided")
        return ProducerLoad(self, indices)

    def __getitem__(self, indices):
        return TensorSlice(self, indices)

    def __iter__(self):
        raise TypeError("a tensor is read element by element")

    def __repr__(self):
        return f"Tensor(shape={self.shape}, op.name={self.op.name})"

    __str__ = __repr__

    def __hash__(self):
        return hash((id(self.op), self.value_index))

    def __eq__(self, other):
        if not isinstance(other, Tensor):
            return EqualOp(self, other) if is_prim_expr(other) else False
        if self.ndim == 0 and other.ndim == 0:
            raise ValueError(
                "Equal == comparison among rank-0 tensor is ambiguous, use Tensor.equal for content expression equvalence, use Tensor.same_as for exact reference comparison"
            )
        return self.op is other.op and self.value_index == other.value_index

    def __ne__(self, other):
        return not self == other

    def _binary(self, name, other, swap=False):
        from .. import topi

        name = {"sub": "subtract", "mul": "multiply", "div": "divide", "floordiv": "floor_divide"}.get(name, name)
        return getattr(topi, name)(*((other, self) if swap else (self, other)))

    def __neg__(self):
        from ..tirx.op import const

        return self * const(-1, self.dtype)

    def astype(self, dtype, span=None):
        """The tensor in another element type."""
        from .. import topi

        return topi.cast(self, dtype)


class Operation(Object):
    """An operation that gives tensors."""

    tag = ""
    num_outputs = 1

    def _make(self, shapes, dtypes):
        self.num_outputs = len(dtypes)
        self._outputs = [Tensor(shape, dtype, self, index) for index, (shape, dtype) in enumerate(zip(shapes, dtypes))]

    def output(self, index):
        """One of the tensors that it gives."""
        return self._outputs[index]

    @property
    def input_tensors(self):
        """The tensors that it reads, each once."""
        return Array(self._inputs())

    def _inputs(self):
        return []


class PlaceholderOp(Operation):
    """A tensor that is given."""

    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype, self.attrs = name, Array(shape), DataType(dtype), Map()
        self._make([self.shape], [self.dtype])


def tensors_in(values):
    """The tensors of which elements stand in expressions, each once, in order."""
    from ..tirx.functor import post_order_visit

    found = {}

    def visit(node):
        tensor = getattr(node.buffer, "_te_tensor", None) if isinstance(node, BufferLoad) else None
        if tensor is not None:
            found.setdefault((id(tensor.op), tensor.value_index), tensor)

    for value in values:
        if isinstance(value, Reduce):
            for part in (*value.source, value.condition, *value.init):
                post_order_visit(part, visit)
        else:
            post_order_visit(value, visit)
    return list(found.values())


class BaseComputeOp(Operation):
    """An operation that computes tensors element by element."""


def _check_reductions(body):
    """Raises unless reductions stand outermost, and all are the same one."""
    from ..ir.base import structural_equal
    from ..tirx.functor import post_order_visit

    inner = []
    for value in body:
        for part in value.source if isinstance(value, Reduce) else [value]:
            post_order_visit(part, lambda node: inner.append(node) if isinstance(node, Reduce) else None)
    reduces = [isinstance(value, Reduce) for value in body]
    if inner or any(reduces) and not all(reduces):
        raise InternalError("Check failed: (0 == level_) is false: Reductions are only allowed at the top level of compute. Please create another tensor for further composition.")
    first = body[0]
    for value in body[1:] if reduces[0] else []:
        same = len(value.axis) == len(first.axis) and all(a is b for a, b in zip(value.axis, first.axis))
        if not same or not structural_equal(list(value.source), list(first.source)):
            raise InternalError("The Reduce inputs of ComputeOp should have the same attribute except value_index")


class ComputeOp(BaseComputeOp):
    """Tensors whose elements are given by expressions over indices."""

    def __init__(self, name, tag, attrs, axis, body):
        self.name, self.tag, self.attrs = name, tag, Map(attrs or {})
        self.axis, self.body = Array(axis), Array(_scalar(_operand(item)) for item in body)
        _check_reductions(self.body)
        first = self.body[0]
        self.reduce_axis = Array(first.axis if isinstance(first, Reduce) else ())
        shape = [item.dom.extent for item in self.axis]
        self._make([shape] * len(self.body), [item.dtype for item in self.body])

    def _inputs(self):
        values = self.body[:1] if isinstance(self.body[0], Reduce) else self.body
        return tensors_in(values)


class ScanOp(Operation):
    """Tensors that are computed step by step along their first axis."""

    def __init__(self, name, tag, attrs, axis, init, update, state_placeholder, inputs):
        self.name, self.tag, self.attrs, self.scan_axis = name, tag, Map(attrs or {}), axis
        self.init, self.update = Array(init), Array(update)
        self.state_placeholder, self.inputs = Array(state_placeholder), Array(inputs)
        self._make([item.shape for item in state_placeholder], [item.dtype for item in init])

    def _inputs(self):
        return [*self.init, *self.update]


class ExternOp(Operation):
    """Tensors that a statement over buffers computes."""

    def __init__(self, name, tag, attrs, inputs, input_placeholders, output_placeholders, body):
        self.name, self.tag, self.attrs, self.body = name, tag, Map(attrs or {}), body
        self.inputs, self.input_placeholders = Array(inputs), Array(input_placeholders)
        self.output_placeholders = Array(output_placeholders)
        self._make([item.shape for item in output_placeholders], [item.dtype for item in output_placeholders])

    def _inputs(self):
        return list(self.inputs)
