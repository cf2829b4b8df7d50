"""The schedule under the name of TVM's module for it."""

from . import Schedule, ScheduleError
