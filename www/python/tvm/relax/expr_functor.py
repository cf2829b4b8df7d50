"""Visitors and mutators of Relax."""

import functools

from .._values import Array
from ..ir.base import Node
from ..ir.expr import (
    Call, Expr, GenericConst, GlobalVar, StringImm, Tuple, TupleGetItem, Var, is_prim_expr,
)  # fmt: skip
from ..ir.function import BaseFunc
from ..ir.module import IRModule
from ..ir.op import Op, has_own_normal_form
from ..ir.type import MISSING, FuncType, PrimType, ShapeType, TensorType, TupleType, Type
from ._kinds import Unwritten, method_of, scalar_method, variables_of
from .block_builder import BlockBuilder
from .expr import (
    Binding, BindingBlock, DataflowBlock, DataflowVar, DataTypeImm, ExternFunc, Function, If, MatchCast, SeqExpr,
    ShapeExpr, VarBinding, _sequence,
)  # fmt: skip

_OLD = {"generic_const_": "constant_"}


class ExprFunctor(Unwritten):
    """The base class of what goes through expressions by their kinds."""

    def visit_expr(self, expr):
        """Goes to the method for the kind of an expression."""
        name = method_of(type(expr))
        if name == "prim_value_" and not hasattr(self, "visit_prim_value_"):
            name = scalar_method(type(expr))
        function = getattr(self, "visit_" + name)
        old = _OLD.get(name)
        if old is not None:
            own = getattr(type(self), "visit_" + old, None)
            if own is not None and own is not getattr(_Base, "visit_" + old, None):
                function = getattr(self, "visit_" + old)
        return function(expr)

    def visit_binding(self, binding):
        """Goes to the method for the kind of a binding."""
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        elif isinstance(binding, VarBinding):
            self.visit_var_binding_(binding)
        else:
            raise TypeError(f"Invalid type: {type(binding)}")

    def visit_binding_block(self, block):
        """Goes to the method for the kind of a block."""
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block_(block)
        if isinstance(block, BindingBlock):
            return self.visit_binding_block_(block)
        raise TypeError(f"Invalid type: {type(block)}")

    def visit_var_def(self, var):
        """Goes to the method for the kind of a variable that is bound."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)


class _Base(ExprFunctor):
    def visit_constant_(self, op):
        """A constant, as Relax called it before."""
        return self.visit_generic_const_(op)


class PyExprVisitor(_Base):
    """A visitor of expressions. A class with the decorator `visitor` says what it does where."""

    def visit_expr(self, expr):
        ExprFunctor.visit_expr(self, expr)

    def _type(self, ty):
        if ty is not MISSING and ty is not None:
            self.visit_type(ty)

    def visit_span(self, span):
        """A place in the text."""

    def visit_type(self, ty):
        """A type."""
        self._visit_type(ty)

    def _visit_type(self, ty):
        if isinstance(ty, TensorType):
            if ty.shape is not None:
                self.visit_type_expr_field(ty.shape)
        elif isinstance(ty, ShapeType):
            for value in ty.values or ():
                self.visit_type_expr_field(value)
        elif isinstance(ty, TupleType):
            for field in ty.fields:
                self.visit_type(field)
        elif isinstance(ty, FuncType):
            for item in (*(ty.params or ()), ty.ret):
                self.visit_type(item)

    def visit_type_expr_field(self, expr):
        """An expression in a type."""

    def visit_generic_const_(self, op):
        """A constant."""

    def visit_global_var_(self, op):
        """A reference to a function."""

    def visit_var_(self, op):
        """A use of a variable."""

    def visit_dataflow_var_(self, op):
        """A use of a variable of a dataflow block."""

    def visit_extern_func_(self, op):
        """A function that is linked in."""

    def visit_op_(self, op):
        """An operator."""

    def visit_prim_value_(self, op):
        """A scalar."""
        from ..tirx.functor import parts

        for part in parts(op):
            self.visit_expr(part)

    def visit_prim_func_(self, op):
        """A tensor program."""

    def visit_string_imm_(self, op):
        """A text."""

    def visit_data_type_imm_(self, op):
        """An element type."""

    def visit_tuple_(self, op):
        """A tuple."""
        for field in op.fields:
            self.visit_expr(field)

    def visit_call_(self, op):
        """A call."""
        self.visit_expr(op.op)
        for ty in op.ty_args:
            self.visit_type(ty)
        for arg in op.args:
            self.visit_expr(arg)

    def visit_if_(self, op):
        """A condition."""
        self.visit_expr(op.cond)
        self.visit_expr(op.true_branch)
        self.visit_expr(op.false_branch)

    def visit_shape_expr_(self, op):
        """A shape."""
        for value in op.values:
            self.visit_expr(value)

    def visit_tuple_getitem_(self, op):
        """A field of a tuple."""
        self.visit_expr(op.tuple_value)

    def visit_seq_expr_(self, op):
        """Blocks and a result."""
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_function_(self, op):
        """A function."""
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_var_binding_(self, binding):
        """A binding."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding):
        """A binding whose type is checked."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_binding_block_(self, block):
        """A block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    visit_dataflow_block_ = visit_binding_block_

    def visit_var_def_(self, var):
        """A variable that is bound."""

    def visit_dataflow_var_def_(self, var):
        """A variable of a dataflow block that is bound."""


