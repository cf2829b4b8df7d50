"""Types, under the name that they have in TVM 0.27."""

from .ty import *  # noqa: F403
