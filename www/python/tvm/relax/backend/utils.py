"""What checks of patterns ask."""

from ..expr import DataflowVar


def has_leaking_intermediate_variables(context):
    """True if a part of a match that is not its result is used outside of the match."""
    inner = set(context.matched_bindings) - {context.value_to_bound_var[context.matched_expr]}
    return any(not isinstance(var, DataflowVar) or any(user not in context.matched_bindings for user in context.var_usages[var]) for var in inner)
