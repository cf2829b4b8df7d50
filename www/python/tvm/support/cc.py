"""A compiler of machine code, of which there is none here."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def refused(*args, **kwargs):
        raise NotImplementedError(f"tvm.support.cc.{name}: programs are evaluated here, not compiled")

    return refused
