"""The base class of objects of programs, places in texts, and structural equality."""

import functools
import warnings

from .. import _engine
from .._node import EXPR, TYPE, Object, is_buffer_var, numbers
from .._values import Array


class Node(Object):
    """The base class of the objects of programs."""

    def script(self, **options):
        """The text of it, as TVM prints it."""
        from ..script.printer import script

        return script(self, **options)

    def show(self, style=None, **options):
        """Prints the text of it."""
        print(self.script(**options))

    def astext(self, show_meta_data=True, annotate=None):
        """The text of it, as Relay prints it."""
        from ..script.printer import astext

        return astext(self, show_meta_data, annotate)

    def __setstate__(self, state):
        if isinstance(state, dict):
            self.__dict__.update(state)

    def __repr__(self):
        try:
            return self.script()
        except Exception:
            return f"{type(self).__name__}({hex(id(self))})"

    def __str__(self):
        return self.__repr__()


class SourceName(Node):
    """The name of a text."""

    def __init__(self, name):
        self.name = name

    def _parts_to_compare(self, _):
        return self.name

    def __repr__(self):
        return f"SourceName({self.name}, {id(self):#x})"


class Span(Node):
    """A place in a text."""

    def __init__(self, source_name, line, end_line, column, end_column):
        self.source_name = source_name
        self.line = line
        self.end_line = end_line
        self.column = column
        self.end_column = end_column

    def _parts_to_compare(self, _):
        return [self.source_name, self.line, self.end_line, self.column, self.end_column]

    def __repr__(self):
        return f"Span({self.source_name}, {self.line}, {self.end_line}, {self.column}, {self.end_column})"


class SequentialSpan(Node):
    """Several places, of what was put together."""

    def __init__(self, spans):
        self.spans = Array(spans)

    def _parts_to_compare(self, _):
        return list(self.spans)


class EnvFunc(Node):
    """A function of Python that is known by name."""

    def __init__(self, name, func):
        self.name = name
        self.func = func

    def __call__(self, *args):
        return self.func(*args)

    def _parts_to_compare(self, _):
        return self.name

    @staticmethod
    def get(name):
        """The function that was registered under a name."""
        from ..runtime.registry import get_global_func

        return EnvFunc(name, get_global_func(name))


def _ids(lhs, rhs):
    """The kind and the numbers of two things, by which the engine is asked about them."""
    from .expr import Expr
    from .module import IRModule
    from .type import Type
    from ..tirx.stmt import Stmt
    from .._node import STMT

    for cls, kind, space in ((Type, 1, TYPE), (Stmt, 3, STMT), (Expr, 0, EXPR)):
        if isinstance(lhs, cls) and isinstance(rhs, cls):
            return kind, numbers(space, [lhs, rhs])
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
        a, b = lhs._words(), rhs._words()
        return 2, [len(a), *a, *b]
    return None, None


def _free_type_vars(ty):
    """The variables that are free in a type, as objects: without a map only the same ones are equal."""
    from ..relay.analysis import free_type_vars

    return [id(var) for var in free_type_vars(ty)]


def _mismatch(lhs, rhs, map_free_vars):
    from .expr import GlobalVar

    lhs, rhs = (value.asobject() if hasattr(value, "asobject") else value for value in (lhs, rhs))
    if lhs is rhs:
        return None
    sides = [is_buffer_var(side) for side in (lhs, rhs)]
    if any(sides):
        # Buffers are variables: only themselves are equal to them, unless free variables stand for each other.
        alike = all(sides) and map_free_vars and lhs.ty == rhs.ty
        return None if alike else "at expression: different free variables"
    if type(lhs) is type(rhs) and hasattr(type(lhs), "_parts_to_compare"):
        return _mismatch(lhs._parts_to_compare(map_free_vars), rhs._parts_to_compare(map_free_vars), map_free_vars)
    if not map_free_vars and _engine.is_relax() and isinstance(lhs, GlobalVar) and isinstance(rhs, GlobalVar):
        # As in TVM, a name of a function is a free variable.
        return "at expression: different free variables"
    kind, ids = _ids(lhs, rhs)
    if kind == 1 and not map_free_vars and getattr(lhs, "_is_relay", False) and _free_type_vars(lhs) != _free_type_vars(rhs):
        return "free variables of types differ"
    if kind is not None:
        return _engine.call("table_equal", kind, _engine.words(ids), bool(map_free_vars)) or None
    if isinstance(lhs, (list, tuple)) and isinstance(rhs, (list, tuple)):
        if len(lhs) != len(rhs):
            return "the lists are not equally long"
        return next((found for a, b in zip(lhs, rhs) if (found := _mismatch(a, b, map_free_vars))), None)
    if isinstance(lhs, dict) and isinstance(rhs, dict):
        if lhs.keys() != rhs.keys():
            return "the dictionaries have other keys"
        return next((found for key in lhs if (found := _mismatch(lhs[key], rhs[key], map_free_vars))), None)
    if isinstance(lhs, Object) and isinstance(rhs, Object):
        compare = getattr(type(lhs), "_structural", None)
        if compare is not None and type(lhs) is type(rhs):
            return _mismatch(compare(lhs), compare(rhs), map_free_vars)
        return None if type(lhs) is type(rhs) and lhs == rhs else "the objects are not of one kind"
    return None if type(lhs) is type(rhs) and lhs == rhs else f"{lhs!r} is not {rhs!r}"


