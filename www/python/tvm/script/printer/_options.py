"""Options of the printer that are applied to a finished text: names of namespaces, of the module and of a function."""

import re

_TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[\w.]+|.', re.DOTALL)
_NAMESPACES = {"ir": ("I", "tvm.script"), "tirx": ("T", "tvm.script"), "relax": ("R", "tvm.script")}


def prefixes(options):
    """The letters that stand for namespaces, where they are others than usual."""
    extra = dict(options.get("extra_config") or {})
    given = {"ir": options.get("ir_prefix") or extra.get("ir.prefix")}
    given |= {name: extra.get(f"{name}.prefix") for name in ("tirx", "relax")}
    return {name: prefix for name, prefix in given.items() if prefix and prefix != _NAMESPACES[name][0]}


def _replaced(text, change):
    """A text with `change` applied to each name, but to no string."""
    return "".join(change(token) if token[0].isalpha() or token[0] == "_" else token for token in _TOKENS.findall(text))


def renamed(text, options):
    """A text with other names for namespaces and for the module inside of itself."""
    wanted = prefixes(options)
    for name, prefix in wanted.items():
        letter = _NAMESPACES[name][0]
        text = re.sub(rf"^# from tvm.script import {name} as {letter}$", f"# from tvm.script import {name} as {prefix}", text, flags=re.MULTILINE)
    heads = {_NAMESPACES[name][0]: prefix for name, prefix in wanted.items()}

    def change(token):
        head, dot, rest = token.partition(".")
        return f"{heads[head]}{dot}{rest}" if dot and head in heads else token

    if heads:
        text = _replaced(text, change)
    alias = options.get("module_alias")
    if alias is not None and alias != "cls":
        text = _with_alias(text, alias)
    if options.get("float_dtype"):
        text = re.sub(rf"\bT\.{options['float_dtype']}\((-?[\d.]+(?:e[+-]?\d+)?)\)", r"\1", text)
    return text


def _with_alias(text, alias):
    """A text in which functions say another name for their module; without one they say that of the class."""
    if alias == "Module":
        text = re.sub(r"^class Module:$", "class Module_1:", text, flags=re.MULTILINE)
        text = re.sub(r"^( +)cls = Module$", r"\1cls = Module_1", text, flags=re.MULTILINE)
    if not alias:
        text, alias = re.sub(r"^ +cls = \w+\n", "", text, flags=re.MULTILINE), "Module"

    def change(token):
        head, dot, rest = token.partition(".")
        return f"{alias}{dot}{rest}" if head == "cls" else token

    return _replaced(text, change)


def named(text, name, symbol):
    """A text in which a module or a function has a name that is given; the function keeps its own among its attributes."""
    if symbol is None:
        text = re.sub(r"^class Module:$", f"class {name}:", text, flags=re.MULTILINE)
        return re.sub(r"^( +)(\w+) = Module$", rf"\1\2 = {name}", text, flags=re.MULTILINE)
    if name == symbol:
        return text
    lines = re.sub(rf"^def {re.escape(symbol)}\(", f"def {name}(", text, count=1, flags=re.MULTILINE).split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith("def ")) + 1
    while re.fullmatch(r" +\w+ = T\.\w+\(\)", lines[start]):
        start += 1
    letter = "R" if any(line.startswith("@R.") for line in lines) else "T"
    if f"    {letter}.func_attr({{" in lines[start]:
        lines[start] = lines[start].replace("func_attr({", f'func_attr({{"global_symbol": "{symbol}", ', 1)
    else:
        lines.insert(start, f'    {letter}.func_attr({{"global_symbol": "{symbol}"}})')
    return "\n".join(lines)
