"""Types."""

from ..ir.type import (  # noqa: F401
    AnyType,
    DistributedType,
    FuncType,
    PackedFuncType,
    PrimType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)

ObjectType = AnyType
