"""Descriptions of executors and runtimes."""


class _Named:
    def __init__(self, name, options=None):
        self.name = name
        self.options = dict(options or {})

    def __getitem__(self, key):
        return self.options[key]

    def __eq__(self, other):
        return type(self) is type(other) and (self.name, self.options) == (other.name, other.options)

    def __hash__(self):
        return hash(self.name)


class Executor(_Named):
    """A kind of executor, by name."""


class Runtime(_Named):
    """A kind of runtime, by name."""
