"""Reductions over axes whose extents depend on other axes, as `te.create_prim_func` of TVM 0.27 nests their blocks."""

from tvm import te


def test_a_triangle_has_a_block_for_each_depth():
    data = te.placeholder((8, 8), name="A", dtype="float32")

    def element(i):
        k = te.reduce_axis((0, i + 1), name="k")
        inner = te.reduce_axis((0, k + 1), name="l")
        return te.max(data[k, inner], axis=[k, inner])

    out = te.compute((8,), element, name="D")
    text = te.create_prim_func([data, out]).script()
    body = text[text.index("for i in") :]
    # The reduction begins in the first block that has a reduced axis.
    assert (
        body.strip()
        == """\
for i in range(8):
        with T.sblock("D_l1"):
            v_i = T.axis.spatial(8, i)
            T.reads(A[0:v_i + 1, 0:v_i + 1])
            T.writes(D[v_i])
            for k in range(v_i + 1):
                with T.sblock("D_l2"):
                    v_i_1 = T.axis.spatial((v_i, v_i + 1), v_i)
                    v_k = T.axis.reduce(v_i + 1, k)
                    T.reads(A[v_k, 0:v_k + 1])
                    T.writes(D[v_i_1])
                    with T.init():
                        D[v_i_1] = T.float32(-340282346638528859811704183484516925440.0)
                    for l in range(v_k + 1):
                        with T.sblock("D"):
                            v_i_2 = T.axis.spatial((v_i_1, v_i_1 + 1), v_i_1)
                            v_k_1 = T.axis.reduce((v_k, v_k + 1), v_k)
                            v_l = T.axis.reduce(v_k + 1, l)
                            T.reads(D[v_i_2], A[v_k_1, v_l])
                            T.writes(D[v_i_2])
                            D[v_i_2] = T.max(D[v_i_2], A[v_k_1, v_l])"""
    )
