"""Running programs: by the engine's evaluator. Nothing is compiled."""

import enum
import difflib

from .. import _engine
from .._node import EXPR, Object, get, numbers
from .._values import Array
from .benchmark import evaluator
from .tensor import Tensor, tensor


class VMInstrumentReturnKind(enum.IntEnum):
    """The answer of an instrument of the virtual machine."""

    NO_OP, SKIP_RUN = 0, 1


class _NoImports(Array):
    """No modules of other devices; who asks for one is told why."""

    def __getitem__(self, place):
        if isinstance(place, int):
            raise IndexError("no module of another device: no code is generated here, programs are evaluated")
        return super().__getitem__(place)


class Module(Object):
    """A program that can be run."""

    def __init__(self, mod, target=None):
        self._mod = mod
        self.target = target
        names = [var.name_hint for var in mod.functions] if "main" not in mod else ["main"]
        self.entry_name = names[0] if len(names) == 1 else "main"

    def __getitem__(self, name):
        if not self._mod._relay and name not in self._mod:
            raise AttributeError(f"Module has no function '{name}'")
        return lambda *args: run(self._mod, name, args)

    def params_of(self, name):
        """Names of the parameters of a function."""
        return [param.name for param in self._mod[name].params]

    def get_function(self, name, query_imports=False):
        """A function that can be called."""
        return self[name]

    def __call__(self, *args):
        return self[self.entry_name](*args)

    def jit(self, *args, **kwargs):
        """The program itself."""
        return self

    # TVM has a tree of modules with machine code; a program stands alone here, and is none.
    kind = "passlab"
    is_runnable, is_binary_serializable, is_compilation_exportable = True, False, False

    @property
    def mod(self):
        """The module of an executable: here both are one."""
        return self

    @property
    def imports(self):
        """Modules of other devices: there are none."""
        return _NoImports()

    imports_ = imported_modules = imports

    def clear_imports(self):
        """Forgets the modules of other devices."""

    def import_module(self, module):
        """Says that there are no modules of other devices."""
        raise NotImplementedError("a program has no modules of other devices here: put its functions into one IRModule")

    def implements_function(self, name, query_imports=False):
        """True if there is a function of a name."""
        return name in self._mod

    def get_function_doc(self, name, query_imports=False):
        """A text about a function: there is none."""

    def get_function_metadata(self, name, query_imports=False):
        """Facts about a function: there are none."""

    def get_property_mask(self):
        """Properties as bits: it can be run."""
        return 2

    def get_write_formats(self):
        """Formats that it can be written in: none but that of `export_library`."""
        return Array()

    def _not_compiled(self, *args, **kwargs):
        """Says that there is no code."""
        raise NotImplementedError("no code is generated here: programs are evaluated, not compiled")

    as_text = as_python = stats = write_to_file = _not_compiled

    def time_evaluator(self, func_name, dev=None, number=10, repeat=1, *args, **kwargs):
        """A function that says how long the evaluator takes."""
        return evaluator(self[func_name], repeat)

    def export_library(self, file_name, *args, **kwargs):
        """Writes the program itself, which `load_module` reads: nothing is compiled."""
        with open(file_name, "w", encoding="utf-8") as file:
            file.write(_HEAD + self._mod.script(show_meta=True))

    inspect_source = get_source = _not_compiled

    @staticmethod
    def load_exec(bytecode, lib):
        """The program of Relay of which `save` made two parts."""
        from ..relay.backend.executor_factory import VMExecutable

        return VMExecutable.load_exec(bytecode, lib)


Executable = VMExecutable = Module


# The first line of a program in a file.
_HEAD = "# A program as TVMScript, which passlab evaluates.\n"


def load_module(path, fmt=""):
    """The program that `export_library` wrote."""
    from ..script.parser import from_source

    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    from ..relay.backend.executor_factory import load_library

    if (library := load_library(text)) is not None:
        return library
    if not text.startswith(_HEAD):
        raise NotImplementedError(f"{path} cannot be loaded: there is no machine code here, programs are evaluated")
    return Module(from_source(text))


