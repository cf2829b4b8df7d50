"""Scripts of the page's *My passes*: runs one, and says what it defines and where it went wrong.

The page imports everything anew for each run, so that a run begins with nothing of the one before it.
"""

import inspect
import io
import json
import linecache
import re
import sys
import time
import traceback
import types

import _passlab_page

from . import _engine
from .ir import instrument as _instrument
from .ir import transform as _transform
from .ir.module import IRModule

FILE = "my_passes.py"
_MOST = 100
_MOST_STEPS = 500
_ROOM = 2_000_000
"""Characters of modules that are given to the page."""


class _Console(io.TextIOBase):
    """Gives whole lines to the page."""

    def __init__(self):
        self._rest = ""

    def writable(self):
        return True

    def write(self, text):
        *lines, self._rest = (self._rest + str(text)).split("\n")
        for line in lines:
            _passlab_page.print(line)
        return len(text)

    def flush_rest(self):
        """Prints what has no end of line yet."""
        if self._rest:
            _passlab_page.print(self._rest)
        self._rest = ""


class _Notebook:
    """Watches the passes that a script runs: each with the module that it makes, in their order."""

    name = "notebook"
    active = False

    def __init__(self):
        self.open, self.steps, self.left_out = [], [], 0

    def run_before_pass(self, mod, info):
        """Notes when the pass begins."""
        if self.active:
            self.open.append((info.name, mod, time.perf_counter(), len(self.steps)))

    def run_after_pass(self, mod, info):
        """Keeps what the pass made. A pass that runs others is a step only if it changes the module after them."""
        while self.open:
            name, before, start, count = self.open.pop()
            if name != info.name:
                continue
            inner = self.steps[count:]
            if len(self.steps) == _MOST_STEPS:
                self.left_out += 1
            elif not (inner and inner[-1][2]._words() == mod._words()):
                millis = (time.perf_counter() - start) * 1000
                self.steps.append((name, inner[-1][2] if inner else before, mod, millis))
            return


def _text_of(mod, room):
    """The text of a module; where its constants alone, in base64, take more than the room, without their values."""
    words = _engine.words(mod._words())
    if _engine.call("table_constants", words) * 4 / 3 < room:
        return mod.astext() if mod._relay else mod.script(show_meta=True)
    return _engine.call("table_print", words, 1 | (4 if mod._relay else 0))


def _say_full(what, kept):
    _passlab_page.print(f"{what} kept: {len(kept)}. With the next, their texts are longer than {_ROOM:,} characters.")


def _steps(namespace, watched):
    """The modules that the script made and the results of its passes, as files in their order; none where it ran no pass."""
    if not watched:
        return []
    relay = watched[0][1]._relay
    named = {}
    for name, value in namespace.items():
        if isinstance(value, IRModule) and not name.startswith("_") and value._relay == relay:
            named.setdefault(tuple(value._words()), (name, value))
    files, seen, room, last = [], set(), _ROOM, None

    def add(name, mod, time=""):
        nonlocal room, last
        words = last = tuple(mod._words())
        seen.add(words)
        text = _text_of(mod, room) if room >= 0 else ""
        room -= len(text)
        if room >= 0:
            safe = re.sub(r"[^\w.<>-]", "_", name)
            files.append({"name": f"{len(files):03}_{safe}{time}.{'relay' if relay else 'py'}", "text": text})

    for name, before, after, millis in watched:
        if after._relay != relay or before._relay != relay:
            continue
        words = tuple(before._words())
        if words != last:
            add(named.get(words, ("module",))[0], before)
        add(name, after, f"@{millis:.3f}ms")
    for words, (name, mod) in named.items():
        if words not in seen:
            add(name, mod)
    if room < 0:
        _say_full("Steps", files)
    return files


_notebook = _Notebook()
_console = _Console()
_source = ""
_problems = []
_thrown = {}


def _place(exc):
    """The innermost place of the script in a traceback: line and column, both from 1."""
    if isinstance(exc, SyntaxError) and exc.filename == FILE:
        return exc.lineno, exc.offset or 1, exc.end_lineno, exc.end_offset
    found = None
    for frame in traceback.extract_tb(exc.__traceback__):
        if frame.filename == FILE:
            end = None if frame.end_colno is None else _characters(frame.end_lineno, frame.end_colno) + 1
            found = (
                frame.lineno,
                _characters(frame.lineno, frame.colno or 0) + 1,
                frame.end_lineno,
                end,
            )
    return found


def _characters(line, column):
    """A column in bytes as a column in characters."""
    return len(linecache.getline(FILE, line).encode()[:column].decode(errors="ignore"))


def _words(exc):
    """The name and the message of an exception."""
    try:
        if isinstance(exc, RecursionError):
            return "RecursionError: the visit goes too deep for the stack"
        if isinstance(exc, SyntaxError):
            return f"{type(exc).__name__}: {exc.msg}"
        name = type(exc).__name__
        text = str(exc)
        return f"{name}: {text}" if text else name
    except BaseException:  # noqa: BLE001 - a message of the user's own may raise anything
        return "something that cannot be put into words was raised"


def _frames(exc):
    """The lines of the script that led to the place, outermost first."""
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if frame.filename == FILE]
    return [f"line {frame.lineno}, in {frame.name}: {frame.line}" for frame in frames[:-1][-8:]]


