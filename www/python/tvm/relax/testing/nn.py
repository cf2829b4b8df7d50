"""Small layers for tests, over the builder that is open, and marks of what a gradient computes again."""

import numpy as np

from ...ir.expr import Expr, Var
from ...ir.type import TensorType
from ...runtime import tensor
from ...tirx.expr import IntImm
from ... import topi
from .. import op
from ..block_builder import BlockBuilder
from ..expr import ShapeExpr
from ..frontend.nn.subroutine import SubroutineMixin


def emit(expr, name_hint=""):
    """Binds a value in the builder that is open."""
    return BlockBuilder.current().emit(expr, name_hint=name_hint)


def emit_te(func, *args, **kwargs):
    """Binds the result of a tensor expression in the builder that is open."""
    return BlockBuilder.current().emit_te(func, *args, **kwargs)


start_checkpoint, end_checkpoint = op.grad.start_checkpoint, op.grad.end_checkpoint


def _mapped(result, each):
    if isinstance(result, (list, tuple)):
        return [each(value) if isinstance(value, Expr) else value for value in result]
    assert isinstance(result, Expr)
    return each(result)


def checkpoint(func, *args, **kwargs):
    """The result of a function, computed again in the backward pass from its arguments, which are kept."""
    mark = lambda value: op.grad.start_checkpoint(value) if isinstance(value, Expr) else value  # noqa: E731
    result = func(*[mark(value) for value in args], **{key: mark(value) for key, value in kwargs.items()})
    return _mapped(result, op.grad.end_checkpoint)


def emit_checkpoint(func, *args, **kwargs):
    """The same with a binding for each mark, which is named after what it marks."""
    bb = BlockBuilder.current()

    def begin(value):
        return bb.emit(op.grad.start_checkpoint(value), value.name + "_scp") if isinstance(value, Var) else value

    def end(value):
        var = value if isinstance(value, Var) and isinstance(result, (list, tuple)) else bb.emit(value)
        return bb.emit(op.grad.end_checkpoint(var), var.name + "_ecp")

    result = func(*[begin(value) for value in args], **{key: begin(value) for key, value in kwargs.items()})
    return _mapped(result, end)


def emit_checkpoint_sequential(functions, segments, input, checkpoint_last=False):  # noqa: A002
    """Functions one after the other, in segments that are each computed again; the last one only on demand."""
    count = len(functions)
    if not isinstance(segments, list):
        segments = [*range(0, count, count // segments), count]
    if segments[-1] != count:
        segments = [*segments, count]
    assert len(segments) >= 2

    def run(start, end):
        def forward(value):
            for function in functions[start:end]:
                value = function(value)
            return value

        return forward

    for at, (start, end) in enumerate(zip(segments, segments[1:])):
        is_last = at == len(segments) - 2
        forward = run(start, end)
        input = forward(input) if is_last and not checkpoint_last else emit_checkpoint(forward, input)  # noqa: A001
    assert isinstance(input, Expr)
    return input if isinstance(input, Var) else BlockBuilder.current().emit(input)


def _unique(name):
    bb = BlockBuilder.current()
    return name if bb is None else bb.get_unique_name(name)


class _Variable(Var):
    """A variable for a tensor, with a name that is new in the builder that is open."""

    _name = "data"

    def __init__(self, shape, dtype="float32", name=None):
        if not isinstance(shape, (list, tuple)):
            raise TypeError(f"the shape of {type(self).__name__} is expected to be a list or a tuple")
        super().__init__(_unique(name or self._name), TensorType(shape, dtype))


class Placeholder(_Variable):
    """An input of a model."""


class Parameter(_Variable):
    """A weight of a model."""

    _name = "param"


class Module(SubroutineMixin):
    """A layer, whose `forward` builds what it computes."""

    def parameters(self):
        """The weights of the layer and of the layers within it."""
        return _parameters(self.__dict__)

    def forward(self, input):  # noqa: A002
        """Builds what the layer computes."""
        raise NotImplementedError

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)


def _parameters(value):
    if isinstance(value, Parameter):
        return [value]
    if isinstance(value, Module):
        return value.parameters()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [param for part in parts for param in _parameters(part)]


def init_params(mod):
    """Zeros for the parameters of `main` that are no data."""
    made = []
    for param in mod["main"].params:
        if param.name.startswith("data"):
            continue
        shape = param.ty.shape
        if not isinstance(shape, ShapeExpr) or not all(isinstance(extent, IntImm) for extent in shape):
            raise TypeError("cannot initialize for unknown-shape parameters.")
        made.append(tensor(np.zeros([int(extent) for extent in shape]).astype(np.float32)))
    return made


class Sequential(Module):
    """Layers one after the other."""

    def __init__(self, *modules):
        self.modules = modules

    def forward(self, input):  # noqa: A002
        """Builds what the layers compute."""
        for module in self.modules:
            input = module(input)  # noqa: A001
        return input


class ReLU(Module):
    """The positive part."""

    def forward(self, input):  # noqa: A002
        """Builds what the layer computes."""
        return emit_te(topi.nn.relu, input)


class LogSoftmax(Module):
    """The logarithm of the softmax."""

    def forward(self, input):  # noqa: A002
        """Builds what the layer computes."""
        return emit_te(topi.nn.log_softmax, input)


class Linear(Module):
    """A product with a weight, and a bias."""

    def __init__(self, in_features, out_features, bias=True):
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, input):  # noqa: A002
        """Builds what the layer computes."""
        product = emit_te(topi.matmul, input, self.weight)
        return product if self.bias is None else emit_te(topi.add, product, self.bias)
