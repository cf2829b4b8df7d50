"""Schedules: tensor programs transformed by one instruction after the other."""

from ..sblock_scope import Dependency, DepKind, SBlockScope, StmtSRef
from . import instruction, state, trace
from .instruction import BlockRV, ExprRV, Instruction, InstructionKind, LoopRV, SBlockRV
from .schedule import Schedule, ScheduleError
from .state import ScheduleDebugMask, ScheduleState
from .trace import Trace

from . import analysis, transform
