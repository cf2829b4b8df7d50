"""Paths from a thing to a part of it, as TVM 0.19 has them."""

import re

from .._node import Object

__all__ = (
    "ArrayIndexPath",
    "AttributeAccessPath",
    "MapValuePath",
    "MissingArrayElementPath",
    "MissingMapEntryPath",
    "ObjectPath",
    "ObjectPathPair",
    "RootPath",
    "UnknownAttributeAccessPath",
)


class ObjectPath(Object):
    """A path: a step, and the path to where it is taken."""

    def __init__(self):
        raise ValueError("ObjectPath can't be initialized directly. Use ObjectPath.root() to create a path to the root object")

    @classmethod
    def _of(cls, parent, key=None):
        made = cls.__new__(cls)
        made.parent, made._key = parent, key
        return made

    @staticmethod
    def root(root_name=None):
        """The path to the thing itself, which may have a name."""
        return RootPath._of(None, root_name)

    def attr(self, attr_key):
        """On to a field; None is one that is not known."""
        return UnknownAttributeAccessPath._of(self) if attr_key is None else AttributeAccessPath._of(self, attr_key)

    def array_index(self, index):
        """On to an element."""
        return ArrayIndexPath._of(self, int(index))

    def missing_array_element(self, index):
        """On to an element that is not there."""
        return MissingArrayElementPath._of(self, int(index))

    def map_value(self, key):
        """On to the value of a key."""
        return MapValuePath._of(self, key)

    def missing_map_entry(self):
        """On to an entry that is not there."""
        return MissingMapEntryPath._of(self)

    def _steps(self):
        steps = []
        while self is not None:
            steps.append(self)
            self = self.parent
        return steps[::-1]

    def __len__(self):
        return len(self._steps())

    def get_prefix(self, length):
        """The path of the first steps."""
        steps = self._steps()
        if length < 1:
            raise IndexError("Prefix length must be at least 1")
        if length > len(steps):
            raise IndexError("Attempted to get a prefix longer than the path itself")
        return steps[length - 1]

    def is_prefix_of(self, other):
        """True if another path begins with this one."""
        return len(self) <= len(other) and self == other.get_prefix(len(self))

    def _same_step(self, other):
        return type(self) is type(other) and self._key == other._key

    def __eq__(self, other):
        if not isinstance(other, ObjectPath):
            return False
        mine, others = self._steps(), other._steps()
        return len(mine) == len(others) and all(a._same_step(b) for a, b in zip(mine, others))

    def __ne__(self, other):
        return not self == other

    __hash__ = Object.__hash__

    def __repr__(self):
        return "".join(step._text() for step in self._steps())

    __str__ = __repr__


class RootPath(ObjectPath):
    """The thing itself."""

    def _text(self):
        return self._key or "<root>"


class AttributeAccessPath(ObjectPath):
    """A field."""

    def _text(self):
        return f".{self._key}"


class UnknownAttributeAccessPath(ObjectPath):
    """A field that is not known; no two of them are the same."""

    def _text(self):
        return ".<unknown attribute>"

    def _same_step(self, other):
        return self is other


class ArrayIndexPath(ObjectPath):
    """An element."""

    def _text(self):
        return f"[{self._key}]"


class MissingArrayElementPath(ObjectPath):
    """An element that is not there."""

    def _text(self):
        return f"[<missing element #{self._key}>]"


class MapValuePath(ObjectPath):
    """The value of a key."""

    def _text(self):
        return f'["{self._key}"]' if isinstance(self._key, str) else f"[{self._key}]"


class MissingMapEntryPath(ObjectPath):
    """An entry that is not there."""

    def _text(self):
        return "[<missing entry>]"


class ObjectPathPair(Object):
    """The paths to what differs in two things."""

    def __init__(self, lhs_path, rhs_path):
        self.lhs_path, self.rhs_path = lhs_path, rhs_path

    def __iter__(self):
        return iter((self.lhs_path, self.rhs_path))

    def __getitem__(self, at):
        return (self.lhs_path, self.rhs_path)[at]

    def __len__(self):
        return 2

    def __eq__(self, other):
        return isinstance(other, ObjectPathPair) and tuple(self) == tuple(other)

    __hash__ = Object.__hash__


def mismatch(lhs, rhs, differ, path=None):
    """The paths to the first difference of two things, or None; `differ` compares what are no lists or dictionaries."""
    here = (path, path) if path is not None else (ObjectPath.root(), ObjectPath.root())
    if isinstance(lhs, (list, tuple)) and isinstance(rhs, (list, tuple)):
        for at, (a, b) in enumerate(zip(lhs, rhs)):
            found = mismatch(a, b, differ, here[0].array_index(at))
            if found is not None:
                return found
        shorter = min(len(lhs), len(rhs))
        sides = [here[0].missing_array_element(shorter), here[0].array_index(shorter)]
        return _sides(sides, len(lhs) - len(rhs))
    if isinstance(lhs, dict) and isinstance(rhs, dict):
        for key in lhs:
            if key in rhs:
                found = mismatch(lhs[key], rhs[key], differ, here[0].map_value(key))
                if found is not None:
                    return found
        more = [key for key in rhs if key not in lhs]
        if more:
            return ObjectPathPair(here[0].missing_map_entry(), here[0].map_value(more[0]))
        more = [key for key in lhs if key not in rhs]
        return ObjectPathPair(here[0].map_value(more[0]), here[0].missing_map_entry()) if more else None
    found = differ(lhs, rhs)
    return None if found is None else ObjectPathPair(*[_within(side, found) for side in here])


def _sides(sides, difference):
    if difference == 0:
        return None
    return ObjectPathPair(*(sides if difference < 0 else sides[::-1]))


def _within(path, found):
    """A path on to what the engine says of a difference within a program."""
    place = found.removeprefix("at ").partition(":")[0]
    head, _, rest = place.partition(".")
    if head.startswith("@"):
        path = path.attr("functions").map_value(head[1:])
    for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", f".{rest}" if rest else ""):
        path = path.attr(name) if name else path.array_index(int(index))
    return path
