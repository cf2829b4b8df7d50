"""Pictures, lines and volumes of another size (`python/tvm/topi/image/resize.py`)."""

from .. import te
from ..tirx.expr import IntImm
from ..tirx.op import any as any_of
from ..tirx.op import ceil, const, div, floor, if_then_else, max_, min_
from ..tirx.op import round as nearest
from ._math import narrow, stored
from .utils import nchw_pack_layout, nchw_xc_layout, ncw_pack_layout, ncw_xc_layout

_LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def _lines(layout):
    return [letter for letter in layout if letter.isalpha()]


def _checked(layout, dim):
    split = {1: (ncw_pack_layout, ncw_xc_layout), 2: (nchw_pack_layout, nchw_xc_layout), 3: (lambda name: name[:5] == "NCDHW",)}[dim]
    letters = _LETTERS[dim]
    if layout not in (f"N{letters}C", f"NC{letters}") and not any(test(layout) for test in split):
        raise ValueError(f"{layout} layout is not supported.")
    return _lines(layout)


def _spread(dim):
    """The indices of an element by what they stand for: the batch, the channel, the places, and those within blocks."""

    def indices_of(indices, layout={1: "NCW", 2: "NCHW", 3: "NCDHW"}[dim]):
        found = dict(zip(_checked(layout, dim), indices))
        inner = found.get("c") if len(found) == dim + 3 else 0 if len(found) > dim + 3 else None
        plain = (found["N"], found["C"], *(found[letter] for letter in _LETTERS[dim]), inner)
        return plain if dim == 3 else (*plain, found.get("n", 0), found["c"] if "n" in found else 0)

    indices_of.__doc__ = _spread.__doc__
    return indices_of


get_1d_indices, get_2d_indices, get_3d_indices = _spread(1), _spread(2), _spread(3)


def _within(place, extent):
    return max_(min_(place, extent - 1), 0)


def _pixel(dim):
    """An element; a place outside is the closest one inside."""

    def pixel(data, layout, *rest):
        extents, n, c, places, inner = rest[:dim], rest[dim], rest[dim + 1], rest[dim + 2 : 2 * dim + 2], rest[2 * dim + 2 :]
        values = {"N": n, "C": c, **dict(zip(_LETTERS[dim], map(_within, places, extents)))}
        values.update(zip("nc", inner[1:]) if "n" in layout else {"c": inner[0]}.items())
        return data(*(values[letter] for letter in _checked(layout, dim))).astype("float32")

    pixel.__doc__ = _pixel.__doc__
    return pixel


get_1d_pixel, get_2d_pixel, get_3d_pixel = _pixel(1), _pixel(2), _pixel(3)


def can_convert_multiply_to_intdiv(origin_size, scaled_size):
    """True if a size is a multiple of another, known and not so great that its fraction is rounded."""
    if not isinstance(scaled_size, IntImm):
        return False
    times = div(scaled_size.astype("float32"), origin_size.astype("float32")).value
    return times % 1 == 0 and times <= 1 / (1e-5 * origin_size.value + 1e-5)


def get_inx(x, image_width, target_width, coordinate_transformation_mode, start_x=0, end_x=-1, use_int_div=False):
    """The place in the given picture that a place in the one of another size comes from."""
    mode = coordinate_transformation_mode
    scale = stored(div(image_width.astype("float32"), target_width.astype("float32")))
    if mode == "half_pixel":
        return (x + 0.5) * scale - 0.5
    if mode == "align_corners":
        return stored((image_width - 1).astype("float32") / (target_width - 1)) * x
    if mode == "asymmetric":
        return div(x, div(target_width, image_width)) if use_int_div else scale * x
    if mode == "pytorch_half_pixel":
        return if_then_else(target_width > 1, (x + 0.5) * scale - 0.5, 0.0)
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) * scale
    if mode == "tf_crop_and_resize":
        along = x * (end_x - start_x) * (image_width - 1).astype("float32") / (target_width - 1)
        middle, start_x = (narrow(end) if isinstance(end, float) else end for end in (0.5 * (start_x + end_x), start_x))
        return if_then_else(target_width > 1, stored(start_x * (image_width - 1)) + along, stored(middle * (image_width - 1)))
    raise ValueError(f"Unsupported coordinate_transformation_mode: {mode}")


_ROUNDED = {
    "round": nearest, "round_prefer_floor": lambda x: ceil(x - 0.5), "round_prefer_ceil": lambda x: floor(x + 0.5),
    "floor": lambda x: floor(x + 1e-5), "ceil": lambda x: ceil(x - 1e-5),
}  # fmt: skip


def get_closest_index(in_x, rounding_method, boxes, use_int_div=False):
    """A place as a whole number."""
    if use_int_div:
        return in_x.astype("int32")
    method = "round" if boxes is not None else rounding_method
    if method not in _ROUNDED:
        raise ValueError(f"Unknown rounding method: {method}")
    return _ROUNDED[method](in_x).astype("int32")


