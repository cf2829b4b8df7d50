"""Facts about a dataflow block by which calls may write over their arguments (`src/relax/transform/dataflow_inplace.cc`)."""

from ..._node import Object
from ...ir.expr import Call, GenericConst, GlobalVar, Tuple, TupleGetItem, Var, is_prim_expr
from ...ir.module import IRModule
from ...ir.op import Op
from ...ir.type import TensorType, TupleType
from ...sym import Analyzer
from ..analysis import all_vars, free_vars
from ..expr import DataflowVar, Function, SeqExpr, ShapeExpr

_UNKNOWN = -1
"""The memory of what comes from outside of the block."""
_VIEWS = "expand_dims squeeze reshape permute_dims flatten nn.batch_flatten memory.view memory.ensure_zero_offset".split()
"""Operators whose result may be the memory of their argument."""
_IN_PLACE = "add subtract multiply divide nn.silu nn.relu".split()
"""Operators that may write over an argument."""


def _is(op, names):
    return isinstance(op, Op) and op.name.removeprefix("relax.") in names


def liveness(block):
    """For each variable the binding that defines it, -1 for one from outside, and the last one that needs it."""
    found = {}
    end = len(block.bindings)
    for at in range(end - 1, -1, -1):
        binding = block.bindings[at]
        if isinstance(binding.value, TupleGetItem):
            used = []
        else:
            used = (free_vars if isinstance(binding.value, Function) else all_vars)(binding.value)
        for var in used:
            found.setdefault(var, (-1, at if isinstance(var, DataflowVar) else end))
        last = found.get(binding.var, (-1, at if isinstance(binding.var, DataflowVar) else end))[1]
        found[binding.var] = (at, last)
    return found


class Aliases:
    """Pieces of memory by number: those that a variable may be, and those that the fields of a tuple may be."""

    def __init__(self, block, inputs):
        self.of, self.fields, self._count = {}, {}, 0
        for var in inputs:
            self.of[var] = {self._fresh(var.ty)}
        for binding in block.bindings:
            self.of[binding.var] = self._aliases(binding.value, binding.var.ty)

    def _fresh(self, ty=None):
        """A new piece of memory, with new ones for the fields of a tuple."""
        number = self._count
        self._count += 1
        if isinstance(ty, TupleType):
            self.fields[number] = [{self._fresh(field)} for field in ty.fields]
        return number

    def _inside(self, number, found):
        """Adds a piece of memory and all that can be reached from it."""
        if number in found:
            return
        found.add(number)
        for members in self.fields.get(number, ()):
            for member in members:
                self._inside(member, found)

    def _mix(self, number, others):
        """Lets all fields of a tuple be other pieces of memory, too."""
        for members in [set(members) for members in self.fields.get(number, ())]:
            for member in members:
                self._mix(member, others)
        for members in self.fields.get(number, ()):
            members |= others

    def _unknown_call(self, args, ty):
        """The result of a call of which nothing is known: it may be any argument or a part of one."""
        result = self._fresh(ty)
        found = set()
        self._inside(result, found)
        for arg in args:
            for number in self._aliases(arg, ty):
                self._inside(number, found)
        self._mix(result, found)
        return found

    def _aliases(self, value, ty):
        """The pieces of memory that a value may be, which is bound to a variable of a type."""
        match value:
            case Var():
                return set(self.of.get(value, {_UNKNOWN}))
            case Tuple():
                number = self._fresh()
                self.fields[number] = [self._aliases(field, ty) for field in value.fields]
                return {number}
            case TupleGetItem():
                whole = self._aliases(value.tuple_value, ty)
                if _UNKNOWN in whole:
                    return {_UNKNOWN}
                parts = (self.fields.get(number, ()) for number in whole)
                return {member for part in parts if len(part) > value.index for member in part[value.index]}
            case Call() if not isinstance(value.op, Op):
                return self._unknown_call(value.args, ty)
            case Call() if _is(value.op, ["call_pure_packed"]):
                return self._unknown_call(value.args[1:], ty)
            case Call() if _is(value.op, ["call_tir"]):
                return {self._fresh(value.ty_args[0])}
            case Call() if _is(value.op, _VIEWS) and len(value.args):
                return self._aliases(value.args[0], ty)
            case Call():
                return {self._fresh(ty)}
            case GenericConst() | Function():
                return {self._fresh()}
        return {self._fresh()} if is_prim_expr(value) else set()

    def reached(self, numbers):
        """Pieces of memory with all that can be reached from them."""
        found = set()
        for number in numbers:
            self._inside(number, found)
        return found


def _targets(ty):
    """Types of results, or of their parts, whose memory is known well enough."""
    if isinstance(ty, TensorType):
        return [ty] if ty.dtype is not None and isinstance(ty.shape, ShapeExpr) else []
    if isinstance(ty, TupleType):
        found = [target for field in ty.fields for target in _targets(field)]
        return [*found, ty] if found else []
    return []


