"""Weights of dense layers that are worth to be sparse."""

from collections import namedtuple

import numpy as np

from ...runtime.tensor import array
from . import _weights_of

SparseAnalysisResult = namedtuple("SparseAnalysisResult", ["weight_name", "weight_shape"])


def filled(weight):
    """The number of elements that are not zero."""
    return sum(1 for value in weight.reshape(-1).tolist() if value)


def bsr(matrix, blocksize):
    """A matrix in block sparse row format, as scipy makes it: blocks that are not zero, their columns, where rows begin."""
    (height, width), lines = blocksize, matrix.tolist()
    blocks, columns, starts = [], [], [0]
    for row in range(0, len(lines), height):
        for column in range(0, len(lines[0]), width):
            block = [line[column : column + width] for line in lines[row : row + height]]
            if any(any(line) for line in block):
                blocks.append(block)
                columns.append(column // width)
        starts.append(len(columns))
    return np.array(blocks, dtype=str(matrix.dtype)), np.array(columns, dtype="int32"), np.array(starts, dtype="int32")


def replace(params, found, name, parts):
    """Puts a weight in three parts in the place of a weight."""
    del params[name]
    found.weight_name.append(name)
    found.weight_shape.append([extent for part in parts for extent in part.shape])
    for suffix, part in zip(("data", "indices", "indptr"), parts):
        params[f"{name}.{suffix}"] = array(part)


def process_params(expr, params, block_size, sparsity_threshold):
    """Makes weights sparse of which at least this share is zero, in place; their names and the extents of their parts."""
    found = SparseAnalysisResult([], [])
    for name in _weights_of(expr, "nn.dense"):
        weight = params[name].numpy()
        if 1 - filled(weight) / weight.size >= sparsity_threshold:
            replace(params, found, name, bsr(weight, block_size))
    return found
