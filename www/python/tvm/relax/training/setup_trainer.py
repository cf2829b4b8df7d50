"""A pass that makes a trainer of a model."""

from ...ir.transform import module_pass
from ...ir.expr import Tuple
from ..analysis import check_well_formed
from ..transform import DecomposeOpsForInference, DecomposeOpsForTraining, Gradient, LegalizeOps
from .utils import AppendLoss


# The functions of a trainer, and the attributes that say what the parameters of a model are.
BACKBONE_FUNC = "backbone"
BACKBONE_LOSS_FUNC = "backbone_loss"
ADJOINT_FUNC = "backbone_loss_adjoint"
OPTIMIZER_FUNC = "optimizer"
PARAM_NUM_ATTR_KEY = "param_num"
STATE_NUM_ATTR_KEY = "state_num"


def _refused(message):
    return ValueError(f"SetupTrainer: {message}")


@module_pass(opt_level=0, name="SetupTrainer")
class SetupTrainer:
    """Adds to a module with a function `backbone` its loss, the gradients of the parameters, and an optimizer.

    The module says with the attributes `param_num` and `state_num` how many of the parameters behind the inputs are
    trained, and how many are states, which the function gives back behind its predictions.
    """

    def __init__(self, loss, optimizer, loss_args, legalize=True):
        self._loss = loss
        self._optimizer = optimizer
        self._loss_args = loss_args
        self._legalize = legalize

    def _counts(self, mod):
        """The numbers of inputs, parameters and states of the model."""
        if not check_well_formed(mod):
            raise _refused("The backbone module is not well formed.")
        try:
            func = mod[BACKBONE_FUNC]
        except (KeyError, ValueError) as error:
            raise _refused(f"The backbone module does not contain a function named {BACKBONE_FUNC}") from error
        counts = []
        for key in (PARAM_NUM_ATTR_KEY, STATE_NUM_ATTR_KEY):
            value = None if mod.attrs is None else mod.attrs.get(key)
            try:
                counts.append(int(value))
            except (TypeError, ValueError):
                raise _refused(f"The backbone module should has an integer attribute named {key}") from None
        inputs = len(func.params) - sum(counts)
        if inputs < 0:
            raise _refused(
                "The number of parameters of the predict function should be no less than the number of parameters and states"
            )
        result = func.body.body
        if counts[1] > 0 and not (isinstance(result, Tuple) and len(result.fields) > counts[1]):
            raise _refused(
                "When model state exists, the predict function should return a tuple of length more than the number of states"
            )
        return inputs, *counts

    def transform_module(self, mod, _):
        """Adds the functions."""
        inputs, params, _ = self._counts(mod)
        loss = self._loss(*self._loss_args)
        mod = AppendLoss(BACKBONE_FUNC, loss, self._loss.num_backbone_outputs, BACKBONE_LOSS_FUNC)(mod)
        # The normalisation of a batch is another one in training.
        mod = DecomposeOpsForInference(BACKBONE_FUNC)(mod)
        mod = DecomposeOpsForTraining(BACKBONE_LOSS_FUNC)(mod)
        trained = list(mod[BACKBONE_LOSS_FUNC].params)[inputs : inputs + params]
        mod = Gradient(BACKBONE_LOSS_FUNC, require_grads=trained, target_index=0)(mod)
        self._optimizer.init(trained)
        mod[OPTIMIZER_FUNC] = self._optimizer.get_function().with_attr("global_symbol", OPTIMIZER_FUNC)
        mod = mod.with_attrs({**dict(mod.attrs.items()), "input_num": inputs, "optim_state": self._optimizer.state})
        return LegalizeOps()(mod) if self._legalize else mod
