"""Parts of TVM that are not here: their names are, so that a program which imports one runs until it uses it."""

DEVICE = "it is part of the dialect for kernels of one device, and programs here are for none"
"""The reason for what belongs to that dialect."""

KERNELS = "its tensor programs are not written here"
"""The reason for what makes programs with kernels of its own."""

SCHEDULES = "TVM 0.20 took out the schedules of tensor expressions: te.create_prim_func makes a program, and s_tir.Schedule schedules it"
"""The reason for what belongs to those schedules."""


class Absent:
    """A thing that is not here; a use of it says so."""

    def __init__(self, name, reason):
        self._name = name
        self._reason = reason

    def __mro_entries__(self, bases):
        return (type(self._name.rpartition(".")[2], (), {"__init__": lambda _, *args, **kwargs: self()}),)

    def __repr__(self):
        return f"<{self._name}, which is not here>"

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"{self._name} is not here: {self._reason}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}", self._reason)


def other_version(module, gone):
    """The attributes that a module has in other versions of TVM: the error says what is there instead."""

    def find(name):
        raise AttributeError(f"module {module!r} has no attribute {name!r}" + (f": {gone[name]}" if name in gone else ""))

    return find


def absent(module, reason):
    """The attributes of a module whose contents are not here."""

    def find(name):
        if name.startswith("_"):
            raise AttributeError(name)
        return Absent(f"{module}.{name}", reason)

    return find
