"""Programs of Python as trees, for `doc_printer`."""

import enum

from ..._node import Object
from ..._values import Array


class Doc(Object):
    """The base class; `source_paths` says which parts of an object it shows."""

    _fields = ()

    def __init__(self, *args, **kwargs):
        self.source_paths = Array()
        given = dict(zip(self._fields, args)) | kwargs
        for field in self._fields:
            value = given.pop(field, None)
            self.__dict__[field] = Array(value) if isinstance(value, (list, tuple)) else value
        if given or len(args) > len(self._fields):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._fields) or 'nothing'}")

    def __repr__(self):
        from .doc_printer import to_python_script

        return to_python_script(self)


class ExprDoc(Doc):
    """An expression."""

    def attr(self, name):
        """A field of it."""
        return AttrAccessDoc(self, name)

    def call(self, *args, **kwargs):
        """A call of it."""
        return CallDoc(self, *args, **kwargs)

    def __getitem__(self, indices):
        return IndexDoc(self, list(indices) if isinstance(indices, tuple) else [indices])

    def __iter__(self):
        raise RuntimeError(f"{self.__class__} cannot be used as iterable.")


class StmtDoc(Doc):
    """A statement, which may have a comment."""

    comment = None


class OperationKind(enum.IntEnum):
    """Operations, in the order of Python's `ast`; those between are ends of groups."""

    _UnaryStart, USub, Invert, Not, _UnaryEnd, _BinaryStart = range(6)
    Add, Sub, Mult, Div, FloorDiv, Mod, Pow, LShift, RShift, BitAnd, BitOr, BitXor = range(6, 18)
    Lt, LtE, Eq, NotEq, Gt, GtE, And, Or, MatMul, _BinaryEnd = range(18, 28)
    _SpecialStart, IfThenElse, _SpecialEnd = range(28, 31)


_KINDS = [
    ("IdDoc", ExprDoc, "name", "A name."),
    ("AttrAccessDoc", ExprDoc, "value name", "A field of a value."),
    ("IndexDoc", ExprDoc, "value indices", "An element of a value."),
    ("OperationDoc", ExprDoc, "kind operands", "An operation."),
    ("LambdaDoc", ExprDoc, "args body", "A function without a name."),
    ("TupleDoc", ExprDoc, "elements", "A tuple."),
    ("ListDoc", ExprDoc, "elements", "A list."),
    ("SliceDoc", Doc, "start stop step", "A range in an index."),
    ("StmtBlockDoc", Doc, "stmts", "Statements one after the other."),
    ("AssignDoc", StmtDoc, "lhs rhs annotation", "An assignment."),
    ("IfDoc", StmtDoc, "predicate then_branch else_branch", "A condition."),
    ("WhileDoc", StmtDoc, "predicate body", "A loop as long as a condition holds."),
    ("ForDoc", StmtDoc, "lhs rhs body", "A loop over values."),
    ("ScopeDoc", StmtDoc, "lhs rhs body", "A `with`."),
    ("ExprStmtDoc", StmtDoc, "expr", "An expression for its effect."),
    ("AssertDoc", StmtDoc, "test msg", "A check."),
    ("ReturnDoc", StmtDoc, "value", "The end of a function."),
    ("BreakDoc", StmtDoc, "", "The end of a loop."),
    ("ContinueDoc", StmtDoc, "", "The next iteration."),
    ("ClassDoc", StmtDoc, "name decorators body", "A class."),
    ("CommentDoc", StmtDoc, "comment", "A comment."),
    ("DocStringDoc", StmtDoc, "comment", "The documentation of a function."),
]
for _name, _base, _fields, _what in _KINDS:
    globals()[_name] = type(_name, (_base,), {"_fields": tuple(_fields.split()), "__doc__": _what})

IdDoc, AttrAccessDoc, IndexDoc, AssignDoc, IfDoc = (globals()[name] for name in "IdDoc AttrAccessDoc IndexDoc AssignDoc IfDoc".split())


def _check_assignment(self, lhs, rhs=None, annotation=None):
    if rhs is None and annotation is None:
        raise ValueError("At least one of rhs and annotation needs to be non-null for AssignDoc.")
    if annotation is not None and not isinstance(lhs, IdDoc):
        raise ValueError("annotation can only be nonnull if lhs is an identifier.")
    StmtDoc.__init__(self, lhs, rhs, annotation)


def _check_branches(self, predicate, then_branch, else_branch):
    if not then_branch and not else_branch:
        raise ValueError("At least one of the then branch or else branch needs to be non-empty.")
    StmtDoc.__init__(self, predicate, then_branch, else_branch)


AssignDoc.__init__, IfDoc.__init__ = _check_assignment, _check_branches


class LiteralDoc(ExprDoc):
    """A number, a text, a truth value or None."""

    def __init__(self, value, path=None):
        from ...tirx.expr import FloatImm, IntImm

        super().__init__()
        if value is not None and not isinstance(value, (str, float, int)):
            raise TypeError(f"Unsupported type {type(value)} for LiteralDoc")
        if isinstance(value, bool):
            value = IntImm("bool", value)
        elif isinstance(value, int):
            value = IntImm("int64", value)
        elif isinstance(value, float):
            value = FloatImm("float64", value)
        self.value = value
        if path is not None:
            self.source_paths.append(path)


class CallDoc(ExprDoc):
    """A call."""

    def __init__(self, callee, *args, **kwargs):
        super().__init__()
        self.callee, self.args = callee, Array(args)
        self.kwargs_keys, self.kwargs_values = Array(kwargs), Array(kwargs.values())


class DictDoc(ExprDoc):
    """A dictionary."""

    def __init__(self, content):
        super().__init__()
        self.keys, self.values = Array(content), Array(content.values())


class FunctionDoc(StmtDoc):
    """A function."""

    def __init__(self, name, args, decorators, return_type, body, type_params=None):
        super().__init__()
        self.name, self.args, self.decorators, self.return_type = name, Array(args), Array(decorators), return_type
        self.body, self.type_params = Array(body), Array(type_params or ())
