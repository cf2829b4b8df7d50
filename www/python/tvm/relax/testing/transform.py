"""Passes for tests."""

from ...ir.transform import PassInfo, PyModulePass


def ApplyEmptyCppMutator():
    """A pass that changes nothing."""
    return PyModulePass(lambda mod, ctx: mod, PassInfo(0, "ApplyEmptyCppMutator"))
