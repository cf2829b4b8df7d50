"""The builder of functions: bindings are emitted one after the other, each with its type."""

import re

from .. import _engine
from .._node import ATTRS, BLOCK, EXPR, NONE, TYPE, get, know, number, numbers
from .._codes import Build
from .._values import DictAttrs
from ..ir.expr import Expr, GlobalVar, Tuple, Var
from ..ir.module import IRModule, name_id, text_of
from .expr import BindingBlock, DataflowVar, MatchCast, VarBinding
from ..ir.type import MISSING


class FunctionScope:
    """A function that is being built."""

    def __init__(self, block_builder, name, params, attrs, pure):
        self._bb = block_builder
        self._name = name
        self._params = params
        self._attrs = attrs
        self._pure = pure
        self._blocks = []
        self._is_emit_func_output_called = False

    def __enter__(self):
        self._bb._enter_function(self)
        return self

    def __exit__(self, kind, value, trace):
        self._bb._exit_function(kind is not None)


class DataflowScope:
    """A dataflow block that is being built."""

    def __init__(self, block_builder):
        self._bb = block_builder

    def __enter__(self):
        block = self._bb._end_block()
        if len(block.bindings):
            self._bb._blocks.append(block)
        self._bb._begin_dataflow_block()
        return self

    def __exit__(self, kind, value, trace):
        block = self._bb._end_block()
        if len(block.bindings):
            self._bb._blocks.append(block)
        self._bb._begin_binding_block()


_open = []


