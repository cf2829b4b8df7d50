"""Questions about tensor programs that can be scheduled."""

from collections import Counter

from .. import _engine
from .._node import BUFFER, EXPR, STMT, get, number, numbers
from .._values import Array, Map
from ..ir.expr import Range
from ..ir.module import IRModule
from ..sym import Analyzer
from ..tirx.expr import BufferLoad, IntImm, PrimCall
from ..tirx.functor import parts, post_order_visit
from ..tirx.stmt import AllocBuffer, BufferStore, For, IfThenElse, SBlock, SBlockRealize, _Reader


def _realized(block):
    """A block as a statement."""
    return block if isinstance(block, SBlockRealize) else SBlockRealize([0] * len(block.iter_vars), True, block)


def _regions(what, block, buffer_var_map, kinds):
    stmt = block if isinstance(block, SBlock) else _realized(block)
    buffers = list(buffer_var_map.values())
    words = _engine.words([number(STMT, stmt), *numbers(BUFFER, buffers)])
    reader = _Reader(_engine.call("table_programs", what, words), 0)
    return [Array(reader.region() for _ in range(reader.word())) for _ in range(kinds)]


def get_sblock_access_region(block, buffer_var_map):
    """The regions that a block reads, writes, and touches in ways that are not known."""
    return _regions("accesses", block, buffer_var_map, 3)


def get_sblock_read_write_region(block, buffer_var_map):
    """The regions that a block reads and writes; what is touched in unknown ways counts as both."""
    return _regions("reads_writes", block, buffer_var_map, 2)


def detect_buffer_access_lca(func):
    """The innermost loop or block around all accesses of each buffer; None where that is the function."""
    words = _engine.call("table_programs", "lca", _engine.words([number(EXPR, func)]))
    found = Map()
    for at in range(0, len(words), 2):
        stmt = get(STMT, words[at + 1] - 1) if words[at + 1] else None
        found[get(BUFFER, words[at])] = getattr(stmt, "block", stmt)
    return found


def touched_buffers(stmt):
    """Buffers that are read and that are written, each once."""
    reads, writes = {}, {}

    def visit(node):
        if isinstance(node, BufferLoad):
            reads.setdefault(id(node.buffer), node.buffer)
        elif isinstance(node, BufferStore):
            writes.setdefault(id(node.buffer), node.buffer)

    post_order_visit(stmt, visit)
    return list(reads.values()), list(writes.values())


def find_anchor_sblock(mod):
    """The block of a module with a reduction, or the last one where none has."""
    found = [None, None]

    def visit(node):
        if isinstance(node, SBlockRealize) and node.block.iter_vars:
            found[0 if node.block.init is not None else 1] = node.block

    for func in mod.functions.values():
        post_order_visit(func.body, visit)
    return found[0] or found[1]


def _functions(func_or_mod):
    if isinstance(func_or_mod, IRModule):
        return {var.name_hint: func for var, func in func_or_mod.functions.items() if hasattr(func, "body")}
    return {"main": func_or_mod}


def calculate_allocated_bytes(func_or_mod):
    """Bytes of memory by function and kind of memory, at most at the same time."""
    found = Map()
    for name, func in _functions(func_or_mod).items():
        found[name] = Map(_allocated(func.body))
    return found


def _bytes(buffer):
    size = (buffer.dtype.bits * buffer.dtype.lanes + 7) // 8
    for extent in buffer.shape:
        if not isinstance(extent, IntImm):
            return 0
        size *= extent.value
    return size


def _allocated(stmt):
    """Memory that is held at the same time: of a sequence all that it allocates and the most that one part needs besides."""
    total, most = {}, {}
    inner = parts(stmt)
    if isinstance(stmt, AllocBuffer):
        total[stmt.buffer.scope()] = _bytes(stmt.buffer)
    if isinstance(stmt, SBlock):
        for buffer in stmt.alloc_buffers:
            total[buffer.scope()] = total.get(buffer.scope(), 0) + _bytes(buffer)
    for part in inner:
        if hasattr(part, "_row_s") or hasattr(part, "_s"):
            found = _allocated(part)
            own = total if isinstance(part, AllocBuffer) else most
            for scope, size in found.items():
                own[scope] = own.get(scope, 0) + size if own is total else max(own.get(scope, 0), size)
    return {scope: total.get(scope, 0) + most.get(scope, 0) for scope in {**total, **most}}


def _reads_only(call):
    name = getattr(call.op, "name", "").removeprefix("tirx.")
    if name == "call_extern" or name.startswith(("tvm_call", "call_packed", "call_cpacked", "call_llvm_intrin")):
        return False
    return not name.startswith(("tvm_storage_sync", "ptx", "tvm_store", "tvm_fill", "tvm_mma", "tvm_load", "atomic"))


def is_pure_function(func, assert_on_error=False):
    """True if a function writes nothing but memory of its own and calls nothing that does."""
    own, why = set(), []

    def visit(node):
        if isinstance(node, AllocBuffer):
            own.add(id(node.buffer))
        elif isinstance(node, SBlock):
            own.update(id(buffer) for buffer in node.alloc_buffers)
        for part in parts(node):
            visit(part)
        if isinstance(node, BufferStore) and id(node.buffer) not in own:
            why.append(f"the function writes to its parameter {node.buffer.name}")
        if isinstance(node, PrimCall) and not _reads_only(node):
            why.append(f"the function calls {node}")

    visit(func.body)
    if why and assert_on_error:
        raise RuntimeError(f"The function is not pure: {why[0]}")
    return not why


