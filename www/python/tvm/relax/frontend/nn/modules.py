"""Layers."""

from .... import relax as rx
from .... import tirx
from . import op
from .core import Effect, Module, ModuleList, Parameter, Tensor, get_default_dtype


class IOEffect(Effect):
    """The order of what is printed."""

    def __init__(self):
        self.effect = None

    def emit_init(self, name_hint, builder):
        """Emits its first value."""
        return [builder.emit(rx.op.null_value(), f"{name_hint}.io")]

    def create(self, name_hint):
        """The parameter that stands for it."""
        assert self.effect is None
        return [rx.Var(f"{name_hint}.io", rx.AnyType())]

    def set_state(self, state_vars):
        """Sets the variable that stands for it."""
        (self.effect,) = state_vars

    def finalize(self):
        """The variable that is its result."""
        result, self.effect = self.effect, None
        return [result]


class ReLU(Module):
    """The positive part."""

    def forward(self, x):
        """Applies it."""
        return op.relu(x)


class SiLU(Module):
    """The tensor times its sigmoid."""

    def forward(self, x):
        """Applies it."""
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit."""

    def forward(self, x):
        """Applies it."""
        return op.gelu(x)


class Identity(Module):
    """Nothing."""

    def forward(self, x):
        """Returns what it gets."""
        return x


class Linear(Module):
    """A product with a weight, and a bias."""

    def __init__(self, in_features, out_features, bias=True, dtype=None, out_dtype=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), dtype if out_dtype is None else out_dtype) if bias else None

    def forward(self, x):
        """Applies it to the last axis."""
        x = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return x if self.bias is None else x + self.bias

    def to(self, dtype=None):
        """Changes the element type; of the bias only if no other was asked for."""
        self.weight.to(dtype=dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype=dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype


class _Convolution(Module):
    """The base class of convolutions."""

    def __init__(self, in_channels, out_channels, stride, padding, dilation, groups):
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups

    def _weights(self, shape, bias, dtype):
        self.weight = Parameter(shape, dtype)
        self.bias = Parameter((self.out_channels,), dtype) if bias else None

    def _in_a_group(self):
        if isinstance(self.in_channels, int):
            return self.in_channels // self.groups
        return tirx.floordiv(self.in_channels, self.groups)


class Conv1D(_Convolution):
    """A convolution along one axis."""

    def __init__(
        self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, dtype=None
    ):
        super().__init__(in_channels, out_channels, stride, padding, dilation, groups)
        self.kernel_size = kernel_size
        self._weights((out_channels, in_channels // groups, kernel_size), bias, dtype)

    def forward(self, x):
        """Applies it."""
        return op.conv1d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class _Spatial(_Convolution):
    """A convolution along `_axes` axes, in a layout."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        dtype=None,
        data_layout=None,
    ):
        super().__init__(in_channels, out_channels, stride, padding, dilation, groups)
        self.data_layout = data_layout or self._layout
        self.kernel_size = [kernel_size] * self._axes if isinstance(kernel_size, int) else kernel_size
        self._weights([out_channels, self._channels(), *self.kernel_size], bias, dtype)

    def _channels(self):
        return self._in_a_group()

    def forward(self, x):
        """Applies it."""
        apply = op.conv2d if self._axes == 2 else op.conv3d
        return apply(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups, self.data_layout
        )


class Conv2D(_Spatial):
    """A convolution along two axes."""

    _axes, _layout = 2, "NCHW"


class Conv3D(_Spatial):
    """A convolution along three axes."""

    _axes, _layout = 3, "NCDHW"

    def _channels(self):
        # As in TVM, whose weight is not divided into groups.
        return self.in_channels


class ConvTranspose1D(_Convolution):
    """The gradient of a convolution along one axis."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        bias=True,
        dtype=None,
    ):
        super().__init__(in_channels, out_channels, stride, padding, dilation, groups)
        self.kernel_size = kernel_size
        self.output_padding = output_padding
        self._weights((in_channels, out_channels // groups, kernel_size), bias, dtype)

    def forward(self, x):
        """Applies it."""
        return op.conv1d_transpose(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.dilation, self.groups
        )


class LayerNorm(Module):
    """Normalises over the last axis."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, dtype=None):
        super().__init__()
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x):
        """Applies it."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Normalises by the root of the mean of squares."""

    def __init__(self, hidden_size, axes, epsilon=1e-5, bias=True, dtype=None):
        super().__init__()
        self.epsilon = epsilon
        self.axes = axes
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x):
        """Applies it."""
        out = op.rms_norm(x, weight=self.weight, axes=self.axes, epsilon=self.epsilon)
        return op.add(out, self.bias) if self.bias else out