class StateError(RuntimeError, ValueError):
    """Inputs and outputs that a machine keeps are asked for in another order than they come."""


class VirtualMachine(Object):
    """Runs the functions of a program."""

    NAIVE_ALLOCATOR, POOLED_ALLOCATOR = 1, 2

    def __new__(cls, rt_mod=None, *args, **kwargs):
        from ..relay.backend.executor_factory import Machine, VMExecutable

        return Machine(rt_mod) if isinstance(rt_mod, VMExecutable) else super().__new__(cls)

    def __init__(self, rt_mod, device=None, memory_cfg=None, profile=False):
        self.module = rt_mod
        self._saved = {}
        self._inputs = {}
        self._outputs = {}

    def __getitem__(self, name):
        return self._saved.get(name) or (lambda *args: self._stateless(name, args))

    def _stateless(self, name, args):
        if name in self._inputs and not args:
            raise StateError(f"the inputs of {name} are set: invoke_stateful runs it")
        return self.module[name](*args)

    def time_evaluator(self, func_name, dev=None, number=10, repeat=1, *args, **kwargs):
        """A function that says how long the evaluator takes."""
        return evaluator(self.invoke_stateful if func_name == "invoke_stateful" else self[func_name], repeat)

    def invoke_stateful(self, func_name):
        """Runs a function on the inputs that were set."""
        if func_name not in self._inputs:
            raise StateError(f"the inputs of {func_name} are not set: set_input does that")
        self._outputs[func_name] = self.module[func_name](*self._inputs[func_name])

    def set_input(self, func_name, *args, **kwargs):
        """Sets the inputs of a function, by place or by name."""
        names = self.module.params_of(func_name)
        params = names[len(args) :]
        for name in kwargs.keys() - set(params):
            near = difflib.get_close_matches(name, params, 1)
            raise ValueError(f"{func_name} takes no further input {name}{f': did you mean {near[0]}?' if near else ''}")
        if len(args) > len(names):
            raise ValueError(f"{func_name} takes {len(names)} inputs, not {len(args)}")
        missing = [name for name in params if name not in kwargs]
        if missing:
            raise _engine.EngineError(f"{func_name} needs {', '.join(missing)}, too")
        self._inputs[func_name] = (*args, *[kwargs[name] for name in params])

    def get_outputs(self, func_name):
        """The result of a function that was run."""
        if func_name not in self._outputs:
            raise StateError(f"{func_name} was not run yet: invoke_stateful does that")
        return self._outputs[func_name]

    def invoke_closure(self, closure, *args):
        """Calls a function that another one gave."""
        return closure(*args)

    def set_instrument(self, instrument):
        """Says that nothing is told of each call: the evaluator runs a function as a whole."""
        raise NotImplementedError("the evaluator runs a function as a whole, and tells an instrument of no call in it")

    def save_function(self, func_name, saved_name, *args, **kwargs):
        """Keeps a function with its arguments under another name."""
        if not self.module.implements_function(func_name):
            raise ValueError(f"Unknown function: {func_name}")
        function = self.module[func_name]
        if kwargs:
            include_return = kwargs.pop("include_return", True)
            names = self.module.params_of(func_name)[len(args) :]
            args = (*args, *[kwargs[name] for name in names if name in kwargs])
        else:
            include_return = True
        self._saved[saved_name] = lambda: function(*args) if include_return else (function(*args), None)[1]


# Functions that are arguments of a run, by the names that they have in it.
_lent = {}


