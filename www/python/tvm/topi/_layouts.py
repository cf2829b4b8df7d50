"""Layouts by their names: `NCHW16c` has the axes N, C, H and W, and the last 16 of the channels innermost."""

import re

from ..sym import Analyzer
from ..tirx.op import cast, const, floordiv, floormod, if_then_else, logical_and
from ._axes import computed, known


def axes_of(layout):
    """The axes of a layout: pairs of a letter and, of a part that stands apart, its extent."""
    found = re.findall(r"(\d*)([A-Za-z])", layout)
    axes = [(letter, int(extent) if extent else None) for extent, letter in found]
    letters = [letter for letter, _ in axes]
    whole = "".join(extent + letter for extent, letter in found) == layout
    fits = all(letter.isupper() == (extent is None) for letter, extent in axes)
    if not whole or not fits or len(set(letters)) != len(letters) or any(letter.upper() not in letters for letter in letters):
        raise ValueError(f"Invalid layout {layout}")
    return axes


def permuted(values, source, target):
    """Values of the axes of a layout, in the order of another."""
    places = {letter: at for at, (letter, _) in enumerate(axes_of(source))}
    return [values[places[letter]] for letter, _ in axes_of(target)]


def _converted(source, target, values, *, round_up=False):
    """Places along the axes of a layout, by those along the axes of another that is no finer or coarser than itself."""
    inner = dict(source)
    along = {}
    for (letter, extent), value in zip(source, values):
        factor = inner.get(letter.lower()) if extent is None else None
        value = value * factor if factor else value
        along[letter.upper()] = along[letter.upper()] + value if letter.upper() in along else value
    made, inner = [], dict(target)
    for letter, extent in target:
        value = along[letter.upper()]
        if extent is not None:
            value = floormod(value, extent)
        elif letter.lower() in inner:
            factor = inner[letter.lower()]
            value = floordiv(value + (factor - 1) if round_up else value, factor)
        made.append(Analyzer().simplify(value))
    return made


def layout_transform(array, src_layout, dst_layout, schedule_rule="None"):
    """The tensor in another layout; an element that the first one does not have is 0."""
    if src_layout == dst_layout:
        return array
    source, target = axes_of(src_layout), axes_of(dst_layout)
    if {letter for letter, _ in source if letter.isupper()} != {letter for letter, _ in target if letter.isupper()}:
        raise ValueError(f"cannot convert from {src_layout} to {dst_layout}")
    if len(array.shape) != len(source):
        raise ValueError(f"Input shape size {len(array.shape)} mismatch with the expected shape size {len(source)}")
    for at, ((_, extent), given) in enumerate(zip(source, array.shape)):
        if extent is not None and known(given) not in (None, extent):
            raise ValueError(f"Input shape mismatch at index {at}. Expected {extent}, get {given}")
    extents = [cast(given if extent is None else 0, "int32") for (_, extent), given in zip(source, array.shape)]
    rounded = _converted(source, target, extents, round_up=True)
    shape = [value if extent is None else const(extent, "int32") for (_, extent), value in zip(target, rounded)]

    def element(*at):
        places = _converted(target, source, at)
        inside = const(True, "bool")
        for place, extent in zip(places, array.shape):
            inside = logical_and(inside, place < extent)
        return if_then_else(inside, array(*places), cast(0, array.dtype))

    attrs = {"schedule_rule": schedule_rule, "src_layout": src_layout, "dst_layout": dst_layout, "input_shape": array.shape}
    return computed(shape, element, "T_layout_trans", "injective", attrs)
