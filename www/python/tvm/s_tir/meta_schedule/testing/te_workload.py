"""Programs for tests of tuning, which is not here."""

from ...._absent import absent

__getattr__ = absent("tvm.s_tir.meta_schedule.testing.te_workload", "tuning measures programs on machines")
