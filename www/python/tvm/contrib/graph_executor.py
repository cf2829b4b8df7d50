"""Runs programs of Relay by the names of their inputs."""

from ..runtime.tensor import tensor


class GraphModule:
    """A program with inputs that were set and outputs that were computed."""

    def __init__(self, module):
        # `lib["default"](dev)` is one already.
        self.module = getattr(module, "module", module)
        self._inputs = {}
        self._outputs = []

    def set_input(self, key=None, value=None, **params):
        """Sets one input by name or number, or several by name."""
        main = self.module.mod["main"]
        if key is not None:
            params = {main.params[key].name_hint if isinstance(key, int) else str(key): value, **params}
        names = {param.name_hint for param in main.params}
        self._inputs.update({name: item for name, item in params.items() if name in names})

    def run(self, **inputs):
        """Computes the outputs."""
        from ..relay.build_module import Executor, TupleValue

        self.set_input(**inputs)
        result = Executor(self.module.mod).evaluate()(**self._inputs)
        self._outputs = list(result) if isinstance(result, TupleValue) else [result]

    def load_params(self, params_bytes):
        """Sets the inputs that `save_param_dict` wrote."""
        from ..runtime.params import load_param_dict

        self.set_input(**load_param_dict(params_bytes))

    def get_num_inputs(self):
        """The number of inputs."""
        return len(self.module.mod["main"].params)

    def get_input_index(self, name):
        """The place of an input, or -1."""
        names = [param.name_hint for param in self.module.mod["main"].params]
        return names.index(name) if name in names else -1

    def get_input_info(self):
        """The extents and the element types of the inputs, each by name."""
        shapes, dtypes = {}, {}
        for param in self.module.mod["main"].params:
            ty = param.checked_type
            shapes[param.name_hint] = tuple(int(extent) for extent in ty.shape)
            dtypes[param.name_hint] = str(ty.dtype)
        return shapes, dtypes

    def get_input(self, index):
        """An input that was set."""
        key = self.module.mod["main"].params[index].name_hint if isinstance(index, int) else str(index)
        value = self._inputs[key]
        return value if hasattr(value, "numpy") else tensor(value)

    def get_num_outputs(self):
        """The number of outputs."""
        return len(self._outputs)

    def get_output(self, index, out=None):
        """An output."""
        return self._outputs[index] if out is None else out.copyfrom(self._outputs[index])


def create(graph_json_str, libmod, device):
    """A program of a library, with inputs that can be set; the graph is the library's own."""
    return GraphModule(libmod)
