"""Programs that are built call by call, in the words of TVMScript."""

from . import base, ir, relax, tirx
from .base import IRBuilder