class PyExprMutator(_Base):
    """A mutator of expressions. `builder_` emits the new bindings, so every binding has its type."""

    def __init__(self, mod=None):
        self.builder_ = BlockBuilder(mod)

    @property
    def builder_(self):
        """The builder that bindings are emitted with."""
        found = self.__dict__.get("_builder")
        if found is None:
            found = self.__dict__["_builder"] = BlockBuilder()
        return found

    @builder_.setter
    def builder_(self, value):
        self.__dict__["_builder"] = value

    @property
    def _remap(self):
        return self.__dict__.setdefault("_remapped", {})

    def set_var_remap(self, vid, var):
        """Says what stands for a variable from now on."""
        self._remap[vid] = var

    def get_var_remap(self, vid):
        """The variable that stands for another one, or itself."""
        return self._remap.get(vid, vid)

    def lookup_binding(self, var):
        """The value of a variable, or None."""
        return self.builder_.lookup_binding(var)

    def with_type(self, var, ty):
        """A variable with a type: itself when it has it."""
        if var.ty is not MISSING and _same_type(var.ty, ty):
            return var
        made = _variable(var, ty)
        made.__dict__["_from"] = var
        return made

    with_struct_info = with_type

    def visit_expr(self, expr):
        made = ExprFunctor.visit_expr(self, expr)
        if isinstance(made, (Var, GlobalVar, Op)) or is_prim_expr(made):
            return made
        is_done = made is expr and not (isinstance(made, (Call, Tuple, TupleGetItem, If)) and made.ty is MISSING)
        return made if is_done else self.builder_.normalize(made)

    def visit_expr_post_order(self, expr):
        """An expression over operands that were visited."""
        return getattr(PyExprMutator, "visit_" + method_of(type(expr)))(self, expr)

    def visit_type(self, ty):
        """A type over expressions that were visited. That of a function depends on none of the scope."""
        if isinstance(ty, TensorType) and ty.shape is not None:
            shape = self.visit_expr(ty.shape)
            return ty if shape is ty.shape else TensorType(shape, ty.dtype, ty.vdevice)
        if isinstance(ty, ShapeType) and ty.values is not None:
            values = [self.visit_expr(value) for value in ty.values]
            return ty if all(a is b for a, b in zip(values, ty.values)) else ShapeType(values)
        if isinstance(ty, TupleType):
            fields = [self.visit_type(field) for field in ty.fields]
            return ty if all(a is b for a, b in zip(fields, ty.fields)) else TupleType(fields)
        return ty

    def visit_span(self, span):
        """A place in the text."""
        raise NotImplementedError("places in texts are not visited")

    def visit_generic_const_(self, op):
        return op

    def visit_global_var_(self, op):
        return op

    def visit_extern_func_(self, op):
        return op

    def visit_op_(self, op):
        return op

    def visit_prim_value_(self, op):
        from ..tirx.functor import rebuild

        return rebuild(op, self.visit_expr)

    def visit_prim_func_(self, op):
        return op

    def visit_string_imm_(self, op):
        return op

    def visit_data_type_imm_(self, op):
        return op

    def visit_shape_expr_(self, op):
        values = [self.visit_expr(value) for value in op.values]
        return op if all(a is b for a, b in zip(values, op.values)) else _from(ShapeExpr(values), op)

    def visit_var_(self, op):
        return self._remap.get(op, op)

    def visit_dataflow_var_(self, op):
        return self._remap.get(op, op)

    def visit_tuple_(self, op):
        fields = [self.visit_expr(field) for field in op.fields]
        if all(a is b for a, b in zip(fields, op.fields)):
            return op
        return _from(Tuple(fields), op)

    def visit_call_(self, op):
        callee = self.visit_expr(op.op)
        args = [self.visit_expr(arg) for arg in op.args]
        types = [self.visit_type(ty) for ty in op.ty_args]
        same = callee is op.op and all(a is b for a, b in zip(args, op.args)) and all(a is b for a, b in zip(types, op.ty_args))
        if is_prim_expr(op):
            from ..tirx.functor import copy

            return op if same else copy(op, op=callee, args=Array(args))
        ty = MISSING if op.ty is MISSING else self.visit_type(op.ty)
        if same and ty is op.ty:
            return op
        # Over other operands the type is inferred anew.
        return _from(Call(callee, args, op.attrs, types, op.span, ty=ty if same else None), op)

    def visit_if_(self, op):
        cond = self.visit_expr(op.cond)
        then = self.visit_with_new_scope(op.true_branch)
        other = self.visit_with_new_scope(op.false_branch)
        if cond is op.cond and then is op.true_branch and other is op.false_branch:
            return op
        return _from(If(cond, then, other), op)

    def visit_tuple_getitem_(self, op):
        value = self.visit_expr(op.tuple_value)
        if value is op.tuple_value:
            return op
        return _from(TupleGetItem(value, op.index), op)

    def visit_seq_expr_(self, op):
        blocks = []
        same = True
        for block in op.blocks:
            made = self.visit_binding_block(block)
            if len(made.bindings):
                blocks.append(made)
            same = same and made is block
        self.builder_.begin_binding_block()
        body = self.visit_expr(op.body)
        last = self.builder_.end_block()
        if len(last.bindings):
            blocks.append(last)
            same = False
        if same and body is op.body:
            return op
        return _from(SeqExpr(blocks, body), op)

    def visit_function_(self, op):
        params = []
        for param in op.params:
            made = self.visit_var_def(param)
            if made is not param:
                self.set_var_remap(param, made)
            params.append(made)
        same = all(a is b for a, b in zip(params, op.params))
        ret = op.ret_ty if same or op.ret_ty is None else self.visit_type(op.ret_ty)
        body = self.visit_with_new_scope(op.body, params)
        if body is op.body and same:
            return op
        if ret is not None and body.ty is not MISSING and not _same_type(body.ty, ret) and not body.ty.is_base_of(ret):
            # The body gives something else than before.
            ret = body.ty
        return _from(Function(params, body, ret, op.is_pure, op.attrs), op)

    def visit_with_new_scope(self, expr, params=None):
        """An expression in a scope of its own."""
        if not isinstance(expr, SeqExpr):
            expr = _sequence(expr)
        if params is None:
            self.builder_._do(9)
        else:
            self.builder_.begin_scope(params)
        made = self.visit_expr(expr)
        self.builder_.end_scope()
        return made

    def visit_var_binding_(self, binding):
        value = self.visit_expr(binding.value)
        var = self.visit_var_def(binding.var)
        if value is binding.value and var is binding.var and not has_own_normal_form(value):
            self.builder_.emit_normalized(binding)
            return
        value = self.builder_.normalize(value)
        var = self._bound(binding.var, var, value.ty)
        self.builder_.emit_normalized(VarBinding(var, value))

    def _bound(self, old, var, ty):
        new = var if ty is MISSING else self.with_type(var, ty)
        if new is not old:
            self._remap[old] = new
        return new

    def visit_match_cast_(self, binding):
        value = self.visit_expr(binding.value)
        var = self.visit_var_def(binding.var)
        ty = self.visit_type(binding.ty)
        if value is binding.value and var is binding.var and ty is binding.ty:
            self.builder_.emit_normalized(binding)
            return
        value = self.builder_.normalize(value)
        var = self._bound(binding.var, var, ty)
        self.builder_.emit_normalized(MatchCast(var, value, ty))

    def visit_binding_block_(self, block):
        self.builder_.begin_binding_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_.end_block(block)

    def visit_dataflow_block_(self, block):
        self.builder_.begin_dataflow_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_.end_block(block)

    def visit_var_def_(self, var):
        ty = MISSING if var.ty is MISSING else self.visit_type(var.ty)
        return var if ty is var.ty else _variable(var, ty)

    visit_dataflow_var_def_ = visit_var_def_


