"""Special functions."""

import math

import numpy as np


def erf(values):
    """The error function."""
    return np._map(math.erf, values, np._as_float)
