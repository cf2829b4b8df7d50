"""Names that are not taken yet (`src/ir/unique_name_supply.cc`)."""

from .._node import Object


class UniqueNameSupply(Object):
    """Gives each name once; later ones get a number."""

    def __init__(self, prefix=""):
        self.prefix, self._numbers = prefix, {}

    def _name(self, name, add_prefix):
        name = str(name).replace(".", "_") or "v"
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name

    def fresh_name(self, name, add_prefix=True, add_underscore=True):
        """A name like this one that was not given before."""
        name = self._name(name, add_prefix)
        if name not in self._numbers:
            self._numbers[name] = 0
            return name
        while True:
            self._numbers[name] += 1
            made = f"{name}{'_' if add_underscore else ''}{self._numbers[name]}"
            if made not in self._numbers:
                self._numbers[made] = 0
                return made

    def reserve_name(self, name, add_prefix=True):
        """Takes a name."""
        name = self._name(name, add_prefix)
        self._numbers.setdefault(name, 0)
        return name

    def contains_name(self, name, add_prefix=True):
        """True if a name is taken."""
        return self._name(name, add_prefix) in self._numbers


NameSupply = UniqueNameSupply


class GlobalVarSupply(Object):
    """Gives names for functions of modules: for one name always the same, or a new one."""

    def __init__(self, value=None):
        from .module import IRModule

        self._vars = {}
        if value is None or isinstance(value, UniqueNameSupply):
            self.name_supply = UniqueNameSupply() if value is None else value
            return
        mods = [value] if isinstance(value, IRModule) else list(value)
        name = (mods[0].attrs or {}).get("mod_name") if mods else ""
        self.name_supply = UniqueNameSupply("tvmgen_default" if name is None else str(name))
        for mod in mods:
            for var in mod.functions:
                self.reserve_global(var)

    def _named(self, name):
        from .expr import GlobalVar

        return self._vars.setdefault(name, GlobalVar(name))

    def fresh_global(self, name, add_prefix=True):
        """A function with a name like this one that was not given before."""
        return self._named(self.name_supply.fresh_name(name, add_prefix))

    def unique_global_for(self, name, add_prefix=True):
        """The function of a name."""
        return self._named(self.name_supply.reserve_name(name, add_prefix))

    def reserve_global(self, global_var, allow_conflict=False):
        """Takes the name of a function."""
        from ..error import TVMError

        name = global_var.name_hint
        self.name_supply.reserve_name(name, False)
        if name in self._vars and not allow_conflict:
            raise TVMError(f"GlobalVar {global_var} conflicts by name in this supply.")
        self._vars[name] = global_var
