"""Refusals of instructions as TVM renders them: the program with the places that matter, and what is wrong there."""

import re

from ...tirx.functor import parts
from ...tirx.stmt import For, SBlock, SBlockRealize, SeqStmt
from .instruction import LoopRV, SBlockRV

_COMPLETE = """1) All block vars are data parallel
2) {}ominant: the block is the only writer of its output, dominating the reader of its output buffers{}
3) No overlap between the buffers the block reads and writes"""
_REDUCTION = """Definition of a reduction block:
1) The block has the `init` statement
2) All the block bindings are quasi-affine expressions
3) All block vars are either data parallel block vars or reduction block vars
4) Dominant: the block is the only writer of its output, dominating the reader of its output buffers
5) The reduction block vars are not used to index the output buffers"""
_WHOLE = "Definition of a complete block:\n" + _COMPLETE.format("D", "")
_INLINE = """The body of the inlined block should be in form of
    'A[f(i, j, k, ...)] = g(i, j, k, ...)',
where the store indices mapping f on the left are bijective affine."""
_REVERSE_INLINE = """The body of the inlined block should be in form of
    `B[...] = g(i, j, k, A[f(i, j, k, ...)] ...)`,
where A is the only buffer the block consumes, whose indices are distinct atomic variables,
and there should be no variables other than the index variables), and f is a bijective affine
mapping and there should not be predicates in the inlined block. The iter domains of the inlined
block should be covered by the producer block.)"""
_PIPELINE = """The scope {0} is not a stage pipeline.
Definition of a scope that is a stage pipeline:
- The region cover property holds for every of its child blocks
- No write-after-read dependency or opaque dependency,
- only read-after-write and write-after-write are allowed
- All the statements in the scope are schedulable statements, i.e. SBlock and For
"""
_COVER = """The scope {0} 's region cover is not complete.
The region cover property require to hold for every of its child blocks
"""
_RFACTOR = """Definition of a reduction block that is applicable by RFactor and Cross-Thread Reduction:
1) The block init should be a single BufferStore or a SeqStmt of BufferStores
2) The buffers initialized in the block init should be all different
3) The number of consecutive Binds in the block body (if any) should equal the number of BufferStores in the block init
4) The variables of the Binds in the block body should be all different
5) The statement after the innermost Bind should be a single BufferStore or a SeqStmt of BufferStores
6) The number of BufferStores under the block body should equal the number of BufferStores in the block init, and thereby \
equal the number of Binds above
7) The variables bound by the Binds in the block body must all directly serve as values of the BufferStores inside, and the \
stored values of the BufferStores can only be those variables
8) The variables stored by the BufferStores in the block body should be all different
9) The buffers written by the BufferStores in the block body should be all different
10) The buffers initialized in the block init and written in the block body should match
11) The buffers written by the block should have same shape
12) The indices of all BufferStores in the reduction block should be the same"""
_PRIMITIVES = {
    "get_sblock": "get-block", "loop_partition": "loop_partition", "reorder_block_iter_var": "reorder_block_iter_var",
    "transform_layout": "transform_layout", "transform_block_layout": "transform_block_layout",
    "reindex_cache_read": "reverse-cache-read", "reindex_cache_write": "reverse-cache-write", "cache_inplace": "cache-buffer",
    "unsafe_set_dtype": "set-dtype", "unsafe_hide_buffer_access": "hide-buffer-access",
}  # fmt: skip
"""Names in messages that are not those of the methods with dashes."""


_BARE = ("Merge loop's", "Expected the loops to be under the same block scope")
"""Messages without the program."""


