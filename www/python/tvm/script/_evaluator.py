"""Expressions of Python that are evaluated while a program is read."""

import ast


class ExprEvaluator:
    """Evaluates the expressions of a tree."""

    def __init__(self, parser, value_table):
        self.parser, self.value_table = parser, value_table

    @staticmethod
    def eval(parser, value_table, node):
        """The value of an expression over names and their values."""
        names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)}
        builtins = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
        for name in sorted(names):
            if name not in value_table and name not in builtins:
                raise ValueError(f"Undefined variable: {name}")
        return eval(compile(ast.Expression(node), "<str>", "eval"), dict(value_table))


def eval_expr(parser, node, dict_globals):
    """The value of an expression over names and their values."""
    return ExprEvaluator.eval(parser, dict_globals or {}, node)


def eval_assign(parser, target, source):
    """The names that an assignment gives values."""
    if isinstance(target, ast.Name):
        return {target.id: source}
    if isinstance(target, ast.Starred):
        return eval_assign(parser, target.value, source)
    stars = [at for at, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    values = list(source)
    if stars:
        at, rest = stars[0], len(target.elts) - stars[0] - 1
        values = [*values[:at], values[at : len(values) - rest], *values[len(values) - rest :]]
    if len(values) != len(target.elts):
        raise ValueError("as many names as values are needed")
    made = {}
    for item, value in zip(target.elts, values):
        made |= eval_assign(parser, item, value)
    return made
