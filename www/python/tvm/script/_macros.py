"""Functions of Python that are written out where a program uses them: `R.macro`, `T.inline`; and names of values, `I.meta_var`."""

import ast
import copy
import functools
import inspect
import textwrap

from ._folding import BUILT_IN


class Macro:
    """A function that is written out where it is called."""

    def __init__(self, func, hygienic=True):
        self.func, self.hygienic = func, hygienic
        self.__name__ = func.__name__
        self.tree = ast.parse(textwrap.dedent(inspect.getsource(func))).body[0]
        # Its names have the meanings of now: a name around it may mean something else when it is written out.
        self.captured = _names_of(func)

    def __call__(self, *args, **kwargs):
        from ._evaluated import call_macro

        return call_macro(self, args, kwargs)

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)

    def source(self, names):
        """The text of it for the engine. Values that it uses from around it get names of their own, which are added to `names`."""
        tree = copy.deepcopy(self.tree)
        around = _names_of(self.func) | self.captured
        own = {name: f"{self.__name__}_{name}" for name in self.free() if _is_value(around.get(name))} if self.hygienic else {}
        names.update((new, around[name]) for name, new in own.items())
        return ast.unparse(_Renamed(own).visit(tree)) + "\n"

    def locals(self):
        """Names that it binds, besides its parameters."""
        stored = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return sorted(stored - self.params())

    def is_variadic(self):
        """True if it takes any number of arguments."""
        return bool(self.tree.args.vararg or self.tree.args.kwarg)

    def params(self):
        """Names of its parameters."""
        return {node.arg for node in ast.walk(self.tree.args) if isinstance(node, ast.arg)}

    def free(self):
        """Names that it uses from around it."""
        used = {node.id for part in self.tree.body for node in ast.walk(part) if isinstance(node, ast.Name)}
        return sorted(used - self.params() - set(self.locals()) - BUILT_IN)


def macro_decorator(func, options, hygienic):
    """Makes a macro of a function; with options alone, gives the decorator."""
    if options or (func is not None and not inspect.isfunction(func)):
        raise ValueError("a macro takes no arguments but `hygienic`: it decorates a function")
    return Macro(func, hygienic) if func is not None else lambda inner: Macro(inner, hygienic)