def to_expr(value, relay=False):
    """A value as a constant or tuple of the program. A number is a scalar in Relax, a tensor in Relay."""
    from ..ir.expr import Expr, GenericConst, Tuple
    from ..relax.expr import ShapeExpr, prim_value

    if isinstance(value, Expr):
        return value
    if isinstance(value, (tuple, list)):
        if value and all(type(item) is int for item in value):
            return ShapeExpr(value)
        return Tuple([to_expr(item, relay) for item in value])
    if callable(value) and not hasattr(value, "numpy"):
        from ..relax.expr import ExternFunc

        name = f"function {id(value):x}"
        _lent[name] = value
        return ExternFunc(name)
    if type(value) in (int, float, bool) and not relay:
        return prim_value(value)
    return GenericConst(value if isinstance(value, Tensor) else tensor(value))


def to_value(expr):
    """A constant or tuple of the program as a value."""
    from ..ir.expr import GenericConst, Tuple
    from ..relax.expr import ShapeExpr

    if isinstance(expr, GenericConst):
        return expr.data
    if isinstance(expr, Tuple):
        return Array(to_value(field) for field in expr.fields)
    if isinstance(expr, ShapeExpr):
        return tuple(int(value) for value in expr.values)
    return getattr(expr, "value", expr)


def _run(words, name, operands, relay):
    """The result of a function, and the arguments that functions of Python wrote into, each with its place."""
    from ..ir import transform

    transform._setup()
    key = transform.ask_key(_linked)
    try:
        return list(_engine.call("table_run", _engine.words(words), name, _engine.words(operands), None if relay else key))
    finally:
        transform.forget_ask(key)


def _linked(_, words):
    """Calls a function of Python that a program names: nothing if there is none, else its result, and what it wrote."""
    from .registry import get_global_func

    name = get(EXPR, words[0]).global_symbol
    function = _lent.get(name) or get_global_func(name, allow_missing=True)
    if function is None:
        return _engine.words([])
    args = [to_value(get(EXPR, number)) for number in words[1:]]
    before = [bytes(arg.numpy().tobytes()) if isinstance(arg, Tensor) else None for arg in args]
    result = function(*args)
    places = [place for place, old in enumerate(before) if old is not None and args[place].numpy().tobytes() != old]
    values = [to_expr(() if result is None else result), *[to_expr(args[place]) for place in places]]
    result, *written = numbers(EXPR, values)
    return _engine.words([result, *[word for pair in zip(places, written) for word in pair]])


class KindError(_engine.EngineError, TypeError):
    """A value is of another kind than the type that is written for it."""


def _error_of(message):
    """The error of TVM's machine for what the evaluator says; None where it is the same."""
    if message.startswith("AssertionError: "):
        return AssertionError(message.removeprefix("AssertionError: "))
    if message.startswith("ErrorContext"):
        return KindError(message) if " but get " in message and " with " not in message.split(")  ")[-1] else None
    return None


def run(mod, name, args):
    """Evaluates a function of a module. A tensor program writes into its arguments."""
    from ..tirx.function import PrimFunc

    # A linked function may run a program of its own.
    lent = dict(_lent)
    try:
        return _evaluated(mod, name, args, PrimFunc)
    finally:
        _lent.clear()
        _lent.update(lent)


def _evaluated(mod, name, args, prim_func):
    words = mod._words()
    operands = numbers(EXPR, [to_expr(arg, mod._relay) for arg in args])
    try:
        if name in mod and isinstance(mod[name], prim_func):
            written = list(_engine.call("table_run_program", _engine.words(words), name, _engine.words(operands)))
            for place, number in zip(written[::2], written[1::2]):
                args[place].copyfrom(to_value(get(EXPR, number)))
            return None
        number, *written = _run(words, name, operands, mod._relay)
        for place, value in zip(written[::2], written[1::2]):
            if isinstance(args[place], Tensor):
                args[place].copyfrom(to_value(get(EXPR, value)))
    except _engine.EngineError as exc:
        raise _error_of(str(exc)) or exc from None
    return to_value(get(EXPR, number))


def build(mod, target=None, params=None, exec_mode="bytecode", **kwargs):
    """The program for a machine: `relax.build`, which stood here in older versions."""
    from ..relax.vm_build import build as of_relax

    return of_relax(mod, target, params)
