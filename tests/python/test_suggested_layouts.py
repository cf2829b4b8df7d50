"""Layouts of blocks and inputs that go with layouts of outputs."""

from tvm import relax
from tvm.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def total(x: T.Buffer((32, 64, 8, 8), "float32"), y: T.Buffer((32, 64), "float32")):
    for i0, i1, i2, i3 in T.grid(32, 64, 8, 8):
        with T.sblock("total"):
            n, c, h, w = T.axis.remap("SSRR", [i0, i1, i2, i3])
            T.reads(x[n, c, h, w])
            T.writes(y[n, c])
            with T.init():
                y[n, c] = T.float32(0)
            y[n, c] = y[n, c] + x[n, c, h, w]


def test_a_reduction_follows_its_output():
    found = relax.analysis.suggest_layout_transforms(total, [lambda n, c: (c // 4, n, c % 4)])
    assert len(found) == 1
    ((block, maps),) = found.items()
    assert block.name_hint == "total"
    shown = {getattr(item, "name_hint", None) or item.name: str(made) for item, made in maps.items()}
    assert shown == {
        "total": "T.index_map(lambda n, c, d, d_1: (c // 4, n, d, d_1, c % 4))",
        "y": "T.index_map(lambda n, c: (c // 4, n, c % 4))",
        "x": "T.index_map(lambda n, c, d, d_1: (c // 4, n, d, d_1, c % 4))",
    }


def test_without_layouts_of_outputs_nothing_is_suggested():
    assert len(relax.analysis.suggest_layout_transforms(total, [])) == 0
