"""Models of language that keep keys and values in a cache are exported. Expected texts are those of TVM 0.27."""

from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn.llm.kv_cache import AttnKind, PagedKVCache, RopeMode


class Cache(PagedKVCache):
    @staticmethod
    def create():
        return Cache(_expr=relax.call_pure_packed("passlab.cache", ty_args=relax.AnyType()), _name="cache")


class Attention(nn.Module):
    def __init__(self):
        self.qkv = nn.Linear(16, 32, bias=False)
        self.out = nn.Linear(16, 16, bias=False)

    def forward(self, x: nn.Tensor, cache: PagedKVCache):
        b, s, _ = x.shape
        o = cache.attention_with_fused_qkv(0, self.qkv(x).reshape(b, s, 8, 4), 4, sm_scale=0.5)
        return self.out(o.reshape(b, s, 16)), cache

    def create(self):
        return Cache.create()

    def split(self, q: nn.Tensor, k: nn.Tensor, cache: PagedKVCache):
        own, own_sums = cache.self_attention(1, q, k, k, 1.0)
        other, sums = cache.cross_attention(1, q, 4, 1.0)
        return cache.merge_attn_output_inplace(own, own_sums, other, sums)

    def places(self, x: nn.Tensor, kv: nn.Tensor, cache: PagedKVCache):
        return cache.get_query_positions(x.shape[0]), cache.append_mla_kv(0, kv)


def _exported():
    cache, plain = nn.spec.Object(object_type=PagedKVCache), {"param_mode": "none", "effect_mode": "none"}
    heads = nn.spec.Tensor([1, "s", 4, 4], "float16")
    spec = {
        "forward": {"x": nn.spec.Tensor([1, "s", 16], "float16"), "cache": cache, "$": {"param_mode": "packed", "effect_mode": "none"}},
        "create": {"$": plain},
        "split": {"q": heads, "k": heads, "cache": cache, "$": plain},
        "places": {"x": nn.spec.Tensor(["n"], "int32"), "kv": nn.spec.Tensor([1, "n", 1, 4], "float16"), "cache": cache, "$": plain},
    }
    model = Attention()
    model.to("float16")
    return model.export_tvm(spec)


def test_calls_of_a_cache_are_calls_of_packed_functions():
    text = _exported()[0].script()
    for line in (
        'cache: R.Any = R.call_pure_packed("passlab.cache", ty_args=(R.Any,))',
        'R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (cache, 0, T.float64(0.5), ',
        'out_ty=[R.Tensor((s, 4, 4), dtype="float16"), R.Tensor((s, 4), dtype="float32")])',
        'R.call_pure_packed("vm.builtin.attention_kv_cache_merge_attn_output_inplace", cache, ',
        'R.call_pure_packed("vm.builtin.attention_kv_cache_get_query_positions", cache, ty_args=(R.Tensor((n,), dtype="int32"),))',
        'paged_kv_cache: R.Any = R.call_pure_packed("vm.builtin.attention_kv_cache_append_mla_kv", cache, 0, ',
    ):
        assert line in text


def test_kinds_are_numbers():
    assert [int(kind) for kind in AttnKind] == [0, 1, 3] and RopeMode.INLINE == 2


def test_element_types_of_tensors_are_types():
    _, params = _exported()
    assert [(name, param.dtype) for name, param in params] == [("qkv.weight", "float16"), ("out.weight", "float16")]
    assert repr(params[0][1].dtype) == "dtype('float16')"
    assert str(params[0][1].dtype) == "float16"
