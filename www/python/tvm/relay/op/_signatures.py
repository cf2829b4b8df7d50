"""Parameters of the functions that make calls of operators, where they are not just the operands: TVM 0.19's names, order and
defaults. `name:other` says that the operand or attribute is called otherwise in programs."""

OTHER_NAMES = {
    "nn.contrib_conv2d_nchwc": "nn.contrib_conv2d_NCHWc",
    "nn.contrib_depthwise_conv2d_nchwc": "nn.contrib_depthwise_conv2d_NCHWc",
    "nn.dropout_raw": "nn.dropout",
    "reverse_reshape": "contrib_reverse_reshape",
}
"""Functions that are called otherwise than their operators."""

SIGNATURES = """
all: data, axis=None, keepdims=False, exclude=False
annotation.compiler_begin: data, compiler
annotation.compiler_end: data, compiler
any: data, axis=None, keepdims=False, exclude=False
argmax: data, axis=None, keepdims=False, exclude=False, select_last_index=False
argmin: data, axis=None, keepdims=False, exclude=False, select_last_index=False
argsort: data, axis=-1, is_ascend=1, dtype="int32"
broadcast_to: data, shape
cast: data, dtype
clip: a:data, a_min, a_max
concatenate: data, axis
cumprod: data, axis=None, dtype=None, exclusive=None
cumsum: data, axis=None, dtype=None, exclusive=None
dft: re_data, im_data, inverse=False
einsum: data, equation
expand_dims: data, axis, num_newaxis=1
fixed_point_multiply: data, multiplier, shift
full: fill_value, shape=(), dtype=""
gather: data, axis, indices
gather_nd: data, indices, batch_dims=0, index_rank=None
image.affine_grid: data, target_shape=None
image.crop_and_resize: data, boxes, box_indices, crop_size, layout, method="bilinear", extrapolation_value=0,
  out_dtype=None
image.dilation2d: data, weight, strides=(1, 1), padding=(0, 0), dilations=(1, 1), data_layout="NCHW",
  kernel_layout="IHW", out_dtype=""
image.grid_sample: data, grid, method="bilinear", layout="NCHW", padding_mode="zeros", align_corners=True
image.resize1d: data, size, roi=None, layout="NCW", method="linear", coordinate_transformation_mode="half_pixel",
  rounding_method="", cubic_alpha=-0.5, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None
image.resize2d: data, size, roi=None, layout="NCHW", method="linear", coordinate_transformation_mode="half_pixel",
  rounding_method="", cubic_alpha=-0.5, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None
image.resize3d: data, size, roi=None, layout="NCDHW", method="linear", coordinate_transformation_mode="half_pixel",
  rounding_method="", cubic_alpha=-0.5, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None
layout_transform: data, src_layout, dst_layout
max: data, axis=None, keepdims=False, exclude=False
mean: data, axis=None, keepdims=False, exclude=False
memory.alloc_tensor: storage, offset, shape, dtype="float32", assert_shape=None
meshgrid: data, indexing="ij"
min: data, axis=None, keepdims=False, exclude=False
ndarray_size: data, dtype="int32"
nn.adaptive_avg_pool1d: data, output_size=None, layout="NCW", out_layout=""
nn.adaptive_avg_pool2d: data, output_size=None, layout="NCHW", out_layout=""
nn.adaptive_avg_pool3d: data, output_size=None, layout="NCDHW", out_layout=""
nn.adaptive_max_pool1d: data, output_size=None, layout="NCW", out_layout=""
nn.adaptive_max_pool2d: data, output_size=None, layout="NCHW", out_layout=""
nn.adaptive_max_pool3d: data, output_size=None, layout="NCDHW", out_layout=""
nn.avg_pool1d: data, pool_size=(1,), strides=(1,), dilation=(1,), padding=(0,), layout="NCW", out_layout="",
  ceil_mode=False, count_include_pad=False
nn.avg_pool2d: data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), layout="NCHW",
  out_layout="", ceil_mode=False, count_include_pad=False
nn.avg_pool2d_grad: out_grad:data, data:grad, pool_size=(1, 1), strides=(1, 1), padding=(0, 0), layout="NCHW",
  out_layout="", ceil_mode=False, count_include_pad=False
nn.avg_pool3d: data, pool_size=(1, 1, 1), strides=(1, 1, 1), dilation=(1, 1, 1), padding=(0, 0, 0), layout="NCDHW",
  out_layout="", ceil_mode=False, count_include_pad=False
nn.batch_matmul: tensor_a, tensor_b, out_dtype="", transpose_a=False, transpose_b=True
nn.batch_norm: data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-05, center=True, scale=True
nn.batch_to_space_nd: data, block_shape, crops
nn.bias_add: data, bias, axis=1
nn.bitpack: data, bits=1, pack_axis=1, bit_axis=2, pack_type="uint32", name="BitPack"
nn.bitserial_conv2d: data, weight, strides=(1, 1), padding=(0, 0), channels=None, kernel_size=(3, 3),
  activation_bits=1, weight_bits=1, data_layout="NCHW", kernel_layout="OIHW", pack_dtype="uint32",
  out_dtype="int16", unipolar=True
nn.bitserial_dense: data, weight, units=None, data_bits=1, weight_bits=1, pack_dtype="uint32", out_dtype="int16",
  unipolar=True
nn.contrib_conv2d_gemm_weight_transform: weights, tile_N, tile_K
nn.contrib_conv2d_gemm_without_weight_transform: data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1),
  groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype=""
nn.contrib_conv2d_nchwc: data, kernel:weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
  channels=None, kernel_size=None, data_layout="NCHW8c", kernel_layout="OIHW", out_layout="", out_dtype=""
nn.contrib_conv2d_winograd_nnpack_weight_transform: weight, convolution_algorithm, out_dtype=""
nn.contrib_conv2d_winograd_weight_transform: weight, tile_size
nn.contrib_conv2d_winograd_without_weight_transform: data, weight, tile_size, strides=(1, 1), padding=(0, 0),
  dilation=(1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW",
  out_layout="", out_dtype=""
nn.contrib_conv3d_winograd_weight_transform: weight, tile_size
nn.contrib_conv3d_winograd_without_weight_transform: data, weight, tile_size, strides=(1, 1, 1), padding=(0, 0, 0),
  dilation=(1, 1, 1), groups=1, channels=None, kernel_size=None, data_layout="NCDHW", kernel_layout="OIDHW",
  out_layout="", out_dtype=""
nn.contrib_dense_pack: data, weight, weight_layout="NC", units=None, out_dtype=""
nn.contrib_depthwise_conv2d_nchwc: data, kernel:weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
  channels=None, kernel_size=None, data_layout="NCHW8c", kernel_layout="OIHW", out_layout="", out_dtype=""
nn.conv1d: data, weight, strides=1, padding=0, dilation=1, groups=1, channels=None, kernel_size=None,
  data_layout="NCW", kernel_layout="OIW", out_layout="", out_dtype=""
nn.conv1d_transpose: data, weight, strides=(1,), padding=(0,), dilation=(1,), groups=1, channels=None,
  kernel_size=None, data_layout="NCW", kernel_layout="IOW", out_layout="", output_padding=(0,), out_dtype=""
nn.conv2d: data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, kernel_size=None,
  data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype=""
nn.conv2d_backward_weight: grad, data, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None,
  kernel_size=None, grad_layout:data_layout="NCHW", data_layout:kernel_layout="NCHW", kernel_layout:out_layout="OIHW",
  out_dtype=""
nn.conv2d_transpose: data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None,
  kernel_size=None, data_layout="NCHW", kernel_layout="IOHW", out_layout="", output_padding=(0, 0), out_dtype=""
nn.conv3d: data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1, channels=None,
  kernel_size=None, data_layout="NCDHW", kernel_layout="OIDHW", out_layout="", out_dtype=""
nn.conv3d_transpose: data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1,
  channels=None, kernel_size=None, data_layout="NCDHW", kernel_layout="IODHW", out_layout="", output_padding=(0, 0,
  0), out_dtype=""
nn.correlation: data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply, layout
nn.cross_entropy: predictions:x, targets:y
nn.cross_entropy_with_logits: predictions:x, targets:y
nn.deformable_conv2d: data, offset, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), deformable_groups=1,
  groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype=""
nn.dense: data, weight, units=None, out_dtype=""
nn.depth_to_space: data, block_size, layout="NCHW", mode="DCR"
nn.dilate: data:x, strides, dilation_value=0.0
nn.dropout: data, rate=0.5
nn.dropout_raw: data, rate=0.5
nn.fast_softmax: data, axis=-1
nn.fifo_buffer: data, buffer, axis
nn.global_avg_pool2d: data, layout="NCHW", out_layout=""
nn.global_max_pool2d: data, layout="NCHW", out_layout=""
nn.group_norm: data, gamma, beta, num_groups, axis=1, epsilon=1e-05, center=True, scale=True
nn.instance_norm: data, gamma, beta, axis=1, epsilon=1e-05, center=True, scale=True
nn.l2_normalize: data, eps, axis=None
nn.layer_norm: data, gamma, beta, axis=-1, epsilon=1e-05, center=True, scale=True
nn.leaky_relu: data, alpha=0.01
nn.log_softmax: data, axis=-1
nn.lrn: data, size=5, axis=1, bias=2, alpha=1e-05, beta=0.75
nn.matmul: tensor_a, tensor_b, units=None, out_dtype="", transpose_a=False, transpose_b=False
nn.max_pool1d: data, pool_size=(1,), strides=(1,), dilation=(1,), padding=(0,), layout="NCW", out_layout="",
  ceil_mode=False
nn.max_pool2d: data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), layout="NCHW",
  out_layout="", ceil_mode=False
nn.max_pool2d_grad: out_grad:data, data:grad, pool_size=(1, 1), strides=(1, 1), padding=(0, 0), layout="NCHW",
  out_layout="", ceil_mode=False
nn.max_pool3d: data, pool_size=(1, 1, 1), strides=(1, 1, 1), dilation=(1, 1, 1), padding=(0, 0, 0), layout="NCDHW",
  out_layout="", ceil_mode=False
nn.mirror_pad: data, pad_width, mode="SYMMETRIC"
nn.nll_loss: predictions, targets, weights, reduction="mean", ignore_index=-100
nn.pad: data, pad_width, pad_value:pad_val=0, pad_mode="constant"
nn.prelu: data, alpha, axis=1
nn.softmax: data, axis=-1
nn.space_to_batch_nd: data, block_shape, paddings, pad_value=0
nn.space_to_depth: data, block_size, layout="NCHW"
nn.upsampling: data, scale_h=1, scale_w=1, layout="NCHW", method="nearest_neighbor", align_corners=False
nn.upsampling3d: data, scale_d=1, scale_h=1, scale_w=1, layout="NCDHW", method="nearest_neighbor",
  coordinate_transformation_mode="half_pixel"
one_hot: indices, on_value, off_value, depth, axis, dtype
ones: shape, dtype
prod: data, axis=None, keepdims=False, exclude=False
qnn.add: lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point,
  lhs_axis=-1, rhs_axis=-1
qnn.avg_pool2d: data, input_scale, input_zero_point, output_scale, output_zero_point, pool_size, strides, padding,
  dilation, ceil_mode=False, count_include_pad=True, layout="NHWC", out_layout=""
qnn.batch_matmul: x, y, x_zero_point, y_zero_point, x_scale, y_scale, out_dtype="int32"
qnn.concatenate: data, input_scales, input_zero_points, output_scale, output_zero_point, axis
qnn.contrib_dense_pack: data, weight, input_zero_point, kernel_zero_point:weight_zero_point, input_scale,
  kernel_scale:weight_scale, kernel_layout:weight_layout="NC", units=None, out_dtype="int32"
qnn.conv2d: data, kernel:weight, input_zero_point, kernel_zero_point:weight_zero_point, input_scale,
  kernel_scale:weight_scale, kernel_size, channels, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
  data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="int32"
qnn.conv2d_transpose: data, weight, input_zero_point, kernel_zero_point:weight_zero_point, input_scale,
  kernel_scale:weight_scale, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None,
  kernel_size=None, data_layout="NCHW", kernel_layout="IOHW", out_layout="", output_padding=(0, 0),
  out_dtype="int32"
qnn.dense: data, weight, input_zero_point, kernel_zero_point:weight_zero_point, input_scale,
  kernel_scale:weight_scale, units, out_dtype="int32"
qnn.dequantize: data, input_scale, input_zero_point, axis=-1, out_dtype="float32"
qnn.leaky_relu: x:data, alpha, input_scale, input_zero_point, output_scale, output_zero_point
qnn.mul: lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point,
  lhs_axis=-1, rhs_axis=-1
qnn.quantize: data, output_scale, output_zero_point, axis=-1, out_dtype="int8"
qnn.requantize: data, input_scale, input_zero_point, output_scale, output_zero_point, axis=-1, rounding="None",
  compute_dtype="None", out_dtype="int8"
qnn.simulated_dequantize: data, input_scale, input_zero_point, axis=-1, in_dtype="int8"
qnn.simulated_quantize: data, output_scale, output_zero_point, axis=-1, out_dtype="int8"
qnn.softmax: x:data, scale, zero_point, output_scale, output_zero_point, axis=-1
qnn.subtract: lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, output_zero_point,
  lhs_axis=-1, rhs_axis=-1
random.multinomial: key, probs, num_samples
random.normal: key, shape:out_shape, dtype:out_dtype="float32", mean=0.0, scale=1.0
random.threefry_generate: key, shape:out_shape
random.uniform: key, shape:out_shape, dtype:out_dtype="float32", low=0.0, high=1.0
reinterpret: data, dtype
repeat: data, repeats, axis
reshape: data, newshape, allowzero=False
reshape_like: data, shape_like, lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None
reverse: data, axis
reverse_reshape: data, newshape
reverse_sequence: data, seq_lengths, seq_axis=1, batch_axis=0
scatter_elements: data, indices, updates, axis=0, reduction="update"
scatter_nd: data, indices, updates, mode="update"
searchsorted: sorted_sequence, values, right=False, dtype="int32"
sequence_mask: data, valid_length, mask_value=0, axis=0
shape_of: data, dtype="int32"
slice_like: data, shape_like, axes=None
sliding_window: data, axis, window_shape, strides
sort: data, axis=-1, is_ascend=1
sparse_to_dense: sparse_indices, output_shape, sparse_values, default_value=0
split: data, indices_or_sections, axis=0
squeeze: data, axis=None
stack: data, axis
stft: data, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=True
strided_set: data, v, begin, end, strides=None
strided_slice: data, begin, end, strides=None, axes=None, slice_mode="end"
sum: data, axis=None, keepdims=False, exclude=False
take: data, indices, axis=None, batch_dims=0, mode="clip"
tile: data, reps
topk: data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"
transpose: data, axes=None
trilu: data, k, upper=True
unique: data, is_sorted=True, return_counts=False
unravel_index: indices:data, shape
vision.all_class_non_max_suppression: boxes, scores, max_output_boxes_per_class=-1, iou_threshold=-1.0,
  score_threshold=-1.0, output_format="onnx"
vision.get_valid_counts: data, score_threshold, id_index=0, score_index=1
vision.multibox_prior: data, sizes=(1.0,), ratios=(1.0,), steps=(-1.0, -1.0), offsets=(0.5, 0.5), clip=False
vision.multibox_transform_loc: cls_prob, loc_pred, anchor, clip=True, threshold=0.01, variances=(0.1, 0.1, 0.2,
  0.2), keep_background=False
vision.non_max_suppression: data, valid_count, indices, max_output_size=-1, iou_threshold=0.5, force_suppress=False,
  top_k=-1, coord_start=2, score_index=1, id_index=0, return_indices=True, invalid_to_bottom=False
vision.proposal: cls_prob, bbox_pred, im_info, scales, ratios, feature_stride, threshold, rpn_pre_nms_top_n,
  rpn_post_nms_top_n, rpn_min_size, iou_loss
vision.regular_non_max_suppression: boxes, scores, max_detections_per_class, max_detections, num_classes,
  iou_threshold, score_threshold
vision.roi_align: data, rois, pooled_size, spatial_scale, sample_ratio=-1, layout="NCHW", mode="avg"
vision.roi_pool: data, rois, pooled_size, spatial_scale, layout="NCHW"
vision.yolo_reorg: data, stride
vm.reshape_tensor: data, shape, newshape
vm.shape_of: expr:tensor
zeros: shape, dtype
"""
"""A row for each function; rows that are indented go on."""
