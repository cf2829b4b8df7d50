"""The target that is for a device."""

from . import Target

_detectors = {}


def detect_target_from_device(dev):
    """The target for a device, by its name or itself."""
    from ..runtime.device import device

    dev = device(dev) if isinstance(dev, str) else dev
    detector = _detectors.get(dev.type)
    return detector(dev) if detector is not None else Target.from_device(dev)


def register_device_target_detector(device_type, detector):
    """Registers a function that gives the target for a device of a kind."""
    _detectors[device_type] = detector
