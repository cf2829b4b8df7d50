"""Tensors, parameters and modules."""

import collections

from .... import ir, runtime, tirx
from .... import relax as rx
from ...block_builder import BlockBuilder
from .subroutine import SubroutineMixin

_dtype = "float32"


def get_default_dtype():
    """The element type of parameters for which none is given."""
    return _dtype


def set_default_dtype(dtype):
    """Sets the element type of parameters for which none is given."""
    global _dtype
    _dtype = dtype


def _operator(name, swapped=False):
    def method(self, other):
        from . import op

        if isinstance(other, (tirx.FloatImm, tirx.IntImm)):
            other = other.value
        if isinstance(other, (int, float)):
            other = Tensor.from_scalar(other, dtype=self.dtype)
        return getattr(op, name)(*((other, self) if swapped else (self, other)))

    return method


class Tensor:
    """An expression of a known shape and element type, with operators as methods."""

    def __init__(self, *, _expr):
        ty = _expr.ty
        assert isinstance(ty, rx.TensorType) and ty.shape is not None and ty.ndim != -1
        self._expr = _expr

    @staticmethod
    def from_const(data):
        """A constant of an array."""
        return Tensor(_expr=rx.const(data))

    @staticmethod
    def from_scalar(data, dtype):
        """A constant of a number."""
        return Tensor(_expr=rx.const(data, dtype=dtype))

    @staticmethod
    def from_ty(ty, name="tensor"):
        """A variable of this type."""
        return Tensor(_expr=rx.Var(name, ty))

    from_struct_info = from_ty

    @staticmethod
    def placeholder(shape, dtype, name="tensor"):
        """A variable of this shape; a name in the shape becomes a symbolic extent."""
        extents = []
        for extent in shape:
            if isinstance(extent, (int, tirx.IntImm)):
                extent = int(extent)
                assert extent >= 0
            elif isinstance(extent, str):
                extent = tirx.Var(extent, "int64")
            elif not ir.is_prim_expr(extent):
                raise TypeError(f"Invalid shape: {shape}")
            extents.append(extent)
        return Tensor(_expr=rx.Var(name, rx.TensorType(extents, dtype)))

    @property
    def shape(self):
        """The extents: numbers where they are known, else expressions."""
        values = self._expr.ty.shape.ty.values
        return [extent.value if isinstance(extent, tirx.IntImm) else extent for extent in values]

    @property
    def ndim(self):
        """The number of dimensions."""
        return self._expr.ty.ndim

    @property
    def dtype(self):
        """The element type."""
        return self._expr.ty.dtype.dtype

    def __repr__(self):
        return f'Tensor({self.shape}, "{self.dtype}")'

    __add__ = __radd__ = _operator("add")
    __sub__ = _operator("subtract")
    __rsub__ = _operator("subtract", swapped=True)
    __mul__ = __rmul__ = _operator("multiply")
    __truediv__ = _operator("divide")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    maximum = _operator("maximum")
    minimum = _operator("minimum")

    def astype(self, dtype):
        """The same in another element type."""
        from . import op

        return op.astype(self, dtype)

    def reshape(self, *shape):
        """The same elements in another shape."""
        from . import op

        return op.reshape(self, shape)

    def permute_dims(self, *axes):
        """The same with its axes in another order."""
        from . import op

        return op.permute_dims(self, axes)

    def repeat(self, repeats, axis=None):
        """Each element several times."""
        from . import op

        return op.repeat(self, repeats, axis)


