"""Statements."""

import enum

from .._codes import AttrNodeKind, AxisKind, StmtKind
from .._node import ATTRS, BUFFER, NONE, PRIM, STMT, SYMBOL, get, lazy, makers, maybe, name_of, row
from .._values import Array, DataType, Map, ProgramAttrs
from ..error import InternalError
from ..ir.base import Node
from ..ir.expr import Range, StringImm, Var, _SizeVar
from ..ir.type import PrimType, Type
from ._checks import check_loop, check_predicate, check_store
from .expr import IntImm, IterVar, _scalar


class Stmt(Node):
    """The base class of statements."""

    span = None

    def _begin(self, w, kind):
        w.number(kind)
        origin = self.__dict__.get("_from")
        w.out.append(NONE if origin is None or origin.__dict__.get("_s") is None else origin._s << 1)


class ForKind(enum.IntEnum):
    """The way in which the iterations of a loop run."""

    SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD_BINDING = 0, 1, 2, 3, 4


class SeqStmt(Stmt):
    """Statements one after the other."""

    def __init__(self, seq, span=None):
        self.seq = Array(seq)
        if any(isinstance(item, SeqStmt) for item in self.seq):
            flat = [part for item in self.seq for part in stmt_list(item)]
            self.seq = Array(part for part in flat if not (isinstance(part, Evaluate) and str(part.value) == "0"))
        if not self.seq:
            raise InternalError("Check failed: seq.size() != 0 (0 vs. 0) : An empty SeqStmt is prohibited.  To write a no-op, use Evaluate(0), or the result of SeqStmt::Flatten()")
        if len(self.seq) == 1:
            raise InternalError(
                "Check failed: seq.size() != 1 (1 vs. 1) : A SeqStmt of length 1 is prohibited.  Use the node "
                f"{self.seq[0]}directly, or for dynamic usage, normalize using SeqStmt::Flatten()"
            )

    @staticmethod
    def _of(seq):
        """A sequence of any length."""
        made = SeqStmt.__new__(SeqStmt)
        made.seq = Array(seq)
        return made

    def __getitem__(self, index):
        return self.seq[index]

    def __len__(self):
        return len(self.seq)

    size = property(lambda self: len(self.seq))

    def _row_s(self, w):
        self._begin(w, StmtKind.SEQ)
        for stmt in self.seq:
            w.refer(STMT, stmt)


class For(Stmt):
    """A loop."""

    def __init__(
        self,
        loop_var,
        min,
        extent,
        kind,
        body,
        thread_binding=None,
        annotations=None,
        step=None,
        span=None,
    ):  # noqa: A002
        self.loop_var = loop_var
        self.min, self.extent = _bound(min, loop_var), _bound(extent, loop_var)
        check_loop(loop_var, self.min, self.extent)
        self.kind = kind
        self.body = body
        self.thread_binding = thread_binding
        self.annotations = Map(annotations or {})
        self.step = None if step is None else _scalar(step, loop_var.dtype)

    def _row_s(self, w):
        self._begin(w, StmtKind.FOR)
        w.refer(SYMBOL, self.loop_var)
        w.refer(PRIM, self.min)
        w.refer(PRIM, self.extent)
        w.maybe(PRIM, self.step)
        w.number(self.kind)
        w.maybe_text(self.thread_binding.thread_tag if self.thread_binding is not None else None)
        w.maybe(ATTRS, ProgramAttrs.of(self, self.annotations))
        w.refer(STMT, self.body)


def _bound(value, loop_var):
    """An end of a loop in the type of its variable."""
    from .op import cast

    value = _scalar(value, loop_var.dtype)
    return cast(value, loop_var.dtype) if isinstance(value, IntImm) else value


class While(Stmt):
    """A loop as long as a condition holds."""

    def __init__(self, condition, body, span=None):
        self.condition, self.body = _scalar(condition), body

    def _row_s(self, w):
        self._begin(w, StmtKind.WHILE)
        w.refer(PRIM, self.condition)
        w.refer(STMT, self.body)


