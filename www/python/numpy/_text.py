"""Writes arrays as numpy's `array2string` does with its defaults (8 digits, 75 columns, from 1,000 elements on shortened)."""

import math
import struct

_PRECISION = 8
_EDGE = 3
_THRESHOLD = 1000
_WIDTH = 75


def _shortest(value, name):
    """The fewest digits that give a floating-point number back: its digits, and the exponent of the first."""
    code = {"float32": "f", "float16": "e"}.get(name)
    for digits in range(1, 18):
        text = f"{value:.{digits - 1}e}"
        back = float(text)
        if code:
            try:
                back = struct.unpack(code, struct.pack(code, back))[0]
            except OverflowError:
                continue
        if back == value:
            break
    mantissa, exponent = text.split("e")
    return mantissa.lstrip("-").replace(".", "").rstrip("0") or "0", int(exponent)


def _rounded(value, name, places):
    """Digits before and behind the point, at most so many behind it."""
    digits, exponent = _shortest(value, name)
    if len(digits) - 1 - exponent > places:
        text = f"{abs(value):.{places}f}"
    elif exponent >= 0:
        digits = digits.ljust(exponent + 1, "0")
        text = f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    else:
        text = "0." + "0" * (-exponent - 1) + digits
    whole, _, rest = text.partition(".")
    return ("-" if math.copysign(1, value) < 0 else "") + whole, rest.rstrip("0")


def _scientific(value, name, places):
    digits, exponent = _shortest(value, name)
    if len(digits) - 1 > places:
        mantissa, tail = f"{abs(value):.{places}e}".split("e")
        digits, exponent = mantissa.replace(".", "").rstrip("0"), int(tail)
    return ("-" if value < 0 else "") + digits[0], digits[1:], exponent


def _floats(values, name):
    """A function that writes each of these numbers in columns of one width."""
    finite = [value for value in values if math.isfinite(value)]
    sizes = [abs(value) for value in finite if value]
    special = max([len("-inf" if value == -math.inf else "inf" if value == math.inf else "nan") for value in values
                   if not math.isfinite(value)], default=0)
    if sizes and (max(sizes) >= 1e8 or min(sizes) < 1e-4 or max(sizes) / min(sizes) > 1000):
        parts = [_scientific(value, name, _PRECISION) for value in finite]
        left = max(len(part[0]) for part in parts)
        right = max(len(part[1]) for part in parts)
        tail = max(2, *(len(str(abs(part[2]))) for part in parts))

        def write(value):
            head, rest, exponent = _scientific(value, name, _PRECISION)
            sign = "-" if exponent < 0 else "+"
            return f"{head.rjust(left)}.{rest.ljust(right, '0')}e{sign}{abs(exponent):0{tail}}"

        width = left + right + tail + 3
    else:
        parts = [_rounded(value, name, _PRECISION) for value in finite]
        left = max((len(part[0]) for part in parts), default=0)
        right = max((len(part[1]) for part in parts), default=0)

        def write(value):
            head, rest = _rounded(value, name, _PRECISION)
            return f"{head.rjust(left)}.{rest.ljust(right)}"

        width = left + right + 1
    width = max(width, special)
    words = {math.inf: "inf", -math.inf: "-inf"}
    return lambda value: (write(value) if math.isfinite(value) else words.get(value, "nan")).rjust(width)


def _others(values):
    texts = [str(value) for value in values]
    width = max(map(len, texts), default=0)
    return lambda value: str(value).rjust(width)


def _shown(shape):
    """The places along each axis that are written; `None` stands for those that are left out."""
    short = math.prod(shape) > _THRESHOLD
    return [
        [*range(_EDGE), None, *range(extent - _EDGE, extent)] if short and extent > 2 * _EDGE else list(range(extent))
        for extent in shape
    ]


def array2string(array, separator=" ", prefix=0):
    """The elements in brackets, `prefix` columns to the right."""
    shape, data, name = array.shape, array._data, array.dtype.name
    if not shape:
        return str(data[0])
    if not data:
        return "[]"
    places = _shown(shape)
    steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

    def collect(axis, at):
        if axis == len(shape):
            return [data[at]]
        return [item for place in places[axis] if place is not None for item in collect(axis + 1, at + place * steps[axis])]

    written = collect(0, 0)
    element = _floats(written, name) if name.startswith("float") else _others(written)
    width = _WIDTH - prefix

    def row(at, depth):
        lines, line = [], ""
        indent = " " * (prefix + depth + 1)
        last = len(places[-1]) - 1
        for index, place in enumerate(places[-1]):
            text = "..." if place is None else element(data[at + place])
            end = separator.rstrip() if index < last else ""
            # The closing brackets have to fit behind the last element.
            room = width + prefix - (len(shape) if index == last else 0)
            if line and len(line) + len(text) + len(end) > room:
                lines.append(line.rstrip())
                line = indent
            line = (line or indent) + text + end + (" " if index < last else "")
        return "\n".join([*lines, line])[len(indent) :]

    def block(axis, at):
        if axis == len(shape) - 1:
            return f"[{row(at, axis)}]"
        parts = ["..." if place is None else block(axis + 1, at + place * steps[axis]) for place in places[axis]]
        gap = separator.rstrip() + "\n" * (len(shape) - 1 - axis) + " " * (prefix + axis + 1)
        return f"[{gap.join(parts)}]"

    return block(0, 0)


def array_repr(array):
    """As `repr` writes it."""
    name = array.dtype.name
    usual = array._data and name in ("float64", "int64", "bool")
    facts = [] if usual else [f"dtype={name}"]
    if any(None in places for places in _shown(array.shape)):
        facts.insert(0, f"shape={array.shape}")
    tail = "".join(f", {fact}" for fact in facts) + ")"
    text = array2string(array, ", ", len("array("))
    last = text[text.rfind("\n") + 1 :]
    if facts and len(last) + (0 if "\n" in text else len("array(")) + len(tail) > _WIDTH:
        tail = ",\n" + " " * len("array(") + tail.lstrip(", ")
    return f"array({text}{tail}"
