"""Modules: functions by name."""

import json

from .. import _engine
from .._node import ADT, ATTRS, EXPR, NONE, Writer, get, name_of, number, numbers, row, when_memory_changes
from .._values import Array, DictAttrs, Map
from .base import Node
from .expr import GlobalVar
from .function import BaseFunc

relay_module = None
"""The function that says whether a function is Relay's; `tvm.relay` sets it."""


class IRModule(Node):
    """Functions by name, type definitions, attributes and global infos. It can be changed; what passes get and give are
    versions of it that cannot."""

    def __init__(self, functions=None, type_definitions=None, attrs=None, global_infos=None):
        self._functions = {}
        self._vars = {}
        for var, func in (functions or {}).items():
            if isinstance(var, str):
                var = GlobalVar(var)
            if not isinstance(var, GlobalVar):
                raise TypeError("Expect functions to be Dict[GlobalVar, Function]")
            self._set(var, func)
        self.type_definitions = dict(type_definitions or {})
        if attrs is None and _engine.is_relax():
            attrs = {}
        self.attrs = attrs if attrs is None or isinstance(attrs, DictAttrs) else DictAttrs(attrs)
        self.global_infos = Map(global_infos or {})
        self._relay = False
        if relay_module is not None:
            self._relay = any(relay_module(func) for func in self._functions.values())
        self.source_map = {}

    def _set(self, var, func):
        self._functions[var.name_hint] = func
        if var.name_hint not in self._vars or self._vars[var.name_hint] is not var:
            self._vars[var.name_hint] = var
        if var.__dict__.get("_ty") is None and func.__dict__.get("_ty") is not None:
            var.ty = func.ty

    @property
    def functions(self):
        """Functions by the variables that refer to them."""
        return {self._vars[name]: func for name, func in self._functions.items()}

    def functions_items(self):
        """Functions with their variables, by name."""
        return sorted(
            ((self._vars[name], func) for name, func in self._functions.items()),
            key=lambda item: item[0].name_hint,
        )

    def items(self):
        """Functions with their variables."""
        return list(self.functions.items())

    def keys(self):
        """Variables of the functions."""
        return list(self._vars[name] for name in self._functions)

    def values(self):
        """The functions."""
        return list(self._functions.values())

    def get_global_vars(self):
        """Variables of the functions."""
        return Array(self.keys())

    def get_global_var(self, name):
        """The variable of a function."""
        if name not in self._functions:
            candidates = ", ".join(f'"{known}"' for known in self._functions)
            raise ValueError(f'Cannot find global var "{name}" in the Module\ncandidates are: [{candidates}]')
        var, func = self._vars[name], self._functions[name]
        if not self._relay and var.__dict__.get("_ty") is None:
            # The type is read when it is first asked for.
            var.__dict__.setdefault("_load", lambda var: var.__dict__.update(_ty=func.ty if func.ty else None))
        return var

    def get_global_type_vars(self):
        """Variables of the type definitions."""
        return Array(self.type_definitions)

    def __setitem__(self, var, value):
        if isinstance(value, BaseFunc):
            if isinstance(var, str):
                var = self._vars[var] if var in self._functions else GlobalVar(var)
            self._set(var, value)
        elif isinstance(value, Node):
            self.type_definitions[var] = value
        else:
            raise TypeError(f"a function is needed here, not {type(value)}")
        if relay_module is not None and relay_module(value):
            self._relay = True

    def __getitem__(self, var):
        name = var if isinstance(var, str) else getattr(var, "name_hint", None)
        if name in self._functions:
            self._name_types()
            return self._functions[name]
        for known, value in self.type_definitions.items():
            if known is var or getattr(known, "name_hint", None) == name:
                return value
        raise (
            ValueError(f"There is no definition of {name}")
            if not isinstance(var, str)
            else ValueError(f'Cannot find global var "{name}" in the Module\ncandidates are: {json.dumps(list(self._functions))}')
        )

    def _name_types(self):
        """Gives names in calls the types that functions of this module have."""
        if not self._relay:
            functions = self._functions.items()
            GlobalVar.known.update((name, func) for name, func in functions if type(func).__name__ != "ExternFunc")

    def __delitem__(self, var):
        name = var if isinstance(var, str) else var.name_hint
        del self._functions[name]

    def __contains__(self, var):
        return (var if isinstance(var, str) else getattr(var, "name_hint", None)) in self._functions

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self._functions)

    def __getattr__(self, name):
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(f"'IRModule' object has no attribute '{name}'")

    def update(self, other):
        """Adds the functions of another module, or replaces those of the same name."""
        if isinstance(other, dict):
            other = IRModule(other)
        for var, func in other.functions.items():
            self._set(
                self._vars.get(var.name_hint, var) if var.name_hint in self._functions else var,
                func,
            )
        self.type_definitions.update(other.type_definitions)
        return self

    def update_func(self, var, func):
        """Adds or replaces a function."""
        self[var] = func

    def update_global_info(self, name, global_info):
        """Sets a list of objects that types refer to."""
        self.global_infos[name] = Array(global_info)

    def replace_global_vars(self, replacements):
        """The module with functions under other names."""
        from ..relax.transform import _rename_globals

        return _rename_globals(self, replacements)

    def clone(self):
        """A copy that can be changed."""
        made = IRModule.__new__(IRModule)
        made.__dict__.update(self.__dict__)
        made._functions = dict(self._functions)
        made._vars = dict(self._vars)
        made.type_definitions = dict(self.type_definitions)
        made.global_infos = Map(self.global_infos)
        return made

    def shallow_copy(self):
        """A copy that can be changed."""
        return self.clone()

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        return self.clone()

    def import_from_std(self, path):
        """Adds the definitions of a file that TVM brings along."""
        from ..relay.prelude import import_from_std

        import_from_std(self, path)

    def get_type(self, name):
        """A type definition of Relay with its constructors."""
        from ..relay.prelude import get_type

        return get_type(self, name)

    def get_constructor(self, tag):
        """The constructor of a tag."""
        for data in self.type_definitions.values():
            for constructor in data.constructors:
                if constructor.tag == tag:
                    return constructor
        raise ValueError(f"There is no constructor with the tag {tag}")

    def get_global_type_var(self, name):
        """The variable of a type definition."""
        return self.get_type(name)[0]

    @staticmethod
    def from_expr(expr, functions=None, type_defs=None):
        """A module whose function is the expression: `main`, or what its `global_symbol` says."""
        if isinstance(expr, IRModule):
            return expr
        if relay_module is not None and relay_module(expr):
            from ..relay.expr import module_from_expr

            return module_from_expr(expr, functions, type_defs)
        name = expr.attrs.get("global_symbol") if isinstance(expr, BaseFunc) and expr.attrs is not None else None
        made = IRModule({GlobalVar(str(name or "main")): expr}, type_defs)
        for var, func in (functions or {}).items():
            made[var] = func
        return made

    def get_attr(self, attr_key):
        """An attribute; None where there is none of the name."""
        return None if self.attrs is None else self.attrs.get(attr_key)

    def with_attr(self, attr_key, attr_value):
        """The module with an attribute added or replaced."""
        made = self.clone()
        fields = dict(self.attrs.items()) if self.attrs is not None else {}
        made.attrs = DictAttrs(fields | {attr_key: attr_value})
        return made

    def with_attrs(self, attr_map):
        """The module with these attributes beside its own."""
        made = self.clone()
        fields = dict(self.attrs.items()) if self.attrs is not None else {}
        made.attrs = DictAttrs({**fields, **dict(attr_map.items())})
        return made

    def without_attr(self, attr_key):
        """The module without an attribute."""
        made = self.clone()
        fields = dict(self.attrs.items()) if self.attrs is not None else {}
        fields.pop(attr_key, None)
        made.attrs = DictAttrs(fields) if fields else None
        return made

    def __str__(self):
        return self.script(show_meta=False)

    __repr__ = __str__

    def __eq__(self, other):
        return self is other

    __hash__ = Node.__hash__

    def _words(self):
        _engine.dialect(not self._relay)
        infos = {name: list(value) for name, value in self.global_infos.items()}
        things = []
        attrs = self.attrs if self.attrs is not None and len(self.attrs) else None
        infos = DictAttrs(infos) if infos else None
        known = self.__dict__.get("_infos")
        if known is not None and infos is not None and dict(known._fields) == dict(infos._fields):
            infos = known
        things = [(ATTRS, item) for item in (infos, attrs) if item is not None]
        if things:
            Writer().write(things)
        self.__dict__["_infos"] = infos
        words = [
            int(not self._relay),
            infos._a + 1 if infos else 0,
            attrs._a + 1 if attrs else 0,
            len(self._functions),
        ]
        ids = numbers(EXPR, list(self._functions.values()))
        names = [name_id(name) for name in self._functions]
        for pair in zip(names, ids):
            words.extend(pair)
        definitions = [(name_id(var.name_hint), number(ADT, data)) for var, data in self.type_definitions.items()]
        words.append(len(definitions))
        for pair in definitions:
            words.extend(pair)
        return words

    @staticmethod
    def _of_words(words, before=None):
        """The module that the engine gives; unchanged functions and variables are those of `before`."""
        made = IRModule.__new__(IRModule)
        made._relay = words[0] == 0
        _engine.dialect(not made._relay)
        infos = get(ATTRS, words[1] - 1) if words[1] else None
        made.global_infos = Map(infos.items()) if infos else Map()
        made.__dict__["_infos"] = infos
        made.attrs = get(ATTRS, words[2] - 1) if words[2] else None
        made._functions, made._vars = {}, {}
        made.source_map = {}
        at = 4
        for _ in range(words[3]):
            name = text_of(words[at])
            made._functions[name] = get(EXPR, words[at + 1])
            var = before._vars.get(name) if before is not None else None
            if var is None:
                var = GlobalVar(name)
            made._set(var, made._functions[name])
            at += 2
        made._name_types()
        made.type_definitions = {}
        for _ in range(words[at]):
            from ..relay.adt import definition

            var, data = definition(text_of(words[at + 1]), words[at + 2])
            made.type_definitions[var] = data
            at += 2
        return made


_name_ids = {}
when_memory_changes.append(_name_ids.clear)
when_memory_changes.append(GlobalVar.known.clear)


def name_id(text):
    """The number of a name."""
    found = _name_ids.get(text)
    if found is None:
        found = _name_ids[text] = _engine.call("user_name_id", text)
    return found


def text_of(number):
    """The text of a name by its number."""
    from .._node import _names

    if number not in _names:
        _names[number] = _engine.call("user_name", number)
    return _names[number]


_ = (NONE, name_of, row)
