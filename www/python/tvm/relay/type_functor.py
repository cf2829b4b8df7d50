"""Functions over types: a method for each kind."""

from .adt import TypeData
from .ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
)

_METHODS = (
    (TypeVar, "visit_type_var"),
    (IncompleteType, "visit_incomplete_type"),
    (TensorType, "visit_tensor_type"),
    (FuncType, "visit_func_type"),
    (TupleType, "visit_tuple_type"),
    (TypeRelation, "visit_type_relation"),
    (RefType, "visit_ref_type"),
    (GlobalTypeVar, "visit_global_type_var"),
    (TypeCall, "visit_type_call"),
    (TypeData, "visit_type_data"),
)


class TypeFunctor:
    """A function of types."""

    def __init__(self):
        self.memo_map = {}

    def visit(self, typ):
        """The result for a type."""
        for cls, method in _METHODS:
            if isinstance(typ, cls):
                return getattr(self, method)(typ)
        raise Exception(f"unhandled case: {type(typ)}")


def _missing(method):
    def visit(self, typ):
        raise NotImplementedError()

    visit.__name__ = method
    visit.__doc__ = "To be written by a class of the user's."
    return visit


for _cls, _method in _METHODS:
    setattr(TypeFunctor, _method, _missing(_method))


def _parts(typ):
    """The types that a type is made of, by field."""
    match typ:
        case FuncType():
            return [*typ.arg_types, typ.ret_type, *typ.type_params, *typ.type_constraints]
        case TupleType():
            return list(typ.fields)
        case TypeRelation():
            return list(typ.args)
        case RefType():
            return [typ.value]
        case TypeCall():
            return [typ.func, *typ.args]
        case TypeData():
            inputs = [part for constructor in typ.constructors for part in constructor.inputs]
            return [typ.header, *typ.type_vars, *inputs]
    return []


class TypeVisitor(TypeFunctor):
    """Visits every type; nothing is returned."""

    def _all(self, typ):
        for part in _parts(typ):
            self.visit(part)


class TypeMutator(TypeFunctor):
    """Makes a type of each."""

    def _same(self, typ):
        return typ

    def visit_func_type(self, ft):
        lists = [[self.visit(part) for part in group] for group in (ft.arg_types, ft.type_params, ft.type_constraints)]
        return FuncType(lists[0], self.visit(ft.ret_type), lists[1], lists[2])

    def visit_tuple_type(self, tt):
        return TupleType([self.visit(field) for field in tt.fields])

    def visit_type_relation(self, tr):
        return TypeRelation(tr.func, [self.visit(arg) for arg in tr.args], tr.num_inputs, tr.attrs)

    def visit_ref_type(self, rt):
        return RefType(self.visit(rt.value))

    def visit_type_call(self, tc):
        return TypeCall(self.visit(tc.func), [self.visit(arg) for arg in tc.args])

    def visit_type_data(self, td):
        return td


for _cls, _method in _METHODS:
    setattr(TypeVisitor, _method, TypeVisitor._all)
    if _method not in TypeMutator.__dict__:
        setattr(TypeMutator, _method, TypeMutator._same)
