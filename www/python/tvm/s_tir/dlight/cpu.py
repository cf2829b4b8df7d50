"""Rules for CPUs."""

import sys

from .base.schedule_rule import rules

rules(sys.modules[__name__], "cpu", ["GEMV", "Reduction"])
