"""Tensor programs that can be scheduled."""

from ..tirx.stmt import MatchBufferRegion, SBlock, SBlockRealize
from . import transform