class Parameter(Tensor):
    """A weight, perhaps with its value."""

    def __init__(self, shape, dtype=None):
        super().__init__(_expr=Tensor.placeholder(shape, dtype or get_default_dtype(), "param")._expr)
        self._data = None
        self.attrs = collections.OrderedDict()

    @property
    def data(self):
        """Its value, if it has one."""
        return self._data

    @data.setter
    def data(self, data):
        if data is not None:
            if not isinstance(data, runtime.Tensor):
                if not hasattr(data, "shape"):
                    raise TypeError(f"Unsupported data type: {type(data)}")
                data = runtime.tensor(data)
            if tuple(data.shape) != tuple(self.shape):
                raise ValueError(f"Shape mismatch: expected {tuple(self.shape)}, got {data.shape}")
            if str(data.dtype) != self.dtype:
                raise ValueError(f"Dtype mismatch: expected {self.dtype}, got {data.dtype}")
        self._data = data

    def to(self, dtype=None):
        """Changes the element type, as long as it has no value."""
        if dtype is None:
            return
        if self._data is not None:
            raise ValueError(
                "Changing the dtype of a Parameter that has been bound to concrete data is not recommended. It might lead to "
                "potential precision loss or other unexpected behaviors"
            )
        self._expr = Tensor.placeholder(self.shape, dtype, "param")._expr


class Object:
    """A value that is no tensor, such as a cache."""

    def __init__(self, *, _expr, _name):
        self._expr = _expr if isinstance(_expr, rx.Var) else BlockBuilder.current().emit(_expr, _name)
        assert isinstance(self._expr.ty, rx.AnyType)


class Effect:
    """A state that calls change, handed from one call to the next."""

    def emit_init(self, name_hint, builder):
        """Emits its first value."""
        raise NotImplementedError

    def create(self, name_hint):
        """The parameters that stand for it."""
        raise NotImplementedError

    def set_state(self, state_vars):
        """Sets the variables that stand for it."""
        raise NotImplementedError

    def finalize(self):
        """The variables that are its result."""
        raise NotImplementedError

    def to(self, dtype=None):
        """Changes the element type; most have none."""


