"""The meaning of operators and names of a tensor program where Python computes its statements."""

import ast
import operator

_COMPARISONS = {"Eq": "EQ", "NotEq": "NE", "Lt": "LT", "LtE": "LE", "Gt": "GT", "GtE": "GE"}
_OF_PYTHON = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def _is_scalar(value):
    from ..ir.expr import Expr

    return isinstance(value, Expr) or hasattr(value, "asobject")


def compare(name, left, right):
    """A comparison: of scalars of a program an expression, of values of Python what Python says."""
    from .. import tirx

    if name not in _COMPARISONS or not (_is_scalar(left) or _is_scalar(right)):
        return _OF_PYTHON[name](left, right)
    left, right = _alike(left, right)
    return getattr(tirx, _COMPARISONS[name])(left, right)


def _alike(left, right):
    """Both sides as scalars: a number becomes one of the type of the other side."""
    from ..tirx import Broadcast, const

    dtype = (left if _is_scalar(left) else right).dtype
    left, right = (value if _is_scalar(value) else const(value, str(dtype).split("x")[0]) for value in (left, right))
    lanes = max(left.dtype.lanes, right.dtype.lanes)
    return [value if value.dtype.lanes == lanes else Broadcast(value, lanes) for value in (left, right)]


def conjunction(kind, *parts):
    """`and` or `or` of operands, each given as a function: Python looks no further than it has to."""
    from .. import tirx
    from ..tirx.expr import IntImm

    made = parts[0]()
    for part in parts[1:]:
        if not _is_scalar(made):
            if bool(made) is (kind == "Or"):
                return made
            following = part()
            if not _is_scalar(following):
                made = following
                continue
        else:
            following = part()
        made, following = (IntImm("bool", int(side)) if isinstance(side, bool) else side for side in (made, following))
        made = (tirx.And if kind == "And" else tirx.Or)(made, following)
    return made


def negation(value):
    """`not` of a scalar or a value of Python."""
    from .. import tirx

    return tirx.Not(value) if _is_scalar(value) else not value


class Global:
    """A module under its name, while it is read: its functions."""

    def __init__(self, variables):
        self._variables = variables

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._variables:
            raise AttributeError(name)
        return self._variables[name]


def let_type(annotation):
    """True for `T.let` and `T.let[type]`, and the type; otherwise the annotation itself."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "T.let":
        return True, annotation.slice
    if ast.unparse(annotation) == "T.let":
        return True, None
    return False, annotation


def scalar_of(value):
    """The buffer of one element that a name stands for, or None."""
    from ..tirx.buffer import is_buffer_var
    from ..tirx.expr import BufferLoad

    buffer = value.buffer if isinstance(value, BufferLoad) else value
    if not is_buffer_var(buffer):
        return None
    return buffer if len(buffer.shape) == 1 and str(buffer.shape[0]) == "1" else None
