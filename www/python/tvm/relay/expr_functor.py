"""Functions over expressions: a method for each kind of node."""

from ..ir.expr import GlobalVar
from ..ir.op import Op
from . import _walk
from .adt import Clause, Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from .expr import (
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

_METHODS = (
    (Function, "visit_function"),
    (Call, "visit_call"),
    (Let, "visit_let"),
    (Var, "visit_var"),
    (GlobalVar, "visit_global_var"),
    (If, "visit_if"),
    (Tuple, "visit_tuple"),
    (TupleGetItem, "visit_tuple_getitem"),
    (Constant, "visit_constant"),
    (Op, "visit_op"),
    (RefCreate, "visit_ref_create"),
    (RefRead, "visit_ref_read"),
    (RefWrite, "visit_ref_write"),
    (Constructor, "visit_constructor"),
    (Match, "visit_match"),
)


class ExprFunctor:
    """A function of expressions; each node is visited once."""

    def __init__(self):
        self.memo_map = {}

    def visit(self, expr):
        """The result for an expression, from memory if it was visited before."""
        if isinstance(expr, TupleWrapper):
            expr = expr.astuple()
        if expr in self.memo_map:
            return self.memo_map[expr]
        for cls, method in _METHODS:
            if isinstance(expr, cls):
                result = getattr(self, method)(expr)
                break
        else:
            raise Exception(f"warning unhandled case: {type(expr)}")
        self.memo_map[expr] = result
        return result


def _missing(method):
    def visit(self, node):
        raise NotImplementedError()

    visit.__name__ = method
    visit.__doc__ = "To be written by a class of the user's."
    return visit


for _cls, _method in _METHODS:
    setattr(ExprFunctor, _method, _missing(_method))


class ExprVisitor(ExprFunctor):
    """Visits every expression once; nothing is returned."""

    def visit_tuple(self, tup):
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call):
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var):
        pass

    def visit_let(self, let):
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_function(self, fn):
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i):
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv):
        pass

    def visit_constructor(self, c):
        pass

    def visit_op(self, op):
        pass

    def visit_constant(self, const):
        pass

    def visit_ref_create(self, r):
        self.visit(r.value)

    def visit_ref_read(self, r):
        self.visit(r.ref)

    def visit_ref_write(self, r):
        self.visit(r.ref)
        self.visit(r.value)

    def visit_tuple_getitem(self, t):
        self.visit(t.tuple_value)

    def visit_match(self, m):
        self.visit(m.data)
        for clause in m.clauses:
            self.visit(clause.rhs)


class ExprMutator(ExprFunctor):
    """Makes an expression of each; what does not change stays the same object."""

    def _parts(self, node):
        return _walk.rebuild(node, [self.visit(part) for part in _walk.children(node)])

    visit_function = visit_if = visit_tuple = visit_call = _parts
    visit_ref_create = visit_ref_read = visit_ref_write = _parts

    def visit_let(self, let):
        return self._parts(let)

    def visit_tuple_getitem(self, op):
        return self._parts(op)

    def visit_var(self, var):
        return var

    def visit_global_var(self, gvar):
        return gvar

    def visit_op(self, op):
        return op

    def visit_constant(self, const):
        return const

    def visit_constructor(self, con):
        return con

    def visit_match(self, m):
        data = self.visit(m.data)
        clauses = [Clause(self.visit_pattern(clause.lhs), self.visit(clause.rhs)) for clause in m.clauses]
        if data is m.data and all(a.lhs is b.lhs and a.rhs is b.rhs for a, b in zip(clauses, m.clauses)):
            return m
        made = Match(data, clauses, m.complete)
        made.__dict__["_from"] = m
        return made

    def visit_pattern(self, p):
        """The pattern of an arm, with the variables that the mutator makes of its own."""
        match p:
            case PatternVar():
                var = self.visit(p.var)
                return p if var is p.var else PatternVar(var)
            case PatternConstructor() | PatternTuple():
                parts = [self.visit_pattern(part) for part in p.patterns]
                if _walk.same(parts, p.patterns):
                    return p
                return PatternTuple(parts) if isinstance(p, PatternTuple) else PatternConstructor(p.constructor, parts)
        return p


class MixedModeMutator(ExprMutator):
    """Makes expressions, operands first and without recursion over calls and tuples: `rewrite_call(call, new_call)` and its
    like see a node and what became of it."""

    def visit(self, expr):
        """The expression that another one becomes."""
        if isinstance(expr, TupleWrapper):
            expr = expr.astuple()
        flat = (Call, Tuple, TupleGetItem)
        stack = [(expr, False)] if isinstance(expr, flat) and expr not in self.memo_map else []
        while stack:
            node, done = stack.pop()
            if node in self.memo_map:
                continue
            if done:
                self.memo_map[node] = getattr(self, self._names[type(node)])(node)
                continue
            stack.append((node, True))
            stack.extend(
                (part, False) for part in reversed(_walk.children(node)) if isinstance(part, flat) and part not in self.memo_map
            )
        return super().visit(expr)

    _names = {Call: "visit_call", Tuple: "visit_tuple", TupleGetItem: "visit_tuple_getitem"}

    def visit_call(self, call):
        return self.rewrite_call(call, self._parts(call))

    def visit_tuple(self, tup):
        return self.rewrite_tuple(tup, self._parts(tup))

    def visit_tuple_getitem(self, get):
        return self.rewrite_tuple_getitem(get, self._parts(get))

    def _keep(self, pre, post):
        return post

    rewrite_call = rewrite_tuple = rewrite_tuple_getitem = _keep


class _Substitute(ExprMutator):
    def __init__(self, binds):
        super().__init__()
        self.binds = binds

    def visit_var(self, var):
        return self.binds.get(var, var)

    def visit_function(self, fn):
        inner = {var: value for var, value in self.binds.items() if var not in fn.params}
        if len(inner) == len(self.binds):
            return _walk.rebuild(fn, [*fn.params, self.visit(fn.body)])
        return _walk.rebuild(fn, [*fn.params, _Substitute(inner).visit(fn.body)])


def substitute(expr, binds):
    """The expression with variables replaced; of a function, its parameters, which it then does not have any more."""
    if isinstance(expr, Function):
        body = _Substitute(binds).visit(expr.body)
        params = [var for var in expr.params if var not in binds]
        if body is expr.body and len(params) == len(expr.params):
            return expr
        from .analysis import free_vars

        new = [binds[var] for var in expr.params if var in binds]
        known = {*params}
        for value in new:
            for var in free_vars(value):
                if var not in known:
                    known.add(var)
                    params.append(var)
        return Function(params, body, expr.ret_type, expr.type_params, expr.attrs, expr.span)
    return _Substitute(binds).visit(expr)


_ = Pattern