def _variable(var, ty):
    """A variable like another one, of another type."""
    return (DataflowVar if isinstance(var, DataflowVar) else Var)(var.name, ty)


def _same_type(a, b):
    if a is b or (a.__dict__.get("_t") is not None and a.__dict__.get("_t") == b.__dict__.get("_t")):
        return True
    return a == b if isinstance(a, Type) and isinstance(b, Type) else False


def _from(made, pre):
    made.__dict__["_from"] = pre
    return made


def visitor(cls):
    """Makes a visitor of a class: `@relax.expr_functor.visitor class V(PyExprVisitor)`."""
    _check_class(cls, PyExprVisitor, "visitor")
    return _decorated(cls)


def _decorated(cls):
    """The class that the decorator makes: `_cls` of it, the one that was written, is what others may inherit from."""
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__, "_cls": cls}
    return type(cls.__name__, (cls,), names)


def _check_class(cls, base, name):
    if "_cls" in cls.__bases__[0].__dict__:
        raise TypeError(f"Inheritance from a decorated object `{cls.__name__}` is not allowed. Please inherit from `{cls.__name__}._cls`.")
    if not issubclass(cls, base):
        raise TypeError(f"Inheritance: a {name} must be a {base.__name__}")


def mutator(cls):
    """Makes a mutator of a class: `@relax.expr_functor.mutator class M(PyExprMutator)`."""
    _check_class(cls, PyExprMutator, "mutator")
    own = cls.__dict__.get("__init__")
    if own is not None:

        @functools.wraps(own)
        def start(self, *args, **kwargs):
            own(self, *args, **kwargs)

        cls.__init__ = start
    return _decorated(cls)


