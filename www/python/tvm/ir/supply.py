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
