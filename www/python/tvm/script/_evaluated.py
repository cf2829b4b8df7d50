"""Tensor programs that Python computes: their statements are run one after the other within a builder, as TVM itself reads all of
them. The engine's parser reads programs that need no Python; this is for those with comprehensions, with objects and functions of
Python, and with names that are given anew."""

import ast
import builtins
import copy
import inspect
import types
from contextlib import contextmanager

from ._operands import Global, compare, conjunction, let_type, negation, scalar_of

_active = []
"""The readers under way: a macro that Python calls writes its statements to the innermost one."""


def needs_python(tree):
    """True for a text with tensor programs of which the engine's parser cannot read what they say, or reads less than they say."""
    return any(_has_else(function) or _renames(function) for function in _programs(tree))


def may_need_python(tree, names):
    """True for a text with tensor programs that use what only Python knows."""
    return any(_is_python(node, names) for function in _programs(tree) for node in ast.walk(function))


def _programs(tree):
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if any("R.function" in ast.unparse(item) for node in functions for item in node.decorator_list):
        return []
    return [node for node in functions if any("prim_func" in ast.unparse(item) for item in node.decorator_list)]


def _has_else(function):
    return any(isinstance(node, (ast.For, ast.While)) and node.orelse for node in ast.walk(function))


def _renames(function):
    """True if a buffer gets a second name, which becomes its name."""
    buffers = {arg.arg for arg in function.args.args if arg.annotation is not None and "T.Buffer" in ast.unparse(arg.annotation)}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        value = node.value
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("T.match_buffer", "T.alloc_buffer", "T.sblock_alloc_buffer", "T.decl_buffer"):
            buffers.add(node.targets[0].id)
        elif isinstance(value, ast.Name) and value.id in buffers and node.targets[0].id not in buffers:
            return True
    return False


_PYTHON = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.JoinedStr, ast.Starred)


def _is_python(node, names):
    if isinstance(node, _PYTHON):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id):
        return node.func.id != "range"
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
        return False
    value = names.get(node.id)
    own = getattr(type(value), "__module__", "").split(".")[0]
    if isinstance(value, (types.FunctionType, type)):
        own = value.__module__.split(".")[0]
    return value is not None and own not in ("tvm", "tvm_ffi", "builtins") and not isinstance(value, types.ModuleType)


