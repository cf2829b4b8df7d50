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


@T.prim_func(s_tir=True)
def taken(w: T.handle, places: T.handle, out: T.handle):
    rows, count = T.int64(), T.int64()
    a = T.match_buffer(w, (rows, 4), "float32")
    where = T.match_buffer(places, (count,), "int32")
    c = T.match_buffer(out, (count, 4), "float32")
    b = T.sblock_alloc_buffer((rows, 4), "float32")
    for i, j in T.grid(rows, 4):
        with T.sblock("twice"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] * T.float32(2)
    for i, j in T.grid(count, 4):
        with T.sblock("take"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = b[where[vi], vj]


def test_what_is_read_at_places_of_a_buffer_is_covered_by_the_whole():
    sch = Schedule(taken)
    sch.compute_inline("twice")
    assert "c[vi, vj] = a[where[vi], vj] * T.float32(2.0)" in sch.mod.script()
