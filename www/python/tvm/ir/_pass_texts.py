"""Passes, contexts and their options as TVM 0.27 writes them."""

import json

_FUNCTION_PASSES = """AdjustMatmulOrder CombineParallelMatmul DecomposeOps EliminateCommonSubexpr ExpandMatmulOfSum FoldConstant
KillAfterLastUse LazyGetInput LazySetOutput LowerAllocTensor LowerRuntimeBuiltin Normalize RemovePurityChecking
ReorderPermuteDimsAfterConcat ReorderTakeAfterMatmul RewriteDataflowReshape ToMixedPrecision ToNonDataflow TopologicalSort""".split()
_MODULE_PASSES = """s_tir.ConvertSSA s_tir.InstrumentProfileIntrinsics s_tir.VerifyVTCMLimit tirx.AnnotateEntryFunc tirx.ConvertSSA
tirx.InlinePrivateFunctions tirx.MakePackedAPI tirx.SplitHostDevice tirx.VerifyMemory""".split()

_INTS = ("relax.FuseOps.max_depth", "s_tir.lwp_max_depth", "s_tir.lwp_min_height", "tirx.vtcm_capacity")
_TYPES = {"relax.fallback_device_type": "ir.IntImm", "tirx.add_lower_pass": "ffi.Array", **dict.fromkeys(_INTS, "int")}


def kind_of_pass(name, dialect):
    """The kind of a pass of the engine's, by its name."""
    if name.startswith(("tirx.", "s_tir.")) and name not in _MODULE_PASSES or name == "AnnotateTIROpPattern":
        return "tirx.PrimFuncPass"
    if dialect == "relax":
        return {"ConvertLayout": "relax.DataflowBlockPass"}.get(name, "relax.FunctionPass" if name in _FUNCTION_PASSES else "transform.ModulePass")
    return "relay.FunctionPass" if dialect == "relay" else "transform.ModulePass"


def written(value):
    """A value as it stands in such a text."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    return str(value)


def type_of_config(key, known):
    """The type of an option: `known` is that of TVM 0.19."""
    if not key.startswith(("relax.", "s_tir.", "testing.", "tirx.")):
        return known
    return _TYPES.get(key, "bool" if known == "IntImm" else known)


def checked_config(key, value, wanted):
    """The value of an option, if it can be one."""
    if value is None:
        raise AttributeError(f"Check failed: (value != nullptr) is false: {key} is None")
    fits = {"int": (bool, int), "bool": (bool, int), "ffi.Array": (list, tuple)}.get(wanted)
    if fits is not None and not isinstance(value, fits):
        names = {float: "float", str: "ffi.SmallStr" if isinstance(value, str) and len(value) < 8 else "ffi.Str", int: "int"}
        given = names.get(type(value), f"ir.{type(value).__name__}")
        raise AttributeError(f"Expect config {key} to have type {wanted}, but instead get {given}")
    return {"int": int, "bool": bool}.get(wanted, lambda item: item)(value)
