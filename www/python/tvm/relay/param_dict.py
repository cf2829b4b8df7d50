"""Parameters in bytes."""

from ..runtime.params import load_param_dict, save_param_dict  # noqa: F401
