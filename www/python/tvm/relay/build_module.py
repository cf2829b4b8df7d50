"""Running programs: by the engine's evaluator. Nothing is compiled."""

import contextlib

import numpy as np

from .. import _engine
from .._node import EXPR, get, number
from ..ir.expr import GlobalVar
from ..ir.module import IRModule
from ..runtime.container import ADT
from ..runtime.tensor import Tensor, tensor
from .expr import Call, Constant, Function, Tuple, TupleWrapper, const, module_from_expr


def infer(expr, mod=None):
    """An expression with types; variables that are free in it have those that were said."""
    if isinstance(expr, TupleWrapper):
        expr = expr.astuple()
    mod = _empty() if mod is None else mod
    words = _engine.words(mod._words())
    _engine.dialect(False)
    from ..error import DiagnosticError

    try:
        return get(EXPR, _engine.call("user_infer", number(EXPR, expr), words))
    except _engine.EngineError as exc:
        raise DiagnosticError(str(exc)) from None


def _empty():
    made = IRModule({})
    made._relay = True
    return made


def evaluate(expr, mod=None):
    """The value of an expression without free variables."""
    mod = _empty() if mod is None else mod
    words = _engine.words(mod._words())
    _engine.dialect(False)
    return value_of(get(EXPR, _engine.call("user_eval", number(EXPR, expr), words)))


def value_of(expr):
    """A tensor, or several, of what the evaluator gave."""
    from .adt import Constructor
    from .backend.interpreter import ConstructorValue

    if isinstance(expr, Constant):
        return expr.data
    if isinstance(expr, Tuple):
        return TupleValue(value_of(field) for field in expr.fields)
    if isinstance(expr, Call) and isinstance(expr.op, Constructor):
        return ConstructorValue(expr.op.tag, [value_of(arg) for arg in expr.args], expr.op)
    if isinstance(expr, Constructor):
        return ConstructorValue(expr.tag, [], expr)
    return expr


class TaggedValue(ADT):
    """A value of a type definition, as virtual machines give it."""

    def __init__(self, value):
        super().__init__(value.tag, [machine_value(field) for field in value.fields])
        self.constructor = value.constructor

    fields = property(lambda self: list(self))


def machine_value(value):
    """A value of the evaluator as virtual machines give it: fields under a tag."""
    from .backend.interpreter import ConstructorValue

    if isinstance(value, TupleValue):
        return TupleValue(machine_value(field) for field in value)
    return TaggedValue(value) if isinstance(value, ConstructorValue) else value


class TupleValue(ADT):
    """Several values."""

    def __init__(self, fields=()):
        super().__init__(0, fields)

    fields = property(lambda self: list(self))

    def numpy(self):
        """The elements of each."""
        return [item.numpy() for item in self]


def as_constant(value):
    """A value of Python as a constant of the program."""
    from .backend.interpreter import ConstructorValue

    if isinstance(value, Tensor):
        return Constant(value)
    if isinstance(value, (ConstructorValue, TaggedValue)):
        return Call(value.constructor, [as_constant(field) for field in value.fields])
    if isinstance(value, (tuple, list)) and not (isinstance(value, list) and value and isinstance(value[0], (int, float))):
        return Tuple([as_constant(item) for item in value])
    if isinstance(value, np.ndarray):
        return Constant(tensor(value))
    if hasattr(value, "_row_e"):
        return value
    return const(value)


class Executor:
    """Evaluates expressions of a module."""

    def __init__(self, mod=None, kind="debug"):
        self.mod = mod
        self._finish = machine_value if kind == "vm" else lambda value: value

    def evaluate(self, expr=None, binds=None):
        """The value of an expression; of a function, something that can be called."""
        from .expr import bind
        from .transform import InferType

        mod = self.mod if self.mod is not None else _empty()
        if expr is None:
            expr = mod["main"]
        if isinstance(expr, TupleWrapper):
            expr = expr.astuple()
        if binds:
            expr = bind(expr, {var: as_constant(value) for var, value in binds.items()})
        if isinstance(expr, GlobalVar):
            expr = mod[expr]
        if not isinstance(expr, Function):
            return self._finish(evaluate(expr, mod))
        checked = mod.clone()
        if "main" not in checked:
            checked["main"] = expr
            InferType()(checked)

        def run(*args, **kwargs):
            given = list(args)
            for param in expr.params[len(given) :]:
                if param.name_hint not in kwargs:
                    raise ValueError(f"there is no value for the parameter {param.name_hint}")
                given.append(kwargs[param.name_hint])
            if len(given) != len(expr.params):
                raise ValueError(f"the function takes {len(expr.params)} arguments, not {len(given)}")
            values = []
            for param, value in zip(expr.params, given):
                dtype = getattr(param.type_annotation, "dtype", None)
                if isinstance(value, (int, float)) and dtype is not None:
                    value = np.array(value, str(dtype))
                values.append(as_constant(value))
            return self._finish(evaluate(Call(expr, values), mod))

        return run


