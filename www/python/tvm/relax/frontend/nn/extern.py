"""Modules in other languages. Nothing here compiles or links them; the calls that they stand for are emitted."""


class ExternModule:
    """Functions that are not of the program, by their names."""

    def __init__(self, symbols):
        self._symbols = symbols

    def __getitem__(self, name):
        from . import op
        from .exporter import Exporter

        if self not in Exporter.current().extern_mods:
            Exporter.current().add_external_module(self)
        infer = self._symbols[name]
        return lambda *args: op.extern(name, list(args), infer(*args))


class ObjectModule(ExternModule):
    """An object file."""

    def __init__(self, symbols, filepath):
        raise RuntimeError(f"{filepath} cannot be linked: nothing is compiled here")


class SourceModule(ExternModule):
    """A text in C++ or CUDA."""

    def __init__(self, symbols, source_code, source_format, *args, **kwargs):
        raise RuntimeError(f"the {source_format} source cannot be compiled: nothing is compiled here")
