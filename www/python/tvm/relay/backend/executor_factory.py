"""Results of `relay.build` and `relay.vm.compile`: the program itself, which is evaluated."""

from ..._node import Object
from ..._values import Array

_HEAD = "// A program of Relay, which passlab evaluates.\n"
"""The first line of a program in a file."""


class Library(Object):
    """The program in the place of machine code."""

    kind = type_key = "passlab"
    is_runnable, is_binary_serializable, is_dso_exportable = True, False, False

    def __init__(self, mod):
        self.mod = mod

    imported_modules = imports = property(lambda self: Array(), doc="Modules of other compilers: there are none.")

    def export_library(self, file_name, *args, **kwargs):
        """Writes the program, which `load_module` reads."""
        with open(file_name, "w", encoding="utf-8") as file:
            file.write(_HEAD + self.mod.astext())

    def save(self, file_name, fmt=""):
        """Writes the program."""
        self.export_library(file_name)

    def __getitem__(self, name):
        from ...contrib.graph_executor import GraphModule

        if name == "default":
            return lambda *device: GraphModule(self)
        return self.get_function(name)

    def get_function(self, name, query_imports=False):
        """A function that can be called."""
        from ..build_module import Executor

        if name not in self.mod:
            raise AttributeError(f"Module has no function '{name}'")
        return Executor(self.mod).evaluate(self.mod[name])

    def get_source(self, fmt=""):
        """There is no source of kernels."""
        raise NotImplementedError("programs are evaluated here, not compiled: there is no source of kernels")


def load_library(text):
    """The library that `export_library` wrote, of the text of its file; None if it is another file."""
    from ..parser import parse

    return Library(parse(text.removeprefix(_HEAD))) if text.startswith(_HEAD) else None


class GraphExecutorFactoryModule(Object):
    """A program that can be run, with the values of its parameters. As three values it is a graph, a library and these."""

    def __init__(self, mod, params, libmod_name="default"):
        self.ir_mod = self.mod = mod
        self.params = params or {}
        self.libmod_name = libmod_name
        self.lib = self.module = Library(mod)
        self.graph_json = self.mod.astext(False)

    def __getitem__(self, name):
        return self.lib["default" if name == self.libmod_name else name]

    def __iter__(self):
        return iter((self.graph_json, self.lib, self.params))

    def get_params(self):
        """Values of parameters."""
        return self.params

    def get_graph_json(self):
        """The program as a text, in the place of a graph of kernels."""
        return self.graph_json

    get_executor_config = get_graph_json

    def get_lib(self):
        """The program."""
        return self.lib

    def export_library(self, file_name, *args, **kwargs):
        """Writes the program, which `load_module` reads."""
        self.lib.export_library(file_name)


AOTExecutorFactoryModule = ExecutorFactoryModule = GraphExecutorFactoryModule


class VMExecutable(Object):
    """A program that a virtual machine can run."""

    def __init__(self, mod, params=None):
        self.mod = mod
        self.lib = self.module = Library(mod)
        self.params = params or {}

    def save(self):
        """The program in two parts: bytes that only say what it is, and the library that `load_exec` needs."""
        return bytearray(_HEAD.encode()), self.lib

    @staticmethod
    def load_exec(bytecode, lib):
        """The program of which `save` made two parts."""
        if not isinstance(bytecode, (bytes, bytearray)):
            raise TypeError(f"bytecode is expected to be the type of bytearray or TVMByteArray, but received {type(bytecode)}")
        if lib is not None and not isinstance(lib, Library):
            raise TypeError(f"lib is expected to be the type of tvm.runtime.Module, but received {type(lib)}")
        return VMExecutable(lib.mod)

    def evaluate(self, name="main"):
        """The function of a name, to be called."""
        return self.lib.get_function(name)

    def __getitem__(self, name):
        return self.evaluate(name)

    @property
    def globals(self):
        """The names of the functions."""
        return [var.name_hint for var in self.mod.functions]

    @property
    def function_params(self):
        """The names of the parameters of each function."""
        return {name: self.get_function_params(name) for name in self.globals}

    def get_function_params(self, func_name):
        """The names of the parameters of a function."""
        if func_name not in self.mod:
            raise KeyError(f"Failed to get function arity for {func_name}")
        return [param.name_hint for param in self.mod[func_name].params]

    def _not_compiled(self):
        raise NotImplementedError("programs are evaluated here, not compiled: there is no bytecode")

    bytecode = stats = constants = virtual_devices = primitives = property(_not_compiled, doc="There is no bytecode.")


class Machine(Object):
    """Runs the functions of a program of Relay, as `VirtualMachine` does it for Relax."""

    def __init__(self, exe, device=None, memory_cfg=None):
        self.module = exe
        self._inputs, self._outputs = {}, {}

    def _arguments(self, func_name, args, kwargs):
        names = self.module.get_function_params(func_name)
        if len(args) + len(kwargs) != len(names):
            raise ValueError(f"The number of inputs is {len(args) + len(kwargs)}, and {func_name} takes {len(names)}")
        rest = iter(args)
        return [kwargs[name] if name in kwargs else next(rest) for name in names]

    def set_input(self, func_name, *args, **kwargs):
        """Sets the inputs of a function, by place or by name."""
        self._inputs[func_name] = self._arguments(func_name, args, kwargs)

    def set_one_input(self, func_name, *args, **kwargs):
        """Sets one input of a function, by place or by name."""
        names = self.module.get_function_params(func_name)
        tag, value = args if args else next(iter(kwargs.items()))
        known = self._inputs.setdefault(func_name, [None] * len(names))
        known[tag if isinstance(tag, int) else names.index(tag)] = value

    def invoke(self, func_name, *args, **kwargs):
        """The result of a function, for the inputs that are given or were set."""
        from ..build_module import machine_value

        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        self._outputs[func_name] = machine_value(self.module.evaluate(func_name)(*self._inputs.get(func_name, ())))
        return self._outputs[func_name]

    def run(self, *args, **kwargs):
        """The result of `main`."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name, *args, **kwargs):
        """Runs a function, whose result is then asked for."""
        self.invoke(func_name, *args, **kwargs)

    def get_outputs(self, func_name="main"):
        """The results of a function that was run."""
        result = self._outputs[func_name]
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def get_input_index(self, input_name, func_name="main"):
        """The place of an input, or -1."""
        names = self.module.get_function_params(func_name)
        return names.index(input_name) if input_name in names else -1

    def benchmark(self, device, *args, func_name="main", repeat=5, number=5, end_to_end=False, **kwargs):
        """The time that the evaluator takes; what asks for pauses and warming up changes nothing."""
        from ...runtime.benchmark import evaluator

        for name in ("min_repeat_ms", "cooldown_interval_ms", "repeats_to_cooldown"):
            kwargs.pop(name, None)

        return evaluator(lambda: self.invoke(func_name, *args, **kwargs), repeat)()
