"""The builder, and the frames that are open in it."""

from contextlib import contextmanager

from .._names import Word


class IRBuilder:
    """Holds the open frames, and the result of the outermost one."""

    _open = []

    def __init__(self):
        self.frames = []
        self.span = None
        self._made = None

    def __enter__(self):
        IRBuilder._open.append(self)
        return self

    def __exit__(self, kind, value, trace):
        IRBuilder._open.pop()

    def same_as(self, other):
        """True if it is the very same builder."""
        return self is other

    @staticmethod
    def current():
        """The innermost builder."""
        if not IRBuilder._open:
            raise ValueError("Check failed: (!stack->empty()) is false: ValueError: No builder in current scope")
        return IRBuilder._open[-1]

    @staticmethod
    def is_in_scope():
        """True within a builder."""
        return bool(IRBuilder._open)

    @contextmanager
    def with_source_span(self, span):
        """Gives the statements that are added meanwhile a place in a text."""
        before, self.span = self.span, span
        try:
            yield self
        finally:
            self.span = before

    def get(self):
        """The module, function or statement that was built."""
        if self._made is None:
            raise IndexError("Check failed: (result.has_value()) is false: No result exists in IRBuilder yet")
        return self._made

    @staticmethod
    def name(s, v):
        """Names a variable, a buffer or several of them."""
        if isinstance(v, (list, tuple)):
            for at, item in enumerate(v):
                IRBuilder.name(f"{s}_{at}", item)
            return v
        frame = IRBuilder.current().frames
        namer = next((open_.rename for open_ in reversed(frame) if hasattr(open_, "rename")), None)
        if namer is None or not namer(s, v):
            getattr(v, "asobject", lambda: v)().name = s
        return v

    @staticmethod
    def name_many(s, vs):
        """Names several variables."""
        return [IRBuilder.name(name, value) for name, value in zip(s, vs, strict=True)]


def known(words, name, module):
    """The meaning of a name outside of builders, unless it is only a word of a text."""
    found = getattr(words, name)
    if type(found) is Word:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return found


class Frame:
    """A construct whose parts are built while it is open."""

    def __enter__(self):
        self.builder = IRBuilder.current()
        self.parent = self.builder.frames[-1] if self.builder.frames else None
        self.builder.frames.append(self)
        return self.opened()

    def __exit__(self, kind, value, trace):
        self.builder.frames.pop()
        if kind is None:
            self.close()

    def opened(self):
        """The value that `with` binds."""
        return self

    def close(self):
        """Gives what was built to the frame around it."""

    def give(self, made):
        """Gives something to the frame around this one, or to the builder."""
        if self.parent is None:
            self.builder._made = made
        else:
            self.parent.add(made)


IRBuilderFrame = Frame


def innermost(kind, what):
    """The innermost open frame of a kind."""
    found = next((frame for frame in reversed(IRBuilder.current().frames) if isinstance(frame, kind)), None)
    if found is None:
        kind = kind[0] if isinstance(kind, tuple) else kind
        raise ValueError(f"{kind.__name__} frame not find. Please ensure it is called under {what}")
    return found
