"""`R`: programs of Relax, call by call."""

from ...ir.expr import GenericConst, Var
from ...relax import op as _op
from ...relax.expr import BindingBlock, DataflowBlock, DataflowVar, Function, MatchCast, SeqExpr, VarBinding
from ...relax.expr import If as IfExpr
from ...relax.utils import convert_to_expr
from .. import relax as _types
from ..._absent import Absent
from .base import Frame, innermost, known
from .ir import IRModuleFrame, decl_function

py_print, py_str, py_tuple = print, str, tuple


class FunctionFrame(Frame):
    """A function that is being built."""

    def __init__(self, is_pure, is_private):
        self.pure, self.private = is_pure, is_private
        self.name, self.params, self.attrs, self.ret_ty, self.result = None, [], {}, None, None
        self.blocks, self.names, self.outputs = [], {}, {}

    def rename(self, name, var):
        """Names a variable that was bound."""
        if not isinstance(var, Var) or any(var is param for param in self.params):
            return False
        self.names[var] = name
        if var.__dict__.get("_e") is None:
            var.name = name
        return True

    def bindings(self):
        """The bindings of the open block."""
        if not self.blocks or self.blocks[-1][0]:
            self.blocks.append((False, []))
        return self.blocks[-1][1]

    def bind(self, value, ty, cast=None):
        """Binds a value to a new variable."""
        flow = self.flow()
        var = (DataflowVar if flow else Var)("lv" if flow else "gv", ty)
        self.add_binding(VarBinding(var, value) if cast is None else MatchCast(var, value, cast))
        return var

    def flow(self):
        """The open dataflow block, if one is."""
        return next((frame for frame in reversed(self.builder.frames) if isinstance(frame, BlockFrame)), None)

    def add_binding(self, binding):
        """Adds a binding to the open block."""
        flow = self.flow()
        (flow.found if flow else self.bindings()).append(binding)

    def close(self):
        """Makes the function."""
        if self.result is None:
            raise ValueError("Check failed: (output.has_value()) is false: A Relax function must have a return value. Please use `return` to return an Expr")
        blocks = [(DataflowBlock if flow else BindingBlock)(bindings) for flow, bindings in self.blocks if bindings]
        body = SeqExpr(blocks, convert_to_expr(self.result))
        attrs = dict(self.attrs)
        if not self.private and self.name is not None:
            attrs["global_symbol"] = self.name
        func = _normalized(Function(self.params, body, self.ret_ty, self.pure, attrs or None))
        if self.names or self.outputs:
            func = _named(func, self.names, self.outputs)
        if self.parent is None:
            self.give(func)
        else:
            innermost(IRModuleFrame, "I.ir_module()").add((self.name, func))


def _normalized(func):
    from ...ir.module import IRModule
    from ...relax.transform import Normalize

    return Normalize()(IRModule({"main": func}))["main"]


def _named(func, names, outputs):
    """The function with variables that have their names, and outputs of dataflow blocks of the kind that is visible outside."""
    from ...relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Naming(PyExprMutator):
        def visit_var_def_(self, var):
            if var not in names and var not in outputs:
                return var
            kind = Var if var in outputs else type(var)
            new = kind(names.get(var, "gv" if var in outputs else var.name), var.ty)
            self.set_var_remap(var, new)
            return new

        visit_dataflow_var_def_ = visit_var_def_

    return Naming().visit_expr(func)


class BlockFrame(Frame):
    """A dataflow block that is being built."""

    def __init__(self):
        self.found, self.output_vars = [], []

    def opened(self):
        """Opens the block within its function."""
        innermost(FunctionFrame, "R.function()").blocks.append((True, self.found))
        return self


class BranchFrame(Frame):
    """One branch of a conditional: its last binding is its value."""

    def __init__(self, word):
        self.word = word

    def opened(self):
        """Begins bindings of its own."""
        self.around, self.parent_if = _function(), innermost(IfFrame, "R.If()")
        if self.word in self.parent_if.branches:
            raise ValueError(f"Duplicate R.{self.word} frames, previous one is already there")
        self.outer, self.around.blocks = self.around.blocks, []
        return self

    def close(self):
        """Makes the branch, whose value gets a name of its own."""
        blocks, self.around.blocks = self.around.blocks, self.outer
        found = [(flow, bindings) for flow, bindings in blocks if bindings]
        if not found:
            raise ValueError(f"R.{self.word} has no binding: the last one is its value")
        last = found[-1][1].pop()
        var, value = last.var, last.value
        name = self.around.names.get(var, var.name)
        if isinstance(last, MatchCast) or not isinstance(value, (Var, GenericConst)):
            new = Var(f"{name}_{self.word.lower()}", var.ty)
            found[-1][1].append(MatchCast(new, value, last.ty) if isinstance(last, MatchCast) else VarBinding(new, value))
            value = new
        made = [(DataflowBlock if flow else BindingBlock)(bindings) for flow, bindings in found if bindings]
        self.parent_if.branches[self.word] = (name, SeqExpr(made, value), var.ty)


