"""Passes over tensor programs."""

import enum
import sys

from .._absent import DEVICE, Absent
from .._catalogue import earlier_names, passes
from ..ir.transform import Pass, PyModulePass, decorator, make_factory
from ._pass_config import CONFIGS


def fill(module, prefix):
    """Makes the passes of a prefix."""
    # The engine lists them with Relax, in whose programs tensor programs stand.
    for name, item in passes("relax").items():
        head, _, tail = name.rpartition(".")
        if head == prefix:
            setattr(module, tail, make_factory(name, item, "tir"))


fill(sys.modules[__name__], "tirx")
UnrollLoopConfig, StmtSimplifyConfig, RemoveNoOpConfig = (CONFIGS[f"tirx.{name}"] for name in ("UnrollLoop", "StmtSimplify", "RemoveNoOp"))
HoistIfThenElseConfig, HoistExpressionConfig = CONFIGS["s_tir.HoistIfThenElse"], CONFIGS["s_tir.HoistExpression"]


def __getattr__(name):
    if name in ("LowerTIRx", "LowerTIRxOpaque", "TilePrimitiveDispatch"):
        return Absent(f"tvm.tirx.transform.{name}", DEVICE)
    # Up to 0.22 the passes over blocks stood here, and some had other names.
    from ..s_tir import transform as s_tir

    name = earlier_names().get(name, name)
    if name in globals():
        return globals()[name]
    if name.startswith("_") or name not in vars(s_tir):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return vars(s_tir)[name]


class PrimFuncPass(Pass):
    """A pass over tensor programs."""

    def _shown(self):
        return "tirx.PrimFuncPass"


class PyPrimFuncPass(PyModulePass, PrimFuncPass):
    """A pass of the user's over tensor programs."""

    def _apply(self, mod):
        from ..ir.transform import PassContext
        from .function import PrimFunc

        made = mod.clone()
        changed = False
        for var, func in mod.functions.items():
            if isinstance(func, PrimFunc):
                new = self._function(func, made, PassContext.current())
                if new is None:
                    del made[var]
                    changed = True
                elif new is not func:
                    made[var] = new
                    changed = True
        return made if changed else mod


def prim_func_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Makes a pass over tensor programs of a function `(func, mod, ctx)` or of a class with `transform_function`."""
    return decorator(
        pass_func,
        opt_level,
        name,
        required,
        traceable,
        PyPrimFuncPass,
        "transform_function",
        "prim func pass",
    )


def Apply(ftransform):
    """A pass that applies a function to every tensor program."""
    from ..ir.transform import PassInfo

    return PyPrimFuncPass(lambda func, mod, ctx: ftransform(func), PassInfo(0, "Apply"))


def Filter(fcond):
    """A pass that keeps the tensor programs for which a function is true."""
    from ..ir.transform import PassInfo

    return PyPrimFuncPass(lambda func, mod, ctx: func if fcond(func) else None, PassInfo(0, "tirx.Filter"))


class HoistedConditionals(enum.Flag):
    """The conditions that HoistExpression moves out of loops."""

    Never = 0
    IfElseStmt = enum.auto()
    IfElseExpr = enum.auto()
    BooleanExpression = enum.auto()
    UsingBlockVar = enum.auto()
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(enum.Flag):
    """The bindings that HoistExpression moves out of loops."""

    Never = 0
    RequiredByConditional = enum.auto()
    Bind = enum.auto()
    LetExpr = enum.auto()
    All = RequiredByConditional | Bind | LetExpr
