"""Compilers behind TVM: none is here."""


def llvm_version_major(allow_none=False):
    """The version of a compiler that is not here, as a number below all that tests ask for."""
    return None if allow_none else 0