class Refused:
    """An instruction that was refused: its blocks and loops."""

    def __init__(self, schedule, method, args, kwargs):
        self.schedule, self.method, self.kwargs = schedule, method, kwargs
        self.values = [*args, *kwargs.values()]
        flat = [item for value in self.values for item in (value if isinstance(value, (list, tuple)) else [value])]
        self.blocks = [self._get(item) for item in flat if isinstance(item, SBlockRV)]
        self.loops = [self._get(item) for item in flat if isinstance(item, LoopRV)]
        self.given = next((item for item in flat if isinstance(item, SBlockRV)), None)
        self._around = None

    def _get(self, value):
        try:
            return self.schedule.get(value)
        except (IndexError, TypeError):
            return None

    @property
    def block(self):
        """The block that the instruction is about; of a loop alone the one inside."""
        if self.blocks:
            return self.blocks[0]
        todo = list(self.loops)
        while todo:
            node = todo.pop(0)
            if isinstance(node, SBlock):
                return node
            todo = parts(node) + todo
        return None

    @property
    def loop(self):
        """The loop that the instruction is about."""
        return self.loops[0] if self.loops else None

    def around(self, stmt):
        """The loops and blocks around a statement, from the innermost one."""
        if self._around is None:
            self._around, todo = {}, [(func, None) for func in self.schedule.mod.functions.values() if hasattr(func, "body")]
            while todo:
                node, inside = todo.pop()
                if isinstance(node, (For, SBlock)):
                    self._around[id(node)] = inside
                    inside = node
                todo += [(part, inside) for part in parts(node)]
        found = []
        while (stmt := self._around.get(id(stmt))) is not None:
            found.append(stmt)
        return found

    def scope(self, stmt):
        """The block around a statement."""
        return next((outer for outer in self.around(stmt) if isinstance(outer, SBlock)), None)


def _codes(call, found):
    text = f"The block {{0}} is not a complete block - it violates condition #{found[1]}.\n{_WHOLE}\n"
    text += f"The block is not a reduction block either - it violates condition #{found[2]}.\n{_REDUCTION}"
    return text, [call.block]


def _producer(call):
    here = call.schedule._clone()
    return here.get(here.get_producers(call.given)[0])


def _inlined_into(call):
    """The block that is in the way: the one producer if the block is its one consumer, else the block."""
    here = call.schedule._clone()
    producers = here.get_producers(call.given)
    if len(producers) == 1 and len(here.get_consumers(producers[0])) == 1:
        return here.get(producers[0])
    return call.block


def _writers(call, _):
    buffer = call.block.writes[call.kwargs["write_buffer_index"]].buffer
    scope, todo, found = call.scope(call.block), [], []
    todo = [scope.body]
    while todo:
        node = todo.pop(0)
        if isinstance(node, SBlock):
            found += [node] if any(region.buffer is buffer for region in node.writes) else []
        else:
            todo = parts(node) + todo
    return f"The buffer {buffer.name} is expected to be written by single block, but got {len(found)} blocks who write it.", found


def _pair(call):
    """Two loops of which the second is not right inside of the first."""
    for outer, inner in zip(call.loops, call.loops[1:]):
        if not (call.around(inner) and call.around(inner)[0] is outer and outer.body is inner):
            return [outer, inner]
    return call.loops[:2]


def _chain(call, _):
    deepest = max(call.loops, key=lambda loop: len(call.around(loop)))
    above = [deepest, *call.around(deepest)]
    if any(all(loop is not outer for outer in above) for loop in call.loops):
        return "The loops are not in a chain because they are not under the same scope.", []
    at = min(call.loops, key=lambda loop: len(call.around(loop)))
    while isinstance(at.body, For):
        at = at.body
    return "The loops are not in a chain because there is a non-single-branch stmt in between. Problematic stmt: {0}", [at]


def _twice(call, _):
    seen = [loop for at, loop in enumerate(call.loops) if any(loop is other for other in call.loops[:at])]
    return "Loop {0} appears in the input array for multiple times.", seen[:1]


def _required(call, _):
    consumers = call.method == "compute_at"
    here = call.schedule._clone()
    ask = here.get_consumers if consumers else here.get_producers
    needed = [here.get(item) for item in ask(call.given)]
    missed = [block for block in needed if all(outer is not call.loop for outer in call.around(block))]
    what = "consumer(s)" if consumers else "producer(s)"
    text = f"The primitive requires all the {what} of the given block to be present under the target loop. However, there are "
    text += f"{len(missed)} {what} not satisfying the constraint. List of the {what}:"
    return text + "".join(f"{{{at}}}" for at in range(len(needed))), needed


