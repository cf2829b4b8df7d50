"""Texts of Relay as programs."""

import base64
import json
import re
import struct

from .. import _engine
from .._node import EXPR, get
from ..error import DiagnosticError
from ..ir.module import IRModule
from ..ir.op import tell_registered

_BEFORE = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_VERSION = re.compile(r"#\[\s*version\s*=\s*(.*?)\s*\]")


def _parse(text):
    tell_registered()
    _engine.dialect(False)
    rest = text[_BEFORE.match(text).end() :]
    if not rest.startswith(("#[", "{")):
        text = f'#[version = "0.0.5"]\n{text}'
    words, expr, found = _engine.call("table_parse", text, _engine.words([0]), "", False)
    errors = [item[1] for item in found if item[0] == "error"]
    if errors:
        raise DiagnosticError("\n".join(errors))
    return words, expr


def _with_module(source, module):
    """A text with the types and the functions of a module before its own, which may name them; of functions only what they take and
    give. None if there are none, or if that cannot be written."""
    if module is None or not (len(module) or len(module.type_definitions)):
        return None
    head, mark, rest = source.partition("]\n") if source.lstrip().startswith("#[version") else ("", "", source)
    types = IRModule({}, module.type_definitions)
    types._relay = True
    stubs = [_stub(var.name_hint, func) for var, func in module.functions.items() if f"def @{var.name_hint}" not in rest]
    if None in stubs:
        return None
    text = "\n".join([types.astext(False).partition("\n")[2], *stubs])
    return f"{head}{mark}{text}\n{rest}"


def _with_constructors(functions, module):
    """Functions over the constructors that a module has already, of which they have others by the same names."""
    from .adt import PatternConstructor
    from .expr_functor import ExprMutator

    own = {one.name_hint: one for data in module.type_definitions.values() for one in data.constructors}

    class Known(ExprMutator):
        """Replaces constructors."""

        def visit_constructor(self, con):
            return own.get(con.name_hint, con)

        def visit_pattern(self, p):
            if isinstance(p, PatternConstructor):
                return PatternConstructor(self.visit_constructor(p.constructor), [self.visit_pattern(part) for part in p.patterns])
            return super().visit_pattern(p)

    return {var: Known().visit(func) for var, func in functions.items()}


def _stub(name, func):
    """A function that takes and gives what another does."""
    types = [param.type_annotation for param in func.params]
    if func.ret_type is None or None in types:
        return None
    params = ", ".join(f"%a{at}: {ty}" for at, ty in enumerate(types))
    generics = f"[{', '.join(var.name_hint for var in func.type_params)}]" if func.type_params else ""
    args = ", ".join(f"%a{at}" for at in range(len(types)))
    return f"def @{name}{generics}({params}) -> {func.ret_type} {{ @{name}({args}) }}"


def _check_version(source):
    """Refuses a text that does not begin with the version of its format."""
    rest = source[_BEFORE.match(source).end() :]
    found = _VERSION.match(rest)
    if found is None:
        raise DiagnosticError(f'expected text format semantic version, found a {rest.split(None, 1)[0] if rest else "end of file"}\nyou can annotate it as #[version = "0.0.5"]')
    if found[1] != '"0.0.5"':
        raise DiagnosticError(f"invalid semantic version `{found[1]}`")


def parse(source, source_name="from_string", init_module=None, init_meta_table=None):
    """The module that a text is, with types. Its metadata may be given: lists of things by their type."""
    _check_version(source)
    return read(source, init_module, init_meta_table)


