"""Natural numbers as values of a type definition."""

from ...ir.expr import Expr
from ..backend.interpreter import ConstructorValue


def count(prelude, n):
    """The number that a value or expression of `nat` is."""
    zero, succ = prelude.get_type("nat")[1:3]
    found = 0
    while True:
        constructor = n.op if isinstance(n, Expr) else n.constructor
        if constructor.name_hint == zero.name_hint:
            return found
        if constructor.name_hint != succ.name_hint:
            raise ValueError(f"{constructor} makes no natural number")
        n = n.args[0] if isinstance(n, Expr) else n.fields[0]
        found += 1


def get_type(prelude, name):
    """A definition with its constructors: `(variable, constructor, ...)`."""
    return prelude.get_type(name)


def make_nat_value(prelude, n):
    """A number as a value of `nat`."""
    _, zero, succ = prelude.get_type("nat")
    value = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        value = ConstructorValue(succ.tag, [value], succ)
    return value


def make_nat_expr(prelude, n):
    """A number as an expression of `nat`."""
    if n < 0:
        raise ValueError("a natural number is not negative")
    _, zero, succ = prelude.get_type("nat")
    expr = zero()
    for _ in range(n):
        expr = succ(expr)
    return expr