def assert_pure_function(func):
    """Raises unless a function is pure."""
    return is_pure_function(func, True)


def verify_well_formed(obj, assert_mode=True):
    """True if a tensor program is well formed."""
    from ..tirx.analysis import verify_well_formed as verify

    return verify(obj, assert_mode)


def OOBChecker():
    """A pass that raises where an element outside of a buffer is surely read or written."""
    from ..ir.transform import PassInfo
    from ..tirx.transform import PyPrimFuncPass

    def check(func, mod, ctx):
        _in_bounds(func)
        return func

    return PyPrimFuncPass(check, PassInfo(0, "s_tir.analysis.OOBChecker"))


def _in_bounds(func):
    from ..ir.expr import Range
    from ..sym import Analyzer
    from .schedule.schedule import ScheduleError

    analyzer, wrong = Analyzer(), []

    def access(buffer, indices):
        for index, extent in zip(indices, buffer.shape):
            # The ends of the values that the index takes while loops run.
            values = analyzer.int_set(index)
            if analyzer.can_prove(values.max_value >= extent) or analyzer.can_prove(values.min_value < 0):
                wrong.append(f"Out of bounds memory access on buffer {buffer.name}: index {index} of extent {extent}")
                return

    def visit(node):
        if isinstance(node, For):
            analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), True)
        if isinstance(node, SBlockRealize):
            for item, value in zip(node.block.iter_vars, node.iter_values):
                analyzer.bind(item.var, value, True)
        if isinstance(node, IfThenElse):
            visit(node.condition)
            with analyzer.constraint_scope(node.condition):
                visit(node.then_case)
            if node.else_case is not None:
                visit(node.else_case)
            return
        for part in parts(node):
            visit(part)
        if isinstance(node, (BufferLoad, BufferStore)):
            access(node.buffer, node.indices)

    visit(func.body)
    if wrong:
        raise ScheduleError(wrong[0])


_COUNTED = "Add Sub Mul Div Mod FloorDiv FloorMod Min Max".split()


def estimate_tir_flops(stmt_or_mod):
    """The number of arithmetic operations, loops counted; a loop whose extent is not known runs as often as it may."""
    if isinstance(stmt_or_mod, IRModule):
        told = [(func, (func.attrs or {}).get("estimated_flops")) for func in _functions(stmt_or_mod).values()]
        return float(sum(sum(_flops(func.body, Analyzer()).values()) if known is None else int(known) for func, known in told))
    return float(sum(_flops(getattr(stmt_or_mod, "body", stmt_or_mod), Analyzer()).values()))


_NOT_COUNTED = ("EQ", "NE", "LT", "LE", "GT", "GE", "BufferLoad", "Evaluate")
"""Nodes inside of which nothing is counted."""


def _flops(node, analyzer):
    """Operations by element type."""
    kind = type(node).__name__
    if isinstance(node, For):
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
        most = analyzer.const_int_bound(node.extent).max_value
        # A bound that is none counts as one round.
        rounds = 1 if most >= 2**63 - 1 else most
        return Counter({dtype: count * rounds for dtype, count in _flops(node.body, analyzer).items()})
    if isinstance(node, SBlockRealize):
        return _flops(node.block, analyzer)
    if isinstance(node, BufferStore):
        return _flops(node.value, analyzer)
    if kind in ("IfThenElse", "Select"):
        branches = (node.then_case, node.else_case) if kind == "IfThenElse" else (node.true_value, node.false_value)
        then, other = (Counter() if branch is None else _flops(branch, analyzer) for branch in branches)
        return _flops(node.condition, analyzer) + (then | other)
    if kind in _NOT_COUNTED:
        return Counter()
    made = Counter({str(node.dtype): 1}) if kind in _COUNTED else Counter()
    for part in parts(node):
        made += _flops(part, analyzer)
    return made


def verify_gpu_code(func, constraints):
    """True if launches of threads and shared memory stay within limits."""
    limits = {name: int(limit) for name, limit in constraints.items()}
    threads, bytes_by_scope = {}, _allocated(func.body)

    def visit(node):
        tag = getattr(getattr(node, "thread_binding", None), "thread_tag", None)
        if tag is None and getattr(node, "attr_key", "") == "thread_extent":
            tag, extent = node.node.thread_tag, node.value
        elif tag is not None:
            extent = node.extent
        if tag is not None:
            threads[tag] = int(extent)

    post_order_visit(func.body, visit)
    block = 1
    for axis in "xyz":
        count = threads.get(f"threadIdx.{axis}", 1)
        block *= count
        if count > limits.get(f"max_thread_{axis}", count):
            return False
    shared = sum(size for scope, size in bytes_by_scope.items() if scope.startswith("shared"))
    local = bytes_by_scope.get("local", 0)
    return not (
        block > limits.get("max_threads_per_block", block) or shared > limits.get("max_shared_memory_per_block", shared) or local > limits.get("max_local_memory_per_block", local)
    )


def get_vtcm_compaction_passes():
    """The passes before memory of a Hexagon is counted."""
    from . import transform

    names = "LowerInitBlock PlanAndUpdateBufferAllocationLocation ConvertBlocksToOpaque CompactBufferAllocation LowerMatchBuffer"
    return [getattr(transform, name)() for name in names.split()]
