"""The analyzer: facts about variables, and conclusions from them."""

import contextlib
import enum

from .. import _engine
from .._node import Object
from ..error import InternalError
from ..ir.expr import Range
from ._ask import Question, as_set, longs_of, prim_at, set_of
from .int_set import IntSet


class ProofStrength(enum.IntEnum):
    """The effort of a proof."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class CompareResult(enum.IntEnum):
    """The outcome of a comparison: a set of equal (1), less (2) and greater (4)."""

    INCONSISTENT, EQ, LT, LE, GT, GE, NE, UNKNOWN = range(8)


class Extension(enum.Flag):
    """The work that the simplifier does beyond its rules."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


class ModularSet(Object):
    """The numbers `coeff * k + base`."""

    def __init__(self, coeff, base):
        self.coeff, self.base = int(coeff), int(base)

    def __repr__(self):
        return f"sym.ModularSet(coeff={self.coeff}, base={self.base})"


class ConstIntBound(Object):
    """The least and the greatest value."""

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    def __init__(self, min_value, max_value):
        self.min_value, self.max_value = int(min_value), int(max_value)

    def __repr__(self):
        return f"sym.ConstIntBound(min_value={self.min_value}, max_value={self.max_value})"


class ConstraintScope:
    """A condition that holds as long as the `with` lasts."""

    def __init__(self, fenter):
        self._fenter = fenter
        self._fexit = None

    def __enter__(self):
        self._fexit = self._fenter()

    def __exit__(self, ptype, value, trace):
        self._fexit()


class Z3ContextScope:
    """Nothing: there is no solver besides the analyzer."""

    def __enter__(self):
        return self

    def __exit__(self, ptype, value, trace):
        pass


class Analyzer(Object):
    """Knows facts about variables; simplifies and proves with them."""

    is_z3_enabled = False

    def __init__(self):
        self._number = Question().ask("new")[0]

    def _no_solver(self, *args):
        raise RuntimeError("The Z3 backend is not available in this build.")

    get_smtlib2 = set_z3_timeout_ms = set_z3_rlimit = get_z3_stats = _no_solver

    def clone(self):
        """An analyzer with the same facts, which goes its own way."""
        made = Analyzer.__new__(Analyzer)
        made._number = Question().ask("clone", self)[0]
        return made

    def const_int_bound(self, expr):
        """The least and the greatest value of an expression."""
        return ConstIntBound(*longs_of(Question().prim(expr).ask("const_int_bound", self)))

    def const_int_bound_is_bound(self, var):
        """True if the bounds of a variable were given."""
        return Question().var(var).ask("is_bound", self)[0] != 0

    def modular_set(self, expr):
        """A divisor and the remainder that every value of an expression has."""
        return ModularSet(*longs_of(Question().prim(expr).ask("modular_set", self)))

    def simplify(self, expr, steps=2):
        """An expression in its simplest form, after so many rounds."""
        return prim_at(Question().prim(expr).number(steps).ask("simplify", self)[0])

    def rewrite_simplify(self, expr):
        """An expression after the rewriting rules."""
        return prim_at(Question().prim(expr).ask("rewrite_simplify", self)[0])

    def canonical_simplify(self, expr):
        """An expression with its sums in normal form."""
        return prim_at(Question().prim(expr).ask("canonical_simplify", self)[0])

    def int_set(self, expr, dom_map=None):
        """The values of an expression while variables run through sets; without these, through what they are bound to."""
        asked = Question().prim(expr)
        asked = asked.number(0) if dom_map is None else asked.number(1).domains(dom_map)
        return set_of(asked.ask("int_set", self))

    def can_prove(self, expr, strength=ProofStrength.DEFAULT):
        """True if a condition provably always holds."""
        return Question().prim(expr).number(strength).ask("can_prove", self)[0] != 0

    def can_prove_equal(self, lhs, rhs):
        """True if two expressions are provably always equal."""
        return Question().prim(lhs, rhs).ask("can_prove_equal", self)[0] != 0

    def can_prove_greater_equal(self, expr, lower_bound):
        """True if an expression is provably at least a number."""
        return self.const_int_bound(self.rewrite_simplify(expr)).min_value >= lower_bound

    def can_prove_less(self, expr, upper_bound):
        """True if an expression is provably less than a number."""
        return self.const_int_bound(self.rewrite_simplify(expr)).max_value < upper_bound

    def try_compare(self, lhs, rhs, propagate_inequalities=True):
        """The order of two expressions, as far as the stated facts say it."""
        return CompareResult(Question().prim(lhs, rhs).number(propagate_inequalities).ask("try_compare", self)[0])

    def set_maximum_rewrite_steps(self, maximum):
        """Nothing: the engine limits the steps of a question itself."""

    def bind(self, var, expr, allow_override=False):
        """Binds a variable to a value or to a range."""
        asked = Question().var(var)
        before = None if allow_override else self._bounds_of(var)
        if isinstance(expr, Range):
            differs = asked.prim(expr.min, expr.extent).ask("bind_range", self)[0]
        else:
            differs = asked.prim(expr).ask("bind", self)[0]
        if differs and not allow_override:
            raise _differs(var, "const bound", before, self._bounds_of(var))

    def _bounds_of(self, var):
        return self.const_int_bound(var) if self.const_int_bound_is_bound(var) else None

    def constraint_scope(self, constraint):
        """A condition that holds inside of a `with`."""

        def leave():
            Question().ask("exit", self)

        def enter():
            Question().prim(constraint).ask("enter", self)
            return leave

        return ConstraintScope(enter)

    def update(self, var, info, override=False):
        """Says what is known of a variable: bounds, a modular set, or a set of values."""
        asked = Question().var(var)
        if isinstance(info, ConstIntBound):
            known = None if override else self._bounds_of(var)
            if known is not None and (known.min_value, known.max_value) != (info.min_value, info.max_value):
                raise _differs(var, "const bound", known, info)
            asked.long(info.min_value).long(info.max_value).ask("assume_between", self)
        elif isinstance(info, ModularSet):
            known = self.modular_set(var)
            if not override and known.coeff != 1 and (known.coeff, known.base) != (info.coeff, info.base):
                raise _differs(var, "modular set", known, info)
            asked.long(info.coeff).long(info.base).ask("assume_modular", self)
        elif isinstance(info, IntSet):
            info = as_set(info)
            asked.prim(info.min_value, self.simplify(info.max_value - info.min_value + 1))
            asked.ask("assume_range", self)
        else:
            raise TypeError(f"Do not know how to handle type {type(info)}")

    @property
    def enabled_extensions(self):
        """The work that the simplifier does beyond its rules."""
        return Extension(Question().ask("extensions", self)[0])

    @enabled_extensions.setter
    def enabled_extensions(self, flags):
        Question().number(Extension(flags).value).ask("set_extensions", self)


def _differs(var, what, before, now):
    return InternalError(f"Check failed: (it->second == info) is false: Trying to update var '{var.name}' with a different {what}: original={before}, new={now}")


@contextlib.contextmanager
def allow_uint_as_index():
    """Numbers without sign count as indices; the engine's analyzer takes them as such where it can."""
    yield


_ = _engine
