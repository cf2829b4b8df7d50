"""Results of operators, computed by numpy."""


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
