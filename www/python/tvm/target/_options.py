"""Options that targets take, by kind: words are those of a type."""

_ALL = {
    "Array<str>": "keys libs",
    "int": "from_device target_device_type",
    "str": "device kind model tag",
    "target.Target": "host",
}
_THREADS = "max_num_threads thread_warp_size"
_BLOCKS = f"{_THREADS} max_shared_memory_per_block max_threads_per_block"
_OWN = {
    "composite": {"Array<target.Target>": "devices"},
    "cuda": {"int": f"{_BLOCKS} l2_cache_size_bytes registers_per_block", "str": "arch mcpu"},
    "nvptx": {"int": _THREADS, "str": "mcpu mtriple"},
    "c": {"int": "constants-byte-alignment workspace-byte-alignment", "str": "march mcpu"},
    "hexagon": {"Array<str>": "llvm-options mattr", "int": "num-cores vtcm-capacity", "str": "mcpu mtriple"},
    "metal": {"int": f"{_BLOCKS} max_function_args"},
    "opencl": {"int": f"{_BLOCKS} image_base_address_alignment max_function_args texture_depth_limit texture_spatial_limit"},
    "webgpu": {"bool": "supports_subgroups", "int": f"{_THREADS} max_shared_memory_per_block"},
    "rocm": {"Array<str>": "mattr", "int": _BLOCKS, "str": "mcpu mtriple"},
    "vulkan": {
        "Array<str>": "mattr",
        "bool": " ".join(
            f"supports_{name}"
            for name in (
                "16bit_buffer 8bit_buffer cooperative_matrix dedicated_allocation float16 float32 float64 int16 int32 int64 int8 "
                "integer_dot_product push_descriptor storage_buffer_storage_class"
            ).split()
        ),
        "int": f"{_BLOCKS} driver_version max_block_size_x max_block_size_y max_block_size_z max_per_stage_descriptor_storage_buffer "
        "max_push_constants_size max_spirv_version max_storage_buffer_range max_uniform_buffer_range supported_subgroup_operations "
        "vulkan_api_version",
        "str": "device_name device_type driver_name",
    },
    "llvm": {
        "Array<str>": "cl-opt mattr",
        "bool": "fast-math fast-math-arcp fast-math-contract fast-math-ninf fast-math-nnan fast-math-nsz fast-math-reassoc",
        "int": "num-cores opt-level vector-width",
        "str": "jit mabi mcpu mfloat-abi mtriple",
    },
}


def options_of(kind):
    """The options of a kind with their types."""
    found = {}
    for table in (_ALL, _OWN.get(kind, {})):
        for type_, names in table.items():
            found.update(dict.fromkeys(names.split(), type_))
    return dict(sorted(found.items()))
