"""Devices. Programs run in the evaluator; a device is a name."""

import enum

from .._node import Object


class DLDeviceType(enum.IntEnum):
    """The kinds of devices by their numbers."""

    kDLCPU, kDLCUDA, kDLCUDAHost, kDLOpenCL, kDLVulkan, kDLMetal, kDLVPI, kDLROCM, kDLROCMHost = 1, 2, 3, 4, 7, 8, 9, 10, 11
    kDLExtDev, kDLCUDAManaged, kDLOneAPI, kDLWebGPU, kDLHexagon, kDLMAIA, kDLTrn = range(12, 19)


RPC_SESS_MASK = 128
"""Numbers of devices of remote machines begin here; there are none."""


class Device(Object):
    """A device by the number of its kind and its own."""

    NAMES = {
        "cpu": 1,
        "llvm": 1,
        "c": 1,
        "stackvm": 1,
        "cuda": 2,
        "nvptx": 2,
        "opencl": 4,
        "vulkan": 7,
        "metal": 8,
        "vpi": 9,
        "rocm": 10,
        "ext_dev": 12,
        "hexagon": 16,
        "webgpu": 15,
    }

    def __init__(self, device_type, device_id=0):
        self.device_type = device_type
        self.device_id = device_id
        self.index = device_id

    type = property(lambda self: next(name for name, number in self.NAMES.items() if number == self.device_type))
    exist = property(lambda self: self.device_type == 1)

    # The evaluator knows no facts about hardware.
    api_version = available_global_memory = compute_version = device_name = driver_version = l2_cache_size_bytes = max_clock_rate = None
    max_shared_memory_per_block = max_thread_dimensions = max_threads_per_block = multi_processor_count = total_global_memory = warp_size = None

    def texture_spatial_limit(self):
        """The size of textures, which there are none of."""

    def create_raw_stream(self):
        """Says that there are no streams."""
        raise NotImplementedError("the evaluator does one thing after the other: there are no streams")

    free_raw_stream = set_raw_stream = lambda self, stream: self.create_raw_stream()

    def sync(self, stream=None):
        """Waits for nothing."""

    def dlpack_device_type(self):
        """The number of the kind."""
        return self.device_type

    def __eq__(self, other):
        return isinstance(other, Device) and (self.device_type, self.index) == (
            other.device_type,
            other.index,
        )

    def __hash__(self):
        return hash((self.device_type, self.index))

    def __str__(self):
        return f"{self.type}:{self.index}"

    __repr__ = __str__


def device(device_type="cpu", index=None, *, dev_type=None, dev_id=None):
    """A device by its name. Keywords of 0.19 are taken, too."""
    device_type, index = dev_type or device_type, dev_id if index is None else index
    if isinstance(device_type, int):
        return Device(device_type, index or 0)
    name, _, number = str(device_type).split()[0].partition(":")
    if name not in Device.NAMES:
        raise ValueError(f"Unknown device type {name}")
    return Device(Device.NAMES[name], int(number or index or 0))


def _maker(name):
    def make(dev_id=0):
        return Device(Device.NAMES[name], dev_id)

    make.__name__ = name
    make.__doc__ = f"A device of the kind {name}."
    return make


cpu, cuda, opencl, vulkan, metal = (_maker(name) for name in ("cpu", "cuda", "opencl", "vulkan", "metal"))
vpi, rocm, ext_dev, hexagon, webgpu = (_maker(name) for name in ("vpi", "rocm", "ext_dev", "hexagon", "webgpu"))


def device_from_target(target, index=None):
    """The device that a target is for."""
    from ..target import Target

    return device(Target(target).kind.name, index)
