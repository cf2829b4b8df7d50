"""Objects of programs: what all have in common, and how they cross to the engine and back.

An object that came from the engine is empty until something of it is asked for; then its row is read (`_load_*` of its
class). An object that was made here gets a number when it is handed in, from the rows that its `_row_*` methods write: `e`
as an expression, `t` type, `p` scalar, `s` statement, `y` symbol, `b` buffer, `a` attributes, `o` object, `k` block of
bindings, `n` pattern of a match, `d` type definition, `v` type variable. The order of the words is that of
`src/wasm/user/table`.
"""

import struct
from itertools import islice

from . import _engine
from ._codes import Space

EXPR, TYPE, PRIM, STMT, SYMBOL, BUFFER = Space.EXPR, Space.TYPE, Space.PRIM, Space.STMT, Space.SYMBOL, Space.BUFFER
ATTRS, OBJECT, BLOCK, PATTERN, ADT, TYPEVAR = Space.ATTRS, Space.OBJECT, Space.BLOCK, Space.PATTERN, Space.ADT, Space.TYPEVAR
LETTERS = "etpsybaokndv"
NONE = 0xFFFFFFFF

_rows = [{} for _ in LETTERS]
_names = {}
_objects = [{} for _ in LETTERS]
_twins = []
"""Objects with the number of another one: of what has no identity there may be several."""
_at_home = True
"""True until another memory of the engine is lent than the one in which the script was loaded."""
when_memory_changes = []
"""Functions that forget numbers of the engine."""
makers = [None] * len(LETTERS)
"""For each space a function from id and row to an object."""


class Object:
    """The base class of everything that TVM counts as an object."""

    _e = _t = _p = _s = _y = _b = _a = _o = _k = _n = _d = _v = None

    def __getattr__(self, name):
        load = self.__dict__.pop("_load", None)
        if load is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        load(self)
        return getattr(self, name)

    def same_as(self, other):
        """True if it is the very same object."""
        return self is other

    def __hash__(self):
        return id(self) >> 4

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return not self == other

    def __dir__(self):
        load = self.__dict__.pop("_load", None)
        if load is not None:
            load(self)
        return sorted(name for name in {*object.__dir__(self)} if not name.startswith("_"))


def is_buffer_var(value):
    """True for a buffer: a variable whose type is one of buffers, which fills its variables."""
    return hasattr(getattr(value, "__dict__", {}).get("_ty"), "_fill")


def name_of(number):
    """The text of a name."""
    return _names[number]


def _read(things):
    rows, ids, texts = _engine.call("table_read", _engine.words(things))
    if ids:
        _names.update(zip(ids, texts.split("\0")))
    at, end = 0, len(rows)
    while at < end:
        first = at + 3
        at = first + rows[at + 2]
        _rows[rows[first - 3]][rows[first - 2]] = rows[first:at]


def row(space, number):
    """The words of a thing of the engine."""
    known = _rows[space].get(number)
    if known is None:
        _read((space, number))
        known = _rows[space][number]
    return known


def _other_types():
    """Types have classes of their own in each dialect: those of the other one wait until it is spoken again."""
    _objects[TYPE], _waiting[0] = _waiting[0], _objects[TYPE]


_waiting = [{}]
_engine.when_dialect_changes.append(_other_types)


def get(space, number):
    """The object of a thing of the engine: always the same one."""
    found = _objects[space].get(number)
    if found is None:
        found = makers[space](number, row(space, number))
        _objects[space][number] = found
    return found


def had(space, number):
    """The object of a thing of the engine, if there is one already."""
    return _objects[space].get(number)


def maybe(space, number):
    """The object of a number, or None."""
    return None if number == NONE else get(space, number)


def know(space, number, obj):
    """Says which object a thing of the engine is."""
    known = _objects[space].get(number)
    if known is not None and known is not obj:
        _twins.append(known)
    _objects[space][number] = obj
    obj.__dict__["_" + LETTERS[space]] = number


def other_memory():
    """Begins with another memory of the engine: every number is of the one before. Objects that the script made or read while it was
    loaded are read to their end, and cross anew where they are used; those that were not read are gone."""
    global _at_home
    _twins.extend(_waiting[0].values())
    _waiting[0].clear()
    pending = [obj for table in _objects for obj in table.values()] + _twins
    while pending:
        obj = pending.pop()
        load = obj.__dict__.pop("_load", None)
        if load is not None:
            pending.extend(_read_to_its_end(obj, load) if _at_home else _lost(obj))
    for obj in [*(obj for table in _objects for obj in table.values()), *_twins]:
        for letter in LETTERS:
            obj.__dict__.pop("_" + letter, None)
    for table in (*_rows, *_objects, _names, _twins):
        table.clear()
    for function in when_memory_changes:
        function()
    _at_home = False


def _read_to_its_end(obj, load):
    """The objects that come to be while one is read. One that needs the engine for it is gone: its memory is no longer lent."""
    had = [len(table) for table in _objects]
    try:
        load(obj)
    except _engine.EngineError:
        return _lost(obj)
    # The newest entries of a dictionary come first from its end.
    return [new for table, count in zip(_objects, had) for new in islice(reversed(table.values()), max(0, len(table) - count))]