def _index(call, found):
    kind = "write" if "write" in found[0] else "read"
    count = len(call.block.writes if kind == "write" else call.block.reads)
    index = next((value for value in call.values if isinstance(value, int) and not isinstance(value, bool)), -1)
    text = f"The block {{0}} has {count} {kind} regions, so `buffer_index` is required to be in [0, {count}). However, the input "
    return text + f"`buffer_index` is {index}, which is out of the expected range.", [call.block]


def _regions(call, found):
    kind = found[1]
    count = len(call.block.reads if kind == "read" else call.block.writes)
    return f"The block is only allowed to {kind} a single buffer region, but it {kind}s {count} region(s): {{0}}", [call.block]


def _parallel(call, _):
    if call.method != "bind":
        text = f'The "{call.method}" cannot be fulfilled with regard to block {{0}} because some block iter whose block binding '
        return text + "contains the loop var is not a data parallel block iter", [call.block]
    text = 'The "bind" cannot be fulfilled with regard to block {0}. This is because some of its block iter whose block binding '
    text += f"contains {call.loop.loop_var.name} does not meet any of the conditions:\n1) the block iter is data parallel;\n"
    text += '2) the block iter is a reduction block iter, and the thread axis to be bound is "threadIdx.x/y/z"'
    return text, [call.block]


def _factor_axis(call, _):
    buffer, axis = call.block.writes[0].buffer, next(value for value in call.values if isinstance(value, int))
    rank = len(buffer.shape)
    text = f"The write buffer {buffer.name} has {rank} dimension(s), so `factor_axis` is required to be in [-{rank + 1}, {rank}] "
    return text + f"for rfactor. However, the input `factor_axis` is {axis}, which is out of the expected range", []


def _align_axis(call, _):
    buffer = call.block.writes[call.kwargs["buffer_index"]].buffer
    rank, axis = len(buffer.shape), call.kwargs["axis"]
    text = f"The buffer to set storage alignment of, {buffer.name}, has {rank} dimension(s), so `axis` is required to be in "
    text += f"[{-rank}, {rank}) for storage_align. However, the input `axis` is {axis}, which is out of the expected range."
    return text, []


def _factor(call, _):
    text = "The input `factor` of storage_align is expected to be a positive number. However, the input `factor` is "
    return f"{text}{call.kwargs['factor']}, which is out of the expected range.", []


def _annotated(call, _):
    marked = next((loop for loop in call.loops if loop.annotations or loop.thread_binding is not None), call.loop)
    return "The primitive can't be applied because the loop {0} has annotation or thread binding", [marked]


def _leaf(call, _):
    return ("Block {0} is the only leaf in the scope {1}, which cannot be removed; Otherwise the scope will be empty.",
            [call.block, call.scope(call.block)])  # fmt: skip


def _not_allocated(call, _):
    name = next((region.buffer.name for region in call.block.writes), "")
    index = call.kwargs.get("buffer_index")
    if isinstance(index, int):
        name = call.block.writes[index].buffer.name
    text = f"The input buffer {name} is not allocated by a block. This means the buffer is either a function parameter or "
    return text + "defined in `match_buffer` of a block.", []


def _positive(call, _):
    at, factor = next(((at, item) for at, item in enumerate(call.kwargs.get("factors", ())) if item is not None and item <= 0 and
                       item != -1), (0, 0))  # fmt: skip
    return f"All the constant factors are required to be positive. However, the factor at position {at} is {factor}", []


def _padding(call, _):
    count, given = len(call.block.iter_vars), tuple(call.kwargs.get("padding", ()))
    return f"The padding for the block {{0}} are invalid. It should be a list of {count} positive integers. Got {given}", [call.block]


def _new_order(call, _):
    given = tuple(call.kwargs.get("new_order", ()))
    text = f"The user provided block itervar index order {given} is not a valid permutation of [0, 1, ..., "
    return text + "num_block_iter_vars-1] in block {0}.", [call.block]


