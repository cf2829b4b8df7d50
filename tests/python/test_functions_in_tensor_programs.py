"""A function of Python that a tensor program calls runs while the program is read, over parts of the program."""

from tvm.script import tirx as T


def doubled(dtype, value):
    return T.Cast(dtype, value) * 2


between = lambda value, low, high: T.min(T.max(value, low), high)  # noqa: E731
half = "float16"


def test_it_is_given_loads_and_numbers():
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), half), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("b"):
                vi = T.axis.spatial(8, i)
                B[vi] = between(doubled("float32", A[vi]), T.float32(-1), T.float32(4)) + doubled("float32", vi)

    line = next(line.strip() for line in main.script().splitlines() if "B[vi] =" in line)
    assert line == (
        'B[vi] = T.min(T.max(T.Cast("float32", A[vi]) * T.float32(2.0), T.float32(-1.0)), T.float32(4.0)) '
        '+ T.Cast("float32", vi) * T.float32(2.0)'
    )


def test_it_stands_in_conditions():
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            if doubled("int64", i) < 5:
                A[i] = between(A[i], 0, 7)

    text = main.script()
    assert 'if T.Cast("int64", i) * T.int64(2) < T.int64(5):' in text
    assert "A[i] = T.min(T.max(A[i], 0), 7)" in text
