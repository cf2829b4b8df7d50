"""The cache of keys and values, as models use it. The programs for devices that fill it and read it are not here."""

import enum

from ..... import relax as rx
from ....._absent import Absent
from ..core import Object, Tensor


class AttnKind(enum.IntEnum):
    """The kind of attention of a layer."""

    MHA, MLA, MHA_SLIDING = 0, 1, 3


class RopeMode(enum.IntEnum):
    """Where positions are embedded: nowhere, before keys are kept, or when they are used."""

    NONE, NORMAL, INLINE = 0, 1, 2


def _name(method):
    return f"vm.builtin.attention_kv_cache_{method}"


def _emit(expr):
    return rx.BlockBuilder.current().emit(expr)


def _flat(tensor):
    """The tensor with one axis for sequences and places in them."""
    batch, length, *rest = tensor._expr.ty.shape
    return tensor.reshape(batch * length, *rest)


def _pair(results, *shape):
    """Attention of this shape, and the logarithms of the sums, without its last axis."""
    parts = ((place, shape[: len(shape) - place]) for place in (0, 1))
    return tuple(Tensor(_expr=_emit(rx.TupleGetItem(results, place))).reshape(*part) for place, part in parts)


class PagedKVCache(Object):
    """Keys and values of all layers and sequences, in pages."""

    extern_mods = []

    def _dps(self, method, layer_id, sm_scale, tensors, out_ty):
        scalars = [rx.prim_value(layer_id), rx.prim_value(sm_scale)]
        return _emit(rx.call_dps_packed(_name(method), [self._expr, *scalars, *[item._expr for item in tensors]], out_ty=out_ty))

    def _with_sums(self, method, layer_id, sm_scale, q, others, v_head_dim):
        """Attention of a query, and the logarithms of the sums of its weights."""
        b, s, heads, _ = q._expr.ty.shape
        q, *others = [_flat(item) for item in (q, *others)]
        types = [rx.TensorType((b * s, heads, v_head_dim), q.dtype), rx.TensorType((b * s, heads), "float32")]
        return _pair(self._dps(method, layer_id, sm_scale, [q, *others], types), b, s, heads, v_head_dim)

    def attention_with_fused_qkv(self, layer_id, qkv, num_qo_heads, sm_scale):
        """Keeps keys and values, and gives the attention of the queries to all that are kept."""
        b, s, _, d = qkv._expr.ty.shape
        out = rx.TensorType((b * s, num_qo_heads, d), qkv.dtype)
        result = self._dps("attention_with_fused_qkv", layer_id, sm_scale, [_flat(qkv)], out)
        return Tensor(_expr=result).reshape(b, s, num_qo_heads, d)

    def self_attention(self, layer_id, q, k, v, sm_scale):
        """Attention to keys and values that are not kept."""
        return self._with_sums("self_attention", layer_id, sm_scale, q, [k, v], v._expr.ty.shape[3])

    def cross_attention(self, layer_id, q, v_head_dim, sm_scale):
        """Attention to the keys and values that are kept."""
        return self._with_sums("cross_attention", layer_id, sm_scale, q, [], v_head_dim)

    def attention_with_shared_kv(self, source_layer_id, q, current_k, current_v, sm_scale):
        """Attention to what another layer keeps."""
        b, s, heads, _ = q._expr.ty.shape
        d_v = current_v._expr.ty.shape[3]
        tensors = [_flat(item) for item in (q, current_k, current_v)]
        out = rx.TensorType((b * s, heads, d_v), q.dtype)
        result = self._dps("attention_with_shared_kv", source_layer_id, sm_scale, tensors, out)
        return Tensor(_expr=result).reshape(b, s, heads, d_v)

    def append_mla_kv(self, layer_id, kv):
        """The cache with keys and values of latent attention added."""
        b, s, _, d_qk = kv._expr.ty.shape
        kv = kv.reshape(b * s, d_qk)
        call = rx.call_pure_packed(_name("append_mla_kv"), self._expr, rx.prim_value(layer_id), kv._expr, ty_args=rx.AnyType())
        return PagedKVCache(_expr=call, _name="paged_kv_cache")

    def merge_attn_output_inplace(self, o_self_attn, lse_self_attn, o_cross_attn, lse_cross_attn):
        """One attention of two, which takes the places of the first two tensors."""
        b, s, heads, d_v = o_self_attn._expr.ty.shape
        tensors = [_flat(item)._expr for item in (o_self_attn, lse_self_attn, o_cross_attn, lse_cross_attn)]
        types = rx.TupleType([item.ty for item in tensors[:2]])
        call = rx.call_pure_packed(_name("merge_attn_output_inplace"), self._expr, *tensors, ty_args=types)
        return _pair(_emit(call), b, s, heads, d_v)

    def get_query_positions(self, total_length):
        """The place of each query in its sequence."""
        types = rx.TensorType((total_length,), "int32")
        return Tensor(_expr=_emit(rx.call_pure_packed(_name("get_query_positions"), self._expr, ty_args=types)))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent(f"{__name__}.{name}", "it makes programs for one device, and the cache of a model can be used without")
