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
    """The values that the function is given for its arguments, over variables of the tensor program."""

    def __init__(self):
        self.given, self.params = [], []
        self.tensors, self.scalars = [], []
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

    def _operand(self, value, made):
        self.given.append(value)
        self.params.append(made)
        return made

    def __call__(self, value):
        """The argument that the function is given for a value."""
        from ..ir.expr import Expr, Var, is_prim_expr
        from .._node import Object
        from ..ir.type import ShapeType, TensorType, Type
        from ..relax.expr import ShapeExpr
        from . import placeholder

        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self(item) for item in value)
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise AssertionError("emit_te only supports dict with string as the key currently")
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, ShapeExpr):
            return [self(item) for item in value.values]
        if isinstance(value, Expr) and is_prim_expr(value):
            if isinstance(value, Var) and value.dtype != "int64":
                return self._operand(value, Var(value.name, value.dtype))
            self.scalars.append(self.scalar(value))
            return self.scalars[-1]
        if isinstance(value, Expr) and isinstance(value.ty, TensorType):
            if not isinstance(value.ty.shape, ShapeExpr):
                raise AssertionError("emit_te now only supports Tensor that has ShapeExpr shape")
            at = len(self.params)
            shape = [self.scalar(extent) for extent in value.ty.shape.values]
            letter = string.ascii_uppercase[at] if at < 26 else f"tensor_input_{at}"
            self.tensors.append(self._operand(value, placeholder(shape, value.ty.dtype, getattr(value, "name", letter))))
            return self.tensors[-1]
        if isinstance(value, Expr) and isinstance(value.ty, ShapeType):
            raise AssertionError("For Expr having ShapeType, emit_te now only supports ShapeExpr")
        if isinstance(value, Expr) and hasattr(value, "fields"):
            return [self(item) for item in value.fields]
        if value is None or isinstance(value, (int, float, str, Type)) or not isinstance(value, Object):
            return value
        raise TypeError(f"not supported type in emit_te: {type(value)}")

    def unbound(self, outputs):
        """Variables that the program uses and no extent of a buffer tells."""
        from ..ir.expr import Expr, Var
        from ..tirx.analysis import undefined_vars

        extents = [extent for tensor in (*self.tensors, *outputs) for extent in tensor.shape]
        bound = {extent for extent in extents if isinstance(extent, Var)}
        used = [var for value in (*extents, *self.scalars) if isinstance(value, Expr) for var in undefined_vars(value)]
        return [var for var in dict.fromkeys(used) if var not in bound]


def gen_call_tir_inputs(func, args, kwargs):
    """The tensor program of a function over tensor expressions, the arguments of its call, and the types of its results."""
    from ..ir.type import TensorType
    from ..tirx.functor import substitute
    from . import Tensor, create_prim_func

    operands = _Operands()
    result = func(*[operands(arg) for arg in args], **{name: operands(value) for name, value in kwargs.items()})
    outputs = [result] if isinstance(result, Tensor) else list(result)
    if not all(isinstance(item, Tensor) for item in outputs):
        raise TypeError("only support te.tensor or tuple/list/Array of te.tensor as function output")
    unbound = operands.unbound(outputs)
    program = create_prim_func([*operands.params, *unbound, *outputs], "int64").without_attr("global_symbol")
    given = [*operands.given, *(operands.outer.get(var, var) for var in unbound)]
    device = _device_of(args)
    types = [TensorType([substitute(extent, operands.outer) for extent in item.shape], item.dtype, device) for item in outputs]
    return program, given, types


def _device_of(value):
    """The device of the first tensor among arguments that names one."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next((device for device in map(_device_of, value) if device is not None), None)
    return getattr(getattr(value, "ty", None), "vdevice", None)


def _expressed(add, func, args, kwargs):
    from ..relax import op

    program, given, types = gen_call_tir_inputs(func, args, kwargs)
    var = add(program, getattr(func, "__name__", "te_func"))
    return op.call_tir(var, given, types[0] if len(types) == 1 else types)
