# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def scatter_elements_1(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2, 2), "int64"), u: R.Tensor((2, 3), "float32")):
        return R.scatter_elements(x, i, u)

    @R.function
    def scatter_elements_2(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2, 3), "float32"), u: R.Tensor((2, 3), "float32")):
        return R.scatter_elements(x, i, u)

    @R.function
    def scatter_elements_3(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2, 3), "int64"), u: R.Tensor((2, 3), "float16")):
        return R.scatter_elements(x, i, u)

    @R.function
    def scatter_nd_4(x: R.Tensor((2, 3), "float32"), i: R.Tensor((1, 3), "int64"), u: R.Tensor((2, 3), "float32")):
        return R.scatter_nd(x, i, u)

    @R.function
    def strided_slice_5(x: R.Tensor((2, 3), "float32")):
        return R.strided_slice(x, [0], [0], [1], [0])

    @R.function
    def dynamic_strided_slice_6(x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "int64")):
        return R.dynamic_strided_slice(x, b, b, b)

    @R.function
    def dynamic_strided_slice_7(x: R.Tensor((2, 3), "float32"), b: R.Tensor((2,), "float32")):
        return R.dynamic_strided_slice(x, b, b, b)

    @R.function
    def dynamic_strided_slice_8(x: R.Tensor((2, 3), "float32"), b: R.Tensor((2, 2), "int64")):
        return R.dynamic_strided_slice(x, b, b, b)

    @R.function
    def arange_11(x: R.Tensor((2, 3), "float32")):
        return R.arange(0, 10, 0)

    @R.function
    def one_hot_12(x: R.Tensor((2, 3), "float32")):
        return R.one_hot(x, 1.0, 0.0, 3)

    @R.function
    def one_hot_13(x: R.Tensor((2, 3), "int64")):
        return R.one_hot(x, R.prim_value(1), R.prim_value(0), 0, axis=-1)

    @R.function
    def einsum_14(x: R.Tensor((2, 3), "float32")):
        return R.einsum((x, ), "ii->i")

    @R.function
    def einsum_15(x: R.Tensor((2, 3), "float32")):
        return R.einsum((x, x), "ij, jk->ik")

    @R.function
    def collapse_sum_to_16(x: R.Tensor((2, 3), "float32")):
        return R.collapse_sum_to(x, (4, ))

    @R.function
    def collapse_sum_like_17(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4,), "float32")):
        return R.collapse_sum_like(x, y)

    @R.function
    def topk_18(x: R.Tensor((2, 3), "float32")):
        return R.topk(x, 2, ret_type="foo")

    @R.function
    def unique_19(x: R.Tensor((2, 3), "float32")):
        return R.unique(x, axis=2)

    @R.function
    def tensor_to_shape_20(x: R.Tensor((2, 3), "float32")):
        return R.tensor_to_shape(x)

    @R.function
    def layout_transform_21(x: R.Tensor((2, 3), "int32")):
        return R.layout_transform(x, index_map=lambda i, j: (j, i), pad_value=1.5)

    @R.function
    def nn_conv2d_22(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        return R.nn.conv2d(x, w, strides=0)

    @R.function
    def nn_conv2d_23(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        return R.nn.conv2d(x, w, strides=[1, 1, 1])

    @R.function
    def nn_conv2d_24(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        return R.nn.conv2d(x, w, padding=[1, 1, 1])

    @R.function
    def nn_conv1d_25(x: R.Tensor((1, 3, 8), "float32"), w: R.Tensor((4, 3, 3), "float32")):
        return R.nn.conv1d(x, w, padding=[1, 1, 1])

    @R.function
    def nn_max_pool2d_26(x: R.Tensor((1, 3, 8, 8), "float32")):
        return R.nn.max_pool2d(x, pool_size=[1, 2, 3])

    @R.function
    def nn_max_pool2d_27(x: R.Tensor((1, 3, 8, 8), "float32")):
        return R.nn.max_pool2d(x, pool_size=[1, 2], strides=[1, 2, 3])

    @R.function
    def nn_max_pool2d_28(x: R.Tensor((1, 3, 8, 8), "float32")):
        return R.nn.max_pool2d(x, pool_size=[1, 2], padding=[1, 2, 3])

    @R.function
    def nn_avg_pool2d_29(x: R.Tensor((1, 3, 8, 8), "float32")):
        return R.nn.avg_pool2d(x, pool_size=[1, 2, 3])

    @R.function
    def nn_max_pool1d_30(x: R.Tensor((1, 3, 8), "float32")):
        return R.nn.max_pool1d(x, pool_size=[1, 2])

    @R.function
    def nn_adaptive_avg_pool2d_31(x: R.Tensor((1, 3, 8, 8), "float32")):
        return R.nn.adaptive_avg_pool2d(x, output_size=[1, 2, 3])

    @R.function
    def nn_layer_norm_32(x: R.Tensor((2, 3), "float32"), g: R.Tensor((4,), "float32"), b: R.Tensor((3,), "float32")):
        return R.nn.layer_norm(x, g, b, axes=[-1])

    @R.function
    def nn_layer_norm_33(x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float16"), b: R.Tensor((3,), "float32")):
        return R.nn.layer_norm(x, g, b, axes=[-1])

    @R.function
    def nn_layer_norm_34(x: R.Tensor((2, 3), "int32"), g: R.Tensor((3,), "int32"), b: R.Tensor((3,), "int32")):
        return R.nn.layer_norm(x, g, b, axes=[-1])

    @R.function
    def nn_layer_norm_35(x: R.Tensor((2, 3), "float32"), g: R.Tensor((3, 1), "float32"), b: R.Tensor((3,), "float32")):
        return R.nn.layer_norm(x, g, b, axes=[-1])

    @R.function
    def nn_group_norm_36(x: R.Tensor((2, 4, 3), "float32"), g: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
        return R.nn.group_norm(x, g, b, num_groups=3, channel_axis=1, axes=[2])

    @R.function
    def nn_group_norm_37(x: R.Tensor((2, 4, 3), "float32"), g: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
        return R.nn.group_norm(x, g, b, num_groups=2, channel_axis=3, axes=[2])

    @R.function
    def nn_group_norm_38(x: R.Tensor((2, 4, 3), "float32"), g: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
        return R.nn.group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[1, 2])

    @R.function
    def nn_group_norm_39(x: R.Tensor((2, 4, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((4,), "float32")):
        return R.nn.group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[2])

    @R.function
    def nn_rms_norm_40(x: R.Tensor((2, 3), "float32"), g: R.Tensor((4,), "float32")):
        return R.nn.rms_norm(x, g, axes=[-1])

    @R.function
    def nn_instance_norm_41(x: R.Tensor((2, 4, 3), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((4,), "float32")):
        return R.nn.instance_norm(x, g, b, channel_axis=1, axes=[2])

    @R.function
    def nn_nll_loss_42(x: R.Tensor((3, 5), "float32"), t: R.Tensor((3,), "int64")):
        return R.nn.nll_loss(x, t, reduction="foo")

    @R.function
    def nn_nll_loss_43(x: R.Tensor((3, 5), "float32"), t: R.Tensor((4,), "int64")):
        return R.nn.nll_loss(x, t)

    @R.function
    def nn_nll_loss_44(x: R.Tensor((3, 5), "float32"), t: R.Tensor((3,), "float32")):
        return R.nn.nll_loss(x, t)

    @R.function
    def nn_nll_loss_45(x: R.Tensor((3, 5), "float32"), t: R.Tensor((3,), "int64"), w: R.Tensor((4,), "float32")):
        return R.nn.nll_loss(x, t, w)

    @R.function
    def nn_nll_loss_46(x: R.Tensor((3, 5), "float32"), t: R.Tensor((3,), "int64"), w: R.Tensor((5,), "float16")):
        return R.nn.nll_loss(x, t, w)

    @R.function
    def nn_nll_loss_47(x: R.Tensor((3, 5), "float32"), t: R.Tensor((3,), "int64"), w: R.Tensor((5, 5), "float32")):
        return R.nn.nll_loss(x, t, w)

    @R.function
    def nn_nll_loss_48(x: R.Tensor((3, 5, 2), "float32"), t: R.Tensor((3,), "int64")):
        return R.nn.nll_loss(x, t)

    @R.function
    def nn_attention_49(q: R.Tensor((2, 4, 8, 16), "float32"), k: R.Tensor((2, 5, 7, 16), "float32"), v: R.Tensor((2, 5, 8, 16), "float32")):
        return R.nn.attention(q, k, v)

    @R.function
    def nn_attention_50(q: R.Tensor((2, 4, 8, 16), "float32"), k: R.Tensor((2, 5, 8, 16), "float32"), v: R.Tensor((2, 5, 8, 16), "float32"), b: R.Tensor((2, 8, 4, 6), "float32")):
        return R.nn.attention(q, k, v, b)

    @R.function
    def nn_attention_51(q: R.Tensor((2, 4, 8, 16), "float32"), k: R.Tensor((2, 5, 8, 16), "float32"), v: R.Tensor((2, 5, 8, 16), "float32"), b: R.Tensor((2, 8, 5), "float32")):
        return R.nn.attention(q, k, v, b)

    @R.function
    def quantize_52(x: R.Tensor((2, 3), "float32"), s: R.Tensor((3,), "float32"), z: R.Tensor((3,), "int32")):
        return R.quantize(x, s, z, axis=1, out_dtype="float32")

    @R.function
    def quantize_53(x: R.Tensor((2, 3), "int32"), s: R.Tensor((3,), "float32"), z: R.Tensor((3,), "int32")):
        return R.quantize(x, s, z, axis=1, out_dtype="int8")

    @R.function
    def dequantize_54(x: R.Tensor((2, 3), "int32"), s: R.Tensor((3,), "float32"), z: R.Tensor((3,), "int32")):
        return R.dequantize(x, s, z, axis=1, out_dtype="int8")

    @R.function
    def multinomial_from_uniform_55(x: R.Tensor((2, 3), "float32")):
        return R.multinomial_from_uniform(x, x, x)

    @R.function
    def multinomial_from_uniform_56(p: R.Tensor((2, 3), "int32"), u: R.Tensor((4, 1), "float32"), i: R.Tensor((4, 1), "int64")):
        return R.multinomial_from_uniform(p, u, i)

    @R.function
    def multinomial_from_uniform_57(p: R.Tensor((2, 3), "float32"), u: R.Tensor((4, 2), "float32"), i: R.Tensor((4, 1), "int64")):
        return R.multinomial_from_uniform(p, u, i)

    @R.function
    def multinomial_from_uniform_58(p: R.Tensor((2, 3), "float32"), u: R.Tensor((4, 1), "float32"), i: R.Tensor((5, 1), "int64")):
        return R.multinomial_from_uniform(p, u, i)

    @R.function
    def multinomial_from_uniform_59(p: R.Tensor((2, 3), "float32"), u: R.Tensor((4, 1), "float32"), i: R.Tensor((4, 1), "float32")):
        return R.multinomial_from_uniform(p, u, i)

    @R.function
    def index_put_60(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "int64"), v: R.Tensor((2, 3), "float32")):
        return R.index_put(x, (i, ), v)

    @R.function
    def index_put_61(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "float32"), v: R.Tensor((2,), "float32")):
        return R.index_put(x, (i, i), v)

    @R.function
    def index_put_62(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "int64"), v: R.Tensor((2,), "float16")):
        return R.index_put(x, (i, i), v)

    @R.function
    def index_put_63(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "int64"), v: R.Tensor((2,), "float32")):
        return R.index_put(x, (i, i, i), v)

    @R.function
    def index_tensor_64(x: R.Tensor((2, 3), "float32"), i: R.Tensor((2,), "float32")):
        return R.index_tensor(x, (i, ))

    @R.function
    def meshgrid_65(x: R.Tensor((2, 3), "float32")):
        return R.meshgrid((x, x))

    @R.function
    def bucketize_66(x: R.Tensor((3,), "int64"), y: R.Tensor((2, 2), "float32")):
        return R.bucketize(x, y)

    @R.function
    def slice_scatter_67(x: R.Tensor((2, 3), "float32")):
        return R.slice_scatter(x, x, 0, 1, 1, axis=0)

    @R.function
    def slice_scatter_68(x: R.Tensor((2, 3), "float32")):
        return R.slice_scatter(x, x, 0, 2, 1, axis=5)

    @R.function
    def nn_batch_flatten_69(x: R.Tensor((), "float32")):
        return R.nn.batch_flatten(x)

    @R.function
    def nn_pixel_shuffle_70(x: R.Tensor((2, 6, 3, 3), "float32")):
        return R.nn.pixel_shuffle(x, 2)
