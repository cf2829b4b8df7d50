"""From trees of Python to texts, where parts can be underlined."""

import math

from ...error import InternalError
from .doc import OperationKind as Kind
from .doc import TupleDoc

_SIGNS = dict(zip(
    [Kind.USub, Kind.Invert, Kind.Not, *map(Kind, range(Kind.Add, Kind.MatMul + 1))],
    "- ~ not + - * / // % ** << >> & | ^ < <= == != > >= and or @".split(),
))  # fmt: skip
_LAMBDA, _CHOICE, _OR, _AND, _NOT, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _ADD, _MULT, _UNARY, _POWER, _ATOM = range(1, 16)
"""The levels of precedence (https://docs.python.org/3/reference/expressions.html#operator-precedence)."""
_BINDS = {
    Kind.USub: _UNARY, Kind.Invert: _UNARY, Kind.Not: _NOT, Kind.Add: _ADD, Kind.Sub: _ADD, Kind.Mult: _MULT, Kind.Div: _MULT,
    Kind.FloorDiv: _MULT, Kind.Mod: _MULT, Kind.Pow: _POWER, Kind.LShift: _SHIFT, Kind.RShift: _SHIFT, Kind.BitAnd: _BIT_AND,
    Kind.BitOr: _BIT_OR, Kind.BitXor: _BIT_XOR, Kind.And: _AND, Kind.Or: _OR, Kind.MatMul: _MULT, Kind.IfThenElse: _CHOICE,
}  # fmt: skip
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _binds(doc):
    name = type(doc).__name__
    if name == "OperationDoc":
        return _BINDS.get(doc.kind, _COMPARE)
    return _LAMBDA if name == "LambdaDoc" else _ATOM


