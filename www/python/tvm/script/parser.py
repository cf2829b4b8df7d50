"""From decorated functions and classes to programs: their source goes to the engine's parser, together with the values of the
names that it uses from around it."""

import ast
import inspect
import linecache
import textwrap
from typing import TypeVar

from .. import _engine
from .._node import ATTRS, EXPR, Object, Writer, get
from .._values import DataType
from ..error import DiagnosticError
from ..ir.expr import Expr, GlobalVar
from ..ir.function import BaseFunc
from ..ir.module import IRModule
from ..ir.type import Type
from ._diagnostics import _format_source_snippet
from ._evaluated import may_need_python, needs_python, read_by_python
from ._folding import BUILT_IN, Fold
from ._macros import Macro, inlined, meta_variables
from ._python_calls import expand


class _Names(Object):
    """Values of names around a text."""

    def __init__(self, fields):
        self.fields = fields

    def words(self):
        """One row of attributes, over things that the engine knows by then."""
        before = None
        while True:
            writer = Writer()
            writer.out = []
            writer.text("names")
            writer.fields(list(self.fields.items()))
            if not writer.missing:
                return _engine.words(writer.out[1:]), "\0".join(writer.texts)
            left = len(writer.missing)
            Writer().write(writer.missing)
            if left == before:
                raise TypeError("a value around the program cannot be read")
            before = left


def _usable(value, depth=0):
    """A value of Python as the parser can be told of it; None where it is nothing that it knows."""
    from ..te.tensor import Tensor
    from ..tirx.buffer import is_buffer_var
    from ..tirx.expr import BufferRef

    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "_script_value"):
        return value._script_value
    if isinstance(value, type):
        return (
            DataType(value.__name__)
            if value.__name__
            in (
                "float16",
                "float32",
                "float64",
                "int8",
                "int16",
                "int32",
                "int64",
                "uint8",
                "bool_",
            )
            else None
        )
    if isinstance(value, (list, tuple)) and depth < 8:
        items = [_usable(item, depth + 1) for item in value]
        return None if any(item is None and old is not None for item, old in zip(items, value)) else items
    if isinstance(value, dict) and depth < 8:
        return {str(key): _usable(item, depth + 1) for key, item in value.items()}
    if is_buffer_var(value):
        return BufferRef(value)
    if isinstance(value, (BaseFunc, Tensor)):
        return None
    if isinstance(value, (Expr, Type)):
        return value
    if hasattr(value, "asobject"):
        return value.asobject()
    if hasattr(type(value), "_row_o") or hasattr(type(value), "_as_attr"):
        return value
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return value.item()
    return None


def _used_names(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
        word for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200 for word in _words(node.value)
    }


def _words(text):
    try:
        return [node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)]
    except SyntaxError:
        return []


def _bound_names(tree):
    bound = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
    return bound


