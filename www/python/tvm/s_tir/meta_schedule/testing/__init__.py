"""Helpers of tests of tuning, which is not here."""

from . import te_workload
