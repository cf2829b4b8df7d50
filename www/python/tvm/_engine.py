"""The engine, as Python calls it. The only module that knows of JavaScript.

Design of the boundary: Python has its own objects (`_node`), each of which knows the number of the node that it is in the
engine, once it has one. Nothing of a node changes, so it crosses once: `read` brings everything that is reachable from a
thing and was not read before, as rows of numbers; `write` takes rows of what is new. All work on programs (parsing,
printing, comparing, inferring types, passes, evaluation) is the engine's and refers to nodes by their numbers.
"""

from array import array

import _passlab as _js
from pyodide.ffi import JsException, create_proxy, to_js

from . import error as _error


class EngineError(_error.InternalError, ValueError):
    """A message of the engine. TVM has two classes for those: one for a broken promise, one for a value that does not fit."""

    @property
    def message(self):
        """The whole message, with the name of a class before it where the engine says one."""
        return self.__dict__.get("_message", str(self))


_KINDS = {kind.__name__: type("EngineError", (EngineError, kind), {}) for kind in (TypeError, AttributeError, KeyError, IndexError)}
"""Classes of messages that begin with the name of a class of Python."""


def error_of(message):
    """The exception for a message of the engine."""
    kind, colon, rest = message.partition(": ")
    named = colon and (kind in _KINDS or kind in ("InternalError", "ValueError"))
    found = _KINDS.get(kind, EngineError)(rest) if named else EngineError(message)
    found._message = message
    return found


_pending = []
"""Exceptions of Python that are on their way through the engine."""


def pending():
    """The exception of Python that the engine made a message of; None where it was none."""
    found = _pending[-1] if _pending else None
    _pending.clear()
    return found


def _raise(exc):
    if _pending:
        pending = _pending.pop()
        _pending.clear()
        raise pending from None
    message = exc.message if hasattr(exc, "message") else str(exc)
    if message == "unreachable":
        message = "the engine broke: this is a fault of passlab, and what follows in this run fails, too"
    raise error_of(message) from None


def _give(value):
    # A view of the bytes: a proxy would be asked for each of them.
    if isinstance(value, (array, bytes, bytearray)):
        return to_js(value)
    if isinstance(value, (list, tuple, dict)):
        return to_js(value, dict_converter=_js_object)
    return value


def _js_object(entries):
    from js import Object  # noqa: PLC0415

    return Object.fromEntries(entries)


def _take(value):
    if hasattr(value, "to_py"):
        value = value.to_py()
        return value.tolist() if isinstance(value, memoryview) else value
    return value


def call(name, *args):
    """Calls a function that the engine exports for scripts. Lists of numbers are given as `array("I")`."""
    try:
        return _take(getattr(_js, name)(*[_give(arg) for arg in args]))
    except JsException as exc:
        _raise(exc)


def words(numbers=()):
    """Numbers as the engine takes them."""
    return array("I", numbers)


_host = None


def _call_host(what, index, numbers, info):
    try:
        result = _host(what, index, _take(numbers), _take(info))
        return _give(result) if result is not None else None
    except BaseException as exc:
        _pending.append(exc)
        raise


def set_host(function):
    """The function that the engine calls for passes and instruments of the user: `(what, index, words, info)`."""
    global _host
    first = _host is None
    _host = function
    if first:
        _js.user_host(create_proxy(_call_host))


_relax = None
# Functions that forget what is named after a dialect.
when_dialect_changes = []


def dialect(relax):
    """Says in which dialect nodes are made and texts are written from now on."""
    global _relax
    if _relax != relax:
        _js.user_dialect(relax)
        _relax = relax
        for forget in when_dialect_changes:
            forget()


def is_relax():
    """True if nodes are made in Relax, not in Relay."""
    return _relax is not False


# The package may be imported anew, as the page does for every run.
call("table_forget")
dialect(True)
