"""Schedules: tensor programs transformed by one instruction after the other. The engine applies each."""

from ... import _engine
from ..._node import STMT, Object, get
from ..._values import Array
from ...error import TVMError
from ...ir.expr import Expr
from ...ir.module import IRModule


class ScheduleError(TVMError):
    """An instruction was refused."""


class RV(Object):
    """What an instruction gives: a block, a loop or a number, by name."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class SBlockRV(RV):
    """A block."""


class LoopRV(RV):
    """A loop."""


class ExprRV(RV):
    """A number that was sampled."""


BlockRV = SBlockRV


class Instruction(Object):
    """A line of a trace."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


class Trace(Object):
    """The instructions of a schedule."""

    def __init__(self, insts=(), decisions=None):
        self.insts = Array(insts)
        self.decisions = decisions or {}

    def as_python(self):
        """The lines, as Python writes them."""
        return [inst.text for inst in self.insts]

    def apply_to_schedule(self, sch, remove_postproc=False, decision_provider=None):
        """Applies the instructions to another schedule."""
        for inst in self.insts:
            sch._apply_text(inst.text)

    def simplified(self, remove_postproc=False):
        """The instructions."""
        return Trace(list(self.insts))

    def show(self, style="light", black_format=False):
        """Prints the instructions."""
        print(self)

    def __str__(self):
        body = "".join(f"  {line}\n" for line in self.as_python())
        return f"# from tvm import s_tir\ndef apply_trace(sch: s_tir.Schedule) -> None:\n{body}"

    __repr__ = __str__


