"""Facts about the machine, and the compilers of machine code, of which there are none here."""

import sys
import types


def libinfo():
    """The options with which the engine was built."""
    return {"USE_LLVM": "OFF", "USE_CUDA": "OFF"}


class _Compiler(types.ModuleType):
    """A compiler that can be imported, and says that it is not here when it is used."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def refused(*args, **kwargs):
            raise NotImplementedError(f"{self.__name__}.{name}: programs are evaluated here, not compiled")

        return refused


for _name in ("cc", "clang", "ndk", "nvcc", "popen_pool"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Compiler(f"{__name__}.{_name}")
