"""Paths from a thing to a part of it."""

from enum import IntEnum

from tvm._node import Object


class AccessKind(IntEnum):
    """The kind of a step."""

    ATTR, ARRAY_ITEM, MAP_ITEM, ATTR_MISSING, ARRAY_ITEM_MISSING, MAP_ITEM_MISSING = range(6)


class AccessStep(Object):
    """A step from a thing to a part of it."""

    def __init__(self, kind, key):
        self.kind, self.key = kind, key

    def __repr__(self):
        key = f'"{self.key}"' if isinstance(self.key, str) else repr(self.key)
        if self.kind == AccessKind.ATTR:
            return f".{self.key}"
        return f"[{key}]" if self.kind < AccessKind.ATTR_MISSING else f"[<missing:{key}>]"

    def __eq__(self, other):
        return isinstance(other, AccessStep) and (self.kind, self.key) == (other.kind, other.key)

    def __hash__(self):
        return hash((self.kind, self.key))


class AccessPath(Object):
    """A path."""

    def __init__(self, steps=()):
        self.steps = tuple(steps)

    @staticmethod
    def root():
        """The path to the thing itself."""
        return AccessPath()

    @property
    def parent(self):
        """The path without its last step; None for that to the thing itself."""
        return AccessPath(self.steps[:-1]) if self.steps else None

    @property
    def step(self):
        """The last step; None in the path to the thing itself."""
        return self.steps[-1] if self.steps else None

    @property
    def depth(self):
        """The number of steps."""
        return len(self.steps)

    def to_steps(self):
        """The steps in order."""
        return list(self.steps)

    def is_prefix_of(self, other):
        """True if another path begins like this one."""
        return other.steps[: len(self.steps)] == self.steps

    def _with(self, kind, key):
        return AccessPath((*self.steps, AccessStep(kind, key)))

    def attr(self, name):
        """On to a field."""
        return self._with(AccessKind.ATTR, name)

    def attr_missing(self, name):
        """On to a field that is not there."""
        return self._with(AccessKind.ATTR_MISSING, name)

    def array_item(self, index):
        """On to an element."""
        return self._with(AccessKind.ARRAY_ITEM, index)

    def array_item_missing(self, index):
        """On to an element that is not there."""
        return self._with(AccessKind.ARRAY_ITEM_MISSING, index)

    def map_item(self, key):
        """On to the value of a key."""
        return self._with(AccessKind.MAP_ITEM, key)

    def map_item_missing(self, key):
        """On to the value of a key that is not there."""
        return self._with(AccessKind.MAP_ITEM_MISSING, key)

    def __eq__(self, other):
        return isinstance(other, AccessPath) and self.steps == other.steps

    def __hash__(self):
        return hash(self.steps)

    def __repr__(self):
        return "<root>" + "".join(map(repr, self.steps))
