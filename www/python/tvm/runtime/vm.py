"""Running programs: by the engine's evaluator. Nothing is compiled."""

from .. import _engine
from .._node import EXPR, Object, get, numbers
from .benchmark import evaluator
from .tensor import Tensor, tensor


class VMInstrumentReturnKind:
    """What an instrument of the virtual machine answers."""

    NO_OP, SKIP_RUN = 0, 1


class Module(Object):
    """A program that can be run."""

    def __init__(self, mod, target=None):
        self.mod = mod
        self.target = target
        names = [var.name_hint for var in mod.functions] if "main" not in mod else ["main"]
        self.entry_name = names[0] if len(names) == 1 else "main"

    def __getitem__(self, name):
        return lambda *args: run(self.mod, name, args)

    def get_function(self, name, query_imports=False):
        """A function that can be called."""
        return self[name]

    def __call__(self, *args):
        return self[self.entry_name](*args)

    def jit(self, *args, **kwargs):
        """The program itself."""
        return self

    def time_evaluator(self, func_name, dev=None, number=10, repeat=1, *args, **kwargs):
        """A function that says how long the evaluator takes."""
        return evaluator(self[func_name], repeat)

    def export_library(self, *args, **kwargs):
        """There are no files of machine code here."""
        raise NotImplementedError("there are no files of machine code here: programs are evaluated, not compiled")

    def inspect_source(self, fmt=""):
        """There is no code of a device here."""
        raise NotImplementedError("no code is generated here: programs are evaluated, not compiled")

    get_source = inspect_source


Executable = VMExecutable = Module


def load_module(path, fmt=""):
    """There are no files of machine code here."""
    raise NotImplementedError(f"{path} cannot be loaded: there are no files of machine code here")


class VirtualMachine(Object):
    """Runs the functions of a program."""

    NAIVE_ALLOCATOR, POOLED_ALLOCATOR = 1, 2

    def __init__(self, rt_mod, device=None, memory_cfg=None, profile=False):
        self.module = rt_mod
        self._inputs = {}
        self._outputs = {}

    def __getitem__(self, name):
        return self.module[name]

    def time_evaluator(self, func_name, dev=None, number=10, repeat=1, *args, **kwargs):
        """A function that says how long the evaluator takes."""
        return evaluator(self[func_name], repeat)

    def invoke_stateful(self, func_name):
        """Runs a function on the inputs that were set."""
        self._outputs[func_name] = self.module[func_name](*self._inputs.get(func_name, ()))

    def set_input(self, func_name, *args, **kwargs):
        """Sets the inputs of a function."""
        self._inputs[func_name] = args

    def get_outputs(self, func_name):
        """What a function gave."""
        return self._outputs[func_name]

    def save_function(self, func_name, saved_name, *args, **kwargs):
        """A function with its arguments under another name."""


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
        return [to_value(field) for field in expr.fields]
    if isinstance(expr, ShapeExpr):
        return tuple(int(value) for value in expr.values)
    return getattr(expr, "value", expr)


def run(mod, name, args):
    """Evaluates a function of a module. A tensor program writes into its arguments."""
    from ..tirx.function import PrimFunc

    words = mod._words()
    operands = numbers(EXPR, [to_expr(arg, mod._relay) for arg in args])
    try:
        if name in mod and isinstance(mod[name], PrimFunc):
            written = list(_engine.call("table_run_program", _engine.words(words), name, _engine.words(operands)))
            for place, number in zip(written[::2], written[1::2]):
                args[place].copyfrom(to_value(get(EXPR, number)))
            return None
        number = _engine.call("table_run", _engine.words(words), name, _engine.words(operands))
    except _engine.EngineError as exc:
        if str(exc).startswith("Assertion Failed"):
            raise AssertionError(str(exc)) from None
        raise
    return to_value(get(EXPR, number))