def _hidden(call, found):
    if "buffer type" in found[0]:
        text = "The buffer type for hide_buffer_access schedule should either be 'read' or 'write', got "
        return f"{text}{call.kwargs['buf_type']} instead.", []
    regions = call.block.reads if call.kwargs["buf_type"] == "read" else call.block.writes
    wrong = next((item for item in call.kwargs["buf_index_array"] if not 0 <= item < len(regions)), -1)
    text = "The buffer index array for hide_buffer_access schedule should be a list of integers between 0 and "
    return f"{text}{len(regions) - 1}, got {wrong} instead.", []


def _intrinsic(call, _):
    from .. import TensorIntrin

    desc = TensorIntrin.get(call.kwargs.get("tensor_intrin")).desc.body
    stmt = call.loop or call.block
    text = f"The stmt {{0}} doesn't match the tensor intrin\nThe pattern attempting to be matched:\n{stmt}\n"
    return f"{text}Does not match the tensorize description:\n{getattr(desc, 'block', desc)}\n", [stmt]


def _lambda(call):
    from .instruction import text

    return re.sub(r",\)$", ",)", text(call.kwargs["index_map"], str)) if call.kwargs.get("index_map") is not None else ""


def _buffer(call):
    kind, index = call.kwargs["buffer"]
    return (call.block.reads if kind == "read" else call.block.writes)[index].buffer


def _shape(extents):
    shown = ", ".join(str(extent) for extent in extents)
    return f"({shown}{',' if len(extents) == 1 else ''})"


def _introduced(call, _):
    buffer, mapped = _buffer(call), call.kwargs["index_map"]
    _, where = mapped.non_surjective_inverse(buffer.shape)
    text = f"The transformation {mapped} applied on buffer {buffer.name} of shape {_shape(buffer.shape)} would result in shape "
    text += f"{_shape(mapped.map_shape(buffer.shape))}.  However, this would introduce padding wherever {where} is true."
    return text, []


def _pad_type(call, found):
    text = f"ScheduleError: Buffer {_buffer(call).name} has elements of type T.{found[1]}, but the transformation fills padding with "
    return f"{text}{call.kwargs['pad_value']}, which is of type {found[2]}", []


def _about_block(text):
    return lambda call, _: (text, [call.block])


def _about_loop(text):
    return lambda call, _: (text, [call.loop])


