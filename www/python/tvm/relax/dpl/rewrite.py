"""Rewriting by patterns."""

import inspect

from ... import _engine
from ..._codes import Dpl
from ..._node import EXPR, get, number, numbers
from ..._values import Map
from ...error import InternalError
from ...ir.expr import Expr
from ...ir.module import IRModule
from ...ir.supply import UniqueNameSupply
from ...ir.transform import ModulePass, PassInfo
from ..expr import Function
from .context import PatternContext  # noqa: F401
from .pattern import AndPattern, DFPattern, OrPattern, Sent, TuplePattern  # noqa: F401

_NO_MODULE = [1, 0, 0, 0, 0]


def rewrite_call(pattern, rewriter, func):
    """A function in which what looks like a pattern is replaced by what `rewriter(expr, matches)` gives."""
    return PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)


def rewrite_bindings(ctx, rewriter, func):
    """A function in which variables that the patterns of a context stand for are replaced."""
    sent = ctx._sent()

    def ask(index, words):
        end = 1 + words[0]
        nodes = [get(EXPR, word) for word in words[end:]]
        bindings = Map(zip(nodes[::2], nodes[1::2]))
        made = rewriter(sent.matched(words[1:end]), bindings) or {}
        return _engine.words(numbers(EXPR, [part for pair in made.items() for part in pair]))

    made = sent.do(Dpl.REWRITE_BINDINGS, [*sent.context(ctx), 0, number(EXPR, func), *_NO_MODULE], ask)
    return get(EXPR, made[0])


class PatternMatchingRewriter(ModulePass):
    """Replaces what looks like a pattern. It is a pass, and works on functions too."""

    _kind = "module"

    def __init__(self):
        raise TypeError("a rewriter is made of a pattern, of a module or of other rewriters")

    @staticmethod
    def from_pattern(pattern, func):
        """Of a pattern and a function `(expr, matches)`."""
        return of_pattern(pattern, func)

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
            return _Rewriting(self._rules()).of_module(obj)
        if not isinstance(obj, Expr):
            raise TypeError(f"a rewriter is applied to a function or module, not to {type(obj).__name__}")
        return _Rewriting(self._rules()).of_expr(obj)

    def _rules(self):
        """The rules that are tried one after the other: what each replaced, the others do not see."""
        return [self]

    def _index(self):
        from ...ir import transform

        if "_number" not in self.__dict__:
            self._number = len(transform._user_passes)
            transform._user_passes.append(self)
        return self._number

    def _apply(self, mod):
        return self(mod)


class _Rule(PatternMatchingRewriter):
    """A rewriter that is made of no others."""

    def __init__(self, func, around=(), module=None):
        self.func = func
        self._around = around
        self._module = module
        """The rule as a script, where it came from one: its further functions are those that it adds."""

    new_subroutines = property(lambda self: self._module.subroutines if self._module else {})


class ExprPatternRewriter(_Rule):
    """Replaces what looks like one pattern by what `func(expr, matches)` gives."""

    def __init__(self, pattern, func, _around=(), _module=None):
        super().__init__(func, _around, _module)
        self.pattern = pattern

    def _sent(self):
        # Alternatives and tuples at the top have a meaning of their own for the engine.
        pattern = self.pattern
        return AndPattern(pattern, pattern) if isinstance(pattern, (OrPattern, TuplePattern)) else pattern

    def _new(self, expr, matched):
        for pattern in self._around:
            matched[pattern] = expr
        return self.func(expr, matched)


class TupleRewriter(_Rule):
    """Replaces several values, which no tuple of the program holds, by the fields of what `func(tuple, matches)` gives."""

    def __init__(self, patterns, func, _around=(), _module=None):
        super().__init__(func, _around, _module)
        self.patterns = list(patterns)
        self._whole = TuplePattern(self.patterns)

    def _sent(self):
        if len(self.patterns) > 3:
            raise InternalError("For performance reasons, matching of implicit tuple patterns is currently limited to tuples with 3 elements or fewer.")
        return self._whole

    def _new(self, expr, matched):
        # A tuple that the program makes is the other rule's.
        return None if self._whole in matched else self.func(expr, matched)


class OrRewriter(PatternMatchingRewriter):
    """Does what two others do; the second one sees what the first one left."""

    def __init__(self, lhs, rhs):
        self.lhs, self.rhs = lhs, rhs

    def _rules(self):
        return [*self.lhs._rules(), *self.rhs._rules()]


