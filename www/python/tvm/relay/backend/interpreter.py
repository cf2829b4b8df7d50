"""Values that the evaluator gives."""

from ..._node import Object
from ..build_module import Executor as Interpreter  # noqa: F401


class ConstructorValue(Object):
    """A value of a type definition."""

    def __init__(self, tag, fields, constructor):
        self.tag = tag
        self.fields = list(fields)
        self.constructor = constructor


class RefValue(Object):
    """A cell."""

    def __init__(self, value):
        self.value = value
