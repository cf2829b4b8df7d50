"""Programs as texts."""

import difflib
import warnings

from ... import _engine
from ..._node import EXPR, PRIM, TYPE, number
from . import _marked, _options

_ELSEWHERE = (
    "int_dtype float_dtype indent_spaces print_line_numbers num_context_lines syntax_sugar show_object_address show_all_ty extra_config "
    "path_to_underline path_to_annotate obj_to_underline obj_to_annotate"
).split()
"""Options of TVM's printer that the engine's does not have."""


def _check(options):
    for option in ("ir_prefix", "module_alias"):
        prefix = options.get(option)
        if prefix and not prefix.isidentifier():
            raise RuntimeError(f"Invalid `{option}`: {prefix} is no name of Python")
    for option in options:
        if option in ("ir_prefix", "module_alias", "extra_config", "float_dtype"):
            continue
        if option in _ELSEWHERE:
            warnings.warn(f"script: {option} changes nothing here", stacklevel=4)
            continue
        meant = difflib.get_close_matches(option, ["name", "show_meta", "verbose_expr", *_ELSEWHERE], 1)
        hint = f"; did you mean {meant[0]}?" if meant else ""
        raise TypeError(f"script() got an unexpected keyword argument '{option}'{hint}")


def script(node, *, name=None, show_meta=False, verbose_expr=False, **options):
    """The text of a module, function, expression or type."""
    text = _script(node, show_meta, verbose_expr, options)
    if name is not None and _is_program(node):
        text = _options.named(text, name, _symbol_of(node))
    return _options.renamed(text, options)


def _symbol_of(node):
    """The name that a function has in its text; None for a module."""
    from ...ir.module import IRModule

    return None if isinstance(node, IRModule) else str((node.attrs or {}).get("global_symbol", "main"))


def _script(node, show_meta, verbose_expr, options):
    """The same with the usual names."""
    if _marked.wants(options) and _is_program(node):
        _check({option: value for option, value in options.items() if option not in _marked.OPTIONS})
        return _marked.script(node, show_meta, options)
    _check(options)
    from ...ir.expr import Expr, GlobalVar
    from ...ir.module import IRModule
    from ...ir.op import Op
    from ...ir.type import Type
    from ...ir.expr import Range
    from ...relax.expr import Binding, BindingBlock
    from ...tirx.buffer import is_buffer_var
    from ...tirx.expr import IterVar
    from ...tirx.stmt import BufferRegion, MatchBufferRegion, Stmt

    if isinstance(node, IRModule):
        words = _engine.words(node._words())
        if node._relay:
            return _relay_text(node, 2 if show_meta else 0)
        return _engine.call("table_print", words, 1 | (2 if show_meta else 0))
    if isinstance(node, Type):
        return type_text(node, verbose_expr)
    if isinstance(node, (Binding, BindingBlock)):
        return _bindings(node)
    if isinstance(node, (GlobalVar, Op)):
        return str(node)
    if isinstance(node, Stmt):
        return _body_of(node)
    if isinstance(node, Expr) and _is_scalar(node):
        return _scalar_text(node, verbose_expr)
    if is_buffer_var(node) or isinstance(node, BufferRegion):
        return _buffer_text(node, verbose_expr)
    if isinstance(node, MatchBufferRegion):
        return _match_text(node)
    if isinstance(node, Range):
        return f"I.Range({node.min}, {node.min + node.extent})"
    if isinstance(node, IterVar):
        name = node.var.name.replace(".", "_")
        dom = "None" if node.dom is None else f"T.Range({node.dom.min}, {node.dom.min + node.dom.extent})"
        text = f'T.iter_var({name}, {dom}, "{ITER_TYPES[node.iter_type]}", "{node.thread_tag}")'
        return f"{node.var.name} = T.{node.var.dtype}()\n{text}" if verbose_expr else text
    if isinstance(node, Expr):
        flags = (2 if show_meta else 0) | (4 if verbose_expr else 0)
        if getattr(node, "_is_relay", False):
            return _relay_text(node, flags)
        _engine.dialect(True)
        return _engine.call("table_print_node", 0, number(EXPR, node), 1 | flags)
    structural = getattr(node, "_structural", None)
    if structural is not None:
        return f"{type(node).__name__}({', '.join(str(part) for part in structural())})"
    return object.__repr__(node)


def _is_program(node):
    from ...ir.function import BaseFunc
    from ...ir.module import IRModule

    return isinstance(node, BaseFunc) and not getattr(node, "_is_relay", False) or isinstance(node, IRModule) and not node._relay


def _body_of(stmt):
    """A statement, behind declarations of what it does not define."""
    from ...tirx.function import PrimFunc
    from ...tirx.stmt import AttrStmt, Evaluate, SBlock, SBlockRealize, SeqStmt

    # A block alone would be taken for the root of the function, and an attribute is only written in short at its end.
    alone, ends = isinstance(stmt, (SBlock, SBlockRealize)), isinstance(stmt, AttrStmt)
    body = SeqStmt([stmt, Evaluate(0)]) if ends else SeqStmt._of([stmt]) if alone else stmt
    text = _engine.call("table_print_node", 0, number(EXPR, PrimFunc([], body)), 0)
    lines = text.rstrip("\n").split("\n")[: -1 if ends else None]
    at = next(at for at, line in enumerate(lines) if line.startswith("def "))
    head = [line for line in lines[:at] if line and not line.startswith(("@", "#"))]
    return "\n".join(head + [line[4:] for line in lines[at + 1 :]]).rstrip("\n")


