"""`T`: tensor programs, call by call."""

from ...error import InternalError
from ...ir.expr import Range, Var
from ...tirx import stmt as _stmt
from ...tirx.buffer import decl_buffer as _new_buffer, is_buffer_var
from ...tirx.expr import CommReducer, IntImm, IterVar, convert
from .. import tirx as _words
from ._complete import DETECT, complete
from .base import Frame, IRBuilder, innermost, known
from .ir import IRModuleFrame


class TIRFrame(Frame):
    """A construct around statements."""

    def opened(self):
        """The value that `with` binds."""
        self.stmts = []
        return self.bound()

    def bound(self):
        """The value that `with` binds."""
        return self

    def add(self, stmt):
        """Adds a statement."""
        self.stmts.append(stmt)

    def body(self):
        """The statements as one."""
        return _stmt.stmt_seq(*self.stmts) if self.stmts else _stmt.Evaluate(0)

    def close(self):
        """Makes the construct."""
        self.give(self.made(self.body()))


def _buffer(*args, **options):
    frames = IRBuilder.current().frames if IRBuilder.is_in_scope() else ()
    if any(isinstance(frame, PrimFuncFrame) and frame.options.get("s_tir") for frame in frames):
        # A program that is scheduled has buffers without layouts.
        options.setdefault("layout", None)
    if "align" in options:
        options["data_alignment"] = options.pop("align")
    return _new_buffer(*args, **options)


def Buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=-1, offset_factor=0, *args, **options):  # noqa: N802
    """A buffer that nothing declares."""
    return _buffer(shape, dtype, "buffer", data, strides, elem_offset, scope, align, offset_factor, *args, **options)


def _add(stmt):
    builder = IRBuilder.current()
    if builder.span is not None:
        stmt.span = builder.span
    if builder.frames:
        builder.frames[-1].add(stmt)
    else:
        builder._made = stmt


class PrimFuncFrame(TIRFrame):
    """A tensor program that is being built."""

    def __init__(self, is_private, options):
        self.private, self.options = is_private, options
        self.name, self.params, self.attrs, self.ret = None, [], {}, None
        self.allocated, self.threads = [], {}

    def close(self):
        """Makes the program."""
        from ...tirx.function import PrimFunc

        attrs = dict(self.attrs)
        if self.name is not None and not self.private:
            attrs["global_symbol"] = self.name
        attrs.update({key: value for key, value in self.options.items() if value})
        body = complete(self.params, self.body(), self.allocated) if self.options.get("s_tir") else self.body()
        func = PrimFunc(self.params, body, self.ret, None, attrs)
        self.give((self.name, func) if isinstance(self.parent, IRModuleFrame) else func)


def prim_func(is_private=False, s_tir=False, persistent=False, *, private=None):
    """Opens a tensor program."""
    return PrimFuncFrame(is_private if private is None else private, {"s_tir": s_tir, "tirx.persistent_kernel": persistent})


def _within(kind, word, place):
    """The last open frame, which has to be of a kind for a word that stands at its top."""
    frames = IRBuilder.current().frames
    if frames and isinstance(frames[-1], kind):
        return frames[-1]
    known = next((frame for frame in reversed(frames) if isinstance(frame, kind)), None)
    where = f"occurred outside of any {place} frame" if known is None else "occurred in another frame"
    raise ValueError(f"{word} must be called at the top of a {'PrimFunc' if kind is PrimFuncFrame else place}, but {word} {where}")


def _once(value, what):
    """Raises if a part of a construct is given twice."""
    if value is not None:
        raise InternalError(f"ValueError: Duplicate {what}, previous one is {_shown(value)}")


def _shown(value):
    return str(tuple(value)) if isinstance(value, list) else repr(value) if not isinstance(value, str) else value


def _function():
    return innermost(PrimFuncFrame, "T.prim_func()")


def func_name(name):
    """Names the program."""
    frame = _within(PrimFuncFrame, "T.func_name", "T.prim_func()")
    _once(frame.name, "prim func name")
    frame.name = name


def arg(name, obj):
    """Adds a parameter: a variable or a buffer."""
    frame = _within(PrimFuncFrame, "T.Arg", "T.prim_func()")
    obj.name = name
    frame.params.append(obj)
    return obj


def func_attr(attrs):
    """Adds attributes to the program."""
    _within(PrimFuncFrame, "T.func_attr", "T.prim_func()").attrs.update(attrs)


