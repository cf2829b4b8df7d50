"""Questions about programs."""

import enum

from ... import _engine
from ..._codes import Analysis, Walk
from ..._node import EXPR, PRIM, TYPE, BLOCK, get, number, numbers
from ..._values import Array, Map
from ...ir.expr import Expr, GlobalVar, Var
from ...ir.module import IRModule
from ...ir.type import PrimType, Type
from .layouts import suggest_layout_transforms
from .memory import estimate_memory_usage


def _ask(what, *words):
    _engine.dialect(True)
    return _engine.call("user_analysis", what, _engine.words(words))


def _walk(what, expr):
    _engine.dialect(True)
    return Array(get(EXPR, item) for item in _engine.call("user_walk", what, number(EXPR, expr)))


def free_vars(expr):
    """Variables that an expression uses and does not bind."""
    from ..expr import Function

    found = _walk(Walk.FREE, expr)
    if not isinstance(expr, Function):
        return Array([*found, *_symbols(expr)])
    # A scalar may be a symbolic variable that a shape defines.
    scalars = [var for var in found if isinstance(var.ty, PrimType)]
    defined = {id(var) for var in defined_symbolic_vars(expr)} if scalars else ()
    return Array(var for var in found if id(var) not in defined)


def _symbols(expr):
    """Symbolic variables among the shapes and scalars of an expression."""
    from ...ir.expr import is_prim_expr
    from ...tirx.analysis import undefined_vars
    from ..expr import ShapeExpr

    found = {}

    def visit(node):
        if isinstance(node, ShapeExpr) or isinstance(node, Expr) and is_prim_expr(node):
            scalars = node.values if isinstance(node, ShapeExpr) else [node]
            found.update((var, None) for value in scalars for var in undefined_vars(value))

    post_order_visit(expr, visit)
    return found


def bound_vars(expr):
    """Variables that an expression binds, each before the symbolic variables of its type."""
    return _with_symbols(_walk(Walk.BOUND, expr))


def _with_symbols(found):
    seen, result = {}, Array()
    for var in found:
        for one in (var, *_type_vars(var.ty, False)):
            if id(one) not in seen:
                seen[id(one)] = one
                result.append(one)
    return result


def all_vars(expr):
    """All variables of an expression, each before the symbolic variables of its type."""
    return _with_symbols(_walk(Walk.VARS, expr))


def all_global_vars(expr):
    """Functions of the module that an expression names."""
    return Array(get(EXPR, item) for item in _ask(Analysis.ALL_GLOBAL_VARS, number(EXPR, expr)))


def called_global_vars(expr):
    """Functions of the module that an expression calls."""
    return Array(get(EXPR, item) for item in _ask(Analysis.CALLED_GLOBAL_VARS, number(EXPR, expr)))


def used_vars(expr):
    """Variables that an expression uses."""
    from .._walks import used_vars as find

    return find(expr)


def post_order_visit(expr, fvisit):
    """Calls a function with every expression, children first."""
    from .._walks import post_order_visit as visit

    visit(expr, fvisit)


def free_symbolic_vars(func):
    """Symbolic variables that a function uses and does not define."""
    return Array(_extents(_ask(Analysis.FREE_SYMBOLIC_VARS, number(EXPR, func))))


def defined_symbolic_vars(func):
    """Symbolic variables that the parameters of a function define."""
    return Array(_extents(_ask(Analysis.DEFINED_SYMBOLIC_VARS, number(EXPR, func))))


def _extents(words):
    from ..._node import SYMBOL

    return [get(SYMBOL, words[at + 1]) for at in range(0, len(words), 3)]


def contains_impure_call(expr, own_name=None):
    """True if an expression calls something with side effects, apart from the function with its own name."""
    own = number(EXPR, expr if own_name is None else own_name)
    return bool(_ask(Analysis.CONTAINS_IMPURE_CALL, number(EXPR, expr), own, *IRModule()._words())[0])


