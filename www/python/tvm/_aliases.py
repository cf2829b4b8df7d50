"""Modules under names that they had in other versions, and modules whose names stand in others here."""

import importlib
import importlib.machinery
import sys
import types

from ._absent import DEVICE, KERNELS, SCHEDULES, Absent

_PARTS = {
    "ir.prim": "expr",
    "relax.analysis": "analysis",
    "relax.op": "binary create datatype index linear_algebra manipulate mask qdq sampling search set sorting statistical ternary unary",
    "relax.op.builtin": "builtin",
    "relax.op.ccl": "ccl",
    "relax.op.distributed": "distributed",
    "relax.op.grad": "grad",
    "relax.op.image": "image",
    "relax.op.memory": "memory view",
    "relax.op.nn": "nn",
    "relax.op.vision": "multibox_transform_loc nms roi_align roi_pool",
    "relax.op.vm": "vm",
    "relax.transform": "fast_math fold_batch_norm_to_conv2d_for_inference fuse_transpose_matmul lazy_transform_params "
    "lower_gpu_ipc_alloc_storage optimize_layout_transform remove_redundant_reshape",
    "runtime": "executable module object_generic",
    "s_tir": "sblock_dependence_info stmt",
    "script.ir_builder.ir": "frame ir",
    "target": "tag tag_registry target",
    "target.tag_registry": "arm_cpu aws_cpu registry riscv_cpu",
    "tirx.analysis": "analysis",
    "tirx.transform": "function_pass",
}
"""Modules of TVM, below the one here that has their names."""

_ELSEWHERE = {
    "ir.prim.op": "tirx.op",
    "relax.analysis.estimate_memory_usage": "relax.analysis.memory",
    "relax.backend.cpu_generic": "relax.pipeline",
    "relax.backend.gpu_generic": "relax.pipeline",
    "relax.script.builder": "script.ir_builder.relax",
    "relax.script.builder.distributed": "script.ir_builder.relax",
    "relax.script.builder.distributed.ir": "script.ir_builder.relax",
    "relax.script.builder.frame": "script.ir_builder.relax",
    "relax.script.builder.ir": "script.ir_builder.relax",
    "relax.script.parser.dist": "script.relax",
    "relax.script.parser.entry": "script.relax",
    "script.ir_builder.relax.frame": "script.ir_builder.relax",
    "script.ir_builder.relax.ir": "script.ir_builder.relax",
    "script.ir_builder.tirx.frame": "script.ir_builder.tirx",
    "script.ir_builder.tirx.ir": "script.ir_builder.tirx",
    "script.parser.core": "script.parser",
    "script.parser.core.diagnostics": "script._diagnostics",
    "script.parser.core.doc": "ast",
    "script.parser.core.doc_core": "ast",
    "script.parser.core.entry": "script.parser",
    "script.parser.core.evaluator": "script._evaluator",
    "script.parser.core.utils": "script.parser",
    "script.parser.ir.entry": "script.ir",
    "script.parser.relax.entry": "script.relax",
    "script.parser.tirx.entry": "script.tirx",
    "tirx.build": "tirx",
    "tirx.script.builder": "script.ir_builder.tirx",
    "tirx.script.builder.frame": "script.ir_builder.tirx",
    "tirx.script.builder.ir": "script.ir_builder.tirx",
    "tirx.script.parser.entry": "script.tirx",
    "tirx.type": "tirx",
}
"""Modules of TVM, and the one here that has their names."""

_OF_RELAY = {
    "ir._ffi_api": "ir",
    "ir.adt": "relay.adt",
    "ir.container": "ir",
    "ir.tensor_type": "relay.ty",
    "ir.type_relation": "relay.ty",
    "relay._build_module": "relay.build_module",
    "relay._ffi_api": "relay",
    "relay._make": "relay.expr",
    "relay.analysis._ffi_api": "relay.analysis",
    "relay.analysis.analysis": "relay.analysis",
    "relay.analysis.count_layers": "relay.analysis",
    "relay.analysis.feature": "relay.analysis",
    "relay.backend.executor": "relay.backend.runtime",
    "relay.op.algorithm": "relay.op",
    "relay.op.memory.memory": "relay.op.memory",
    "relay.op.random.kernel": "relay.op.random",
    "relay.op.vision.multibox": "relay.op.vision",
    "relay.op.vision.nms": "relay.op.vision",
    "relay.op.vision.rcnn": "relay.op.vision",
    "relay.op.vision.yolo": "relay.op.vision",
    "relay.op.vm.vm": "relay.op.vm",
    "relay.quantize.quantize": "relay.quantize",
    "relay.transform._ffi_api": "relay.transform",
    "relay.transform.transform": "relay.transform",
    "runtime.object": "runtime",
    "runtime.packed_func": "runtime.registry",
    "target.compilation_config": "target",
    "target.virtual_device": "target",
}
"""Modules of TVM 0.19, and the one here that has their names."""

