"""Texts of programs in which parts are underlined or have a comment, and without the short forms of TIR."""

import re

from tvm_ffi.access_path import AccessPath

from ... import _engine
from ..._codes import MARK, MARK_END
from ..._node import BUFFER, EXPR, PRIM, STMT, SYMBOL, number
from .doc_printer import _decorated

OPTIONS = "obj_to_underline path_to_underline obj_to_annotate path_to_annotate syntax_sugar print_line_numbers num_context_lines show_all_ty".split()
"""Options that need what is here."""
_COMPOUND = ("for ", "with ", "if ", "while ")


def wants(options):
    """True if options ask for more than the plain text."""
    asked = {name for name in OPTIONS if options.get(name) not in (None, [], {}, (), False, -1)} - {"syntax_sugar", "show_all_ty"}
    return bool(asked) or options.get("syntax_sugar") is False or _hides_types(options) or options.get("indent_spaces", 4) != 4


def _hides_types(options):
    """True if no types of variables are wanted that follow from the values."""
    told = dict(options.get("extra_config") or {})
    return options.get("show_all_ty") is False or told.get("relax.show_all_ty") is False


def script(node, show_meta, options):
    """The text of a module or of a function."""
    forms = (0 if options.get("syntax_sugar") is not False else 8) | (16 if _hides_types(options) else 0)
    found, marked = [], []
    for obj in options.get("obj_to_underline") or ():
        places = _places(node, obj)
        found += [(end, path, at is not obj) for path, at, end in places]
        marked.append(places[0][1] if places else obj)
    rows = [(path, above) for _, path, above in sorted(found, key=lambda row: row[0])]
    for path in options.get("path_to_underline") or ():
        at, whole = _follow(node, path)
        rows.append((path, None if at is None else not whole))
        marked.append(at)
    text, marks = _split(_print(node, [at for at in marked if at is not None and at is not node], show_meta, forms))
    if any(at is node for at in marked):
        _mark_all(text, marks)
    notes = [(obj, comment) for obj, comment in (options.get("obj_to_annotate") or {}).items()]
    notes += [(_follow(node, path)[0], comment) for path, comment in (options.get("path_to_annotate") or {}).items()]
    text, marks = _annotated(node, notes, text, marks, lambda obj: _print(node, [obj], show_meta, forms))
    if options.get("indent_spaces", 4) != 4:
        text, marks = _indented(text, marks, options["indent_spaces"])
    context = options.get("num_context_lines")
    context = None if context in (None, -1) else context
    # The empty line behind a function of a module belongs to its last line.
    text = re.sub(r"\n\n(?= +@)", "\v\n", text)
    text = _decorated(text + "\n", [*marks, False], bool(options.get("print_line_numbers")), context).removesuffix("\n").replace("\v", "\n")
    told = dict(options.get("extra_config") or {}).get("render_invisible_path_info", True)
    return (_told(rows) if told else "") + text


def _indented(text, marks, spaces):
    """A text whose lines are indented by other steps."""
    made, kept, at = [], [], 0
    for line in text.split("\n"):
        body = line.lstrip(" ")
        depth, rest = (len(line) - len(body)) // 4 * spaces, marks[at + len(line) - len(body) : at + len(line) + 1]
        made.append(" " * depth + body)
        kept += [False] * depth + rest
        at += len(line) + 1
    return "\n".join(made), kept


def _told(rows):
    """The paths of what is underlined."""
    lines = []
    for path, above in rows:
        lines.append(f"Access path: {path}")
        if above is None:
            lines.append("Note: No visible object for this path is rendered in TVMScript.")
        elif above:
            lines.append("Note: The underlined object is the nearest visible parent of this path.")
    return "\n".join(lines) + "\n\n" if lines else ""


def _print(node, marked, show_meta, forms):
    from ...ir.module import IRModule

    things = [word for obj in marked for word in _thing(obj)]
    flags = 1 | (2 if show_meta else 0) | forms
    if isinstance(node, IRModule):
        words, index = _engine.words(node._words()), 0
    else:
        words, index = _engine.words(), number(EXPR, node)
    return _engine.call("table_print_marked", words, index, flags, _engine.words(things))