def func_ret(ret_type):
    """Sets the type of the result."""
    frame = _within(PrimFuncFrame, "T.func_ret", "T.prim_func()")
    _once(frame.ret, "prim func return type")
    frame.ret = ret_type


class BlockFrame(TIRFrame):
    """A block that is being built."""

    def __init__(self, name, no_realize):
        self.name, self.no_realize = name, no_realize
        self.axes, self.values, self.read, self.written = [], [], None, None
        self.allocated, self.matched, self.annotations, self.init, self.predicate = [], [], {}, None, None

    def made(self, body):
        """The block."""
        missing = (self.read is None) + 2 * (self.written is None)
        if missing:
            self.annotations[DETECT] = IntImm("int64", missing)
        block = _stmt.SBlock(self.axes, self.read or (), self.written or (), self.name, body, self.init, self.allocated, self.matched, self.annotations)
        if self.no_realize:
            return block
        return _stmt.SBlockRealize(self.values, IntImm("bool", 1) if self.predicate is None else self.predicate, block)


def sblock(name="", no_realize=False, exec_scope=""):
    """Opens a block."""
    return BlockFrame(name, no_realize)


block = sblock


def _block():
    return innermost(BlockFrame, "T.sblock()")


def _region(value):
    if is_buffer_var(value):
        return _stmt.BufferRegion(value, [Range.from_min_extent(0, extent) for extent in value.shape])
    if hasattr(value, "region"):
        return value
    return _stmt.BufferRegion(value.buffer, [Range.from_min_extent(index, 1) for index in value.indices])


def _regions(slices):
    flat = slices[0] if len(slices) == 1 and isinstance(slices[0], (list, tuple)) else slices
    return [_region(item) for item in flat]


def reads(*buffer_slices):
    """Says what the block reads."""
    frame = _within(BlockFrame, "T.reads", "T.sblock()")
    _once(frame.read, "read region declaration")
    frame.read = _regions(buffer_slices)


def writes(*buffer_slices):
    """Says what the block writes."""
    frame = _within(BlockFrame, "T.writes", "T.sblock()")
    _once(frame.written, "write region declaration")
    frame.written = _regions(buffer_slices)


def where(predicate):
    """Says when the block runs."""
    frame = _within(BlockFrame, "T.where", "T.sblock()")
    _once(frame.predicate, "block predicate declaration")
    frame.predicate = predicate


def sblock_attr(attrs):
    """Annotates the block."""
    _block().annotations.update(attrs)


block_attr = sblock_attr


def sblock_alloc_buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", **options):
    """A buffer of the block, or of the program's root."""
    made = _buffer(shape, dtype, "buffer", data, strides, elem_offset, scope)
    innermost((BlockFrame, PrimFuncFrame), "T.sblock() or T.prim_func()").allocated.append(made)
    return made


class _Init(TIRFrame):
    def opened(self):
        _within_parent(self, BlockFrame, "T.init must be called at the top of a T.sblock(), but T.init occurred outside of any T.sblock() frame")
        return super().opened()

    def close(self):
        _block().init = self.body()


def init():
    """Opens what the block does before a reduction."""
    return _Init()


class axis:  # noqa: N801
    """Variables of a block."""

    @staticmethod
    def _made(dom, binding, kind, dtype):
        frames = IRBuilder.current().frames
        if not frames or not isinstance(frames[-1], BlockFrame):
            raise InternalError("TypeError: The last frame is not SBlockFrame")
        dom = dom if isinstance(dom, Range) else Range(0, dom)
        var = Var("v", dom.extent.dtype if hasattr(dom.extent, "dtype") else dtype)
        frame = frames[-1]
        frame.axes.append(IterVar(dom, var, kind))
        frame.values.append(convert(binding))
        return var

    @staticmethod
    def spatial(dom, binding, dtype="int32"):
        """A variable whose values are independent of each other."""
        return axis._made(dom, binding, IterVar.DataPar, dtype)

    S = spatial

    @staticmethod
    def reduce(dom, binding, dtype="int32"):
        """A variable along which the block reduces."""
        return axis._made(dom, binding, IterVar.CommReduce, dtype)

    R = reduce

    @staticmethod
    def opaque(dom, binding, dtype="int32"):
        """A variable of which nothing is known."""
        return axis._made(dom, binding, IterVar.Opaque, dtype)

    @staticmethod
    def scan(dom, binding, dtype="int32"):
        """A variable whose values come in order."""
        return axis._made(dom, binding, IterVar.Ordered, dtype)

    @staticmethod
    def remap(kinds, bindings, dtype="int32"):
        """Variables that are loops', with the loops' ranges."""
        ranges = {}
        for frame in IRBuilder.current().frames:
            if isinstance(frame, ForFrame):
                ranges.update(zip(frame.vars, frame.doms))
        if not all(isinstance(var, Var) for var in bindings):
            raise InternalError("Check failed: (v) is false: TypeError: Only Var is supported in T.axis.remap")
        made = [(axis.spatial if kind == "S" else axis.reduce)(ranges[var], var, dtype) for kind, var in zip(kinds, bindings)]
        return made[0] if len(made) == 1 else made


