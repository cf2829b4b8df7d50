"""Tuning measures programs on machines, which a page cannot: what is asked for here says so when it is used."""

from ..._absent import absent

__getattr__ = absent("tvm.s_tir.meta_schedule", "tuning measures programs on machines")
