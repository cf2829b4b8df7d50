"""Functions of Python that are written out in programs, and names of values. The tests pass on TVM 0.27, too."""

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

EXTENT = 0
TWO = 2


def test_a_macro_takes_arguments_and_gives_a_value():
    @R.macro
    def twice(value):
        doubled = R.add(value, value)
        return doubled

    @R.function(private=True)
    def main(x: R.Tensor((4,), "float32")):
        y = twice(x)
        z = twice(value=y)
        return z

    @R.function(private=True)
    def expected(x: R.Tensor((4,), "float32")):
        doubled = R.add(x, x)
        y = doubled
        more = R.add(y, y)
        z = more
        return z

    tvm.ir.assert_structural_equal(main, expected)


def _shape_of(hygienic):
    global EXTENT
    EXTENT = 3

    @R.macro(hygienic=hygienic)
    def make():
        return R.zeros((EXTENT,), "float32")

    EXTENT = 5

    @R.function(private=True)
    def main():
        made = make()
        return made

    return [int(value) for value in main.ret_ty.shape]


def test_a_hygienic_macro_has_the_names_of_its_definition():
    assert _shape_of(True) == [3]


def test_another_macro_has_the_names_of_its_use():
    assert _shape_of(False) == [5]


def test_a_macro_takes_no_options_by_place():
    with pytest.raises(ValueError):

        @R.macro(True)
        def wrong():
            return R.const(1)

    with pytest.raises(ValueError):

        @T.inline(True)
        def wrong_too():
            T.evaluate(0)


def test_an_inline_function_without_arguments():
    @T.inline()
    def nothing():
        T.evaluate(0)

    @T.prim_func(private=True)
    def main():
        nothing()

    @T.prim_func(private=True)
    def expected():
        T.evaluate(0)

    tvm.ir.assert_structural_equal(main, expected)


def test_an_inline_function_keeps_what_it_saw():
    offset = 7

    @T.inline
    def store(A):
        A[0] = A[offset] + T.float32(TWO)

    @T.prim_func(private=True)
    def main(A: T.Buffer((16,), "float32")):
        for offset in T.serial(4):  # noqa: B007
            store(A)

    @T.prim_func(private=True)
    def expected(A: T.Buffer((16,), "float32")):
        for i in T.serial(4):  # noqa: B007
            A[0] = A[7] + T.float32(2)

    tvm.ir.assert_structural_equal(main, expected)


def test_any_number_of_arguments():
    @T.inline
    def add(target, *sources, **places):
        with T.sblock("add"):
            v = T.axis.spatial(4, places["at"])
            target[v] = sources[0][v] + sources[1][v]

    @T.prim_func(private=True, s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            add(C, A, B, at=i)
            add(A, B, C, at=i)

    @T.prim_func(private=True, s_tir=True)
    def expected(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("add"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] + B[v]
            with T.sblock("add_1"):
                v = T.axis.spatial(4, i)
                A[v] = B[v] + C[v]

    tvm.ir.assert_structural_equal(main, expected)


def test_names_of_values_are_no_bindings():
    @R.function(private=True)
    def main(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        extent = I.meta_var(n)
        same = T.meta_var(extent)
        y = R.reshape(x, R.shape([same * 4]))
        return y

    assert len(main.body.blocks[0].bindings) == 1
    tvm.ir.assert_structural_equal(main.ret_ty.shape[0], main.params[0].ty.shape[0] * 4)


def test_values_of_names_in_builders():
    first, second = T.meta_var([3, 4])
    assert (first.value, second.value) == (3, 4)
    assert I.meta_var is T.meta_var
