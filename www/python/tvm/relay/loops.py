"""Loops, as functions that call themselves."""

from .expr import Function, Let, Tuple, Var, var
from .scope_builder import ScopeBuilder


def while_loop(cond, loop_vars, loop_bodies):
    """A function that computes new values for its variables while a condition holds, and then gives them as a tuple."""
    builder = ScopeBuilder()
    loop = Var("while_loop")
    own = []
    for at, given in enumerate(loop_vars):
        name = given.name_hint if isinstance(given, Var) else f"arg{at}"
        own.append(var(name, type_annotation=builder.type_of(given), span=given.span))
    with builder.if_scope(cond(*own)):
        builder.ret(loop(*loop_bodies(*own)))
    with builder.else_scope():
        builder.ret(Tuple(own))
    return Let(loop, Function(own, builder.get()), loop)