class ForFrame(TIRFrame):
    """Loops that are being built."""

    def __init__(self, doms, kind, thread=None, annotations=None, step=None):
        self.doms = [dom if isinstance(dom, Range) else Range(0, dom) for dom in doms]
        self.vars = [Var("v", dom.extent.dtype) for dom in self.doms]
        self.kind, self.thread, self.annotations, self.step = kind, thread, annotations, step

    def bound(self):
        """The variables of the loops."""
        return self.vars[0] if len(self.vars) == 1 else self.vars

    def made(self, body):
        """The loops."""
        for var, dom in zip(reversed(self.vars), reversed(self.doms)):
            thread = IterVar(None, Var("", var.dtype), IterVar.ThreadIndex, self.thread) if self.thread else None
            body = _stmt.For(var, dom.min, dom.extent, self.kind, body, thread, self.annotations, self.step)
        return body


def _loop(kind):
    def loop(start, stop=None, *, annotations=None, step=None):
        """Opens a loop."""
        return ForFrame([Range(0, start) if stop is None else Range(start, stop)], kind, None, annotations, step)

    return loop


serial, parallel = _loop(_stmt.ForKind.SERIAL), _loop(_stmt.ForKind.PARALLEL)
vectorized, unroll = _loop(_stmt.ForKind.VECTORIZED), _loop(_stmt.ForKind.UNROLLED)


def thread_binding(start, stop=None, thread=None, *, annotations=None):
    """Opens a loop over threads."""
    return ForFrame([Range(0, start) if stop is None else Range(start, stop)], _stmt.ForKind.THREAD_BINDING, thread, annotations)


def grid(*extents):
    """Opens loops within each other."""
    return ForFrame(extents, _stmt.ForKind.SERIAL)


class _Wrap(TIRFrame):
    """A construct that a function makes of its body."""

    def __init__(self, make):
        self.made = make


def attr(node, attr_key, value):
    """Opens an attribute of statements."""
    node = _words.StringImm(node) if isinstance(node, str) else node
    value = _words.StringImm(value) if isinstance(value, str) else value
    return _Wrap(lambda body: _stmt.AttrStmt(node, attr_key, value, body))


def env_thread(thread_tag, dtype="int32"):
    """A variable for a thread, whose extent `launch_thread` says."""
    made = Var("", dtype)
    _function().threads[made] = thread_tag
    return made


class _Launch(TIRFrame):
    def __init__(self, iter_var, extent):
        self.iter_var, self.extent = iter_var, extent

    def bound(self):
        return self.iter_var.var

    def made(self, body):
        return _stmt.AttrStmt(self.iter_var, "thread_extent", self.extent, body)


def launch_thread(thread, extent):
    """Opens what so many threads do."""
    extent = convert(extent)
    var = env_thread(thread, extent.dtype) if isinstance(thread, str) else thread
    tag = _function().threads.get(var)
    if tag is None:
        raise ValueError(f"{var} is no environment thread created using T.env_thread")
    return _Launch(IterVar(Range.from_min_extent(IntImm(extent.dtype, 0), extent), var, IterVar.ThreadIndex, tag), extent)


def While(condition):  # noqa: N802
    """Opens a loop with a condition."""
    return _Wrap(lambda body: _stmt.While(condition, body))


class _Assert(TIRFrame):
    def __init__(self, condition, message, error_kind):
        self.stmt = _stmt.AssertStmt(condition, error_kind, [message] if isinstance(message, str) else message)

    def close(self):
        self.give(_stmt.stmt_seq(self.stmt, *self.stmts))