_MOVED = {
    "dlight": ["s_tir.dlight"],
    "relax.vm": ["runtime.vm"],
    "script.ir_builder.tir": ["script.ir_builder.tirx"],
    "script.parser.tir": ["script.parser.tirx"],
    "tir.block_scope": ["s_tir.sblock_scope"],
    "tir": ["tirx", "s_tir"],
}
"""Packages of other versions of TVM, and the ones here that have their modules."""

_ALONE = "there is one process and one device"
_COMPILED = "programs are evaluated, and no code is made of them"
_FRAMEWORK = "models of another framework are read by that framework, which a page has not"
_LIBRARY = "the engine is part of the page and no library in a file"
_MACHINE = "it is for a machine or a library of one, which a page has not"
_READ = "the engine reads programs"
_RELAY = "programs of Relay are not made ones of Relax here"
_RULES = "the engine has the rules by which operators are lowered"
_TUNING = "tuning measures programs on machines"

_REASONS = {
    "base": _LIBRARY,
    "driver.tvmc": _COMPILED,
    "libinfo": _LIBRARY,
    "relax.base_py_module": "a module of functions of Python needs PyTorch",
    "relax.script.parser.parser": _READ,
    "relax.testing.lib_comparator": _COMPILED,
    "relax.testing.relay_translator": _RELAY,
    "relax.transform.attach_external_modules": _COMPILED,
    "relax.transform.ipc_allreduce_rewrite": _ALONE,
    "relax.transform.legalize_ops.adreno": _RULES,
    "relax.transform.legalize_ops.adreno.convolution": _RULES,
    **{
        f"relax.transform.legalize_ops.{name}": _RULES
        for name in "binary ccl create datatype distributed grad image index inspect_op linear_algebra manipulate nn qdq search statistical unary vision".split()
    },
    "relay.frontend": _FRAMEWORK,
    "runtime.disco": _ALONE,
    "s_tir.backend": DEVICE,
    "script.parser.core.dispatch": _READ,
    "script.parser.core.doc": _READ,
    "script.parser.core.entry": _READ,
    "script.parser.core.error": _READ,
    "script.parser.core.parser": _READ,
    "script.parser.core.utils": _READ,
    "script.parser.ir.parser": _READ,
    "target.intrin": _COMPILED,
    "te.hybrid": SCHEDULES,
    "tirx.backend": DEVICE,
    "tirx.build": _COMPILED,
    "tirx.exec_context": DEVICE,
    "tirx.exec_scope": DEVICE,
    "tirx.lang": DEVICE,
    "tirx.layout": DEVICE,
    "tirx.script.parser.parser": _READ,
    "tirx.tile_primitive": DEVICE,
    "tirx.transform.common": DEVICE,
    "tirx.type": DEVICE,
}
"""Modules of TVM of which all names, or those that the other module has not, are not here, and the reason."""


_BELOW = {
    **dict.fromkeys(("auto_scheduler", "autotvm", "meta_schedule", "s_tir.meta_schedule"), _TUNING),
    **dict.fromkeys(("backend", "contrib", "exec", "micro", "relax.backend"), _MACHINE),
    **dict.fromkeys(("relax.distributed", "runtime.disco"), _ALONE),
    **dict.fromkeys(("s_tir.backend", "tirx.backend", "tirx.lang", "tirx.operator"), DEVICE),
    **dict.fromkeys(("relax.frontend", "relay.frontend"), _FRAMEWORK),
    "relax.frontend.nn": KERNELS,
    **dict.fromkeys(("driver", "runtime.executor", "runtime.profiler_vm", "support", "utils"), _COMPILED),
    **dict.fromkeys(("te", "topi"), SCHEDULES),
    **dict.fromkeys(("relax.transform.tuning_api",), _TUNING),
    **dict.fromkeys(("relay.backend", "relay.collage", "relay.op", "relay.qnn"), _COMPILED),
    **dict.fromkeys(("relay.analysis", "relay.quantize", "relay.transform"), "the engine has its rules"),
    "relay.testing": "it needs another framework, or files that are downloaded",
}
"""Packages of TVM in which some modules are not here, and the reason."""