class GroupNorm(Module):
    """Normalises over groups of channels."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, dtype=None):
        super().__init__()
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x, channel_axis=1, axes=None):
        """Applies it."""
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class KVCache(Effect):
    """The keys and values of attention so far."""

    def __init__(self, init_seq_len, unit_shape, dtype=None):
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(extent) for extent in unit_shape]
        self.dtype = dtype or get_default_dtype()
        self.cache = None

    def emit_init(self, name_hint, bb):
        """Emits an empty one."""
        shape = rx.ShapeExpr([self.init_seq_len, *self.unit_shape])
        call = rx.op.call_pure_packed(
            "vm.builtin.attention_kv_cache_create",
            rx.op.zeros(shape, self.dtype),
            shape,
            rx.prim_value(0),
            ty_args=rx.ObjectType(),
        )
        return [bb.emit(call, name_hint=name_hint)]

    def create(self, name_hint):
        """The parameter that stands for it."""
        return [rx.Var(name_hint, rx.AnyType())]

    def set_state(self, state_vars):
        """Sets the variable that stands for it."""
        (self.cache,) = state_vars

    def finalize(self):
        """The variable that is its result."""
        result, self.cache = self.cache, None
        return [result]

    def to(self, dtype=None):
        """Changes the element type."""
        if dtype is not None:
            self.dtype = dtype

    def view(self, seq_len):
        """Its first elements."""
        shape = rx.ShapeExpr([seq_len, *self.unit_shape])
        call = rx.op.call_pure_packed(
            "vm.builtin.attention_kv_cache_view", self.cache, shape, ty_args=rx.TensorType(shape, self.dtype)
        )
        return Tensor(_expr=rx.BlockBuilder.current().emit(call))

    def append(self, new_element):
        """Adds elements at the end."""
        if new_element.dtype != self.dtype:
            raise TypeError(f'KVCache has been set to use dtype "{self.dtype}", but got "{new_element.dtype}"')
        call = rx.op.call_inplace_packed(
            "vm.builtin.attention_kv_cache_append",
            self.cache,
            new_element._expr,
            inplace_indices=[0],
            ty_args=rx.AnyType(),
        )
        self.cache = rx.BlockBuilder.current().emit(call)


class Embedding(Module):
    """A row of a table for each number."""

    def __init__(self, num, dim, dtype=None):
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x):
        """Looks the rows up."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, shape=[-1]), axis=0)
        return op.reshape(rows, shape=[*x.shape, self.weight.shape[1]])


class TimestepEmbedding(Module):
    """Two linear layers over the embedding of a time."""

    def __init__(
        self, in_channels, time_embed_dim, act_fn="silu", out_dim=None, post_act_fn=None, cond_proj_dim=None
    ):
        assert act_fn == "silu", "Only SiLU activations are supported."
        assert post_act_fn in (None, "silu"), "Only SiLU post-activation supported."
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, time_embed_dim if out_dim is None else out_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample, condition=None):
        """Applies them."""
        if condition is not None:
            sample = sample + self.cond_proj(condition)
        sample = self.linear_2(self.act(self.linear_1(sample)))
        return sample if self.post_act is None else self.post_act(sample)


class Timesteps(Module):
    """The embedding of a time."""

    def __init__(self, num_channels, flip_sin_to_cos=False, downscale_freq_shift=1):
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x):
        """Applies it."""
        return op.get_timestep_embedding(x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift)


class Attention(Module):
    """Attention between two sequences, or of one with itself."""

    def __init__(
        self,
        query_dim,
        cross_attention_dim=None,
        heads=8,
        dim_head=64,
        bias=False,
        norm_num_groups=None,
        out_bias=True,
        scale_qk=True,
    ):
        self.query_dim = query_dim
        self.cross_attention_dim = cross_attention_dim or query_dim
        self.heads = heads
        self.dim_head = dim_head
        self.bias = bias
        self.norm_num_groups = norm_num_groups
        self.out_bias = out_bias
        self.scale_qk = scale_qk
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        self.inner_dim = dim_head * heads
        self.to_q = Linear(query_dim, self.inner_dim, bias=bias)
        self.to_k = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.to_v = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.group_norm = None
        if norm_num_groups is not None:
            self.group_norm = GroupNorm(num_channels=query_dim, num_groups=norm_num_groups, affine=True)
        self.to_out = ModuleList([Linear(self.inner_dim, query_dim, bias=out_bias)])

    def forward(self, hidden_states, encoder_hidden_states=None, attention_mask=None, **cross_attention_kwargs):
        """Applies it."""
        assert attention_mask is None, "Attention mask not yet supported."
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        other = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        width = self.inner_dim // self.heads
        parts = [self.to_q(hidden_states), self.to_k(other), self.to_v(other)]
        parts = [op.reshape(part, [0, -1, self.heads, width]) for part in parts]
        out = op.scaled_dot_product_attention(*parts, is_causal=False)
        return self.to_out[0](op.reshape(out, (0, -1, self.heads * width)))