class _Printer:
    def __init__(self, indent_spaces, paths):
        self.text, self.indent, self.step = "", 0, indent_spaces
        self.paths = list(paths or ())
        self.depths = [-1] * len(self.paths)
        self.visible = [None] * len(self.paths)
        self.spans = [[] for _ in self.paths]
        self.plain = []

    def put(self, text):
        self.text += text

    def line(self):
        self.put("\n" + " " * self.indent)

    def apart(self, write):
        """Writes what is never underlined."""
        start = len(self.text)
        write()
        self.plain.append((start, len(self.text)))

    def doc(self, doc):
        start = len(self.text)
        method = getattr(self, type(doc).__name__, None)
        if method is None:
            raise InternalError(f"Do not know how to print {type(doc).__name__}")
        method(doc)
        for path in doc.source_paths:
            for at, wanted in enumerate(self.paths):
                depth = len(path.steps)
                if depth >= self.depths[at] and wanted.steps[:depth] == path.steps:
                    if depth > self.depths[at]:
                        self.depths[at], self.spans[at], self.visible[at] = depth, [], path
                    self.spans[at].append((start, len(self.text)))

    def joined(self, docs):
        for at, doc in enumerate(docs):
            self.put(", " if at else "")
            self.doc(doc)

    def child(self, doc, binds, strict=False):
        inner = _binds(doc)
        wrapped = inner < binds or strict and inner == binds
        self.put("(" if wrapped else "")
        self.doc(doc)
        self.put(")" if wrapped else "")

    def block(self, docs):
        self.indent += self.step
        for doc in docs:
            self.line()
            self.doc(doc)
        if not docs:
            self.line()
            self.put("pass")
        self.indent -= self.step

    def inline_comment(self, doc):
        if doc.comment is not None:
            if "\n" in doc.comment:
                raise ValueError(f"the comment string of {type(doc).__name__} cannot have newline.")
            self.apart(lambda: self.put(f"  # {doc.comment}"))

    def comment_lines(self, doc, more):
        if doc.comment is None:
            return

        def write():
            for at, line in enumerate(doc.comment.split("\n")):
                if at:
                    self.line()
                self.put(f"# {line}")

        self.apart(write)
        if more:
            self.line()

    def docstring(self, comment):
        def write():
            self.put('"""')
            for line in comment.split("\n"):
                if line:
                    self.line()
                    self.put(line)
                else:
                    self.put("\n")
            self.line()
            self.put('"""')

        self.apart(write)

    def head(self, doc):
        for decorator in doc.decorators:
            self.put("@")
            self.doc(decorator)
            self.line()

    def named_body(self, doc):
        self.put(":")
        if doc.comment is not None:
            self.indent += self.step
            self.line()
            self.docstring(doc.comment)
            self.indent -= self.step
        self.block(doc.body)

    def LiteralDoc(self, doc):
        value = getattr(doc.value, "value", doc.value)
        if value is None:
            self.put("None")
        elif isinstance(value, str):
            self.put('"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"')
        elif getattr(doc.value, "dtype", "") == "bool":
            self.put(str(bool(value)))
        elif isinstance(value, int):
            self.put(str(value))
        elif math.isinf(value) or math.isnan(value):
            self.put(f'"{value}"')
        else:
            self.put(f"{value:.1f}" if value == round(value) else f"{value:.17g}")

    def IdDoc(self, doc):
        self.put(doc.name)

    def AttrAccessDoc(self, doc):
        self.child(doc.value, _ATOM)
        self.put(f".{doc.name}")

    def IndexDoc(self, doc):
        self.child(doc.value, _ATOM)
        self.put("[")
        if doc.indices:
            self.joined(doc.indices)
        else:
            self.put("()")
        self.put("]")

    def OperationDoc(self, doc):
        kind, operands, binds = doc.kind, doc.operands, _binds(doc)
        if kind == Kind.IfThenElse:
            if len(operands) != 3:
                raise ValueError(f"IfThenElse requires 3 operands, but got {len(operands)}")
            self.child(operands[1], binds)
            self.put(" if ")
            self.child(operands[0], binds, True)
            self.put(" else ")
            self.child(operands[2], binds, True)
        elif kind < Kind._UnaryEnd:
            self.put("not " if kind == Kind.Not else _SIGNS[kind])
            self.child(operands[0], binds)
        elif kind == Kind.Pow:
            self.child(operands[0], binds, True)
            self.put(" ** ")
            self.child(operands[1], _UNARY)
        else:
            self.child(operands[0], binds)
            self.put(f" {_SIGNS[kind]} ")
            self.child(operands[1], binds, True)

    def CallDoc(self, doc):
        self.child(doc.callee, _ATOM)
        self.put("(")
        self.joined(doc.args)
        for at, (name, value) in enumerate(zip(doc.kwargs_keys, doc.kwargs_values)):
            self.put(", " if at or doc.args else "")
            self.put(f"{name}=")
            self.doc(value)
        self.put(")")

    def LambdaDoc(self, doc):
        self.put("lambda ")
        self.joined(doc.args)
        self.put(": ")
        self.child(doc.body, _LAMBDA)

    def ListDoc(self, doc):
        self.put("[")
        self.joined(doc.elements)
        self.put("]")

    def TupleDoc(self, doc):
        self.put("(")
        self.joined(doc.elements)
        self.put(",)" if len(doc.elements) == 1 else ")")

    def DictDoc(self, doc):
        self.put("{")
        for at, (key, value) in enumerate(zip(doc.keys, doc.values)):
            self.put(", " if at else "")
            self.doc(key)
            self.put(": ")
            self.doc(value)
        self.put("}")

    def SliceDoc(self, doc):
        if doc.start is not None:
            self.doc(doc.start)
        self.put(":")
        if doc.stop is not None:
            self.doc(doc.stop)
        if doc.step is not None:
            self.put(":")
            self.doc(doc.step)

    def StmtBlockDoc(self, doc):
        for at, stmt in enumerate(doc.stmts):
            if at:
                self.line()
            self.doc(stmt)

    def bare(self, doc, least):
        """A tuple without its brackets, if it has so many elements."""
        if isinstance(doc, TupleDoc) and len(doc.elements) >= least:
            self.joined(doc.elements)
        else:
            self.doc(doc)

    def AssignDoc(self, doc):
        self.bare(doc.lhs, 0)
        if doc.annotation is not None:
            self.put(": ")
            self.doc(doc.annotation)
        if doc.rhs is not None:
            self.put(" = ")
            self.bare(doc.rhs, 2)
        self.inline_comment(doc)

    def IfDoc(self, doc):
        self.comment_lines(doc, True)
        self.put("if ")
        self.doc(doc.predicate)
        self.put(":")
        self.block(doc.then_branch)
        if doc.else_branch:
            self.line()
            self.put("else:")
            self.block(doc.else_branch)

    def WhileDoc(self, doc):
        self.comment_lines(doc, True)
        self.put("while ")
        self.doc(doc.predicate)
        self.put(":")
        self.block(doc.body)

    def ForDoc(self, doc):
        self.comment_lines(doc, True)
        self.put("for ")
        self.bare(doc.lhs, 0)
        if isinstance(doc.lhs, TupleDoc) and len(doc.lhs.elements) == 1:
            self.put(",")
        self.put(" in ")
        self.doc(doc.rhs)
        self.put(":")
        self.block(doc.body)

    def ScopeDoc(self, doc):
        self.comment_lines(doc, True)
        self.put("with ")
        self.doc(doc.rhs)
        if doc.lhs is not None:
            self.put(" as ")
            self.doc(doc.lhs)
        self.put(":")
        self.block(doc.body)

    def ExprStmtDoc(self, doc):
        self.doc(doc.expr)
        self.inline_comment(doc)

    def AssertDoc(self, doc):
        self.put("assert ")
        self.doc(doc.test)
        if doc.msg is not None:
            self.put(", ")
            self.doc(doc.msg)
        self.inline_comment(doc)

    def ReturnDoc(self, doc):
        self.put("return ")
        self.doc(doc.value)
        self.inline_comment(doc)

    def BreakDoc(self, doc):
        self.put("break")

    def ContinueDoc(self, doc):
        self.put("continue")

    def FunctionDoc(self, doc):
        if any(arg.comment is not None for arg in doc.args):
            raise InternalError("Function arg cannot have comment attached to them.")
        self.head(doc)
        self.put("def ")
        self.doc(doc.name)
        if doc.type_params:
            self.put("[")
            self.joined(doc.type_params)
            self.put("]")
        self.put("(")
        self.joined(doc.args)
        self.put(")")
        if doc.return_type is not None:
            self.put(" -> ")
            self.doc(doc.return_type)
        self.named_body(doc)
        self.apart(lambda: self.put("\n"))

    def ClassDoc(self, doc):
        self.head(doc)
        self.put("class ")
        self.doc(doc.name)
        self.named_body(doc)

    def CommentDoc(self, doc):
        self.comment_lines(doc, False)

    def DocStringDoc(self, doc):
        if doc.comment:
            self.docstring(doc.comment)


