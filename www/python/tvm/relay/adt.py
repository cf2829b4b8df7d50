"""Type definitions, their constructors, and matches on values of them."""

import zlib

from .. import _engine
from .._codes import ClauseKind, ExprKind
from .._node import ADT, EXPR, PATTERN, TYPE, TYPEVAR, get, know, makers, name_of, row
from .._values import Array
from ..ir import expr as _ir
from ..ir.base import Node
from .expr import Call, RelayNode, Tuple, _load, as_expr, relay_maker
from .ty import FuncType, GlobalTypeVar, RelayType, TypeCall, TypeKind, TypeVar


class Constructor(RelayNode):
    """Makes values of a type definition."""

    def __init__(self, name_hint, inputs, belong_to):
        self.name_hint = str(name_hint)
        self.inputs = Array(inputs)
        self.belong_to = belong_to
        self.tag = -1

    def __call__(self, *args):
        return Call(self, args)

    def __eq__(self, other):
        return self is other or (
            isinstance(other, Constructor)
            and self.name_hint == other.name_hint
            and self.belong_to.name_hint == other.belong_to.name_hint
        )

    def __hash__(self):
        return hash(self.name_hint)

    def _direct_e(self):
        data = _definitions.get(self.belong_to.name_hint)
        if data is None or self not in data.constructors:
            raise ValueError(f"the constructor {self.name_hint} is not part of a type definition")
        data._direct_d()
        return self._e


class TypeData(RelayType):
    """A type definition: its name, parameters and constructors."""

    def __init__(self, header, type_vars, constructors):
        self.header = header
        self.type_vars = Array(type_vars)
        self.constructors = Array(constructors)
        for index, constructor in enumerate(self.constructors):
            constructor.tag = _tag(header.name_hint, index)
        _definitions[header.name_hint] = self

    def _direct_d(self):
        """Has the engine read the definition, and learns the numbers of its parts."""
        if self.__dict__.get("_d") is not None:
            return self._d
        _engine.dialect(False)
        words, _, found = _engine.call("table_parse", _VERSION + _text_of(self), _engine.words([0]), "", False)
        errors = [item[1] for item in found if item[0] == "error" and "ndefined" not in item[1]]
        count = words[4 + 2 * words[3]]
        if errors or not count:
            raise ValueError(errors[0] if errors else f"the type {self.header.name_hint} cannot be defined")
        at = 5 + 2 * words[3]
        number = next(
            words[at + 2 * i + 1]
            for i in range(count)
            if _module_name(words[at + 2 * i]) == self.header.name_hint
        )
        know(ADT, number, self)
        parts = row(ADT, number)
        end = 3 + parts[2]
        for var, index in zip(self.type_vars, parts[3:end]):
            know(TYPEVAR, index, var)
        for constructor, index in zip(self.constructors, parts[end:]):
            know(EXPR, index, constructor)
        return number


def _tag(name, index):
    """The number of a constructor in all modules: the highest byte is of the type's name, the rest is its place in the type."""
    prefix = zlib.crc32(name.encode()) & 0xFF or 1
    return (prefix - 256 if prefix > 127 else prefix) << 24 | index


_definitions = {}
_VERSION = '#[version = "0.0.5"]\n'


def _module_name(number):
    from ..ir.module import text_of

    return text_of(number)


def _text_of(data, seen=None):
    """The definition as a program, after those that it mentions."""
    seen = seen if seen is not None else set()
    seen.add(data.header.name_hint)
    before = []

    def text(ty):
        if isinstance(ty, TypeCall):
            return f"{text(ty.func)}[{', '.join(map(text, ty.args))}]"
        if isinstance(ty, GlobalTypeVar):
            other = _definitions.get(ty.name_hint)
            if other is not None and ty.name_hint not in seen:
                before.append(_text_of(other, seen))
            return ty.name_hint
        if isinstance(ty, TypeVar):
            return ty.name_hint
        if isinstance(ty, FuncType):
            return f"fn ({', '.join(map(text, ty.arg_types))}) -> {text(ty.ret_type)}"
        if hasattr(ty, "fields"):
            return f"({', '.join(map(text, ty.fields))}{',' if len(ty.fields) == 1 else ''})"
        return str(ty)

    params = f"[{', '.join(var.name_hint for var in data.type_vars)}]" if data.type_vars else ""
    rows = []
    for constructor in data.constructors:
        inputs = f"({', '.join(map(text, constructor.inputs))})" if constructor.inputs else ""
        rows.append(f"  {constructor.name_hint}{inputs},\n")
    return f"{''.join(before)}type {data.header.name_hint}{params} {{\n{''.join(rows)}}}\n"


