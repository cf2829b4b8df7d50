"""Passes and the context that they run in. Built-in passes, the context and its instruments are the engine's; a pass of the
user's is a function that the engine calls."""

import re
import contextlib
import difflib
import functools
import inspect
import sys

from .. import _engine
from .._node import EXPR, Object, number, other_memory
from .._values import Array, Map
from .expr import Var
from ._pass_texts import checked_config, kind_of_pass, type_of_config, written
from .module import IRModule


class PassInfo(Object):
    """Facts about a pass: its name, from which level of optimisation on it runs, which passes it needs."""

    def __init__(self, opt_level, name, required=None, traceable=False):
        self.opt_level = int(opt_level)
        self.name = str(name)
        self.required = Array(required or [])
        self.traceable = bool(traceable)

    def __repr__(self):
        required = written(self.required)
        return f'transform.PassInfo(opt_level={self.opt_level}, name="{self.name}", required={required}, traceable={self.traceable})'

    __str__ = __repr__


def _list(value, name):
    if value is not None and not isinstance(value, (list, tuple, set, frozenset)):
        raise TypeError(f"{name} is expected to be the type of list/tuple/set.")
    return list(value or [])


_scopes = {}
_instrument_index = []


class PassContext(Object):
    """The options that passes run under."""

    def __init__(
        self,
        opt_level=2,
        required_pass=None,
        disabled_pass=None,
        instruments=None,
        config=None,
        trace_stack=None,
        make_traceable=False,
        num_evals=0,
        tuning_api_database=None,
    ):
        if trace_stack or make_traceable or num_evals or tuning_api_database:
            raise NotImplementedError("passes are not tuned here: PassContext takes no traces and no database")
        if isinstance(opt_level, str):
            raise TypeError(f"Mismatched type on argument #0 when calling: `transform.PassContext`. Expected `int` but got `{type(opt_level).__name__}`")
        self.opt_level = opt_level
        self.required_pass = Array(_list(required_pass, "required_pass"))
        self.disabled_pass = Array(_list(disabled_pass, "disabled_pass"))
        self.instruments = Array(_list(instruments, "instruments"))
        self.config = Map(config or {})
        self._scope = []
        _check_config(self.config)
        if self.config:
            types = PassContext.list_configs()
            self.config = Map({key: checked_config(key, value, types[key]["type"]) for key, value in self.config.items()})
            from ..tirx._pass_config import configured

            self.config = Map(configured(self.config))

    def __repr__(self):
        passes = f"required_pass={written(self.required_pass)}, disabled_pass={written(self.disabled_pass)}"
        return f"transform.PassContext(opt_level={self.opt_level}, {passes}, instruments={written(self.instruments)}, config={written(self.config)})"

    __str__ = __repr__

    def __enter__(self):
        desc = {
            "optLevel": self.opt_level,
            "required": self.required_pass,
            "disabled": self.disabled_pass,
            "config": {key: _python(value) for key, value in self.config.items()},
            "instruments": _instrument_descs(self.instruments),
        }
        with self._disabled_if_one_fails():
            scope = _engine.call("user_enter", desc)
        _scopes[scope] = self
        self._scope.append(scope)
        return self

    def __exit__(self, ptype, value, trace):
        scope = self._scope.pop()
        _scopes.pop(scope, None)
        with self._disabled_if_one_fails():
            _engine.call("user_exit")

    @contextlib.contextmanager
    def _disabled_if_one_fails(self):
        """Takes all instruments from the context if one of them raises as it is entered or left."""
        try:
            yield
        except BaseException:
            self.instruments = []
            raise

    def override_instruments(self, instruments):
        """Replaces the instruments of the context."""
        self.instruments = _list(instruments, "instruments")
        scope = self._scope[-1] if self._scope else _engine.call("user_context")[0]
        with self._disabled_if_one_fails():
            _engine.call("user_override", scope, _instrument_descs(self.instruments))

    @staticmethod
    def current():
        """The context of the innermost `with`."""
        scope, level, required, disabled, config = _engine.call("user_context")
        known = _scopes.get(scope)
        if known is None:
            known = PassContext.__new__(PassContext)
            known.opt_level, known.required_pass, known.disabled_pass = (
                int(level),
                required,
                disabled,
            )
            known.instruments, known.config, known._scope = (
                [],
                Map(zip(config[::2], config[1::2])),
                [scope],
            )
            _scopes[scope] = known
        return known

    @staticmethod
    def list_configs():
        """All keys of the configuration with their types."""
        keys = _engine.call("user_config_keys")
        return {key: {"type": type_of_config(key, ty)} for key, ty in zip(keys[::2], keys[1::2])}


