"""Optimizers: each builds a function from parameters, gradients and its own state to new parameters and a new state."""

from decimal import Decimal

import numpy as np

from ...ir.expr import Tuple, TupleGetItem, Var
from ...ir.type import TensorType, TupleType
from ...runtime import DataType, DataTypeCode, tensor
from .. import op
from ..block_builder import BlockBuilder
from ..expr import const


class Optimizer:
    """The base class of optimizers: the parameters, their one element type, and the state, which begins with the step."""

    def __init__(self, name):
        self.name = name
        self.param_list = None
        self.state = None
        self.dtype = None

    def init(self, params):
        """Takes the parameters and makes the state at the beginning."""
        self._set_params_and_dtype(params if isinstance(params, list) else [params])
        self.state = self._first_state()
        return self

    def _first_state(self):
        return None

    def _set_params_and_dtype(self, params):
        dtype = None
        for at, param in enumerate(params):
            if not isinstance(param, Var):
                raise ValueError(f"Parameter {param} is not a Var")
            if not isinstance(param.ty, TensorType):
                raise ValueError(
                    f"Optimizers only support Tensor parameters, but parameter {param.name} has type {param.ty}"
                )
            if DataType(str(param.ty.dtype)).type_code not in (DataTypeCode.BFLOAT, DataTypeCode.FLOAT):
                raise ValueError(
                    f"Optimizers only support Tensor parameters of floating point dtype, but dtype of {param.name} "
                    f"is {param.ty.dtype}"
                )
            if dtype is not None and dtype != param.ty.dtype:
                raise ValueError(
                    f"All parameters should have the same dtype, but parameter {param.name} has dtype "
                    f"{param.ty.dtype}, which differs from the previous dtype {dtype}"
                )
            if any(param.same_as(other) for other in params[:at]):
                raise ValueError(f"Parameter {param.name} appears more than once")
            dtype = param.ty.dtype
        self.param_list = params
        self.dtype = dtype

    def _check_init(self):
        if self.param_list is None or self.state is None or self.dtype is None:
            raise RuntimeError("Please call init() for the optimizer before calling get_function()")

    def get_function(self):
        """The function of a step."""
        self._check_init()
        raise NotImplementedError

    def _zeros(self):
        return [tensor(np.zeros([int(extent) for extent in param.ty.shape], str(param.ty.dtype))) for param in self.param_list]

    def _scalar(self, value):
        return const(value, self.dtype)

    def _function(self, state_types, step):
        """The function whose new values and further state `step` emits, from the builder and the parts of the state."""
        self._check_init()
        types = [param.ty for param in self.param_list]
        params, gradients = Var("params", TupleType(types)), Var("gradients", TupleType(types))
        state = Var("optim_states", TupleType([TensorType((), "int64"), *state_types]))
        bb = BlockBuilder()
        with bb.function(self.name, [params, gradients, state]):
            with bb.dataflow():
                count = bb.emit(TupleGetItem(state, 0), "num_steps")
                count = bb.emit(op.add(count, const(1, "int64")), "num_steps_new")
                new, new_state = step(bb, params, gradients, state)
                result = (
                    bb.emit_output(Tuple(new), "params_new"),
                    bb.emit_output(Tuple([count, *new_state]), "optim_states_new"),
                )
            bb.emit_func_output(result)
        return bb.get()[self.name]

    def _param_and_gradient(self, bb, params, gradients, at):
        name = self.param_list[at].name
        return name, bb.emit(TupleGetItem(params, at), name), bb.emit(TupleGetItem(gradients, at), name + "_grad")

    def _decayed(self, bb, name, param, gradient):
        """The gradient with the penalty for large weights."""
        if not self.weight_decay:
            return gradient
        return bb.emit(op.add(op.multiply(self._scalar(self.weight_decay), param), gradient), name + "_grad_new")


def _one_minus(value):
    """One minus a decimal number, without the error of binary digits."""
    return float(Decimal("1.0") - Decimal(str(value)))


