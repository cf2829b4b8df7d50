"""What models of language share: the cache of keys and values."""

from . import kv_cache
from .kv_cache import PagedKVCache
