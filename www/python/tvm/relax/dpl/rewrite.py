"""Rewriting by patterns."""

from ... import _engine
from ..._codes import Dpl
from ..._node import EXPR, Object, get, number, numbers
from ..._values import Map
from ...ir.expr import Call, GlobalVar, Tuple, TupleGetItem, Var
from ...ir.module import IRModule
from ...ir.transform import ModulePass, PassInfo
from ..expr import Function, MatchCast
from .pattern import (
    CallPattern,
    DFPattern,
    ExprPattern,
    OrPattern,
    Sent,
    TupleGetItemPattern,
    TuplePattern,
    WildcardPattern,
)


def _words(mod=None):
    return (mod or IRModule())._words() if mod is not None else [1, 0, 0, 0, 0]


def rewrite_call(pattern, rewriter, func):
    """A function in which what looks like a pattern is replaced by what `rewriter(expr, matches)` gives."""
    sent = Sent([pattern])

    def ask(index, words):
        expr = get(EXPR, words[0])
        return _engine.words([number(EXPR, rewriter(expr, sent.matched(words[1:])))])

    made = sent.do(Dpl.REWRITE_CALL, [0, 0, sent.at(pattern), number(EXPR, func), *_words()], ask)
    return get(EXPR, made[0])


def rewrite_bindings(ctx, rewriter, func):
    """A function in which variables that the patterns of a context stand for are replaced."""
    sent = ctx._sent()

    def ask(index, words):
        end = 1 + words[0]
        nodes = [get(EXPR, word) for word in words[end:]]
        bindings = Map(zip(nodes[::2], nodes[1::2]))
        made = rewriter(sent.matched(words[1:end]), bindings) or {}
        return _engine.words(numbers(EXPR, [part for pair in made.items() for part in pair]))

    made = sent.do(Dpl.REWRITE_BINDINGS, [*sent.context(ctx), 0, number(EXPR, func), *_words()], ask)
    return get(EXPR, made[0])


class PatternMatchingRewriter(ModulePass):
    """Replaces what looks like a pattern. It is a pass, and works on functions too."""

    _kind = "module"

    def __init__(self, pattern=None, func=None, additional_bindings=None, new_subroutines=None):
        self.pattern = pattern
        self.func = func
        self.additional_bindings = additional_bindings
        self._subroutines = new_subroutines or {}
        self._parts = None

    @staticmethod
    def from_pattern(pattern, func):
        """Of a pattern and a function `(expr, matches)`."""
        return ExprPatternRewriter(pattern, func)

    @staticmethod
    def from_module(mod):
        """Of a module with the functions `pattern` and `replacement`."""
        from .script_rule import of_module

        return of_module(mod)

    info = property(lambda self: PassInfo(0, "PatternMatchingRewriter"))

    def __or__(self, other):
        return OrRewriter(self, other)

    def __call__(self, obj, *unused):
        if isinstance(obj, IRModule):
            made = obj.clone()
            for var, func in obj.functions.items():
                if isinstance(func, Function):
                    new = self._function(func)
                    if new is not func:
                        made[var] = new
                        for name, routine in self._all_subroutines().items():
                            if name in _called(new):
                                made[name] = routine
            return made
        return self._function(obj)

    def _all_subroutines(self):
        found = dict(self._subroutines)
        for part in self._parts or ():
            found.update(part._all_subroutines())
        return found

    def _function(self, func):
        parts = self._parts or [self]
        for _ in range(100):
            before = func
            for part in parts:
                func = rewrite_call(part.pattern, part.func, func)
            if func is before or len(parts) == 1:
                break
        return func

    def _index(self):
        from ...ir import transform

        if "_number" not in self.__dict__:
            self._number = len(transform._user_passes)
            transform._user_passes.append(self)
        return self._number

    def _apply(self, mod):
        return self(mod)


class ExprPatternRewriter(PatternMatchingRewriter):
    """Replaces what looks like one pattern by what `func(expr, matches)` gives."""

    def __init__(self, pattern, func):
        super().__init__(pattern, func)


class OrRewriter(PatternMatchingRewriter):
    """Does what two others do, as long as one of them finds something."""

    def __init__(self, lhs, rhs):
        super().__init__()
        self.lhs, self.rhs = lhs, rhs
        self._parts = [*(lhs._parts or [lhs]), *(rhs._parts or [rhs])]


class TupleRewriter(PatternMatchingRewriter):
    """Says that several values which no tuple holds are not found together."""

    def __init__(self, patterns, func):
        raise NotImplementedError("several values which no tuple holds are not found together here: a TuplePattern finds a tuple")


def _called(func):
    from ..analysis import all_global_vars

    return {var.name_hint for var in all_global_vars(func)}


def of_class(cls):
    """The rewriter that a class with `pattern` and `replacement` is."""
    from ...script.parser import _source, closure_names, names_around, read

    import inspect

    text, origin = _source(cls)
    names = names_around(2)
    for value in vars(cls).values():
        if inspect.isfunction(value):
            names.update(closure_names(value))
    text = text[text.index("class ") :]
    mod = read("@I.ir_module\n" + text, names, origin)
    return PatternMatchingRewriter.from_module(mod)


_ = (Object, Call, GlobalVar, Tuple, TupleGetItem, Var, MatchCast, CallPattern, DFPattern, ExprPattern, OrPattern,
     TupleGetItemPattern, TuplePattern, WildcardPattern)  # fmt: skip
