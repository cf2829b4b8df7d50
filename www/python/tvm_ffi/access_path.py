"""Paths from a thing to a part of it."""


class AccessPath:
    """A path."""

    def __init__(self, steps=()):
        self.steps = tuple(steps)

    @staticmethod
    def root():
        """The path to the thing itself."""
        return AccessPath()

    def attr(self, name):
        """On to a field."""
        return AccessPath((*self.steps, f".{name}"))

    def array_item(self, index):
        """On to an element."""
        return AccessPath((*self.steps, f"[{index}]"))

    def map_item(self, key):
        """On to the value of a key."""
        return AccessPath((*self.steps, f"[{key!r}]"))

    def __eq__(self, other):
        return isinstance(other, AccessPath) and self.steps == other.steps

    def __hash__(self):
        return hash(self.steps)

    def __repr__(self):
        return "<root>" + "".join(self.steps)
