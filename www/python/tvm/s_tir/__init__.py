"""Tensor programs that can be scheduled."""

from ..tirx.stmt import MatchBufferRegion, SBlock, SBlockRealize
from . import schedule, transform
from .schedule import Schedule, ScheduleError, Trace

StmtSRef = object
