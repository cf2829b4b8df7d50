"""TVMScript: programs written as Python, read from the source of what is decorated."""

import sys

from .parser import from_source, ir_module, parse  # noqa: F401
from . import ir, relax, tirx  # noqa: F401

tir = tirx
sys.modules[__name__ + ".tir"] = tirx
