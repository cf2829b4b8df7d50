"""An attribute of an operator for the length of a `with`."""

from ...ir.op import _attributes, register_op_attr


class TempOpAttr:
    """Registers something about an operator and forgets it at the end."""

    def __init__(self, op_name, attr_key, attr_value):
        self.key = (op_name, attr_key)
        self.value = attr_value

    def __enter__(self):
        self.before = _attributes.pop(self.key, None)
        register_op_attr(*self.key, self.value)
        return self

    def __exit__(self, ptype, value, trace):
        _attributes.pop(self.key, None)
        if self.before is not None:
            _attributes[self.key] = self.before
