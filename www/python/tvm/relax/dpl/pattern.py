"""Patterns of programs. They are made here and matched by the engine, which gets them as numbers, parts first."""

from ... import _engine
from ..._codes import Dpl, PatternKind
from ..._node import ATTRS, EXPR, PRIM, TYPE, Object, get, number, numbers
from ..._values import Array, DictAttrs
from ...ir.base import Node
from ...ir.expr import Expr, Var
from ...ir.op import Op


class DFPattern(Node):
    """The base class of patterns."""

    _kind = "wildcard"

    def _items(self):
        """The parts of a pattern: patterns and numbers."""
        return []

    def __call__(self, *args, varg_default_wildcard=False, add_constraint=True):
        call = CallPattern(self, args, varg_default_wildcard)
        if add_constraint:
            for index, arg in enumerate(args):
                arg.used_by(call, index)
        return call

    def __or__(self, other):
        return OrPattern(self, other)

    def __and__(self, other):
        return AndPattern(self, other)

    def __invert__(self):
        return reject(self)

    def has_attr(self, attrs):
        """The same with attributes."""
        return AttrPattern(self, attrs)

    def has_ty(self, ty):
        """The same with a type."""
        return TypePattern(self, ty)

    has_struct_info = has_ty

    def has_dtype(self, dtype):
        """The same with an element type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape):
        """The same with a shape."""
        if not isinstance(shape, (list, tuple)):
            raise ValueError("has_shape takes a list or tuple as input.")
        return ShapePattern(self, shape)

    def match(self, expr, var2val=None):
        """True if an expression looks like it."""
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(self, expr, var2val=None):
        """The expression that each part of the pattern stands for, or None."""
        sent = Sent([self])
        bound = [part for pair in (var2val or {}).items() for part in pair]
        ids = numbers(EXPR, [expr, *bound])
        found = sent.do(Dpl.MATCH, [sent.at(self), *ids])
        return sent.matched(found[1:]) if found else None

    def used_by(self, other, index=-1):
        """Notes that what it stands for is used by what another one stands for."""
        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other, index=-1):
        """Notes that what it stands for is used by nothing else."""
        return PatternSeq([self]).only_used_by(other, index)

    __xor__ = used_by
    __rshift__ = only_used_by

    def dup(self):
        """Another pattern that looks the same and may stand for something else."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def fork_to(self, *args):
        """Notes that it is used by several."""
        for other in args:
            self.used_by(other)

    def same_shape_as(self, *args):
        """Notes that what it and others stand for has the same shape."""
        return SameShapeConstraint(self, *args)

    def __str__(self):
        fields = ", ".join(str(value) for key, value in self.__dict__.items() if not key.startswith("_"))
        return f"{type(self).__name__}({fields})"

    __repr__ = __str__


class DFConstraint(Node):
    """The base class of conditions over several patterns."""


class WildcardPattern(DFPattern):
    """Anything."""

    def __str__(self):
        return "*"


class ExprPattern(DFPattern):
    """An expression itself."""

    _kind = "expr"

    def __init__(self, expr):
        self.expr = expr

    def _items(self):
        return [number(EXPR, self.expr)]


def _name(text):
    from ...ir.module import name_id

    return name_id(text)


class VarPattern(DFPattern):
    """A variable, by name where one is given."""

    _kind = "var"

    def __init__(self, name_hint=""):
        self.name = name_hint

    name_hint = property(lambda self: self.name)

    def _items(self):
        return [_name(self.name)]


class DataflowVarPattern(VarPattern):
    """A variable of a dataflow block."""

    _kind = "dfv"


class GlobalVarPattern(VarPattern):
    """A function of the module."""

    _kind = "gv"


class ExternFuncPattern(DFPattern):
    """A function that is linked in."""

    _kind = "extern"

    def __init__(self, global_symbol=""):
        self.global_symbol = global_symbol

    def _items(self):
        return [_name(self.global_symbol)]


class ConstantPattern(DFPattern):
    """A constant."""

    _kind = "const"


class CallPattern(DFPattern):
    """A call."""

    _kind = "call"

    def __init__(self, op, args, varg_default_wildcard=False):
        self.op = op
        self.args = Array(args)
        self.varg_default_wildcard = varg_default_wildcard

    def _items(self):
        return [self.op, int(self.varg_default_wildcard), *self.args]


class FunctionPattern(DFPattern):
    """A function."""

    _kind = "function"

    def __init__(self, params, body):
        self.params, self.body = Array(params), body

    def _items(self):
        return [self.body, 0, *self.params]