def _lerp(a, b, t):
    return a * (1.0 - t) + b * t


def _cubic_weights(t, alpha):
    t2, t3 = t * t, t * t * t
    return [
        alpha * (t3 - 2 * t2 + t),
        (alpha + 2) * t3 - (3 + alpha) * t2 + 1,
        -(alpha + 2) * t3 + (3 + 2 * alpha) * t2 - alpha * t,
        -alpha * t3 + alpha * t2,
    ]


def _weighted(values, weights):
    return sum(value * weight for value, weight in zip(values, weights))


def _inner(weights, whole, extents):
    """The weights of elements inside alone, scaled to a sum of 1."""
    rows = [list(row) for row in weights]
    for at in range(4):
        for axis, row in enumerate(rows):
            # A volume's depth goes by what its width has, as TVM has it.
            deep = len(rows) == 3 and axis == 0
            place, extent = (whole[2], extents[1]) if deep else (whole[axis], extents[axis])
            row[at] = if_then_else(any_of(place - 1 + at < 0, place + at > extent), 0.0, rows[2][at] if deep else row[at])
    return [[weight / sum(row) for weight in row] for row in rows]


class _Resized:
    """Makes the elements of a picture of another size."""

    def __init__(self, data, roi, extents, sizes, layout, method, mode, rounding, alpha, exclude, outside, out_dtype, boxes=None, box_indices=None):
        self.data, self.extents, self.sizes, self.layout, self.method, self.mode = data, extents, sizes, layout, method, mode
        self.alpha, self.exclude, self.outside, self.dtype = alpha, exclude, outside, out_dtype or data.dtype
        self.boxes, self.box_indices = boxes, box_indices
        dim = len(extents)
        self.ends = list(zip(roi[:dim], roi[dim:])) if dim < 3 else list(zip(reversed(roi[:3]), reversed(roi[3:])))
        self.rounding = rounding or ("round" if mode == "align_corners" else "floor")
        whole = dim == 2 and method == "nearest_neighbor" and mode == "asymmetric" and rounding in ("floor", "")
        self.divided = [whole and can_convert_multiply_to_intdiv(extent, size) for extent, size in zip(extents, sizes)]
        self.lines = _lines(layout)
        self.at = [self.lines.index(letter) for letter in _LETTERS[dim]]

    def _places(self, image, indices):
        """The places that an element comes from, with fractions."""
        along = [indices[at] for at in self.at]
        if self.boxes is None:
            parts = zip(along, self.extents, self.sizes, self.ends, self.divided)
            return [get_inx(x, extent, size, self.mode, *ends, divided) for x, extent, size, ends, divided in parts]
        made = []
        for axis, (x, extent, size) in enumerate(zip(along, self.extents, self.sizes)):
            low, high = self.boxes(image, axis), self.boxes(image, axis + 2)
            scale = ((extent - 1) * (high - low)).astype("float32") / (size - 1)
            made.append(low * (extent - 1) + scale * x)
        return made

    def element(self, *indices):
        """The element at indices."""
        image = indices[self.lines.index("N")]
        places = self._places(image, indices)
        box = image if self.box_indices is None else self.box_indices(image)

        def pixel(*spots):
            where = list(indices)
            where[self.lines.index("N")] = box
            for at, spot, extent in zip(self.at, spots, self.extents):
                where[at] = _within(spot, extent)
            return self.data(*where).astype("float32")

        if self.method == "nearest_neighbor":
            value = pixel(*(get_closest_index(x, self.rounding, self.boxes, divided) for x, divided in zip(places, self.divided)))
        elif self.method == "linear":
            whole = [floor(x).astype("int32") for x in places]
            parts = [x - low for x, low in zip(places, whole)]
            value = self._around(pixel, whole, 2, 0, [lambda values, part=part: _lerp(*values, part) for part in parts])
        elif self.method == "cubic":
            whole = [floor(x).astype("int32") for x in places]
            weights = [_cubic_weights(x - floor(x), self.alpha) for x in places]
            weights = _inner(weights, whole, self.extents) if self.exclude else weights
            value = self._around(pixel, whole, 4, 1, [lambda values, row=row: _weighted(values, row) for row in weights])
        else:
            raise ValueError("Unknown resize method:", self.method)
        if self.mode == "tf_crop_and_resize":
            for x, extent in list(zip(places, self.extents))[-2:]:
                value = if_then_else(x < 0, self.outside, if_then_else(x > extent - 1, self.outside, value))
        return value.astype(self.dtype)

    def _around(self, pixel, whole, count, before, combine):
        """The elements around a place, combined along one axis after the other, the last one first."""
        if not whole:
            return pixel()
        low, *rest = whole

        def of(step):
            spot = low + step - before if before else low + step
            return self._around(lambda *more: pixel(spot, *more), rest, count, before, combine[1:])

        return combine[0]([of(step) for step in range(count)])