def Assert(condition, message, error_kind="RuntimeError"):  # noqa: N802
    """Opens what follows a condition that has to hold."""
    return _Assert(condition, message, error_kind)


def _within_parent(frame, kind, message):
    """Raises unless a frame is opened within one of a kind."""
    if not any(isinstance(other, kind) for other in frame.builder.frames[:-1]):
        frame.builder.frames.pop()
        raise ValueError(message)


class _If(TIRFrame):
    then, other = None, None

    def add(self, stmt):
        """Refuses statements outside of the branches."""
        raise InternalError("stmt within IfThenElse frame should be either in ThenFrame or ElseFrame")

    def __init__(self, condition):
        self.condition = condition

    def close(self):
        if self.then is None:
            raise ValueError("T.If has no T.Then")
        self.give(_stmt.IfThenElse(self.condition, self.then, self.other))


class _Branch(TIRFrame):
    def __init__(self, part):
        self.part = part

    def opened(self):
        word = "else_" if self.part == "other" else "then_"
        _within_parent(self, _If, f"IfThenElse frame not find. Please ensure 'T.{word}' is called under T.if_()")
        return super().opened()

    def close(self):
        setattr(innermost(_If, "T.If()"), self.part, self.body())


def If(condition):  # noqa: N802
    """Opens a conditional."""
    return _If(convert(condition))


def Then():  # noqa: N802
    """Opens what happens if the condition holds."""
    return _Branch("then")


def Else():  # noqa: N802
    """Opens what happens otherwise."""
    return _Branch("other")


def evaluate(value):
    """Adds the evaluation of an expression."""
    _add(_stmt.Evaluate(value))


def buffer_store(buffer, value, indices, predicate=None):
    """Adds a store; the value becomes one of the type of the elements."""
    indices = indices if isinstance(indices, (list, tuple)) else [indices]
    _add(_stmt.BufferStore(buffer, _element(buffer, value, indices), indices, predicate))


def _element(buffer, value, indices):
    """A value as one that a buffer holds."""
    value = value.asobject() if hasattr(value, "asobject") else value
    if isinstance(value, (bool, int, float)):
        value = _words.const(value, "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32")
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype == "handle" or not hasattr(dtype, "lanes"):
        return value
    wanted = buffer.dtype
    if dtype.lanes != wanted.lanes:
        wanted = wanted.with_lanes(dtype.lanes)
    return value if dtype == wanted else _words.Cast(wanted, value) if not hasattr(value, "value") else value.astype(wanted)


def bind(value, ty=None, *, var=None):
    """Binds a value to a variable."""
    value = convert(value)
    var = Var("v", ty or value.dtype) if var is None else var
    _add(_stmt.Bind(var, value))
    return var


def alloc_buffer(shape, dtype="float32", scope="global", annotations=None, **options):
    """Allocates a buffer."""
    made = _buffer(shape, dtype, "buffer", scope=scope)
    _add(_stmt.AllocBuffer(made, annotations))
    return made


def decl_buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", **options):
    """Declares a buffer over memory that is there; without any it allocates some."""
    made = _buffer(shape, dtype, "buffer", data, strides, elem_offset, scope)
    _add(_stmt.AllocBuffer(made) if data is None else _stmt.DeclBuffer(made, data))
    return made


def match_buffer(param, shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", **options):
    """The buffer behind a parameter, or a part of another buffer."""
    made = _buffer(shape, dtype, "buffer", data, strides, elem_offset, scope, **options)
    if isinstance(param, Var) and not is_buffer_var(param):
        frame = _function()
        frame.params = [made if item is param else item for item in frame.params]
        made.name = param.name
    else:
        _block().matched.append(_stmt.MatchBufferRegion(made, _region(param)))
    return made


def ptr(dtype, storage_scope="global"):
    """A pointer."""
    return _words.handle(dtype, storage_scope)


def comm_reducer(combiner, identity):
    """A reduction of pairs of values."""
    names = combiner.__code__.co_varnames[: combiner.__code__.co_argcount]
    half = len(names) // 2
    values = [convert(value) for value in identity]
    args = [Var(name, values[at % half].dtype) for at, name in enumerate(names)]
    result = combiner(*args)
    return CommReducer(args[:half], args[half:], result if isinstance(result, (list, tuple)) else [result], values)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return known(_words, name, __name__)
