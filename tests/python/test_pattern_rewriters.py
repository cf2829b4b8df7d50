"""Rewriters of patterns: tuples that no program builds, results, functions that rules add, alternatives."""

import pytest
import tvm
from tvm import relax
from tvm.relax.dpl import PatternMatchingRewriter, TuplePattern, is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R


def both_halves():
    """A pair of unary calls of one value, and a call that makes both at once."""
    x = wildcard()
    pattern = TuplePattern([is_op("relax.exp")(x), is_op("relax.log")(x)])
    pair = R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))
    return pattern, lambda _, found: relax.op.call_pure_packed("both", found[x], ty_args=[pair])


@R.function(private=True)
def summed(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    a = R.exp(x)
    b = R.log(x)
    c = R.add(a, b)
    return c


def test_values_that_no_tuple_holds_are_found_together():
    rewriter = PatternMatchingRewriter.from_pattern(*both_halves())

    @R.function(private=True)
    def expected(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        pair = R.call_pure_packed("both", x, ty_args=R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")))
        a = pair[0]
        b = pair[1]
        c = R.add(a, b)
        return c

    tvm.ir.assert_structural_equal(rewriter(summed), expected)
    tvm.ir.assert_structural_equal(relax.dpl.rewrite_call(*both_halves(), summed), expected)


def test_a_value_that_is_used_before_the_others_exist_stays():
    @R.function(private=True)
    def early(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.exp(x)
        c = R.abs(a)
        b = R.log(x)
        d = R.add(c, b)
        return d

    tvm.ir.assert_structural_equal(PatternMatchingRewriter.from_pattern(*both_halves())(early), early)


def test_a_rewriter_of_a_pattern_alone_finds_no_implicit_tuple():
    pattern, make = both_halves()
    tvm.ir.assert_structural_equal(relax.dpl.rewrite.ExprPatternRewriter(pattern, make)(summed), summed)
    changed = relax.dpl.rewrite.TupleRewriter(list(pattern.fields), make)(summed)
    assert "both" in str(changed)


def test_more_than_three_fields_are_refused():
    x = wildcard()
    pattern = TuplePattern([is_op("relax.exp")(x) for _ in range(4)])
    with pytest.raises(tvm.error.InternalError, match="3 elements or fewer"):
        PatternMatchingRewriter.from_pattern(pattern, lambda expr, _: expr)(summed)


def test_a_result_that_is_a_tuple_is_found():
    @R.function(private=True)
    def pair(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        a = R.exp(x)
        b = R.log(x)
        return (a, b)

    assert "both" in str(PatternMatchingRewriter.from_pattern(*both_halves())(pair))


@R.rewriter
class DoubleForSum:
    @R.function
    def pattern(x: R.Tensor((4,), "float32")):
        return x + x

    @R.function
    def replacement(x: R.Tensor((4,), "float32")):
        return DoubleForSum.helper(x)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x * R.const(2.0, "float32")


@R.rewriter
class SquareForProduct:
    @R.function
    def pattern(x: R.Tensor((4,), "float32")):
        return x * x

    @R.function
    def replacement(x: R.Tensor((4,), "float32")):
        return SquareForProduct.helper(x)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.square(x)


def test_functions_of_two_rules_get_two_names():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = x + x
            b = a * a
            return b

    after = (DoubleForSum | SquareForProduct)(Before)
    assert sorted(var.name_hint for var in after.get_global_vars()) == ["helper", "helper_1", "main"]
    assert "R.square" in str(after["helper_1"])
    assert sorted(var.name_hint for var in SquareForProduct(Before).get_global_vars()) == ["helper", "main"]


def test_functions_that_are_added_need_a_module():
    @R.function(private=True)
    def doubled(x: R.Tensor((4,), "float32")):
        a = x + x
        return a

    with pytest.raises(tvm.error.InternalError, match="must be applied to an entire IRModule"):
        DoubleForSum(doubled)


def test_rules_of_other_signatures_or_without_a_part_are_refused():
    @I.ir_module
    class Lonely:
        @R.function
        def pattern(x: R.Tensor((4,), "float32")):
            return x

    with pytest.raises(KeyError, match="replacement"):
        PatternMatchingRewriter.from_module(Lonely)

    @I.ir_module
    class Constant:
        @R.function
        def pattern(x: R.Tensor((4,), "float32")):
            return x + R.const(1.0, "float32")

        @R.function
        def replacement(x: R.Tensor((4,), "float32")):
            return x

    with pytest.raises(TypeError, match="Cannot convert Relax expression"):
        PatternMatchingRewriter.from_module(Constant)


def test_each_alternative_stands_in_the_matches():
    x = wildcard()
    exp, log = is_op("relax.exp")(x), is_op("relax.log")(x)
    either = exp | log
    seen = []

    def note(expr, found):
        seen.append((exp in found, log in found, found[either].same_as(expr)))
        return expr

    PatternMatchingRewriter.from_pattern(either, note)(summed)
    assert seen[:2] == [(True, False, True), (False, True, True)]