def _marked(printer, size):
    """For each character whether it is underlined."""
    marks = [False] * size
    for spans, value in ((sum(printer.spans, []), True), (printer.plain, False)):
        for start, end in spans:
            marks[start:end] = [value] * (min(end, size) - start)
    return marks


def to_python_script(doc, indent_spaces=4, print_line_numbers=False, num_context_lines=None, path_to_underline=None):
    """The text of a tree, with the parts of some paths underlined and only so many lines around them."""
    printer = _Printer(indent_spaces, path_to_underline)
    printer.doc(doc)
    text = printer.text.rstrip(" ")
    if text and not text.endswith("\n"):
        text += "\n"
    text = _decorated(text, _marked(printer, len(text)), print_line_numbers, num_context_lines).removesuffix("\n")
    return _paths(printer) + text


def _paths(printer):
    """The paths that were asked for, and which parts stand for those that are not shown."""
    rows = []
    for wanted, visible in zip(printer.paths, printer.visible):
        rows.append(f"Access path: {wanted}")
        if visible is None:
            rows.append("Note: No visible object for this path is rendered in TVMScript.")
        elif visible.steps != wanted.steps:
            rows.append("Note: The underlined object is the nearest visible parent of this path.")
    return "\n".join(rows) + "\n\n" if rows else ""


def _decorated(text, marks, numbered, context):
    lines = text.split("\n")[:-1] if text else []
    width = len(str(len(lines))) + 1 if numbered else 0
    shown, under, at = [], set(), 0
    for index, line in enumerate(lines):
        marked = marks[at : at + len(line) + 1]
        shown.append(f"{index + 1} ".rjust(width) + line if numbered else line)
        if any(marked):
            under.add(index)
            carets = "".join("^" if mark else " " for mark in marked[: len(line)]).rstrip()
            shown[-1] += "\n" + " " * width + (carets or "^")
        at += len(line) + 1
    if not under or context is None:
        return "".join(f"{line}\n" for line in shown)
    # Chunks of lines around what is underlined; a cut leaves out at least two lines.
    chunks = []
    for index in sorted(under):
        low, high = max(0, index - context), min(len(lines), index + 1 + context)
        if chunks and low < chunks[-1][1] + 2:
            chunks[-1][1] = high
        else:
            chunks.append([low, high])
    if chunks[0][0] < 2:
        chunks[0][0] = 0
    if len(lines) - chunks[-1][1] < 2:
        chunks[-1][1] = len(lines)
    made, last = "", 0
    for low, high in [*chunks, [len(lines), len(lines)]]:
        if low > last:
            made += f"(... {low - last} lines skipped ...)\n"
        made += "".join(f"{line}\n" for line in shown[low:high])
        last = high
    return made
