"""Default schedules: rules that schedule a function for a device without tuning. The engine has TVM's rules; others are
written in Python."""

from . import analysis, cpu, gpu
from .analysis import IterInfo, SBlockInfo, normalize_prim_func
from .base import ApplyDefaultSchedule, ScheduleRule