def _lost(obj):
    obj.__dict__["_load"] = _gone
    return ()


def _gone(obj):
    obj.__dict__["_load"] = _gone
    raise RuntimeError("this belongs to another program, which is not here any more")


def forget(space, number):
    """Makes the object of a thing anew when it is asked for."""
    _objects[space].pop(number, None)


def lazy(cls, space, number, load):
    """An object that reads itself when it is looked into."""
    obj = cls.__new__(cls)
    fields = obj.__dict__
    fields["_" + LETTERS[space]] = number
    fields["_load"] = load
    return obj


def long_of(low, high):
    """A signed number of 64 bits."""
    value = low | high << 32
    return value - (1 << 64) if value >> 63 else value


def double_of(low, high):
    """A number with a fraction."""
    return struct.unpack("<d", struct.pack("<II", low, high))[0]


class Writer:
    """Rows of what the engine does not have yet, children first."""

    def __init__(self):
        self.words = _engine.words()
        self.texts = []
        self.text_index = {}
        self.rows = []
        self.row_of = {}
        self.missing = []
        self.out = None
        self.int_bits = 32

    def write(self, things):
        """Makes all of them, pairs of a space and an object."""
        stack = [(space, obj) for space, obj in things if obj.__dict__.get("_" + LETTERS[space]) is None]
        stack.reverse()
        open_rows = set()
        while stack:
            space, obj = stack[-1]
            key = (space, id(obj))
            if key in self.row_of or getattr(obj, "_" + LETTERS[space]) is not None:
                stack.pop()
                continue
            self.missing = []
            self.out = []
            direct = getattr(obj, "_direct_" + LETTERS[space], None)
            if direct is not None:
                know(space, direct(), obj)
                continue
            method = getattr(obj, "_row_" + LETTERS[space], None)
            if method is None:
                raise TypeError(f"{type(obj).__name__} cannot stand here")
            method(self)
            if self.missing:
                if key in open_rows:
                    raise RecursionError("an object contains itself")
                open_rows.add(key)
                stack.extend(self.missing)
                continue
            stack.pop()
            open_rows.discard(key)
            self.words.extend((space, len(self.out)))
            self.words.extend(self.out)
            self.row_of[key] = len(self.rows)
            self.rows.append((space, obj))
        if not self.rows:
            return
        ids = _engine.call("table_write", self.words, "\0".join(self.texts))
        for (space, obj), number in zip(self.rows, ids):
            know(space, number, obj)

    def refer(self, space, obj):
        """A reference to an object."""
        number = obj.__dict__.get("_" + LETTERS[space])
        if number is not None:
            self.out.append(number << 1)
            return
        made = self.row_of.get((space, id(obj)))
        if made is not None:
            self.out.append(made << 1 | 1)
            return
        self.out.append(NONE)
        self.missing.append((space, obj))

    def maybe(self, space, obj):
        """A reference to an object or None."""
        if obj is None:
            self.out.append(NONE)
        else:
            self.refer(space, obj)

    def number(self, value):
        """A small number."""
        self.out.append(int(value))

    def long(self, value):
        """A number of 64 bits."""
        value = int(value) & 0xFFFFFFFFFFFFFFFF
        self.out.extend((value & 0xFFFFFFFF, value >> 32))

    def double(self, value):
        """A number with a fraction."""
        self.out.extend(struct.unpack("<II", struct.pack("<d", value)))

    def text(self, text):
        """A name."""
        text = str(text)
        index = self.text_index.get(text)
        if index is None:
            if "\0" in text:
                raise ValueError("a text with a zero character cannot be written")
            index = len(self.texts)
            self.texts.append(text)
            self.text_index[text] = index
        self.out.append(index)

    def maybe_text(self, text):
        """A name or None."""
        if text is None:
            self.out.append(NONE)
        else:
            self.text(text)

    def value(self, value):
        """The value of an attribute."""
        from ._values import write_value

        write_value(self, value)

    def fields(self, items):
        """Names with values."""
        self.number(len(items))
        for name, value in items:
            self.text(name)
            self.value(value)


def _speak(objs):
    """Nodes are made in the dialect that they are of."""
    for obj in objs:
        relay = getattr(type(obj), "_is_relay", None)
        if relay is not None:
            _engine.dialect(not relay)
            return


def number(space, obj):
    """The number of an object in the engine, which gets to know it."""
    _speak((obj,))
    known = obj.__dict__.get("_" + LETTERS[space])
    if known is None:
        Writer().write([(space, obj)])
        known = obj.__dict__["_" + LETTERS[space]]
    return known


def numbers(space, objs):
    """The numbers of several, in one crossing."""
    _speak(objs)
    if any(obj.__dict__.get("_" + LETTERS[space]) is None for obj in objs):
        Writer().write([(space, obj) for obj in objs])
    return [obj.__dict__["_" + LETTERS[space]] for obj in objs]
