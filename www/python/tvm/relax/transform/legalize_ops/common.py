"""Rules of one's own."""

import warnings

from ....ir.op import Op, register_op_attr


def register_legalize(op_name, legal_func=None):
    """Registers how an operator is lowered. The engine's LegalizeOps has rules of its own and does not ask for these."""
    Op.get(op_name)
    warnings.warn(f"LegalizeOps has rules of its own and does not ask for the one of {op_name}", stacklevel=2)
    return register_op_attr(op_name, "FLegalize", legal_func)