class IfThenElse(Stmt):
    """A condition with one or two branches."""

    def __init__(self, condition, then_case, else_case=None, span=None):
        self.condition, self.then_case, self.else_case = _scalar(condition), then_case, else_case

    def _row_s(self, w):
        self._begin(w, StmtKind.IF)
        w.refer(PRIM, self.condition)
        w.refer(STMT, self.then_case)
        w.maybe(STMT, self.else_case)


class Bind(Stmt):
    """A variable and its value, for what follows."""

    def __init__(self, var, value, body=None, span=None):
        self.var, self.value, self.body = var, _scalar(value), body
        if isinstance(var.ty, PrimType) and isinstance(self.value.ty, PrimType) and var.dtype != self.value.dtype:
            raise InternalError("Check failed: (ffi::StructuralEqual()(value->ty, var->ty)) is false: ")

    def _row_s(self, w):
        self._begin(w, StmtKind.BIND)
        w.refer(SYMBOL, self.var)
        w.refer(PRIM, self.value)


LetStmt = Bind


class AssertStmt(Stmt):
    """A check when the program runs."""

    def __init__(self, condition, error_kind=None, message_parts=(), span=None):
        self.condition = _scalar(condition)
        if self.condition.dtype.type_code != 6:
            raise InternalError(
                "Check failed: (condition_ty.MatchesCode(DLDataTypeCode::kDLBool)) is false: AssertStmt should have boolean condition, "
                f"but received {self.condition} with dtype T.{self.condition.dtype}"
            )
        self.error_kind = error_kind if isinstance(error_kind, StringImm) else StringImm(error_kind or "RuntimeError")
        self.message_parts = Array(part if isinstance(part, StringImm) else StringImm(part) for part in message_parts)

    def _row_s(self, w):
        self._begin(w, StmtKind.ASSERT)
        w.refer(PRIM, self.condition)
        w.text(self.error_kind.value)
        for part in self.message_parts:
            w.text(part.value)


class BufferStore(Stmt):
    """Writes an element of a buffer."""

    def __init__(self, buffer, value, indices, predicate=None, span=None):
        self.buffer, self.value = buffer, _scalar(value)
        self.indices = Array(_scalar(index) for index in indices)
        check_store(buffer, self.value, self.indices)
        if predicate is not None:
            check_predicate(predicate, self.value.dtype.lanes, "value dtype", "store a value")
        self.predicate = predicate

    def _row_s(self, w):
        if self.predicate is not None:
            raise NotImplementedError("a store with a mask is not here")
        self._begin(w, StmtKind.STORE)
        w.refer(BUFFER, self.buffer)
        w.refer(PRIM, self.value)
        for index in self.indices:
            w.refer(PRIM, index)


class AttrStmt(Stmt):
    """Says something about the statement inside."""

    def __init__(self, node, attr_key, value, body, span=None):
        self.node, self.attr_key, self.value, self.body = node, attr_key, _scalar(value), body

    def _row_s(self, w):
        self._begin(w, StmtKind.ATTR)
        if self.node is None:
            w.out.extend((AttrNodeKind.NOTHING, NONE, NONE))
        elif isinstance(self.node, IterVar):
            w.number(AttrNodeKind.THREAD)
            w.refer(SYMBOL, self.node.var)
            w.text(self.node.thread_tag)
        else:
            w.number(AttrNodeKind.PRIM)
            w.refer(PRIM, _scalar(self.node))
            w.number(NONE)
        w.text(self.attr_key)
        w.refer(PRIM, self.value)
        w.refer(STMT, self.body)


def _with_body(stmt, args, options, names):
    """Arguments by name. A body, which such a statement once had, is kept for Python alone, as in TVM."""
    if args and isinstance(args[0], Stmt):
        options, args = {"body": args[0]} | options, args[1:]
    if len(args) > len(names):
        raise TypeError(f"{type(stmt).__name__} takes a buffer and {', '.join(names)}")
    given = dict(zip(names, args)) | options
    unknown = given.keys() - {"body", *names}
    if unknown:
        raise TypeError(f"Unexpected keyword arguments for {type(stmt).__name__}: {unknown}")
    if given.get("body") is not None:
        stmt.body = given["body"]
    return given


