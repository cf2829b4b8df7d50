"""Objects that the types of a module refer to."""

from .base import Node


class GlobalInfo(Node):
    """The base class of what stands among the global infos of a module."""

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self._structural() == other._structural())

    __hash__ = Node.__hash__

    def same_as(self, other):
        """True if it is an equal one."""
        return self == other