def create_executor(kind="debug", mod=None, device=None, target="llvm", params=None):
    """An object that evaluates expressions; all kinds are the same here."""
    if kind not in ("debug", "graph", "vm", "aot"):
        raise RuntimeError(f"unknown execution strategy: {kind}")
    if params:
        mod = mod.clone()
        mod["main"] = bind_params_by_name(mod["main"], params)
    return Executor(mod, kind)


def bind_params_by_name(func, params):
    """A function with constants for some of its parameters."""
    from .expr_functor import substitute

    by_name = {}
    for param in func.params:
        by_name.setdefault(param.name_hint, []).append(param)
    bound = {name: value for name, value in params.items() if name in by_name}
    for name in bound:
        if len(by_name[name]) > 1:
            raise ValueError(f"Multiple args in the function have name {name}")
    return substitute(func, {by_name[name][0]: as_constant(value) for name, value in bound.items()})


def build(ir_mod, target=None, target_host=None, executor=None, runtime=None, workspace_memory_pools=None, params=None, mod_name="default", constant_memory_pools=None):
    """A program that can be run, after the passes before code is made: the engine evaluates it, nothing is compiled."""
    from .backend.executor_factory import GraphExecutorFactoryModule

    if not isinstance(ir_mod, (IRModule, Function)):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    mod = module_from_expr(ir_mod) if isinstance(ir_mod, Function) else ir_mod
    return GraphExecutorFactoryModule(for_evaluation(mod, target, params), dict(params or {}), mod_name)


def for_evaluation(mod, target, params):
    """The program after the passes; as it was where one of them needs a target's own schedules."""
    mod = _bound(mod, params)
    try:
        return optimize(mod, target)[0]
    except _engine.EngineError:
        from .transform import InferType

        return InferType()(mod)


def _bound(mod, params):
    if params:
        mod = mod.clone()
        mod["main"] = bind_params_by_name(mod["main"], params)
    return mod


def optimize(mod, target=None, params=None):
    """The program as it would be compiled, after the passes before code is made, and the values of its parameters."""
    from ..ir.transform import Sequential
    from ..target import Target

    if not isinstance(mod, (IRModule, Function)):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    mod = module_from_expr(mod) if isinstance(mod, Function) else mod
    several = isinstance(target, (dict, list, tuple))
    only = None if several or target is None else Target(target)
    passes = _passes(only, not several)
    with only if only is not None else contextlib.nullcontext():
        return Sequential(passes)(_bound(mod, params)), dict(params or {})


def _passes(target, homogeneous):
    """The passes before code is made (`GetPassPrefix`, `OptimizeImpl`), but for those that say where values are."""
    from . import qnn, transform as t

    passes = [t.RemoveUnusedFunctions(["main"]), t.ToBasicBlockNormalForm(), qnn.transform.Legalize()]
    passes += [t.Legalize()] if homogeneous else []
    passes += [t.SimplifyInference(), t.EliminateCommonSubexpr(), t.CombineParallelConv2D(3), t.CombineParallelDense(3)]
    passes += [t.CombineParallelBatchMatmul(3), t.FoldConstant(), t.FoldScaleAxis(), t.SimplifyExpr(), t.CanonicalizeCast()]
    passes += [t.CanonicalizeOps(), t.FlattenAtrousConv()]
    passes += [t.InferType(), t.AlterOpLayout(), t.SimplifyExprPostAlterOp()] if homogeneous else []
    passes += [t.FastMath(), t.FoldConstant()]
    if target is not None:
        passes.append(t.SplitArgs(int(target.attrs.get("max_function_args", 0) or 0)))
    return [*passes, t.FuseOps(), t.InferType(), t.Inline(), t.InferType(), t.LabelOps()]
