"""The targets of compilation. Nothing is compiled here: a target is its description."""

from .._codes import TARGET_KINDS
from .._node import Object
from .._values import Array, Map, object_classes
from ..error import InternalError
from ._options import options_of


class TargetKind(Object):
    """The kind of a target."""

    def __init__(self, name):
        self.name = name

    default_keys = property(lambda self: tuple(TARGET_KINDS.get(self.name, ((), {}))[0]))
    options = property(lambda self: options_of(self.name))

    @property
    def default_device_type(self):
        """The number of the kind of device."""
        from ..runtime.device import Device

        return Device.NAMES.get(self.name, 1)

    @staticmethod
    def options_from_name(kind_name):
        """The options of a kind, with their types."""
        return TargetKind(kind_name).options

    def __eq__(self, other):
        return self.name == (other.name if isinstance(other, TargetKind) else other)

    __hash__ = Object.__hash__

    def __str__(self):
        return self.name

    __repr__ = __str__


_ARCHES = {
    "sm_53": "jetson-nano jetson-tx1 tegra-x1",
    "sm_60": "quadro-gp100 tesla-p100",
    "sm_61": "geforce-gtx-1050 geforce-gtx-1060 geforce-gtx-1070 geforce-gtx-1080 geforce-gtx-1080-ti nvidia-titan-x tesla-p4 tesla-p40",
    "sm_62": "jetson-tx2",
    "sm_70": "nvidia-titan-v nvidia-v100 quadro-gv100",
    "sm_72": "jetson-agx-xavier",
    "sm_75": "geforce-rtx-2060 geforce-rtx-2070 geforce-rtx-2080 geforce-rtx-2080-ti nvidia-t4 nvidia-titan-rtx quadro-rtx-8000",
    "sm_80": "nvidia-a100 nvidia-a30",
    "sm_86": "geforce-rtx-3060 geforce-rtx-3070 geforce-rtx-3070-ti geforce-rtx-3080 geforce-rtx-3080-ti geforce-rtx-3090 "
    "geforce-rtx-3090-ti nvidia-a10 nvidia-a10g nvidia-a16 nvidia-a2 nvidia-a40 rtx-a6000",
    "sm_87": "jetson-agx-orin-32gb jetson-agx-orin-64gb jetson-orin-nano",
    "sm_89": "geforce-rtx-4090",
    "sm_90a": "nvidia-h100",
}
_TAGS = {f"nvidia/{name}": arch for arch, names in _ARCHES.items() for name in names.split()}
"""Devices by name, with their architecture."""
EXTERNAL = {
    "cutlass": (2, {"sm": 80, "use_3xtf32": True, "split_k_slices": [1], "profile_all_alignments": False, "find_first_valid": False}),
    "cublas": (2, {}),
    "cudnn": (2, {}),
    "tensorrt": (2, {"use_implicit_batch": True, "remove_no_mac_subgraphs": False, "max_workspace_size": 1 << 30, "use_fp16": False}),
    "clml": (4, {}),
    "ccompiler": (1, {"header": ""}),
}
"""Kinds of targets that stand for another compiler of Relay, with the number of their device and their options."""
_current = []


