"""The base class of functions, and conventions to call them."""

import enum

from .._values import DictAttrs
from .expr import Expr


class CallingConv(enum.IntEnum):
    """The way in which a function is called."""

    DEFAULT, C_PACKED_FUNC, DEVICE_KERNEL_LAUNCH = 0, 1, 2


class BaseFunc(Expr):
    """The base class of functions."""

    def _copy(self, **changes):
        load = self.__dict__.pop("_load", None)
        if load is not None:
            load(self)
        made = type(self).__new__(type(self))
        made.__dict__.update({key: value for key, value in self.__dict__.items() if not (len(key) == 2 and key != "_ty")})
        made.__dict__.update(changes)
        made.__dict__["_from"] = self
        return made

    def with_attr(self, attr_key_or_dict, attr_value=None):
        """The function with attributes added or replaced."""
        new = attr_key_or_dict if isinstance(attr_key_or_dict, dict) else {attr_key_or_dict: attr_value}
        fields = dict(self.attrs.items()) if self.attrs is not None else {}
        return self._copy(attrs=DictAttrs(fields | dict(new)))

    def with_attrs(self, attr_map):
        """The function with these attributes beside its own."""
        fields = dict(self.attrs.items()) if self.attrs is not None else {}
        return self._copy(attrs=DictAttrs({**fields, **dict(attr_map.items())}))

    def without_attr(self, attr_key):
        """The function without an attribute."""
        fields = dict(self.attrs.items()) if self.attrs is not None else {}
        fields.pop(attr_key, None)
        return self._copy(attrs=DictAttrs(fields))
