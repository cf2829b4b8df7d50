"""The first difference of two things: the paths to it, and a text that shows it in both."""

from tvm_ffi.access_path import AccessPath

_DEFINES = {"For": "loop_var", "Bind": "var", "Let": "var", "IterVar": "var", "AllocBuffer": "buffer", "DeclBuffer": "buffer", "MatchBufferRegion": "buffer"}
"""The field of a node that defines a variable."""
_FIELDS = {
    "PrimFunc": "attrs params ret_type body",
    "For": "loop_var min extent kind body thread_binding annotations step",
    "While": "condition body",
    "IfThenElse": "condition then_case else_case",
    "SeqStmt": "seq",
    "Bind": "var value",
    "AssertStmt": "condition error_kind message_parts",
    "BufferStore": "buffer value indices",
    "AttrStmt": "node attr_key value body",
    "AllocBuffer": "buffer annotations",
    "DeclBuffer": "buffer data",
    "Evaluate": "value",
    "Return": "value",
    "SBlock": "iter_vars reads writes name_hint alloc_buffers match_buffers annotations init body",
    "SBlockRealize": "iter_values predicate block",
    "IterVar": "dom var iter_type thread_tag",
    "Range": "min extent",
    "MatchBufferRegion": "buffer source",
    "IntImm": "ty value",
    "FloatImm": "ty value",
    "StringImm": "value",
    "Cast": "ty value",
    "Select": "ty condition true_value false_value",
    "PrimCall": "ty op args attrs",
    "Ramp": "ty base stride lanes",
    "Broadcast": "ty value lanes",
    "Shuffle": "ty vectors indices",
    "Let": "ty var value body",
    "Not": "ty a",
    "BitwiseNot": "ty a",
    "Reduce": "ty combiner source init axis condition value_index",
    "CommReducer": "lhs rhs result identity_element",
    "PrimType": "dtype",
    "PointerType": "element_type storage_scope",
    "BufferType": "dtype storage_scope shape strides elem_offset data_alignment offset_factor",
}
"""The fields of a node in TVM's order."""


class _Compared:
    """A comparison under way."""

    def __init__(self, map_free_vars):
        self.free, self.known = map_free_vars, {}

    def define(self, lhs, rhs, path):
        """Two variables that stand for each other from here on."""
        found = self.values(lhs.ty, rhs.ty, (path[0].attr("ty"), path[1].attr("ty")))
        self.known[id(lhs)] = rhs
        return found

    def variables(self, lhs, rhs, path):
        """Two variables that are used, or parameters."""
        if id(lhs) in self.known:
            return None if self.known[id(lhs)] is rhs else path
        if lhs is rhs:
            return None
        found = self.values(lhs.ty, rhs.ty, (path[0].attr("ty"), path[1].attr("ty")))
        if found is not None or not self.free:
            return found or path
        return self.define(lhs, rhs, path)

    def values(self, lhs, rhs, path, defines=False):
        """The paths to the first difference of two things; None without one."""
        from ..tirx.buffer import is_buffer_var
        from .expr import Var

        lhs, rhs = (value.asobject() if hasattr(value, "asobject") else value for value in (lhs, rhs))
        if isinstance(lhs, (list, tuple)) and isinstance(rhs, (list, tuple)):
            return self.lists(lhs, rhs, path, defines)
        if hasattr(lhs, "items") and hasattr(rhs, "items") and not hasattr(lhs, "functions"):
            return self.maps(lhs, rhs, path)
        if type(lhs) is not type(rhs):
            return path
        if isinstance(lhs, Var) or is_buffer_var(lhs):
            return self.define(lhs, rhs, path) if defines else self.variables(lhs, rhs, path)
        names = self.fields(lhs)
        if names is None:
            return None if lhs is rhs or not _is_other(lhs, rhs) else path
        kind = type(lhs).__name__
        for name, field in names:
            sides = path[0].attr(name), path[1].attr(name)
            is_new = _DEFINES.get(kind) == field or (kind, field) in (("PrimFunc", "params"), ("SBlock", "alloc_buffers"))
            found = self.values(getattr(lhs, field), getattr(rhs, field), sides, is_new)
            if found is not None:
                return found
        return None

    @staticmethod
    def fields(node):
        """Pairs of names, in paths and here, of what a node consists of; None where it is a value."""
        kind = type(node).__name__
        if kind == "BufferLoad":
            return [("ty", "ty"), ("source", "buffer"), ("indices", "indices")]
        if kind == "BufferRegion":
            return [("source", "buffer"), ("region", "region")]
        if kind == "IRModule":
            return [("functions", "functions")]
        if kind in _FIELDS:
            return [(name, name) for name in _FIELDS[kind].split() if hasattr(node, name)]
        return [("ty", "ty"), ("a", "a"), ("b", "b")] if hasattr(type(node), "_index") or hasattr(node, "b") and hasattr(node, "a") else None

    def lists(self, lhs, rhs, path, defines):
        """The first difference of two lists."""
        for at, (a, b) in enumerate(zip(lhs, rhs)):
            found = self.values(a, b, (path[0].array_item(at), path[1].array_item(at)), defines)
            if found is not None:
                return found
        if len(lhs) == len(rhs):
            return None
        at, shorter = min(len(lhs), len(rhs)), len(lhs) > len(rhs)
        sides = [side.array_item_missing(at) if is_short else side.array_item(at) for side, is_short in zip(path, (not shorter, shorter))]
        return tuple(sides)

    def maps(self, lhs, rhs, path):
        """The first difference of two maps."""
        if type(lhs).__name__ == "DictAttrs":
            path = tuple(side.attr("__dict__") for side in path)
        others = dict(rhs.items())
        for key, value in lhs.items():
            if key not in others:
                return path[0].map_item(key), path[1].map_item_missing(key)
            found = self.values(value, others[key], (path[0].map_item(key), path[1].map_item(key)))
            if found is not None:
                return found
        mine = dict(lhs.items())
        more = next((key for key in others if key not in mine), None)
        return None if more is None else (path[0].map_item_missing(more), path[1].map_item(more))


def _is_other(lhs, rhs):
    from .base import structural_equal

    if isinstance(lhs, (str, int, float, bool, type(None))):
        return lhs != rhs
    return not structural_equal(lhs, rhs)


def first_difference(lhs, rhs, map_free_vars=False):
    """The paths to the first difference of two things, a pair; None where they are equal or nothing tells it."""
    root = AccessPath.root()
    return _Compared(map_free_vars).values(lhs, rhs, (root, root))


def told(lhs, rhs, map_free_vars=False):
    """The message for two things that differ: the paths to the first difference, and the texts in which it is underlined. None
    where only the engine can tell the difference."""
    from ..script.printer._marked import underlined

    if getattr(lhs, "_is_relay", False):
        return None
    try:
        paths = first_difference(lhs, rhs, map_free_vars)
        if paths is None:
            return None
        sides = [f"{side} at {path}:\n{underlined(thing, path)}" for side, thing, path in zip(("lhs", "rhs"), (lhs, rhs), paths)]
    except (AttributeError, TypeError, RuntimeError):
        return None
    return f"StructuralEqual check failed, caused by {sides[0]}\nand {sides[1]}"
