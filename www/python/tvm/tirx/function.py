"""Functions over buffers."""

import inspect

from .._codes import ExprKind
from .._node import ATTRS, BUFFER, EXPR, NONE, PRIM, STMT, SYMBOL, TYPE, get, lazy, maybe, row
from .._values import Array, DictAttrs, Map, ProgramAttrs
from ..ir.base import Node
from ..error import InternalError
from ..ir.expr import Expr, Range, Var, _head, expr_makers
from ..ir.function import BaseFunc
from ..ir.type import FuncType, PrimType, TensorType, TupleType
from .buffer import is_buffer_var
from .expr import convert
from .stmt import Evaluate


class PrimFunc(BaseFunc):
    """A function over scalars and buffers."""

    def __init__(self, params, body, ret_type=None, buffer_map=None, attrs=None, span=None):
        names = []
        for param in params:
            if is_buffer_var(param):
                names.append(param)
            else:
                var = param.var if hasattr(param, "var") else param
                buffer = (buffer_map or {}).get(var)
                names.append(buffer if buffer is not None else var)
        self._params = names
        self.body = body if hasattr(body, "_row_s") or body is None else Evaluate(body)
        self.ret_type = ret_type
        self.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(attrs)

    @property
    def params(self):
        """Parameters: scalars and buffers."""
        self.body  # noqa: B018 - reads the function
        return Array(self._params)

    @property
    def ty(self):
        """The type of the function."""
        from ..s_tir.analysis import is_pure_function
        from .op import cast

        self.body  # noqa: B018
        params = []
        for param in self._params:
            if is_buffer_var(param):
                params.append(TensorType([cast(extent, "int64") for extent in param.shape], param.dtype))
            else:
                params.append(param.ty)
        pure = is_pure_function(self)
        return FuncType(params, self.ret_type or TupleType([]), pure)

    ret_ty = property(lambda self: self.ret_type)

    def with_body(self, new_body, span=None):
        """The function with another body."""
        made = self._copy(body=new_body)
        made.__dict__.pop("_ty", None)
        return made

    def specialize(self, param_map):
        """The function with some parameters known."""
        from .specialize import specialize

        return specialize(self, param_map)

    def _row_e(self, w):
        _head(w, ExprKind.PRIM_FUNC, _Untyped(self))
        w.refer(STMT, self.body)
        w.maybe(TYPE, self.ret_type)
        w.maybe(ATTRS, ProgramAttrs.of(self, self.attrs))
        for param in self._params:
            is_buffer = is_buffer_var(param)
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
    fields["_params"] = [get(BUFFER if words[at] else SYMBOL, words[at + 1]) for at in range(5, len(words), 2)]


