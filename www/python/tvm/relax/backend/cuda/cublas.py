"""The library cublas is not here."""


def partition_for_cublas(mod, *args, **kwargs):
    """Says so."""
    raise NotImplementedError("cublas is not here: programs are evaluated, not compiled")