class TuplePattern(DFPattern):
    """A tuple."""

    _kind = "tuple"

    def __init__(self, fields):
        self.fields = Array(fields)

    def __getitem__(self, index):
        if index is not None and index >= len(self):
            raise IndexError("TuplePattern index out of range")
        return TupleGetItemPattern(self, index)

    def __len__(self):
        return len(self.fields)

    def _items(self):
        return list(self.fields)


class UnorderedTuplePattern(DFPattern):
    """A tuple whose fields may stand in any order."""

    _kind = "unordered"

    def __init__(self, fields):
        self.fields = Array(fields)

    def __len__(self):
        return len(self.fields)

    def _items(self):
        return list(self.fields)


class TupleGetItemPattern(DFPattern):
    """A field of a tuple."""

    _kind = "item"

    def __init__(self, tuple_value, index=None):
        self.tuple = tuple_value
        self.index = -1 if index is None else index

    def _items(self):
        return [self.tuple, self.index + 1]


class OrPattern(DFPattern):
    """One of two."""

    _kind = "or"

    def __init__(self, left, right):
        self.left, self.right = left, right

    def _items(self):
        return [self.left, self.right]


class AndPattern(OrPattern):
    """Both of two."""

    _kind = "and"


class NotPattern(DFPattern):
    """Anything else."""

    _kind = "not"

    def __init__(self, to_reject):
        self.to_reject = to_reject

    def _items(self):
        return [self.to_reject]


class AttrPattern(DFPattern):
    """Something with attributes."""

    _kind = "attr"

    def __init__(self, pattern, attrs):
        self.pattern = pattern
        self.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(dict(attrs))

    def _items(self):
        return [self.pattern, number(ATTRS, self.attrs) + 1]


class TypePattern(DFPattern):
    """Something of a type."""

    _kind = "type"

    def __init__(self, pattern, ty):
        self.pattern, self.ty = pattern, ty

    def _items(self):
        return [self.pattern, number(TYPE, self.ty)]


class DataTypePattern(DFPattern):
    """Something of an element type."""

    _kind = "dtype"

    def __init__(self, pattern, dtype):
        self.pattern, self.dtype = pattern, dtype

    def _items(self):
        return [self.pattern, _name(str(self.dtype))]


def _extents(shape):
    from ..expr import dims_of
    from ...tirx.expr import IntImm

    words = []
    for value in dims_of(shape):
        if isinstance(value, IntImm):
            bits = value.value & 0xFFFFFFFFFFFFFFFF
            words += [value.dtype.bits << 8, bits & 0xFFFFFFFF, bits >> 32]
        elif isinstance(value, Var):
            number(PRIM, value)
            words += [2, value._y, 0]
        else:
            words += [3, number(PRIM, value), 0]
    return words


class ShapePattern(DFPattern):
    """Something of a shape."""

    _kind = "shape"

    def __init__(self, pattern, shape):
        self.pattern, self.shape = pattern, Array(shape)

    def _items(self):
        return [self.pattern, *(_Number(word) for word in _extents(self.shape))]


class _Number(int):
    pass


class PrimArrPattern(DFPattern):
    """A shape as a value."""

    _kind = "extents"

    def __init__(self, shape):
        self.fields = Array(shape)

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError("PrimArrPattern index out of range")
        return self.fields[index]

    def __len__(self):
        return len(self.fields)

    def _items(self):
        return _extents(self.fields)


class SameShapeConstraint(DFConstraint):
    """The same shape of several."""

    def __init__(self, *args):
        self.args = Array(args)
        from .context import PatternContext

        context = PatternContext.current()
        if context is not None:
            context._shapes.append(list(args))


class PatternSeq(Node):
    """Patterns in a row, each with what the next one is to it."""

    def __init__(self, patterns, only_use=False):
        self.patterns = list(patterns)
        self._edges = [(-1, only_use)] * (len(self.patterns) - 1)
        if len(self.patterns) > 1:
            for a, b in zip(self.patterns, self.patterns[1:]):
                _note(a, b, -1, only_use)

    def _join(self, other, index, only):
        after = other if isinstance(other, PatternSeq) else PatternSeq([other])
        _note(self.patterns[-1], after.patterns[0], index, only)
        made = PatternSeq([])
        made.patterns = [*self.patterns, *after.patterns]
        made._edges = [*self._edges, (index, only), *after._edges]
        return made

    def used_by(self, other, index=-1):
        """Goes on with what uses the last one."""
        return self._join(other, index, False)

    def only_used_by(self, other, index=-1):
        """Goes on with what alone uses the last one."""
        return self._join(other, index, True)

    __xor__ = used_by
    __rshift__ = only_used_by

    def __getitem__(self, index):
        return self.patterns[index]

    def dup(self):
        """Other patterns that look the same."""
        copies = [pattern.dup() for pattern in self.patterns]
        made = PatternSeq([copies[0]])
        for copy, (index, _) in zip(copies[1:], self._edges):
            made = made.only_used_by(copy, index)
        return made


