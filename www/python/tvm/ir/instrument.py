"""Instruments: what looks on while passes run."""

import functools
import inspect
import time

from .._node import Object


class PassInstrument(Object):
    """The base class of instruments. Methods that a class has are called."""

    def __init__(self, name=None):
        self.name = name or type(self).__name__

    def enter_pass_ctx(self):
        """The context is entered."""

    def exit_pass_ctx(self):
        """The context is left."""

    def should_run(self, mod, info):
        """True if a pass is to run."""
        return True

    def run_before_pass(self, mod, info):
        """A pass is about to run."""

    def run_after_pass(self, mod, info):
        """A pass has run."""


_METHODS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


def pass_instrument(pi_cls=None):
    """Makes an instrument of a class: instances have the methods that it has."""

    def create(cls):
        if not inspect.isclass(cls):
            raise TypeError("pi_cls must be a class")

        class PyPassInstrument(PassInstrument):
            """An instrument of a class of the user's."""

            def __init__(self, *args, **kwargs):
                inst = cls(*args, **kwargs)
                self.__dict__["_inst"] = inst
                self.__dict__["name"] = cls.__name__
                for method in _METHODS:
                    if hasattr(inst, method):
                        self.__dict__[method] = getattr(inst, method)

            def __repr__(self):
                return f'instrument.PassInstrument(name="{cls.__name__}")'

            def __getattr__(self, name):
                if name in ("_inst", "_load"):
                    raise AttributeError(name)
                return getattr(self.__dict__["_inst"], name)

            def __setattr__(self, name, value):
                setattr(self.__dict__["_inst"], name, value)

        functools.update_wrapper(PyPassInstrument.__init__, cls.__init__)
        PyPassInstrument.__name__ = cls.__name__
        PyPassInstrument.__doc__ = cls.__doc__
        PyPassInstrument.__module__ = cls.__module__
        return PyPassInstrument

    return create(pi_cls) if pi_cls else create


class PassTimingInstrument(PassInstrument):
    """Measures how long passes take."""

    def __init__(self):
        super().__init__("PassTimingInstrument")
        self._roots = []
        self._open = []

    def enter_pass_ctx(self):
        self._roots = []
        self._open = []

    def exit_pass_ctx(self):
        self._roots = []

    def run_before_pass(self, mod, info):
        entry = [info.name, time.perf_counter(), []]
        (self._open[-1][2] if self._open else self._roots).append(entry)
        self._open.append(entry)

    def run_after_pass(self, mod, info):
        if self._open:
            entry = self._open.pop()
            entry[1] = time.perf_counter() - entry[1]

    def render(self):
        """The times as lines of text."""
        total = sum(entry[1] for entry in self._roots) or 1e-9
        lines = []

        def show(entries, depth, parent):
            for name, seconds, children in entries:
                own = seconds - sum(child[1] for child in children)
                indent = "\t" * depth
                lines.append(f"{indent}{name}: {seconds * 1e6:.0f}us [{own * 1e6:.0f}us] ({100 * seconds / total:.2f}%; {100 * seconds / max(parent, 1e-9):.2f}%)\n")
                show(children, depth + 1, seconds)

        show(self._roots, 0, total)
        return "".join(lines)


class PassPrintingInstrument(PassInstrument):
    """Prints modules before and after some passes."""

    def __init__(self, print_before_pass_names=(), print_after_pass_names=()):
        super().__init__("PassPrintingInstrument")
        self.before = list(print_before_pass_names)
        self.after = list(print_after_pass_names)

    def run_before_pass(self, mod, info):
        if info.name in self.before:
            print(f"Print IR before: {info.name}\n{mod}\n\n")

    def run_after_pass(self, mod, info):
        if info.name in self.after:
            print(f"Print IR after: {info.name}\n{mod}\n\n")


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass."""

    def run_before_pass(self, mod, info):
        print(f"Before Running Pass: {info}")
        print(mod)


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass."""

    def run_after_pass(self, mod, info):
        print(f"After Running Pass: {info}")
        print(mod)


class DumpIR(PassInstrument):
    """There is no disk to write to; it keeps the texts."""

    def __init__(self, dump_dir, refresh=False):
        super().__init__("DumpIR")
        self.dump_dir = dump_dir
        self.texts = []

    def run_after_pass(self, mod, info):
        self.texts.append((info.name, str(mod)))
