"""Questions about programs of Relay."""

from collections import Counter
from enum import IntEnum

from ..._values import Array, Map
from ...error import DiagnosticError, TVMError
from ...ir.expr import GlobalVar
from ...ir.module import IRModule
from ...ir.op import Op
from .. import _walk
from ..adt import (
    Constructor,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from ..expr import (
    Call,
    Constant,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from ..ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
)
from ..type_functor import _parts
from ._scope import check_basic_block_normal_form  # noqa: F401


def _plain(expr):
    return expr.astuple() if isinstance(expr, TupleWrapper) else expr


def post_order_visit(expr, fvisit):
    """Calls a function for every node, parts first."""
    for node in _walk.post_order(_plain(expr)):
        fvisit(node)


def _weights_of(expr, name):
    """Names of the variables that are the second argument of calls of an operator."""
    return [node.args[1].name_hint for node in _calls(expr, name) if isinstance(node.args[1], Var)]


def _calls(expr, name):
    """The calls of an operator, users before what they use, as TVM meets them."""
    found = [node for node in _walk.post_order(expr) if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == name]
    return found[::-1]


def search_fc_transpose(expr):
    """Names of the weights of dense layers that are transposed in the function."""
    weights = [call.args[1] for call in _calls(expr, "nn.dense")]
    turned = [weight for weight in weights if isinstance(weight, Call) and getattr(weight.op, "name", "") == "transpose"]
    return [weight.args[0].name_hint for weight in turned if isinstance(weight.args[0], Var)]


def _variables(expr):
    """All variables in the order of their first mention, and those that are bound somewhere (TVM's `VarVisitor`)."""
    every, bound, seen = {}, {}, set()
    stack = [("visit", _plain(expr))]
    while stack:
        what, node = stack.pop()
        if what == "bind":
            for var in node:
                every[var] = bound[var] = None
        elif isinstance(node, Var):
            every[node] = None
        elif id(node) not in seen:
            seen.add(id(node))
            match node:
                case Function():
                    stack += [("visit", node.body), ("bind", node.params)]
                case Let():
                    stack += [("visit", node.body), ("visit", node.value), ("bind", [node.var])]
                case Match():
                    for clause in reversed(node.clauses):
                        inside = [part.var for part in _walk.patterns_of(clause.lhs) if isinstance(part, PatternVar)]
                        stack += [("visit", clause.rhs), ("bind", inside)]
                    stack.append(("visit", node.data))
                case _:
                    stack += [("visit", part) for part in reversed(_walk.children(node))]
    return every, bound


def free_vars(expr):
    """Variables that are used and bound nowhere, in the order of their first use."""
    every, bound = _variables(expr)
    return Array(var for var in every if var not in bound)


def bound_vars(expr):
    """Variables that an expression, or a pattern of a match, binds."""
    if isinstance(expr, (PatternWildcard, PatternVar, PatternConstructor, PatternTuple)):
        return Array(part.var for part in _walk.patterns_of(expr) if isinstance(part, PatternVar))
    return Array(_variables(expr)[1])


def all_vars(expr):
    """All variables."""
    return Array(_variables(expr)[0])


def _scoped(expr):
    """All nodes, those that bind variables before their parts."""
    order, seen, stack = [], set(), [expr]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        order.append(node)
        stack.extend(reversed(_walk.children(node)))
    return order


def _types_in(thing):
    """All types that are written in an expression, each with what binds type variables before its parts."""
    if not hasattr(thing, "_row_t"):
        for node in _scoped(_plain(thing)):
            match node:
                case Var():
                    yield from () if node.type_annotation is None else _types_of(node.type_annotation)
                case Function():
                    yield ("bind", node.type_params)
                    yield from () if node.ret_type is None else _types_of(node.ret_type)
                case Call():
                    for ty in node.type_args:
                        yield from _types_of(ty)
                case Constructor():
                    for ty in node.inputs:
                        yield from _types_of(ty)
    else:
        yield from _types_of(thing)


def _types_of(ty):
    match ty:
        case FuncType():
            yield ("bind", ty.type_params)
        case TypeData():
            yield ("bind", ty.type_vars)
        case TypeVar():
            yield ("use", [ty])
    for part in _parts(ty):
        if not (isinstance(ty, (FuncType, TypeData)) and isinstance(part, TypeVar) and part in (getattr(ty, "type_params", None) or getattr(ty, "type_vars", ()))):
            yield from _types_of(part)
        elif not isinstance(ty, TypeData):
            yield ("use", [part])


def _type_vars(thing, which):
    bound, used = {}, {}
    for what, found in _types_in(thing):
        for var in found:
            (bound if what == "bind" else used)[var] = None
    if which == "bound":
        return Array(bound)
    if which == "free":
        return Array(var for var in used if var not in bound)
    return Array({**bound, **used})


def free_type_vars(expr, mod=None):
    """Type variables that are used and not bound."""
    return _type_vars(expr, "free")


def bound_type_vars(expr, mod=None):
    """Type variables that are bound."""
    return _type_vars(expr, "bound")


def all_type_vars(expr, mod=None):
    """All type variables."""
    return _type_vars(expr, "all")


def well_formed(expr):
    """True if no variable is bound twice and none is used outside of its scope."""
    seen = set()
    nodes = _plain(expr)
    if isinstance(nodes, IRModule):
        return all(well_formed(func) for func in nodes.functions.values())
    for node in _walk.post_order(nodes):
        for var in _walk.binders(node):
            if var in seen:
                return False
            seen.add(var)
    return not any(var in seen for var in free_vars(nodes))


def check_constant(expr):
    """True if an expression is a constant, or a call or tuple of those alone."""
    leaves = (Constant, Op, Call, Tuple, TupleGetItem)
    return all(isinstance(node, leaves) for node in _walk.post_order(_plain(expr)))


def check_kind(t, mod=None):
    """The kind of a type; `DiagnosticError` where a part has a kind that it cannot have there."""

    def shown(ty):
        try:
            return str(ty)
        except TypeError:
            return type(ty).__name__

    def need(part, kind, what):
        found = check_kind(part, mod)
        if found != kind:
            raise DiagnosticError(f"Incorrect kind for a {what}. Type {shown(part)} inside {shown(t)} is of kind {found} but was expected to be {kind}")

    match t:
        case IncompleteType() | TypeVar() | GlobalTypeVar():
            return t.kind
        case TensorType():
            return TypeKind.Type
        case TupleType():
            for field in t.fields:
                need(field, TypeKind.Type, "tuple member")
            return TypeKind.Type
        case FuncType():
            for arg in t.arg_types:
                need(arg, TypeKind.Type, "function type parameter")
            need(t.ret_type, TypeKind.Type, "function return type")
            for constraint in t.type_constraints:
                need(constraint, TypeKind.Constraint, "function type constraint")
            return TypeKind.Type
        case RefType():
            need(t.value, TypeKind.Type, "ref contents")
            return TypeKind.Type
        case TypeRelation():
            for arg in t.args:
                need(arg, TypeKind.Type, "argument to type relation")
            return TypeKind.Constraint
        case TypeCall():
            if not isinstance(t.func, GlobalTypeVar):
                raise DiagnosticError(f"The callee in {shown(t)} is not a global type var, but is {shown(t.func)}")
            need(t.func, TypeKind.AdtHandle, "type call function")
            for arg in t.args:
                need(arg, TypeKind.Type, "type call argument")
            data = mod.type_definitions.get(t.func) if mod is not None else None
            if data is None:
                raise DiagnosticError(f"the type variable : `{t.func.name_hint}` is undefined")
            if len(data.type_vars) != len(t.args):
                raise DiagnosticError(f"Expected {len(data.type_vars)} arguments for {shown(t)}; got {len(t.args)}")
            return TypeKind.Type
        case TypeData():
            need(t.header, TypeKind.AdtHandle, "type data header")
            for var in t.type_vars:
                need(var, TypeKind.Type, "ADT type var")
            for constructor in t.constructors:
                if constructor.belong_to is not t.header:
                    raise DiagnosticError(f"{constructor.name_hint} has header {constructor.belong_to} but {t.header} is defined")
                for ty in constructor.inputs:
                    need(ty, TypeKind.Type, "ADT constructor input")
            return TypeKind.TypeData
    raise TVMError(f"{type(t).__name__} has no kind")


def all_dtypes(expr):
    """Element types of all tensors in an expression with types."""
    found = set()
    for node in _walk.post_order(_plain(expr)):
        ty = node.__dict__.get("_ty") or getattr(node, "ty", None)
        stack = [ty] if ty is not None else []
        while stack:
            ty = stack.pop()
            if isinstance(ty, TensorType):
                found.add(str(ty.dtype))
            stack.extend(_parts(ty))
    return found


class Feature(IntEnum):
    """A feature that a program uses."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


_FEATURES = (
    (Var, Feature.fVar),
    (GlobalVar, Feature.fGlobalVar),
    (Constant, Feature.fConstant),
    (Tuple, Feature.fTuple),
    (TupleGetItem, Feature.fTupleGetItem),
    (Function, Feature.fFunction),
    (Op, Feature.fOp),
    (Call, Feature.fCall),
    (Let, Feature.fLet),
    (If, Feature.fIf),
    (RefCreate, Feature.fRefCreate),
    (RefRead, Feature.fRefRead),
    (RefWrite, Feature.fRefWrite),
    (Constructor, Feature.fConstructor),
    (Match, Feature.fMatch),
)


def detect_feature(a, b=None):
    """The kinds of nodes in an expression or module; whether nodes are shared, and whether functions call themselves."""
    if isinstance(a, IRModule):
        a, b = b, a
    found = set()
    for expr in [a] if a is not None else list(b.functions.values()):
        uses = Counter()
        for node in _walk.post_order(_plain(expr)):
            found.update(feature for cls, feature in _FEATURES if isinstance(node, cls))
            for part in _walk.children(node):
                if not isinstance(part, (Var, Op, GlobalVar, Constructor)):
                    uses[id(part)] += 1
            if isinstance(node, Let) and node.var in free_vars(node.value):
                found.add(Feature.fLetRec)
        if any(count > 1 for count in uses.values()):
            found.add(Feature.fGraph)
    return found


def list_op_freqs(mod):
    """Counts the calls of each operator."""
    found = Counter()
    for func in mod.functions.values():
        for node in _walk.post_order(func):
            if isinstance(node, Call) and isinstance(node.op, Op):
                found[node.op.name] += 1
    return Map(found)


def list_fake_quantized_op_freqs(mod):
    """Counts the calls of each operator between a dequantize and a quantize, in regions that are data flow only."""
    from ..transform import InferType

    found = Counter()
    for node in _walk.post_order(InferType()(mod)["main"]):
        if _calls_op(node, "qnn.quantize"):
            found.update(_between(node))
    return Map(found)


def _calls_op(node, name):
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == name


def _between(quantize):
    """The operators that lead to a quantize; none if anything but calls, tuples and constants does."""
    names, seen, stack = [], set(), [quantize.args[0]]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if _calls_op(node, "qnn.dequantize"):
            continue
        if not isinstance(node, (Call, Op, Tuple, TupleGetItem, Constant)) or isinstance(node, Call) and not isinstance(node.op, Op):
            return []
        if _calls_op(node, "qnn.quantize"):
            stack.append(node.args[0])
            continue
        if isinstance(node, Call):
            names.append(node.op.name)
        stack += _walk.children(node)
    return names


def get_total_mac_number(expr):
    """Multiplications with additions of the convolutions, dense layers and products of batches of a function with types."""
    return sum(_macs(node) for node in _walk.post_order(_plain(expr)) if isinstance(node, Call) and isinstance(node.op, Op))


def _macs(call):
    name = call.op.name
    if name not in ("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul"):
        return 0
    data, weight = ([int(extent) for extent in arg.ty.shape] for arg in call.args)
    if name == "nn.dense":
        if len(data) != 2 or len(weight) != 2:
            raise TVMError("The dimension of an input tensor to Dense node should be 2.")
        return data[0] * data[1] * weight[0]
    if name == "nn.batch_matmul":
        return data[0] * data[1] * data[2] * weight[1]
    axes = [char for char in str(call.attrs.data_layout) if char.isalpha()]
    channels = _product(data[at] for at, axis in enumerate(axes) if axis in "Cc")
    if call.attrs.kernel_size is None or len(call.attrs.kernel_size) != 2:
        raise TVMError("The dimension of the kernel in Conv 2D should be 2.")
    return _product(call.ty.shape) * _product(call.attrs.kernel_size) * (channels // int(call.attrs.groups))


def _product(extents):
    result = 1
    for extent in extents:
        result *= int(extent)
    return result


def count_layers(expr, valid_ops):
    """The longest chain of calls of some operators."""
    depth = {}
    for node in _walk.post_order(_plain(expr)):
        below = max((depth[id(part)] for part in _walk.children(node)), default=0)
        own = isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in valid_ops
        depth[id(node)] = below + own
    return depth[id(_plain(expr))]


def unmatched_cases(match, mod=None):
    """Patterns that no arm of a match fits."""

    def definition(constructor):
        data = mod.type_definitions.get(constructor.belong_to) if mod is not None else None
        if data is None:
            raise TVMError(f"There is no definition of {constructor.belong_to.name_hint}")
        return data.constructors

    def expand(candidate, pattern):
        """None: it fits; an empty list: it never fits; else finer candidates of which some may fit."""
        match pattern:
            case PatternConstructor():
                if isinstance(candidate, PatternWildcard):
                    return [PatternConstructor(each, [PatternWildcard()] * len(each.inputs)) for each in definition(pattern.constructor)]
                if candidate.constructor != pattern.constructor:
                    return []
            case PatternTuple():
                if isinstance(candidate, PatternWildcard):
                    return [PatternTuple([PatternWildcard()] * len(pattern.patterns))]
            case _:
                return None
        for at, (part, wanted) in enumerate(zip(candidate.patterns, pattern.patterns)):
            finer = expand(part, wanted)
            if finer is None:
                continue
            made = []
            for one in finer:
                parts = [*candidate.patterns[:at], one, *candidate.patterns[at + 1 :]]
                made.append(PatternTuple(parts) if isinstance(candidate, PatternTuple) else PatternConstructor(candidate.constructor, parts))
            return made
        return None

    found, stack = [], [PatternWildcard()]
    while stack:
        candidate = stack.pop()
        for clause in match.clauses:
            finer = expand(candidate, clause.lhs)
            if finer is None:
                break
            if finer:
                stack.extend(finer)
                break
        else:
            found.append(candidate)
    return Array(found)


def extract_fused_functions(mod):
    """The functions that `FuseOps` makes of a module, by their numbers."""
    from .. import transform

    mod = transform.FuseOps(4)(transform.InferType()(mod))
    made = IRModule({})
    made._relay = True
    for node in _walk.post_order(mod["main"]):
        if isinstance(node, Function) and node.attrs.get("Primitive"):
            made[f"fused_{len(made)}"] = node
    return made


def get_calibration_data(mod, data):
    """The inputs and outputs of each function of a partitioned module, for given inputs."""
    from ..build_module import create_executor
    from ..expr_functor import ExprMutator

    compiled = {var: func for var, func in mod.functions.items() if func.attrs.get("Compiler")}
    outputs, places = [], {}

    class Collect(ExprMutator):
        """Collects operands and results of calls of such functions."""

        def visit_call(self, call):
            new = super().visit_call(call)
            if call.op in compiled:
                places[call.op] = (len(outputs), len(new.args))
                outputs.extend([*new.args, new])
            return new

    plain = IRModule({var: func.without_attr("Compiler") for var, func in mod.functions.items()}, mod.type_definitions)
    main = plain["main"]
    Collect().visit(main.body)
    plain["main"] = Function(main.params, Tuple(outputs))
    values = create_executor("graph", mod=plain).evaluate()(**data)
    data = {}
    for var, (at, count) in places.items():
        result = values[at + count]
        fields = list(result) if isinstance(result, (list, tuple)) else [result]
        data[var] = {"inputs": [values[at + i] for i in range(count)], "outputs": fields}
    return data


def extract_intermdeiate_expr(mod, expr_id):
    """The module whose result is the call, tuple or field of a number in post-order."""
    from ..expr import module_from_expr

    nodes = [node for node in _walk.post_order(mod["main"].body) if isinstance(node, (Call, Tuple, TupleGetItem))]
    if not 0 <= expr_id < len(nodes):
        raise TVMError(f"Check failed: (target_expr_id_ >= 0 && target_expr_id_ < counter_) is false: {expr_id}")
    return module_from_expr(nodes[expr_id])


from . import _solver, annotated_regions, call_graph, sparse_conv2d, sparse_dense  # noqa: E402, F401
from .annotated_regions import AnnotatedRegionSet  # noqa: E402, F401
from .call_graph import CallGraph  # noqa: E402, F401
