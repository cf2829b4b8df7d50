"""Loss functions: each call builds a function of Relax over predictions and targets."""

from ...ir.expr import Var
from ...ir.type import Type
from .. import op
from ..block_builder import BlockBuilder


def _param(given, name):
    """A parameter: the variable that is given, or a new one of a type."""
    if isinstance(given, Type):
        return Var(name, given)
    if not isinstance(given, Var):
        raise TypeError("The type of param should be Var or Type, but got " + str(type(given)))
    return Var(given.name, given.ty)


class Loss:
    """A loss function, with the way in which the losses of a batch become one: `mean`, `sum` or `none`."""

    _valid_reductions = ["mean", "sum", "none"]

    def __init__(self, loss_name, num_backbone_outputs, reduction="mean"):
        if reduction not in self._valid_reductions:
            raise ValueError("Reduction can only be one of these values: ", self._valid_reductions)
        self._loss_name = loss_name
        self._reduction = reduction
        self._num_backbone_outputs = num_backbone_outputs

    @property
    def num_backbone_outputs(self):
        """The number of outputs of the model that the loss takes."""
        return self._num_backbone_outputs

    def _with_reduction(self, expr):
        return {"sum": op.sum, "mean": op.mean, "none": lambda value: value}[self._reduction](expr)

    def _function(self, given, compute):
        """The function over parameters, by name, whose result `compute` emits."""
        bb = BlockBuilder()
        params = [_param(value, name) for name, value in given.items()]
        with bb.function(self._loss_name, params):
            with bb.dataflow():
                loss = bb.emit_output(compute(bb, *params))
            bb.emit_func_output(loss)
        return bb.get()[self._loss_name]


class L1Loss(Loss):
    """The mean of the absolute differences."""

    def __init__(self, reduction="mean"):
        super().__init__("l1_loss", 1, reduction)

    def __call__(self, predictions, targets):
        def compute(_, predictions, targets):
            return self._with_reduction(op.abs(op.subtract(predictions, targets)))

        return self._function({"predictions": predictions, "targets": targets}, compute)


class MSELoss(Loss):
    """The mean of the squared differences."""

    def __init__(self, reduction="mean"):
        super().__init__("mse_loss", 1, reduction)

    def __call__(self, predictions, targets):
        def compute(_, predictions, targets):
            difference = op.subtract(predictions, targets)
            return self._with_reduction(op.multiply(difference, difference))

        return self._function({"predictions": predictions, "targets": targets}, compute)


class CrossEntropyLoss(Loss):
    """The negative logarithm of the probability of the right class, which is given by its index."""

    def __init__(self, reduction="mean", ignore_index=-100):
        super().__init__("cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def _nll_loss(self, logits, targets, weights):
        return op.nn.nll_loss(logits, targets, weights, self._reduction, self.ignore_index)

    def __call__(self, predictions, targets, weights=None):
        def compute(bb, predictions, targets, weights=None):
            return self._nll_loss(bb.emit(op.nn.log_softmax(predictions)), targets, weights)

        given = {"predictions": predictions, "targets": targets}
        return self._function(given if weights is None else given | {"weights": weights}, compute)


class CategoricalCrossEntropyLoss(CrossEntropyLoss):
    """The same over targets that have a number for each class."""

    def __init__(self, reduction="mean", ignore_index=-100):
        Loss.__init__(self, "categorical_cross_entropy_loss", 1, reduction)
        self.ignore_index = ignore_index

    def __call__(self, predictions, targets, weights=None):
        dtype = (targets if isinstance(targets, Type) else targets.ty).dtype
        if "int" not in str(dtype):
            raise TypeError(f"Dtype of targets expected to be int/uint. However, the dtype of targets is {dtype}")

        def compute(bb, predictions, targets, weights=None):
            logits = bb.emit(op.nn.log_softmax(predictions))
            if self.ignore_index >= 0:
                label = bb.emit(op.reshape(op.argmax(targets, axis=1), (targets.ty.shape[0],)))
                return self._nll_loss(logits, label, weights)
            product = bb.emit(-logits * targets.astype("float32"))
            if weights is not None:
                product = bb.emit(product * weights)
            return self._with_reduction(product)

        given = {"predictions": predictions, "targets": targets}
        return self._function(given if weights is None else given | {"weights": weights}, compute)
