"""The virtual machine's compiler: the program stays one, and is evaluated."""

from ..build_module import Executor, for_evaluation, optimize
from .executor_factory import VMExecutable


def compile(mod, target=None, target_host=None, params=None):  # noqa: A001
    """A program that a virtual machine can run."""
    compiler = VMCompiler()
    if params:
        compiler.set_params(params)
    compiler.lower(mod, target, target_host)
    compiler.codegen()
    return compiler.get_exec()


class VMCompiler:
    """Makes a program that a virtual machine can run."""

    def __init__(self):
        self._params, self._mod = {}, None

    def set_params(self, params):
        """Sets values of parameters of `main`."""
        self._params = dict(params)

    def get_params(self):
        """The values of parameters."""
        return dict(self._params)

    def lower(self, mod, target=None, target_host=None):
        """Takes the program, with its parameters bound."""
        self._mod = for_evaluation(mod, target, self._params)

    def optimize(self, mod, target=None, target_host=None, params=None):
        """The program as it would be compiled, and its parameters."""
        if params:
            self.set_params(params)
        return optimize(mod, target, self._params)

    def codegen(self):
        """Makes no code."""

    def get_exec(self):
        """The program."""
        return VMExecutable(self._mod)


class VMExecutor(Executor):
    """Evaluates functions of a module."""

    def __init__(self, mod, device=None, target=None):
        if mod is None:
            raise RuntimeError("Must provide module to get VM executor.")
        super().__init__(mod, "vm")
        self.executable = compile(mod, target)