def _check_config(config):
    if not config:
        return
    known = PassContext.list_configs()
    for key in config:
        if key not in known:
            meant = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean '{meant[0]}'?" if meant else ""
            raise AttributeError(f"Invalid config option '{key}' candidates are: {' ,'.join(known)}{hint}")


def register_pass_config_key(key, ty):
    """Registers a key of the configuration: `bool`, `int`, `str` or `list`."""
    _engine.call("user_config_key", key, ty)


def _literal(value):
    """A value as the engine reads literals."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_literal(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _literal(item) for key, item in value.items()}
    if hasattr(value, "value"):
        return value.value
    return str(value)


class Pass(Object):
    """The base class of passes: called with a module, it gives the module that it makes of it."""

    _info = None
    pass_info = property(lambda self: self.info, doc="The same as `info`.")

    @property
    def info(self):
        """The facts about the pass."""
        return self._info

    def __call__(self, mod, *unused):
        if not isinstance(mod, IRModule):
            raise TypeError(f"a pass takes a module, not {type(mod).__name__}")
        return run(self, mod)

    def __repr__(self):
        return f"{self._shown()}(pass_info={self.info})"

    __str__ = __repr__

    def _shown(self):
        """The kind of pass that it is, in texts."""
        return "transform.ModulePass"

    # For the engine.

    _kind = "built-in"
    _call = ""

    def _describe(self, descs):
        """Appends what describes the pass and its parts; gives its place."""
        info = self.info
        descs.append(
            {
                "kind": self._kind,
                "name": info.name,
                "optLevel": info.opt_level,
                "required": info.required,
                "index": self._index(),
                "call": self._call,
                "passes": [],
                "listed": False,
            }
        )
        return len(descs) - 1

    def _index(self):
        return 0


class BuiltInPass(Pass):
    """A pass of the engine's, by its call: `FuseOps(fuse_opt_level=2)`."""

    def __init__(self, call, relax=True, dialect="relax"):
        self._call = call
        self._relax = relax
        self._dialect = dialect

    @property
    def info(self):
        """The facts about the pass."""
        if self._info is None:
            name, level, required, _ = _engine.call("user_pass_info", self._call, self._relax)
            self._info = PassInfo(level, name, required)
        return self._info

    def _shown(self):
        return kind_of_pass(self.info.name, self._dialect)


class ModulePass(Pass):
    """A pass over whole modules."""


class Sequential(Pass):
    """Passes one after the other."""

    _kind = "sequential"

    def __init__(self, passes=None, opt_level=0, name="sequential", required=None, traceable=False):
        passes = passes if passes else []
        if not isinstance(passes, (list, tuple)):
            raise TypeError("passes must be a list of Pass objects.")
        required = required if required else []
        if not isinstance(required, (list, tuple)):
            raise TypeError("Required is expected to be the type of list/tuple.")
        self.passes = list(passes)
        self._info = PassInfo(opt_level, name, required, traceable)

    def __repr__(self):
        return f"transform.Sequential(pass_info={self.info}, passes={written(self.passes)})"

    __str__ = __repr__

    def _describe(self, descs):
        parts = [part._describe(descs) for part in self.passes]
        place = super()._describe(descs)
        descs[place]["passes"] = parts
        return place


_user_passes = []
_given = {}
"""The module of this run and those that passes of the user's gave in it, by their words: passes get these very objects."""


class UserPass(Pass):
    """A pass of the user's."""

    def __init__(self, function, info):
        self._function = function
        self._info = info

    def _index(self):
        if "_number" not in self.__dict__:
            self._number = len(_user_passes)
            _user_passes.append(self)
        return self._number