def _thing(obj):
    """The table and the number of a part."""
    from ...ir.expr import Var
    from ...tirx.buffer import is_buffer_var
    from ...tirx.function import PrimFunc
    from ...tirx.stmt import Stmt

    if isinstance(obj, Stmt):
        return STMT, number(STMT, obj)
    if is_buffer_var(obj):
        return BUFFER, number(BUFFER, obj)
    if isinstance(obj, PrimFunc) or not hasattr(obj, "dtype"):
        return EXPR, number(EXPR, obj)
    return (SYMBOL, number(SYMBOL, obj)) if isinstance(obj, Var) else (PRIM, number(PRIM, obj))


def _split(printed):
    """A text without its marks, and for each character whether it is between two."""
    text, marks, depth, empty, comment = [], [], 0, True, False
    for letter in printed:
        if letter == MARK:
            depth += 1
        elif letter == MARK_END:
            depth -= 1
        else:
            comment = letter != "\n" and (comment or empty and letter == "#")
            empty = letter == "\n" or empty and letter == " "
            text.append(letter)
            marks.append(depth > 0 and not empty and not comment)
    return "".join(text), marks


def _mark_all(text, marks):
    """Marks a whole program, without the comments at its head."""
    at = 0
    for line in text.split("\n"):
        if line and not line.lstrip().startswith("#"):
            start = at + len(line) - len(line.lstrip())
            marks[start : at + len(line)] = [True] * (at + len(line) - start)
        at += len(line) + 1


def _annotated(node, notes, text, marks, shown):
    """Adds comments: above what has lines of its own, behind any other statement; functions have none."""
    from ...ir.function import BaseFunc

    for obj, comment in notes:
        at = next((at for _, at, _ in _places(node, obj)), None)
        if at is None or isinstance(at, BaseFunc):
            continue
        where = _split(shown(at))
        if True not in where[1]:
            continue
        line = where[0][: where[1].index(True)].count("\n")
        lines, own = text.split("\n"), [index for index, row in enumerate(text.split("\n")) if not _is_note(row)]
        row = own[line]
        start = sum(len(line) + 1 for line in lines[:row])
        body = lines[row].lstrip()
        if body.startswith(_COMPOUND):
            added = " " * (len(lines[row]) - len(body)) + f"{_NOTE}# {comment}\n"
        else:
            start, added = start + len(lines[row]), f"  # {comment}"
        text = text[:start] + added + text[start:]
        marks = marks[:start] + [False] * len(added) + marks[start:]
    kept = [index for index, letter in enumerate(text) if letter != _NOTE]
    return "".join(text[index] for index in kept), [marks[index] for index in kept]


_NOTE = "\3"
"""Stands before a comment that has a line of its own, until all are there."""


def _is_note(line):
    return line.lstrip().startswith(_NOTE)


def _parts(node):
    """The paths and the objects directly inside of one."""
    from ...ir.module import IRModule
    from ...tirx.expr import BufferLoad
    from ...tirx.functor import fields_of
    from ...tirx.stmt import BufferRegion, SBlock

    if isinstance(node, IRModule):
        return [(lambda path, var=var: path.attr("functions").map_item(var), func) for var, func in node.functions.items()]
    found = []
    names = list(fields_of(node))
    if isinstance(node, SBlock):
        names = ["reads", "writes", *names]
    for name in names:
        value = getattr(node, name, None)
        if isinstance(value, (list, tuple)):
            found += [(lambda path, name=name, at=at: path.attr(name).array_item(at), item) for at, item in enumerate(value)]
        elif value is not None:
            found.append((lambda path, name=name: path.attr(name), value))
    buffer = getattr(node, "buffer", None)
    if buffer is not None:
        name = "source" if isinstance(node, (BufferLoad, BufferRegion)) else "buffer"
        found.append((lambda path: path.attr(name), buffer))
    return found


