"""The features of a machine: it has nothing but the evaluator."""


def __getattr__(name):
    if name.startswith("has_"):
        return lambda *args: False
    raise AttributeError(name)
