"""Modules like PyTorch's, which are exported as programs of Relax."""

from . import op, spec
from .core import (
    Effect,
    Module,
    ModuleDict,
    ModuleList,
    Object,
    Parameter,
    ParameterDict,
    ParameterList,
    Tensor,
    get_default_dtype,
    wrap_nested,
)
from .exporter import add_extern
from .extern import ExternModule, ObjectModule, SourceModule
from .modules import (
    GELU,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    IOEffect,
    KVCache,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
)
from .op import *  # noqa: F403
from .op import renormalize_top_p_top_k_prob, sample_top_p_top_k_from_sorted_prob
from .subroutine import SubroutineMixin
from .visitor import Mutator
