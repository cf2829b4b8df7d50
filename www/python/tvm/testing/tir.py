"""Schedules for matrix units of devices, which are not here."""

from .._absent import absent

__getattr__ = absent("tvm.testing.tir", "it describes units of a device")
