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
        self._saved = {}
        self._inputs = {}
        self._outputs = {}

    def __getitem__(self, name):
        return self._saved.get(name) or self.module[name]

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
        """Keeps a function with its arguments under another name."""
        function = self[func_name]
        self._saved[saved_name] = lambda: function(*args)


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

    function = get_global_func(get(EXPR, words[0]).global_symbol, allow_missing=True)
    if function is None:
        return _engine.words([])
    args = [to_value(get(EXPR, number)) for number in words[1:]]
    before = [bytes(arg.numpy().tobytes()) if isinstance(arg, Tensor) else None for arg in args]
    result = function(*args)
    places = [place for place, old in enumerate(before) if old is not None and args[place].numpy().tobytes() != old]
    values = [to_expr(() if result is None else result), *[to_expr(args[place]) for place in places]]
    result, *written = numbers(EXPR, values)
    return _engine.words([result, *[word for pair in zip(places, written) for word in pair]])


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
        number, *written = _run(words, name, operands, mod._relay)
        for place, value in zip(written[::2], written[1::2]):
            if isinstance(args[place], Tensor):
                args[place].copyfrom(to_value(get(EXPR, value)))
    except _engine.EngineError as exc:
        if str(exc).startswith("Assertion Failed"):
            raise AssertionError(str(exc)) from None
        raise
    return to_value(get(EXPR, number))