class AllocBuffer(Stmt):
    """A buffer, for what follows."""

    def __init__(self, buffer, *args, **options):
        given = _with_body(self, args, options, ("annotations", "span"))
        self.buffer, self.annotations = buffer, Map(given.get("annotations") or {})

    def _row_s(self, w):
        self._begin(w, StmtKind.ALLOC)
        w.refer(BUFFER, self.buffer)
        w.maybe(ATTRS, ProgramAttrs.of(self, self.annotations))


class DeclBuffer(Stmt):
    """A buffer over memory that is there already, for what follows."""

    def __init__(self, buffer, *args, **options):
        data = _with_body(self, args, options, ("data", "span")).get("data")
        if data is None and buffer._data is None:
            raise TypeError("DeclBuffer requires a physical data binding")
        self.buffer = buffer if data is None else buffer._over(data)

    @property
    def data(self):
        """The pointer that the buffer lies behind."""
        self.buffer.scope()
        return self.buffer.data if self.buffer._data is None else self.buffer._data

    def _row_s(self, w):
        self._begin(w, StmtKind.DECLARE)
        w.refer(BUFFER, self.buffer)


class Evaluate(Stmt):
    """An expression for its effect."""

    def __init__(self, value, span=None):
        self.value = _scalar(value)

    def _row_s(self, w):
        self._begin(w, StmtKind.EVALUATE)
        w.refer(PRIM, self.value)


class Return(Stmt):
    """Ends the function."""

    def __init__(self, value, span=None):
        self.value = _scalar(value)

    def _row_s(self, w):
        self._begin(w, StmtKind.RETURN)
        w.refer(PRIM, self.value)


class Break(Stmt):
    """Ends the loop."""

    def _row_s(self, w):
        self._begin(w, StmtKind.BREAK)


class Continue(Stmt):
    """Goes on with the next iteration."""

    def _row_s(self, w):
        self._begin(w, StmtKind.CONTINUE)


class BufferRegionType(Type):
    """The type of parts of buffers."""

    def script(self, **options):
        """The text of it, as TVM prints it."""
        return "tirx.BufferRegionType(span=None)"


class BufferRegion(Node):
    """Part of a buffer."""

    source = property(lambda self: self.buffer)
    ty = property(lambda self: BufferRegionType())

    def __init__(self, buffer, region):
        self.buffer = buffer
        self.region = Array(item if isinstance(item, Range) else Range(*item) for item in region)

    @staticmethod
    def full_region(buffer):
        """All of a buffer."""
        return BufferRegion(buffer, [Range(0, extent) for extent in buffer.shape])

    def _structural(self):
        from .expr import BufferRef

        return [
            BufferRef(self.buffer),
            *[part for item in self.region for part in (item.min, item.extent)],
        ]

    def _write(self, w):
        w.refer(BUFFER, self.buffer)
        w.number(len(self.region))
        for item in self.region:
            w.refer(PRIM, item.min)
            one = isinstance(item.extent, IntImm) and item.extent.value == 1
            w.maybe(PRIM, None if one else item.extent)


class MatchBufferRegion(Node):
    """A buffer that is part of another one."""

    def __init__(self, buffer, source):
        self.buffer, self.source = buffer, source
        if isinstance(source, BufferRegion):
            from ._checks import check_match

            check_match(buffer, source)


