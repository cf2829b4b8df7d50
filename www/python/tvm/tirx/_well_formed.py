"""The places of a program where the use or definition of a variable makes it ill-formed."""

import re

from tvm_ffi.access_path import AccessPath

from ..ir.expr import Var
from ..ir.module import IRModule
from .buffer import is_buffer_var
from .expr import BufferLoad, IterVar, Let
from .functor import fields_of
from .stmt import AllocBuffer, AttrStmt, Bind, BufferRegion, DeclBuffer, For, IfThenElse, SBlock, While


class _Walk:
    """Definitions and uses in TVM's order, with their paths. A definition holds until what is around it ends."""

    def __init__(self):
        self.defined, self.before, self.threads = {}, {}, set()
        self.redefined, self.undefined, self.across = [], [], False

    def define(self, item, path, again=False):
        """Notes a definition, and a second one of the same."""
        key = id(item)
        if not again and key not in self.threads:
            if key in self.defined:
                self.redefined.append((item, self.defined[key], path, True))
            elif key in self.before:
                self.redefined.append((item, self.before[key], path, False))
        self.defined.setdefault(key, path)

    def use(self, item, path):
        """Notes a use of what is not defined."""
        if id(item) not in self.defined:
            self.undefined.append((item, path, self.before.get(id(item))))

    def inside(self, node, path):
        """Looks into a part whose definitions end with it."""
        known = dict(self.defined)
        self.visit(node, path)
        self.close(known)

    def close(self, known):
        """Ends the definitions that were not known before."""
        for key, path in self.defined.items():
            if key not in known:
                self.before[key] = path
        self.defined = known

    def buffer(self, buffer, path):
        """Defines the variables of a parameter."""
        self.define(buffer, path)
        buffer.scope()
        for part in (*buffer.shape, *buffer.strides, buffer._offset):
            if isinstance(part, Var):
                self.define(part, path, again=True)

    def function(self, func, path):
        """Looks into a function."""
        known = dict(self.defined)
        for at, param in enumerate(func.params):
            here = path.attr("params").array_item(at)
            (self.buffer if is_buffer_var(param) else self.define)(param, here)
        self.visit(func.body, path.attr("body"))
        self.close(known)

    def visit(self, node, path):
        """Looks into a statement or scalar."""
        if isinstance(node, Var):
            return self.use(node, path)
        if isinstance(node, For):
            self.visit(node.min, path.attr("min"))
            self.visit(node.extent, path.attr("extent"))
            known = dict(self.defined)
            self.define(node.loop_var, path.attr("loop_var"))
            self.visit(node.body, path.attr("body"))
            return self.close(known)
        if isinstance(node, (Bind, Let)):
            self.visit(node.value, path.attr("value"))
            known = dict(self.defined)
            self.define(node.var, path.attr("var"))
            if isinstance(node, Let):
                self.visit(node.body, path.attr("body"))
                self.close(known)
            return None
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            return self.define(node.buffer, path.attr("buffer"))
        if isinstance(node, (While, IfThenElse)):
            self.visit(node.condition, path.attr("condition"))
            for name in ("body", "then_case", "else_case"):
                part = getattr(node, name, None)
                if part is not None:
                    self.inside(part, path.attr(name))
            return None
        if isinstance(node, AttrStmt):
            return self.attribute(node, path)
        if isinstance(node, SBlock):
            return self.block(node, path)
        buffer = getattr(node, "buffer", None)
        if buffer is not None:
            self.use(buffer, path.attr("source" if isinstance(node, (BufferLoad, BufferRegion)) else "buffer"))
        names = ["value", "indices"] if type(node).__name__ == "BufferStore" else fields_of(node)
        for name in names:
            value = getattr(node, name, None)
            if isinstance(value, (list, tuple)):
                for at, item in enumerate(value):
                    self.visit(item, path.attr(name).array_item(at))
            elif value is not None:
                self.visit(value, path.attr(name))
        return None

    def attribute(self, node, path):
        """Looks into what has an attribute; threads are defined by theirs, as often as they are launched."""
        known = dict(self.defined)
        self.visit(node.value, path.attr("value"))
        if isinstance(node.node, IterVar):
            var = node.node.var
            if id(var) in self.before and self.across:
                self.redefined.append((var, self.before[id(var)], path.attr("node").attr("var"), False))
            self.threads.add(id(var))
            self.define(var, path.attr("node").attr("var"))
        elif isinstance(node.node, Var) and not is_buffer_var(node.node):
            self.visit(node.node, path.attr("node"))
        self.visit(node.body, path.attr("body"))
        self.close(known)

    def block(self, node, path):
        """Looks into a block."""
        known = dict(self.defined)
        for at, item in enumerate(node.iter_vars):
            here = path.attr("iter_vars").array_item(at)
            self.visit(item.dom.min, here.attr("dom").attr("min"))
            self.visit(item.dom.extent, here.attr("dom").attr("extent"))
            self.define(item.var, here.attr("var"))
        for at, buffer in enumerate(node.alloc_buffers):
            self.define(buffer, path.attr("alloc_buffers").array_item(at))
        for at, item in enumerate(node.match_buffers):
            self.define(item.buffer, path.attr("match_buffers").array_item(at).attr("buffer"))
        for name in ("init", "body"):
            part = getattr(node, name)
            if part is not None:
                self.inside(part, path.attr(name))
        self.close(known)


def _walked(obj):
    walk = _Walk()
    if isinstance(obj, IRModule):
        for var, func in obj.functions.items():
            if type(func).__name__ == "PrimFunc":
                walk.function(func, AccessPath.root().attr("functions").map_item(var))
                walk.threads, walk.across = set(), True
    elif hasattr(obj, "params"):
        walk.function(obj, AccessPath.root())
    return walk


def _twice(item, first, second, nested):
    what = "nested definitions" if nested else "definitions"
    text = f"ValueError: TIR is ill-formed, due to multiple {what} of variable {item.name}. It was first defined at {first}, and was "
    return f"{text}{'' if nested else 'later '}re-defined at {second}"


def located(obj, problem):
    """A problem with the paths of what it is about."""
    walk = _walked(obj)
    found = re.match(r"Invalid use of undefined variable (\S+?)\.", problem)
    if found:
        for item, path, before in walk.undefined:
            if item.name == found[1] and not is_buffer_var(item):
                text = f"ValueError: Invalid use of undefined variable {item.name} at {path}."
                if before is not None:
                    text += f".  While this variable was previously defined at {before}, this definition is no longer in-scope."
                return text
    if re.match(r"TIR is ill-formed, due to multiple (?:nested )?definitions of variable", problem):
        for row in walk.redefined:
            return _twice(*row)
    found = re.match(r"TIR is ill-formed: buffer (\S+) is used (.*)", problem)
    if found:
        for item, path, before in walk.undefined:
            if is_buffer_var(item) and item.name == found[1]:
                where = "" if before is None else f" It was declared at {before}."
                return f"TIR is ill-formed: buffer {item.name} is used at {path} {found[2]}{where}"
    return problem


def across_functions(obj):
    """The error about variables that several functions of a module define, or None."""
    if not isinstance(obj, IRModule) or len(obj.functions) < 2:
        return None
    for item, first, second, nested in _walked(obj).redefined:
        if not is_buffer_var(item) and first.steps[:2] != second.steps[:2]:
            return _twice(item, first, second, nested)
    return None