def _problem(exc, code="user-error"):
    return {"message": _words(exc), "place": _place(exc), "notes": _frames(exc), "code": code}


def _tell(problem):
    if len(_problems) < _MOST and problem not in _problems:
        _problems.append(problem)


def thrown():
    """The message of the exception that goes through the engine, and its problem if it stays uncaught, as JSON."""
    exc = _engine._pending[-1] if _engine._pending else None
    if exc is None:
        return json.dumps(["an exception was raised", None])
    problem = _problem(exc)
    known = _thrown.get(problem["message"])
    if known:
        return json.dumps(known)
    text = problem["message"]
    if problem["place"]:
        text += f" (line {problem['place'][0]} of My passes)"
    _thrown[problem["message"]] = _thrown[text] = [text, problem]
    return json.dumps([text, problem])


def _doc(thing):
    text = inspect.getdoc(thing)
    return text.split("\n\n")[0] if text else ""


def _of_script(cls):
    return getattr(cls, "__module__", None) == "__main__"


def _defined(namespace):
    """Passes and instruments that the names of the script stand for, in order. A class without parameters is made."""
    passes, instruments = [], []
    for value in list(namespace.values()):
        if inspect.isclass(value) and _of_script(value):
            if not issubclass(value, (_transform.UserPass, _instrument.PassInstrument)):
                continue
            try:
                value = value()
            except Exception:  # noqa: BLE001 - its parameters have no defaults: it is made where it is used
                continue
        if isinstance(value, _transform.UserPass):
            if all(other.info.name != value.info.name for other in passes):
                passes.append(value)
        elif isinstance(value, _transform.Sequential) and value.info.name != "sequential":
            passes.append(value)
        elif isinstance(value, _instrument.PassInstrument) and _of_script(type(value)):
            if all(other.name != value.name for other in instruments):
                instruments.append(value)
    return passes, instruments


def _modules(namespace):
    """The modules that names of the script stand for, as texts; of one under two names the first."""
    found, seen, room = [], set(), _ROOM
    for name, value in list(namespace.items()):
        if not isinstance(value, IRModule) or name.startswith("_") or id(value) in seen:
            continue
        if len(found) == _MOST:
            _passlab_page.print(f"Modules kept: the first {_MOST}.")
            break
        seen.add(id(value))
        text = _text_of(value, room)
        room -= len(text)
        if room < 0:
            _say_full("Modules", found)
            break
        found.append({"name": name, "text": text})
    return found


def _report(namespace):
    passes, instruments = _defined(namespace)
    descs = []
    shown = []
    for item in passes:
        info = item.info
        if _engine.call("user_has_pass", info.name):
            message = f"there is a pass called {info.name} already: give yours another name"
            _tell({"message": message, "place": None, "notes": [], "code": "user-error"})
            continue
        place = item._describe(descs)
        descs[place]["listed"] = True
        shown.append(
            {
                "name": info.name,
                "kind": item._kind,
                "optLevel": info.opt_level,
                "required": list(info.required),
                "doc": _doc(getattr(item, "_function", item)),
            }
        )
    made = [_transform._instrument_desc(item) for item in instruments]
    hooks = [
        {
            "name": item.name,
            "hooks": [hook for hook in _instrument._METHODS if _has_hook(item, hook)],
            "doc": _doc(type(item)),
        }
        for item in instruments
    ]
    return {
        "passes": shown,
        "instruments": hooks,
        "modules": _modules(namespace),
        "steps": _steps(namespace, _notebook.steps),
        "forEngine": [descs, made],
    }


def _has_hook(item, hook):
    if hook in item.__dict__:
        return True
    return getattr(type(item), hook, None) is not getattr(_instrument.PassInstrument, hook)


def load(source):
    """Runs a script; gives JSON of what it defines."""
    global _source
    _source = source
    sys.stdout = sys.stderr = _console
    _transform._setup()
    _transform.watch(_notebook)
    _notebook.active = True
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    main = types.ModuleType("__main__")
    main.__file__ = FILE
    sys.modules["__main__"] = main
    try:
        code = compile(source, FILE, "exec")
    except (SyntaxError, ValueError) as exc:
        _tell(_problem(exc, "user-syntax"))
    else:
        try:
            exec(code, main.__dict__)  # noqa: S102 - the script that the user asked to be run
        except SystemExit:
            pass
        except BaseException as exc:  # noqa: BLE001 - each is told at its place
            _tell(_problem(exc))
    _notebook.active = False
    _console.flush_rest()
    if _notebook.left_out:
        _passlab_page.print(f"Steps kept: the first {_MOST_STEPS}; {_notebook.left_out} more passes ran.")
    try:
        report = _report(main.__dict__)
    except BaseException as exc:  # noqa: BLE001
        _tell(_problem(exc))
        report = {"passes": [], "instruments": [], "forEngine": [[], []]}
    return json.dumps({**report, "problems": _problems})


def after(messages):
    """Gives JSON of all problems, once it is known which messages ended passes."""
    _console.flush_rest()
    for message in json.loads(messages):
        found = _thrown.get(message)
        if found:
            _tell(found[1])
    return json.dumps(_problems)
