"""Facts that are registered about operators."""

import warnings

from ...ir.op import Op, register_op, register_op_attr


class OpPattern:
    """The way in which an operator can be fused."""

    ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, OUT_ELEMWISE_FUSABLE, TUPLE, OPAQUE = 0, 1, 2, 3, 4, 7, 8


class OpImplementation:
    """A way to compute an operator, by tensor expressions."""

    def __init__(self, compute, schedule, name="default", plevel=10):
        self._compute, self._schedule, self.name, self.plevel = compute, schedule, name, plevel

    def compute(self, attrs, inputs, out_type):
        """The tensors of the result."""
        return self._compute(attrs, inputs, out_type)

    def schedule(self, attrs, outs, target):
        """The schedule of the result."""
        return self._schedule(attrs, outs, target)


class OpSpecialization:
    """Ways to compute an operator under a condition, or always."""

    def __init__(self, condition=None):
        self.condition, self.implementations = condition, []


class OpStrategy:
    """Ways to compute an operator; nothing is compiled here."""

    def __init__(self):
        self.specializations = []

    def add_implementation(self, compute, schedule, name="default", plevel=10):
        """Adds a way."""
        if not self.specializations:
            self.specializations.append(OpSpecialization())
        self.specializations[0].implementations.append(OpImplementation(compute, schedule, name, plevel))


def get(op_name):
    """The operator of a name."""
    return Op.get(op_name)


def register(op_name, describe=""):
    """Registers an operator, of which inputs and the relation of its types are said with the methods of `get(op_name)`."""
    register_op(op_name, describe)


def _registers(key, unasked=False):
    def register(op_name, value=None, level=10):
        if unasked:
            warnings.warn(f"{op_name}: the rule for `{key}` is kept, but passes have rules of their own and do not ask it", stacklevel=2)
        return register_op_attr(op_name, key, value, level)

    register.__doc__ = f"Registers `{key}` of an operator; without a value, as a decorator."
    return register


register_alter_op_layout = _registers("FTVMAlterOpLayout")
register_convert_op_layout = _registers("FTVMConvertOpLayout")
register_infer_correct_layout = _registers("FInferCorrectLayout", unasked=True)
register_compute = _registers("FTVMCompute")
register_legalize = _registers("FTVMLegalize")
register_pattern = _registers("TOpPattern")
register_stateful = _registers("TOpIsStateful")
register_strategy = _registers("FTVMStrategy")
register_gradient = _registers("FPrimalGradient", unasked=True)
register_fake_quantization_to_integer = _registers("FTVMFakeQuantizationToInteger")
register_optional_fake_quantization_to_integer = _registers("FTVMOptionalFakeQuantizationToInteger")
register_mixed_precision_conversion = _registers("FTVMMixedPrecisionConversionType", unasked=True)
register_shape_func = _registers("FShapeFunc")
register_external_compiler = _registers("FTVMExternalCompiler")


def register_injective_schedule(op_name, level=10):
    """Schedules are not used here."""


def register_schedule(op_name, schedule, level=10):
    """Schedules are not used here."""


register_reduce_schedule = register_broadcast_schedule = register_injective_schedule


def debug(expr, debug_func=None):
    """A call that passes its operand on."""
    from . import _make

    return _make.call("debug", [expr], {})
