"""Passes over functions that another compiler is to make (`src/relay/transforms/compiler_function_utils.cc`)."""

from ...error import TVMError
from ...ir.expr import GlobalVar
from ...ir.transform import PassInfo, PyModulePass
from .. import _walk
from ..expr import Call, Function
from ..expr_functor import ExprMutator, substitute


def _is_for(func, compiler):
    """True of a function with a compiler of its own: this one, if one is named."""
    name = func.attrs.get("Compiler") if isinstance(func, Function) else None
    return name is not None and (not compiler or name == compiler)


class _Outline(ExprMutator):
    """Moves functions into the module; a variable that stands for one is replaced first."""

    def __init__(self, mod, compiler):
        super().__init__()
        self.mod, self.compiler = mod, compiler

    def visit_let(self, let):
        value = self.visit(let.value)
        if _is_for(value, self.compiler):
            self.memo_map[let.var] = value
            return self.visit(let.body)
        return _walk.rebuild(let, [self.visit(let.var), value, self.visit(let.body)])

    def visit_call(self, call):
        new = super().visit_call(call)
        func = new.op
        if not _is_for(func, self.compiler):
            return new
        name = func.attrs.get("global_symbol")
        if name is None:
            raise TVMError("ExistingGlobalSymbolCache requires all functions to already have a 'global_symbol' attribute")
        if str(name) not in self.mod:
            self.mod[GlobalVar(str(name))] = func
        return Call(self.mod.get_global_var(str(name)), new.args, new.attrs, new.type_args, new.span)


def OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler_filter=""):
    """Functions in place that have a name and a compiler become functions of the module."""

    def outline(mod, ctx):
        from . import _is_open

        made = mod.clone()
        for var, func in mod.functions.items():
            if _is_open(func):
                made[var] = _walk.rebuild(func, [*func.params, _Outline(made, compiler_filter).visit(func.body)])
        return made

    return PyModulePass(outline, PassInfo(0, "OutlineCompilerFunctions"))


def MarkCompilerFunctionsAsExtern(compiler_filter=""):
    """Functions with a compiler are marked as defined elsewhere, and have no other attribute then."""

    def mark(mod, ctx):
        made = mod.clone()
        for var, func in mod.functions.items():
            if _is_for(func, compiler_filter):
                made[var] = Function(func.params, func.body, func.ret_type, func.type_params, {"Extern": 1})
        return made

    return PyModulePass(mark, PassInfo(0, "MarkCompilerFunctionsAsExtern"))


class _InlineComposite(ExprMutator):
    """Puts the bodies of composite functions in place of their calls."""

    def visit_call(self, call):
        new = super().visit_call(call)
        return _applied(new.op, new.args) if isinstance(new.op, Function) else new


class _InlineGlobals(ExprMutator):
    """Puts the bodies of functions of the module in place of their calls."""

    def __init__(self, chosen):
        super().__init__()
        self.chosen = chosen

    def visit_call(self, call):
        new = super().visit_call(call)
        func = self.chosen.get(new.op.name_hint) if isinstance(new.op, GlobalVar) else None
        if func is None:
            return new
        body = _InlineComposite().visit(func.body)
        return substitute(body, dict(zip(func.params, new.args)))


def _applied(func, args):
    return substitute(func.body, dict(zip(func.params, args)))


def InlineCompilerFunctionsBoundTo(global_vars):
    """Functions with a compiler are put where they are called, with the composite functions within them."""
    names = {var.name_hint for var in global_vars}

    def inline(mod, ctx):
        from . import _is_open

        if not names:
            return mod
        made = mod.clone()
        chosen = {var.name_hint: func for var, func in mod.functions.items() if var.name_hint in names}
        for var, func in mod.functions.items():
            if _is_open(func):
                made[var] = _walk.rebuild(func, [*func.params, _InlineGlobals(chosen).visit(func.body)])
        for name in chosen:
            del made[name]
        return made

    return PyModulePass(inline, PassInfo(0, "InlineCompilerFunctionsBoundTo"))
