"""Options of passes over tensor programs: a node for each pass that has several, which stands in the configuration of a context."""

from .._node import Object

_FIELDS = {
    "tirx.UnrollLoop": {
        "auto_max_step": 0,
        "auto_max_depth": 8,
        "auto_max_extent": 0,
        "explicit_unroll": 1,
        "unroll_local_access": 0,
    },
    "tirx.StmtSimplify": {
        "transitively_prove_inequalities": False,
        "convert_boolean_to_and_of_ors": False,
        "apply_constraints_to_boolean_branches": False,
    },
    "tirx.RemoveNoOp": {"max_simplification_steps": 0, "ignore_profiler_call": False},
    "s_tir.LoopPartition": {
        "partition_const_loop": False,
        "no_unroll_loop_with_extent_one": False,
        "unroll_loop_with_partition_hint_no_interval": False,
    },
    "s_tir.InjectDoubleBuffer": {"split_loop": 1},
    "s_tir.HoistIfThenElse": {"support_block_scope_hoisting": False},
    "s_tir.HoistExpression": {"hoisted_conditionals": 7, "hoisted_let_bindings": 7},
}
"""Options by the key that they have in a configuration, with their defaults."""


class PassConfig(Object):
    """The options of one pass."""

    def __init__(self, **fields):
        for name in fields:
            if name not in self._defaults:
                raise TypeError(f"Type `{self._key}` does not have field `{name}`")
        for name, default in self._defaults.items():
            value = fields.get(name, default)
            self.__dict__[name] = type(default)(getattr(value, "value", value))

    def _as_attr(self):
        return {name: self.__dict__[name] for name in self._defaults}

    def __eq__(self, other):
        return self is other or type(self) is type(other) and self._as_attr() == other._as_attr()

    __hash__ = Object.__hash__

    def __repr__(self):
        return f"{self._key}({', '.join(f'{name}={value}' for name, value in self._as_attr().items())})"


def _class(key):
    dialect, _, name = key.partition(".")
    fields = {"_defaults": _FIELDS[key], "_key": f"{dialect}.transform.{name}Config", "__doc__": f"Options of the pass {name}."}
    return type(f"{name}Config", (PassConfig,), fields)


CONFIGS = {key: _class(key) for key in _FIELDS}
"""Classes of options by their keys."""


def configured(config):
    """A configuration in which options that are given as a dictionary are nodes."""
    return {key: CONFIGS[key](**value) if key in CONFIGS and isinstance(value, dict) else value for key, value in config.items()}
