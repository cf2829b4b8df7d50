"""Constants in shapes. Expected values by hand, from `python/tvm/topi/utils.py`."""

import pytest
import tvm
from tvm import te
from tvm.topi.utils import get_const_int, get_const_tuple


def test_numbers_are_found_in_expressions():
    assert get_const_int(3) == 3
    assert get_const_int(tvm.tirx.IntImm("int32", 3) + 4) == 7
    with pytest.raises(ValueError, match="constant int"):
        get_const_int(tvm.tirx.Var("n", "int32"))


def test_a_shape_keeps_what_is_no_number():
    n = tvm.tirx.Var("n", "int32")
    assert get_const_tuple((2, tvm.tirx.IntImm("int32", 3), n)) == (2, 3, n)
    with pytest.raises(TypeError, match="expects a shape"):
        get_const_tuple(te.placeholder((2,), name="A"))
