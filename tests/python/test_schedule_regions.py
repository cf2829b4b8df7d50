"""Regions of buffers that a schedule names by functions."""

import pytest
from tvm.s_tir import Schedule
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def halved(a: T.Buffer((8, 4), "float32"), b: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] * 0.5


def test_ranges_are_pairs_or_single_indices():
    sch = Schedule(halved)
    sch.annotate_buffer_access(sch.get_sblock("b"), 0, "read", lambda vi, vj: ((vi - 1, vi + 2), vj))
    assert "T.reads(a[vi - 1:vi - 1 + 3, vj])" in sch.mod.script()
    assert '"explicit_read_region": [0]' in sch.mod.script()


@pytest.mark.parametrize("ranges", [lambda vi, vj: (vi,), lambda vi, vj: ((vi, vi + 1, vi + 2), vj)])
def test_ranges_that_are_none_are_refused(ranges):
    sch = Schedule(halved)
    with pytest.raises(ValueError):
        sch.annotate_buffer_access(sch.get_sblock("b"), 0, "read", ranges)
