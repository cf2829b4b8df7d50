"""Builds expressions from the first statement on, as a program is written."""

from .expr import Expr, If, Let, Tuple, TupleWrapper, Var, as_expr


class WithScope:
    """A `with` over a part of the builder, and the function that runs at its end."""

    def __init__(self, enter_value, exit_cb):
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self):
        return self._enter_value

    def __exit__(self, ptype, value, trace):
        if value is not None:
            raise value
        self._exit_cb()


class ScopeBuilder:
    """Bindings, conditions and a result, which become one expression."""

    def __init__(self):
        self._bindings = [[]]
        self._ret_values = [None]

    def _enter(self):
        self._bindings.append([])
        self._ret_values.append(None)

    def _exit(self):
        bindings, value = self._bindings.pop(), self._ret_values.pop()
        return _wrapped(bindings, value), value

    def let(self, var, value):
        """Binds a value to a variable or a name; gives the variable."""
        if isinstance(var, (tuple, list)):
            if len(var) > 2:
                raise ValueError("Expect var to be Tuple(name, type)")
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        self._bindings[-1].append((var, as_expr(value)))
        return var

    def if_scope(self, cond):
        """The inside of the `with` is the first branch."""
        self._enter()

        def leave():
            branch, value = self._exit()
            if value is None:
                raise RuntimeError("result not returned in if scope")
            self._ret_values[-1] = If(cond, branch, branch)
            self._ret_values[-1].__dict__["_open"] = True

        return WithScope(None, leave)

    def else_scope(self):
        """The inside of the `with` is the second branch of the condition before."""
        before = self._ret_values[-1]
        if not isinstance(before, If) or not before.__dict__.pop("_open", False):
            raise RuntimeError("else_scope must follow if_scope")
        self._enter()

        def leave():
            branch, value = self._exit()
            if value is None:
                raise RuntimeError("result not returned in else scope")
            self._ret_values[-1] = If(before.cond, before.true_branch, branch)

        return WithScope(None, leave)

    def type_of(self, expr):
        """The type of an expression, if it is said."""
        if isinstance(expr, Var):
            return expr.type_annotation
        return expr.checked_type_

    def ret(self, value):
        """The result."""
        if self._ret_values[-1] is not None:
            raise RuntimeError("ret value is already set in this scope.")
        self._ret_values[-1] = as_expr(value)

    def get(self):
        """The expression."""
        if len(self._bindings) != 1:
            raise RuntimeError("can only call get at the outmost scope")
        if self._ret_values[-1] is None:
            raise RuntimeError("ret value is not set")
        return _wrapped(self._bindings[-1], self._ret_values[-1])


def _wrapped(bindings, value):
    for var, bound in reversed(bindings):
        value = Let(var, bound, value)
    return value


_ = (Expr, Tuple, TupleWrapper)