class IfFrame(Frame):
    """A conditional that is being built; `var` is what it gives."""

    def __init__(self, condition):
        self.condition, self.branches, self.var = condition, {}, None

    def close(self):
        """Binds the conditional."""
        from ...relax.analysis import type_lca

        for word in ("Then", "Else"):
            if word not in self.branches:
                raise ValueError(f"The body of {'else' if word == 'Else' else 'then'} part is expected to be defined before exiting.")
        (name, then, ty), (other, orelse, other_ty) = self.branches["Then"], self.branches["Else"]
        if name != other:
            raise ValueError(
                "This last binding of both branches must provide the same variable. However, the R.Then branch provides variable "
                f"{name}, while the R.Else branch provides variable {other}"
            )
        around = _function()
        self.var = around.bind(IfExpr(self.condition, then, orelse), type_lca(ty, other_ty))
        around.names[self.var] = name


def If(condition):  # noqa: N802 - TVM's name
    """Opens a conditional."""
    return IfFrame(convert_to_expr(condition))


def Then():  # noqa: N802 - TVM's name
    """Opens the branch that is taken if the condition holds."""
    return BranchFrame("Then")


def Else():  # noqa: N802 - TVM's name
    """Opens the other branch."""
    return BranchFrame("Else")


def function(is_pure=True, is_private=False):
    """Opens a function."""
    return FunctionFrame(is_pure, is_private)


def _function():
    return innermost(FunctionFrame, "R.function()")


def func_name(name):
    """Names the function."""
    frame = _function()
    if frame.name is not None:
        raise ValueError(f'Duplicate function name, previous one is: "{frame.name}"')
    frame.name = name


def arg(name, ty):
    """Adds a parameter."""
    var = Var(name, ty() if callable(ty) else ty)
    _function().params.append(var)
    return var


def func_attr(attrs):
    """Adds attributes to the function."""
    _function().attrs.update(attrs)


def func_ret_ty(ret_ty):
    """Sets the type of the result."""
    _function().ret_ty = ret_ty


func_ret_struct_info = func_ret_type = func_ret_ty


def func_ret_value(value):
    """Sets the result."""
    frame = _function()
    if frame.result is not None:
        raise ValueError(
            f"Relax functions do not support multiple return statement.  However, return of {value} occurred after a return of "
            f"{frame.result}.  Please make sure function only has a single return statement, which appears at the end of function."
        )
    frame.result = value


def dataflow():
    """Opens a dataflow block."""
    return BlockFrame()


def output(*vars):
    """Makes variables of the dataflow block visible outside of it."""
    frame = innermost(BlockFrame, "R.dataflow()")
    if frame.output_vars:
        raise ValueError("It is not allowed for a dataflow block to have multiple output operation.")
    frame.output_vars = list(vars)
    for var in vars:
        _function().outputs[var] = True


def emit(value, annotate_ty=None):
    """Binds a value."""
    from ...relax.block_builder import BlockBuilder

    value = convert_to_expr(value)
    made = BlockBuilder().normalize(value) if not value.ty or value.ty.is_missing() else value
    return _function().bind(value, annotate_ty or made.ty)


def emit_te(func, *args, **kwargs):
    """Calls the tensor program of a function over tensor expressions."""
    from ...te.relax_bridge import gen_call_tir_inputs

    name = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
    program, given, types = gen_call_tir_inputs(func, args, kwargs)
    return _op.call_tir(decl_function(name, program), given, types[0] if len(types) == 1 else types)


def emit_match_cast(value, ty):
    """Binds a value whose type is checked when the program runs."""
    return _function().bind(convert_to_expr(value), ty, ty)


def emit_var_binding(value):
    """Adds a binding as it is."""
    _function().add_binding(value)
    return value.var


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "SeqExpr":
        return Absent("R.SeqExpr of the builder", "R.function in a text has sequences")
    return known(_types, name, __name__)