def definition(name, number):
    """The variable and the definition that the engine has under a number."""
    data = get(ADT, number)
    return data.header, data


class Pattern(Node):
    """The base class of patterns of matches."""

    _is_relay = True

    def _parts_to_compare(self, _):
        return Match(Tuple(()), [Clause(self, Tuple(()))])


class PatternWildcard(Pattern):
    """Any value."""

    def _row_n(self, w):
        w.number(ClauseKind.WILDCARD)


class PatternVar(Pattern):
    """Any value, under a name."""

    def __init__(self, var):
        self.var = var

    def _row_n(self, w):
        w.number(ClauseKind.VAR)
        w.refer(EXPR, self.var)


class PatternConstructor(Pattern):
    """A value that a constructor made."""

    def __init__(self, constructor, patterns=None):
        self.constructor = constructor
        self.patterns = Array(patterns or ())

    def _row_n(self, w):
        w.number(ClauseKind.CTOR)
        w.refer(EXPR, self.constructor)
        for pattern in self.patterns:
            w.refer(PATTERN, pattern)


class PatternTuple(Pattern):
    """A tuple."""

    def __init__(self, patterns=None):
        self.patterns = Array(patterns or ())

    def _row_n(self, w):
        w.number(ClauseKind.TUPLE)
        for pattern in self.patterns:
            w.refer(PATTERN, pattern)


class Clause(Node):
    """An arm of a match."""

    def __init__(self, lhs, rhs):
        self.lhs = lhs
        self.rhs = as_expr(rhs)

    def _parts_to_compare(self, _):
        return Match(Tuple(()), [self])


class Match(RelayNode):
    """The arm of the first pattern that fits a value."""

    def __init__(self, data, clauses, complete=True):
        self.data = as_expr(data)
        self.clauses = Array(clauses)
        self.complete = bool(complete)

    def _row_e(self, w):
        _ir._head(w, ExprKind.MATCH, self)
        w.refer(EXPR, self.data)
        w.number(self.complete)
        for clause in self.clauses:
            w.refer(PATTERN, clause.lhs)
            w.refer(EXPR, clause.rhs)


def _make_definition(number, words):
    _engine.dialect(False)
    header = GlobalTypeVar(name_of(words[0]), TypeKind.AdtHandle)
    end = 3 + words[2]
    data = TypeData.__new__(TypeData)
    data.__dict__["_d"] = number
    data.header = header
    data.type_vars = Array(get(TYPEVAR, item) for item in words[3:end])
    data.constructors = Array(get(EXPR, item) for item in words[end:])
    for constructor in data.constructors:
        constructor.belong_to = header
    return data


def _make_constructor(number, words):
    made = Constructor.__new__(Constructor)
    made.__dict__["_e"] = number
    made.name_hint = name_of(words[2])
    made.belong_to = GlobalTypeVar(name_of(words[3]))
    made.tag = _tag(made.belong_to.name_hint, words[4])
    made.inputs = Array(get(TYPE, item) for item in words[5:])
    return made


def _make_pattern(number, words):
    match words[0]:
        case ClauseKind.WILDCARD:
            made = PatternWildcard()
        case ClauseKind.VAR:
            made = PatternVar(get(EXPR, words[1]))
        case ClauseKind.CTOR:
            made = PatternConstructor(get(EXPR, words[1]), [get(PATTERN, item) for item in words[2:]])
        case _:
            made = PatternTuple([get(PATTERN, item) for item in words[1:]])
    made.__dict__["_n"] = number
    return made


makers[ADT] = _make_definition
makers[PATTERN] = _make_pattern
_ir.relay_makers[ExprKind.CONSTRUCTOR] = _make_constructor
_ir.relay_makers[ExprKind.MATCH] = relay_maker(Match)
_ = _load