def erase_to_well_defined(ty, shape_var_map=None, var_map=None):
    """A type without what mentions variables that the maps do not define, and with what they give for others."""
    from ...ir.type import ShapeType, TensorType, TupleType
    from ...sym import Analyzer
    from ...tirx.analysis import undefined_vars
    from ...tirx.expr import convert
    from ...tirx.functor import substitute
    from ..expr import ShapeExpr

    symbols = {var: convert(value, var.dtype) for var, value in (shape_var_map or {}).items()}

    def extents(values):
        if not all(var in symbols for value in values for var in undefined_vars(value)):
            return None
        return [Analyzer().simplify(substitute(value, symbols)) if undefined_vars(value) else value for value in values]

    if isinstance(ty, TupleType):
        return TupleType([erase_to_well_defined(field, shape_var_map, var_map) for field in ty.fields])
    if isinstance(ty, ShapeType) and ty.values is not None:
        known = extents(ty.values)
        return ShapeType(ndim=len(ty.values)) if known is None else ShapeType(known)
    if isinstance(ty, TensorType) and ty.shape is not None:
        shape = ty.shape if isinstance(ty.shape, ShapeExpr) else (var_map or {}).get(ty.shape)
        known = extents(shape.values) if isinstance(shape, ShapeExpr) else shape
        if known is None:
            return TensorType(dtype=ty.dtype, ndim=ty.ndim, vdevice=ty.vdevice)
        return TensorType(known, ty.dtype, ty.vdevice)
    return ty


def computable_at_compile_time(func):
    """Variables that depend on parameters behind `num_input` alone."""
    from ..expr_functor import PyExprVisitor, visitor

    known, found = set(), []

    def mark(var):
        known.add(var)
        found.append(var)
        known.update(definable_tir_vars_in_type(var.ty))

    @visitor
    class Collector(PyExprVisitor):
        def visit_binding(self, binding):
            if all(var in known for var in free_vars(binding.value)):
                mark(binding.var)
            super().visit_binding(binding)

    if func.attrs and "num_input" in func.attrs:
        for param in func.params[int(func.attrs["num_input"]) :]:
            mark(param)
    Collector().visit_expr(func.body)
    return Array(found)


def has_reshape_pattern(func):
    """True if a tensor program only changes the shape."""
    return bool(_ask(Analysis.HAS_RESHAPE_PATTERN, number(EXPR, func))[0])


class BaseCheckResult(enum.IntEnum):
    """The degree to which a type is a base of another one."""

    FAIL_L0, FAIL_L1, FAIL_L2, PASS = 0, 1, 2, 3


def type_base_check(base, derived):
    """The degree to which a type is a base of another one."""
    return _ask(Analysis.TYPE_BASE_CHECK, *numbers(TYPE, [base, derived]))[0]


struct_info_base_check = type_base_check


def type_lca(lhs, rhs):
    """The narrowest type that two types are values of."""
    return get(TYPE, _ask(Analysis.TYPE_LCA, *numbers(TYPE, [lhs, rhs]))[0])


struct_info_lca = type_lca


def udchain(dfb):
    """Variables of a dataflow block with those that use them."""
    words = _ask(Analysis.UDCHAIN, number(BLOCK, dfb))
    chain, at = Map(), 0
    while at < len(words):
        count = words[at + 1]
        chain[get(EXPR, words[at])] = Array(get(EXPR, item) for item in words[at + 2 : at + 2 + count])
        at += 2 + count
    return chain


def _problems(obj):
    alone = not isinstance(obj, IRModule)
    mod = IRModule.from_expr(obj) if alone else obj
    from ...ir.module import text_of

    found = [text_of(item) for item in _ask(Analysis.WELL_FORMED, int(alone), *mod._words())]
    return found or _not_in_own_normal_form(mod)


def _not_in_own_normal_form(mod):
    """Messages about calls of operators that a script registered, which its normal form would change."""
    from ...ir.op import has_own_normal_form
    from .._walks import all_bindings
    from ..block_builder import BlockBuilder
    from ..expr import Function

    found = []
    for func in mod.functions.values():
        for binding in all_bindings(func) if isinstance(func, Function) else ():
            if has_own_normal_form(binding.value):
                call = binding.value
                if call.op.get_attr("FNormalize")(BlockBuilder(mod), call) is not call:
                    found.append(
                        "If an operator defines an operator-specific normalization function (FNormalize), calls to that operator must be normalized "
                        f"with it. However, normalization of {call} would change it"
                    )
    return found


def check_well_formed(obj, check_ty=True, *, check_struct_info=True):
    """True if a module or function is a program."""
    return not _problems(obj)


def well_formed(obj, check_ty=True, *, check_struct_info=True):
    """Raises ValueError unless a module or function is a program."""
    found = _problems(obj)
    if found:
        raise ValueError(f"This IR is not well formed: {found[0]}")


