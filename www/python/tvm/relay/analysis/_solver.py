"""The solver of constraints between types as an object, by which TVM's developers look at it. Inference itself is the engine's."""

from ...error import DiagnosticError, InternalError, TVMError
from ...ir.base import structural_equal
from ...runtime.registry import register_func, register_global_func
from ...tirx.expr import IntImm
from ...tirx.expr import Var as PrimVar
from .. import ty as _ty
from ..type_functor import _parts


class _Node:
    """Facts about an occurrence of a type."""

    def __init__(self, resolved):
        self.resolved = resolved
        self.parent = None
        self.relations = {}

    def root(self):
        """The node that it was merged into."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node


class _Relation:
    """A relation, and whether it holds already."""

    def __init__(self, rel, nodes):
        self.rel, self.nodes = rel, nodes
        self.resolved = self.queued = False


class _Mismatch(Exception):
    """Two types are not the same."""


def _any_in(extent):
    return isinstance(extent, _ty.Any)


def _number(extent):
    return int(extent) if isinstance(extent, IntImm) else None


class Reporter:
    """Takes the findings of a relation."""

    def __init__(self, solver):
        self._solver = solver

    def assign(self, dst, src):
        """Two types are the same."""
        self._solver.unify(dst, src)

    def error(self, text):
        """A relation cannot hold."""
        self._solver.errors.append(text)


class Solver:
    """Equalities of types and relations between them."""

    def __init__(self):
        self.errors = []
        self._nodes, self._kept = {}, []
        self._relations, self._queue = [], []
        self._extents = {}

    def __call__(self, name):
        return {"Solve": self.solve, "Unify": self.unify_and_report, "Resolve": self.resolve, "AddConstraint": self.add}.get(name)

    def _node(self, ty):
        if id(ty) not in self._nodes:
            self._nodes[id(ty)] = _Node(ty)
            self._kept.append(ty)
        return self._nodes[id(ty)].root()

    def unify_and_report(self, lhs, rhs):
        """The type that both are; an error when they cannot be the same."""
        found = self.unify(lhs, rhs)
        if self.errors:
            raise DiagnosticError("\n".join(self.errors))
        return found

    def unify(self, lhs_type, rhs_type):
        """The type that both are; what does not fit is noted."""
        lhs, rhs = self._node(lhs_type), self._node(rhs_type)
        if lhs is rhs:
            return lhs.resolved
        for hole, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(hole.resolved, _ty.IncompleteType):
                if self._occurs(hole, other.resolved):
                    raise InternalError(f"Incomplete type {hole.resolved} occurs in {other.resolved}, cannot unify")
                self._merge(hole, other)
                return other.resolved
        try:
            resolved = self._unified(rhs.resolved, lhs.resolved)
        except _Mismatch:
            self.errors.append(f"The Relay type checker is unable to show the following types match.\nIn particular `{lhs.resolved}` does not match `{rhs.resolved}`")
            return lhs.resolved
        top = self._node(resolved)
        self._merge(lhs.root(), top)
        self._merge(rhs.root(), top)
        return resolved

    def _occurs(self, hole, ty):
        if isinstance(ty, _ty.IncompleteType):
            return self._node(ty) is hole.root()
        return any(self._occurs(hole, part) for part in _parts(ty))

    def _merge(self, src, dst):
        dst = dst.root()
        if src is dst:
            return
        for part in self._all_parts(src.resolved):
            node = self._node(part)
            if node is dst:
                continue
            for relation in list(node.relations.values()):
                if not relation.resolved:
                    self._enqueue(relation)
                    dst.relations[id(relation)] = relation
        src.parent = dst
        self._propagate(dst.resolved, list(dst.relations.values()))

    def _all_parts(self, ty):
        """The type with the parts through which relations are told of changes."""
        yield ty
        if isinstance(ty, (_ty.TupleType, _ty.FuncType, _ty.TypeCall)):
            for part in _parts(ty):
                yield from self._all_parts(part)

    def _propagate(self, ty, relations):
        for part in self._all_parts(ty):
            known = self._node(part).relations
            known.update((id(relation), relation) for relation in relations)

    def _unified(self, one, two):
        match one:
            case _ty.TensorType():
                return self._tensor(one, two)
            case _ty.TupleType():
                if not isinstance(two, _ty.TupleType) or len(one.fields) != len(two.fields):
                    raise _Mismatch
                return _ty.TupleType([self.unify(a, b) for a, b in zip(one.fields, two.fields)])
            case _ty.FuncType():
                return self._function(one, two)
            case _ty.RefType():
                if not isinstance(two, _ty.RefType):
                    raise _Mismatch
                return _ty.RefType(self.unify(one.value, two.value))
            case _ty.TypeCall():
                if not isinstance(two, _ty.TypeCall) or len(one.args) != len(two.args):
                    raise _Mismatch
                func = self.unify(one.func, two.func)
                return _ty.TypeCall(func, [self.unify(a, b) for a, b in zip(one.args, two.args)])
        if one is two or one == two and not isinstance(one, _ty.TypeVar):
            return one
        raise _Mismatch

    def _extent(self, extent):
        while id(extent) in self._extents:
            extent = self._extents[id(extent)]
        return extent

    def _dim(self, lhs, rhs):
        lhs, rhs = self._extent(lhs), self._extent(rhs)
        if lhs is rhs:
            return lhs
        if _any_in(lhs) or _any_in(rhs):
            return _ty.Any()
        for var, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(var, PrimVar) and _number(other) is not None:
                self._extents[id(var)] = other
                self._kept.append(var)
                return other
        if _number(lhs) is not None and _number(lhs) == _number(rhs):
            return lhs
        return None

    def _tensor(self, one, two):
        if not isinstance(two, _ty.TensorType):
            raise _Mismatch
        if structural_equal(one, two):
            return one
        if one.dtype != two.dtype:
            raise _Mismatch
        if len(one.shape) != len(two.shape):
            counts = f"tensor type `{one}` has {len(one.shape)} dimensions, while `{two}` has {len(two.shape)} dimensions"
            self.errors.append(counts)
            raise _Mismatch
        shape = [self._dim(a, b) for a, b in zip(one.shape, two.shape)]
        wrong = [at for at, extent in enumerate(shape) if extent is None]
        if wrong:
            places = [f"  dimension {at} conflicts: {one.shape[at]} does not match {two.shape[at]}." for at in wrong]
            head = f"The Relay type checker is unable to show the following types match:\n  {one}\n  {two}\nIn particular:\n"
            self.errors.append(head + "".join(places))
            raise _Mismatch
        return _ty.TensorType(shape, one.dtype)

    def _function(self, one, two):
        if not isinstance(two, _ty.FuncType) or len(one.arg_types) != len(two.arg_types):
            raise _Mismatch
        if len(one.type_constraints) != len(two.type_constraints):
            raise _Mismatch
        if len(one.type_params) < len(two.type_params):
            return self._function(two, one)
        given = dict(zip(one.type_params, two.type_params))
        for param in list(one.type_params)[len(two.type_params) :]:
            given[param] = _ty.IncompleteType()
        one = self._replaced(one, lambda ty: given.get(ty) if isinstance(ty, _ty.TypeVar) else None)
        ret_type = self.unify(one.ret_type, two.ret_type)
        arg_types = [self.unify(a, b) for a, b in zip(one.arg_types, two.arg_types)]
        constraints = [self.unify(a, b) for a, b in zip(one.type_constraints, two.type_constraints)]
        return _ty.FuncType(arg_types, ret_type, two.type_params, constraints)

    def _replaced(self, ty, replace):
        """A type with other parts; itself where none of them changes."""
        found = replace(ty)
        if found is not None:
            return found
        parts = _parts(ty)
        new = [self._replaced(part, replace) for part in parts]
        if all(a is b for a, b in zip(parts, new)):
            return ty
        match ty:
            case _ty.TupleType():
                return _ty.TupleType(new)
            case _ty.RefType():
                return _ty.RefType(new[0])
            case _ty.TypeCall():
                return _ty.TypeCall(new[0], new[1:])
            case _ty.TypeRelation():
                return _ty.TypeRelation(ty.func, new, ty.num_inputs, ty.attrs)
            case _ty.FuncType():
                count, params = len(ty.arg_types), len(ty.type_params)
                names = [part for part in new[count + 1 : count + 1 + params] if isinstance(part, _ty.TypeVar)]
                return _ty.FuncType(new[:count], new[count], names, new[count + 1 + params :])
        return ty

    def add(self, constraint):
        """Adds a relation."""
        if not isinstance(constraint, _ty.TypeRelation):
            raise TVMError(f"Do not know how to handle constraint type {type(constraint).__name__}")
        relation = _Relation(constraint, [self._node(arg) for arg in constraint.args])
        self._relations.append(relation)
        for node in relation.nodes:
            self._propagate(node.resolved, [relation])
        self._enqueue(relation)

    def _enqueue(self, relation):
        if not relation.queued:
            relation.queued = True
            self._queue.append(relation)

    def resolve(self, ty):
        """The type as far as it is known."""
        if id(ty) in self._nodes:
            ty = self._node(ty).resolved
        return self._replaced(ty, lambda part: self._node(part).resolved if isinstance(part, _ty.IncompleteType) else None)

    def solve(self):
        """Asks the relations until nothing changes: true if all of them hold."""
        while self._queue:
            relation = self._queue.pop(0)
            args = [self.resolve(node.root().resolved) for node in relation.nodes]
            func = getattr(relation.rel.func, "func", relation.rel.func)
            try:
                relation.resolved = bool(func(args, relation.rel.num_inputs, relation.rel.attrs, Reporter(self)))
            except ValueError as exc:
                self.errors.append(str(exc))
                relation.resolved = False
            relation.queued = False
        return all(relation.resolved for relation in self._relations)


def _broadcast(dtype):
    """The relation of operators on two tensors; the result has a type of its own, or that of the first."""

    def relate(types, num_inputs, attrs, reporter):
        one, two, out = types
        if not (isinstance(one, _ty.TensorType) and isinstance(two, _ty.TensorType)):
            return False
        if one.dtype != two.dtype:
            reporter.error(f"data types {one.dtype} and {two.dtype} do not match in BroadcastRel")
        reporter.assign(out, _ty.TensorType(_broadcast_shape(one, two), dtype or one.dtype))
        return True

    return relate


def _broadcast_shape(one, two):
    shape = []
    common = min(len(one.shape), len(two.shape))
    for a, b in zip(list(one.shape)[::-1], list(two.shape)[::-1]):
        if _number(a) == 1:
            shape.append(b)
        elif _number(b) == 1:
            shape.append(a)
        elif _any_in(a) or _any_in(b):
            shape.append(b if _any_in(a) else a)
        elif structural_equal(a, b):
            shape.append(a)
        else:
            raise ValueError(f"Incompatible broadcast type {one} and {two}")
    longer = one.shape if len(one.shape) > len(two.shape) else two.shape
    return [*list(longer)[: len(longer) - common], *shape[::-1]]


def _identity(types, num_inputs, attrs, reporter):
    for ty in types[1:]:
        reporter.assign(ty, types[0])
    return True


def _identity_comp(types, num_inputs, attrs, reporter):
    if not isinstance(types[0], _ty.TensorType):
        return False
    reporter.assign(types[1], _ty.TensorType(types[0].shape, "bool"))
    return True


register_func("relay.analysis._test_type_solver", Solver)
for _name, _rel in (
    ("Broadcast", _broadcast(None)),
    ("BroadcastComp", _broadcast("bool")),
    ("Identity", _identity),
    ("IdentityComp", _identity_comp),
):
    register_global_func(f"tvm.relay.type_relation.{_name}", _rel)