def structural_equal(lhs, rhs, map_free_vars=False):
    """True if two things are equal up to the names of what they bind."""
    return _mismatch(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs, rhs, map_free_vars=False):
    """Raises ValueError, with the difference, unless two things are equal up to the names of what they bind."""
    found = _mismatch(lhs, rhs, map_free_vars)
    if found is not None:
        from ._differences import told

        raise ValueError(told(lhs, rhs, map_free_vars) or f"StructuralEqual check failed, caused by lhs: {found}\n{lhs}\nand rhs:\n{rhs}")


def _outline(node, depth):
    """The kinds of a node of Relay and of those close to it. The engine's hash tells apart whether constants are shared."""
    kind = type(node).__name__
    if hasattr(node, "asobject"):
        return _outline(node.asobject(), depth)
    if kind in ("Op", "GlobalVar"):
        return kind, getattr(node, "name", None) or node.name_hint
    if kind == "Constant":
        return kind, str(node.data.dtype), tuple(node.data.shape)
    parts = {"Call": ("op", "args"), "Let": ("value", "body"), "Function": ("params", "body"), "Tuple": ("fields",), "TupleGetItem": ("tuple_value",)}
    if depth == 0 or kind not in parts:
        return kind
    lists = (getattr(node, part) for part in parts[kind])
    near = [item for part in lists for item in (part if isinstance(part, (list, tuple)) else [part])]
    return kind, len(near), tuple(_outline(item, depth - 1) for item in near[:8])


def _coarse_hash(node, map_free_vars):
    """A number that equal things share, and some that differ."""
    from ..tirx.function import PrimFunc
    from .expr import Expr
    from .module import IRModule
    from .type import Type

    if hasattr(node, "asobject"):
        node = node.asobject()
    if getattr(node, "_is_relay", False):
        return hash(_outline(node, depth=4))
    if hasattr(node, "_row_s"):
        node = PrimFunc([], node)
    if hasattr(type(node), "_parts_to_compare"):
        return _coarse_hash(node._parts_to_compare(map_free_vars), map_free_vars)
    if isinstance(node, IRModule):
        return _engine.call("table_hash", 2, _engine.words(node._words()), bool(map_free_vars))
    for cls, kind, space in ((Type, 1, TYPE), (Expr, 0, EXPR)):
        if isinstance(node, cls):
            return _engine.call("table_hash", kind, _engine.words(numbers(space, [node])), bool(map_free_vars))
    if isinstance(node, (list, tuple)):
        return hash(tuple(_coarse_hash(item, map_free_vars) for item in node))
    if isinstance(node, dict):
        return hash(tuple(sorted(map(str, node))))
    compare = getattr(type(node), "_structural", None)
    return hash(node) if compare is None else _coarse_hash(compare(node), map_free_vars)


_hashed = {}
"""Things that were asked for their hash, by what is seen of them at once."""


def structural_hash(node, map_free_vars=False):
    """A number that equal things share, and as long as the script runs no others."""
    if hasattr(node, "asobject"):
        node = node.asobject()
    coarse = _coarse_hash(node, map_free_vars)
    alike = _hashed.setdefault((coarse, bool(map_free_vars)), [])
    for at, known in enumerate(alike):
        if known is node or structural_equal(known, node, map_free_vars):
            return hash((coarse, at))
    alike.append(node.clone() if hasattr(node, "update_func") else node)
    return hash((coarse, len(alike) - 1))


def get_first_structural_mismatch(lhs, rhs, map_free_vars=False):
    """The paths to where two things differ, or None."""
    from ..runtime.object_path import mismatch

    return mismatch(lhs, rhs, lambda a, b: _mismatch(a, b, map_free_vars))


def save_json(node):
    """The program as JSON, which `load_json` reads."""
    from ..script.printer import to_json

    return to_json(node)


def load_json(json_str):
    """The program that `save_json` wrote."""
    from ..script.printer import of_json

    return of_json(json_str)


def deprecated(method_name, new_method_name):
    """A decorator of functions that have another name by now: a call warns."""

    def decorate(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            warnings.warn(f"{method_name} is deprecated, use {new_method_name} instead", DeprecationWarning, stacklevel=2)
            return func(*args, **kwargs)

        return wrapper

    return decorate
