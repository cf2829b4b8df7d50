"""Results of operators, computed by numpy."""

import numpy as np


def strided_slice_python(data, begin, end, strides, slice_mode="end", axes=None):
    """A part of an array: in mode `size`, ends are sizes, and -1 is all that is left."""
    strides = list(strides or ())
    slices = [slice(None)] * len(data.shape)
    for at, axis in enumerate(axes if axes is not None else range(len(begin))):
        first = None if begin[at] is None else int(begin[at])
        last = int(end[at]) if at < len(end) and end[at] is not None else None
        step = int(strides[at]) if at < len(strides) and strides[at] is not None else 1
        if slice_mode == "size":
            step = 1
            last = None if last == -1 else (first or 0) + last
        slices[axis] = slice(first, last, step)
    return data[tuple(slices)]


def softmax_python(a_np, axis=1):
    """Exponentials over their sum along an axis."""
    exponentials = np.exp(a_np - a_np.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np, axis=1):
    """The logarithm of `softmax_python`."""
    return np.log(softmax_python(a_np, axis))


def batch_matmul(x, y, out_dtype=None, trans_x=False, trans_y=True):
    """Products of matrices, one for each of a batch; a batch of one goes with all of the other."""
    x = np.transpose(x, (0, 2, 1)) if trans_x else x
    y = np.transpose(y, (0, 2, 1)) if trans_y else y
    dtype = str(x.dtype) if out_dtype is None else out_dtype
    count = max(x.shape[0], y.shape[0])
    pairs = [(x[at % x.shape[0]].astype(dtype), y[at % y.shape[0]].astype(dtype)) for at in range(count)]
    return np.stack([np.matmul(a, b) for a, b in pairs]).astype(dtype)


def dense(x, y, bias, use_bias=False, use_relu=False, out_dtype=None):
    """The product of a matrix and another that is transposed, with a bias and rectified."""
    dtype = str(x.dtype) if out_dtype is None else out_dtype
    result = np.matmul(x.astype(dtype), np.transpose(y.astype(dtype), (1, 0)))
    result = result + bias if use_bias else result
    return np.maximum(result, 0) if use_relu else result


def layer_norm_python(data, gamma, beta, axis, epsilon=1e-5):
    """Values less their mean over their deviation, scaled and moved."""
    mean = data.mean(axis=axis, keepdims=True)
    spread = ((data - mean) * (data - mean)).mean(axis=axis, keepdims=True)
    result = (data - mean) / np.sqrt(spread + epsilon) * gamma
    return result if beta is None else result + beta
