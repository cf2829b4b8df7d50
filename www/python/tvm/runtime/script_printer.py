"""How programs are printed."""

from ..script.printer import script


class PrinterConfig:
    """Options of `script()`."""

    def __init__(self, **options):
        self.options = options


def _script(obj, config):
    return script(obj, **config.options)


def _relax_script(obj, config):
    return script(obj, **config.options)


class Scriptable:
    """What has `script()` and `show()`."""
