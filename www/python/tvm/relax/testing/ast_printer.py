"""The tree of a program of Relax, node by node: what its text stands for."""

from ...ir.expr import Call, GenericConst, GlobalVar, StringImm, Tuple, TupleGetItem, Var, is_prim_expr
from ...ir.op import Op
from ...ir.type import AnyType, FuncType, PrimType, ShapeType, StringType, TensorType, TupleType
from .._kinds import method_of, scalar_method
from ..expr_functor import ExprFunctor
from ..expr import BindingBlock, DataflowBlock, DataflowVar, ExternFunc, Function, If, MatchCast, SeqExpr, ShapeExpr, VarBinding

_NAMED = {DataflowVar: "name", Var: "name", GlobalVar: "name_hint"}


def wrap_quotes(text):
    """A text within quotes."""
    return f'"{text}"'


_quoted = wrap_quotes


class ASTPrinter(ExprFunctor):
    """Writes nodes as `Name(field=value, ...)`, several fields below each other."""

    def __init__(self, indent_str="    ", include_ty_annotations=True, include_call_attrs=True):
        self.indent_str = indent_str
        self.include_ty_annotations = include_ty_annotations
        self.include_call_attrs = include_call_attrs

    def listed(self, members, brackets="[]", opened="", force_newline=False):
        """Members within brackets: one of a single line stays beside them."""
        members = list(members)
        head, tail = opened + brackets[0], brackets[1]
        if not members or len(members) == 1 and not force_newline and "\n" not in members[0]:
            return head + "".join(members) + tail
        indented = (self.indent_str + member.replace("\n", "\n" + self.indent_str) if member else "" for member in members)
        return head + "\n" + ",\n".join(indented) + "\n" + tail

    def node(self, name, fields, force_newline=False):
        """A node with its fields."""
        return self.listed((f"{key}={value}" for key, value in fields.items()), "()", name, force_newline)

    def typed(self, expr, name, fields, force_newline=False):
        """An expression with its fields and its type."""
        if self.include_ty_annotations and not expr.ty.is_missing():
            fields = {**fields, "ty": self.type(expr.ty)}
        return self.node(name, fields, force_newline)

    def scalar(self, value):
        """An extent or another scalar."""
        return self.node("Expr", {"value": f"`{value.name if isinstance(value, Var) else value}`"})

    def indent(self, text):
        """A text further to the right."""
        return "\n".join(self.indent_str + line if line else "" for line in text.split("\n"))

    def build_list(self, members, open_tok="[", close_tok="]", force_newline=False):
        """Members within brackets."""
        return self.listed(members, (open_tok, close_tok), force_newline=force_newline)

    def build_ast_node(self, nodename, force_newline=False, **kwargs):
        """A node with its fields."""
        return self.node(nodename, kwargs, force_newline)

    def build_expr(self, node, nodename, force_newline=False, **kwargs):
        """An expression with its fields and its type."""
        return self.typed(node, nodename, kwargs, force_newline)

    def visit_expr(self, expr):
        """An expression, a binding or a block, by the method for its kind."""
        for cls, name in ((DataflowBlock, "dataflow_block_"), (BindingBlock, "binding_block_"), (MatchCast, "match_cast_"), (VarBinding, "var_binding_")):
            if isinstance(expr, cls):
                return getattr(self, f"visit_{name}")(expr)
        name = method_of(type(expr))
        return getattr(self, f"visit_{scalar_method(type(expr)) if name == 'prim_value_' else name}")(expr)

    visit_binding = visit_binding_block = visit_var_def = visit_expr

    def written(self, expr):
        """The text of an expression, a binding or a block."""
        match expr:
            case MatchCast():
                return self.node(
                    "MatchCast", {"var": self.visit_expr(expr.var), "value": self.visit_expr(expr.value), "ty": self.type(expr.ty)}
                )
            case VarBinding():
                return self.node("VarBinding", {"var": self.visit_expr(expr.var), "value": self.visit_expr(expr.value)})
            case DataflowVar() | Var() | GlobalVar():
                field = next(field for kind, field in _NAMED.items() if isinstance(expr, kind))
                return self.typed(expr, type(expr).__name__, {field: _quoted(getattr(expr, field))})
            case Op():
                return self.node("Op", {"name": _quoted(expr.name)})
            case ExternFunc():
                return self.node("ExternFunc", {"global_symbol": _quoted(expr.global_symbol)})
            case StringImm():
                return self.typed(expr, "StringImm", {"value": _quoted(expr.value)})
            case ShapeExpr():
                return self.typed(expr, "ShapeExpr", {"values": self.listed(map(self.scalar, expr.values))})
            case GenericConst():
                return self.typed(expr, "GenericConst", {"value": str(expr.value)}, len(getattr(expr.value, "shape", ())) > 0)
            case Tuple():
                return self.typed(expr, "Tuple", {"fields": self.listed(map(self.visit_expr, expr.fields))})
            case TupleGetItem():
                return self.typed(expr, "TupleGetItem", {"tuple_value": self.visit_expr(expr.tuple_value), "index": str(expr.index)})
            case Function():
                return self.function(expr)
            case SeqExpr():
                return self.typed(
                    expr, "SeqExpr", {"blocks": self.listed(map(self.visit_binding_block_, expr.blocks)), "body": self.visit_expr(expr.body)}
                )
            case If():
                parts = {name: self.visit_expr(getattr(expr, name)) for name in ("cond", "true_branch", "false_branch")}
                return self.typed(expr, "If", parts)
            case Call() if not is_prim_expr(expr) or isinstance(expr.op, Op) and expr.op.name.startswith("relax."):
                return self.call(expr)
        if is_prim_expr(expr):
            return self.scalar(expr)
        raise ValueError(f"Invalid Relax expression {expr} ({type(expr)})")

    def block(self, name, block):
        """A block with its bindings."""
        return self.node(name, {"bindings": self.listed(map(self.visit_expr, block.bindings), force_newline=True)})

    def function(self, func):
        """A function."""
        fields = {
            "params": self.listed(map(self.visit_expr, func.params)),
            "body": self.visit_expr(func.body),
            "ret_ty": self.type(func.ret_ty),
            "is_pure": func.is_pure,
        }
        if func.attrs:
            fields["attrs"] = self.listed((f"{_quoted(key)}: {_quoted(value)}" for key, value in func.attrs.items()), "{}")
        return self.typed(func, "Function", fields)

    def call(self, call):
        """A call, its attributes included."""
        fields = {"op": self.visit_expr(call.op), "args": self.listed(map(self.visit_expr, call.args))}
        if call.ty_args:
            fields["ty_args"] = self.listed(map(self.type, call.ty_args))
        if call.attrs and self.include_call_attrs:
            fields["attrs"] = self.listed((f"{_quoted(key)}: {self.attribute(call.attrs[key])}" for key in call.attrs.keys()), "{}")
        return self.typed(call, "Call", fields)

    def attribute(self, value):
        """The value of an attribute of a call."""
        if isinstance(value, str):
            return _quoted(value)
        if hasattr(value, "value") and hasattr(value, "dtype"):
            return bool(value.value) if value.dtype == "bool" else int(value.value)
        return value

    def type(self, ty):
        """A type."""
        match ty:
            case ShapeType():
                fields = {"ndim": str(ty.ndim)}
                if ty.values is not None:
                    fields["values"] = self.listed(map(self.scalar, ty.values))
                return self.node("ShapeType", fields)
            case TensorType():
                shape = {"ndim": str(ty.ndim)} if ty.shape is None else {"shape": self.visit_expr(ty.shape)}
                return self.node("TensorType", {"dtype": ty.dtype, **shape})
            case PrimType():
                return self.node("PrimType", {"dtype": ty.dtype})
            case TupleType():
                return self.node("TupleType", {"fields": self.listed(map(self.type, ty.fields))})
            case FuncType():
                params = {} if ty.params is None else {"params": self.listed(map(self.type, ty.params))}
                return self.node("FuncType", {**params, "ret": self.type(ty.ret), "purity": bool(ty.purity)})
            case AnyType() | StringType():
                return self.node(type(ty).__name__, {})
        raise ValueError(f"Invalid Relax Type {ty} ({type(ty)})")

    visit_type_ = visit_ty_ = type


for _name in dir(ExprFunctor):
    if _name.startswith("visit_") and _name.endswith("_"):
        setattr(ASTPrinter, _name, ASTPrinter.written)
# Blocks of a sequence go to the first of these, whatever they are, as in TVM.
ASTPrinter.visit_binding_block_ = lambda self, block: self.block("BindingBlock", block)
ASTPrinter.visit_dataflow_block_ = lambda self, block: self.block("DataflowBlock", block)


def dump_ast(exp, indent_str="    ", include_ty_annotations=True, include_call_attrs=True):
    """The tree of an expression as a text."""
    return ASTPrinter(indent_str, include_ty_annotations, include_call_attrs).visit_expr(exp)
