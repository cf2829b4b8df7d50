"""Devices. Programs run in the evaluator; a device is a name."""

from .._node import Object


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


def device(dev_type="cpu", index=None):
    """A device by its name."""
    if isinstance(dev_type, int):
        return Device(dev_type, index or 0)
    name, _, number = str(dev_type).split()[0].partition(":")
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


def device_from_target(target, dev_id=0):
    """The device that a target is for."""
    from ..target import Target

    return device(Target(target).kind.name, dev_id)
