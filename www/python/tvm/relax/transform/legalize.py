"""Operators are lowered by functions of Python; where an operator has none, the engine lowers it."""

import sys

from ..._catalogue import lowered_operators, passes
from ..._engine import EngineError
from ..._values import DictAttrs
from ...ir.expr import Call, Expr, GenericConst, GlobalVar, Tuple, TupleGetItem, Var, is_prim_expr
from ...ir.module import IRModule
from ...ir.op import Op, _attributes
from ...ir.transform import PassContext, PassInfo, PyModulePass, make_factory
from ...ir.type import FuncType, PrimType, ShapeType, TensorType, TupleType
from ...tirx.function import PrimFunc
from ..expr import BindingBlock, ExternFunc, Function, MatchCast, SeqExpr, ShapeExpr, VarBinding
from .._walks import used_vars
from ..expr_functor import PyExprMutator

by_engine = make_factory("LegalizeOps", passes("relax")["LegalizeOps"], "relax")

_ATTRIBUTE = "FLegalize"
"""As `lowered_operators` says which shapes have to be known."""


class RuleError(EngineError, AssertionError):
    """A rule cannot lower a call: in TVM its assertion fails."""


def default_rule(name):
    """The function that lowers an operator as the engine does; None for operators that stay."""
    if name.removeprefix("relax.") not in lowered_operators():
        return None
    if name not in _default_rules:
        _default_rules[name] = lambda bb, call: _lowered_by_engine(bb, call)
    return _default_rules[name]


_default_rules = {}


class LegalizeOpsPass(PyModulePass):
    """The engine's pass, or one of Python as soon as an operator has a function of Python."""

    def __init__(self, own, skip_ops, enable_warning):
        super().__init__(self._lower, PassInfo(0, "LegalizeOps"))
        self._own = {str(name): rule for name, rule in (own or {}).items()}
        self._skipped = [str(name) for name in skip_ops or ()]
        self._warns = bool(enable_warning)
        self._alone = by_engine(None, self._skipped, self._warns)

    def __call__(self, mod, *unused):
        try:
            return super().__call__(mod)
        except EngineError as exc:
            raise RuleError(*exc.args) if str(exc).startswith("To legalize") else exc from None

    def _describe(self, descs):
        for name in self._skipped:
            Op.get(name)
        return super()._describe(descs) if self._own or _registered() else self._alone._describe(descs)

    def _lower(self, mod, ctx):
        if not ctx.config.get("relax.transform.apply_legalize_ops", True):
            return mod
        return _Legalize(mod, self._own, self._skipped, self._warns).module()


def _registered():
    """True if an operator has another rule than the engine's."""
    return any(
        key == _ATTRIBUTE and (rule is None or rule is not _default_rules.get(name))
        for (name, key), (rule, _) in _attributes.items()
    )


def _known(ty):
    """True if all extents in a type are known."""
    if isinstance(ty, TensorType):
        return isinstance(ty.shape, ShapeExpr)
    if isinstance(ty, ShapeType):
        return ty.values is not None
    if isinstance(ty, TupleType):
        return all(_known(field) for field in ty.fields)
    return isinstance(ty, PrimType)


def _ready(call):
    """True if what is known of a call is enough to lower it."""
    name = call.op.name
    arguments, result = lowered_operators().get(name.removeprefix("relax."), (True, True))
    needs = Op.get(name).get_attr("RequiresArgumentShapes")
    if not (arguments if needs is None else needs):
        return True
    of_data = not result or bool(call.op.get_attr("FDataDependent"))
    return all(_known(arg.ty) for arg in call.args) and (of_data or _known(call.ty))


def _pure(callee):
    if isinstance(callee, Op):
        return bool(callee.get_attr("FPurity"))
    return isinstance(callee.ty, FuncType) and callee.ty.purity


def _target_of(types):
    """The target of the first device that types name."""
    for ty in types:
        if isinstance(ty, TensorType) and ty.vdevice is not None and ty.vdevice.target is not None:
            return ty.vdevice.target
        if isinstance(ty, TupleType):
            return _target_of(ty.fields)
    return None