def _places(root, wanted):
    """The places of an object in a program: its paths, each with the object that the text shows for it, and when its text ends."""
    from ...tirx.stmt import SBlockRealize

    found, todo, left = [], [(AccessPath.root(), root, None)], 0
    while todo:
        path, node, above = todo.pop()
        if path is None:
            # All parts of the object were shown before.
            left += 1
            if node is not None:
                found.append((*node, left))
            continue
        shown = above if isinstance(above, SBlockRealize) and node is above.block else node
        todo.append((None, (path, shown) if node is wanted else None, None))
        parts = [(step(path), part, node) for step, part in _parts(node)]
        todo.extend(reversed(parts))
    return found


def _follow(root, path):
    """The innermost object on a path that the text shows, and whether it is the one at its end."""
    from ...tirx.stmt import BufferStore, SBlock, SBlockRealize

    node, shown, whole = root, root, True
    steps = list(path.steps)
    while steps:
        if isinstance(node, BufferStore) and steps[0] == ".indices":
            # The text of a store shows it as a whole.
            return node, False
        for count in (1, 2):
            part = _step(node, steps[:count])
            if part is not None:
                break
        if part is None:
            return shown, False
        steps = steps[count:]
        inside = isinstance(part, SBlock) and isinstance(node, SBlockRealize)
        node = part
        if not inside:
            shown = part
        whole = not inside
    return shown, whole


def underlined(thing, path):
    """A thing with the part behind a path underlined, and the path above: of functions, modules, statements and scalars."""
    from ...ir.function import BaseFunc
    from ...ir.module import IRModule
    from ...ir.type import Type
    from ...tirx.expr import FloatImm, IntImm
    from ...tirx.function import PrimFunc
    from ...tirx.stmt import Evaluate, Stmt

    if not hasattr(thing, "dtype") and not isinstance(thing, (BaseFunc, IRModule, Stmt)) or isinstance(thing, Type):
        from ..._values import Array, Map

        thing = Array(thing) if isinstance(thing, list) else Map(thing) if isinstance(thing, dict) else thing
        return _told([(path, None)]) + str(thing)
    at, whole = _follow(thing, path)
    whole = whole or path.steps[-1:] == (".value",) and isinstance(at, (IntImm, FloatImm))
    told = _told([(path, not whole)])
    if isinstance(thing, (BaseFunc, IRModule)):
        text, marks = _split(_print(thing, [] if at is thing else [at], False, True))
        if at is thing:
            _mark_all(text, marks)
        return told + _decorated(text.rstrip("\n") + "\n", [*marks, False], False, None).removesuffix("\n")
    is_stmt = isinstance(thing, Stmt)
    if not is_stmt and (at is thing or not hasattr(thing, "_prim") and not hasattr(thing, "op")):
        return told + f"{thing}\n" + "^" * len(str(thing).split("\n")[-1])
    text, marks = _body(_print(PrimFunc([], thing if is_stmt else Evaluate(thing)), [at], False, True))
    if not is_stmt:
        # The scalar without what evaluates it and declares its variables.
        first = text.rindex("\n") + 1 if "\n" in text else 0
        begin = first + len("T.evaluate(")
        text, marks = text[begin:-1], marks[begin:-1]
    return told + _decorated(text + "\n", [*marks, False], False, None).removesuffix("\n")


def _body(printed):
    """The lines of a function behind its head, without their indent, and those above that declare variables."""
    text, marks = _split(printed)
    lines, kept, start, head = [], [], 0, True
    for line in text.rstrip("\n").split("\n"):
        end = start + len(line) + 1
        if line.startswith("def "):
            head = False
        elif not head or line and not line.startswith(("@", "#")):
            begin = start if head else start + 4
            lines.append(text[begin : end - 1])
            kept += [*marks[begin : end - 1], False]
        start = end
    return "\n".join(lines), kept[:-1]


def _step(node, steps):
    for step, part in _parts(node):
        if step(AccessPath.root()).steps == tuple(steps):
            return part
    return None