class Target(Object):
    """A target by name, by its options in a text, or as a dictionary."""

    def __init__(self, target, host=None):
        if isinstance(target, Target):
            self.config = Map(target.config)
            self.host = target.host if host is None else Target(host)
            return
        if isinstance(target, str):
            target = _parse(target)
        if not isinstance(target, dict):
            raise TypeError(f"target has to be a string or dictionary, not {type(target)}")
        config = dict(target)
        named = config.pop("tag", None) or config.get("kind")
        if named in _OWN or named in _TAGS or named in _APPLE:
            config = _tagged(named) | {key: value for key, value in config.items() if key != "kind"}
        inner = config.pop("host", None)
        self.config = Map(config)
        host = inner if host is None else host
        self.host = None if host is None else Target(host)

    kind = property(lambda self: TargetKind(self.config.get("kind", "llvm")))
    model = property(lambda self: self.config.get("model", "unknown"))
    mcpu = property(lambda self: self.config.get("mcpu", ""))
    mattr = property(lambda self: self.config.get("mattr", ""))
    tag = property(lambda self: self.config.get("tag", ""))
    features = property(lambda self: TargetFeatures(self))

    @property
    def keys(self):
        """Words that describe it: `cpu`, `gpu`."""
        known = TARGET_KINDS.get(self.kind.name, ([] if self.kind.name in EXTERNAL else ["cpu"], {}))
        return list(self.config.get("keys", known[0]))

    @property
    def attrs(self):
        """Its options."""
        attrs = {key: value for key, value in self.config.items() if key not in ("kind", "tag", "keys")}
        defaults = dict(TARGET_KINDS.get(self.kind.name, EXTERNAL.get(self.kind.name, ([], {})))[1])
        if self.kind.name == "llvm" and "mcpu" in attrs:
            # Of a processor that is named TVM takes no triple for granted.
            defaults.clear()
        return Map(defaults | attrs)

    max_num_threads = property(lambda self: self.attrs.get("max_num_threads", 1))
    max_block_size_x = property(lambda self: self.attrs.get("max_num_threads", 1))
    max_block_size_y = property(lambda self: self.attrs.get("max_num_threads", 1))
    thread_warp_size = property(lambda self: self.attrs.get("thread_warp_size", 1))
    max_shared_memory_per_block = property(lambda self: self.attrs.get("max_shared_memory_per_block", 0))
    max_function_args = property(lambda self: self.attrs.get("max_function_args", 0))
    device_name = property(lambda self: self.attrs.get("device", ""))
    arch = property(lambda self: self.attrs.get("arch", "sm_50"))

    def get_target_device_type(self):
        """The number of the kind of device."""
        from ..runtime.device import Device

        return EXTERNAL[self.kind.name][0] if self.kind.name in EXTERNAL else Device.NAMES.get(self.kind.name, 1)

    @property
    def libs(self):
        """Libraries that were asked for."""
        return list(self.config.get("libs", []))

    def with_host(self, host):
        """The target with another host."""
        return Target(self, host)

    def export(self):
        """The target as a dictionary, with the defaults of its kind."""
        exported = {"kind": self.kind.name, "tag": self.tag, "keys": Array(self.keys)}
        if self.host is not None:
            exported["host"] = self.host.export()
        return Map(exported | self.attrs)

    def to_dict(self):
        """The target as a dictionary."""
        return self.export()

    def _as_attr(self):
        fields = dict(self.config)
        if self.host is not None:
            fields["host"] = self.host._as_attr()
        return fields

    def __str__(self):
        import json

        return json.dumps(self.export(), default=str, separators=(",", ":"))

    __repr__ = __str__

    def _loaded(self):
        config = dict(self._fields)
        host = config.pop("host", None)
        if not config.get("tag"):
            config.pop("tag", None)
        self.config = Map(config)
        self.host = host if host is None or isinstance(host, Target) else Target(dict(host))

    def _said(self):
        """The kind, the keys, the attributes with defaults, and the tag."""
        return self.kind.name, sorted(self.keys), sorted(self.attrs.items(), key=str), self.tag

    def __eq__(self, other):
        if isinstance(other, str):
            other = Target(other)
        return isinstance(other, Target) and self._said() == other._said() and self.host == other.host

    def __hash__(self):
        return hash(str(self._said()[0]))

    def __enter__(self):
        _current.append(self)
        return self

    def __exit__(self, *exc):
        _current.pop()

    @staticmethod
    def current(allow_none=True):
        """The target of the innermost `with`."""
        if _current:
            return _current[-1]
        if allow_none:
            return None
        raise ValueError("Target context required. Please set it by constructing a TargetContext")

    @staticmethod
    def list_kinds():
        """Kinds that are known."""
        return list(TARGET_KINDS)

    @staticmethod
    def target_or_current(target):
        """A target, or that of the innermost `with` where none is given."""
        target = Target.current() if target is None else Target(target)
        if target is None:
            raise ValueError("Target is not set in env or passed as argument.")
        return target

    @staticmethod
    def from_device(device):
        """The target for a device: the evaluator stands for a processor, and there is no other device."""
        from ..runtime.device import device as of_text

        device = of_text(device) if isinstance(device, str) else device
        if not device.exist:
            raise ValueError(f"Cannot detect device `{device}`: programs are evaluated here, and there is no device but the processor")
        return Target("llvm")

    def get_kind_attr(self, attr_name):
        """The attribute of the kind of target under a name: None, as no code is generated."""
        raise InternalError(f"Attribute '{attr_name}' is not registered")

    @staticmethod
    def canon_target(target):
        """The target that something describes; None stays None."""
        return None if target is None else Target(target)

    @staticmethod
    def canon_multi_target_and_host(target, host=None):
        """A list of targets."""
        targets = target if isinstance(target, (list, tuple)) else [target]
        return [Target(item, host) for item in targets]

    @staticmethod
    def canon_target_and_host(target, host=None, target_is_dict_key=True):
        """A target and its host."""
        target = None if target is None else Target(target, host)
        return target, None if target is None else target.host


