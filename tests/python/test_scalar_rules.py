"""Types, foldings and refusals of scalar arithmetic, and where a program is ill-formed."""

import pytest
import tvm
from tvm import tirx

x, n, f, h, u, b = (tirx.Var(name, dtype) for name, dtype in zip("xnfhub", ("int32", "int64", "float32", "float16", "uint8", "bool")))
three = tirx.const(3, "int8")


@pytest.mark.parametrize(
    "made, text",
    [
        (lambda: h + 1.5, 'T.Cast("float32", h) + T.float32(1.5)'),
        (lambda: h + 1, "h + T.float16(1.0)"),
        (lambda: u + 1, 'T.Cast("int32", u) + 1'),
        (lambda: u << 1, "u << T.uint8(1)"),
        (lambda: three & 1, "T.int8(3) & T.int8(1)"),
        (lambda: three + three, "T.int8(6)"),
        (lambda: three % three, "T.int8(3) % T.int8(3)"),
        (lambda: tirx.abs(x), "T.Select(x >= 0, x, 0 - x)"),
        (lambda: tirx.abs(u), "u"),
        (lambda: tirx.exp(x), "T.exp(x)"),
        (lambda: tirx.atan2(f, 1), "T.atan2(f, 1)"),
        (lambda: tirx.ceildiv(x, 4), "(x + 4 - 1) // 4"),
        (lambda: tirx.truncmod(f, 1), "T.truncmod(f, T.float32(1.0))"),
        (lambda: tirx.reinterpret("int32", x), "x"),
        (lambda: tirx.isnan(tirx.const(1.5, "float32")), "T.bool(False)"),
        (lambda: 1.5 / tirx.const(7, "int32"), "T.float32(0.2142857164144516)"),
    ],
)
def test_what_arithmetic_makes(made, text):
    assert str(made()) == text


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: x // f, tvm.error.InternalError, r"\(b\.ty\(\)\.MatchesCode\(.*\)\) is false: f"),
        (lambda: x << f, tvm.error.InternalError, r"Expected integer argument as RHS of << operator \(left shift\), but received f of type T\.float32"),
        (lambda: tirx.all(b, x), tvm.error.InternalError, "Expected boolean argument as RHS of && operator"),
        (lambda: tirx.sin(x), TypeError, "tirx.sin only supports floating-point inputs, but got int32"),
        (lambda: tirx.abs(b), tvm.error.InternalError, "not supported for absolute op"),
        (lambda: x**x, TypeError, "unsupported operand"),
        (lambda: f / 0.0, tvm.error.InternalError, "Divide by zero"),
        (lambda: tirx.Select(b, x, n), TypeError, "False type: int64; True type: int32"),
        (lambda: tirx.Select(x, 1, 2), tvm.error.InternalError, "condition_ty"),
        (lambda: tirx.reinterpret("int8", x), tvm.error.InternalError, "Reinterpret requires size match T.int8 vs T.int32"),
        (lambda: tirx.Cast("int32x4", x), tvm.error.InternalError, r"4 vs\. 1"),
        (lambda: three.astype("bool"), ValueError, "3 exceeds range of bool"),
    ],
)
def test_what_arithmetic_refuses(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_comparisons_of_two_types():
    assert str((x == n).asobject()) == 'T.Cast("int64", x) == n'


def _refused(body, params=()):
    with pytest.raises(tvm.error.InternalError) as info:
        tirx.analysis.verify_well_formed(body if isinstance(body, tvm.IRModule) else tirx.PrimFunc(list(params), body))
    return str(info.value)


def test_a_definition_that_does_not_hold_any_more():
    loop = tirx.For(x, 0, 1, tirx.ForKind.SERIAL, tirx.SeqStmt([tirx.Bind(n, tirx.const(1, "int64")), tirx.Evaluate(n)]))
    text = _refused(tirx.SeqStmt([loop, tirx.Evaluate(n)]))
    assert "undefined variable n at <root>.body.seq[1].value" in text
    assert "previously defined at <root>.body.seq[0].body.seq[0].var, this definition is no longer in-scope." in text


def test_two_definitions():
    text = _refused(tirx.SeqStmt([tirx.Bind(x, 1), tirx.Bind(x, 2), tirx.Evaluate(x)]))
    assert "multiple nested definitions of variable x. It was first defined at <root>.body.seq[0].var, and was re-defined at" in text


def test_two_functions_that_define_a_variable():
    funcs = {name: tirx.PrimFunc([], tirx.For(x, 0, 1, tirx.ForKind.SERIAL, tirx.Evaluate(x))) for name in "ab"}
    text = _refused(tvm.IRModule({name: func.with_attr("global_symbol", name) for name, func in funcs.items()}))
    assert 'first defined at <root>.functions[I.GlobalVar("a")].body.loop_var, and was later re-defined at' in text