def read(source, init_module=None, init_meta_table=None):
    """The module of a text that need not name its version, or of TVM's JSON."""
    if init_meta_table and "#[metadata]" not in source:
        source = f"{source.rstrip()}\n#[metadata]\n{_metadata(init_meta_table)}"
    known = set()
    try:
        words, expr = _parse(source)
    except DiagnosticError:
        whole = _with_module(source, init_module)
        if whole is None:
            raise
        words, expr = _parse(whole)
        known = {var.name_hint for var in init_module.functions if f"def @{var.name_hint}" not in source}
    if expr:
        return IRModule.from_expr(get(EXPR, expr - 1))
    mod = IRModule._of_words(words)
    if init_module is not None:
        whole = init_module.clone()
        whole._relay = True
        there = {name for name in mod.type_definitions if name in whole.type_definitions}
        whole.type_definitions.update({name: data for name, data in mod.type_definitions.items() if name not in there})
        new = {var: func for var, func in mod.functions.items() if var.name_hint not in known}
        whole.update(_with_constructors(new, init_module) if there else new)
        mod = whole
    from .transform import InferType

    return InferType()(mod) if len(mod) else mod


class _Nodes:
    """The graph of a metadata section."""

    def __init__(self):
        self.list = [{"type_key": ""}]
        self.arrays = []

    def add(self, key, attrs=None, **rest):
        """Adds a node and gives its number."""
        node = {"type_key": key, **({"attrs": attrs} if attrs is not None else {}), **rest}
        self.list.append(node)
        return len(self.list) - 1

    def text(self, text):
        """Adds a text."""
        return self.add("runtime.String", **({"repr_str": text} if text else {}))

    def value(self, value):
        """Adds a value of a list of the table."""
        if value is None:
            return 0
        if hasattr(value, "virtual_device_id"):
            attrs = {"device_type_int": str(value.device_type_int), "virtual_device_id": str(value.virtual_device_id)}
            attrs["target"] = str(self.target(value.target))
            attrs["memory_scope"] = str(self.text(value.memory_scope))
            return self.add("VirtualDevice", attrs)
        if hasattr(value, "data") and hasattr(value.data, "numpy"):
            self.arrays.append(_saved(value.data.numpy()))
            zeros = dict.fromkeys(("_checked_type_", "span", "virtual_device_"), "0")
            return self.add("relay.Constant", {**zeros, "data": str(len(self.arrays) - 1)})
        if isinstance(value, str):
            return self.text(value)
        raise TypeError(f"a metadata table holds devices, constants and texts here, not {type(value).__name__}")

    def target(self, target):
        """Adds a target."""
        if target is None:
            return 0
        attrs = {"kind": self.add("TargetKind", repr_str=target.kind.name), "tag": self.text(target.tag)}
        attrs["keys"] = self.add("Array", data=[self.text(key) for key in target.keys])
        attrs |= {"attrs": self.add("Map"), "features": self.add("Map"), "host": self.target(target.host)}
        return self.add("Target", {key: str(number) for key, number in attrs.items()})


def _saved(array):
    """A tensor as TVM saves it, in base64."""
    code = {"i": 0, "u": 1, "b": 1, "f": 2}[array.dtype.kind]
    bits = 1 if array.dtype.kind == "b" else array.dtype.itemsize * 8
    head = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, code, bits, 1)
    shape = struct.pack(f"<{array.ndim}q", *array.shape)
    data = array.tobytes()
    return base64.b64encode(head + shape + struct.pack("<q", len(data)) + data).decode()


def _metadata(table):
    """The metadata section for a table."""
    nodes = _Nodes()
    root = nodes.add("Map", keys=[], data=[])
    for key, values in table.items():
        nodes.list[root]["keys"].append(str(key))
        nodes.list[root]["data"].append(nodes.add("Array", data=[nodes.value(value) for value in values]))
    versions = {"tvm_version": "0.19.0"}
    return json.dumps({"root": root, "nodes": nodes.list, "b64ndarrays": nodes.arrays, "attrs": versions})


def parse_expr(source):
    """The expression that a text is."""
    words, expr = _parse(source)
    if not expr:
        mod = IRModule._of_words(words)
        return mod["main"]
    return get(EXPR, expr - 1)


def fromtext(data, source_name=None):
    """The module or expression that a text is."""
    words, expr = _parse(data)
    return get(EXPR, expr - 1) if expr else parse(data)


def SpanCheck():
    """Spans are the engine's and always there."""
    from ..ir.transform import PassInfo, PyModulePass

    return PyModulePass(lambda mod, ctx: mod, PassInfo(0, "SpanCheck"))
