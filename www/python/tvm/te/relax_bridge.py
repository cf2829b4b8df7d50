"""Tensor programs of functions over tensor expressions, called from Relax."""

import string

from ..topi._lowered import NoExpression, program_of


def call_te(builder, func, args, kwargs):
    """A call of the tensor program of a function."""
    kwargs = dict(kwargs)
    hint = kwargs.pop("primfunc_name_hint", None)
    attrs = kwargs.pop("primfunc_attrs", None)

    def add(program, otherwise):
        """Adds the program to the module; returns its variable."""
        return builder.add_func(program.with_attr(attrs) if attrs else program, hint or otherwise)

    try:
        return _expressed(add, func, args, kwargs)
    except NoExpression:
        if not hasattr(func, "in_relax"):
            raise
        return _lowered(add, func, args, kwargs)


def _lowered(add, func, args, kwargs):
    """A call of an operator of `topi` whose program sorts, scans, or calls a function."""
    from ..ir.expr import Expr, Var
    from ..ir.type import TensorType
    from ..relax import op

    name, args, kwargs = func.in_relax(args, kwargs)
    tensors = []

    def operand(value):
        if isinstance(value, (list, tuple)):
            return [operand(item) for item in value]
        if isinstance(value, Expr) and isinstance(value.ty, TensorType):
            tensors.append(value)
            return Var(getattr(value, "name", f"x{len(tensors)}"), value.ty)
        return value

    args, kwargs = [operand(value) for value in args], {key: operand(value) for key, value in kwargs.items()}
    program, out_ty = program_of(name, args, kwargs)
    return op.call_tir(add(program, func.__name__), tensors, out_ty)


class _Operands:
    """Placeholders for tensors of Relax, over variables of their own."""

    def __init__(self):
        self.tensors, self.placeholders = [], []
        self.inner, self.outer = {}, {}

    def scalar(self, value):
        """A scalar over variables of the tensor program."""
        from ..ir.expr import Var
        from ..tirx.functor import post_order_visit, substitute

        def learn(node):
            if isinstance(node, Var) and node not in self.inner:
                fresh = self.inner[node] = Var(node.name, node.dtype)
                self.outer[fresh] = node

        post_order_visit(value, learn)
        return substitute(value, self.inner)

    def __call__(self, value):
        """What the function is given for a value."""
        from ..ir.expr import Expr, is_prim_expr
        from ..ir.type import TensorType
        from ..relax.expr import ShapeExpr
        from . import placeholder

        if isinstance(value, (list, tuple)):
            return type(value)(self(item) for item in value) if isinstance(value, list) else tuple(self(item) for item in value)
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, ShapeExpr):
            return [self.scalar(item) for item in value.values]
        if isinstance(value, Expr) and is_prim_expr(value):
            return self.scalar(value)
        if isinstance(value, Expr) and isinstance(value.ty, TensorType):
            if not isinstance(value.ty.shape, ShapeExpr):
                raise ValueError("emit_te does not support tensors whose shape is not known")
            for known, made in zip(self.tensors, self.placeholders):
                if known is value:
                    return made
            at = len(self.tensors)
            shape = [self.scalar(extent) for extent in value.ty.shape.values]
            letter = string.ascii_uppercase[at] if at < 26 else f"tensor_input_{at}"
            made = placeholder(shape, value.ty.dtype, getattr(value, "name", letter))
            self.tensors.append(value)
            self.placeholders.append(made)
            return made
        if isinstance(value, Expr) and hasattr(value, "fields"):
            return [self(item) for item in value.fields]
        return value


def _expressed(add, func, args, kwargs):
    from ..ir.expr import Var
    from ..ir.type import TensorType
    from ..relax import op
    from ..relax.expr import ShapeExpr
    from ..tirx.analysis import undefined_vars
    from ..tirx.functor import substitute
    from . import Tensor, create_prim_func

    operands = _Operands()
    result = func(*[operands(arg) for arg in args], **{name: operands(value) for name, value in kwargs.items()})
    outputs = [result] if isinstance(result, Tensor) else list(result)
    if not all(isinstance(item, Tensor) for item in outputs):
        raise TypeError("only support te.tensor or tuple/list/Array of te.tensor as function output")
    program = create_prim_func([*operands.placeholders, *outputs], "int64")
    known = {extent.name for item in operands.placeholders for extent in item.shape if isinstance(extent, Var)}
    free = [var for var in undefined_vars(program.body, program.params) if isinstance(var, Var) and var.name not in known]
    made = {var.name: outer for var, outer in operands.outer.items()}
    scalars = [made[var.name] for var in free if var.name in made]
    if scalars:
        program = program._copy(_params=[*program.params, *[var for var in free if var.name in made]])
    program = program.without_attr("global_symbol")
    var = add(program, getattr(func, "__name__", "te_func"))
    types = [TensorType([substitute(extent, operands.outer) for extent in item.shape], item.dtype) for item in outputs]
    extra = {"tir_vars": ShapeExpr(scalars)} if scalars else {}
    return op.call_tir(var, list(operands.tensors), types[0] if isinstance(result, Tensor) else types, **extra)
