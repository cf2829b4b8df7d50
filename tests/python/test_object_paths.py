"""Paths of TVM 0.19 to parts of things, and to where two things differ."""

import pytest
import tvm
from tvm.ir.base import get_first_structural_mismatch
from tvm.runtime import ObjectPath, object_path

ROOT = ObjectPath.root()


def test_paths_are_written_step_by_step():
    path = ObjectPath.root("mod").attr("body").array_index(2).map_value("key")
    assert str(path) == 'mod.body[2]["key"]'
    assert (len(path), str(path.parent), str(path.get_prefix(2))) == (4, "mod.body[2]", "mod.body")
    assert isinstance(path, object_path.MapValuePath)
    assert str(ROOT.missing_array_element(1)) == "<root>[<missing element #1>]"
    with pytest.raises(IndexError, match="at least 1"):
        path.get_prefix(0)


def test_paths_are_equal_by_their_steps():
    assert ROOT.attr("a").array_index(1) == ROOT.attr("a").array_index(1)
    assert ROOT.attr("a") != ROOT.map_value("a")
    assert ROOT.attr(None) != ROOT.attr(None)
    assert ROOT.is_prefix_of(ROOT.attr("a")) and not ROOT.attr("a").is_prefix_of(ROOT)


def test_the_first_difference_has_a_path_on_each_side():
    lhs, rhs = (tvm.runtime.convert(value) for value in ({"a": [1, 2]}, {"a": [1, 2, 3]}))
    found = get_first_structural_mismatch(lhs, rhs)
    assert tuple(found) == (ROOT.map_value("a").missing_array_element(2), ROOT.map_value("a").array_index(2))
    assert get_first_structural_mismatch({"a": 1}, {"a": 1}) is None
    assert get_first_structural_mismatch({"a": 1, "b": 2}, {"a": 1})[1] == ROOT.missing_map_entry()
