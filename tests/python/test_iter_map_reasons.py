"""Reasons for which indices are no sums of digits, and bounds of clips. Expected values are those of TVM 0.27."""

import pytest
from tvm import sym, tirx
from tvm.ir import Range
from tvm.sym.iter_affine_map import IterMapLevel

x, y, n = (tirx.Var(name, "int32") for name in "xyn")
ITERS = {x: Range(0, 12), y: Range(0, 3)}
CASES = [
    ([x * y], True, "Surjective", ["Product of two iterators cannot be represented as an IterMap, occurs in x * y"]),
    ([tirx.floordiv(x, y)], True, "Surjective", ["Cannot represent as an IterMap: the divisor in x // y may not be an iterator"]),
    ([x + y * 13], True, "Bijective", ["Could not normalize iterators"]),
    ([x, x], True, "Surjective", ["Mapped indices are not independent."]),
    ([tirx.floordiv(x, 2)], True, "Bijective", ["Index mapping does not form a bijective transform."]),
    ([tirx.floormod(x, 4)], True, "Bijective", ["The iterations do not traverse full iter space", "Index mapping does not form a bijective transform."]),
    ([x], tirx.any(x < 3, x > 5), "Surjective", ["Could not parse predicate as constraints on the input iterators."]),
    ([tirx.floordiv(x, 5), tirx.floormod(x, 5)], True, "Surjective", ["Dependent iterations on padding iter space", "Mapped indices are not independent."]),
]


@pytest.mark.parametrize("indices,predicate,level,errors", CASES)
def test_the_reason_of_a_failure(indices, predicate, level, errors):
    found = sym.detect_iter_map(indices, ITERS, predicate, check_level=IterMapLevel[level])
    assert not found.indices
    said = [str(error) for error in found.errors]
    assert said == errors or said[-1] == errors[-1]


def test_an_index_that_is_not_affine_names_the_iterators():
    found = sym.detect_iter_map([tirx.max(x, y)], ITERS)
    assert [str(error).rsplit(" ", 1)[1] for error in found.errors] == ["x", "y"]
    assert found.padding_predicate is None


def test_the_bounds_of_a_clip():
    def bounds(cond, variables):
        return [str(end) for end in sym.detect_clip_bound(cond, variables)]

    assert bounds(tirx.Not(x < 3), [x]) == ["3", "None"]
    assert bounds(x * 3 + 1 < n, [x]) == []
    assert bounds(x <= y, [x, y]) == []
    assert repr(x != 3) == "NotEqualOp(x, 3)"
