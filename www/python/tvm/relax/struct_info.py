"""Types, by the names that Relax had for them before."""

from ..ir.type import AnyType as ObjectStructInfo  # noqa: F401
from ..ir.type import FuncType as FuncStructInfo  # noqa: F401
from ..ir.type import PrimType as PrimStructInfo  # noqa: F401
from ..ir.type import ShapeType as ShapeStructInfo  # noqa: F401
from ..ir.type import TensorType as TensorStructInfo  # noqa: F401
from ..ir.type import TupleType as TupleStructInfo  # noqa: F401
from ..ir.type import Type as StructInfo  # noqa: F401