def _node(value):
    if isinstance(value, tuple):
        return ast.Tuple([_node(item) for item in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([ast.Constant(key) for key in value], [_node(item) for item in value.values()])
    return value if isinstance(value, ast.AST) else ast.Constant(value)


def _suffix_blocks(body, use):
    """Gives the blocks of a macro other names where it is written out again."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "T.sblock" and node.args and isinstance(node.args[0], ast.Constant):
                node.args[0] = ast.Constant(f"{node.args[0].value}_{use}")


def _names_of(func):
    from .parser import closure_names

    return closure_names(func)


def _is_value(value):
    return value is not None and not callable(value) and not inspect.ismodule(value)


class _Renamed(ast.NodeTransformer):
    """Gives names other names, or puts expressions in their place."""

    def __init__(self, new):
        self.new = new

    def visit_Name(self, node):
        new = self.new.get(node.id)
        if isinstance(new, str):
            return ast.copy_location(ast.Name(new, node.ctx), node)
        return node if new is None or not isinstance(node.ctx, ast.Load) else copy.deepcopy(new)


class _Picked(ast.NodeTransformer):
    """Takes parts of tuples and dictionaries that are written out: `(a, b)[0]`."""

    def visit_Subscript(self, node):
        self.generic_visit(node)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Tuple) and isinstance(index, int):
            return node.value.elts[index]
        if isinstance(node.value, ast.Dict) and isinstance(index, str):
            return node.value.values[[key.value for key in node.value.keys].index(index)]
        return node


def _functions(tree, decorator="R.function"):
    """The functions of a dialect in a text."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [node for node in functions if any(decorator in ast.unparse(item) for item in node.decorator_list)]


def _blocks(statement):
    """The lists of statements inside of one."""
    return [name for name in ("body", "orelse") if isinstance(getattr(statement, name, None), list)]


def inlined(tree, names):
    """Writes out macros in functions of Relax, and in tensor programs those that take any number of arguments; the engine knows the
    others. Gives the names around the text, with those that macros captured; None without any."""
    inline = _Inline(names)
    for decorator in ("R.function", "T.prim_func"):
        inline.only_variadic = decorator != "R.function"
        for function in _functions(tree, decorator):
            inline.taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | set(names)
            inline.uses = {}
            function.body = inline.block(function.body)
    if not inline.changed:
        return None
    ast.fix_missing_locations(tree)
    return inline.names


class _Inline:
    def __init__(self, names):
        self.names = dict(names)
        self.changed = False
        self.taken = set()
        self.only_variadic = False
        self.uses = {}

    def block(self, statements):
        """Statements without calls of macros."""
        made = []
        for statement in statements:
            made.extend(self.statement(statement))
        return made

    def statement(self, statement):
        if isinstance(statement, ast.FunctionDef):
            statement.body = self.block(statement.body)
            return [statement]
        before = []
        blocks = {name: getattr(statement, name) for name in _blocks(statement)}
        for name in blocks:
            setattr(statement, name, [])
        while (call := self.call(statement)) is not None:
            self.changed = True
            body, value = self.written(self.names[call.func.id], call)
            before.extend(self.block(body))
            if isinstance(statement, ast.Expr) and statement.value is call:
                return before
            if value is None:
                raise SyntaxError(f"the macro {call.func.id} returns nothing")
            statement = _Replaced(call, value).visit(statement)
        for name, inner in blocks.items():
            setattr(statement, name, self.block(inner))
        return [*before, statement]

    def call(self, statement):
        """The first call of a macro in a statement."""
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        macros = ((node, self.names.get(node.func.id)) for node in calls)
        return next((node for node, macro in macros if isinstance(macro, Macro) and (macro.is_variadic() or not self.only_variadic)), None)

    def written(self, macro, call):
        """The statements of a macro for a call, and its value."""
        given = inspect.signature(macro.func).bind(*call.args, **{item.arg: item.value for item in call.keywords})
        given.apply_defaults()
        new = {name: _node(value) for name, value in given.arguments.items()}
        new.update((name, self.fresh(name)) for name in macro.locals())
        for name in macro.free() if macro.hygienic else ():
            if name in macro.captured:
                new[name] = self.fresh(name)
                self.names[new[name]] = macro.captured[name]
        body = [_Picked().visit(_Renamed(new).visit(copy.deepcopy(statement))) for statement in macro.tree.body]
        use = self.uses[macro] = self.uses.get(macro, -1) + 1
        if use:
            _suffix_blocks(body, use)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        value = body.pop().value if body and isinstance(body[-1], ast.Return) else None
        return body, value

    def fresh(self, name):
        """A name that nothing has."""
        made, at = name, 0
        while made in self.taken:
            at += 1
            made = f"{name}_{at}"
        self.taken.add(made)
        return made


class _Replaced(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


def meta_variables(tree):
    """Puts values in the place of names that `I.meta_var` gave them in functions of Relax. Gives True if there were any."""
    found = False
    for function in _functions(tree):
        found = _Values().block(function) or found
    if found:
        ast.fix_missing_locations(tree)
    return found


class _Values:
    def __init__(self):
        self.known = {}

    def block(self, owner, field="body"):
        """True if names in a list of statements were replaced."""
        made, found = [], False
        for statement in getattr(owner, field):
            value = _meta_value(statement)
            if value is not None:
                self.known[statement.targets[0].id] = _Renamed(self.known).visit(value)
                found = True
                continue
            inner = {name: getattr(statement, name) for name in _blocks(statement)}
            for name in inner:
                setattr(statement, name, [])
            statement = _Renamed(self.known).visit(statement)
            for name, statements in inner.items():
                setattr(statement, name, statements)
                found = self.block(statement, name) or found
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.known.pop(node.id, None)
            made.append(statement)
        setattr(owner, field, made)
        return found


def _meta_value(statement):
    value = statement.value if isinstance(statement, ast.Assign) else None
    is_meta = isinstance(value, ast.Call) and ast.unparse(value.func) in ("I.meta_var", "T.meta_var") and len(value.args) == 1
    if not is_meta or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    # The result of a call stays behind its name: it may not stand where the name is used.
    return None if any(isinstance(node, ast.Call) for node in ast.walk(value.args[0])) else value.args[0]