def read_by_python(tree, names):
    """The program or module of a text, computed statement by statement."""
    from .ir_builder import IRBuilder

    top = next(node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    with IRBuilder() as builder:
        reader = _Reader(names)
        _active.append(reader)
        try:
            reader.function(top) if isinstance(top, ast.FunctionDef) else reader.module(top)
        finally:
            _active.pop()
    return builder.get()


def call_macro(macro, args, kwargs):
    """Writes out a macro that Python calls while a program is read; the value that it returns."""
    return _active[-1].macro(macro, args, kwargs) if _active else None


class _Written(ast.NodeTransformer):
    """Puts functions in the place of what Python does with operands itself: comparisons, `and`, `or` and `not`."""

    def _call(self, node, function, *args):
        return ast.copy_location(ast.Call(ast.Name(function, ast.Load()), list(args), []), node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        parts = [self._call(node, "__compare", ast.Constant(type(op).__name__), *sides[at : at + 2]) for at, op in enumerate(node.ops)]
        return parts[0] if len(parts) == 1 else self._call(node, "__both", ast.Constant("And"), *map(self._lazy, parts))

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return self._call(node, "__both", ast.Constant(type(node.op).__name__), *map(self._lazy, node.values))

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self._call(node, "__not", node.operand) if isinstance(node.op, ast.Not) else node

    @staticmethod
    def _lazy(node):
        none = ast.arguments([], [], None, [], [], None, [])
        return ast.copy_location(ast.Lambda(none, node), node)


_HELPERS = {"__compare": compare, "__both": conjunction, "__not": negation}


class _Reader:
    def __init__(self, names):
        self.frames = [dict(names) | _HELPERS]
        self.opened = []
        self.in_macro = False

    @contextmanager
    def scope(self):
        """A range of statements: what was opened in it ends with it."""
        self.frames.append({})
        self.opened.append([])
        yield
        for frame in reversed(self.opened.pop()):
            frame.__exit__(None, None, None)
        self.frames.pop()

    def known(self, value):
        """True if a name stands for a variable already."""
        return any(item is value for frame in self.frames[1:] for item in frame.values())

    def value(self, node):
        """The value of an expression."""
        names = {}
        for frame in self.frames:
            names.update(frame)
        expression = ast.fix_missing_locations(ast.Expression(_Written().visit(copy.deepcopy(node))))
        made = eval(compile(expression, "<script>", "eval"), names)  # noqa: S307
        return made

    def bind(self, target, value, name_value):
        """Gives names to a value, or to its parts."""
        if isinstance(target, ast.Name):
            self.frames[-1][target.id] = name_value(target.id, value)
            return
        if isinstance(target, ast.Starred):
            self.bind(target.value, value, name_value)
            return
        from ._evaluator import eval_assign

        parts = iter(target.elts)
        stars = {item.value.id for item in target.elts if isinstance(item, ast.Starred)}
        if any(not isinstance(item, (ast.Name, ast.Starred)) for item in target.elts):
            for item, part in zip(parts, value, strict=True):
                self.bind(item, part, name_value)
            return
        for name, part in eval_assign(None, target, list(value)).items():
            self.frames[-1][name] = name_value(name, list(part) if name in stars else part)

    def module(self, node):
        """A class of tensor programs."""
        from ..ir.expr import GlobalVar
        from ..ir.module import IRModule
        from .ir_builder import IRBuilder

        functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        variables = {item.name: GlobalVar(item.name) for item in functions}
        self.frames[0][node.name] = Global(variables)
        made, attrs = {}, None
        for item in node.body:
            if isinstance(item, ast.FunctionDef):
                with IRBuilder() as builder:
                    self.function(item)
                made[variables[item.name]] = builder.get()
            elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call) and ast.unparse(item.value.func) == "I.module_attrs":
                attrs = self.value(item.value.args[0])
            elif isinstance(item, ast.Assign):
                self.bind(item.targets[0], self.value(item.value), lambda name, value: value)
        module = IRModule(made)
        IRBuilder.current()._made = module.with_attrs(attrs) if attrs else module

    def function(self, node):
        """A tensor program."""
        from .ir_builder import tirx as T

        options = {}
        for decorator in node.decorator_list:
            for item in decorator.keywords if isinstance(decorator, ast.Call) else ():
                options[item.arg] = self.value(item.value)
        with T.prim_func(options.get("private", False), options.get("s_tir", False), options.get("persistent", False)), self.scope():
            T.func_name(node.name)
            for arg in node.args.args:
                annotation = self.value(arg.annotation)
                param = annotation if _is_value(annotation) else annotation()
                self.frames[-1][arg.arg] = T.arg(arg.arg, param)
            if node.returns is not None:
                result = self.value(node.returns)
                result = result if result is None or _is_value(result) else result()
                T.func_ret(getattr(result, "ty", result))
            self.body(node.body)

    def macro(self, macro, args, kwargs):
        """Writes out a macro; what it returns."""
        given = inspect.signature(macro.func).bind(*args, **kwargs)
        given.apply_defaults()
        before = self.frames, self.in_macro
        around = dict(macro.func.__globals__) | macro.captured | _HELPERS if macro.hygienic else {}
        self.frames = [around] if macro.hygienic else list(self.frames)
        self.frames.append(dict(given.arguments))
        self.in_macro = True
        try:
            self.body(macro.tree.body)
            last = macro.tree.body[-1]
            return self.value(last.value) if isinstance(last, ast.Return) and last.value is not None else None
        finally:
            self.frames, self.in_macro = before

    def body(self, statements):
        """Statements, one after the other."""
        for statement in statements:
            handler = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise TypeError(f"{type(statement).__name__} is not part of a tensor program")
            handler(statement)

    def _for(self, node):
        from .ir_builder.base import Frame

        is_range = isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        frame = _range_of(*map(self.value, node.iter.args)) if is_range else self.value(node.iter)
        if not isinstance(frame, Frame):
            raise TypeError("Expect the for loop to be one of the following: range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll, T.thread_binding")
        with frame as values, self.scope():
            self.bind(node.target, values, _named)
            self.body(node.body)

    def _while(self, node):
        from .ir_builder import tirx as T

        with T.While(self.value(node.test)), self.scope():
            self.body(node.body)

    def _with(self, node):
        open_frames = []
        with self.scope():
            for item in node.items:
                frame = self.value(item.context_expr)
                bound = frame.__enter__()
                open_frames.append(frame)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, bound, _named)
            self.body(node.body)
        for frame in reversed(open_frames):
            frame.__exit__(None, None, None)

    def _if(self, node):
        from .ir_builder import tirx as T

        test = self.value(node.test)
        if isinstance(test, bool):
            self.body(node.body if test else node.orelse)
            return
        with T.If(test):
            with T.Then(), self.scope():
                self.body(node.body)
            if node.orelse:
                with T.Else(), self.scope():
                    self.body(node.orelse)

    def _assert(self, node):
        from .ir_builder import tirx as T

        message, kind = self.value(node.msg), "RuntimeError"
        if isinstance(message, tuple):
            kind, message = message
        self.open(T.Assert(self.value(node.test), message, kind))

    def open(self, frame):
        """Opens a construct that reaches to the end of the statements; what it binds."""
        made = frame.__enter__()
        self.opened[-1].append(frame)
        return made

    def _return(self, node):
        from ..tirx.expr import convert
        from ..tirx.stmt import Return
        from .ir_builder.tirx import _add

        if not self.in_macro:
            _add(Return(convert(self.value(node.value))))

    def _break(self, node):
        from .ir_builder import tirx as T

        T.evaluate(T.break_loop())

    def _continue(self, node):
        from .ir_builder import tirx as T

        T.evaluate(T.continue_loop())

    def _pass(self, node):
        pass

    def _functiondef(self, node):
        raise TypeError("a function inside of a tensor program is not read here")

    def _expr(self, node):
        from ..ir.expr import Expr
        from ..tirx.expr import convert
        from .ir_builder import tirx as T
        from .ir_builder.base import Frame

        made = self.value(node.value)
        if isinstance(made, Frame):
            self.open(made)
        elif isinstance(made, (int, bool)):
            T.evaluate(convert(made))
        elif isinstance(made, Expr) and not _is_variable(made):
            T.evaluate(made)

    def _assign(self, node):
        from .ir_builder import tirx as T

        if len(node.targets) != 1:
            raise TypeError("Consequential assignments like 'a = b = c' are not supported.")
        self.store(node.targets[0], self.value(node.value), T)

    def store(self, target, value, T):  # noqa: N803
        """Stores a value into a buffer, or gives it a name."""
        if isinstance(target, ast.Subscript):
            indices = self.value(_loaded(target.slice))
            indices = indices if isinstance(indices, (tuple, list)) else [indices]
            T.buffer_store(self.value(_loaded(target.value)), value, list(indices))
            return
        if isinstance(target, ast.Name):
            scalar = scalar_of(next((frame[target.id] for frame in reversed(self.frames[1:]) if target.id in frame), None))
            if scalar is not None and not _is_variable(value):
                T.buffer_store(scalar, value, [0])
                return
        self.bind(target, value, self.assigned)

    def assigned(self, name, value):
        """The value that a name stands for after an assignment."""
        from ..ir.expr import Expr, Var
        from ..tirx.buffer import is_buffer_var
        from ..tirx.expr import IterVar, StringImm, convert
        from ..ir.type import PointerType
        from .ir import meta_var
        from .ir_builder import IRBuilder
        from .ir_builder import tirx as T
        from .ir_builder.base import Frame

        if isinstance(value, meta_var):
            return value.value
        if isinstance(value, (list, tuple)):
            return [self.assigned(f"{name}_{at}", item) for at, item in enumerate(value)]
        if hasattr(value, "region"):
            return value
        if isinstance(value, Frame):
            return IRBuilder.name(name, self.open(value))
        if is_buffer_var(value) or isinstance(value, IterVar) or (isinstance(value, Var) and not self.known(value)):
            return IRBuilder.name(name, value)
        value = convert(value) if not isinstance(value, Expr) else value
        if isinstance(value, StringImm) or isinstance(value.ty, PointerType) or not hasattr(value, "dtype"):
            return T.bind(value, var=Var(name, value.ty))
        return self.scalar(name, value.dtype, value)

    def scalar(self, name, dtype, value=None):
        """A scalar that may change: a buffer of one element."""
        from .ir_builder import IRBuilder
        from .ir_builder import tirx as T

        buffer = IRBuilder.name(name, T.alloc_buffer((1,), dtype, scope="local"))
        if value is not None:
            T.buffer_store(buffer, value, [0])
        return buffer[0]

    def _augassign(self, node):
        from .ir_builder import tirx as T

        operation = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
        self.store(node.target, self.value(operation), T)

    def _annassign(self, node):
        from ..ir.expr import Expr, Var
        from ..tirx.expr import StringImm, convert
        from .ir_builder import tirx as T

        value = None if node.value is None else self.value(node.value)
        is_let, annotation = let_type(node.annotation)
        if not is_let:
            kind = self.value(annotation)
            kind = kind if isinstance(kind, Var) else kind()
            self.frames[-1][node.target.id] = self.scalar(node.target.id, kind.dtype, value)
            return
        value = StringImm(value) if isinstance(value, str) else value if isinstance(value, Expr) else convert(value)
        kind = None if annotation is None else self.value(annotation)
        kind = value.ty if kind is None else (kind if isinstance(kind, Var) else kind()).ty
        self.frames[-1][node.target.id] = T.bind(value, var=Var(node.target.id, kind))


def _named(name, value):
    from .ir_builder import IRBuilder

    return IRBuilder.name(name, value)


def _range_of(start, stop=None, step=None):
    from .ir_builder import tirx as T

    return T.serial(start, stop, step=step)


def _is_value(annotation):
    from ..ir.expr import Expr
    from ..ir.type import Type
    from ..tirx.buffer import is_buffer_var

    return isinstance(annotation, (Expr, Type)) or is_buffer_var(annotation)


def _is_variable(value):
    from ..ir.expr import Var
    from ..tirx.buffer import is_buffer_var

    return isinstance(value, Var) or is_buffer_var(value)


class _Loaded(ast.NodeTransformer):
    def visit_Store(self, node):
        return ast.Load()


def _loaded(node):
    return _Loaded().visit(copy.deepcopy(node))
