"""Passes for tests, and what is known of a dataflow block before calls write over their arguments."""

from ...ir.transform import PassInfo, PyModulePass


def ApplyEmptyCppMutator():
    """A pass that changes nothing, but brings calls into normal form."""

    def apply(mod, ctx):
        from ..transform import Normalize

        return Normalize()(mod)

    return PyModulePass(apply, PassInfo(0, "ApplyEmptyCppMutator"))


def dataflow_liveness_analysis(block):
    """For each variable the binding that defines it, -1 for one from outside, and the last one that needs it."""
    from ._inplace import liveness

    return liveness(block)


def dataflow_alias_analysis(block, inputs):
    """Pieces of memory that each variable may be, and those that the fields of each tuple may be."""
    from ._inplace import Aliases

    found = Aliases(block, inputs)
    return found.of, found.fields


def dataflow_inplace_analysis(block, inputs, mod):
    """Bindings with the arguments that they may write over: those with enough memory, and those of the very same shape."""
    from ._inplace import opportunities

    return opportunities(block, inputs)


def dataflow_single_inplace_call(mod, call, inplace_indices):
    """A call that writes over arguments in the place of a call of an operator, and the module with its tensor program."""
    from ._inplace import single_call

    return single_call(mod, call, inplace_indices)


def __getattr__(name):
    if name != "InplaceOpportunity":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._inplace import InplaceOpportunity

    return InplaceOpportunity