class VirtualDevice(Object):
    """The place of a value: a device, the target that it is computed for, a kind of memory."""

    def __init__(self, device=None, target=None, memory_scope=""):
        self.device_type_int = -1 if device is None else device.device_type
        self.virtual_device_id = -1 if device is None else device.index
        self.target = target
        self.memory_scope = memory_scope
        if device is None and target is not None:
            self.device_type_int = target.get_target_device_type()

    device_type = property(lambda self: self.device_type_int)

    def _fields(self):
        return self.device_type_int, self.virtual_device_id, str(self.target), self.memory_scope

    def __eq__(self, other):
        return isinstance(other, VirtualDevice) and self._fields() == other._fields()

    def __hash__(self):
        return hash(self._fields())


def _device(device_type):
    from ..runtime.device import Device

    return Device(device_type, 0)


class CompilationConfig(Object):
    """The targets that a program is compiled for."""

    def __init__(self, targets, host=None, fallback=None):
        self.fallback = fallback
        self.primitive_targets = [Target(target, host) for target in targets]
        self.host_target = self.primitive_targets[0].host or Target("llvm")
        types = [target.get_target_device_type() for target in self.primitive_targets]
        default = fallback if fallback is not None else types[0] if len(set(types)) == 1 else 1
        self.default_primitive_virtual_device = self._place(int(default))
        host = next((target for target in self.primitive_targets if target.kind.name == self.host_target.kind.name), self.host_target)
        self.host_virtual_device = VirtualDevice(_device(host.get_target_device_type()), host)
        self.optional_homogeneous_target = self.primitive_targets[0] if len(self.primitive_targets) == 1 else None

    def _place(self, device_type):
        found = [target for target in self.primitive_targets if target.get_target_device_type() == device_type]
        return VirtualDevice(_device(device_type), found[0] if found else None)


def make_compilation_config(ctxt, target, target_host=None):
    """The targets that a program is compiled for; the context says which device is the default."""
    fallback = ctxt.config.get("relay.fallback_device_type") if ctxt is not None else None
    return CompilationConfig(target if isinstance(target, (list, tuple)) else [target], target_host, fallback)


class TargetFeatures:
    """Options of a target as attributes: those that it has not are None."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        return self._target.attrs.get(name)


_APPLE = {"apple/m1-gpu": 1024, "apple/m1-gpu-restricted": 256, "apple/m2-gpu": 1024}
"""Devices of Apple, with their most threads in a block."""


def _tagged(name):
    """The options of a device of a name."""
    if name in _OWN:
        return dict(_OWN[name])
    if name in _APPLE:
        host = {"kind": "llvm", "mtriple": "arm64-apple-macos", "mcpu": f"apple-{name[6:8]}"}
        limits = {"max_threads_per_block": _APPLE[name], "max_shared_memory_per_block": 32768, "thread_warp_size": 32}
        return {"kind": "metal", **limits, "host": host}
    limits = {"max_shared_memory_per_block": 49152, "max_threads_per_block": 1024, "thread_warp_size": 32, "registers_per_block": 65536}
    return {"kind": "cuda", "arch": _TAGS[name], **limits}


def _parse(text):
    if text.strip().startswith("{"):
        import json

        return json.loads(text)
    parts = text.split()
    if not parts:
        raise ValueError("Cannot parse an empty target")
    if parts[0] in _OWN or parts[0] in _TAGS or parts[0] in _APPLE:
        return _tagged(parts[0])
    kind = parts[0]
    if kind not in TARGET_KINDS and "/" not in kind and kind not in ("composite", "stackvm", "aocl", "test", *EXTERNAL):
        raise ValueError(f'Target kind "{kind}" is not defined. Target creation from string failed: {kind}')
    config = {"kind": kind}
    for part in parts[1:]:
        name, _, value = part.lstrip("-").partition("=")
        if name in ("keys", "libs", "mattr"):
            config[name] = value.split(",")
        else:
            config[name] = int(value) if value.lstrip("-").isdigit() else value if value else True
    return config


def cuda(model="unknown", arch=None, options=None):
    """A target of NVIDIA's."""
    return Target({"kind": "cuda", "arch": arch or "sm_50"})


_OWN = {}
"""Options of targets that were registered, by name."""


def list_tags():
    """Targets that are known, by name."""
    return Map({name: Target(name) for name in (*_TAGS, *_APPLE, *_OWN)})


def register_tag(name, config, override=False):
    """Gives the options of a target a name."""
    if name in _OWN and not override:
        raise InternalError(f'Tag "{name}" has been previously defined as: {_OWN[name]}')
    _OWN[name] = dict(config)
    return Target(name)


object_classes["Target"] = Target

from . import detect_target  # noqa: E402
