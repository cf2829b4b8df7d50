"""Patterns of expressions: what they look like, where they match, and what takes their place."""

from ..expr import RelayExpr as Expr
from ...ir.op import Op
from ._match import Matcher
from ._rewrite import partition_groups, rewrite_with

__all__ = [
    "AltPattern AttrPattern CallPattern ConstantPattern DFPattern DFPatternCallback DataTypePattern DominatorPattern "
    "ExprPattern FunctionPattern IfPattern LetPattern ShapePattern TupleGetItemPattern TuplePattern TypePattern "
    "VarPattern WildcardPattern dominates has_attr has_dtype has_shape has_type is_constant is_expr is_if is_let is_op "
    "is_tuple is_tuple_get_item is_var match partition rewrite wildcard"
][0].split()


class DFPattern:
    """The base class of patterns."""

    def __call__(self, *args):
        return CallPattern(self, list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args))

    def __or__(self, other):
        return AltPattern(self, other)

    def __add__(self, other):
        return is_op("add")(self, other)

    def __sub__(self, other):
        return is_op("subtract")(self, other)

    def __mul__(self, other):
        return is_op("multiply")(self, other)

    def __truediv__(self, other):
        return is_op("divide")(self, other)

    def has_attr(self, attrs):
        """The same, with these attributes."""
        return AttrPattern(self, attrs)

    def has_type(self, ttype):
        """The same, of this type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype):
        """The same, of this element type."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape):
        """The same, of this shape."""
        return ShapePattern(self, shape)

    def match(self, expr):
        """True if an expression looks like this."""
        return match(self, expr)

    def rewrite(self, expr):
        """Not for a pattern alone."""
        raise NotImplementedError("a pattern is rewritten by a DFPatternCallback")

    def dominates(self, parent, path=None):
        """The same, where everything that leads to it comes from another pattern."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def optional(self, option_constructor):
        """The same, or what is made of it."""
        return self | option_constructor(self)

    def partition(self, expr, attrs=None, check=lambda x: True):
        """The expression in which what looks like this is a function."""
        return partition(self, expr, attrs, check)

    def same_as(self, other):
        """True if it is the very same pattern."""
        return self is other

    def parts(self):
        """The patterns that it is made of."""
        return []


class ExprPattern(DFPattern):
    """An expression that is equal to this."""

    def __init__(self, expr):
        self.expr = expr


class VarPattern(DFPattern):
    """A variable."""

    def __init__(self, name_hint=""):
        self.name = name_hint


class ConstantPattern(DFPattern):
    """A constant."""


class WildcardPattern(DFPattern):
    """Anything."""

    def redirect_to(self, pat):
        """Says later what it looks like, so that patterns can be recursive."""
        self.pattern = pat


class CallPattern(DFPattern):
    """A call. `args` is None for any arguments."""

    def __init__(self, op, args):
        self.op = op
        self.args = args

    def parts(self):
        return [self.op, *(self.args or [])]


class FunctionPattern(DFPattern):
    """A function. `params` is None for any parameters."""

    def __init__(self, params, body):
        self.params = params
        self.body = body

    def parts(self):
        return [*(self.params or []), self.body]


class IfPattern(DFPattern):
    """A condition with two branches."""

    def __init__(self, cond, true_branch, false_branch):
        self.cond, self.true_branch, self.false_branch = cond, true_branch, false_branch

    def parts(self):
        return [self.cond, self.true_branch, self.false_branch]


class LetPattern(DFPattern):
    """A binding in an expression."""

    def __init__(self, var, value, body):
        self.var, self.value, self.body = var, value, body

    def parts(self):
        return [self.var, self.value, self.body]


class TuplePattern(DFPattern):
    """A tuple. `fields` is None for any fields."""

    def __init__(self, fields):
        self.fields = fields

    def parts(self):
        return list(self.fields or [])


class TupleGetItemPattern(DFPattern):
    """A field of a tuple; any when no index is given."""

    def __init__(self, tuple_value, index=None):
        self.tuple = tuple_value
        self.index = -1 if index is None else index

    def parts(self):
        return [self.tuple]


class AltPattern(DFPattern):
    """One of two patterns."""

    def __init__(self, left, right):
        self.left, self.right = left, right

    def parts(self):
        return [self.left, self.right]


class _Constrained(DFPattern):
    def __init__(self, pattern, value):
        self.pattern = pattern
        self.value = value

    def parts(self):
        return [self.pattern]


class AttrPattern(_Constrained):
    """A pattern with attributes."""

    attrs = property(lambda self: self.value)


class TypePattern(_Constrained):
    """A pattern of a type."""

    type = property(lambda self: self.value)


class DataTypePattern(_Constrained):
    """A pattern of an element type."""

    dtype = property(lambda self: self.value)


class ShapePattern(_Constrained):
    """A pattern of a shape."""

    shape = property(lambda self: self.value)


class DominatorPattern(DFPattern):
    """A child, all operands of which come along a path from a parent."""

    def __init__(self, parent, path, child):
        self.parent, self.path, self.child = parent, path, child

    def parts(self):
        return [self.parent, self.path, self.child]


def is_var(name=""):
    """A variable, of a name if one is given."""
    return VarPattern(name)


def is_constant():
    """A constant."""
    return ConstantPattern()


def is_expr(expr):
    """An expression that is equal to this."""
    return ExprPattern(expr)


def is_op(op_name):
    """An operator."""
    return ExprPattern(Op.get(op_name))


def is_tuple(fields):
    """A tuple of these fields."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value, index=None):
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond, true_branch, false_branch):
    """A condition with two branches."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var, value, body):
    """A binding in an expression."""
    return LetPattern(var, value, body)


def wildcard():
    """Anything."""
    return WildcardPattern()


def has_type(ttype, pattern=None):
    """Something of a type."""
    return TypePattern(pattern or wildcard(), ttype)


def has_dtype(dtype, pattern=None):
    """Something of an element type."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_shape(shape, pattern=None):
    """Something of a shape."""
    return ShapePattern(pattern or wildcard(), shape)


def has_attr(attrs, pattern=None):
    """Something with attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def dominates(parent, path, child):
    """A child, all operands of which come along a path from a parent."""
    return DominatorPattern(parent, path, child)


def match(pattern, expr):
    """True if an expression looks like a pattern."""
    expr = expr.astuple() if hasattr(expr, "astuple") else expr
    return Matcher(expr).match(pattern, expr) is not None


class DFPatternCallback:
    """A replacement of expressions that look like a pattern: a class of the user's says `pattern` and `callback`."""

    def __init__(self, require_type=False, rewrite_once=False):
        self.pattern = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr):
        """The expression with what looks like the pattern replaced."""
        return rewrite(self, expr)

    def callback(self, pre, post, node_map):
        """The replacement of a match, by the expression before, after its parts were rewritten, and what was matched."""
        raise NotImplementedError()


def rewrite(callbacks, expr, mod=None):
    """The expression with what looks like the patterns replaced, until nothing changes."""
    callbacks = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for callback in callbacks:
        if callback.pattern is None:
            raise ValueError("a DFPatternCallback needs a pattern")
    return rewrite_with(callbacks, expr, mod)


def partition(pattern, expr, attrs=None, check=lambda x: True):
    """The expression in which what looks like a pattern is a function that is called."""
    return partition_groups(pattern, expr, attrs or {}, check)


_ = Expr
