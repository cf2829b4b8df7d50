"""The printer of programs, and its options."""

from ..ir.base import Node as Scriptable
from ..script.printer import script


class PrinterConfig:
    """Options of `script()`."""

    def __init__(self, **options):
        self.options = options


def _script(obj, config):
    return script(obj, **config.options)


_relax_script = _script


_ = Scriptable
