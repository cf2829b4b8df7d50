"""Intrinsics that schedules tensorize with, by machine."""

from . import arm_cpu, cuda, dot_product_common, hexagon, rocm, x86
