"""Questions about tensor programs."""

from ..ir.base import structural_equal


def expr_deep_equal(lhs, rhs):
    """True if two scalars are equal, variable by variable."""
    return structural_equal(lhs, rhs)


def undefined_vars(node, defs=()):
    """Variables that are used and not defined."""
    from ..ir.expr import Var
    from .functor import post_order_visit

    found = {}
    known = {id(var) for var in defs}
    post_order_visit(
        node,
        lambda item: (
            found.setdefault(id(item), item)
            if isinstance(item, Var) and id(item) not in known
            else None
        ),
    )
    return list(found.values())


def verify_well_formed(obj, assert_mode=True):
    """True if a tensor program is well formed."""
    from ..relax.analysis import _problems

    found = _problems(obj)
    if found and assert_mode:
        raise ValueError(found[0])
    return not found
