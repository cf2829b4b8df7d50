"""Modules under the names that they had in other versions."""

import sys


def install():
    """Adds the names."""
    import tvm

    tvm.tir = tvm.tirx
    tvm.arith = tvm.sym
    names = {
        "tir": tvm.tirx,
        "tir.transform": tvm.tirx.transform,
        "tir.stmt_functor": tvm.tirx.stmt_functor,
        "tir.analysis": tvm.tirx.analysis,
        "tir.function": tvm.tirx.function,
        "tir.expr": tvm.tirx.expr,
        "tir.op": tvm.tirx.op,
        "arith": tvm.sym,
        "tirx.transform.transform": tvm.tirx.transform,
        "s_tir.transform.transform": tvm.s_tir.transform,
        "s_tir.analysis.analysis": tvm.s_tir.analysis,
        "transform": tvm.ir.transform,
        "instrument": tvm.ir.instrument,
        "nd": tvm.nd,
        "runtime.ndarray": tvm.nd,
        "relax.op.base": tvm.relax.op,
        "ir.structural_equal": tvm.ir.base,
        "parser": tvm.script.parser,
        "_ffi": tvm.runtime.registry,
        "_ffi.base": tvm.error,
    }
    tvm._ffi = tvm.runtime.registry
    tvm._ffi.base = tvm.error
    for name, module in names.items():
        sys.modules[f"tvm.{name}"] = module
