"""Compilers behind TVM: none is here."""

from .._absent import Absent


def llvm_version_major(allow_none=False):
    """The version of a compiler that is not here, as a number below all that tests ask for."""
    return None if allow_none else 0


def __getattr__(name):
    if name.startswith("llvm_") or name in ("build_module", "target_has_features"):
        return Absent(f"tvm.target.codegen.{name}", "there is no compiler, and no processor that code is made for")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
