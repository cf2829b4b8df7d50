"""Passes over tensor programs that can be scheduled."""

import sys

from ..tirx.transform import HoistedConditionals, HoistedLetBindings, fill

fill(sys.modules[__name__], "s_tir")
