"""Parameters and symbolic variables replaced by what is known of them."""

from ...sym import Analyzer
from ...error import InternalError
from ...ir.expr import Expr, GenericConst, Var, is_prim_expr
from ...ir.transform import BuiltInPass, PassInfo, PyModulePass, call_text
from ...ir.type import FuncType, PrimType, ShapeType, TensorType, TupleType
from ...runtime.tensor import Tensor
from ...tirx.expr import IntImm
from ...tirx.functor import substitute
from ..expr import Function, ShapeExpr, const, prim_value
from ..expr_functor import PyExprMutator


def _value(value):
    if isinstance(value, Expr):
        return value
    if isinstance(value, (int, float)):
        return prim_value(value)
    return const(value) if isinstance(value, Tensor) or hasattr(value, "tolist") else value


class _Substitute(PyExprMutator):
    """Replaces variables in expressions and types."""

    def __init__(self, mod, known):
        super().__init__(mod)
        self._known = known

    def _scalar(self, value):
        return substitute(value, self._known)

    def _extent(self, value):
        new = self._scalar(value)
        return value if new is value else Analyzer().simplify(new)

    def visit_type(self, ty):
        if isinstance(ty, TensorType) and isinstance(ty.shape, ShapeExpr):
            shape = [self._extent(value) for value in ty.shape.values]
            if all(a is b for a, b in zip(shape, ty.shape.values)):
                return ty
            return TensorType(shape, ty.dtype, ty.vdevice)
        if isinstance(ty, ShapeType) and ty.values is not None:
            values = [self._extent(value) for value in ty.values]
            return ty if all(a is b for a, b in zip(values, ty.values)) else ShapeType(values)
        if isinstance(ty, TupleType):
            fields = [self.visit_type(field) for field in ty.fields]
            return ty if all(a is b for a, b in zip(fields, ty.fields)) else TupleType(fields)
        if isinstance(ty, FuncType) and ty.params is not None:
            return FuncType([self.visit_type(item) for item in ty.params], self.visit_type(ty.ret), ty.purity)
        return ty

    def visit_shape_expr_(self, op):
        values = [self._extent(value) for value in op.values]
        return op if all(a is b for a, b in zip(values, op.values)) else ShapeExpr(values)

    def visit_prim_value_(self, op):
        return self._scalar(op)

    def visit_var_(self, op):
        if is_prim_expr(op) and op in self._known:
            return self._known[op]
        return super().visit_var_(op)

    def visit_var_def_(self, var):
        if var in self._remap or not var.ty:
            return var
        ty = self.visit_type(var.ty)
        if ty is var.ty:
            return var
        new = type(var)(var.name, ty)
        self.set_var_remap(var, new)
        return new

    visit_dataflow_var_def_ = visit_var_def_


def _named(func, key, what):
    if isinstance(key, Var):
        return key
    return None


def bind_params_pass(func_name, params):
    """See `BindParams`."""

    def apply(mod, ctx):
        func = mod[func_name]
        found = {}
        for key, value in params.items():
            if isinstance(key, str):
                named = [param for param in func.params if param.name == key]
                if not named:
                    raise InternalError(f'Function does not have parameter with name "{key}"')
                if len(named) > 1:
                    raise InternalError(f'Function contains multiple parameters with name "{key}"')
                key = named[0]
            elif not any(key is param for param in func.params):
                raise InternalError(f"Function does not have parameter {key}")
            found[key] = _value(value)
        explicit = {param: value for param, value in found.items() if is_prim_expr(param)}
        for param, value in explicit.items():
            if not is_prim_expr(value):
                raise ValueError(f"Explicit binding for symbolic variable {param} must be a primitive expression, but received {value}")
        inferred = {}
        for param, value in found.items():
            _infer(param.ty, value, inferred)
        for var, value in inferred.items():
            if var in explicit and not Analyzer().can_prove_equal(explicit[var], value):
                raise ValueError(
                    f"Explicit binding for symbolic variable {var} conflicts with the value inferred from a parameter shape: "
                    f"explicit value {explicit[var]}, inferred value {value}"
                )
        known = inferred | explicit
        mutator = _Substitute(mod, known)
        for param, value in found.items():
            mutator.set_var_remap(param, value)
        rest = [param for param in func.params if param not in found]
        params_left = [mutator.visit_var_def(param) for param in rest]
        body = mutator.visit_with_new_scope(func.body, params_left)
        made = Function(params_left, body, body.ty or mutator.visit_type(func.ret_ty), func.is_pure, func.attrs)
        new = mod.clone()
        new[new.get_global_var(func_name)] = mutator.builder_.normalize(made)
        return new

    return PyModulePass(apply, PassInfo(0, "BindParams"))


def _infer(ty, value, known):
    if isinstance(ty, TensorType) and isinstance(ty.shape, ShapeExpr) and isinstance(value, GenericConst):
        shape = value.data.shape
        if len(shape) != len(ty.shape.values):
            raise ValueError(f"the value has the shape {shape}, and the parameter the type {ty}")
        pairs = zip(ty.shape.values, shape)
    elif isinstance(ty, ShapeType) and ty.values is not None and isinstance(value, ShapeExpr):
        pairs = zip(ty.values, value.values)
    else:
        return
    for extent, actual in pairs:
        if isinstance(extent, Var):
            known[extent] = actual if isinstance(actual, Expr) else IntImm(extent.dtype, int(actual))
        elif isinstance(extent, IntImm) and not isinstance(actual, Expr) and extent.value != int(actual):
            raise ValueError(f"the value has the extent {actual} where the parameter has {extent.value}")


def bind_symbolic_vars_pass(binding_map, func_name=None):
    """See `BindSymbolicVars`."""
    from ..analysis import free_symbolic_vars, tir_vars_in_type

    def apply(mod, ctx):
        new = mod.clone()
        used = []
        names = [func_name] if func_name is not None else [var.name_hint for var in mod.get_global_vars()]
        for name in names:
            func = mod[name]
            if not isinstance(func, Function):
                continue
            symbols = {}
            for param in func.params:
                for var in tir_vars_in_type(param.ty):
                    symbols.setdefault(id(var), var)
            for var in free_symbolic_vars(func):
                symbols.setdefault(id(var), var)
            known = {}
            for key, value in binding_map.items():
                named = [var for var in symbols.values() if (var.name == key if isinstance(key, str) else var is key)]
                if not named:
                    if func_name is not None:
                        raise InternalError(f"Function does not use symbolic var {key}")
                    continue
                if len(named) > 1:
                    raise InternalError(f"Function contains multiple symbolic variables with name {key}")
                if named[0] in known:
                    raise InternalError(f"symbolic variable {key} is bound twice")
                used.append(key)
                known[named[0]] = value if isinstance(value, Expr) else IntImm(named[0].dtype, int(value))
            if not known:
                continue
            mutator = _Substitute(mod, known)
            params = [mutator.visit_var_def(param) for param in func.params]
            body = mutator.visit_with_new_scope(func.body, params)
            ret = mutator.visit_type(func.ret_ty)
            made = mutator.builder_.normalize(Function(params, body, ret, func.is_pure, func.attrs))
            # The written type of the result stays, also where the body gives another one.
            new[new.get_global_var(name)] = Function(made.params, made.body, ret, made.is_pure, made.attrs)
        unused = [key for key in binding_map if not any(key is other for other in used)]
        if unused:
            raise InternalError(
                f"Binding map contains keys {unused}, which did not correspond to any symbolic variables in the module."
            )
        return new

    return PyModulePass(apply, PassInfo(0, "BindSymbolicVars"))


_ = (BuiltInPass, call_text, PrimType)
