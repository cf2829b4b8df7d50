"""Tensor programs of operators are replaced by others, which may have their buffers in other layouts."""

from ...error import InternalError
from ...ir.expr import Call, GenericConst, Tuple, TupleGetItem, Var
from ...ir.op import Op
from ...ir.transform import PassInfo, PyModulePass
from ...ir.type import TensorType, TupleType
from ...te import compute, create_prim_func, placeholder
from ...tirx.expr import IntImm
from ...tirx.function import IndexMap, PrimFunc
from ...tirx.functor import substitute
from ..expr import ExternFunc, Function
from ..expr_functor import PyExprMutator
from ..op import call_tir, layout_transform

_NAME = "operator_name"


def alter_op_impl_pass(op_impl_map, op_buffer_transforms):
    """See `AlterOpImpl`."""
    for kind, transforms in op_buffer_transforms.items():
        op_buffer_transforms[kind] = [_index_map(transform) for transform in transforms]
    programs, layouts = dict(op_impl_map), dict(op_buffer_transforms)
    return PyModulePass(lambda mod, ctx: _Alter(mod, programs, layouts).module(), PassInfo(0, "AlterOpImpl"))


def _index_map(transform):
    if isinstance(transform, (list, tuple)) and isinstance(transform[0], IndexMap):
        return transform[0]
    return IndexMap.from_func(transform) if callable(transform) else transform


def _check(condition, message):
    if not condition:
        raise InternalError(f"Check failed: {message}")


def _fresh(index_map):
    """The same map over indices of its own, since those of a call belong to it alone."""
    known = {var: Var(var.name, var.dtype) for var in index_map.initial_indices}
    back = index_map.inverse_index_map
    final = [substitute(index, known) for index in index_map.final_indices]
    return IndexMap(list(known.values()), final, None if back is None else _fresh(back))


class _Alter(PyExprMutator):
    """Replaces the programs that calls refer to."""

    def __init__(self, mod, programs, layouts):
        super().__init__(mod)
        self._mod, self._programs, self._layouts = mod, programs, layouts
        self._added, self._remove_pads = {}, {}

    def module(self):
        """The module with its functions of Relax changed, by name."""
        for var, func in self._mod.functions_items():
            if isinstance(func, Function):
                self.builder_.update_func(var, self.visit_expr(func))
        return self.builder_.get()

    def visit_call_(self, op):
        call = super().visit_call_(op)
        if not isinstance(call, Call) or call.op != Op.get("relax.call_tir") or isinstance(call.args[0], ExternFunc):
            return call
        old = self._mod[call.args[0]]
        if not isinstance(old, PrimFunc):
            raise TypeError(f"R.call_tir calls a tensor program, not {type(old).__name__}")
        kind = old.attrs.get(_NAME)
        if kind is None or kind not in self._programs:
            return call
        new, layouts = self._programs[kind], self._layouts.get(kind) or []
        _check(
            not layouts or len(layouts) == len(new.params),
            f"{kind} needs a transformation for each of the {len(new.params)} buffers, or none at all; {len(layouts)} are given",
        )
        _check(
            len(old.params) == len(new.params),
            f"the program of {kind} has {len(old.params)} parameters, and the one that replaces it {len(new.params)}",
        )
        inputs = list(call.args[1].fields)
        if layouts:
            inputs = [self._transformed(value, layout) for value, layout in zip(inputs, layouts)]
        ty = call.ty_args[0]
        made = Call(call.op, [self._added_program(kind, new), Tuple(inputs)], call.attrs, [self._out_type(ty, layouts)])
        return self._outputs(self.builder_.normalize(made), layouts, ty)

    def _added_program(self, kind, program):
        """The variable of a program that replaces others."""
        if id(program) not in self._added:
            self._added[id(program)] = self.builder_.add_func(program.with_attr(_NAME, kind), f"{kind}_replacement")
        return self._added[id(program)]

    def _transformed(self, value, layout):
        """A tensor in another layout."""
        scalar = isinstance(value, GenericConst) and value.ty.ndim == 0
        return value if layout is None or scalar else layout_transform(value, _fresh(layout))

    def _out_type(self, ty, layouts):
        """The type of what the new program computes."""
        if not layouts:
            return ty
        if isinstance(ty, TupleType):
            return TupleType([self._mapped(field, layout) for field, layout in zip(ty.fields, self._last(layouts, len(ty.fields)))])
        return self._mapped(ty, layouts[-1])

    @staticmethod
    def _last(layouts, count):
        return layouts[len(layouts) - count :]

    @staticmethod
    def _mapped(ty, layout):
        _check(isinstance(ty, TensorType), f"a result of R.call_tir is a tensor, not {ty}")
        return ty if layout is None else TensorType(layout.map_shape(list(ty.shape.values)), ty.dtype, ty.vdevice)

    def _outputs(self, call, layouts, ty):
        """The results of a call in the layouts that they had."""
        if not layouts:
            return call
        if isinstance(ty, TensorType):
            return self._restored(call, layouts[-1], ty)
        layouts = self._last(layouts, len(ty.fields))
        if len(layouts) < 2:
            return self._restored(call, layouts[0], ty.fields[0]) if layouts else call
        fields = [self.builder_.normalize(TupleGetItem(call, at)) for at in range(len(layouts))]
        return Tuple([self._restored(*each) for each in zip(fields, layouts, ty.fields)])

    def _restored(self, value, layout, ty):
        """A tensor in the layout that it had, without what was padded."""
        if layout is None:
            return value
        back, padded = layout.non_surjective_inverse(list(ty.shape.values))
        value = self._transformed(value, back)
        if isinstance(padded, IntImm) and not padded.value:
            return value
        value = self.builder_.normalize(value)
        return call_tir(self._remove_pad(ty.shape.values, value.ty.dtype), Tuple([value]), ty)

    def _remove_pad(self, shape, dtype):
        """The variable of the program that copies the leading part of a tensor; there is one for each number of axes."""
        ndim = len(shape)
        if ndim not in self._remove_pads:
            whole = [Var(f"p{at}", extent.dtype) for at, extent in enumerate(shape)]
            part = [Var(f"i{at}", extent.dtype) for at, extent in enumerate(shape)]
            source = placeholder(whole, dtype, "input")
            names = [f"ax{at}" for at in range(ndim)]
            copied = compute(part, lambda *at: source(*at), "output", varargs_names=names)
            program = create_prim_func([source, copied], "int64").without_attr("global_symbol").with_attr(_NAME, "remove_pad")
            self._remove_pads[ndim] = self.builder_.add_func(program, "remove_pad")
        return self._remove_pads[ndim]