class _Elsewhere(types.ModuleType):
    """A module whose names stand in another one, which is read when a name is asked for."""

    def __init__(self, name, place, reason):
        super().__init__(name)
        self.__dict__.update(_place=place, _reason=reason)
        if place is None:
            self.__path__ = []

    def __getattr__(self, name):
        if name == "__all__":
            return [] if self._place is None else [item for item in vars(importlib.import_module(self._place)) if not item.startswith("_")]
        if not name.startswith("__") and self._place is not None:
            place = importlib.import_module(self._place)
            # Modules that make words of any name know only their own ones.
            if name in vars(place) or self._reason is None:
                return getattr(place, name)
        if name.startswith("__") or self._reason is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return Absent(f"{self.__name__}.{name}", self._reason)

    def __dir__(self):
        return sorted({*super().__dir__(), *self.__all__})


class _Moved:
    """Finds modules of other versions of TVM where they are now."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The way to the module that is here, if there is one."""
        for old, places in _MOVED.items():
            head = f"tvm.{old}"
            for place in places if name == head or name.startswith(f"{head}.") else ():
                try:
                    module = importlib.import_module(f"tvm.{place}{name[len(head) :]}")
                except ModuleNotFoundError:
                    continue
                return importlib.machinery.ModuleSpec(name, _Moved, loader_state=(module, module.__spec__))
        return None

    @staticmethod
    def create_module(spec):
        """The module that is here."""
        return spec.loader_state[0]

    @staticmethod
    def exec_module(module):
        """Leaves to the module what the import wrote into it."""
        module.__spec__ = module.__spec__.loader_state[1]


class _Below:
    """Finds the modules that are not here: they can be imported, and say so when something of them is used."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The way to make a module, if no other finder knows it."""
        return None if _reason_below(name) is None else importlib.machinery.ModuleSpec(name, _Below, is_package=True)

    @staticmethod
    def create_module(spec):
        """The module, without names."""
        return _Elsewhere(spec.name, None, _reason_below(spec.name))

    @staticmethod
    def exec_module(module):
        """A module without names has nothing to run."""


def _reason_below(name):
    """The reason for which a module is not here; None where there is none."""
    head, _, name = name.partition(".")
    while head == "tvm" and name:
        if name in _BELOW:
            return _BELOW[name]
        name = name.rpartition(".")[0]
    return None


def _put(name, module):
    """A module under a name; what its parent has under that name already stays."""
    sys.modules[name] = module
    parent, _, tail = name.rpartition(".")
    parent = sys.modules.get(parent) or importlib.import_module(parent)
    # A module that stands for a package of TVM's is one.
    vars(parent).setdefault("__path__", [])
    if tail not in vars(parent):
        setattr(parent, tail, module)


def install():
    """Adds the names."""
    import tvm

    tvm.tir = tvm.tirx
    tvm.arith = tvm.sym
    names = {
        "tir": tvm.tirx,
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
        "relax.script": tvm.script.relax,
        "relax.script.parser": tvm.script.relax,
        "script.parser.ir": tvm.script.ir,
        "script.parser.relax": tvm.script.relax,
        "script.parser.tirx": tvm.script.tirx,
        "tirx.script": tvm.script.tirx,
        "tirx.script.parser": tvm.script.tirx,
        "_ffi": tvm.runtime.registry,
        "_ffi.base": tvm.error,
        "ffi": importlib.import_module("tvm_ffi"),
        "_ffi.registry": tvm.runtime.registry,
        "_ffi.runtime_ctypes": tvm.runtime,
    }
    tvm.driver.__path__ = []
    tvm._ffi = tvm.runtime.registry
    tvm._ffi.base = tvm.error
    for name, module in names.items():
        _put(f"tvm.{name}", module)
    places = {f"{place}.{part}": place for place, parts in _PARTS.items() for part in parts.split()} | _ELSEWHERE | _OF_RELAY
    for name in sorted({*places, *_REASONS}):
        place = places.get(name)
        full = f"tvm.{name}"
        if full not in sys.modules:
            _put(full, _Elsewhere(full, place if place in (None, "ast") else f"tvm.{place}", _REASONS.get(name)))
    # The page reads the package anew for each run.
    others = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") not in ("_Below", "_Moved")]
    sys.meta_path[:] = [_Moved, *others, _Below]
    tvm.dlight = tvm.s_tir.dlight
    tvm.script.ir_builder.tir = tvm.script.ir_builder.tirx
