"""Layouts of tensors by letters. Expected values are those of TVM 0.27."""

import pytest
import tvm
from tvm import s_tir


def numbers(values):
    return [int(value) for value in values]


def test_a_layout_tells_its_axes():
    layout = s_tir.slayout("NCHW16c")
    assert len(layout) == 5 and [layout[at] for at in range(5)] == ["N", "C", "H", "W", "16c"]
    assert [layout.factor_of(axis) for axis in "NCc"] == [-1, 16, 16]
    assert layout.index_of("C") == 1 and layout.index_of("z") == -1 and "C" in layout and "z" not in layout
    assert str(layout) == "SLayout(NCHW16c)" and layout.name == "NCHW16c"
    with pytest.raises(IndexError):
        layout[9]


def test_packed_parts_are_one_axis():
    layout = s_tir.slayout("OIHW[4o4i]")
    assert layout[4] == "4o4i" and layout.index_of("4o4i") == 4 and "[4o4i]" not in layout


@pytest.mark.parametrize("name", ["NCHW4x", "NCHWw", "NC4H", "N[C]", "n", "NCHW4c4c", "[", "]", "N C"])
def test_a_layout_that_is_none(name):
    with pytest.raises(tvm.error.InternalError):
        s_tir.slayout(name)


def test_variables_of_axes_are_whole_numbers():
    assert str(s_tir.slayout("NCHW", "int64").axes[0].var.ty.dtype) == "int64"
    with pytest.raises(TypeError):
        s_tir.slayout("NCHW", "float32")


CASES = [
    ("NCHW", "NHWC", (1, 32, 7, 7), (1, 7, 7, 32), (0, 5, 1, 2), (0, 1, 2, 5)),
    ("NCHW", "NCHW16c", (1, 32, 7, 7), (1, 2, 7, 7, 16), (0, 17, 1, 2), (0, 1, 1, 2, 1)),
    ("NCHW16c", "NCHW4c", (1, 2, 7, 7, 16), (1, 8, 7, 7, 4), (0, 1, 1, 2, 5), (0, 5, 1, 2, 1)),
    ("OIHW", "OIHW[4o4i]", (16, 8, 3, 3), (4, 2, 3, 3, 16), (5, 6, 1, 2), (1, 1, 1, 2, 6)),
    ("OIHW", "OHWI16i16o", (64, 32, 3, 3), (4, 3, 3, 2, 16, 16), (20, 18, 1, 1), (1, 1, 1, 1, 2, 4)),
]


@pytest.mark.parametrize("source, target, shape, wanted, index, place", CASES)
def test_shapes_and_indices_there_and_back(source, target, shape, wanted, index, place):
    both = s_tir.sbijective_layout(source, target)
    assert numbers(both.forward_shape(shape)) == list(wanted) and numbers(both.backward_shape(wanted)) == list(shape)
    assert numbers(both.forward_index(index)) == list(place) and numbers(both.backward_index(place)) == list(index)


def test_an_extent_that_a_part_does_not_divide_is_rounded_up():
    assert numbers(s_tir.sbijective_layout("NCHW", "NCHW16c").forward_shape((1, 33, 7, 7))) == [1, 3, 7, 7, 16]


def test_symbolic_extents_and_indices():
    n = tvm.tirx.Var("n", "int32")
    both = s_tir.sbijective_layout("NCHW", "NCHW16c")
    assert [str(item) for item in both.forward_shape([n, n, 7, 7])] == ["n", "(n + 15) // 16", "7", "7", "16"]
    assert [str(item) for item in both.forward_index([n, n, 1, 2])] == ["n", "n // 16", "1", "2", "n % 16"]


def test_layouts_that_do_not_fit():
    both = s_tir.sbijective_layout("NCHW", "NCHW16c")
    for wrong in (lambda: both.forward_shape([1, 2]), lambda: both.forward_index([1, 2]), lambda: both.backward_shape([1, 2, 7, 7, 4])):
        with pytest.raises(tvm.error.InternalError):
            wrong()
    with pytest.raises(tvm.error.InternalError):
        s_tir.sbijective_layout("NCHW", "NHW")