class SBlock(Stmt):
    """A block of computation, with what it reads and writes."""

    def __init__(
        self,
        iter_vars,
        reads,
        writes,
        name_hint,
        body,
        init=None,
        alloc_buffers=None,
        match_buffers=None,
        annotations=None,
        span=None,
    ):
        self.iter_vars, self.reads, self.writes = Array(iter_vars), Array(reads), Array(writes)
        self.name_hint, self.body, self.init = name_hint, body, init
        self.alloc_buffers, self.match_buffers = (
            Array(alloc_buffers or ()),
            Array(match_buffers or ()),
        )
        self.annotations = Map(annotations or {})

    def _row_s(self, w):
        self._block(w, None, None)

    def _block(self, w, values, predicate):
        self._begin(w, StmtKind.BLOCK)
        w.text(self.name_hint)
        always = isinstance(predicate, IntImm) and predicate.value == 1
        w.maybe(PRIM, None if always else predicate)
        w.maybe(STMT, self.init)
        w.refer(STMT, self.body)
        w.number(values is None)
        w.maybe(ATTRS, ProgramAttrs.of(self, self.annotations))
        w.number(len(self.iter_vars))
        kinds = {0: 0, 2: 1, 3: 2}
        for index, item in enumerate(self.iter_vars):
            w.refer(SYMBOL, item.var)
            w.number(kinds.get(item.iter_type, 3))
            w.refer(PRIM, item.dom.min)
            w.refer(PRIM, item.dom.extent)
            w.maybe(PRIM, None if values is None else values[index])
        for regions in (self.reads, self.writes):
            w.number(len(regions))
            for region in regions:
                region._write(w)
        w.number(len(self.alloc_buffers))
        for buffer in self.alloc_buffers:
            w.refer(BUFFER, buffer)
        w.number(len(self.match_buffers))
        for match in self.match_buffers:
            w.refer(BUFFER, match.buffer)
            match.source._write(w)


class SBlockRealize(Stmt):
    """A block with the values of its variables."""

    def __init__(self, iter_values, predicate, block, span=None):
        self.iter_values = Array(_scalar(value) for value in iter_values)
        self.predicate = _scalar(predicate)
        self.block = block

    def _row_s(self, w):
        self.block._block(w, list(self.iter_values), self.predicate)


Block, BlockRealize = SBlock, SBlockRealize


def stmt_seq(*args):
    """Statements one after the other."""
    made = [arg if isinstance(arg, Stmt) else Evaluate(arg) for arg in args]
    return made[0] if len(made) == 1 else SeqStmt(made)


def stmt_list(stmt):
    """The statements of a sequence."""
    if isinstance(stmt, SeqStmt):
        return [item for part in stmt.seq for item in stmt_list(part)]
    return [stmt]


def _annotations(number):
    attrs = maybe(ATTRS, number)
    return Map() if attrs is None else Map(attrs.items())


class _Reader:
    def __init__(self, words, at):
        self.words, self.at = words, at

    def word(self):
        self.at += 1
        return self.words[self.at - 1]

    def region(self):
        buffer = get(BUFFER, self.word())
        ranges = []
        for _ in range(self.word()):
            low, extent = get(PRIM, self.word()), maybe(PRIM, self.word())
            ranges.append(Range.from_min_extent(low, IntImm(low.dtype, 1) if extent is None else extent))
        made = BufferRegion.__new__(BufferRegion)
        made.buffer, made.region = buffer, Array(ranges)
        return made


def _load(stmt):
    words = row(STMT, stmt._s)
    fields = stmt.__dict__
    match words[0]:
        case StmtKind.SEQ:
            fields["seq"] = Array(get(STMT, item) for item in words[1:])
        case StmtKind.FOR:
            fields["loop_var"] = get(SYMBOL, words[1])
            fields["min"], fields["extent"], fields["step"] = (
                get(PRIM, words[2]),
                get(PRIM, words[3]),
                maybe(PRIM, words[4]),
            )
            fields["kind"] = words[5]
            tag = None if words[6] == NONE else name_of(words[6])
            thread = None
            if tag is not None:
                thread = IterVar(None, Var("", fields["loop_var"].dtype), IterVar.ThreadIndex, tag)
            fields["thread_binding"] = thread
            fields["annotations"] = _annotations(words[7])
            fields["body"] = get(STMT, words[8])
        case StmtKind.BLOCK:
            _load_block(stmt, words)
        case StmtKind.STORE:
            fields["buffer"], fields["value"] = get(BUFFER, words[1]), get(PRIM, words[2])
            fields["indices"], fields["predicate"] = (
                Array(get(PRIM, item) for item in words[3:]),
                None,
            )
        case StmtKind.IF:
            fields["condition"], fields["then_case"] = get(PRIM, words[1]), get(STMT, words[2])
            fields["else_case"] = maybe(STMT, words[3])
        case StmtKind.WHILE:
            fields["condition"], fields["body"] = get(PRIM, words[1]), get(STMT, words[2])
        case StmtKind.BIND:
            fields["var"], fields["value"] = get(SYMBOL, words[1]), get(PRIM, words[2])
        case StmtKind.ATTR:
            if words[1] == AttrNodeKind.PRIM:
                fields["node"] = get(PRIM, words[2])
            elif words[1] == AttrNodeKind.NOTHING:
                fields["node"] = None
            else:
                extent = get(PRIM, words[5])
                dom = Range.from_min_extent(IntImm(extent.dtype, 0), extent) if name_of(words[4]) == "thread_extent" else None
                fields["node"] = IterVar(dom, get(SYMBOL, words[2]), IterVar.ThreadIndex, name_of(words[3]))
            fields["attr_key"], fields["value"] = name_of(words[4]), get(PRIM, words[5])
            fields["body"] = get(STMT, words[6])
        case StmtKind.ALLOC:
            fields["buffer"], fields["annotations"] = get(BUFFER, words[1]), _annotations(words[2])
        case StmtKind.DECLARE:
            fields["buffer"] = get(BUFFER, words[1])
        case StmtKind.ASSERT:
            fields["condition"] = get(PRIM, words[1])
            fields["error_kind"] = StringImm(name_of(words[2]))
            fields["message_parts"] = Array(StringImm(name_of(item)) for item in words[3:])
        case StmtKind.EVALUATE | StmtKind.RETURN:
            fields["value"] = get(PRIM, words[1])


