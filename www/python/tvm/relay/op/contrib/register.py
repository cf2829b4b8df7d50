"""Tables of patterns by the names of compilers."""

_tables = {}


def register_pattern_table(compiler, table=None):
    """Registers the patterns of a compiler; without a table, as a decorator of the function that makes it."""

    def register(function):
        _tables[compiler] = function() if callable(function) else function
        return function

    return register(table) if table is not None else register


def get_pattern_table(compiler):
    """The patterns of a compiler; None where there are none."""
    return _tables.get(compiler)
