"""Walks over scalars and statements."""

from .._values import Array
from ..ir.expr import Call, Expr, Var
from .buffer import Buffer
from .expr import IntImm, PrimCall
from .stmt import SBlock, SBlockRealize, Stmt

_FIELDS = {
    "SeqStmt": ["seq"],
    "For": ["min", "extent", "step", "body"],
    "While": ["condition", "body"],
    "IfThenElse": ["condition", "then_case", "else_case"],
    "Bind": ["value"],
    "AssertStmt": ["condition"],
    "BufferStore": ["indices", "value"],
    "AttrStmt": ["value", "body"],
    "Evaluate": ["value"],
    "Return": ["value"],
    "SBlockRealize": ["iter_values", "predicate", "block"],
    "SBlock": ["init", "body"],
    "PrimFunc": ["body"],
    "Cast": ["value"],
    "Select": ["condition", "true_value", "false_value"],
    "PrimCall": ["args"],
    "BufferLoad": ["indices"],
    "Ramp": ["base", "stride"],
    "Broadcast": ["value"],
    "Shuffle": ["vectors", "indices"],
    "Let": ["value", "body"],
    "Not": ["a"],
}


def fields_of(node):
    """Names of the fields that hold expressions or statements."""
    found = _FIELDS.get(type(node).__name__)
    if found is None and hasattr(type(node), "_index"):
        return ["a", "b"]
    return found or []


def parts(node):
    """The expressions and statements directly inside of one."""
    found = []
    for name in fields_of(node):
        value = getattr(node, name)
        if isinstance(value, (list, tuple)):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found


def post_order_visit(node, fvisit):
    """Calls a function with every scalar and statement once, parts first."""
    seen = set()
    stack = [(node, False)]
    while stack:
        item, done = stack.pop()
        if done:
            fvisit(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.append((item, True))
            stack.extend((part, False) for part in reversed(parts(item)))


def pre_order_visit(node, fvisit):
    """Calls a function with every scalar and statement, outer ones first; False leaves out what is inside."""
    stack = [node]
    while stack:
        item = stack.pop()
        if fvisit(item) is not False:
            stack.extend(reversed(parts(item)))


def rebuild(node, visit):
    """A node over parts that a function gives; the node itself when nothing changed."""
    changes = {}
    for name in fields_of(node):
        value = getattr(node, name)
        if isinstance(value, (list, tuple)):
            new = Array(visit(item) for item in value)
            if any(a is not b for a, b in zip(new, value)):
                changes[name] = new
        elif value is not None:
            new = visit(value)
            if new is not value:
                changes[name] = new
    return copy(node, **changes) if changes else node


def copy(node, **changes):
    """A node with other fields."""
    load = node.__dict__.pop("_load", None)
    if load is not None:
        load(node)
    made = type(node).__new__(type(node))
    kept = {
        key: value for key, value in node.__dict__.items() if not (len(key) == 2 and key[0] == "_")
    }
    kept.pop("_fields_row", None)
    made.__dict__.update(kept)
    made.__dict__.update(changes)
    made.__dict__["_from"] = node
    if hasattr(type(made), "_index") and changes:
        from . import op

        operation = {
            "Add": op._op_add, "Sub": op._op_sub, "Mul": op._op_mul, "FloorDiv": op.floordiv, "FloorMod": op.floormod,
            "Min": op.min_, "Max": op.max_, "LT": op._op_less, "LE": op._op_less_equal, "GT": op._op_greater,
            "GE": op._op_greater_equal, "EQ": op._equal, "NE": op._not_equal,
        }.get(type(node).__name__)  # fmt: skip
        return operation(made.a, made.b) if operation else made
    return made


def substitute(node, vmap):
    """A node with variables replaced: a dictionary or a function."""
    find = vmap if callable(vmap) else lambda var: vmap.get(var)
    known = {}

    def visit(item):
        found = known.get(id(item))
        if found is None:
            if isinstance(item, Var):
                new = find(item)
                found = (
                    item
                    if new is None
                    else new
                    if isinstance(new, Expr)
                    else IntImm(item.dtype, int(new))
                )
            else:
                found = rebuild(item, visit)
            known[id(item)] = found
        return found

    return visit(node)


def ir_transform(stmt, preorder, postorder, only_enable=None):
    """A statement with parts changed, before and after their own parts are."""
    names = None if only_enable is None else {name.rsplit(".", 1)[-1] for name in only_enable}

    def wanted(node):
        name = "Call" if isinstance(node, PrimCall) else type(node).__name__
        return names is None or name in names

    def visit(node):
        if preorder is not None and wanted(node):
            new = preorder(node)
            if new is not None:
                return new
        made = rebuild(node, visit)
        if postorder is not None and wanted(node):
            new = postorder(made)
            if new is not None:
                return new
        return made

    return visit(stmt)


_ = (Call, Buffer, SBlock, SBlockRealize, Stmt)
