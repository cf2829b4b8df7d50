"""Facts about the machine."""


def libinfo():
    """How the engine was built."""
    return {"USE_LLVM": "OFF", "USE_CUDA": "OFF"}
