"""The library cudnn is not here."""


def partition_for_cudnn(mod, *args, **kwargs):
    """Says so."""
    raise NotImplementedError("cudnn is not here: programs are evaluated, not compiled")
