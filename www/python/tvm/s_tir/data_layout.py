"""Layouts of tensors by letters, such as `NCHW16c`, and indices and shapes from one to another (`src/s_tir/data_layout.cc`)."""

import math
import re

from .._node import Object
from .._values import Array, DataType
from ..error import InternalError
from ..ir.expr import Range, Var
from ..sym import Analyzer
from ..tirx.expr import IntImm, IterVar, convert
from ..tirx.functor import substitute
from ..tirx.op import cast, const, indexdiv, indexmod


def _axes(name):
    """Each axis as its parts, of which a part is a letter and its size: 0 for those of the whole tensor."""
    axes, packed, size = [], None, 0

    def wrong(why):
        raise InternalError(f"Invalid layout {name}: {why}")

    for letter in name:
        if letter.isdigit() and letter.isascii():
            size = size * 10 + int(letter)
        elif re.fullmatch("[A-Za-z]", letter):
            if letter.isupper() and size:
                wrong(f"invalid factor size {size} before dimension {letter}")
            if letter.islower() and not size:
                wrong(f"invalid factor size 0 for dimension {letter}")
            if packed is None:
                axes.append([(letter, size)])
            else:
                packed.append((letter, size))
            size = 0
        elif letter == "[":
            if packed is not None:
                wrong("can't do nested packing")
            packed = []
        elif letter == "]":
            if packed is None:
                wrong("encountered ] without matching bracket")
            if len(packed) < 2:
                wrong("found empty/single packed axis")
            if not all(size for _, size in packed):
                wrong("can't have variable sized node within a packed axis")
            axes.append(packed)
            packed = None
        else:
            raise InternalError(f"Invalid layout {name}")
    if packed is not None:
        wrong("haven't terminated the packing sequence")
    letters = [letter for axis in axes for letter, _ in axis]
    for letter in letters:
        if letter.islower() and letter.upper() not in letters:
            wrong(f"missing axis {ord(letter.upper())}")
        if letter.islower() and letters.count(letter) > 1:
            wrong(f"found more than one subordinate {ord(letter.upper())}")
    return axes


class SLayout(Object):
    """A layout: large letters are axes of the tensor, small ones with sizes are parts of them."""

    def __init__(self, name, dtype="int32"):
        self.name, self._parts, self.axes = name, _axes(name), Array()
        for parts in self._parts:
            size = math.prod(size for _, size in parts)
            var = Var("".join(f"{size or ''}{letter}" for letter, size in parts), dtype)
            extent = IntImm(dtype, size) if size else var
            self.axes.append(IterVar(Range.from_min_extent(const(0, dtype), extent), var, IterVar.DataPar))

    def __len__(self):
        return len(self.axes)

    def __contains__(self, axis):
        return not {*"[]"} & {*axis} and axis in self.name

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError("SLayout index out of range")
        return self.axes[index].var.name

    def index_of(self, axis):
        """The place of an axis, -1 if there is none of the name."""
        return next((at for at, item in enumerate(self.axes) if item.var.name == axis), -1)

    def factor_of(self, axis):
        """The size of the part of an axis, by its large or small letter; -1 where it has no part."""
        return next((size for parts in self._parts for letter, size in parts if letter == axis.lower()), -1)

    def _structural(self):
        return [self.name]

    def __repr__(self):
        return f"SLayout({self.name})"


def _is_whole(parts):
    return len(parts) == 1 and parts[0][0].isupper()


def _positions(layout):
    """For each axis of the tensor the index along it, of the variables of a layout; and the axes that stand as such."""
    found, whole = {}, set()
    for parts, item in zip(layout._parts, layout.axes):
        if _is_whole(parts):
            letter, size = parts[0][0], layout.factor_of(parts[0][0])
            index = item.var if size == -1 else item.var * size
            found[letter] = found.get(letter, 0) + index
            whole.add(letter)
            continue
        for at, (letter, size) in enumerate(parts):
            # Packed parts are told apart by the sizes of the first ones, as TVM does it.
            index = indexdiv(item.var, math.prod(size for _, size in parts[: len(parts) - 1 - at]))
            index = indexmod(index, size) if at else index
            found[letter.upper()] = found.get(letter.upper(), 0) + index
    return found, whole


