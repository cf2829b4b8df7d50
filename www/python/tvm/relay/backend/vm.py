"""The virtual machine's compiler: the program stays one, and is evaluated."""

from ..build_module import Executor, bind_params_by_name
from ..transform import InferType


def compile(mod, target=None, target_host=None, params=None):  # noqa: A001
    """A program that a virtual machine can run."""
    if params:
        mod = mod.clone()
        mod["main"] = bind_params_by_name(mod["main"], params)
    return VMExecutable(InferType()(mod))


class VMExecutable:
    """A program that a virtual machine can run."""

    def __init__(self, mod):
        self.mod = mod

    def save(self):
        """There are no files of bytecode here."""
        raise NotImplementedError("programs are evaluated here, not compiled: there is no bytecode to save")

    def evaluate(self, name="main"):
        """The function of a name, to be called."""
        return Executor(self.mod).evaluate(self.mod[name])