def _match_text(node):
    """A buffer that is a part of another, behind a declaration of that."""
    from ...tirx.stmt import Evaluate, SBlock

    lines = _body_of(SBlock([], [], [], "", Evaluate(0), match_buffers=[node])).split("\n")
    return "\n".join(line.strip() for line in lines if " = T.Buffer(" in line or " = T.match_buffer(" in line)


def _is_scalar(node):
    from ...ir.expr import Var
    from ...tirx.expr import PrimCall, PrimNode

    return isinstance(node, (PrimNode, PrimCall)) and not isinstance(node, Var)


ITER_TYPES = "DataPar ThreadIndex CommReduce Ordered Opaque Unrolled Vectorized Parallelized Tensorized".split()


def _buffer_text(node, verbose):
    """A buffer or a part of one."""
    from ...tirx.expr import BufferLoad
    from ...tirx.stmt import Evaluate

    buffer = getattr(node, "buffer", node)
    ends = [(item.min, item.min + item.extent) for item in getattr(node, "region", ())]
    parts = ", ".join(str(low) if str(high) == str(low + 1) else f"{low}:{high}" for low, high in ends)
    text = f"{buffer.name}[{parts}]" if ends else buffer.name
    if not verbose:
        return text
    head = _body_of(Evaluate(BufferLoad(buffer, [0] * len(buffer.shape)))).rpartition("\n")[0]
    return f"{head}\n{text}"


def _scalar_text(node, verbose=False):
    """A scalar as it stands in a tensor program."""
    from ...tirx.expr import Reduce
    from ...tirx.stmt import Evaluate

    if isinstance(node, Reduce):
        parts = [f"source={list(node.source)}", f"init={list(node.init)}", f"axis={list(node.axis)}"]
        parts += [f"condition={node.condition}", f"value_index={node.value_index}"]
        return f"T.reduce({node.combiner}, {', '.join(parts)})"
    head, _, line = _body_of(Evaluate(node)).rpartition("\n")
    line = line[len("T.evaluate(") : -1] if line.startswith("T.evaluate(") else line
    return f"{head}\n{line}" if verbose and head else line


def _bindings(node):
    """A block or a binding, behind declarations of what it uses."""
    from ...ir.expr import Tuple
    from ...relax.expr import BindingBlock, SeqExpr

    _engine.dialect(True)
    block = node if isinstance(node, BindingBlock) else BindingBlock([node])
    text = _engine.call("table_print_node", 0, number(EXPR, SeqExpr([block], Tuple([]))), 0)
    return text.rpartition("\n")[0]


def type_text(ty, verbose=False):
    """The text of a type."""
    _engine.dialect(not getattr(ty, "_is_relay", False))
    return _engine.call("table_print_node", 1, number(TYPE, ty), 4 if verbose else 0)


def astext(node, show_meta_data=True, annotate=None):
    """The text of a program of Relay, with what `annotate` says of each node instead of its type."""
    return _relay_text(node, 1 | (2 if show_meta_data else 0), annotate)


def _relay_text(node, flags, annotate=None):
    """The text of a program with the places that its nodes were given."""
    from ...ir.module import IRModule
    from ...relay import _spans

    whole = isinstance(node, IRModule)
    relay = node._relay if whole else getattr(node, "_is_relay", False)
    if not whole:
        _engine.dialect(not relay)
        ref = number(EXPR, node)
    words = _engine.words(node._words() if whole else [])
    nodes, texts = _spans.notes(list(node.functions.values()) if whole else [node], annotate) if relay else ([], [])
    if nodes or annotate is not None:
        flags |= 0 if annotate is None else 8
        return _engine.call("table_print_noted", words, 0 if whole else ref, flags, _engine.words(nodes), texts)
    return _engine.call("table_print", words, flags) if whole else _engine.call("table_print_node", 0, ref, flags)


_saved = {}


def to_json(node):
    """A text from which `of_json` makes an equal thing, in this session."""
    import json

    from ...ir.module import IRModule

    key = f"{len(_saved)}"
    _saved[key] = node.clone() if isinstance(node, IRModule) else node
    return json.dumps({"metadata": {"tvm_version": "0.27.0"}, "passlab": key})


def of_json(text):
    """The object that `to_json` was given; of JSON that TVM wrote, a program or the metadata of one."""
    import json

    from ...script.parser import Metadata, read_program

    data = json.loads(text)
    if "passlab" in data:
        if data["passlab"] in _saved:
            return _saved[data["passlab"]]
        raise ValueError("this JSON was written by another run of the script")
    nodes = data.get("nodes") or [{}]
    root = nodes[data.get("root_index", data.get("root", 0))]
    kind = root.get("type", root.get("type_key", ""))
    if kind == "ir.IRModule":
        return read_program(text)
    if kind == "IRModule":
        from ...relay.parser import read

        return read(text)
    if kind == "ffi.Map":
        return Metadata(text, nodes, root["data"])
    raise ValueError(f"JSON of an object of type `{kind}` is not read here; a module or the metadata of a program is")


_ = PRIM