def _rules(source, target):
    """Indices and extents of a layout, of the variables of another one; None where an axis is missing."""
    found, whole = _positions(source)
    indices, extents = [], []
    for parts in target._parts:
        if _is_whole(parts):
            letter, size = parts[0][0], target.factor_of(parts[0][0])
            if letter not in whole:
                return None
            indices.append(found[letter] if size == -1 else indexdiv(found[letter], size))
            extents.append(found[letter] if size == -1 else indexdiv(found[letter] + (size - 1), size))
            continue
        index = convert(0)
        for at, (letter, size) in enumerate(parts):
            index = index + indexmod(found.get(letter.upper(), convert(0)), size)
            for _, inner in parts[at + 1 :]:
                index = index * inner
        indices.append(index)
        extents.append(index)
    return indices, extents


class SBijectiveLayout(Object):
    """Two layouts of one tensor; `sbijective_layout` makes it."""

    def __init__(self, src_layout, dst_layout, forward, backward):
        self.src_layout, self.dst_layout = src_layout, dst_layout
        self.index_forward_rule, self.shape_forward_rule = map(Array, forward)
        self.index_backward_rule, self.shape_backward_rule = map(Array, backward)

    def __repr__(self):
        return f"SBijectiveLayout({self.src_layout.name}->{self.dst_layout.name})"

    def forward_index(self, index):
        """Indices of the second layout."""
        return _indices(index, self.src_layout, self.index_forward_rule, "Input")

    def backward_index(self, index):
        """Indices of the first layout."""
        return _indices(index, self.dst_layout, self.index_backward_rule, "Output")

    def forward_shape(self, shape):
        """Extents of the second layout."""
        return _extents(shape, self.src_layout, self.dst_layout, self.shape_forward_rule)

    def backward_shape(self, shape):
        """Extents of the first layout."""
        return _extents(shape, self.dst_layout, self.src_layout, self.shape_backward_rule)


def _simplified(rules, values):
    return [Analyzer().simplify(substitute(rule, values)) for rule in rules]


def _indices(index, layout, rules, what):
    if len(index) != len(layout):
        raise InternalError(f"{what} mismatch with layout {layout.name}: {len(index)} indices and not {len(layout)}")
    return Array(_simplified(rules, {item.var: convert(value) for item, value in zip(layout.axes, index)}))


def _extents(shape, source, target, rules):
    if len(shape) != len(source):
        raise InternalError(f"Input shape size {len(shape)} mismatch with the expected shape size {len(source)}")
    values = {}
    for at, (extent, parts, item) in enumerate(zip(map(convert, shape), source._parts, source.axes)):
        if _is_whole(parts):
            values[item.var] = cast(extent, item.var.dtype)
            continue
        if isinstance(extent, IntImm) and extent.value != item.dom.extent.value:
            raise InternalError(f"Input shape mismatch at index {at}. Expected {item.dom.extent}, get {extent}")
        values[item.var] = IntImm(item.var.dtype, 0)
    made = _simplified(rules, values)
    return Array(extent if _is_whole(parts) else item.dom.extent for extent, parts, item in zip(made, target._parts, target.axes))


def slayout(layout_str, dtype="int32"):
    """The layout of a name; None for a scalar."""
    if DataType(dtype).type_code != 0:
        raise TypeError("The input dtype should be integer type")
    return None if layout_str in ("", "__undef__") else SLayout(layout_str, DataType(dtype))


def sbijective_layout(src_layout, dst_layout):
    """Two layouts, by name, of one tensor; None if the first lacks an axis of the second."""
    source, target = (slayout(item) if isinstance(item, str) else item for item in (src_layout, dst_layout))
    if source is None or target is None:
        return None
    forward = _rules(source, target)
    if forward is None:
        return None
    backward = _rules(target, source)
    if backward is None:
        raise InternalError(f"{target.name} lacks an axis of {source.name}")
    return SBijectiveLayout(source, target, forward, backward)
