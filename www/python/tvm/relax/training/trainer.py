"""The loop of training: parameters, states and the optimizer's state between runs of the machine."""

import numpy as np

from ...runtime import tensor
from . import setup_trainer as names


class Trainer:
    """Runs what SetupTrainer made, and keeps the parameters and states."""

    BACKBONE_FUNC = names.BACKBONE_FUNC
    BACKBONE_LOSS_FUNC = names.BACKBONE_LOSS_FUNC
    ADJOINT_FUNC = names.ADJOINT_FUNC
    OPTIMIZER_FUNC = names.OPTIMIZER_FUNC

    def __init__(self, train_mod, vm, device, zero_init_param_state=True):
        self.mod = train_mod.without_attr("optim_state")
        self.vm = vm
        self.device = device
        self._optim_state = [tensor(getattr(state, "data", state), device) for state in train_mod.attrs["optim_state"]]
        counts = [int(train_mod.attrs[key]) for key in ("input_num", "param_num", "state_num")]
        self._input_num, self._param_num, self._state_num = counts
        params = list(train_mod[self.ADJOINT_FUNC].params)
        behind = self._input_num + self._param_num
        self._param_vars = params[self._input_num : behind]
        self._state_vars = params[behind : behind + self._state_num]
        self._params = [None] * self._param_num
        self._states = [None] * self._state_num
        self._param_name_to_pos = {param.name: at for at, param in enumerate(self._param_vars)}
        self._state_name_to_pos = {state.name: at for at, state in enumerate(self._state_vars)}
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    @staticmethod
    def _shape(var):
        return [int(extent) for extent in var.ty.shape]

    def _zeros(self, variables):
        return [tensor(np.zeros(self._shape(var), str(var.ty.dtype)), self.device) for var in variables]

    def xaiver_uniform_init_params(self):
        """Gives the parameters small values by chance (Glorot and Bengio, 2010)."""
        self._params = []
        for param in self._param_vars:
            shape = self._shape(param)
            values = np.sqrt(6.0 / np.sum(shape)) * np.random.uniform(-1.0, 1.0, shape)
            self._params.append(tensor(values.astype(str(param.ty.dtype)), self.device))

    def zero_init_params(self):
        """Makes the parameters zero."""
        self._params = self._zeros(self._param_vars)

    def zero_init_states(self):
        """Makes the states zero."""
        self._states = self._zeros(self._state_vars)

    def _load(self, values, into, places, kind):
        if isinstance(values, list):
            if len(values) != len(into):
                raise ValueError(
                    f"The length of extern {kind}s is {len(values)}, which does not match the number of {kind}s {len(into)}"
                )
            into[:] = [tensor(value, self.device) for value in values]
        elif isinstance(values, dict):
            for key, value in values.items():
                if key not in places:
                    raise ValueError(f"{kind.capitalize()} {key} is not found in the model")
                into[places[key]] = tensor(value, self.device)
        else:
            raise ValueError(f"The type of extern_{kind}s should be either list or dict")

    def load_params(self, params):
        """Takes values of parameters, as a list of all or by name."""
        self._load(params, self._params, self._param_name_to_pos, "parameter")

    def load_states(self, states):
        """Takes values of states, as a list of all or by name."""
        self._load(states, self._states, self._state_name_to_pos, "state")

    def export_params(self):
        """The parameters by name."""
        return {key: self._params[at] for key, at in self._param_name_to_pos.items()}

    def export_states(self):
        """The states by name."""
        return {key: self._states[at] for key, at in self._state_name_to_pos.items()}

    def _check_inited(self):
        for kind, values in (("parameter", self._params), ("model state", self._states)):
            at = next((at for at, value in enumerate(values) if value is None), None)
            if at is not None:
                raise RuntimeError(f"The {at}-th {kind} is not initialized before training or inference.")

    def _inputs(self, inputs):
        self._check_inited()
        if len(inputs) != self._input_num:
            raise ValueError("The length of the input does not match the backbone")
        return [tensor(value, self.device) for value in inputs] + self._params + self._states

    def predict(self, *input_instances):
        """The results of the model, without its states."""
        result = self.vm[self.BACKBONE_FUNC](*self._inputs(input_instances))
        if self._state_num != 0:
            result = result[: -self._state_num]
            if len(result) == 1:
                result = result[0]
        return result

    def update(self, input_instances, targets):
        """Makes a step: the loss, from inputs and targets."""
        inputs = input_instances if isinstance(input_instances, list) else [input_instances]
        targets = targets if isinstance(targets, list) else [targets]
        given = self._inputs(inputs) + [tensor(value, self.device) for value in targets]
        result, gradients = self.vm[self.ADJOINT_FUNC](*given)
        if self._state_num != 0:
            self._states = list(result[1:])
            result = result[0]
        params, self._optim_state = self.vm[self.OPTIMIZER_FUNC](self._params, gradients, self._optim_state)
        self._params = list(params)
        return result