class _Legalize(PyExprMutator):
    """Lowers the calls of a module one after the other."""

    def __init__(self, mod, own, skipped, warns):
        super().__init__(mod)
        self._mod, self._own, self._skipped, self._warns = mod, own, skipped, warns
        self._for_devices = False

    def module(self):
        """The module with its functions of Relax lowered, by name."""
        for var, func in self._mod.functions_items():
            if isinstance(func, Function):
                self.builder_.update_func(var, self.visit_expr(func))
        made = self.builder_.get()
        if not self._for_devices:
            return made
        from ... import tirx
        from . import DeadCodeElimination

        # Programs without a device may have no calls left, and those with one have variables of their own.
        return tirx.transform.ConvertSSA()(DeadCodeElimination()(made))

    def visit_call_(self, op):
        call = super().visit_call_(op)
        call = call if call is op else self.builder_.normalize(call)
        if not isinstance(call, Call) or not isinstance(call.op, Op) or call.op.name in self._skipped:
            return call
        rule = self._rule(call)
        if rule is None:
            return call
        begin = self.builder_.begin_dataflow_block if self.builder_.current_block_is_dataflow() else self.builder_.begin_binding_block
        begin()
        made = rule(self.builder_, call)
        if not isinstance(made, Expr):
            raise TypeError(f"the function that lowers {call.op.name} must return an expression, not {type(made).__name__}")
        made = self.builder_.normalize(self._with_target(made))
        for binding in self.builder_.end_block().bindings:
            self.visit_binding(binding)
        if isinstance(made, Call) and _pure(call.op) and not _pure(made.op):
            made = Call(Op.get("relax.call_pure_packed"), [made.op, *made.args], made.attrs, made.ty_args)
        return made if made is call else self.visit_expr(made)

    def _rule(self, call):
        """The function that lowers a call; None for one that stays."""
        name, ready = call.op.name, _ready(call)
        known = _attributes.get((name, _ATTRIBUTE))
        if ready and name in self._own:
            return self._own[name]
        rule = default_rule(name) if known is None else known[0]
        if ready and rule is not None:
            return rule
        packed = call.op.get_attr("FCallPacked")
        if packed is not None:
            return lambda bb, call: Call(ExternFunc(packed), call.args, None, [call.ty])
        if self._warns and name not in ("relax.call_tir", "relax.call_dps_packed", "relax.call_pure_packed"):
            unknown = f"Cannot legalize {call}, missing known shapes for arguments and return value"
            print(f"Warning: No legalization func for {name} is found." if ready else f"Warning: {unknown}", file=sys.stderr)
        return None

    def _with_target(self, made):
        """A call of a tensor program on a device: a copy of the program that has the target of the device is called."""
        target = _target_of(made.ty_args) if isinstance(made, Call) else None
        if target is None or not made.args or not isinstance(made.args[0], GlobalVar):
            return made
        program = self.builder_.get()[made.args[0]]
        if not isinstance(program, PrimFunc):
            return made
        has = program.attrs.get("target") if program.attrs is not None else None
        if has is not None and has.kind.name == target.kind.name:
            return made
        self._for_devices = True
        var = self.builder_.add_func(program.with_attr("target", target), f"{made.args[0].name_hint}_{target.kind.name}")
        return Call(made.op, [var, *made.args[1:]], made.attrs, made.ty_args)


def _lowered_by_engine(builder, call):
    """The expression that the engine makes of a call; programs and bindings go to the builder."""
    call = builder.normalize(call)
    used, given = [], {}

    def learn(value):
        """Finds what the call is over: variables of what is plain to see are bound again, others are parameters."""
        for var in used_vars(value):
            bound = None if is_prim_expr(var) else builder.lookup_binding(var)
            if isinstance(bound, (Tuple, ShapeExpr, GenericConst)):
                learn(bound)
                given[var] = bound
            elif var not in used and not is_prim_expr(var):
                used.append(var)

    learn(call)
    result = Var("result", call.ty)
    body = SeqExpr([BindingBlock([VarBinding(var, value) for var, value in [*given.items(), (result, call)]])], result)
    func = Function(used, body, call.ty, False, DictAttrs({"global_symbol": "main"}))
    alone = IRModule({"main": func}, global_infos=builder.get().global_infos)
    now = PassContext.current()
    # Instruments see the pass once, and not for every call.
    with PassContext(now.opt_level, config=now.config):
        lowered = by_engine()(alone)
    blocks = lowered["main"].body.blocks
    bindings = [binding for block in blocks for binding in block.bindings if binding.var not in given]
    last = bindings[-1].value
    if len(bindings) == 1 and isinstance(last, Call) and last.op == call.op:
        return call
    target = _target_of(last.ty_args) if isinstance(last, Call) else None
    known = {}

    def taken(name):
        """The variable of a program, without the target that is set again."""
        if name not in known:
            program, hint = lowered[name], name
            if target is not None and name.endswith(f"_{target.kind.name}"):
                program, hint = program.without_attr("target"), name.removesuffix(f"_{target.kind.name}")
            known[name] = builder.add_func(program, hint)
        return known[name]

    def carried(value):
        """An expression of the lowered function over what the builder has."""
        if isinstance(value, GlobalVar):
            return taken(value.name_hint)
        if isinstance(value, Var):
            return known.get(value, value)
        if isinstance(value, Tuple):
            return Tuple([carried(field) for field in value.fields])
        if isinstance(value, TupleGetItem):
            return TupleGetItem(carried(value.tuple_value), value.index)
        if isinstance(value, Call) and not is_prim_expr(value):
            return Call(value.op, [carried(arg) for arg in value.args], value.attrs, value.ty_args)
        return value

    for binding in bindings[:-1]:
        value = carried(binding.value)
        known[binding.var] = builder.match_cast(value, binding.ty) if isinstance(binding, MatchCast) else builder.emit(value)
    return carried(last)

