"""Instructions of schedules: what they are about, and how Python writes them."""

import difflib
import json

from ..._node import Object
from ..._values import Array
from ...ir.expr import Expr, StringImm
from ..sblock_scope import StmtSRef


class RV(Object):
    """The result of an instruction: a block, a loop or a number."""

    letter = ""

    def __init_subclass__(cls, letter):
        cls.letter = letter

    def __init__(self, name="_"):
        self.name = name

    def __repr__(self):
        return f"s_tir.{type(self).__name__}"


class SBlockRV(RV, letter="b"):
    """A block."""


class LoopRV(RV, letter="l"):
    """A loop."""


class ExprRV(RV, letter="v"):
    """A number that was sampled."""


BlockRV = SBlockRV

_BLOCK, _LOOP, _BOTH = ["block"], ["loop"], ["block_or_loop"]
_TABLE = {
    "GetSBlock": ("get_sblock", [], ["name", "func_name"]),
    "GetLoops": ("get_loops", _BLOCK, []),
    "GetChildBlocks": ("get_child_blocks", [None], []),
    "GetProducers": ("get_producers", _BLOCK, []),
    "GetConsumers": ("get_consumers", _BLOCK, []),
    "GetOutputBlocks": ("get_output_blocks", ["scope_block"], []),
    "SampleCategorical": ("sample_categorical", [], ["candidates", "probs"]),
    "SamplePerfectTile": ("sample_perfect_tile", _LOOP, ["n", "max_innermost_factor"]),
    "SamplePartitionedTile": ("sample_partitioned_tile", _LOOP, ["n", "partition_pos", "innerpart_factor"]),
    "SampleComputeLocation": ("sample_compute_location", _BLOCK, []),
    "Fuse": ("fuse", ["*"], ["preserve_unit_iters"]),
    "Merge": ("merge", ["*"], []),
    "Split": ("split", ["loop", "*factors"], ["preserve_unit_iters", "disable_predication"]),
    "LoopPartition": ("loop_partition", ["loop", "*factors"], ["preserve_unit_iters"]),
    "Reorder": ("reorder", ["*"], []),
    "ReorderBlockIterVar": ("reorder_block_iter_var", ["block", "new_order"], []),
    "AddUnitLoop": ("add_unit_loop", _BOTH, []),
    "Parallel": ("parallel", _LOOP, []),
    "Vectorize": ("vectorize", _LOOP, []),
    "Unroll": ("unroll", _LOOP, []),
    "Bind": ("bind", _LOOP, ["thread_axis"]),
    "CacheRead": ("cache_read", ["block", "*consumer_blocks"], ["read_buffer_index", "storage_scope"]),
    "CacheWrite": ("cache_write", ["block", "*consumer_blocks"], ["write_buffer_index", "storage_scope"]),
    "ReindexCacheRead": ("reindex_cache_read", _BLOCK, ["index_map", "read_buffer_index", "storage_scope"]),
    "ReindexCacheWrite": ("reindex_cache_write", _BLOCK, ["index_map", "write_buffer_index", "storage_scope"]),
    "ReIndex": ("reindex", _BLOCK, ["buffer"]),
    "ComputeAt": ("compute_at", ["block", "loop"], ["preserve_unit_loops", "index"]),
    "ReverseComputeAt": ("reverse_compute_at", ["block", "loop"], ["preserve_unit_loops", "index"]),
    "ComputeInline": ("compute_inline", _BLOCK, []),
    "ReverseComputeInline": ("reverse_compute_inline", _BLOCK, []),
    "FuseReductionEpilogue": ("fuse_reduction_epilogue", ["reduction_block", "epilogue_block"], []),
    "DecomposeReduction": ("decompose_reduction", ["block", "loop"], []),
    "RFactor": ("rfactor", _LOOP, ["factor_axis"]),
    "StorageAlign": ("storage_align", _BLOCK, ["buffer_index", "axis", "factor", "offset"]),
    "SetScope": ("set_scope", _BLOCK, ["buffer_index", "storage_scope"]),
    "UnsafeSetDType": ("unsafe_set_dtype", _BLOCK, ["buffer_index", "dtype"]),
    "Blockize": ("blockize", ["target"], ["preserve_unit_iters"]),
    "Tensorize": ("tensorize", _BOTH, ["tensor_intrin", "preserve_unit_iters"]),
    "Annotate": ("annotate", ["block_or_loop", "ann_val"], ["ann_key"]),
    "Unannotate": ("unannotate", _BOTH, ["ann_key"]),
    "TransformLayout": ("transform_layout", _BLOCK, ["buffer", "index_map", "pad_value", "assume_injective_transform"]),
    "TransformBlockLayout": ("transform_block_layout", _BLOCK, ["index_map"]),
    "SetAxisSeparator": ("set_axis_separator", _BLOCK, ["buffer", "axis_separators"]),
    "DecomposePadding": ("decompose_padding", ["block", "loop"], []),
    "PadEinsum": ("pad_einsum", _BLOCK, ["padding"]),
    "RollingBuffer": ("rolling_buffer", _BLOCK, ["write_buffer_index"]),
    "CacheInplace": ("cache_inplace", _BLOCK, ["read_buffer_index", "storage_scope"]),
    "CacheIndex": ("cache_index", _BLOCK, ["storage_scope", "cse_thresh"]),
    "ReadAt": ("read_at", ["loop", "block"], ["read_buffer_index", "storage_scope"]),
    "WriteAt": ("write_at", ["loop", "block"], ["write_buffer_index", "storage_scope"]),
    "AnnotateBufferAccess": ("annotate_buffer_access", _BLOCK, ["buffer_index", "buf_type", "gen_new_ranges"]),
    "UnsafeHideBufferAccess": ("unsafe_hide_buffer_access", _BLOCK, ["buf_type", "buf_index_array"]),
    "EnterPostproc": ("enter_postproc", [], []),
    "WorkOn": ("work_on", [], ["func_name"]),
}
"""Kinds by name: the method, its inputs and its attributes. An input without a name stands at its place; `*` takes the rest."""