def _fits(target, arg, analyzer):
    """True, and True again, if the memory of an argument is large enough, and of the same shape."""
    if isinstance(target, TensorType) and isinstance(arg, TensorType):
        shapes = target.shape, arg.shape
        if not all(isinstance(shape, ShapeExpr) for shape in shapes) or target.dtype != arg.dtype:
            return False, False
        wanted, given = (list(shape.values) for shape in shapes)
        if not analyzer.can_prove(_product(given) >= _product(wanted)):
            return False, False
        return True, len(wanted) == len(given) and all(analyzer.can_prove_equal(a, b) for a, b in zip(wanted, given))
    if isinstance(target, TupleType) and isinstance(arg, TupleType) and len(target.fields) == len(arg.fields):
        known = (TensorType, TupleType)
        pairs = [pair for pair in zip(target.fields, arg.fields) if isinstance(pair[0], known) or isinstance(pair[1], known)]
        found = [_fits(*pair, analyzer) for pair in pairs]
        fits = all(fit for fit, _ in found)
        return fits, fits and all(same for _, same in found)
    return False, False


def _product(extents):
    from ...tirx.expr import IntImm

    made = IntImm("int64", 1)
    for extent in extents:
        made = made * extent
    return made


def _may_be_overwritten(value, at, ranges, aliases):
    """True if nothing needs the memory of a value behind a binding."""
    if isinstance(value, Tuple):
        return all(_may_be_overwritten(field, at, ranges, aliases) for field in value.fields)
    if not isinstance(value, Var):
        return True
    own = aliases.of.get(value)
    if ranges.get(value, (0, at))[1] > at or own is None or _UNKNOWN in own:
        return False
    checked = aliases.reached(own)
    if _UNKNOWN in checked:
        return False
    live = (var for var, (first, last) in ranges.items() if first <= at < last and var is not value)
    return not any(checked & aliases.of.get(var, set()) for var in live)


def _is_apart(call, index, aliases):
    """True if no other argument of a call may be the memory of one."""
    arg = call.args[index]
    own = aliases.of.get(arg, {_UNKNOWN}) if isinstance(arg, Var) else {_UNKNOWN}
    if _UNKNOWN in own:
        return False
    others = [other for place, other in enumerate(call.args) if place != index and other is not arg]
    return not any(own & aliases.of.get(other, set()) for other in others if isinstance(other, Var))


def opportunities(block, inputs):
    """Bindings with the arguments that they may write over, by number: with enough memory, and with just the same shape."""
    ranges, aliases, analyzer = liveness(block), Aliases(block, inputs), Analyzer()
    enough, exact = [], []
    for at, binding in enumerate(block.bindings):
        call = binding.value
        if not isinstance(call, Call) or not _is(call.op, _IN_PLACE):
            continue
        found = {}
        for index, arg in enumerate(call.args):
            fits = [_fits(target, arg.ty, analyzer) for target in _targets(binding.var.ty)]
            if not any(fit for fit, _ in fits):
                continue
            if _may_be_overwritten(arg, at, ranges, aliases) and _is_apart(call, index, aliases):
                found[index] = any(same for _, same in fits)
        for wanted, made in ((found, enough), ([index for index, same in found.items() if same], exact)):
            if wanted:
                made.append((at, set(wanted)))
    return enough, exact


def single_call(mod, call, indices):
    """A call that writes over arguments in the place of a call of an operator, and the module with its tensor program."""
    from .. import op
    from ..transform import LegalizeOps

    params = [Var(getattr(arg, "name", f"arg{at}"), arg.ty) for at, arg in enumerate(call.args)]
    copied = Call(call.op, params, call.attrs, call.ty_args)
    lowered = LegalizeOps()(IRModule({"main": Function(params, SeqExpr([], copied))}))
    made = next(binding.value for block in lowered["main"].body.blocks for binding in block.bindings)
    program = lowered[made.args[0].name_hint]
    given = {id(param): arg for param, arg in zip(lowered["main"].params, call.args)}
    operands = [given.get(id(operand), operand) for operand in made.args[1].fields]
    new = mod.clone()
    for name, func in ((made.args[0].name_hint, program), (f"{made.args[0].name_hint}_inplace", _over(program, indices))):
        var = GlobalVar(_free_name(new, name))
        new[var] = func
    tir_vars = made.args[2] if len(made.args) > 2 else None
    return op.call_tir_inplace(new.get_global_var(var.name_hint), operands, list(indices), list(made.ty_args), tir_vars), new


def _free_name(mod, name):
    used, count, free = {var.name_hint for var in mod.functions}, 0, name
    while free in used:
        count += 1
        free = f"{name}{count}"
    return free


def _over(program, indices):
    """A tensor program whose last parameters are the ones of some numbers."""
    from ...tirx.functor import map_buffers

    params = list(program.params)
    kept, results = params[: len(params) - len(indices)], params[len(params) - len(indices) :]
    places = {id(result): params[index] for result, index in zip(results, indices)}
    return program._copy(_params=kept, body=map_buffers(program.body, lambda buffer: places.get(id(buffer))))


class InplaceOpportunity(Object):
    """A binding by its number, and the numbers of the arguments that it may write over."""

    def __init__(self, *args):
        raise NotImplementedError("Constructor for InplaceOpportunity not exposed!")
