"""The smallest, largest and infinite numbers of element types. Expected values are those of TVM 0.27."""

import pytest
import tvm
from tvm import tirx

FLT_MAX = 3.4028234663852886e38
LIMITS = {
    "float8_e3m4": (-31, 31),
    "float8_e4m3": (-448, 448),
    "float8_e4m3fn": (-448, 448),
    "float8_e4m3fnuz": (0, 448),
    "float8_e5m2": (-57344, 57344),
    "float8_e8m0fnu": (0, 2.0**128),
    "float6_e2m3fn": (-7.5, 7.5),
    "float4_e2m1fn": (-6, 6),
    "bfloat16": (-FLT_MAX, FLT_MAX),
    "float16": (-65504, 65504),
    "int4": (-8, 7),
    "uint8": (0, 255),
}


@pytest.mark.parametrize("dtype", LIMITS)
def test_limits_of_small_types(dtype):
    assert (tirx.min_value(dtype).value, tirx.max_value(dtype).value) == LIMITS[dtype]


@pytest.mark.parametrize("limit", [tirx.min_value, tirx.max_value, tirx.infinity])
def test_a_truth_value_has_no_limits(limit):
    with pytest.raises(tvm.error.InternalError, match="Cannot decide "):
        limit("bool")


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int32"])
def test_types_without_infinity_say_so(dtype):
    with pytest.raises(tvm.error.InternalError, match=f"Cannot decide infinity for type T.{dtype}"):
        tirx.infinity(dtype)
    assert tirx.infinity("float16").value == float("inf")


def test_names_of_types_say_that_they_are_types():
    assert [tvm.DataType("int8")].__repr__() == "[dtype('int8')]" and str(tvm.DataType("int8")) == "int8"
