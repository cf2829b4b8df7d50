"""The calls between the functions of a module (`src/relay/analysis/call_graph.cc`)."""

from ..._node import Object
from ...ir.expr import GlobalVar
from ...ir.module import IRModule
from .. import _walk
from ..expr import Function


class CallGraph(Object):
    """The functions of a module, with those that each one names."""

    def __init__(self, module):
        if not isinstance(module, IRModule):
            raise TypeError(f"a call graph is made of a module, not of a {type(module).__name__}")
        self.module = module
        self._calls = {}
        for var, func in module.functions.items():
            nodes = _walk.post_order(func) if isinstance(func, Function) else ()
            self._calls[var.name_hint] = [node.name_hint for node in nodes if isinstance(node, GlobalVar)]

    def _name(self, var):
        if isinstance(var, str):
            var = self.module.get_global_var(var)
        if not isinstance(var, GlobalVar):
            raise TypeError("var should be either a string or GlobalVar")
        return var.name_hint

    def ref_count(self, var):
        """The number of mentions of a function."""
        name = self._name(var)
        return sum(calls.count(name) for calls in self._calls.values())

    def global_call_count(self, var):
        """The number of functions that one mentions."""
        return len(self._calls[self._name(var)])

    def is_recursive(self, var):
        """True if a function refers to itself."""
        name = self._name(var)
        return name in self._calls[name]

    def print_var(self, var):
        """The calls of a function as a text."""
        name = self._name(var)
        head = f"Call graph node: {name} at: {hex(id(self._calls[name]))},  #refs = {self.ref_count(name)}\n"
        return head + "".join(f"  call site: <{callee}> calls {callee}\n" for callee in self._calls[name]) + "\n"

    def _order(self):
        """The functions, those that no other refers to first."""
        order, seen = [], set()
        for root in self._calls:
            if any(root in calls for name, calls in self._calls.items() if name != root):
                continue
            level, found = [root] if root not in seen else [], []
            seen.add(root)
            while level:
                found += level
                below = [callee for name in level for callee in self._calls[name]]
                level = [callee for callee in dict.fromkeys(below) if callee not in seen]
                seen.update(level)
            order[:0] = found
        return order

    def __str__(self):
        return "".join(self.print_var(name) for name in self._order())

    __repr__ = __str__