_RULES = [
    (r"The scope root is not a stage pipeline", lambda call, _: (_PIPELINE, [call.scope(call.block)])),
    (r"Incomplete block: it violates condition #(\d+)",
     lambda call, found: (f"The block {{0}} is not a complete block - it violates condition #{found[1]}.\n{_WHOLE}",
                          [_producer(call) if call.method == "reverse_compute_inline" else call.block])),
    (r"Not a reduction block: it violates condition #(\d+)",
     lambda call, found: (f"The block {{0}} is not a reduction block - it violates condition #{found[1]}.\n{_REDUCTION}",
                          [call.block])),
    (r"Not a complete or reduction block: it violates condition #(\d+) of the first and #(\d+) of the second", _codes),
    (r"Cannot operate on an output block", _about_block("The block {0} is an output block")),
    (r"The block is required to have an \(partial\) affine binding",
     _about_block("The block {0} is required to have an affine binding")),
    (r"The binding values of the block are not variables of outer loops.",
     _about_block("The binding values of the {0} are not variables of outer loops.")),
    (r"The primitive only supports loop starting with 0",
     lambda call, _: ("The loop {0} does not start with 0, which is not supported",
                      [next((loop for loop in call.loops if str(loop.min) != "0"), call.loop)])),
    (r"The loop is required to have only one child block", _about_loop("The loop {0} is required to have only one child block")),
    (r"The input `buffer_index` is out of range.*", _index),
    (r"(?:RFactor cannot be applied to the block since the block does not meet the requirements): it violates condition #(\d+)",
     lambda call, found: (f"RFactor cannot be applied to block {{0}}, because the block violates condition #{found[1]}.\n{_RFACTOR}",
                          [call.block])),
    (r"(?:Cannot find a block with the name: .*)", lambda call, found: (found[0], [])),
    (r"Found (\d+) blocks with the name: (.*)", lambda call, found: (f"Found  {found[1]} blocks with the name: {found[2]}", [])),
    (r"only one factor can be specified as -1 or none", lambda *_: ("Only one factor can be specified as -1 or none", [])),
    (r"(The (?:product|sum) of factors is (?:not )?larger than or equal to the extent of loop)",
     lambda call, found: (f"{found[1]} {{0}}", [call.loop])),
    (r"All the constant factors are required to be positive.", _positive),
    (r"The min and extent values of the loop are required to be known.*",
     _about_loop("Detected dynamic shape in either min or extent of a loop {0}")),
    (r"(\w+) expect the loop to be an ancestor of block",
     lambda call, found: (f"ScheduleError: The input loop {{0}} of {found[1]} is required to be an ancestor of block {{1}}.",
                          [call.loop, call.block])),
    (r"The stmt doesn't match the tensor intrin.", _intrinsic),
    (r"The input `axis` is out of range.*", _align_axis),
    (r"The input buffer is not allocated by a block", _not_allocated),
    (r"The input `factor` of storage_align is expected to be a positive number.", _factor),
    (r"The buffer region accessed inside the block is not a single point.",
     _about_block("The buffer region accessed inside block {0} is not a single point")),
    (r"The target block is not a leaf block.", _about_block("The target block {0} is not a leaf block.")),
    (r"The scope root's region cover is not complete.", lambda call, _: (_COVER, [call.scope(call.block)])),
    (r"Not all required blocks are visited under the loop", _required),
    (r"Expected the block and loop to be under the same block scope, and loop not to be the ancestor of block",
     lambda call, _: ("ScheduleError: Expected the block {0} and loop {1} to be under the same block scope, and loop not to be the "
                      "ancestor of block", [call.block, call.loop])),
    (r"The block has init statement", _about_block("ScheduleError: The block has init statement: {0}")),
    (r"The block is allowed to (read|write) only a single buffer region", _regions),
    (r"The block cannot be inlined because its block body does not meet the requirement",
     lambda call, _: (_REVERSE_INLINE if "reverse" in call.method else _INLINE, [call.block])),
    (r"The consumer block to be inlined is required to have only a single producer block, and the producer block should be a "
     r"complete block who has only a single consumer",
     lambda call, _: ("The consumer block {0} to be inlined is required to have only a single producer block, and the producer block "
                      "should be a complete block who has only a single consumer", [_inlined_into(call)])),
    (r"The buffer to be inlined has opaque access or matched subregions",
     lambda call, _: ("The buffer to be inlined has opaque access (e.g. `B.data`), or its subregion is matched into other blocks: {0}",
                      [call.scope(call.block)])),
    (r"(?s)decompose_padding expect the block to match padding pattern\n  (.*)",
     lambda call, found: (f"ScheduleError: decompose_padding expect the block {{0}} to match padding pattern\n  {found[1]}", [call.block])),
    (r'The "parallel"/"vectorized"/"bind" loop.*', _parallel),
    (r"The block under the loops to be reordered have block iter type other than data-parallel or reduction",
     _about_block("The block {0} under the loops to be reordered have block iter type other than data-parallel or reduction")),
    (r"The primitive can't be applied because the loop has annotation or thread binding", _annotated),
    (r"The outer loop is not the parent of the inner loop",
     lambda call, _: ("The loops can't be fused because the outer loop {0} is not the parent of the inner loop {1}", _pair(call))),
    (r"The inner loop is not the only child of outer loop",
     lambda call, _: ("The loops can't be fused because the inner loop {1} is not the only child of outer loop {0}.", _pair(call))),
    (r"Some loop appears in the input array for multiple times.", _twice),
    (r"the loops are not in a chain", _chain),
    (r"The padding size for the block is invalid.", _padding),
    (r"The block is not a computation of Einsum pattern.", _about_block("The block {0} not a computation of Einsum pattern.")),
    (r"decompose_reduction expect the loop to be higher than all the loops related to reduce block var",
     lambda call, _: ("ScheduleError: decompose_reduction expect the loop {0} to be higher than all the loops related to reduce block "
                      "var of block {1}", [call.loop, call.block])),
    (r"The input loop of rfactor is required to be `kSerial`",
     lambda call, _: ("ScheduleError: The input loop {0} of rfactor is required to be `Serial`. However, the kind of {0} is "
                      f"`{_kind(call.loop)}`", [call.loop])),
    (r"The input `factor_axis` is out of range.*", _factor_axis),
    (r"The loop to be applied rfactor is required not to be touched by any data parallel block iter(?: of the block)?",
     _about_loop("The loop to be applied rfactor is {0}, which is required not to be touched by any data parallel block iter of the "
                 "block below. However, some of the block's data parallel block iters touch this loop")),
    (r"The reduction block should be the first child block of the outermost loop outside of it",
     lambda call, _: ("The first child block of the outermost loop {0} is not the reduction block.", _outermost(call))),
    (r"The specified reorder indices are invalid.", _new_order),
    (r"The target block is required to have only RAW dependencies",
     _about_block("The target block {0} is required to have only RAW dependencies")),
    (r"Invalid buffer (?:type|index array) for hide_buffer_access schedule.", _hidden),
    (r"The buffer is allowed to be written by single block.", _writers),
    (r"The index map is not bijective affine.",
     lambda call, _: (f"The index map {_lambda(call)} is not bijective affine.", [])),
    (r"The index map can't be applied to block iters because the number of parameters mismatch.",
     lambda call, _: (f"The index map {_lambda(call)} can't be applied to block iters of {{0}} because the number of parameters "
                      f"mismatch. Expected: {len(call.kwargs['index_map'].initial_indices)}, actual: {len(call.block.iter_vars)}",
                      [call.block])),
    (r"rolling_buffer injection is invalid, .*",
     lambda call, _: ("rolling_buffer injection is invalid. The block {0} should be tiled so that the lca of the access location of "
                      f"the target buffer {call.block.writes[call.kwargs['write_buffer_index']].buffer.name} is a for loop. ",
                      [call.block])),
    (r"Transformation would introduce padding.*", _introduced),
    (r"Type mismatch (\S+) vs (\S+)", _pad_type),
    (r"The bindings of the inner block can not be blockized.",
     lambda call, _: ("ScheduleError: The bindings of the inner block {0} can not be blockized by the loops starting at {1}.",
                      [call.block, call.loop])),
    (r"The target block does not both read & write target buffer.",
     lambda call, _: ("The target block {0} does not both read & write target buffer ir.Var#1.", [call.block])),
    (r"Cannot remove the only leaf in the scope", _leaf),
]  # fmt: skip


