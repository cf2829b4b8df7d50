"""The inputs of methods that are exported."""

import inspect


class Int:
    """A whole number, which extents may depend on."""

    def __repr__(self):
        return "int"


class Tensor:
    """A tensor; names in its shape are symbolic extents."""

    def __init__(self, shape, dtype):
        self.shape = list(shape)
        self.dtype = dtype

    def __repr__(self):
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Object:
    """A value that is no tensor."""

    def __init__(self, object_type):
        self.object_type = object_type

    def __repr__(self):
        return "object"


class Tuple:
    """Several inputs as one."""

    def __init__(self, name, elements):
        assert isinstance(elements, (tuple, list)), f"Unsupported container type: {type(elements)}"
        self.name = name
        self.elements = elements

    def __repr__(self):
        return repr(self.elements)


def _of_argument(given, name):
    if given is Int or given is int or given == "int":
        return Int()
    if isinstance(given, (Int, Tensor, Object)):
        return given
    if isinstance(given, (tuple, list, Tuple)):
        items = given.elements if isinstance(given, Tuple) else given
        return Tuple(name, type(items)([_of_argument(item, f"{name}_{at}") for at, item in enumerate(items)]))
    raise TypeError(f"Invalid spec for argument {name}: {given}")


_MODES = ["plain", "packed", "none"]


class MethodSpec:
    """The inputs of a method, and how parameters and effects are handed to it."""

    def __init__(self, method, arg_names, arg_specs, param_mode, effect_mode):
        for what, mode in [("param_mode", param_mode), ("effect_mode", effect_mode)]:
            if mode not in _MODES:
                raise ValueError(f"Invalid {what}: {mode}")
        self.method = method
        self.arg_names = arg_names
        self.arg_specs = arg_specs
        self.param_mode = param_mode
        self.effect_mode = effect_mode

    def _repr(self, name):
        return f"{name}({', '.join(f'{arg}: {spec}' for arg, spec in zip(self.arg_names, self.arg_specs))})"

    def __repr__(self):
        return self._repr("MethodSpec")

    @staticmethod
    def from_raw(spec, method):
        """Reads a dictionary of inputs; under `$` stand the modes."""
        if isinstance(spec, MethodSpec):
            return spec
        modes = spec.pop("$", {})
        names = list(inspect.signature(method).parameters)
        specs = [_of_argument(spec[name], name) for name in names if name in spec]
        return MethodSpec(method, names, specs, modes.get("param_mode", "plain"), modes.get("effect_mode", "plain"))


class ModuleSpec:
    """The methods of a module that are exported."""

    def __init__(self, module, method_names, method_specs):
        self.module = module
        self.method_names = method_names
        self.method_specs = method_specs

    @staticmethod
    def from_raw(spec, module):
        """Reads a dictionary of methods."""
        if isinstance(spec, ModuleSpec):
            return spec
        methods = [MethodSpec.from_raw(given, getattr(module, name)) for name, given in spec.items()]
        return ModuleSpec(module, list(spec), methods)

    def __repr__(self):
        lines = (f"  {spec._repr(name)}" for name, spec in zip(self.method_names, self.method_specs))
        return "ModuleSpec:\n" + "\n".join(lines)
