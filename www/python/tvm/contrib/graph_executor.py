"""Runs programs of Relay by the names of their inputs."""


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

    def get_num_outputs(self):
        """How many outputs there are."""
        return len(self._outputs)

    def get_output(self, index, out=None):
        """An output."""
        return self._outputs[index] if out is None else out.copyfrom(self._outputs[index])


def create(graph_json_str, libmod, device):
    """There is no graph of compiled kernels here."""
    raise NotImplementedError("programs are evaluated here, not compiled: there is no graph of kernels")