class SGD(Optimizer):
    """Stochastic gradient descent."""

    def __init__(self, lr, weight_decay=0):
        super().__init__("SGD")
        self.lr = float(lr)
        self.weight_decay = float(weight_decay)

    def _first_state(self):
        return (tensor(np.zeros((), "int64")),)

    def get_function(self):
        def step(bb, params, gradients, _):
            new = []
            for at in range(len(self.param_list)):
                name, param, gradient = self._param_and_gradient(bb, params, gradients, at)
                gradient = self._decayed(bb, name, param, gradient)
                new.append(bb.emit(op.subtract(param, op.multiply(self._scalar(self.lr), gradient)), name + "_new"))
            return new, []

        return self._function([], step)


class MomentumSGD(Optimizer):
    """Stochastic gradient descent that keeps a part of its velocity, also as Nesterov has it."""

    def __init__(self, lr, momentum, dampening=0, weight_decay=0, nesterov=False):
        super().__init__("MomentumSGD")
        self.lr = float(lr)
        self.momentum = float(momentum)
        self.weight_decay = float(weight_decay)
        self.dampening = float(dampening)
        self.nesterov = nesterov

    def _first_state(self):
        return (tensor(np.zeros((), "int64")), *self._zeros())

    def get_function(self):
        def step(bb, params, gradients, state):
            new, velocities = [], []
            momentum = self._scalar(self.momentum)
            for at in range(len(self.param_list)):
                name, param, gradient = self._param_and_gradient(bb, params, gradients, at)
                velocity = bb.emit(TupleGetItem(state, at + 1), name + "_v")
                gradient = self._decayed(bb, name, param, gradient)
                damped = op.multiply(self._scalar(_one_minus(self.dampening)), gradient) if self.dampening else gradient
                velocity = bb.emit(op.add(op.multiply(momentum, velocity), damped), name + "_v_new")
                way = velocity
                if self.nesterov:
                    way = bb.emit(op.add(gradient, op.multiply(momentum, velocity)), name + "_g_nest")
                new.append(bb.emit(op.subtract(param, op.multiply(self._scalar(self.lr), way)), name + "_new"))
                velocities.append(velocity)
            return new, velocities

        return self._function([param.ty for param in self.param_list or []], step)


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014): steps by running averages of the gradient and of its square."""

    def __init__(self, lr, betas=(0.9, 0.999), eps=1e-08, weight_decay=0):
        super().__init__("Adam")
        self.lr = float(lr)
        self.beta1 = float(betas[0])
        self.beta2 = float(betas[1])
        self.eps = float(eps)
        self.weight_decay = float(weight_decay)

    def _first_state(self):
        ones = (tensor(np.ones((), str(self.dtype))) for _ in range(2))
        return (tensor(np.zeros((), "int64")), *ones, *self._zeros(), *self._zeros())

    def get_function(self):
        def step(bb, params, gradients, state):
            betas = [self._scalar(self.beta1), self._scalar(self.beta2)]
            products = [
                bb.emit(op.multiply(TupleGetItem(state, at), betas[at - 1]), f"beta{at}_prod") for at in (1, 2)
            ]
            rest = [self._scalar(_one_minus(self.beta1)), self._scalar(_one_minus(self.beta2))]
            one, count = self._scalar(1), len(self.param_list)
            new, means, squares = [], [], []
            for at in range(count):
                name, param, gradient = self._param_and_gradient(bb, params, gradients, at)
                mean = bb.emit(TupleGetItem(state, at + 3), name + "_m")
                square = bb.emit(TupleGetItem(state, at + 3 + count), name + "_v")
                gradient = self._decayed(bb, name, param, gradient)
                mean = bb.emit(op.add(op.multiply(betas[0], mean), op.multiply(rest[0], gradient)), name + "_m_new")
                squared = op.multiply(gradient, gradient)
                square = bb.emit(op.add(op.multiply(betas[1], square), op.multiply(rest[1], squared)), name + "_v_new")
                mean_hat = bb.emit(op.divide(mean, op.subtract(one, products[0])), name + "_m_hat")
                square_hat = bb.emit(op.divide(square, op.subtract(one, products[1])), name + "_v_hat")
                way = op.divide(mean_hat, op.add(op.sqrt(square_hat), self._scalar(self.eps)))
                new.append(bb.emit(op.subtract(param, op.multiply(self._scalar(self.lr), way)), name + "_new"))
                means.append(mean)
                squares.append(square)
            return new, [*products, *means, *squares]

        types = [param.ty for param in self.param_list or []]
        return self._function([TensorType((), self.dtype), TensorType((), self.dtype), *types, *types], step)
