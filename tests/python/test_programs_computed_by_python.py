"""Tensor programs whose statements only Python can compute. Expected texts are those of TVM 0.27."""

import tvm
from tvm.script import from_source
from tvm.script import tirx as T


def _body(func):
    lines = func.script().split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("def "))
    return [line.strip() for line in lines[start:] if line.strip()]


class Doubled:
    """Reads elements of a buffer twice as great."""

    def __init__(self, buffer, count):
        self.buffer, self.count = buffer, count

    def at(self, index):
        return self.buffer[index] * T.float32(2)


def spread(index):
    return index * 2 + 1


def test_a_comprehension_in_a_tensor_program():
    @T.prim_func(private=True)
    def main(A: T.Buffer((8,), "float32")):
        parts = T.meta_var([A[i] for i in range(3)])
        for i in T.serial(8):
            A[i] = parts[0] + parts[2]

    assert _body(main)[2] == "A[i] = A[0] + A[2]"


def test_an_else_of_a_loop_is_not_part_of_the_program():
    @T.prim_func(private=True)
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(0)
        else:
            A[0] = T.float32(1)

    assert _body(main)[1:] == ["for i in range(8):", "A[i] = T.float32(0.0)"]


def test_a_second_name_of_a_buffer_becomes_its_name():
    @T.prim_func(private=True)
    def main(a: T.handle):
        A = T.match_buffer(a, (8,), "float32")
        C = A
        for i in range(8):
            C[i] = A[i] + T.float32(1)

    assert _body(main) == ['def main(C: T.Buffer((8,), "float32")):', "for i in range(8):", "C[i] = C[i] + T.float32(1.0)"]


def test_an_object_of_python_reads_a_buffer():
    @T.prim_func(private=True)
    def main(A: T.Buffer((64,), "float32")):
        source = T.meta_var(Doubled(A, 3))
        for i in T.serial(source.count):
            A[spread(i)] = source.at(i)

    assert _body(main)[1:] == ["for i in range(3):", "A[i * 2 + 1] = A[i] * T.float32(2.0)"]


def test_an_inline_function_keeps_the_values_of_its_definition():
    value = 5

    @T.inline
    def fill(A, i):
        A[i] = T.float32(value)

    value = 6

    @T.prim_func(private=True)
    def main(A: T.Buffer((64,), "float32")):
        fill(A, 0)
        fill(A, i=1)

    assert _body(main)[1:] == ["A[0] = T.float32(5.0)", "A[1] = T.float32(5.0)"]


def test_an_inline_method_writes_through_its_object():
    class Filled:
        def __init__(self, buffer):
            self.buffer = buffer

        @T.inline
        def fill(self, count):
            for i in T.serial(count):
                self.buffer[i] = T.float32(1)

    @T.prim_func(private=True)
    def main(A: T.Buffer((8,), "float32")):
        filled = T.meta_var(Filled(A))
        filled.fill(4)

    assert _body(main)[1:] == ["for i in range(4):", "A[i] = T.float32(1.0)"]


def test_conditions_of_computed_programs():
    text = """
@T.prim_func(private=True)
def main(A: T.Buffer((16,), "int32"), n: T.int32):
    steps = T.meta_var([k for k in (1, 2)])
    if n > steps[0] and not n == 3:
        A[n] = steps[1]
    elif 0 <= n < 8:
        A[0] += 1
    if len(steps) == 2:
        A[1] = 7
"""
    lines = _body(from_source(text, {"T": T}))[1:]
    assert lines[:2] == ["if n > 1 and not n == 3:", "A[n] = 2"]
    assert lines[-1] == "A[1] = 7" and "A[0] = A[0] + 1" in lines


def test_a_scalar_of_a_computed_program_is_stored_again():
    @T.prim_func(private=True)
    def main(A: T.Buffer((8,), "int32"), n: T.int32):
        unit = T.meta_var([1 for _ in range(1)][0])
        x: T.int32 = n + unit
        y: T.let[T.int32] = n * 2
        x = x + y
        A[0] = x

    assert _body(main)[1:] == ["x: T.int32 = n + 1", "y: T.let[T.int32] = n * 2", "x = x + y", "A[0] = x"]


def test_operators_of_scalars_have_their_names():
    x = tvm.tirx.Var("x", "int32")
    assert tvm.tirx.if_then_else(x > 0, x, 1).op.name == "prim.if_then_else"
    assert tvm.tirx.likely(x > 0).op.name == "prim.likely"
    assert str(x.ty) == "int32" and repr(x.ty) == "T.int32"
