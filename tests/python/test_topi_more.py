"""More operators of `topi` over tensors of tensor expressions. Each program is what TVM 0.27 gives; the tests pass there, too."""

import pytest
from tvm import relax, te, tirx, topi
from tvm.topi.nn.utils import get_pad_tuple

N, M = te.var("n"), te.var("m")


def T(name, *shape, dtype="float32"):  # noqa: N802
    """A tensor that is given."""
    return te.placeholder(shape, dtype, name)


def given(tensor, found):
    """The tensors that one is computed of, by their names."""
    for item in tensor.op.input_tensors:
        if isinstance(item.op, te.PlaceholderOp):
            found[item.op.name] = item
        else:
            given(item, found)
    return found


def stores(made):
    """The stores of the program that computes a tensor, in order."""
    found = given(made, {})
    text = te.create_prim_func([*(found[name] for name in sorted(found)), made]).script()
    return [line.strip() for line in text.split("\n") if "] = " in line]


INDEXING = {
    "gather_nd_with_a_batch": (lambda: topi.gather_nd(T("A", 3, 4, 5), T("B", 2, 3, dtype="int32"), 1), ["T_gather_nd[v_ax0] = A[v_ax0, B[0, v_ax0], B[1, v_ax0]]"]),
    "adv_index_broadcasts_the_indices": (
        lambda: topi.adv_index(T("A", 3, 4, 5), [T("B", 2, 1, dtype="int32"), T("C", 1, 7, dtype="int64")]),
        [
            "T_broadcast_to[v_ax0, v_ax1] = B[v_ax0, 0]",
            "T_broadcast_to_1[v_ax0, v_ax1] = C[0, v_ax1]",
            "advanced_index[v_ax0, v_ax1, v_ax2] = A[T_broadcast_to[v_ax0, v_ax1], T_broadcast_to_1[v_ax0, v_ax1], v_ax2]",
        ],
    ),
    "one_hot_along_an_axis": (
        lambda: topi.one_hot(T("A", 3, 4, dtype="int64"), 2, -1, 5, 1, "int8"),
        ['T_one_hot[v_ax0, v_ax1, v_ax2] = T.Select(A[v_ax0, v_ax2] == T.Cast("int64", v_ax1), T.int8(2), T.int8(-1))'],
    ),
    "sequence_mask_compares_in_the_type_of_lengths": (
        lambda: topi.sequence_mask(T("A", 3, 4, 2), T("B", 3, dtype="int64"), -1.5, 1),
        ['T_sequence_mask[v_ax0, v_ax1, v_ax2] = T.if_then_else(B[v_ax0] <= T.Cast("int64", v_ax1), T.float32(-1.5), A[v_ax0, v_ax1, v_ax2])'],
    ),
    "sparse_to_dense_of_pairs": (
        lambda: topi.sparse_to_dense(T("A", 2, 2, dtype="int32"), [6, 5], T("B", 2), 0.0),
        [
            (
                "T_sparse_to_dense[v_ax0, v_ax1] = T.if_then_else(v_ax0 == A[1, 0] and v_ax1 == A[1, 1], B[1], T.if_then_else(v_ax0 == A[0, 0] and v_ax1 == A[0, 1], B[0], "
                "T.float32(0.0)))"
            )
        ],
    ),
    "unravel_index_of_a_scalar": (
        lambda: topi.unravel_index(T("A", dtype="int32"), T("B", 2, dtype="int32")),
        ["T_unravel[v_ax0] = T.if_then_else(v_ax0 == 0, A[()] // B[1] % B[0], T.if_then_else(v_ax0 == 1, A[()] % B[1], 0))"],
    ),
    "matrix_set_diag_of_a_band": (
        lambda: topi.matrix_set_diag(T("A", 2, 3, 4), T("B", 2, 2, 3), (-1, 0)),
        [
            (
                "T_matrix_set_diag[v_ax0, v_ax1, v_ax2] = T.if_then_else(-1 <= v_ax2 - v_ax1, T.if_then_else(v_ax2 - v_ax1 <= 0, B[v_ax0, v_ax1 - v_ax2, T.if_then_else(v_ax2 "
                "- v_ax1 == 0, v_ax1, v_ax2) + T.if_then_else(v_ax2 - v_ax1 == 0, 3 - T.if_then_else(v_ax1 - v_ax2 < -1, v_ax1 + 4 - v_ax2, 3), 0)], A[v_ax0, v_ax1, v_ax2]), "
                "A[v_ax0, v_ax1, v_ax2])"
            )
        ],
    ),
    "sliding_window_with_a_step": (
        lambda: topi.sliding_window(T("A", 10, 8), 0, [3, 2], [1, 2]),
        ["T_sliding_window[v_ax0, v_ax1, v_ax2, v_ax3] = A[v_ax0 + v_ax2, v_ax1 * T.int64(2) + v_ax3]"],
    ),
    "tensordot_of_named_axes": (
        lambda: topi.tensordot(T("A", 3, 4, 5), T("B", 4, 3, 2), ((1, 0), (0, 1))),
        ["T_tensordot[v_ax0, v_ax1] = T.float32(0.0)", "T_tensordot[v_ax0, v_ax1] = T_tensordot[v_ax0, v_ax1] + A[v_k1, v_k0, v_ax0] * B[v_k0, v_k1, v_ax1]"],
    ),
    "layout_with_channels_that_do_not_fill_a_block": (
        lambda: topi.layout_transform(T("A", 1, 30, 8, 8), "NCHW", "NCHW16c"),
        [
            (
                "T_layout_trans[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] = T.if_then_else(v_ax0 < 1 and v_ax1 * 16 + v_ax4 < 30 and v_ax2 < 8 and v_ax3 < 8, A[v_ax0, v_ax1 * 16 + "
                "v_ax4, v_ax2, v_ax3], T.float32(0.0))"
            )
        ],
    ),
    "dyn_tile_of_symbolic_extents": (lambda: topi.dyn_tile(T("A", 3, 4), (2, N, M), 3), ["T_tile[v_ax0, v_ax1, v_ax2] = A[v_ax1 % 3, v_ax2 % 4]"]),
    "shape_of_symbolic_extents": (
        lambda: topi.shape(T("A", N, M, 5), "int64"),
        ['T_shape[v_ax0] = T.Cast("int64", T.if_then_else(v_ax0 == 2, 5, T.if_then_else(v_ax0 == 1, m, T.if_then_else(v_ax0 == 0, n, 0))))'],
    ),
    "slice_with_symbolic_ends": (lambda: topi.strided_slice(T("A", N, 8), [N // 2], [N], [1], [0]), ["T_dynamic_strided_slice_with_axes[v_ax0, v_ax1] = A[n // 2 + v_ax0, v_ax1]"]),
    "take_outside_is_no_number": (
        lambda: topi.take(T("A", N, 4), T("B", 2, 3, dtype="int64"), 1, 0, "nan"),
        ['T_take[v_ax0, v_ax1, v_ax2] = T.if_then_else(T.int64(0) <= B[v_ax1, v_ax2] and B[v_ax1, v_ax2] < T.int64(4), A[v_ax0, B[v_ax1, v_ax2]], T.float32("nan"))'],
    ),
}

ARITHMETIC = {
    "fixed_point_multiply": (lambda: topi.fixed_point_multiply(T("A", N, dtype="int32"), 1, -2), ["compute[v_i0] = T.q_multiply_shift(A[v_i0], 1, 31, -2)"]),
    "log2_of_whole_numbers": (
        lambda: topi.log2(T("A", N, 4, dtype="int32")),
        ['compute_1[v_i0, v_i1] = T.Cast("float32", A[v_i0, v_i1])', "compute[v_i0, v_i1] = T.log2(compute_1[v_i0, v_i1])"],
    ),
    "reinterpret_as_whole_numbers": (lambda: topi.reinterpret(T("A", 3, 4), "int32"), ['tensor[v_ax0, v_ax1] = T.reinterpret("int32", A[v_ax0, v_ax1])']),
    "elemwise_sum_of_three": (lambda: topi.elemwise_sum([T("A", 3), T("B", 3), T("C", 3)]), ["T_elemwise_sum[v_ax0] = A[v_ax0] + B[v_ax0] + C[v_ax0]"]),
    "symbolic_extents_are_broadcast": (lambda: topi.add(T("A", N, 4), T("B", M, 4)), ["T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax0, v_ax1]"]),
    "a_tensor_and_a_variable": (lambda: topi.power(T("A", 3), N), ['T_power[v_ax0] = T.pow(A[v_ax0], T.Cast("float32", n))']),
    "all_along_two_axes": (
        lambda: topi.all(T("A", 3, 4, 5, dtype="bool"), (0, -1), True),
        ["A_red[v_ax0, v_ax1, v_ax2] = T.bool(True)", "A_red[v_ax0, v_ax1, v_ax2] = A_red[v_ax0, v_ax1, v_ax2] and A[v_k0, v_ax1, v_k2]"],
    ),
    "any_of_a_scalar": (lambda: topi.any(T("A", dtype="bool")), ["A_red[()] = A[()]"]),
    "the_last_of_the_greatest": (
        lambda: topi.argmax(T("A", 3, 4), 1, True, True),
        [
            "A_red_temp_v0[v_ax0, v_ax1] = -1",
            "A_red_temp_v1[v_ax0, v_ax1] = T.float32(-340282346638528859811704183484516925440.0)",
            (
                "v_A_red_temp_v0: T.let[T.int32] = T.Select(A_red_temp_v1[v_ax0, v_ax1] > A[v_ax0, v_k1] or A_red_temp_v1[v_ax0, v_ax1] == A[v_ax0, v_k1] and "
                "A_red_temp_v0[v_ax0, v_ax1] > v_k1, A_red_temp_v0[v_ax0, v_ax1], v_k1)"
            ),
            "v_A_red_temp_v1: T.let[T.float32] = T.Select(A_red_temp_v1[v_ax0, v_ax1] > A[v_ax0, v_k1], A_red_temp_v1[v_ax0, v_ax1], A[v_ax0, v_k1])",
            "A_red_temp_v0[v_ax0, v_ax1] = v_A_red_temp_v0",
            "A_red_temp_v1[v_ax0, v_ax1] = v_A_red_temp_v1",
            "A_red[v_ax0, v_ax1] = A_red_temp_v0[v_ax0, v_ax1]",
        ],
    ),
}

CONVOLUTIONS = {
    "conv1d_of_groups": (
        lambda: topi.nn.conv1d(T("A", 1, 4, 10), T("B", 8, 2, 3), (1,), (1,), (1,), 2),
        [
            "pad_temp[v_i0, v_i1, v_i2] = T.if_then_else(1 <= v_i2 and v_i2 < 11, A[v_i0, v_i1, v_i2 - 1], T.float32(0.0))",
            "group_conv1d_ncw[v_nn, v_ff, v_yy] = T.float32(0.0)",
            "group_conv1d_ncw[v_nn, v_ff, v_yy] = group_conv1d_ncw[v_nn, v_ff, v_yy] + pad_temp[v_nn, v_ff // 4 * 2 + v_rc, v_yy + v_ry] * B[v_ff, v_rc, v_ry]",
        ],
    ),
    "conv2d_hwcn_reduces_the_width_first": (
        lambda: topi.nn.conv2d_hwcn(T("A", 10, 10, 4, 2), T("B", 3, 3, 4, 8), 2, (1, 0), 2),
        [
            "pad_temp[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i0 and v_i0 < 11, A[v_i0 - 1, v_i1, v_i2, v_i3], T.float32(0.0))",
            "conv2d_hwcn[v_yy, v_xx, v_ff, v_nn] = T.float32(0.0)",
            (
                "conv2d_hwcn[v_yy, v_xx, v_ff, v_nn] = conv2d_hwcn[v_yy, v_xx, v_ff, v_nn] + pad_temp[v_yy * 2 + v_ry * 2, v_xx * 2 + v_rx * 2, v_rc, v_nn] * B[v_ry, v_rx, "
                "v_rc, v_ff]"
            ),
        ],
    ),
    "conv2d_nhwc_of_another_type": (
        lambda: topi.nn.conv2d_nhwc(T("A", 1, 10, 10, 4, dtype="float16"), T("B", 3, 3, 4, 8, dtype="float16"), 1, 1, 1),
        [
            "pad_temp[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i1 and v_i1 < 11 and 1 <= v_i2 and v_i2 < 11, A[v_i0, v_i1 - 1, v_i2 - 1, v_i3], T.float16(0.0))",
            "conv2d_nhwc[v_nn, v_yy, v_xx, v_ff] = T.float32(0.0)",
            (
                'conv2d_nhwc[v_nn, v_yy, v_xx, v_ff] = conv2d_nhwc[v_nn, v_yy, v_xx, v_ff] + T.Cast("float32", pad_temp[v_nn, v_yy + v_ry, v_xx + v_rx, v_rc]) * '
                'T.Cast("float32", B[v_ry, v_rx, v_rc, v_ff])'
            ),
        ],
    ),
    "depthwise_conv2d_with_a_multiplier": (
        lambda: topi.nn.depthwise_conv2d_nhwc(T("A", 1, 10, 10, 4), T("B", 3, 3, 2, 4), 1, 1, 1, "HWIO"),
        [
            "PaddedInput[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i1 and v_i1 < 11 and 1 <= v_i2 and v_i2 < 11, A[v_i0, v_i1 - 1, v_i2 - 1, v_i3], T.float32(0.0))",
            "DepthwiseConv2d[v_b, v_i, v_j, v_c] = T.float32(0.0)",
            ("DepthwiseConv2d[v_b, v_i, v_j, v_c] = DepthwiseConv2d[v_b, v_i, v_j, v_c] + PaddedInput[v_b, v_i + v_di, v_j + v_dj, v_c // 2] * B[v_di, v_dj, v_c % 2, v_c // 2]"),
        ],
    ),
    "conv2d_transpose_of_groups": (
        lambda: topi.nn.group_conv2d_transpose_nchw(T("A", 1, 4, 10, 10), T("B", 4, 8, 3, 3), (2, 2), 1, "float32", (0, 0), 2),
        [
            "data_dilate[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(v_i2 % 2 == 0 and v_i3 % 2 == 0, A[v_i0, v_i1, v_i2 // 2, v_i3 // 2], T.float32(0.0))",
            ("data_pad[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i2 and v_i2 < 20 and 1 <= v_i3 and v_i3 < 20, data_dilate[v_i0, v_i1, v_i2 - 1, v_i3 - 1], T.float32(0.0))"),
            "kernel_transform[v_i, v_o, v_h, v_w] = B[v_o, v_i, 2 - v_h, 2 - v_w]",
            "compute[v_b, v_c, v_h, v_w] = T.float32(0.0)",
            (
                "compute[v_b, v_c, v_h, v_w] = compute[v_b, v_c, v_h, v_w] + data_pad[v_b, v_c // 8 * 2 + v_dc, v_h + v_dh, v_w + v_dw] * kernel_transform[v_c % 8, v_c // 8 * "
                "2 + v_dc, v_dh, v_dw]"
            ),
        ],
    ),
    "dilation2d": (
        lambda: topi.image.dilation2d_nhwc(T("A", 1, 8, 8, 4), T("B", 3, 2, 4), [2, 1], [1, 1], [1, 2]),
        [
            "padded_input[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i1 and v_i1 < 9 and 1 <= v_i2 and v_i2 < 9, A[v_i0, v_i1 - 1, v_i2 - 1, v_i3], T.float32(0.0))",
            "compute[v_nn, v_yy, v_xx, v_ff] = T.float32(-340282346638528859811704183484516925440.0)",
            "compute[v_nn, v_yy, v_xx, v_ff] = T.max(compute[v_nn, v_yy, v_xx, v_ff], padded_input[v_nn, v_yy * 2 + v_ry, v_rx * 2 + v_xx, v_ff] + B[v_ry, v_rx, v_ff])",
        ],
    ),
    "binary_dense": (
        lambda: topi.nn.binary_dense(T("A", 4, 2, dtype="uint32"), T("B", 8, 2, dtype="uint32")),
        [
            "compute_1[v_i, v_j] = T.uint32(0)",
            "compute_1[v_i, v_j] = compute_1[v_i, v_j] + T.popcount(A[v_i, v_k] ^ B[v_j, v_k])",
            'compute[v_i, v_j] = T.float32(64.0) - T.float32(2.0) * T.Cast("float32", compute_1[v_i, v_j])',
        ],
    ),
}

NETWORKS = {
    "mirror_pad_once": (
        lambda: topi.nn.mirror_pad(T("A", 3, 4), [1, 0], [2, 1], "REFLECT", "mirrored"),
        [
            (
                "mirrored[v_i0, v_i1] = A[T.if_then_else(4 <= v_i0, 5 - v_i0, T.if_then_else(v_i0 < 1, 1 - v_i0, v_i0 - 1)), T.if_then_else(4 <= v_i1, 6 - v_i1, "
                "T.if_then_else(v_i1 < 0, v_i1 * -1, v_i1))]"
            )
        ],
    ),
    "reflect_pad": (
        lambda: topi.nn.reflect_pad(T("A", N, 4), [1, 0], [2, 1]),
        [
            (
                "ReflectPadInput[v_i0, v_i1] = A[n - T.Select(1 <= n - T.Select(1 <= v_i0, v_i0 - 1, 1 - v_i0), n - T.Select(1 <= v_i0, v_i0 - 1, 1 - v_i0) - 1, T.Select(1 <= "
                "v_i0, v_i0 - 1, 1 - v_i0) + 1 - n) - 1, 3 - T.Select(T.Select(0 <= v_i1, v_i1, 0 - v_i1) <= 3, 3 - T.Select(0 <= v_i1, v_i1, 0 - v_i1), T.Select(0 <= v_i1, "
                "v_i1, 0 - v_i1) - 3)]"
            )
        ],
    ),
    "circular_pad": (lambda: topi.nn.circular_pad(T("A", 3, 4), [1, 0], [2, 1]), ["CircularPadInput[v_i0, v_i1] = A[(v_i0 + 2) % 3, v_i1 % 4]"]),
    "dilate_by_a_value": (lambda: topi.nn.dilate(T("A", 3, 4), [3, 1], 1.5), ["DilatedInput[v_i0, v_i1] = T.if_then_else(v_i0 % 3 == 0, A[v_i0 // 3, v_i1], T.float32(1.5))"]),
    "depth_to_space_column_first": (
        lambda: topi.nn.depth_to_space(T("A", N, 3, 4, 16), 2, "NHWC", "CRD"),
        ["depth_to_space[v_i0, v_i1, v_i2, v_i3] = A[v_i0, T.Div(v_i1, 2), T.Div(v_i2, 2), v_i3 * 4 + T.truncmod(v_i1, 2) * 2 + T.truncmod(v_i2, 2)]"],
    ),
    "space_to_batch_has_blocks_of_64_bits": (
        lambda: topi.nn.space_to_batch_nd(T("A", 2, 4), [2], [0], [2]),
        [
            "T_pad[v_ax0, v_ax1] = T.if_then_else(v_ax1 < 4, A[v_ax0, v_ax1], T.float32(0.0))",
            (
                'T_reshape_1[v_ax0, v_ax1, v_ax2] = T_pad[((v_ax1 * T.int64(2) + v_ax2) // T.int64(6) + T.Cast("int64", v_ax0)) % T.int64(2), (v_ax1 * T.int64(2) + v_ax2) % '
                "T.int64(6)]"
            ),
            "T_transpose[v_ax0, v_ax1, v_ax2] = T_reshape_1[v_ax1, v_ax2, v_ax0]",
            ("T_reshape[v_ax0, v_ax1] = T_transpose[(v_ax1 // T.int64(3) + v_ax0) % T.int64(4) // T.int64(2), (v_ax1 // T.int64(3) + v_ax0) % T.int64(2), v_ax1 % T.int64(3)]"),
        ],
    ),
    "fifo_buffer_of_two_axes": (lambda: topi.nn.fifo_buffer(T("A", 2, 4), T("B", 5, 4), 0), ["new_buffer[v_i, v_j] = T.if_then_else(v_i < 3, B[v_i + 2, v_j], A[v_i - 3, v_j])"]),
    "flatten_of_symbolic_extents": (lambda: topi.nn.flatten(T("A", N, 3, M)), ["compute[v_i, v_j] = A[v_i, v_j // m % 3, v_j % m]"]),
    "prelu_of_one_slope": (
        lambda: topi.nn.prelu(T("A", 1, 4, 3), T("B", 1)),
        [
            "slope_broadcasted[v_c] = B[0]",
            "compute[v_i0, v_i1, v_i2] = T.Select(T.float32(0.0) < A[v_i0, v_i1, v_i2], A[v_i0, v_i1, v_i2], A[v_i0, v_i1, v_i2] * slope_broadcasted[v_i1])",
        ],
    ),
    "adaptive_pool_of_the_greatest": (
        lambda: topi.nn.adaptive_pool1d(T("A", 1, 8, 4), [3], "max", "NWC"),
        [
            "adaptive_pool_max[v_ax0_1, v_ax1_1, v_ax2_1] = T.float32(-340282346638528859811704183484516925440.0)",
            "adaptive_pool_max[v_ax0_1, v_ax1_1, v_ax2_1] = T.max(adaptive_pool_max[v_ax0_1, v_ax1_1, v_ax2_1], A[v_ax0_1, v_ax1_1 * 8 // 3 + v_rv0, v_ax2_1])",
        ],
    ),
    "resize1d_to_the_closest": (
        lambda: topi.image.resize1d(T("A", 1, 8, 4), [0.0, 0.0], [5], "NWC", "nearest_neighbor", "asymmetric"),
        [
            (
                'resize[v_i0, v_i1, v_i2] = A[v_i0, T.max(T.min(T.Cast("int32", T.floor(T.float32(1.6000000238418579) * T.Cast("float32", v_i1) + '
                "T.float32(1.0000000000000001e-05))), 7), 0), v_i2]"
            )
        ],
    ),
}

PROGRAMS = {
    "searchsorted_in_rows": (lambda: topi.searchsorted(T("A", N, 5), T("B", N, 4), True, "int32"), ["searchsorted[v // 4, v % 4] = buffer"]),
}

ALL = {**INDEXING, **ARITHMETIC, **CONVOLUTIONS, **NETWORKS, **PROGRAMS}


@pytest.mark.parametrize("name", ALL)
def test_the_stores_of_a_program(name):
    make, expected = ALL[name]
    assert stores(make()) == expected


def test_a_polynomial_for_the_error_function_is_one_of_32_bits():
    (line,) = stores(topi.fast_erf(T("A", 4)))
    assert line.startswith("T_fast_erf[v_ax0] = T.max(T.min(A[v_ax0], T.float32(4.0)), T.float32(-4.0)) * (")
    assert "T.float32(-2.7261423674040941e-10)" in line


def test_boxes_are_cut_out_and_resized():
    A, B, C = T("A", 1, 8, 8, 4), T("B", 3, 4), T("C", 3, dtype="int32")
    made = topi.image.crop_and_resize(A, B, C, (4, 5), "NHWC", "nearest_neighbor", 1.5)
    (line,) = stores(made)
    assert [int(extent) for extent in made.shape] == [3, 4, 5, 4]
    assert 'A[C[v_i0], T.max(T.min(T.Cast("int32", T.round(B[v_i0, 0] * T.float32(7.0) + ' in line


def test_the_matrices_of_a_convolution_by_fewer_products():
    data, filters = T("A", 1, 4, 12, 12), T("B", 8, 4, 3, 3)
    made = topi.nn.conv2d_winograd_nchw(data, filters, 1, 1, 1, "float32")
    lines = stores(made)
    assert lines[-1] == ("conv2d_winograd[v_n, v_co, v_h, v_w] = inverse[v_co, v_n * 9 + v_h // 4 * 3 + v_w // 4, v_h % 4, v_w % 4]")
    assert any(line.startswith("G[v_i, v_j] = T.Select(v_i % 6 == 5 and v_j % 3 == 2, T.float32(1.0), ") for line in lines)
    assert any("v_i % 6 == 1 and v_j % 6 == 0, T.float32(-1.5), " in line for line in lines)


def test_words_hold_the_bits_of_numbers():
    lines = stores(topi.nn.bitpack(T("A", 4, 16, dtype="uint8"), 2, 1, 1, "uint8"))
    assert lines[0].startswith('QuantizeInput_v0[v_i0, v_i1, v_i2] = (((((((T.uint8(0) | T.Cast("uint8", T.Cast("int32", A[v_i0, v_i2 * 8]) & 1)')
    assert lines[-1] == "T_concat[v_ax0, v_ax1, v_ax2] = T.if_then_else(1 <= v_ax1, QuantizeInput_v1[v_ax0, v_ax1 - 1, v_ax2], QuantizeInput_v0[v_ax0, v_ax1, v_ax2])"


def test_tags_say_what_an_operation_is():
    A = T("A", 1, 4, 8, 8)
    assert topi.nn.pad(A, [0, 0, 1, 1]).op.tag == topi.tag.INJECTIVE + ",pad"
    assert topi.nn.conv2d_nchw(A, T("B", 8, 4, 3, 3), 1, 1, 1).op.tag == "conv2d_nchw"
    assert topi.tag.is_injective(topi.add(A, 1.0).op.tag) and topi.tag.is_broadcast(topi.add(A, A).op.tag)


def test_scalars_alone_give_a_scalar():
    assert str(topi.add(N, M)) == "n + m"
    assert int(topi.maximum(tirx.IntImm("int32", 3), 5)) == 5


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(Exception, match="Incompatible broadcast dims"):
        topi.add(T("A", 3), T("B", 4))
    with pytest.raises(AssertionError, match="divide group size"):
        topi.nn.group_conv2d_nchw(T("A", 1, 4, 8, 8), T("B", 9, 2, 3, 3), 1, 1, 1, 2)
    with pytest.raises(ValueError, match="dismatch"):
        topi.nn.pad(T("A", 3, 4), [1])
    with pytest.raises(AssertionError, match="only support axis = 0, 1"):
        topi.sequence_mask(T("A", 3, 3), T("B", 3, dtype="int32"), 0, 2)


def test_a_convolution_that_a_relax_function_calls():
    x = relax.Var("x", relax.TensorType((1, 4, 8, 8), "float32"))
    w = relax.Var("w", relax.TensorType((8, 2, 3, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit_te(topi.nn.group_conv2d_nchw, x, w, 1, 1, 1, 2))
    text = builder.get().script()
    assert "def group_conv2d_nchw(" in text
    assert 'out_ty=R.Tensor((1, 8, 8, 8), dtype="float32")' in text
    assert "pad_temp[v_nn, v_ff // T.int64(4) * T.int64(2) + v_rc, v_yy + v_ry, v_xx + v_rx] * w[v_ff, v_rc, v_ry, v_rx]" in text


def test_widths_of_a_padding():
    assert get_pad_tuple(1, (3, 3)) == (1, 1, 1, 1)
    assert get_pad_tuple("SAME", (4, 3)) == (2, 1, 1, 1)
    assert topi.nn.get_pad_tuple1d((1, 2), (3,)) == (1, 2)
    assert topi.nn.get_pad_tuple3d((1, 2, 3), (3, 3, 3)) == (1, 2, 3, 1, 2, 3)
    assert get_pad_tuple("VALID", (4, 3)) == (0, 0, 0, 0)