def _operator(dim):
    def resize(data, roi, size, layout={1: "NCW", 2: "NCHW", 3: "NCDHW"}[dim], method="linear", coordinate_transformation_mode="half_pixel",
               rounding_method="", bicubic_alpha=-0.75, bicubic_exclude=0, extrapolation_value=0.0, out_dtype=None, output_shape=None):  # fmt: skip
        lines = _checked(layout, dim)
        places = [lines.index(letter) for letter in _LETTERS[dim]]
        extents, shape = [data.shape[at] for at in places], list(data.shape)
        for at, extent in zip(places, size):
            shape[at] = extent
        sizes = [const(extent, "int32") if isinstance(extent, int) else extent for extent in size]
        made = _Resized(data, list(roi), extents, sizes, layout, method.lower(), coordinate_transformation_mode, rounding_method,
                        bicubic_alpha, bicubic_exclude, extrapolation_value, out_dtype)  # fmt: skip
        shape = output_shape if output_shape is not None and dim < 3 else shape
        return te.compute(shape, lambda *at: made.element(*at), name="resize", tag="injective")

    resize.__doc__ = f"The tensor with other extents along {['its line', 'its picture', 'its volume'][dim - 1]}."
    return resize


def crop_and_resize(data, boxes, box_indices, crop_size, layout="NCHW", method="bilinear", extrapolation_value=None, out_dtype=None):
    """Parts of pictures, which boxes name, of one size."""
    if layout not in ("NCHW", "NHWC") and not layout.startswith("NCHW"):
        raise ValueError(f"{layout} layout is not supported.")
    method = "linear" if method.lower() == "bilinear" else method.lower()
    lines, shape = _lines(layout), list(data.shape)
    places = [lines.index(letter) for letter in "HW"]
    extents = [data.shape[at].astype("int32") for at in places]
    shape[lines.index("N")] = box_indices.shape[0]
    for at, extent in zip(places, crop_size):
        shape[at] = extent
    made = _Resized(data, [0.0] * 4, extents, crop_size, layout, method, "tf_crop_and_resize", "", -0.5, 0, extrapolation_value, out_dtype,
                    boxes, box_indices)  # fmt: skip
    return te.compute(shape, lambda *at: made.element(*at), name="crop_and_resize", tag="injective")


def _scaled(data, scales, places, output_shape):
    """The extents of a picture times factors, or those that are given, as whole numbers."""
    from .utils import simplify

    extents = [data.shape[at] for at in places]
    wanted = [output_shape[at] for at in places] if output_shape else [extent * scale for extent, scale in zip(extents, scales)]
    kept = [size if output_shape and len(places) == 2 else extent for size, extent in zip(wanted, extents)]
    return [simplify(nearest(size).astype(extent.dtype)) for size, extent in zip(wanted, kept)]


def upsampling(data, scale_h, scale_w, layout="NCHW", method="nearest_neighbor", align_corners=False, output_shape=None):
    """A picture that is larger by two factors."""
    if layout[:4] != "NCHW" and layout != "NHWC":
        raise ValueError(f"not support this layout {layout} yet")
    sizes = _scaled(data, (scale_h, scale_w), (1, 2) if layout == "NHWC" else (2, 3), output_shape)
    mode = "align_corners" if align_corners else "asymmetric"
    return resize2d(data, [0.0] * 4, sizes, layout, method.removeprefix("bi"), mode, output_shape=output_shape)


def upsampling3d(data, scale_d, scale_h, scale_w, layout="NCDHW", method="nearest_neighbor", coordinate_transformation_mode="half_pixel",
                 output_shape=None):  # fmt: skip
    """A volume that is larger by three factors."""
    if layout[:5] != "NCDHW" and layout != "NDHWC":
        raise ValueError(f"not support this layout {layout} yet")
    sizes = _scaled(data, (scale_d, scale_h, scale_w), (1, 2, 3) if layout == "NDHWC" else (2, 3, 4), output_shape)
    return resize3d(data, [0.0] * 6, sizes, layout, method.removeprefix("tri"), coordinate_transformation_mode)


resize1d, resize2d, resize3d = _operator(1), _operator(2), _operator(3)

RESIZE = {
    "image.resize1d": resize1d, "image.resize2d": resize2d, "image.resize3d": resize3d, "image.crop_and_resize": crop_and_resize,
    "image.get_1d_indices": get_1d_indices, "image.get_2d_indices": get_2d_indices, "image.get_3d_indices": get_3d_indices,
    "image.get_1d_pixel": get_1d_pixel, "image.get_2d_pixel": get_2d_pixel, "image.get_3d_pixel": get_3d_pixel,
    "image.get_inx": get_inx, "image.get_closest_index": get_closest_index,
    "image.can_convert_multiply_to_intdiv": can_convert_multiply_to_intdiv, "nn.upsampling": upsampling, "nn.upsampling3d": upsampling3d,
}  # fmt: skip
"""By the name in `topi`."""
