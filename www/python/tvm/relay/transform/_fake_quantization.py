"""FakeQuantizationToInteger with rules that a script registers."""

from ... import _engine
from ..._node import EXPR, get, number
from ...ir.affine_type import TensorAffineType, TupleAffineType
from ...ir.module import IRModule
from ...ir.transform import PassInfo, PyModulePass, call_text
from ..expr import const


def FakeQuantizationToInteger(hard_fail=False, use_qat=False, optional_qnn_ops=None):
    """Computes on integers between dequantize and quantize; what was registered (`register_fake_quantization_to_integer`) is asked
    first."""
    from . import _built_in, _rules

    optional = [str(name) for name in optional_qnn_ops or ()]
    options = {"hard_fail": bool(hard_fail), "use_qat": bool(use_qat), "optional_qnn_ops": optional}
    more = _rules("FTVMOptionalFakeQuantizationToInteger")
    rules = {name: rule for name, rule in more.items() if name in optional} | _rules("FTVMFakeQuantizationToInteger")
    if not rules:
        return _built_in("FakeQuantizationToInteger", **options)
    info = PassInfo(0, "FakeQuantizationToInteger", ["InferType", "DivToMul"])
    return PyModulePass(lambda mod, ctx: _run(mod, call_text("FakeQuantizationToInteger", options), rules, hard_fail), info)


def _run(mod, text, rules, hard_fail):
    from ...ir import transform
    from . import DivToMul, InferType

    def ask(_, words):
        call, types = get(EXPR, words[0]), _read(words)
        try:
            made, ty = rules[call.op.name](call, types)
        except Exception:
            if hard_fail:
                raise
            return _engine.words([])
        return _engine.words([number(EXPR, made), *_written(ty)])

    mod = InferType()(DivToMul()(InferType()(mod)))
    transform._setup()
    words = mod._words()
    asked = transform.ask_key(ask)
    try:
        new = _engine.call("user_quantization_rules", text, list(rules), _engine.words(words), asked)
    finally:
        transform.forget_ask(asked)
    return InferType()(IRModule._of_words(new, mod))


def _read(words):
    """The affine types that the nodes around a call stand for."""
    found, at = {}, 1
    while at < len(words):
        node, fields = get(EXPR, words[at]), words[at + 1]
        at += 2
        tensors = []
        for _ in range(max(fields - 1, 0) if fields else 1):
            scale, zero_point, zero = (get(EXPR, word) for word in words[at : at + 3])
            axis = words[at + 3]
            dtype = str(zero.data.dtype)
            tensors.append(TensorAffineType(scale, zero_point, dtype, axis - (1 << 32) if axis >> 31 else axis))
            at += 4
        found[node] = TupleAffineType(tensors) if fields else tensors[0]
    return found


def _written(ty):
    words = [len(ty.types) + 1] if isinstance(ty, TupleAffineType) else [0]
    for one in ty.types if isinstance(ty, TupleAffineType) else [ty]:
        nodes = (one.scale, one.zero_point, const(0, one.dtype))
        words += [*(number(EXPR, node) for node in nodes), int(one.axis) & 0xFFFFFFFF]
    return words