def map_dataflow_blocks(func, mod, change):
    """A function with its dataflow blocks changed."""

    class Change(PyExprMutator):
        def visit_dataflow_block_(self, block):
            new = change(block)
            if not isinstance(new, DataflowBlock):
                raise TypeError(f"a pass over dataflow blocks must return one, not {type(new).__name__}")
            return PyExprMutator.visit_dataflow_block_(self, new) if new is not block else block

    return Change(mod).visit_expr(func)


def rename_globals(mod, replacements):
    """A module with functions under other names."""
    names = {(old if isinstance(old, str) else old.name_hint): (new if isinstance(new, str) else new.name_hint) for old, new in replacements.items()}
    fresh = {old: GlobalVar(new) for old, new in names.items()}

    class Rename(PyExprMutator):
        def visit_global_var_(self, op):
            return fresh.get(op.name_hint, op)

    made = IRModule({}, mod.type_definitions, mod.attrs, mod.global_infos)
    for var, func in mod.functions.items():
        new = Rename(mod).visit_expr(func) if isinstance(func, Function) else func
        name = var.name_hint
        if name in names:
            if new.attrs is not None and new.attrs.get("global_symbol") == name:
                new = new.with_attr("global_symbol", names[name])
            var = fresh[name]
        made[var] = new
    return made


def copy_with_new_vars(func, mod=None):
    """A copy of a function with variables of its own, symbolic ones too. Of functions of `mod` it knows the types."""

    class Copy(PyExprMutator):
        def visit_var_def_(self, var):
            if var not in self._remap:
                self.set_var_remap(var, _variable(var, self.visit_type(var.ty)))
            return self._remap[var]

        visit_dataflow_var_def_ = visit_var_def_

        def visit_var_(self, op):
            return self.visit_var_def_(op) if is_prim_expr(op) else super().visit_var_(op)

    return Copy(mod).visit_expr(func)


_ = (Binding, Node, PrimType)
