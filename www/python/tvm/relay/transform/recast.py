"""Operators over another element type."""

from ...ir.module import IRModule
from ..._values import Attrs
from .. import op as _op
from ..analysis import count_layers
from ..expr import Call, Tuple
from ..expr_functor import ExprMutator


class RecastMutator(ExprMutator):
    """Casts the operands of some operators, and what they give back to the type that it had."""

    def __init__(self, dtype, out_dtype, valid_ops, valid_op_count, skip_layers):
        super().__init__()
        self.dtype, self.out_dtype = dtype, out_dtype
        self.valid_ops = [_op.get(name) for name in valid_ops]
        self.valid_op_count = valid_op_count
        self.skip_layers = [valid_op_count + layer if layer < 0 else layer for layer in skip_layers]
        self.depth_count = 0

    def visit_call(self, call):
        depth = self.depth_count
        layer = self.valid_op_count - depth - 1
        chosen = any(call.op is op or call.op == op for op in self.valid_ops)
        self.depth_count += chosen
        callee, args = self.visit(call.op), []
        for arg in call.args:
            args.append(self.visit(arg))
            self.depth_count = depth
        if not chosen or layer in self.skip_layers:
            return Call(callee, args, call.attrs)
        if call.op.name == "concatenate":
            if len(call.args) != 1 or not isinstance(call.args[0], Tuple):
                return Call(callee, args, call.attrs)
            cast = [Tuple([_op.cast(self.visit(arg), dtype=self.dtype) for arg in call.args[0].fields])]
        else:
            cast = [_op.cast(arg, dtype=self.dtype) for arg in args]
        attrs, before = call.attrs, ""
        if attrs is not None and "out_dtype" in attrs.keys():
            before = str(attrs["out_dtype"])
            attrs = Attrs(attrs._key, {**attrs._fields, "out_dtype": self.out_dtype})
        return _op.cast(Call(callee, cast, attrs), _type_of(call) if before in ("", "void") else before)


def _type_of(call):
    from . import InferType

    return str(InferType()(IRModule.from_expr(call))["main"].body.checked_type.dtype)


def recast(expr, dtype, out_dtype, ops=None, skip_layers=None):
    """An expression, or the main function of a module, in which some operators compute on another element type. Layers that are
    skipped are counted from the first such operator; negative numbers count from the last."""
    is_module = isinstance(expr, IRModule)
    expr = expr["main"] if is_module else expr
    ops = ["nn.conv2d"] if ops is None else ops
    made = RecastMutator(dtype, out_dtype, ops, count_layers(expr, ops), skip_layers or []).visit(expr)
    return IRModule.from_expr(made) if is_module else made
