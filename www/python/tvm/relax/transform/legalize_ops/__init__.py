"""Rules by which operators are lowered: the engine's."""

from . import common