def of_pattern(pattern, func, around=(), module=None):
    """The rewriter of a pattern: alternatives are rules of their own, and a tuple is also found where the program makes none."""
    if isinstance(pattern, OrPattern):
        around = (*around, pattern)
        return OrRewriter(of_pattern(pattern.left, func, around, module), of_pattern(pattern.right, func, around, module))
    rule = ExprPatternRewriter(pattern, func, around, module)
    if isinstance(pattern, TuplePattern):
        return OrRewriter(rule, TupleRewriter(pattern.fields, func, (*around, pattern), module))
    return rule


class _Rewriting:
    """One application of rules. Functions that they add get names that are new among all of them."""

    def __init__(self, rules):
        self.added = {}
        """Functions that rules add, by the name that they have meanwhile: the rule's name for it, and the function."""
        modules = {}
        self.rules = [self._renamed(rule, modules) for rule in rules]
        self.used = []

    def _renamed(self, rule, modules):
        script = rule._module
        if script is None:
            return rule
        if id(script) not in modules:
            taken = {name: f"{name}.{len(modules)}" for name in script.subroutines if name in self.added}
            script_now = script.renamed(taken) if taken else script
            modules[id(script)] = script_now
            original = {new: old for old, new in taken.items()}
            for name, func in script_now.subroutines.items():
                self.added[name] = (original.get(name, name), func)
        return modules[id(script)].rule_like(rule)

    def _run(self, func, words):
        patterns = [rule._sent() for rule in self.rules]
        hidden = [sent for rule, sent in zip(self.rules, patterns) if sent is not getattr(rule, "pattern", sent)]
        root = patterns.pop()
        while patterns:
            root = OrPattern(patterns.pop(), root)
            hidden.append(root)
        sent = Sent([root])

        def ask(index, words):
            expr, rule = get(EXPR, words[0]), self.rules[index]
            matched = sent.matched(words[1:])
            for pattern in hidden:
                matched.pop(pattern, None)
            new = rule._new(expr, matched)
            if new is None or new is expr:
                return _engine.words([words[0]])
            if rule not in self.used:
                self.used.append(rule)
            return _engine.words([number(EXPR, new)])

        made = sent.do(Dpl.REWRITE_CALL, [0, 0, sent.at(root), number(EXPR, func), *words], ask)
        return get(EXPR, made[0])

    def of_expr(self, func):
        """The function, rewritten by itself."""
        made = self._run(func, self._known(IRModule())._words() if self.added else _NO_MODULE)
        if any(rule.new_subroutines for rule in self.used):
            names = sorted(name for rule in self.used for name in rule.new_subroutines)
            raise InternalError(
                "If PatternMatchingRewriter provides subroutines, then it must be applied to an entire IRModule.  However, "
                f"PatternMatchingRewriter produced subroutines {names} when applied to Relax expression of type relax.expr.Function"
            )
        return made

    def of_module(self, mod):
        """The module with its functions of Relax rewritten."""
        words = self._known(mod)._words()
        made = mod.clone()
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                new = self._run(func, words)
                if new is not func:
                    made[var] = new
        return self._with_subroutines(made)

    def _known(self, mod):
        known = mod.clone()
        for name, (_, func) in self.added.items():
            if name not in known:
                known[name] = func
        return known

    def _with_subroutines(self, mod):
        supply, names = UniqueNameSupply(), {}
        before = {var.name_hint for var in mod.get_global_vars()}
        for rule in self.rules:
            if rule not in self.used:
                continue
            for name in rule.new_subroutines:
                if name in names:
                    continue
                original, func = self.added[name]
                if original in before:
                    raise InternalError(f"Duplicate global function name {original}")
                names[name] = supply.fresh_name(original, False)
                mod[name] = func
        changed = {name: new for name, new in names.items() if name != new}
        return mod.replace_global_vars(changed) if changed else mod


def of_class(cls):
    """The rewriter that a class with `pattern` and `replacement` is."""
    from ...script.parser import _source, closure_names, names_around, read

    if isinstance(cls, IRModule):
        return PatternMatchingRewriter.from_module(cls)
    text, origin = _source(cls)
    names = names_around(2)
    for value in vars(cls).values():
        if inspect.isfunction(value):
            names.update(closure_names(value))
    text = text[text.index("class ") :]
    mod = read("@I.ir_module\n" + text, names, origin)
    return PatternMatchingRewriter.from_module(mod)
