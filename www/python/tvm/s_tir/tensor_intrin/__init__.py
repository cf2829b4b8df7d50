"""Intrinsics that schedules tensorize with, by machine: constants for the names by which the engine knows them."""

from . import arm_cpu, cuda, dot_product_common, hexagon, metal, rocm, x86