expr_makers[ExprKind.PRIM_FUNC] = lambda number, words: lazy(PrimFunc, EXPR, number, _load)


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
        made, separators = IndexMap.from_func_with_separators(mapping_function, ndim, inverse_index_map, index_dtype=index_dtype)
        if separators:
            raise ValueError("A layout with axis separators is made by IndexMap.from_func_with_separators")
        return made

    @staticmethod
    def from_func_with_separators(mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"):
        """The map that a function over indices is, and the places of its separators."""
        names, varargs = [], None
        for name, param in inspect.signature(mapping_function).parameters.items():
            if param.kind is inspect.Parameter.VAR_POSITIONAL:
                varargs = name
            elif param.kind is inspect.Parameter.VAR_KEYWORD:
                raise ValueError("Keyword arguments are not supported in index maps")
            else:
                names.append(name)
        if varargs is not None:
            if ndim is None:
                raise AssertionError("ndim must be specified when *args is used")
            names.extend(f"{varargs}_{at}" for at in range(ndim - len(names)))
        elif ndim is not None and ndim != len(names):
            raise ValueError(f"The index map takes {len(names)} indices, not {ndim}")
        args = [Var(name, index_dtype) for name in names]
        result = mapping_function(*args)
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        final, separators = [], []
        for item in result:
            if not isinstance(item, (Expr, list, str)) and not hasattr(item, "asobject"):
                wanted = "Expected mapping function to return tvm.ir.Expr or a list of tvm.ir.Expr."
                raise TypeError(f"{wanted}  Instead received {item} of type {type(item)}.")
            if isinstance(item, str) and item == IndexMap.AXIS_SEPARATOR:
                separators.append(len(final))
            else:
                final.append(item)
        if inverse_index_map is not None and not isinstance(inverse_index_map, IndexMap):
            inverse_index_map = IndexMap.from_func(inverse_index_map, index_dtype=index_dtype)
        return IndexMap(args, final, inverse_index_map), Array(separators)

    def is_equivalent_to(self, other_map):
        """True if both map all indices alike."""
        from ..sym import Analyzer

        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        mapped = other_map.map_indices(self.initial_indices)
        analyzer = Analyzer()
        return len(mapped) == len(self.final_indices) and all(analyzer.can_prove_equal(a, b) for a, b in zip(self.final_indices, mapped))

    def map_indices(self, indices):
        """The indices that some are mapped to."""
        from ..sym import Analyzer
        from .functor import substitute

        if len(indices) != len(self.initial_indices):
            raise InternalError(f"Check failed: indices.size() == initial_indices.size() ({len(indices)} vs. {len(self.initial_indices)}) : ")
        known = dict(zip(self.initial_indices, [convert(index) for index in indices]))
        return Array(Analyzer().simplify(substitute(index, known)) for index in self.final_indices)

    def _asked(self, what, shape, level):
        from ..sym._ask import Question

        shape = [getattr(item, "extent", item) for item in shape]
        asked = Question().number(level, len(self.initial_indices))
        for var in self.initial_indices:
            asked.var(var)
        return asked.prims(list(self.final_indices)).prims([convert(item) for item in shape]).ask(what)

    def map_shape(self, shape):
        """The shape that one is mapped to."""
        words = self._asked("map_shape", shape, 3)
        return Array(get(PRIM, word) for word in words[1::2])

    def map_tensor(self, arr_src):
        """A tensor in the mapped layout."""
        import numpy as np

        from ..error import InternalError
        from ..runtime import tensor

        source = arr_src.numpy()
        if len(source.shape) != len(self.initial_indices):
            raise InternalError(f"The rank of the input array should be {len(self.initial_indices)} but got {len(source.shape)}")
        made = np.zeros([int(extent) for extent in self.map_shape(list(source.shape))], str(source.dtype))
        if made.size != source.size:
            raise InternalError(f"The map makes {made.size} elements of {source.size}")
        for place in np.ndindex(*source.shape):
            made[tuple(int(index) for index in self.map_indices(list(place)))] = source[place]
        return tensor(made)

    map_ndarray = map_tensor

    def _inverse(self, shape, level):
        words = self._asked("inverse_map", shape, level)
        if not words:
            raise InternalError(self._reason(shape, level))
        end = 2 + words[1]
        params = [get(SYMBOL, word) for word in words[2:end]]
        return IndexMap(params, [get(PRIM, word) for word in words[end:]]), get(PRIM, words[0])

    def _reason(self, shape, level):
        """The reason for which the map has no inverse over a shape."""
        from ..sym import detect_iter_map
        from ..sym.iter_affine_map import IterMapLevel

        ranges = {var: Range.from_min_extent(0, getattr(item, "extent", item)) for var, item in zip(self.initial_indices, shape)}
        found = detect_iter_map(list(self.final_indices), ranges, True, IterMapLevel(level), False)
        if not found.errors:
            return "Check failed: (analyzer_->CanProveEqual(prim::IntegerAbs(source->scale), 1)) is false: "
        said = f"Could not parse mapping as sum of iterators.  Error: {found.errors[0]}"
        return f"Check failed: (padded_iter_map->errors.empty()) is false: {said}"

    def inverse(self, shape):
        """The map back; raises unless this one is a bijection over the shape."""
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        return self._inverse(shape, 0)[0]

    def non_surjective_inverse(self, shape):
        """The map back, and the condition under which an index has no origin."""
        return self._inverse(shape, 3)

    def _structural(self):
        return [list(self.initial_indices), list(self.final_indices)]

    def _distinct(self):
        """The same map with a name for each index."""
        from .functor import substitute

        names, renamed = [], {}
        for var in self.initial_indices:
            name, count = var.name, 0
            while name in names:
                count += 1
                name = f"{var.name}_{count}"
            names.append(name)
            if name != var.name:
                renamed[var] = Var(name, var.dtype)
        if not renamed:
            return self
        initial = [renamed.get(var, var) for var in self.initial_indices]
        return IndexMap(initial, [substitute(index, renamed) for index in self.final_indices])

    def __repr__(self):
        back = self.inverse_index_map
        return f"T.index_map({self._lambda()}{'' if back is None else f', inverse_index_map={back._lambda()}'})"

    def _lambda(self):
        shown = self._distinct()
        params = ", ".join(var.name for var in shown.initial_indices)
        final = "".join(f"{index}, " for index in shown.final_indices)
        return f"lambda {params}: ({final.rstrip(' ') if len(shown.final_indices) == 1 else final[:-2]})"


_ = (NONE, PrimType)


def __getattr__(name):
    # Up to 0.22 it stood here.
    if name != "TensorIntrin":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import s_tir

    return s_tir.TensorIntrin
