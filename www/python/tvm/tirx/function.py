"""Functions over buffers."""

import inspect

from .._node import ATTRS, BUFFER, EXPR, NONE, STMT, SYMBOL, TYPE, get, lazy, maybe, row
from .._values import Array, DictAttrs, Map
from ..ir.base import Node
from ..ir.expr import Var, _head, expr_makers
from ..ir.function import BaseFunc
from ..ir.type import FuncType, PrimType, TensorType, TupleType
from .buffer import Buffer
from .expr import convert
from .stmt import Evaluate


class PrimFunc(BaseFunc):
    """A function over scalars and buffers."""

    def __init__(self, params, body, ret_type=None, buffer_map=None, attrs=None, span=None):
        self._buffers = {}
        names = []
        for param in params:
            if isinstance(param, Buffer):
                names.append(param)
            else:
                var = param.var if hasattr(param, "var") else param
                buffer = (buffer_map or {}).get(var)
                names.append(buffer if buffer is not None else var)
        self._params = names
        self.body = body if hasattr(body, "_row_s") or body is None else Evaluate(body)
        self.ret_type = ret_type
        self.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(attrs)

    def _handles(self):
        found = self.__dict__.get("_handle_vars")
        if found is None:
            self.body  # noqa: B018 - reads the function
            found = [
                Var(f"{param.name}_handle" if False else param.name, "handle")
                if isinstance(param, Buffer)
                else param
                for param in self._params
            ]
            self.__dict__["_handle_vars"] = found
        return found

    @property
    def params(self):
        """Parameters; a buffer is a handle, which `buffer_map` says the buffer of."""
        return Array(self._handles())

    @property
    def buffer_map(self):
        """The buffers of the parameters."""
        handles = self._handles()
        return Map(
            {var: param for var, param in zip(handles, self._params) if isinstance(param, Buffer)}
        )

    @property
    def ty(self):
        """The type of the function."""
        self.body  # noqa: B018
        params = []
        for param in self._params:
            if isinstance(param, Buffer):
                params.append(TensorType(list(param.shape), param.dtype))
            else:
                params.append(param.ty)
        return FuncType(params, self.ret_type or TupleType([]), False)

    ret_ty = property(lambda self: self.ret_type)

    def with_body(self, new_body, span=None):
        """The function with another body."""
        made = self._copy(body=new_body)
        made.__dict__.pop("_ty", None)
        return made

    def specialize(self, param_map):
        """The function with some parameters known."""
        from .transform import specialize

        return specialize(self, param_map)

    def _row_e(self, w):
        _head(w, 21, _Untyped(self))
        w.refer(STMT, self.body)
        w.maybe(TYPE, self.ret_type)
        w.maybe(ATTRS, self.attrs if self.attrs is not None and len(self.attrs) else None)
        for param in self._params:
            is_buffer = isinstance(param, Buffer)
            w.number(is_buffer)
            w.refer(BUFFER if is_buffer else SYMBOL, param)


class _Untyped:
    def __init__(self, func):
        if "_from" in func.__dict__:
            self._from = func.__dict__["_from"]


def _load(func):
    words = row(EXPR, func._e)
    fields = func.__dict__
    fields["body"] = get(STMT, words[2])
    fields["ret_type"] = maybe(TYPE, words[3])
    fields["attrs"] = maybe(ATTRS, words[4]) or DictAttrs()
    fields["_params"] = [
        get(BUFFER if words[at] else SYMBOL, words[at + 1]) for at in range(5, len(words), 2)
    ]


expr_makers[21] = lambda number, words: lazy(PrimFunc, EXPR, number, _load)


class IndexMap(Node):
    """A map from indices to indices."""

    AXIS_SEPARATOR = "axis_separator"

    def __init__(self, initial_indices, final_indices, inverse_index_map=None):
        self.initial_indices = Array(initial_indices)
        self.final_indices = Array(convert(index) for index in final_indices)
        self.inverse_index_map = inverse_index_map

    @staticmethod
    def from_func(mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"):
        """The map that a function over indices is."""
        names = []
        for name, param in inspect.signature(mapping_function).parameters.items():
            if param.kind is inspect.Parameter.VAR_POSITIONAL:
                names.extend(f"{name}{index}" for index in range(ndim - len(names)))
            else:
                names.append(name)
        args = [Var(name, index_dtype) for name in names]
        result = mapping_function(*args)
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        return IndexMap(
            args,
            [item for item in result if item is not IndexMap.AXIS_SEPARATOR],
            inverse_index_map,
        )

    from_func_with_separators = from_func

    def map_indices(self, indices):
        """The indices that some are mapped to."""
        from .functor import substitute

        known = dict(zip(self.initial_indices, [convert(index) for index in indices]))
        return Array(substitute(index, known) for index in self.final_indices)

    def _structural(self):
        return [list(self.initial_indices), list(self.final_indices)]


_ = (NONE, PrimType)
