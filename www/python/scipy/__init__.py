"""A very small part of scipy: what tests of TVM use."""

from . import special
