"""Parts of a program that only Python can compute, before its text is read."""

import ast
import dis
import enum
import types

from .._values import DataType
from ..ir.expr import Expr
from ..ir.function import BaseFunc
from ..ir.type import Type
from ..runtime.device import Device
from ..tirx.expr import IntImm, IterVar
from .printer import ITER_TYPES

BUILT_IN = {"T", "R", "I", "tir", "tirx", "relax", "ir", "tvm"}
_SCALAR_FUNCTIONS = ("tvm.tirx.expr", "tvm.tirx.op", "tvm.tirx.intrin")


class Fold(ast.NodeTransformer):
    """Computes what only Python knows, such as `len(shape)` or `getattr(T, dtype)`, before the text is read."""

    def __init__(self, names, bound):
        self.names = names
        self.bound = bound
        self.changed = False
        self.extra = {}

    def _free(self, node):
        return all(name.id in self.names or name.id in _SAFE for name in ast.walk(node) if isinstance(name, ast.Name)) and not any(
            name.id in self.bound for name in ast.walk(node) if isinstance(name, ast.Name)
        )

    def _given(self, value):
        """A name for a value that cannot be written."""
        name = f"_given{len(self.extra)}"
        self.extra[name] = value
        return ast.Name(name, ast.Load())

    def _constant(self, node):
        """`R.const` of an array of Python."""
        from ..relax.expr import const

        try:
            names = dict(_SAFE)
            parts = [
                eval(compile(ast.Expression(part), "<script>", "eval"), names, self.names)  # noqa: S307
                for part in (*node.args, *(item.value for item in node.keywords))
            ]
        except Exception:
            return None
        if not parts or isinstance(parts[0], (bool, int, float, Expr)):
            return None
        made = const(parts[0], parts[1] if len(parts) > 1 else None)
        self.changed = True
        return ast.copy_location(self._given(made), node)

    def _axis(self, value):
        """A variable of an axis as it is written in a program."""
        self.changed = True
        made = ast.parse(f'T.iter_var(0, None, "{ITER_TYPES[value.iter_type]}", "{value.thread_tag}")', mode="eval").body
        made.args[0] = self._given(value.var)
        if value.dom is not None:
            made.args[1] = ast.parse("T.Range(0, 0)", mode="eval").body
            made.args[1].args = [self._scalar(value.dom.min), self._scalar(value.dom.min + value.dom.extent)]
        return made

    def _scalar(self, value):
        return ast.Constant(value.value) if isinstance(value, IntImm) and value.dtype == "int32" else self._given(value)

    def _device(self, node):
        """`R.opencl(2)` as the engine reads devices."""
        indices = [self._try(arg) for arg in node.args] if not node.keywords else [None]
        if len(indices) > 1 or not all(isinstance(index, ast.Constant) for index in indices):
            return None
        self.changed = True
        made = Device(Device.NAMES[node.func.attr], *(index.value for index in indices))
        return ast.copy_location(ast.parse(f"R.device({made.device_type}, {made.index})", mode="eval").body, node)

    def _constant_call(self, node, value):
        """The number that a function of Python gives whatever its arguments are: it has to read none of them."""
        if not isinstance(value, types.FunctionType) or value.__module__.startswith("tvm.") or node.keywords:
            return None
        params = value.__code__.co_varnames[: value.__code__.co_argcount]
        if any(param in str(step.argval) for step in dis.get_instructions(value) if "LOAD" in step.opname for param in params):
            return None
        try:
            literal = _literal_node(value(*[object() for _ in node.args]))
        except Exception:
            return None
        if literal is None or not isinstance(literal, ast.Constant):
            return None
        self.changed = True
        return ast.copy_location(literal, node)

    def visit_keyword(self, node):
        """A map of indices that a function of Python tells."""
        from ..tirx.function import IndexMap

        value = self.names.get(node.value.id) if node.arg == "index_map" and isinstance(node.value, ast.Name) else None
        if not isinstance(value, types.FunctionType) or node.value.id in self.bound:
            return self.generic_visit(node)
        self.changed = True
        node.value = ast.parse(str(IndexMap.from_func(value)), mode="eval").body
        return node

    def _try(self, node):
        try:
            value = eval(compile(ast.Expression(node), "<script>", "eval"), dict(_SAFE), self.names)  # noqa: S307
        except Exception:
            return None
        literal = _literal_node(value)
        if literal is None:
            usable = isinstance(value, (Expr, Type)) or hasattr(type(value), "_row_o")
            if not usable or isinstance(value, BaseFunc):
                return None
            literal = self._given(value)
        self.changed = True
        return ast.copy_location(literal, node)

    def visit_Call(self, node):
        base = node.func
        while isinstance(base, ast.Attribute):
            base = base.value
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) >= 2:
            owner = node.args[0]
            if isinstance(owner, ast.Name) and owner.id in BUILT_IN:
                name = self._try(node.args[1])
                if name is not None and isinstance(name, ast.Constant):
                    self.changed = True
                    return ast.copy_location(ast.Attribute(owner, name.value, ast.Load()), node)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            dotted = f"{node.func.value.id}.{node.func.attr}"
            if dotted in ("R.TupleGetItem", "relax.TupleGetItem") and len(node.args) == 2:
                self.changed = True
                return self.visit(ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node))
            if dotted in ("R.ShapeExpr", "relax.ShapeExpr"):
                self.changed = True
                node.func = ast.Attribute(ast.Name("R", ast.Load()), "shape", ast.Load())
            if node.func.value.id in ("R", "relax") and node.func.attr in Device.NAMES and self._free(ast.Tuple(node.args, ast.Load())):
                made = self._device(node)
                if made is not None:
                    return made
            if dotted in ("R.const", "relax.const"):
                made = self._constant(node)
                if made is not None:
                    return made
            if dotted == "I.meta_var" and len(node.args) == 1:
                self.changed = True
                return self.visit(node.args[0])
        if isinstance(node.func, ast.Name) and node.func.id not in self.bound:
            from ._macros import Macro

            value = self.names.get(node.func.id)
            if isinstance(value, Macro):
                return self.generic_visit(node)
            if callable(value) and getattr(value, "__module__", "") in _SCALAR_FUNCTIONS:
                self.changed = True
                node.func = ast.Attribute(ast.Name("T", ast.Load()), value.__name__, ast.Load())
                return self.generic_visit(node)
            literal = self._constant_call(node, value)
            if literal is not None:
                return literal
            known = getattr(value, "__qualname__", "")
            if known.startswith("relax.op."):
                self.changed = True
                callee = ast.Name("R", ast.Load())
                for part in known.removeprefix("relax.op.").split("."):
                    callee = ast.Attribute(callee, part, ast.Load())
                node.func = callee
                return self.generic_visit(node)
        if isinstance(base, ast.Name) and (base.id not in BUILT_IN or base.id == "tvm") and base.id not in self.bound:
            if base.id in self.names or base.id in _SAFE:
                if self._free(node):
                    found = self._try(node)
                    if found is not None:
                        return found
        return self.generic_visit(node)

    def _fold(self, node):
        if self._free(node) and any(isinstance(name, ast.Name) for name in ast.walk(node)):
            found = self._try(node)
            if found is not None:
                return found
        return self.generic_visit(node)

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.names and node.id not in self.bound:
            value = self.names[node.id]
            if isinstance(value, IterVar):
                return self._axis(value)
            if value is None or isinstance(value, (tuple, list, bool)):
                literal = _literal_node(value)
                if literal is not None:
                    self.changed = True
                    return ast.copy_location(literal, node)
        return node

    visit_Subscript = visit_Attribute = visit_IfExp = visit_JoinedStr = visit_BinOp = visit_ListComp = visit_Compare = _fold

    def visit_FunctionDef(self, node):
        # Types of variables that Python computes are values of their own.
        return self.generic_visit(node)


_SAFE = {
    name: __builtins__[name] if isinstance(__builtins__, dict) else getattr(__builtins__, name)
    for name in (
        "len",
        "min",
        "max",
        "int",
        "float",
        "str",
        "bool",
        "tuple",
        "list",
        "range",
        "abs",
        "sum",
        "getattr",
        "isinstance",
    )
}


def _literal_node(value, depth=0):
    if isinstance(value, (DataType, str)):
        return ast.Constant(str(value))
    if value is None or isinstance(value, (bool, int, float)):
        # A member of an enumeration is written as its number.
        return ast.Constant(int(value) if isinstance(value, enum.IntEnum) else value)
    if isinstance(value, (tuple, list)) and depth < 6:
        items = [_literal_node(item, depth + 1) for item in value]
        if all(item is not None for item in items):
            return (ast.Tuple if isinstance(value, tuple) else ast.List)(items, ast.Load())
    return None