def _without_nonlocal(text, tree):
    """The text with blanks for `nonlocal`, which says to Python alone that a program uses names of the function around it."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.Nonlocal) and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()
            start, end = node.col_offset, node.end_col_offset
            lines[node.lineno - 1] = (line[:start] + b" " * (end - start) + line[end:]).decode()
    return "".join(lines)


def read(text, names, origin=None, infer=True):
    """Reads a text among values of names. Gives a module or a function. Python computes a program that the engine cannot read."""
    tree = _tree_of(text) if "prim_func" in text else None
    if tree is None:
        return _read(text, names, origin, infer)
    if needs_python(tree):
        return read_by_python(tree, names)
    try:
        return _read(text, names, origin, infer)
    except Exception as error:
        if not may_need_python(tree, names):
            raise
        try:
            return read_by_python(tree, names)
        except Exception:
            raise error from None


def _tree_of(text):
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _read(text, names, origin=None, infer=True):
    given = {}
    tree = _tree_of(text)
    macros = []
    if tree is not None:
        if "nonlocal" in text:
            text = _without_nonlocal(text, tree)
            tree = ast.parse(text)
        around = inlined(tree, names) if any(isinstance(value, Macro) for value in names.values()) else None
        if around is not None:
            text, names = ast.unparse(tree), around
        if "meta_var" in text and meta_variables(tree):
            text = ast.unparse(tree)
        if "R.function" in text or "T.prim_func" in text:

            def located(node, message):
                return _rendered(source, message, *_range(source, node), "", origin)

            source = text
            text = expand(text, tree, names, lambda program: read(program, names), located)
        bound = _bound_names(tree)
        used = _used_names(tree)
        fold = Fold({name: names[name] for name in used if name in names}, bound)
        folded = fold.visit(tree)
        if fold.changed:
            text = ast.unparse(ast.fix_missing_locations(folded))
            used = _used_names(folded)
            given.update(fold.extra)
        for name in sorted(used):
            if name in BUILT_IN or name not in names:
                continue
            value = names[name]
            if isinstance(value, TypeVar):
                macros.append(f'{name} = TypeVar("{value.__name__}")\n')
                continue
            if isinstance(value, Macro):
                captured = {}
                macros.append(value.source(captured))
                given.update((other, _usable(item)) for other, item in captured.items())
                continue
            value = _usable(value)
            if value is not None or names[name] is None:
                given[name] = value
    return read_program("".join(macros) + text, given, origin, infer)


class Metadata:
    """The objects that stand behind `metadata[type][index]` in a program, from JSON."""

    def __init__(self, text, nodes, pairs):
        self._text = text
        self._counts = {nodes[key]["data"]: len(nodes[items]["data"]) for key, items in zip(pairs[::2], pairs[1::2])}
        self._known = {}

    def keys(self):
        return self._counts.keys()

    def __contains__(self, kind):
        return kind in self._counts

    def __len__(self):
        return len(self._counts)

    def __getitem__(self, kind):
        return [self._entry(kind, index) for index in range(self._counts[kind])]

    def _entry(self, kind, index):
        entry = (kind, index)
        if entry not in self._known:
            escaped = self._text.replace("\\", "\\\\").replace('"', '\\"')
            function = read_program(f'metadata = tvm.ir.load_json("""{escaped}""")\n@R.function\ndef entry():\n    value = metadata["{kind}"][{index}]\n    return value\n')
            self._known[entry] = function.body.blocks[0].bindings[0].value
        return self._known[entry]


def read_program(source, given=None, origin=None, infer=True):
    """Reads a program as the page does: TVMScript, Relay or JSON. Gives a module or a function."""
    words, texts = _Names(given or {}).words()
    _engine.dialect(True)
    module, expr, found = _engine.call("table_parse", source, words, texts, infer)
    errors = [item for item in found if item[0] == "error"]
    if errors:
        _, message, start, end, notes = errors[0]
        # A function of the user's that the engine asked, as for the type of a call, may be to blame.
        cause = _engine.pending()
        message = message if cause is None else f"{type(cause).__name__}: {cause}"
        raise DiagnosticError(_rendered(source, message, int(start), int(end), notes, origin)) from cause
    if expr:
        return get(EXPR, expr - 1)
    return IRModule._of_words(module)


def _range(text, node):
    """The begin and the end of the first line of a node, in bytes."""
    lines = text.splitlines(keepends=True)
    start = sum(len(line.encode()) for line in lines[: node.lineno - 1])
    end = node.end_col_offset if node.end_lineno == node.lineno else len(lines[node.lineno - 1].rstrip().encode())
    return start + node.col_offset, start + end


def _rendered(text, message, start, end, notes, origin):
    """A message with its place and the line underlined, as TVM renders it."""
    if start < 0:
        return f"error: {message}"
    data = text.encode()
    before = data[:start].decode(errors="replace")
    line = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    name, first, indent = origin or ("<str>", 1, 0)
    marked = data[start:end].decode(errors="replace") or " "
    last = marked.rpartition("\n")[2]
    end_column = len(last) + (0 if "\n" in marked else column)
    pad = " " * indent
    lines = [pad + shown if shown else shown for shown in text.split("\n")]
    place = first + line
    end_line = place + marked.count("\n")
    shown = _format_source_snippet([""] * (first - 1) + lines, place, indent + column + 1, end_line, indent + end_column + 1)
    rows = [f"error: {message}", f" --> {name}:{place}:{indent + column + 1}", shown]
    return "\n".join([*rows, notes] if notes else rows)


def _source(thing):
    lines, first = inspect.getsourcelines(thing)
    text = "".join(lines)
    plain = textwrap.dedent(text)
    indent = len(text.split("\n")[0]) - len(plain.split("\n")[0])
    return plain, (inspect.getsourcefile(thing), first, indent)


def names_around(depth, func=None):
    """The values of names in the frame of the caller and around it; `func` has globals of its own."""
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = frame.f_back
    names = {}
    frames = []
    while frame is not None:
        frames.append(frame)
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
        if len(frames) > 3:
            break
    inner = frames[0]
    names.update(inner.f_globals)
    names.update(getattr(func, "__globals__", {}))
    for outer in reversed(frames[:2]):
        if outer.f_globals is inner.f_globals:
            names.update(outer.f_locals)
    return names


def closure_names(func):
    """The values of names inside of a function."""
    return func.__globals__ | _nonlocals(func)


def _nonlocals(func):
    names = {}
    try:
        names.update(inspect.getclosurevars(func).nonlocals)
    except (ValueError, TypeError):
        pass
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:
            pass
    return names


def in_class(depth):
    """True if the frame that calls is the body of a class that becomes a module."""
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = frame.f_back
    if "__qualname__" not in frame.f_locals or "__module__" not in frame.f_locals:
        return False
    lines = linecache.getlines(frame.f_code.co_filename)
    first = frame.f_code.co_firstlineno - 1
    # The decorators stand at the first line of the body's code.
    for line in lines[first : first + 20]:
        if line.strip().startswith("class "):
            break
        if "ir_module" in line or "rewriter" in line:
            return True
    for line in reversed(lines[max(0, first - 10) : first]):
        if line.strip().startswith("@"):
            if "ir_module" in line or "rewriter" in line:
                return True
        else:
            break
    return False


def read_function(func, names):
    """The function of the program that a decorated function is."""
    text, origin = _source(func)
    made = read(text, names | _nonlocals(func), origin)
    if isinstance(made, IRModule) and len(made) == 1:
        made = made.values()[0]
    return made


def ir_module(mod=None, check_well_formed=True, s_tir=False):
    """Makes a module of a class with functions."""

    def decorate(cls):
        text, origin = _source(cls)
        names = names_around(outer + 1)
        for value in vars(cls).values():
            if inspect.isfunction(value):
                for name, inner in closure_names(value).items():
                    names.setdefault(name, inner)
        made = read(text, names, origin)
        if not isinstance(made, IRModule):
            made = IRModule.from_expr(made)
        if check_well_formed:
            _check(made, text, origin)
        made.__dict__["__name__"] = cls.__name__
        return made

    outer = 1 if mod is not None else 0
    return decorate(mod) if mod is not None else decorate


def _check(mod, text, origin):
    """Raises unless the functions of Relax are well-formed."""
    from ..relax.analysis import check_well_formed
    from ..relax.expr import Function

    if any(isinstance(func, Function) for func in mod.functions.values()) and not check_well_formed(mod):
        message = "Program is not well-formed. If this is deliberate, consider setting check_well_formed in the top-level decorator to False to disable this check."
        raise DiagnosticError(_rendered(text, message, 0, 1, "", origin))


def from_source(program, extra_vars=None, check_well_formed=True, s_tir=False, absent_params=None):
    """The program of a text, or of a function or class."""
    if absent_params:
        raise NotImplementedError("parameters cannot be left out here: give the program without them")
    if isinstance(program, str):
        names = dict(extra_vars or {})
        return read(textwrap.dedent(program), names)
    names = dict(extra_vars or {}) if extra_vars else names_around(1, program)
    if inspect.isclass(program):
        text, origin = _source(program)
        return read(text, names, origin)
    return read_function(program, getattr(program, "__globals__", {}) | names)


parse = from_source


def __getattr__(name):
    if name not in ("ir", "relax", "tirx", "tir"):
        raise AttributeError(name)
    import importlib

    return importlib.import_module(f"..{name}", __name__)


_ = (GlobalVar, ATTRS)