def _note(producer, consumer, index, only):
    from .context import PatternContext

    context = PatternContext.current()
    if context is not None:
        context._edges.append((producer, consumer, index + 1, int(only)))


class Sent:
    """Patterns with all that they are made of, as the engine gets them."""

    def __init__(self, roots):
        self.list = []
        self._places = {}
        self._words = []
        stack = list(reversed(list(roots)))
        while stack:
            pattern = stack[-1]
            if id(pattern) in self._places:
                stack.pop()
                continue
            items = pattern._items()
            missing = [item for item in items if isinstance(item, DFPattern) and id(item) not in self._places]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._places[id(pattern)] = len(self.list)
            self.list.append(pattern)
            words = [self.at(item) if isinstance(item, DFPattern) else int(item) for item in items]
            self._words += [getattr(PatternKind, pattern._kind.upper()), len(words), *words]

    def at(self, pattern):
        """The place of a pattern."""
        return self._places[id(pattern)]

    def do(self, what, words, ask=None):
        """Asks the engine; `ask` is what it asks back."""
        from ...ir import transform

        transform._setup()
        _engine.dialect(True)
        key = transform.ask_key(ask) if ask is not None else None
        try:
            return _engine.call("user_dpl", what, _engine.words([len(self.list), *self._words, *words]), key)
        finally:
            if ask is not None:
                transform.forget_ask(key)

    def matched(self, words, step=2):
        """Patterns with what they stand for."""
        from ..._values import Map

        found = Map()
        for at in range(0, len(words), step):
            found[self.list[words[at]]] = get(EXPR, words[at + 1])
        return found

    def context(self, context):
        """The words of a context."""
        words = [len(context._edges)]
        for a, b, index, only in context._edges:
            words += [self.at(a), self.at(b), index, only]
        words.append(len(context._shapes))
        for group in context._shapes:
            words += [len(group), *(self.at(one) for one in group)]
        return words


def is_var(name=""):
    """A variable."""
    return VarPattern(name)


def is_gv(name=""):
    """A function of the module."""
    return GlobalVarPattern(name)


def is_dfv(name=""):
    """A variable of a dataflow block."""
    return DataflowVarPattern(name)


def is_const():
    """A constant."""
    return ConstantPattern()


def is_expr(expr):
    """An expression itself."""
    return ExprPattern(expr)


def is_op(op_name):
    """An operator."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields, unordered=False):
    """A tuple."""
    if not isinstance(fields, (list, tuple)):
        raise ValueError("fields must be a list, tuple, or Array")
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value, index=None):
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def wildcard():
    """Anything."""
    return WildcardPattern()


def has_dtype(dtype, pattern=None):
    """Something of an element type."""
    return (pattern or wildcard()).has_dtype(dtype)


def is_shape(shape):
    """A shape as a value."""
    if not isinstance(shape, (list, tuple)):
        raise ValueError("is_shape takes a list or tuple as input.")
    return PrimArrPattern(shape)


def _destination(name, callee, args):
    if args is None:
        args = wildcard()
    elif isinstance(args, (list, tuple)):
        args = TuplePattern(args)
    return is_op(name)(callee, args, add_constraint=False)


def is_call_tir(func_name, args=None):
    """A call of a tensor program."""
    return _destination("relax.call_tir", GlobalVarPattern(func_name), args)


def is_call_dps_packed(func_name, args=None):
    """A call of a function that is linked in and writes its results."""
    return _destination("relax.call_dps_packed", ExternFuncPattern(func_name), args)


def is_call_packed(func_name, args=None):
    """A call of a function that is linked in."""
    if args is None:
        return ExternFuncPattern(func_name)(varg_default_wildcard=True)
    return ExternFuncPattern(func_name)(*args)


def reject(pattern):
    """Anything else."""
    return NotPattern(pattern)


def has_attr(attrs, pattern=None):
    """Something with attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def make_fused_bias_activation_pattern(op_name, with_bias=False, activation=None, allow_reshape=False):
    """An operator over data and weight, perhaps with a bias and an activation behind it."""
    out = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        bias = wildcard()
        if allow_reshape:
            from_shape = is_op("relax.reshape")(bias, wildcard(), varg_default_wildcard=True)
            bias = bias | from_shape
        out = is_op("relax.add")(out, bias)
    return is_op(activation)(out) if activation is not None else out


_ = (Object, Expr)
