"""Ways to build programs of Relax from models. Importers of other frameworks are not here: they need those frameworks."""

from . import nn
from .common import detach_params
