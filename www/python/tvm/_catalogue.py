"""The passes, operators and keys of the configuration that the engine has, as it lists them itself."""

import functools
import json

from . import _engine


@functools.cache
def catalogue():
    """Everything there is to choose from."""
    return json.loads(_engine.call("table_catalogue"))


@functools.cache
def passes(dialect):
    """The passes for programs of a dialect (`relay`, `relax`, `tir`) by name."""
    return {item["name"]: item for item in catalogue()["passes"] if dialect in item["dialects"]}


@functools.cache
def earlier_names():
    """Names that passes over tensor programs had before, and those of today."""
    return dict(catalogue()["earlier"])


@functools.cache
def relax_operators():
    """Operators of Relax by name: `(arguments as (name, kind, may be left out), order by place, takes more, attributes)`."""
    attrs = {op["name"]: op["attrs"] for op in catalogue()["ops"] if "relax" in op["dialects"]}
    return {name: (args, order, variadic, attrs.get(f"R.{name}", [])) for name, args, order, variadic, _ in catalogue()["relax"]}


@functools.cache
def lowered_operators():
    """True for each of the shapes of arguments and of the result that have to be known to lower a call of an operator of Relax, by its
    name. An operator that is not lowered is not in it."""
    return {name: needs for name, *_, needs in catalogue()["relax"] if needs is not None}


def operators():
    """All operators of Relax."""
    return [{"name": name} for name in relax_operators()]


@functools.cache
def relay_operators():
    """Operators of Relay by name, as the engine describes them."""
    return {op["name"]: op for op in catalogue()["ops"] if "relay" in op["dialects"]}