class PyModulePass(UserPass, ModulePass):
    """A pass of the user's over whole modules."""

    _kind = "module"

    def _apply(self, mod):
        new = self._function(mod, PassContext.current())
        if not isinstance(new, IRModule):
            raise TypeError(f"a module pass must return a module, not {type(new).__name__}")
        return new


def run(pass_, mod):
    """Runs a pass on a module in the current context."""
    _setup()
    words = mod._words()
    descs = []
    which = pass_._describe(descs)
    outer = dict(_given)
    _given[tuple(words)] = mod
    try:
        new = _engine.call("user_run", descs, which, _engine.words(words))
        given = _given.get(tuple(new))
    finally:
        _given.clear()
        _given.update(outer)
        for text in _engine.call("user_printed"):
            print(text)
    if given is not None:
        return given
    return mod if new == words else IRModule._of_words(new, mod)


_asks = {}


def ask_key(function):
    """A number by which the engine asks a function back."""
    key = max(_asks, default=0) + 1
    _asks[key] = function
    return key


def forget_ask(key):
    """The function is not asked any more."""
    _asks.pop(key, None)


def _on_call(what, index, words, info):
    if what == "ask":
        return _asks[int(info)](index, words)
    if what == "memory":
        return other_memory()
    if what in ("infer", "normalize"):
        from .op import asked

        return asked(what, words[0])
    if what == "relate":
        from .op import related

        return related(info, words)
    if what == "module":
        # A pass may write into the module that it is given, which is the caller's own before anything has changed.
        mod = _given.get(tuple(words))
        if mod is None:
            mod = IRModule._of_words(words)
        new = _user_passes[index]._apply(mod)
        made = new._words()
        if new is not mod or list(made) != list(words):
            _given[tuple(made)] = new
        return _engine.words(made)
    if what == "function":
        pass_ = _user_passes[index]
        mod = IRModule._of_words(words[1:])
        from .._node import get

        func = get(EXPR, words[0])
        new = pass_._apply_function(func, mod)
        _engine.dialect(not mod._relay)
        return number(EXPR, new)
    return _on_instrument(_instrument_index[index], what, words, info)


def _on_instrument(instrument, what, words, info):
    method = {
        "enter": "enter_pass_ctx",
        "exit": "exit_pass_ctx",
        "should_run": "should_run",
        "before": "run_before_pass",
        "after": "run_after_pass",
    }[what]
    function = getattr(instrument, method, None)
    if function is None:
        return None
    if what in ("enter", "exit"):
        function()
        return None
    name, level, required = info
    answer = function(IRModule._of_words(words), PassInfo(level, name, required))
    return bool(answer) if what == "should_run" else None


_watchers = []
"""Instruments that are in every context besides its own."""


def watch(instrument):
    """Adds an instrument to all contexts from now on, and to the one that is there before the first `with`."""
    _watchers.append(instrument)
    PassContext.current().override_instruments([])


def _instrument_descs(instruments):
    return [_instrument_desc(item) for item in [*instruments, *_watchers]]


def _instrument_desc(instrument):
    _setup()
    call = getattr(instrument, "_call", "")
    name = getattr(instrument, "name", None) or type(instrument).__name__
    known = instrument.__dict__.get("_place")
    if known is None:
        known = instrument.__dict__["_place"] = len(_instrument_index)
        _instrument_index.append(instrument)
    return {"name": str(name), "index": known, "call": call}


@functools.cache
def _setup():
    _engine.set_host(_on_call)


def _wrapped_class(pass_cls, info, base, method):
    """A class whose instances are passes that call a method of an instance of the user's class."""

    class PyPass(base):
        """A pass of a class of the user's."""

        def __init__(self, *args, **kwargs):
            inst = pass_cls(*args, **kwargs)
            self.__dict__["_inst"] = inst
            super().__init__(lambda *given: getattr(inst, method)(*given), info)

        def __getattr__(self, name):
            if name.startswith("_") and name in ("_inst", "_number", "_load"):
                raise AttributeError(name)
            return getattr(self.__dict__["_inst"], name)

    functools.update_wrapper(PyPass.__init__, pass_cls.__init__)
    PyPass.__name__ = pass_cls.__name__
    PyPass.__doc__ = pass_cls.__doc__
    PyPass.__module__ = pass_cls.__module__
    return PyPass