class Schedule(Object):
    """A schedule of a module or function."""

    ERROR_RENDER_LEVEL = {"detail": 0, "fast": 1, "none": 2}

    def __init__(
        self, mod, *, seed=None, debug_mask="none", error_render_level="detail", enable_check=True
    ):
        if not isinstance(mod, IRModule):
            mod = IRModule({"main": mod})
        self._start = mod
        self._state = _engine.call("table_schedule", _engine.words(mod._words()))
        self._mod = mod
        self._lines = []
        self._n = {"b": 0, "l": 0, "v": 0}
        self._seed = seed if seed not in (None, -1) else 1
        self.func_working_on = None

    @property
    def mod(self):
        """The module as it is now."""
        return self._mod

    @property
    def trace(self):
        """The instructions so far."""
        return Trace([Instruction(line) for line in self._lines])

    state = property(lambda self: self)

    def copy(self):
        """A schedule that goes on from here on its own."""
        made = Schedule.__new__(Schedule)
        made.__dict__.update(self.__dict__)
        made._lines, made._n = list(self._lines), dict(self._n)
        return made

    fork_seed = lambda self: self._seed + 1  # noqa: E731

    def seed(self, seed):
        """Begins the sampling anew."""
        self._seed = seed

    def show(self, *args, **kwargs):
        """Prints the module and the trace."""
        self._mod.show()
        print(self.trace)

    # ---- instructions ----

    def _fresh(self, kind):
        name = f"{kind}{self._n[kind]}"
        self._n[kind] += 1
        return name

    def _apply_text(self, line):
        try:
            state, _, words = _engine.call("table_instruct", self._state, line, "_")
        except _engine.EngineError as exc:
            raise _refusal(str(exc)) from None
        self._took(state, words, line)

    def _took(self, state, words, line):
        self._state = state
        self._mod = IRModule._of_words(words, self._mod)
        self._lines.append(line)

    def _do(self, instruction, kind, /, *args, **kwargs):
        """Applies an instruction; `kind` is `b`, `l` or `v` for what it gives, or None."""
        parts = [_text(arg, self) for arg in args]
        parts += [f"{key}={_text(value, self)}" for key, value in kwargs.items()]
        call = f"sch.{instruction}({', '.join(parts)})"
        try:
            state, count, words = _engine.call(
                "table_instruct", self._state, f"_r = {call}" if kind else call, "_r"
            )
        except _engine.EngineError as exc:
            raise _refusal(str(exc)) from None
        cls = {"b": SBlockRV, "l": LoopRV, "v": ExprRV, None: None}[kind]
        if kind is None:
            self._took(state, words, call)
            return None
        number = int(count)
        names = [self._fresh(kind) for _ in range(1 if number < 0 else number)]
        made = [cls(one) for one in names]
        if names:
            line = f"{', '.join(names)}{',' if number >= 0 and len(names) == 1 else ''} = {call}"
            if number == 1:
                line = f"{names[0]} = {call}[0]"
            state, _, words = _engine.call("table_instruct", self._state, line, "_")
            self._took(state, words, line)
        return made[0] if number < 0 else made

    def get(self, rand_var_or_sref):
        """The loop or block that a name stands for; of a number the number."""
        if isinstance(rand_var_or_sref, int):
            return rand_var_or_sref
        number = _engine.call("table_handle", self._state, rand_var_or_sref.name)
        if number == 0:
            raise IndexError(f"there is no {rand_var_or_sref.name} any more")
        stmt = get(STMT, number - 1)
        return getattr(stmt, "block", stmt)

    get_sref = get

    def work_on(self, func_name):
        """Instructions are about a function from now on."""
        self._do("work_on", None, func_name=func_name)

    def get_sblock(self, name, func_name=None):
        """A block by name."""
        options = {} if func_name is None else {"func_name": func_name}
        return self._do("get_sblock", "b", name=name, **options)

    get_block = get_sblock

    def get_loops(self, block):
        """The loops around a block."""
        return self._do("get_loops", "l", block=self._block(block))

    def get_child_blocks(self, block_or_loop):
        """The blocks directly inside."""
        return self._do("get_child_blocks", "b", block_or_loop)

    def get_producers(self, block):
        """Blocks that write what a block reads."""
        return self._do("get_producers", "b", block=self._block(block))

    def get_consumers(self, block):
        """Blocks that read what a block writes."""
        return self._do("get_consumers", "b", block=self._block(block))

    def get_output_blocks(self, scope_block):
        """Blocks that write results."""
        return self._do("get_output_blocks", "b", scope_block=self._block(scope_block))

    def _block(self, block):
        return self.get_sblock(block) if isinstance(block, str) else block

    def fuse(self, *loops, preserve_unit_iters=True):
        """Makes one loop of several."""
        return self._do("fuse", "l", *loops, preserve_unit_iters=preserve_unit_iters)

    def merge(self, *loops):
        """Makes one loop of loops that stand beside each other."""
        return self._do("merge", "l", *loops)

    def split(self, loop, factors, *, preserve_unit_iters=True, disable_predication=False):
        """Makes several loops of one."""
        return self._do("split", "l", loop=loop, factors=list(factors), preserve_unit_iters=preserve_unit_iters,
                        disable_predication=disable_predication)  # fmt: skip

    def loop_partition(self, loop, factors, *, preserve_unit_iters=True):
        """Makes loops one behind the other of one."""
        return self._do(
            "loop_partition",
            "l",
            loop=loop,
            factors=list(factors),
            preserve_unit_iters=preserve_unit_iters,
        )

    def reorder(self, *ordered_loops):
        """Puts loops into another order."""
        return self._do("reorder", None, *ordered_loops)

    def reorder_block_iter_var(self, block, new_order):
        """Puts the variables of a block into another order."""
        return self._do(
            "reorder_block_iter_var", None, block=self._block(block), new_order=list(new_order)
        )

    def add_unit_loop(self, block_or_loop):
        """Adds a loop of one iteration."""
        return self._do("add_unit_loop", "l", block_or_loop)

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
        return self._do("bind", None, loop=loop, thread_axis=thread_axis)

    def cache_read(self, block, read_buffer_index, storage_scope, consumer_blocks=None):
        """Reads through a buffer of its own."""
        options = (
            {}
            if consumer_blocks is None
            else {"consumer_blocks": [self._block(item) for item in consumer_blocks]}
        )
        index = self._buffer_index(block, read_buffer_index, True)
        return self._do("cache_read", "b", block=self._block(block), read_buffer_index=index, storage_scope=storage_scope,
                        **options)  # fmt: skip

    def cache_write(self, block, write_buffer_index, storage_scope, consumer_blocks=None):
        """Writes through a buffer of its own."""
        options = (
            {}
            if consumer_blocks is None
            else {"consumer_blocks": [self._block(item) for item in consumer_blocks]}
        )
        index = self._buffer_index(block, write_buffer_index, False)
        return self._do("cache_write", "b", block=self._block(block), write_buffer_index=index,
                        storage_scope=storage_scope, **options)  # fmt: skip

    def _buffer_index(self, block, index, reads):
        if isinstance(index, int):
            return index
        stmt = self.get(self._block(block))
        regions = stmt.reads if reads else stmt.writes
        for place, region in enumerate(regions):
            if region.buffer is index or region.buffer.name == getattr(index, "name", index):
                return place
        raise ValueError(f"the block does not use the buffer {index}")

    def reindex_cache_read(self, block, read_buffer_index, storage_scope, index_map):
        """Reads through a buffer with other indices."""
        return self._do("reindex_cache_read", "b", block=self._block(block), read_buffer_index=read_buffer_index,
                        storage_scope=storage_scope, index_map=_map(index_map))  # fmt: skip

    def reindex_cache_write(self, block, write_buffer_index, storage_scope, index_map):
        """Writes through a buffer with other indices."""
        return self._do("reindex_cache_write", "b", block=self._block(block), write_buffer_index=write_buffer_index,
                        storage_scope=storage_scope, index_map=_map(index_map))  # fmt: skip

    def reindex(self, block, buffer):
        """Reads or writes through a buffer indexed by the variables of the block."""
        return self._do("reindex", "b", block=self._block(block), buffer=buffer)

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
        return self._do("decompose_reduction", "b", block=self._block(block), loop=loop)

    def rfactor(self, loop, factor_axis):
        """Makes two reductions of one."""
        return self._do("rfactor", "b", loop=loop, factor_axis=factor_axis)

    def storage_align(self, block, buffer_index, axis, factor, offset):
        """Says how a buffer lies in memory."""
        return self._do("storage_align", None, block=self._block(block), buffer_index=buffer_index, axis=axis,
                        factor=factor, offset=offset)  # fmt: skip

    def set_scope(self, block, buffer_index, storage_scope):
        """Puts a buffer into another kind of memory."""
        return self._do("set_scope", None, block=self._block(block),
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
        return self._do("blockize", "b", target=target, preserve_unit_iters=preserve_unit_iters)

    def annotate(self, block_or_loop, ann_key, ann_val):
        """Adds a hint."""
        return self._do(
            "annotate", None, block_or_loop=block_or_loop, ann_key=ann_key, ann_val=ann_val
        )

    def unannotate(self, block_or_loop, ann_key):
        """Removes a hint."""
        return self._do("unannotate", None, block_or_loop=block_or_loop, ann_key=ann_key)

    def transform_layout(
        self, block, buffer, index_map, pad_value=None, *, assume_injective_transform=False
    ):
        """Stores a buffer in another layout."""
        options = {} if pad_value is None else {"pad_value": pad_value}
        return self._do("transform_layout", None, block=self._block(block), buffer=buffer, index_map=_map(index_map),
                        assume_injective_transform=assume_injective_transform, **options)  # fmt: skip

    def transform_block_layout(self, block, index_map):
        """Goes through a block in another order."""
        return self._do(
            "transform_block_layout", None, block=self._block(block), index_map=_map(index_map)
        )

    def sample_perfect_tile(self, loop, n, max_innermost_factor=16, decision=None):
        """Factors of the extent of a loop."""
        decision = (
            decision if decision is not None else [int(self.get(loop).extent), *[1] * (n - 1)]
        )
        return self._do("sample_perfect_tile", "v", loop=loop, n=n, max_innermost_factor=max_innermost_factor,
                        decision=list(decision))  # fmt: skip

    def sample_categorical(self, candidates, probs, decision=None):
        """One of several numbers."""
        decision = decision if decision is not None else 0
        return self._do(
            "sample_categorical",
            "v",
            candidates=list(candidates),
            probs=list(probs),
            decision=decision,
        )

    def enter_postproc(self):
        """What follows is done after the search."""
        return self._do("enter_postproc", None)

    def __getattr__(self, name):
        if name.startswith("_") or name in ("_load",):
            raise AttributeError(name)

        def refused(*args, **kwargs):
            raise NotImplementedError(f"the primitive `{name}` is not here yet")

        return refused


def _map(index_map):
    from ...tirx.function import IndexMap

    return index_map if isinstance(index_map, IndexMap) else _Lambda(index_map)


class _Lambda:
    def __init__(self, function):
        self.function = function


def _text(value, sch):
    from ...tirx.function import IndexMap

    if isinstance(value, RV):
        return value.name
    if isinstance(value, _Lambda):
        import inspect

        params = inspect.signature(value.function).parameters.values()
        if any(param.kind is param.VAR_POSITIONAL for param in params):
            raise NotImplementedError("a map over any number of indices is not here yet")
        value = IndexMap.from_func(value.function, index_dtype="int64")
    if isinstance(value, IndexMap):
        names = ", ".join(var.name for var in value.initial_indices)
        return f"lambda {names}: ({', '.join(_scalar(item) for item in value.final_indices)},)"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_text(item, sch) for item in value)
        return (
            f"[{inner}]"
            if isinstance(value, list)
            else f"({inner}{',' if len(value) == 1 else ''})"
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_text(item, sch)}" for key, item in value.items()) + "}"
    if isinstance(value, Expr) and not hasattr(value, "value"):
        return _scalar(value)
    if hasattr(value, "name") and hasattr(value, "shape"):
        return repr(value.name)
    return repr(getattr(value, "value", value))


def _scalar(value):
    """A scalar as Python writes it."""
    from ...ir.expr import Var
    from ...tirx import expr as scalar

    if isinstance(value, Var):
        return value.name
    if isinstance(value, scalar.IntImm):
        return str(value.value)
    signs = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%"}
    sign = signs.get(type(value).__name__)
    if sign is None:
        raise NotImplementedError(f"{value} in a map of indices")
    return f"({_scalar(value.a)} {sign} {_scalar(value.b)})"


def _refusal(message):
    for name, cls in (("ValueError: ", ValueError), ("TypeError: ", TypeError), ("IndexError: ", IndexError),
                      ("NotImplementedError: ", NotImplementedError)):  # fmt: skip
        if message.startswith(name):
            return cls(message[len(name) :])
    return ScheduleError(message)
