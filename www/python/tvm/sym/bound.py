"""Bounds that conditions give."""

from ._ask import Question, set_of


def deduce_bound(var, cond, hint_map, relax_map):
    """The values of a variable for which a comparison holds."""
    return set_of(Question().prim(var, cond).domains(hint_map).domains(relax_map).ask("deduce_bound"))