def decorator(pass_func, opt_level, name, required, traceable, base, method, what):
    """The decorator that makes passes of functions and classes."""
    if opt_level is None:
        raise ValueError(f"Please provide opt_level for the {what}.")
    required = required if required else []
    if not isinstance(required, (list, tuple)):
        raise TypeError("Required is expected to be the type of list/tuple.")

    def create(pass_arg):
        info = PassInfo(opt_level, name if name else pass_arg.__name__, required, traceable)
        if inspect.isclass(pass_arg):
            return _wrapped_class(pass_arg, info, base, method)
        if not callable(pass_arg):
            raise TypeError(f"pass_func must be a callable for {what}")
        return base(pass_arg, info)

    return create(pass_func) if pass_func else create


def module_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Makes a pass over modules of a function `(mod, ctx)` or of a class with `transform_module`."""
    return decorator(
        pass_func,
        opt_level,
        name,
        required,
        traceable,
        PyModulePass,
        "transform_module",
        "module pass",
    )


def PrintIR(header="", show_meta_data=False):
    """A pass that prints the module to where TVM logs, the standard error."""

    def show(mod, ctx):
        print(f"PrintIR({header}):\n{mod}", file=sys.stderr)
        return mod

    return PyModulePass(show, PassInfo(0, "PrintIR"))


def ApplyPassToFunction(transform, func_name_regex, error_if_no_function_matches_regex=False):
    """A pass that applies another one to functions of some names alone."""
    import re

    def apply(mod, ctx):
        chosen = {var: func for var, func in mod.functions.items() if re.fullmatch(func_name_regex, var.name_hint)}
        if error_if_no_function_matches_regex and not chosen:
            raise ValueError(f"No function matched regex {func_name_regex}")
        if not chosen:
            return mod
        part = IRModule(chosen, mod.type_definitions, mod.attrs, mod.global_infos)
        new = transform(part)
        made = mod.clone()
        for var in chosen:
            if var not in new:
                del made[var]
        for var, func in new.functions.items():
            made[made._vars.get(var.name_hint, var)] = func
        return made

    return PyModulePass(apply, PassInfo(0, "ApplyPassToFunction"))


def call_text(name, given):
    """The call of a built-in pass, as the engine reads it."""
    return f"{name}({', '.join(f'{key}={_python(value)}' for key, value in given.items())})"


def _python(value):
    from .._values import DataType
    from .expr import StringImm

    if isinstance(value, (DataType, StringImm)):
        return repr(str(getattr(value, "value", value)))
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(_python(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_python(_key(key))}: {_python(item)}" for key, item in value.items()) + "}"
    if hasattr(value, "name_hint") or isinstance(value, Var):
        return repr(_key(value))
    if hasattr(value, "_as_attr"):
        return _python(value._as_attr())
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "tolist"):
        return _python(value.tolist()).replace("nan", "float('nan')")
    if hasattr(value, "data") and hasattr(value.data, "numpy"):
        return _python(value.data)
    if hasattr(value, "value"):
        return repr(value.value)
    return repr(str(value))


def _key(key):
    return getattr(key, "name_hint", None) or getattr(key, "name", None) or key


def make_factory(name, item, dialect):
    """The function that makes a built-in pass, with TVM's parameters."""
    params = [(param["name"], param["default"]) for param in item["params"]]
    names = [param for param, _ in params]
    qualified = f"{dialect}.{name}" if dialect in ("tirx", "s_tir") else name

    def factory(*args, **kwargs):
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} arguments, but {len(args)} were given")
        given = dict(zip(names, args))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            if key in given:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            given[key] = value
        given = {key: value for key, value in given.items() if value is not None}
        made = BuiltInPass(call_text(qualified, given), dialect != "relay", dialect)
        try:
            made.info  # noqa: B018 - arguments that do not fit are said at once
        except _engine.EngineError as error:
            missing = re.search(r"needs the argument `(\w+)`", str(error))
            if missing is None:
                raise
            raise TypeError(f"{name.split('.')[-1]}() missing 1 required positional argument: '{missing[1]}'") from None
        return made

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = item.get("summary")
    return factory
