"""Rules of one's own."""

from ....ir.op import register_op_attr


def register_legalize(op_name, legal_func=None):
    """Registers the function that lowers an operator; without one, as a decorator."""
    return register_op_attr(op_name, "FLegalize", legal_func)
