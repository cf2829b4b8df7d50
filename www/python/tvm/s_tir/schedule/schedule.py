"""Schedules: tensor programs transformed by one instruction after the other. The engine applies each."""

import inspect
import re

from ... import _engine
from ..._node import STMT, Object, get
from ..._values import Array
from ...error import InternalError, TVMError
from ...ir.expr import Expr
from ...ir.module import IRModule
from ...tirx.expr import FloatImm, IntImm, Var
from ...tirx.function import IndexMap, PrimFunc
from ..sblock_scope import StmtSRef
from .instruction import _LISTS, RV, ExprRV, Instruction, LoopRV, SBlockRV, text
from ._sampling import Random, compute_locations, kept_partition, kept_tile
from .state import ScheduleState
from .trace import Trace


_THREADS = re.compile(r"(blockIdx|threadIdx|clusterIdx|clusterCtaIdx)\..*|vthread.*|cthread.*|pipeline.*")


class ScheduleError(TVMError):
    """An instruction was refused. The text is made when it is asked for, because many refusals are only caught."""

    _render = None

    def __str__(self):
        if self._render is not None:
            render, self._render = self._render, None
            self.args = (render(),)
        return super().__str__()


class Schedule(Object):
    """A schedule of a module or function."""

    ERROR_RENDER_LEVEL = {"detail": 0, "fast": 1, "none": 2}

    def __init__(self, mod, *, seed=None, debug_mask="none", error_render_level="detail", enable_check=True):
        if not isinstance(mod, (IRModule, PrimFunc)):
            raise TypeError(f'In "Schedule.__init__", "mod" has wrong type. Expected "Union[PrimFunc, IRModule]", but gets: "{type(mod).__name__}"')
        if error_render_level not in Schedule.ERROR_RENDER_LEVEL:
            raise ValueError(f'error_render_level can be "detail", "fast", or "none", but got: {error_render_level}')
        if isinstance(debug_mask, str) and debug_mask not in ("all", "none"):
            raise ValueError(f"Unrecognizable `debug_mask`: {debug_mask}")
        if not isinstance(mod, IRModule):
            mod = IRModule({"main": mod})
        self._start = mod
        self._state = _engine.call("table_schedule", _engine.words(mod._words()))
        self._mod = mod
        self._insts, self._decisions, self._values = [], {}, {}
        self._names, self._kept, self._seen = {}, [], None
        self._level = error_render_level
        if seed is not None and seed != -1 and not 1 <= seed < 2**31:
            raise ValueError(f"seed must be in the range [1, 2147483647], but gets: {seed}")
        self._random = Random(seed)
        alone = [var for var, func in mod.functions.items() if isinstance(func, PrimFunc)]
        self.func_working_on = alone[0] if len(alone) == 1 else None

    @property
    def mod(self):
        """The module as it is now."""
        return self._mod

    @property
    def trace(self):
        """The instructions so far."""
        return Trace(list(self._insts), self._decisions)

    @property
    def state(self):
        """The module as it is now, with the facts about its blocks."""
        if self._seen is None or self._seen.mod is not self._mod:
            self._seen = ScheduleState(self._mod)
        return self._seen

    def copy(self):
        """A schedule that goes on from here on its own."""
        made = self._clone()
        made._random = Random(self._random.fork_seed())
        return made

    def _clone(self):
        """A schedule in the same state, which is not seen from outside."""
        made = Schedule.__new__(Schedule)
        made.__dict__.update(self.__dict__)
        made._insts, made._decisions, made._values = list(self._insts), dict(self._decisions), dict(self._values)
        made._names = dict(self._names)
        made._seen = None
        return made

    def seed(self, seed):
        """Begins the sampling anew."""
        self._random = Random(seed)

    def fork_seed(self):
        """A seed for another schedule."""
        return self._random.fork_seed()

    def show(self, *args, **kwargs):
        """Prints the module and the trace."""
        self._mod.show()
        print(self.trace)

    def _name(self, item):
        name = self._names.get(id(item))
        if name is None:
            raise IndexError(f"Cannot find corresponding {type(item).__name__}: {item!r}")
        return name

    def _do(self, method, kind, /, *args, decision=None, **kwargs):
        """Applies an instruction; `kind` is the class of what it gives, or None."""
        if any(inspect.isfunction(value) for value in kwargs.values()):
            dtype, ndim = self._index_dtype(kwargs.get("block")), None
            if isinstance(kwargs.get("buffer"), tuple):
                use, at = kwargs["buffer"]
                ndim = len(getattr(self.get(kwargs["block"]), f"{use}s")[at].buffer.shape)
            kwargs = {name: _map(value, dtype, ndim if name == "index_map" else None) for name, value in kwargs.items()}
        shown = [text(arg, self._name) for arg in args]
        shown += [f"{name}={text(value, self._name)}" for name, value in kwargs.items()]
        if decision is not None:
            shown.append(f"decision={text(decision, self._name)}")
        call = f"sch.{method}({', '.join(shown)})"
        try:
            state, count, words = _engine.call("table_instruct", self._state, f"_r = {call}" if kind else call, "_r")
            count, made = int(count), []
            if kind is not None:
                made = [kind(f"{kind.letter}{len(self._names) + at}") for at in range(1 if count < 0 else count)]
                for item in made:
                    self._names[id(item)] = item.name
                    self._kept.append(item)
                # Once more, with the names that the results have.
                if made:
                    names = ", ".join(item.name for item in made)
                    state, _, words = _engine.call("table_instruct", self._state, f"{names} = {call}", "_")
        except _engine.EngineError as exc:
            raise self._refused(_refusal(exc.message), method, args, kwargs) from None
        self._state = state
        self._mod = IRModule._of_words(words, self._mod)
        inst = Instruction.of_call(method, args, dict(kwargs), made)
        self._insts.append(inst)
        if decision is not None:
            self._decisions[inst] = decision
        if kind is None:
            return None
        return made if method in _LISTS else made[0]

    def _index_dtype(self, block):
        """The type of the variables of a block."""
        if block is not None:
            for item in self.get(block).iter_vars:
                return item.var.dtype
        return "int64"

    def _refused(self, error, method, args, kwargs):
        """A refusal with the text that was asked for."""
        if not isinstance(error, ScheduleError):
            return error
        if self._level == "none":
            return ScheduleError("(not rendered)")
        if self._level == "detail":
            from ._errors import rendered

            here, message = self._clone(), str(error)
            error._render = lambda: rendered(here, method, args, kwargs, message)
        return error

    def get(self, rand_var_or_sref):
        """The loop or block that a result stands for; of a number the number."""
        if isinstance(rand_var_or_sref, int):
            return rand_var_or_sref
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, Expr) and not isinstance(rand_var_or_sref, RV):
            return rand_var_or_sref
        name = self._name(rand_var_or_sref)
        if name in self._values:
            if isinstance(self._values[name], StmtSRef):
                raise TypeError(f"{name} stands for no loop: the block stays where it is, or is written out")
            return self._values[name]
        number = _engine.call("table_handle", self._state, name)
        if number == 0:
            raise IndexError(f"there is no {name} any more")
        stmt = get(STMT, number - 1)
        return getattr(stmt, "block", stmt)

    def get_sref(self, rand_var_or_stmt):
        """A loop or block in its place."""
        mark = self._values.get(self._names.get(id(rand_var_or_stmt)))
        if isinstance(mark, StmtSRef):
            return mark
        stmt = self.get(rand_var_or_stmt) if isinstance(rand_var_or_stmt, RV) else rand_var_or_stmt
        return self.state.get_sref(stmt)

    def remove_rv(self, rand_var):
        """Forgets a result."""
        del self._names[id(rand_var)]

    def work_on(self, func_name):
        """Instructions are about a function from now on."""
        name = getattr(func_name, "name_hint", func_name)
        self._mod.get_global_var(name)
        self._do("work_on", None, func_name=name)
        self._insts.pop()
        self.func_working_on = self._mod.get_global_var(name)

    def get_sblock(self, name, func_name=None):
        """A block by name."""
        if func_name is None and self.func_working_on is not None:
            func_name = self.func_working_on
        name_of_func = getattr(func_name, "name_hint", func_name)
        options = {} if func_name is None else {"func_name": name_of_func}
        return self._do("get_sblock", SBlockRV, name=name, **options)

    get_block = get_sblock

    def get_loops(self, block):
        """The loops around a block."""
        return self._do("get_loops", LoopRV, block=self._block(block))

    def get_child_blocks(self, block_or_loop):
        """The blocks directly inside."""
        return self._do("get_child_blocks", SBlockRV, block_or_loop)

    def get_producers(self, block):
        """Blocks that write what a block reads."""
        return self._do("get_producers", SBlockRV, block=self._block(block))

    def get_consumers(self, block):
        """Blocks that read what a block writes."""
        return self._do("get_consumers", SBlockRV, block=self._block(block))

    def get_output_blocks(self, scope_block):
        """Blocks that write results."""
        return self._do("get_output_blocks", SBlockRV, scope_block=self._block(scope_block))

    def _block(self, block):
        return self.get_sblock(block) if isinstance(block, str) else block

    def fuse(self, *loops, preserve_unit_iters=True):
        """Makes one loop of several."""
        return self._do("fuse", LoopRV, *loops, preserve_unit_iters=preserve_unit_iters)

    def merge(self, *loops):
        """Makes one loop of loops that stand beside each other."""
        return self._do("merge", LoopRV, *loops)

    def split(self, loop, factors, *, preserve_unit_iters=True, disable_predication=False):
        """Makes several loops of one."""
        return self._do("split", LoopRV, loop=loop, factors=list(factors), preserve_unit_iters=preserve_unit_iters,
                        disable_predication=disable_predication)  # fmt: skip

    def loop_partition(self, loop, factors, *, preserve_unit_iters=True):
        """Makes loops one behind the other of one."""
        return self._do(
            "loop_partition",
            LoopRV,
            loop=loop,
            factors=list(factors),
            preserve_unit_iters=preserve_unit_iters,
        )

    def reorder(self, *ordered_loops):
        """Puts loops into another order."""
        return self._do("reorder", None, *ordered_loops)

    def reorder_block_iter_var(self, block, new_order):
        """Puts the variables of a block into another order."""
        return self._do("reorder_block_iter_var", None, block=self._block(block), new_order=list(new_order))

    def add_unit_loop(self, block_or_loop):
        """Adds a loop of one iteration."""
        return self._do("add_unit_loop", LoopRV, block_or_loop=block_or_loop)

    def parallel(self, loop):
        """Iterations run in parallel."""
        return self._do("parallel", None, loop=loop)

    def vectorize(self, loop):
        """Iterations are lanes of a vector."""
        return self._do("vectorize", None, loop=loop)

    def unroll(self, loop):
        """Iterations are written out."""
        return self._do("unroll", None, loop=loop)

    def bind(self, loop, thread_axis):
        """Iterations are threads."""
        if not _THREADS.fullmatch(thread_axis):
            raise InternalError(f"Unknown threadscope {thread_axis}")
        return self._do("bind", None, loop=loop, thread_axis=thread_axis)

    def cache_read(self, block, read_buffer_index, storage_scope, consumer_blocks=None):
        """Reads through a buffer of its own."""
        options = {} if consumer_blocks is None else {"consumer_blocks": [self._block(item) for item in consumer_blocks]}
        block = self._block(block)
        index = self._buffer_index(block, read_buffer_index, True)
        return self._do("cache_read", SBlockRV, block=block, read_buffer_index=index, storage_scope=storage_scope,
                        **options)  # fmt: skip

    def cache_write(self, block, write_buffer_index, storage_scope, consumer_blocks=None):
        """Writes through a buffer of its own."""
        options = {} if consumer_blocks is None else {"consumer_blocks": [self._block(item) for item in consumer_blocks]}
        block = self._block(block)
        index = self._buffer_index(block, write_buffer_index, False)
        return self._do("cache_write", SBlockRV, block=block, write_buffer_index=index,
                        storage_scope=storage_scope, **options)  # fmt: skip

    def _buffer_index(self, block, index, reads):
        if isinstance(index, int):
            return index
        return self._buffer_arg(block, index, "read" if reads else "write")[1]

    def _buffer_arg(self, block, buffer, required=None):
        """The use of a buffer by a block, and the place of the buffer among such; it is named in one of several ways."""
        stmt = self.get(block)
        uses = [("read", at, region.buffer) for at, region in enumerate(stmt.reads)]
        uses += [("write", at, region.buffer) for at, region in enumerate(stmt.writes)]
        buffer = (required, buffer) if isinstance(buffer, int) else buffer
        if isinstance(buffer, tuple):
            kind, index = buffer
            assert kind in ("read", "write"), f"Invalid buffer_index_type.  Expected 'read' or 'write', but received {kind}"
            found = [use for use in uses if use[0] == kind]
            assert 0 <= index < len(found), f"Invalid buffer_index {index}.  Block {stmt.name_hint} has only {len(found)} {kind} buffers."
            found = found[index]
        elif isinstance(buffer, str):
            named = {id(use[2]): use for use in uses if use[2].name == buffer}
            assert named, f"Could not find buffer '{buffer}' in block '{stmt.name_hint}'"
            assert len(named) == 1, f"Multiple buffers named '{buffer}' in block '{stmt.name_hint}'"
            found = next(iter(named.values()))
        elif hasattr(buffer, "shape"):
            found = next((use for use in uses if use[2] is buffer), None)
            assert found is not None, f"Could not find buffer '{buffer.name}' in block '{stmt.name_hint}'"
        else:
            raise TypeError(f"Invalid type for argument 'buffer': {type(buffer)}")
        assert required in (None, found[0]), f"Expected buffer to be read buffer, but {found[2].name} was a {found[0]} buffer in the specified block"
        return found[:2]

    def reindex_cache_read(self, block, read_buffer_index, storage_scope, index_map):
        """Reads through a buffer with other indices."""
        return self._do("reindex_cache_read", SBlockRV, block=self._block(block), read_buffer_index=read_buffer_index,
                        storage_scope=storage_scope, index_map=index_map)  # fmt: skip

    def reindex_cache_write(self, block, write_buffer_index, storage_scope, index_map):
        """Writes through a buffer with other indices."""
        return self._do("reindex_cache_write", SBlockRV, block=self._block(block), write_buffer_index=write_buffer_index,
                        storage_scope=storage_scope, index_map=index_map)  # fmt: skip

    def reindex(self, block, buffer):
        """Reads or writes through a buffer indexed by the variables of the block."""
        block = self._block(block)
        return self._do("reindex", SBlockRV, block=block, buffer=self._buffer_arg(block, buffer))

    def compute_at(self, block, loop, preserve_unit_loops=False, index=-1):
        """Moves a producer under a loop."""
        return self._do("compute_at", None, block=self._block(block), loop=loop, preserve_unit_loops=preserve_unit_loops,
                        index=index)  # fmt: skip

    def reverse_compute_at(self, block, loop, preserve_unit_loops=False, index=-1):
        """Moves a consumer under a loop."""
        return self._do("reverse_compute_at", None, block=self._block(block), loop=loop,
                        preserve_unit_loops=preserve_unit_loops, index=index)  # fmt: skip

    def compute_inline(self, block):
        """Writes a block out where its result is read."""
        return self._do("compute_inline", None, block=self._block(block))

    def reverse_compute_inline(self, block):
        """Writes a block out where its input is written."""
        return self._do("reverse_compute_inline", None, block=self._block(block))

    def decompose_reduction(self, block, loop):
        """Makes a block of its own of the init of a reduction."""
        return self._do("decompose_reduction", SBlockRV, block=self._block(block), loop=loop)

    def fuse_reduction_epilogue(self, reduction_block, epilogue_block):
        """Writes a block into the reduction whose result it reads."""
        return self._do("fuse_reduction_epilogue", None, reduction_block=self._block(reduction_block),
                        epilogue_block=self._block(epilogue_block))  # fmt: skip

    def pad_einsum(self, block, padding):
        """Makes the extents of a reduction multiples of numbers."""
        return self._do("pad_einsum", None, block=self._block(block), padding=list(padding))

    def rolling_buffer(self, block, write_buffer_index):
        """Keeps only as much of a buffer as is read again."""
        return self._do("rolling_buffer", None, block=self._block(block), write_buffer_index=write_buffer_index)

    def annotate_buffer_access(self, block, buffer_index, buf_type, gen_new_ranges):
        """Says which region of a buffer a block touches."""
        if not isinstance(gen_new_ranges, IndexMap):
            iters = [Var(item.var.name, item.var.ty.dtype) for item in self.get(self._block(block)).iter_vars]
            ranges = gen_new_ranges(*iters)
            if len(iters) != len(ranges):
                raise ValueError(f"Number of iter_vars ({len(iters)}) must match number of new_ranges_spec ({len(ranges)})")
            gen_new_ranges = IndexMap(iters, [end for given in ranges for end in _ends(given)])
        if buf_type not in ("read", "write"):
            raise ValueError(f"Invalid buf_type: {buf_type}. Expected 'read' or 'write'.")
        return self._do("annotate_buffer_access", None, block=self._block(block), buffer_index=buffer_index, buf_type=buf_type,
                        gen_new_ranges=gen_new_ranges)  # fmt: skip

    def tensorize(self, block_or_loop, tensor_intrin, preserve_unit_iters=True):
        """Does what a loop or block does by an intrinsic."""
        from .. import TensorIntrin

        known = TensorIntrin.get(tensor_intrin, True)
        if known is not None:
            desc, impl = known.desc.script(), known.impl.script()
            line = f"sch.register({tensor_intrin!r}, {desc!r}, {impl!r}, override=True)"
            self._state, _, _ = _engine.call("table_instruct", self._state, line, "_")
        return self._do("tensorize", None, block_or_loop=block_or_loop, tensor_intrin=tensor_intrin,
                        preserve_unit_iters=preserve_unit_iters)  # fmt: skip

    def read_at(self, loop, block, read_buffer_index, storage_scope):
        """Copies in a loop what its body reads."""
        return self._do("read_at", SBlockRV, loop=loop, block=self._block(block), read_buffer_index=read_buffer_index,
                        storage_scope=storage_scope)  # fmt: skip

    def write_at(self, loop, block, write_buffer_index, storage_scope):
        """Copies in a loop what its body writes."""
        return self._do("write_at", SBlockRV, loop=loop, block=self._block(block), write_buffer_index=write_buffer_index,
                        storage_scope=storage_scope)  # fmt: skip

    def cache_inplace(self, block, read_buffer_index, storage_scope):
        """Works on a copy of a buffer that is read and written."""
        block = self._block(block)
        index = self._buffer_index(block, read_buffer_index, True)
        return self._do("cache_inplace", SBlockRV, block=block, read_buffer_index=index,
                        storage_scope=storage_scope)  # fmt: skip

    def cache_index(self, block, storage_scope, cse_thresh=0):
        """Computes parts of indices before."""
        return self._do("cache_index", SBlockRV, block=self._block(block), storage_scope=storage_scope,
                        cse_thresh=cse_thresh)  # fmt: skip

    def decompose_padding(self, block, loop):
        """Makes of a padding one block that fills and one that copies."""
        return self._do("decompose_padding", SBlockRV, block=self._block(block), loop=loop)

    def can_decompose_padding(self, block, loop):
        """True if decompose_padding would be done."""
        try:
            self.copy().decompose_padding(block, loop)
        except (ScheduleError, ValueError, TypeError, IndexError):
            return False
        return True

    def unsafe_hide_buffer_access(self, block, buf_type, buf_index_array):
        """Hides that a block reads or writes buffers."""
        return self._do("unsafe_hide_buffer_access", None, block=self._block(block), buf_type=buf_type,
                        buf_index_array=list(buf_index_array))  # fmt: skip

    def rfactor(self, loop, factor_axis):
        """Makes two reductions of one."""
        return self._do("rfactor", SBlockRV, loop=loop, factor_axis=factor_axis)

    def storage_align(self, block, buffer_index, axis, factor, offset):
        """Says how a buffer lies in memory."""
        return self._do("storage_align", None, block=self._block(block), buffer_index=buffer_index, axis=axis,
                        factor=factor, offset=offset)  # fmt: skip

    def set_scope(self, block, buffer_index, storage_scope):
        """Puts a buffer into another kind of memory."""
        block = self._block(block)
        return self._do("set_scope", None, block=block,
                        buffer_index=self._buffer_index(block, buffer_index, False), storage_scope=storage_scope)  # fmt: skip

    def unsafe_set_dtype(self, block, buffer_index, dtype):
        """Gives a buffer another element type."""
        return self._do(
            "unsafe_set_dtype",
            None,
            block=self._block(block),
            buffer_index=buffer_index,
            dtype=dtype,
        )

    def blockize(self, target, preserve_unit_iters=True):
        """Makes a block of a loop."""
        return self._do("blockize", SBlockRV, target=target, preserve_unit_iters=preserve_unit_iters)

    def annotate(self, block_or_loop, ann_key, ann_val):
        """Adds a hint."""
        return self._do("annotate", None, block_or_loop=block_or_loop, ann_key=ann_key, ann_val=ann_val)

    def unannotate(self, block_or_loop, ann_key):
        """Removes a hint."""
        return self._do("unannotate", None, block_or_loop=block_or_loop, ann_key=ann_key)

    def transform_layout(self, block, buffer, index_map, pad_value=None, *, assume_injective_transform=False):
        """Stores a buffer in another layout."""
        block = self._block(block)
        if isinstance(pad_value, (int, float)):
            pad_value = FloatImm("float32", pad_value) if isinstance(pad_value, float) else IntImm("int32", pad_value)
        if isinstance(pad_value, (IntImm, FloatImm)):
            value, pad_value = pad_value, None
            count = len(index_map.final_indices) if hasattr(index_map, "final_indices") else None
            if count is None:
                use = self._buffer_arg(block, buffer)
                ndim = len(getattr(self.get(block), f"{use[0]}s")[use[1]].buffer.shape)
                count = len(_map(index_map, "int32", ndim).final_indices)
            pad_value = IndexMap.from_func(lambda *indices: value, ndim=count, index_dtype="int32")
        options = {} if pad_value is None else {"pad_value": pad_value}
        return self._do("transform_layout", None, block=block, buffer=self._buffer_arg(block, buffer), index_map=index_map,
                        assume_injective_transform=assume_injective_transform, **options)  # fmt: skip

    def transform_block_layout(self, block, index_map):
        """Goes through a block in another order."""
        return self._do("transform_block_layout", None, block=self._block(block), index_map=index_map)

    def sample_perfect_tile(self, loop, n, max_innermost_factor=16, decision=None):
        """Factors of the extent of a loop."""
        known = self._extent(loop)
        if known is None:
            decision = [-1, *[1] * (n - 1)]
        elif decision is None:
            decision = self._random.perfect_tile(known, n, max_innermost_factor)
        else:
            decision = kept_tile(decision, known)
        made = self._do("sample_perfect_tile", ExprRV, loop=loop, n=n, max_innermost_factor=max_innermost_factor,
                        decision=decision)  # fmt: skip
        self._values.update(zip((item.name for item in made), decision))
        if known is None:
            # The outermost factor of an extent that is not known is what the others leave.
            made[0] = None
        return made

    def _extent(self, loop):
        from ...tirx.expr import IntImm

        extent = self.get(loop).extent
        return extent.value if isinstance(extent, IntImm) else None

    def sample_partitioned_tile(self, loop, n, partition_pos=0, innerpart_factor=1, decision=None):
        """Factors of the extent of a loop, of which those from a place on are together a multiple of a number."""
        extent = self._extent(loop)
        if extent is None or extent % innerpart_factor:
            decision = [-1, *[1] * (n - 1)]
        elif decision is None:
            decision = self._random.partitioned_tile(extent, n, partition_pos, innerpart_factor)
        else:
            decision = kept_partition(list(decision), extent, partition_pos, innerpart_factor)
        made = self._do("sample_partitioned_tile", ExprRV, loop=loop, n=n, partition_pos=partition_pos,
                        innerpart_factor=innerpart_factor, decision=decision)  # fmt: skip
        self._values.update(zip((item.name for item in made), decision))
        return made

    def sample_compute_location(self, block, decision=None):
        """A loop around the first block that reads what a block writes; -1 leaves the block where it is, -2 writes it out."""
        block = self._block(block)
        places = compute_locations(self, block)
        if decision is None:
            decision = places[self._random.integer(0, len(places))]
        else:
            decision = max((place for place in places if place <= int(decision)), default=-1)
        made = self._do("sample_compute_location", LoopRV, block=block, decision=decision)
        if decision < 0:
            self._values[made.name] = StmtSRef.inline_mark() if decision == -2 else StmtSRef.root_mark()
        return made

    def sample_categorical(self, candidates, probs, decision=None):
        """One of several numbers, with these chances."""
        candidates = [int(item) for item in candidates]
        probs = [float(item) for item in probs]
        if len(candidates) != len(probs):
            raise ValueError("Check failed: (candidates.size() == probs.size()) is false: number of candidates does not match number of probabilities.")
        decision = self._random.categorical(probs) if decision is None else int(decision)
        if not 0 <= decision < len(candidates):
            raise ValueError(f"Check failed: (0 <= i && i < n) is false: Wrong decision value, where n = {len(candidates)}, but decision is: {decision}")
        made = self._do("sample_categorical", ExprRV, candidates=candidates, probs=probs, decision=decision)
        self._values[made.name] = candidates[decision]
        return made

    def enter_postproc(self):
        """Begins the instructions that run after the search."""
        return self._do("enter_postproc", None)

    def __getattr__(self, name):
        raise AttributeError(f"'Schedule' object has no attribute '{name}'")


def _ends(given):
    """The begin and the end of a range: a pair of them, or one index."""
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise ValueError("Tuple must have exactly 2 elements to represent (begin, end).")
        return given
    if not hasattr(given, "dtype"):
        raise TypeError(f"Expected Expr or tuple of Expr, got {type(given)}")
    return given, given + 1


def _map(value, dtype, ndim=None):
    """A map of indices for a function over them; any other value is itself."""
    if not inspect.isfunction(value):
        return value
    params = inspect.signature(value).parameters.values()
    takes_any = any(param.kind is param.VAR_POSITIONAL for param in params)
    return IndexMap.from_func(value, ndim=ndim if takes_any else None, index_dtype=dtype)


def _refusal(message):
    for name, cls in (("ValueError: ", ValueError), ("TypeError: ", TypeError), ("IndexError: ", IndexError),
                      ("NotImplementedError: ", NotImplementedError), ("InternalError: ", InternalError)):  # fmt: skip
        if message.startswith(name):
            return cls(message[len(name) :])
    # A check of TVM's own that fails is no refusal of the schedule.
    return InternalError(message) if message.startswith("Check failed: ") else ScheduleError(message)