class BlockBuilder:
    """Builds functions and modules binding by binding."""

    def __init__(self, mod=None):
        self._module = mod.clone() if mod is not None else IRModule()
        self._is_lent = False
        words = (mod or IRModule())._words()
        words[0] = 1
        self._number = _engine.call("user_builder", _engine.words(words))
        self._functions = []
        self._depth = []

    @property
    def _func(self):
        """The innermost function that is open."""
        return self._functions[-1] if self._functions else None

    @property
    def _blocks(self):
        """Its blocks that are done."""
        return self._func._blocks

    @staticmethod
    def current():
        """The builder whose function is open."""
        return _open[-1] if _open else None

    def _do(self, what, *words):
        _engine.dialect(True)
        try:
            return _engine.call("user_builder_do", self._number, what, _engine.words(words))
        except _engine.EngineError as exc:
            raise _error_of(exc.message) from None

    def function(self, name, params=None, attrs=None, private=False, pure=True):
        """Opens a function: `with bb.function("main", [x]):`."""
        if isinstance(params, Var):
            params = [params]
        elif isinstance(params, (list, tuple)):
            for param in params:
                if not isinstance(param, Var):
                    raise TypeError(f"each element of function parameters must be of type tvm.relax.Var, but got: {type(param)}")
            params = list(params)
        if attrs is None:
            attrs = {}
        attrs = dict(attrs)
        if not private:
            attrs["global_symbol"] = name
        return FunctionScope(self, name, params, attrs, pure)

    def testing_scope(self, def_vars):
        """A scope in which variables are known, for tests."""
        return _TestingScope(self, def_vars)

    def _enter_function(self, scope):
        self._functions.append(scope)
        _open.append(self)
        self._begin_scope(scope._params)
        self._begin_binding_block()

    def _exit_function(self, failed):
        _open.pop()
        done = self._functions.pop()._is_emit_func_output_called
        if failed:
            return
        if not done:
            raise RuntimeError("emit_func_output must be called in a relax function.")

    def dataflow(self):
        """Opens a dataflow block."""
        return DataflowScope(self)

    def emit_func_output(self, output, params=None):
        """Ends the function with its result."""
        scope = self._func
        if scope._is_emit_func_output_called:
            raise RuntimeError("emit_func_output must be called exactly once in a relax function.")
        scope._is_emit_func_output_called = True
        if scope._params is not None and params is not None:
            raise RuntimeError("function parameters have been initialized in the function with scope.")
        if scope._params is None and params is None:
            raise RuntimeError("Relax function must have parameter.")
        late = scope._params is None
        if late:
            scope._params = [params] if isinstance(params, Var) else list(params)
            # Symbols of parameters that come late are known from here on; without that the result would forget them.
            self._begin_scope(scope._params)
        if isinstance(output, (list, tuple)):
            output = Tuple(output)
        output = _expr(output)
        block = self._end_block()
        if len(block.bindings):
            self._blocks.append(block)
        from .expr import Function, SeqExpr

        self._begin_binding_block()
        output = self.normalize(output)
        extra = self._end_block()
        if len(extra.bindings):
            self._blocks.append(extra)
        body = SeqExpr(self._blocks, output)
        body = self.normalize(body)
        if late:
            self.end_scope()
        self.end_scope()
        ret = _ret_type(body.ty, scope._params)
        func = Function(scope._params, body, ret, scope._pure, DictAttrs(scope._attrs))
        func = self.normalize(func)
        return self.add_func(func, scope._name)

    def emit(self, expr, name_hint=""):
        """Binds a value to a new variable with its type."""
        expr = _expr(expr)
        return self._emitted(Build.EMIT, expr, name_hint)

    def _emitted(self, what, expr, name_hint):
        had = number(EXPR, expr)
        hint = name_id(name_hint) + 1 if name_hint else 0
        made = self._do(what, had, hint)
        var = get(EXPR, made[0])
        self._adopt(var, expr)
        return var

    def _adopt(self, var, expr):
        """The value that was bound has its type now, and so have its parts: the objects that were given have, too."""
        shallow = _shallow(expr)
        if isinstance(expr, Var) or shallow and expr.__dict__.get("_ty") is not None:
            return
        found = self._do(Build.LOOKUP_BINDING, var._e)[0]
        if found and found - 1 != expr.__dict__.get("_e"):
            if shallow:
                self._retype(expr, found - 1)
            else:
                _type_parts(expr, get(EXPR, found - 1))

    @staticmethod
    def _retype(expr, number_):
        new = get(EXPR, number_)
        if type(new) is type(expr) and new is not expr:
            expr.ty = new.ty
            know(EXPR, number_, expr)

    def emit_te(self, func, *args, **kwargs):
        """Binds a call of the tensor program that a function over tensor expressions makes."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def call_te(self, func, *args, **kwargs):
        """A call of the tensor program that a function over tensor expressions makes."""
        from ..te.relax_bridge import call_te

        return call_te(self, func, args, kwargs)

    def call_te_with_grad(self, func, *args, te_grad_name="", te_grad_kwargs=None, **kwargs):
        """The same with the name of the gradient."""
        from .op import call_tir_with_grad

        made = self.call_te(func, *args, **kwargs)
        return call_tir_with_grad(made.args[0], made.args[1], made.ty_args[0], te_grad_name, te_grad_kwargs)

    def emit_te_with_grad(self, func, *args, **kwargs):
        """Binds the same."""
        return self.emit(self.call_te_with_grad(func, *args, **kwargs))

    def match_cast(self, value, ty=None, name_hint="", *, struct_info=None):
        """Binds a value whose type is checked when the program runs."""
        ty = struct_info if ty is None else ty
        value = _expr(value)
        made = self._do(Build.MATCH_CAST, number(EXPR, value), number(TYPE, ty), name_id(name_hint) + 1 if name_hint else 0)
        return get(EXPR, made[0])

    def emit_output(self, output, name_hint=""):
        """Binds a value that is visible outside of the dataflow block."""
        if isinstance(output, (list, tuple)):
            output = Tuple(output)
        return self._emitted(Build.EMIT_OUTPUT, _expr(output), name_hint)

    def emit_normalized(self, binding):
        """Adds a binding as it is."""
        cast = number(TYPE, binding.ty) + 1 if isinstance(binding, MatchCast) else 0
        var, value = numbers(EXPR, [binding.var, binding.value])
        self._do(Build.EMIT_NORMALIZED, var, value, cast)

    def normalize(self, expr):
        """An expression with its type, and with bindings for what stands inside of it."""
        expr = _expr(expr)
        made = self._do(Build.NORMALIZE, number(EXPR, expr))[0]
        if made == expr.__dict__.get("_e"):
            return expr
        new = get(EXPR, made)
        if expr.ty is MISSING and _shallow(expr) and type(new) is type(expr):
            self._retype(expr, made)
            return expr
        return new

    def lookup_binding(self, var):
        """The value of a variable, or None."""
        found = self._do(Build.LOOKUP_BINDING, number(EXPR, var))[0]
        return get(EXPR, found - 1) if found else None

    def current_block_is_dataflow(self):
        """True if the open block is a dataflow block."""
        return self._do(Build.IS_DATAFLOW)[0] != 0

    def begin_scope(self, params=None):
        """Opens a scope in which parameters, and the symbolic variables of their types, are known."""
        if params is None:
            self._do(Build.BEGIN_SCOPE)
        else:
            self._do(Build.BEGIN_SCOPE, *numbers(EXPR, list(params)))

    _begin_scope = begin_scope

    def end_scope(self):
        """Closes the scope."""
        self._do(Build.END_SCOPE)

    def _begin_binding_block(self):
        self._do(Build.BEGIN_BLOCK, 0)

    def _begin_dataflow_block(self):
        self._do(Build.BEGIN_BLOCK, 1)

    def _end_block(self, pre=None):
        words = self._do(Build.END_BLOCK, 0 if pre is None or pre.__dict__.get("_k") is None else pre._k + 1)
        return get(BLOCK, words[0])

    begin_binding_block = _begin_binding_block
    begin_dataflow_block = _begin_dataflow_block
    end_block = _end_block

    def add_func(self, func, func_name):
        """Adds a function to the module, under a name that is not taken."""
        var = get(EXPR, self._do(Build.ADD_FUNCTION, number(EXPR, func), name_id(func_name))[0])
        name = var.name_hint
        if name not in self._module._functions:
            self._own_module()[GlobalVar(name)] = func
        return self._module.get_global_var(name)

    def update_func(self, gv, updated_func):
        """Replaces a function."""
        self._do(Build.UPDATE_FUNCTION, name_id(gv.name_hint), number(EXPR, updated_func))
        self._own_module()[gv] = updated_func

    def get(self):
        """The module so far. Functions that are added later are in another one."""
        self._is_lent = True
        return self._module

    def _own_module(self):
        if self._is_lent:
            self._module, self._is_lent = self._module.clone(), False
        return self._module

    def finalize(self):
        """The module."""
        from .transform import NormalizeGlobalVar

        return NormalizeGlobalVar()(self.get())

    def get_unique_name(self, name_prefix):
        """A name that is not taken."""
        return text_of(self._do(Build.UNIQUE_NAME, name_id(name_prefix))[0])


class _TestingScope:
    def __init__(self, bb, def_vars):
        self._bb = bb
        shapes = [var for var in def_vars]
        from .expr import ShapeExpr
        from ..ir.type import ShapeType

        self._params = [Var("tir_vars", ShapeType(ShapeExpr(shapes)))]

    def __enter__(self):
        self._bb.begin_scope(self._params)
        self._bb._begin_dataflow_block()

    def __exit__(self, kind, value, trace):
        self._bb._end_block()
        self._bb.end_scope()


def _expr(value):
    from .utils import convert_to_expr

    return convert_to_expr(value) if not isinstance(value, Expr) else value


def _shallow(expr):
    """True if the parts of an expression need no bindings of their own."""
    from ..ir.expr import Call, TupleGetItem

    def bound(part):
        return isinstance(part, (Call, TupleGetItem)) and part.ty is MISSING

    if isinstance(expr, Call):
        return not any(bound(arg) or isinstance(arg, Tuple) and not _shallow(arg) for arg in expr.args)
    if isinstance(expr, Tuple):
        return not any(isinstance(field, (Call, TupleGetItem)) or isinstance(field, Tuple) and not _shallow(field) for field in expr.fields)
    return not isinstance(expr, TupleGetItem) or not isinstance(expr.tuple_value, (Call, TupleGetItem))


def _type_parts(expr, bound):
    """Gives the calls in an expression the types of the variables to which they were bound."""
    pairs = [(expr, bound)]
    while pairs:
        old, new = pairs.pop()
        for name in ("args", "fields"):
            pairs += zip(getattr(old, name, ()), getattr(new, name, ()))
        if isinstance(new, Var) and not isinstance(old, Var) and old.ty is MISSING:
            old.ty = new.ty


def _ret_type(ty, params):
    return ty


def _error_of(message):
    """The exception that TVM has for a message of a rule: a `TypeError` where an argument or an element is of another kind."""
    from ..error import InternalError

    lower = message.lower()
    if "check failed" in lower or "internalerror" in lower or _OF_BUILDER.search(message):
        return InternalError(message)
    if message.startswith("Index "):
        return IndexError(message)
    if _OF_TENSORS.search(message):
        return TypeError(message)
    return ValueError(message) if _OF_VALUES.search(message) or not _OF_KINDS.search(message) else TypeError(message)


_OF_BUILDER = re.compile(r"It is impossible to match cast|no block is being built|EmitOutput has to be called")
_OF_TENSORS = re.compile(r"have same type with|to be a Tensor\. However|to be a Tuple of Tensors\. However|to have the same dtype\. However")
_OF_KINDS = re.compile(
    r"\b(requires?|expects?|needs|must be|should be|takes)\b.*\b([Tt]ensors?|Shape|[Tt]uple|ShapeExpr|PrimExpr|Var|types?)\b"
    r"|\bd(ata)?type\b|data must be float"
)
_OF_VALUES = re.compile(
    r"at least|have the rank|zero rank|known dtype|scalar or singleton|same rank|type mismatch: expected|is broadcastable|to be divisible"
    r"|number of|same (ndim|shape|device)|ndim|dimension"
)


_ = (ATTRS, NONE, BindingBlock, DataflowVar, VarBinding)
