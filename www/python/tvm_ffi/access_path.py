"""Paths from a thing to a part of it."""


def _key(key):
    return f'"{key}"' if isinstance(key, str) else repr(key)


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

    def array_item_missing(self, index):
        """On to an element that is not there."""
        return AccessPath((*self.steps, f"[<missing:{index}>]"))

    def map_item_missing(self, key):
        """On to the value of a key that is not there."""
        return AccessPath((*self.steps, f"[<missing:{_key(key)}>]"))

    def map_item(self, key):
        """On to the value of a key."""
        return AccessPath((*self.steps, f"[{_key(key)}]"))

    def __eq__(self, other):
        return isinstance(other, AccessPath) and self.steps == other.steps

    def __hash__(self):
        return hash(self.steps)

    def __repr__(self):
        return "<root>" + "".join(self.steps)