def get_static_type(ty):
    """The type without symbolic extents."""
    from ...ir.type import AnyType, FuncType, PackedFuncType, ShapeType, TensorType, TupleType

    if isinstance(ty, TensorType):
        return TensorType(None, ty.dtype, None, ty.ndim)
    if isinstance(ty, ShapeType):
        return ShapeType(None, ty.ndim)
    if isinstance(ty, TupleType):
        return TupleType([get_static_type(field) for field in ty.fields])
    if isinstance(ty, FuncType) and ty.params is not None:
        return FuncType([get_static_type(item) for item in ty.params], get_static_type(ty.ret), ty.purity)
    if isinstance(ty, FuncType):
        return PackedFuncType()
    _ = AnyType
    return ty


def definable_tir_vars_in_type(ty):
    """Symbolic variables that a type defines."""
    return Array(_type_vars(ty, True))


def tir_vars_in_type(ty):
    """Symbolic variables of a type."""
    return Array(_type_vars(ty, False))


definable_tir_vars_in_struct_info = definable_tir_vars_in_type
tir_vars_in_struct_info = tir_vars_in_type


def _type_vars(ty, definable):
    from ...ir.type import FuncType, ShapeType, TensorType, TupleType
    from ...tirx.functor import post_order_visit as visit
    from ..expr import ShapeExpr

    found = {}

    def extents(values):
        for value in values:
            if isinstance(value, Var):
                found.setdefault(id(value), value)
            elif not definable:
                visit(
                    value,
                    lambda node: found.setdefault(id(node), node) if isinstance(node, Var) else None,
                )

    def walk(ty):
        if isinstance(ty, TensorType) and isinstance(ty.shape, ShapeExpr):
            extents(ty.shape.values)
        elif isinstance(ty, ShapeType) and ty.values is not None:
            extents(ty.values)
        elif isinstance(ty, TupleType):
            for field in ty.fields:
                walk(field)
        elif isinstance(ty, FuncType) and not definable:
            for item in (*(ty.params or ()), ty.ret):
                walk(item)

    walk(ty)
    return list(found.values())


def derive_call_ret_type(func_ty, call, ctx):
    """The type of a call of a function of a type, whose arguments have theirs."""
    from ...ir.expr import Call
    from ...ir.type import TupleType

    if func_ty.params is None:
        types = list(call.ty_args)
        if not types:
            return func_ty.ret
        return types[0] if len(types) == 1 else TupleType(types)
    return ctx.normalize(Call(Var("f", func_ty), call.args, call.attrs, call.ty_args)).ty


def collect_non_negative_expressions(ty):
    """Extents of a type that are not negative."""
    return Array(_type_vars(ty, False))


def name_to_binding(func):
    """Bindings of a function by the names of their variables."""
    found = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            found.setdefault(binding.var.name, Array()).append(binding)
    return Map(found)


def remove_all_unused(func):
    """A function without bindings that nothing uses."""
    from ...ir.transform import PassContext
    from ..transform import DeadCodeElimination

    name = "main"
    from ..expr import Function, SeqExpr

    if isinstance(func, SeqExpr):
        return remove_all_unused(Function(free_vars(func), func)).body
    # No pass of the user's: its instruments, which may want whole modules, do not look at this one.
    with PassContext():
        mod = DeadCodeElimination([name])(IRModule({GlobalVar(name): func}))
    return mod[name]


def get_var2val(func):
    """Values of the variables of a function."""
    found = Map()
    from .._walks import all_bindings

    for binding in all_bindings(func):
        found[binding.var] = binding.value
    return found


def detect_recursion(mod):
    """Groups of functions that name each other, whether they call or hand on."""
    calls = {var.name_hint: {item.name_hint for item in all_global_vars(func)} for var, func in mod.functions.items()}

    def reached(name):
        seen, todo = set(), list(calls.get(name, ()))
        while todo:
            item = todo.pop()
            if item not in seen:
                seen.add(item)
                todo.extend(calls.get(item, ()))
        return seen

    reach = {name: reached(name) for name in calls}
    groups, done = Array(), set()
    for name in sorted(calls):
        if name in reach[name] and name not in done:
            group = sorted(other for other in calls if other in reach[name] and name in reach[other])
            done.update(group)
            groups.append(Array(mod.get_global_var(item) for item in group))
    return groups


def _copy(func):
    from ..expr_functor import copy_with_new_vars

    return copy_with_new_vars(func)


_ = (PRIM, Expr, Type)