def _kind(loop):
    names = {0: "serial", 1: "parallel", 2: "vectorized", 3: "unroll", 4: "thread_binding"}
    return names.get(int(loop.kind), "serial")


def _outermost(call):
    loops = [call.loop]
    for outer in call.around(call.loop):
        if not isinstance(outer, For):
            break
        loops.append(outer)
    return loops[-1:]


def rendered(schedule, method, args, kwargs, message):
    """The whole message of a refusal, of which the engine said the short form."""
    short = message.removeprefix("ScheduleError: ")
    call = Refused(schedule, method, args, kwargs)
    if short.startswith(_BARE):
        return short
    detail, places = short, []
    for pattern, rule in _RULES:
        found = re.fullmatch(pattern, short)
        if found is not None:
            try:
                detail, places = rule(call, found)
            except (AttributeError, IndexError, KeyError, StopIteration, ImportError, TypeError):
                detail, places = short, []
            break
    names = {}
    for at, place in enumerate(places):
        name = f"{'tirx' if isinstance(place, (For, SeqStmt)) else 's_tir'}.{type(place).__name__}#{at}"
        detail = detail.replace(f"{{{at}}}", name)
        names[place] = name
    here = [place for place in places if isinstance(place, (For, SBlock, SBlockRealize))]
    text = schedule.mod.script(syntax_sugar=False, obj_to_underline=here, obj_to_annotate={place: names[place] for place in here})
    primitive = _PRIMITIVES.get(method, method.replace("_", "-"))
    head = f"ScheduleError: An error occurred in the schedule primitive '{primitive}'.\n\nThe IR with diagnostic is:\n"
    return f"{head}{text}\nError message: {detail}"