_AXES = {
    AxisKind.SPATIAL: IterVar.DataPar,
    AxisKind.REDUCE: IterVar.CommReduce,
    AxisKind.SCAN: IterVar.Ordered,
    AxisKind.OPAQUE: 4,
}


def _load_block(stmt, words):
    bare = words[5] != 0
    block = stmt if bare else SBlock.__new__(SBlock)
    fields = block.__dict__
    fields["name_hint"] = name_of(words[1])
    fields["init"], fields["body"] = maybe(STMT, words[3]), get(STMT, words[4])
    fields["annotations"] = _annotations(words[6])
    read = _Reader(words, 7)
    iters, values = Array(), Array()
    for _ in range(read.word()):
        var, kind = get(SYMBOL, read.word()), read.word()
        low, extent, value = (
            get(PRIM, read.word()),
            get(PRIM, read.word()),
            maybe(PRIM, read.word()),
        )
        kind = _AXES[kind]
        iters.append(IterVar(Range.from_min_extent(low, extent), var, kind))
        values.append(value)
    fields["iter_vars"] = iters
    for name in ("reads", "writes"):
        fields[name] = Array(read.region() for _ in range(read.word()))
    fields["alloc_buffers"] = Array(get(BUFFER, read.word()) for _ in range(read.word()))
    matches = Array()
    for _ in range(read.word()):
        buffer = get(BUFFER, read.word())
        matches.append(MatchBufferRegion(buffer, read.region()))
    fields["match_buffers"] = matches
    if not bare:
        stmt.__dict__["block"] = block
        stmt.__dict__["iter_values"] = values
        predicate = maybe(PRIM, words[2])
        stmt.__dict__["predicate"] = IntImm("bool", 1) if predicate is None else predicate


_CLASSES = {
    StmtKind.SEQ: SeqStmt,
    StmtKind.FOR: For,
    StmtKind.STORE: BufferStore,
    StmtKind.IF: IfThenElse,
    StmtKind.WHILE: While,
    StmtKind.BIND: Bind,
    StmtKind.ATTR: AttrStmt,
    StmtKind.ALLOC: AllocBuffer,
    StmtKind.DECLARE: DeclBuffer,
    StmtKind.ASSERT: AssertStmt,
    StmtKind.EVALUATE: Evaluate,
    StmtKind.RETURN: Return,
    StmtKind.BREAK: Break,
    StmtKind.CONTINUE: Continue,
}


def _make(number, words):
    cls = (SBlock if words[5] else SBlockRealize) if words[0] == StmtKind.BLOCK else _CLASSES[words[0]]
    return lazy(cls, STMT, number, _load)


makers[STMT] = _make
_ = _SizeVar