_LISTS = {
    "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks", "split", "loop_partition",
    "sample_perfect_tile", "sample_partitioned_tile", "cache_inplace", "cache_index",
}  # fmt: skip
"""Methods that give a list, also of one."""


class InstructionKind(Object):
    """A kind of instruction."""

    def __init__(self, name, method, inputs, attrs):
        self.name, self.method, self.input_names, self.attr_names = name, method, inputs, attrs
        self.is_pure = name.startswith(("Get", "Sample"))

    @staticmethod
    def get(name):
        """The kind of a name."""
        found = KINDS.get(name)
        if found is None:
            near = difflib.get_close_matches(name, KINDS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise KeyError(f"The registered kind {name} does not exist{hint}")
        return found

    def __repr__(self):
        return self.name


KINDS = {name: InstructionKind(name, *row) for name, row in _TABLE.items()}
_BY_METHOD = {kind.method: kind for kind in KINDS.values()}


class Instruction(Object):
    """An instruction with what it is about and what it gives."""

    def __init__(self, kind, inputs, attrs, outputs):
        self.kind = kind
        self.inputs, self.attrs, self.outputs = Array(inputs), Array(attrs), Array(outputs)

    @staticmethod
    def of_call(method, args, kwargs, outputs):
        """The instruction that a call of a method is."""
        kind, left = _BY_METHOD[method], list(args)
        inputs = []
        for name in kind.input_names:
            if name is None:
                inputs.append(left.pop(0))
            elif name == "*":
                inputs.extend(left)
                left = []
            elif name.startswith("*"):
                inputs.extend(kwargs.pop(name[1:], None) or [])
            else:
                inputs.append(kwargs.pop(name))
        return Instruction(kind, inputs, [kwargs.pop(name, None) for name in kind.attr_names], outputs)

    def call(self):
        """Arguments without and with names, as the method takes them."""
        args, kwargs, left = [], {}, list(self.inputs)
        for name in self.kind.input_names:
            if name is None:
                args.append(left.pop(0))
            elif name.startswith("*"):
                if len(name) == 1:
                    args.extend(left)
                elif left or name == "*factors":
                    kwargs[name[1:]] = left
                left = []
            else:
                kwargs[name] = left.pop(0)
        order = {"ann_key": 1, "ann_val": 2}
        kwargs.update(zip(self.kind.attr_names, self.attrs))
        kwargs = {name: value for name, value in kwargs.items() if value is not None or name == "pad_value"}
        if "consumer_blocks" in kwargs:
            kwargs["consumer_blocks"] = kwargs.pop("consumer_blocks")
        if self.kind.name.startswith("ReindexCache"):
            kwargs["index_map"] = kwargs.pop("index_map")
        if self.kind.name == "Annotate":
            kwargs = dict(sorted(kwargs.items(), key=lambda item: order.get(item[0], 0)))
        return args, kwargs

    def text(self, names, decision=None):
        """The line of a trace; `names` gives each result its name."""
        args, kwargs = self.call()
        if decision is not None:
            kwargs["decision"] = decision
        if "scope_block" in kwargs:
            kwargs["block"] = kwargs.pop("scope_block")
        shown = [text(arg, names) for arg in args]
        shown += [f"{name}={text(value, names)}" for name, value in kwargs.items() if value is not None or name == "pad_value"]
        call = f"sch.{self.kind.method}({', '.join(shown)})"
        if not self.outputs:
            return call
        outputs = [names(item) for item in self.outputs]
        comma = "," if len(outputs) == 1 and self.kind.method in _LISTS else ""
        return f"{', '.join(outputs)}{comma} = {call}"

    def __str__(self):
        return self.text(lambda item: "_")

    __repr__ = __str__


def text(value, names):
    """A value as a trace writes it."""
    from ...tirx.function import IndexMap

    if isinstance(value, (RV, StmtSRef)):
        return names(value)
    if isinstance(value, IndexMap):
        value = value._distinct()
        params = ", ".join(var.name for var in value.initial_indices)
        mapped = ", ".join(_mapped(item) for item in value.final_indices)
        pairs = any(isinstance(item, list) for item in value.final_indices)
        return f"lambda {params}: [{mapped}]" if pairs else f"lambda {params}: ({mapped},)"
    if isinstance(value, tuple) or isinstance(value, list):
        inner = ", ".join(text(item, names) for item in value)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(key, names)}: {text(item, names)}" for key, item in value.items()) + "}"
    if isinstance(value, (str, StringImm)):
        return json.dumps(str(getattr(value, "value", value)), ensure_ascii=False)
    if isinstance(value, Expr) and not hasattr(value, "value"):
        return names(value) if type(value).__name__ == "Var" else _scalar(value)
    if hasattr(value, "name") and hasattr(value, "shape"):
        return json.dumps(value.name)
    if getattr(value, "dtype", None) == "bool":
        return str(bool(value))
    value = getattr(value, "value", value)
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return repr(value)


def _mapped(item):
    """A mapped index; of a region a pair."""
    return f"({', '.join(_scalar(part) for part in item)})" if isinstance(item, list) else _scalar(item)


def _scalar(value, least=0):
    """A scalar as Python writes it, in brackets if it binds less than this."""
    from ...ir.expr import Var
    from ...tirx import expr as scalar

    if isinstance(value, Var):
        return value.name
    if isinstance(value, scalar.IntImm):
        return str(value.value)
    signs = {"Add": ("+", 1), "Sub": ("-", 1), "Mul": ("*", 2), "FloorDiv": ("//", 2), "FloorMod": ("%", 2)}
    if type(value).__name__ not in signs:
        return str(value)
    sign, binds = signs[type(value).__name__]
    made = f"{_scalar(value.a, binds)} {sign} {_scalar(value.b, binds + 1)}"
    return f"({made})" if binds < least else made