class Module(SubroutineMixin):
    """A part of a model: parameters and other modules are its attributes."""

    def named_parameters(self, prefix=""):
        """Its parameters with their names."""
        yield from find(self, prefix, Parameter)

    def parameters(self):
        """Its parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def state_dict(self, *, prefix="", destination=None):
        """Its parameters by their names."""
        destination = collections.OrderedDict() if destination is None else destination
        destination.update(find(self, prefix, Parameter))
        return destination

    def load_state_dict(self, state_dict, strict=True):
        """Takes the values of other parameters; returns the names that are missing and those that are not known."""
        missing, unexpected = self.state_dict(), []
        for key, value in state_dict.items():
            if key not in missing:
                unexpected.append(key)
                continue
            if value.data is None:
                raise ValueError(f"Parameter {key} is not set to any concrete tensor")
            missing.pop(key).data = value.data
        missing = list(missing)
        if strict and (missing or unexpected):
            raise KeyError(f"Missing keys: {missing}, Unexpected keys: {unexpected}")
        return missing, unexpected

    def __call__(self, *args, **kwargs):
        if not hasattr(self, "forward"):
            raise NotImplementedError(f"Module {type(self)} does not have a `forward` method")
        return self.forward(*args, **kwargs)

    def to(self, dtype=None):
        """Changes the element type of all parameters."""
        for item in self.__dict__.values():
            if callable(getattr(item, "to", None)):
                item.to(dtype=dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def export_tvm(self, spec, debug=False, allow_extern=False):
        """Exports methods with these inputs as a module of Relax; returns it with the parameters."""
        from .exporter import Exporter
        from .spec import ModuleSpec

        mod, params, externs = Exporter(debug=debug).build(ModuleSpec.from_raw(spec, self))
        if allow_extern:
            return mod, params, externs
        if externs:
            raise ValueError("`ExternModule`(s) exist when they are not allowed. Turn on flag `allow_extern` to allow.")
        return mod, params

    def jit(self, spec, device="cpu", pipeline="default_build", out_format="torch", debug=False):
        """Not here: its result calls PyTorch."""
        raise ValueError(f"Module.jit gives a module of {out_format}, which is not here: `export_tvm` gives the program")


class _Values:
    """The base class of lists and dictionaries of modules and of parameters."""

    def _all(self):
        raise NotImplementedError

    def __getitem__(self, key):
        return self._held[key]

    def __len__(self):
        return len(self._held)

    def to(self, dtype=None):
        """Changes the element type of all."""
        for item in self._all():
            item.to(dtype=dtype)


def _parameter(owner, value, what):
    if not isinstance(value, Parameter):
        raise TypeError(f"{owner} {what} must be nn.Parameter, but got {type(value).__name__}")
    return value


class _List(_Values):
    def _all(self):
        return self._held

    def __iter__(self):
        return iter(self._held)

    def __setitem__(self, key, value):
        self._held[key] = self._checked(value)

    def append(self, value):
        """Adds one at the end."""
        self._held.append(self._checked(value))

    def _checked(self, value):
        return value


class _Dict(_Values):
    def _all(self):
        return self._held.values()

    def __setitem__(self, key, value):
        self._held[key] = value

    def __contains__(self, key):
        return key in self._held

    def keys(self):
        """The names."""
        return self._held.keys()

    def values(self):
        """The values of the names."""
        return self._held.values()

    def items(self):
        """The names with their values."""
        return self._held.items()

    def get(self, key, default=None):
        """The value of this name, or the default."""
        return self._held.get(key, default)

    def update(self, other):
        """Takes over another dictionary."""
        for key, value in other.items():
            self[key] = value

    def clear(self):
        """Leaves nothing."""
        self._held.clear()

    def pop(self, key):
        """Removes and returns the value of this name."""
        return self._held.pop(key)


class ModuleList(_List, Module):
    """Modules in a list, called one after the other."""

    def __init__(self, modules):
        self.modules = modules

    @property
    def _held(self):
        return self.modules

    def forward(self, x):
        """Calls them one after the other."""
        for module in self.modules:
            x = module(x)
        return x


class ModuleDict(_Dict, Module):
    """Modules by names."""

    def __init__(self, modules=None):
        self.modules = collections.OrderedDict(modules or {})

    @property
    def _held(self):
        return self.modules

    def __iter__(self):
        return iter(self.modules.values())


class ParameterList(_List, Module):
    """Parameters in a list."""

    def __init__(self, params=None):
        self.params = []
        self.extend(params or [])

    @property
    def _held(self):
        return self.params

    def _checked(self, value):
        return _parameter("ParameterList", value, "elements")

    def extend(self, params):
        """Adds several at the end."""
        for param in params:
            self.append(param)


class ParameterDict(_Dict, Module):
    """Parameters by names."""

    def __init__(self, params=None):
        self.params = collections.OrderedDict()
        self.update(params or {})

    @property
    def _held(self):
        return self.params

    def __iter__(self):
        return iter(self.params)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict keys must be strings, but got {type(key).__name__}")
        self.params[key] = _parameter("ParameterDict", value, "values")


def find(root, prefix, kind):
    """Yields what is of a class below a module, each with its name."""
    if isinstance(root, _List):
        items = [(str(at), item) for at, item in enumerate(root)]
    else:
        items = list(root.items() if isinstance(root, _Dict) else root.__dict__.items())
    for name, item in items:
        if isinstance(item, kind):
            yield prefix + name, item
        elif isinstance(item, Module):
            yield from find(item, f"{prefix}{name}.", kind)


def wrap_nested(expr, name):
    """Emits an expression; a tuple becomes a Python tuple of its parts."""
    if not isinstance(expr, rx.DataflowVar):
        expr = BlockBuilder.current().emit(expr, name)
    if isinstance(expr.ty, rx.TensorType):
        return Tensor(_expr=expr)
    if isinstance(expr.ty, rx.TupleType):
        return tuple(wrap_nested(rx.TupleGetItem(expr, at), f"{name}.{at}") for at in range(len(expr.ty.fields)))
    raise TypeError(f"Unsupported return type: {expr.ty}")
