"""The base of transformations of modules."""

from . import core

_KINDS = [
    (core.ParameterDict, "visit_parameterdict"),
    (core.ParameterList, "visit_parameterlist"),
    (core.ModuleDict, "visit_moduledict"),
    (core.ModuleList, "visit_modulelist"),
    (core.Module, "visit_module"),
    (core.Effect, "visit_effect"),
    (core.Parameter, "visit_param"),
]


class Mutator:
    """Visits all parts of a module; what a method returns takes the place of the part."""

    def visit(self, name, node):
        """Visits the parts."""
        if isinstance(node, core._List):
            items = list(enumerate(node))
        else:
            items = list(node.items() if isinstance(node, core._Dict) else node.__dict__.items())
        for key, value in items:
            method = next((method for kind, method in _KINDS if isinstance(value, kind)), None)
            if method is None:
                continue
            new = getattr(self, method)(f"{name}.{key}" if name else str(key), value)
            if isinstance(node, core._Values):
                node[key] = new
            else:
                setattr(node, key, new)
        return node


def _visits(self, name, node):
    """Visits the parts; a subclass returns what takes its place."""
    return self.visit(name, node) if isinstance(node, core.Module) else node


for _, _method in _KINDS:
    setattr(Mutator, _method, _visits)
