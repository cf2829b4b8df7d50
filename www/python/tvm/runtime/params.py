"""Parameters in bytes and files, as TVM writes them."""

import struct

import numpy as np

from .._values import DataType
from ..error import InternalError
from .tensor import Tensor, tensor

_LIST, _TENSOR = 0xF7E58D4F05049CB7, 0xDD5E40F096B4A13F
"""The words before a list of named tensors, and before a tensor."""
_CPU = 1


def save_param_dict(params):
    """Parameters by name, as bytes."""
    out = [struct.pack("<QQQ", _LIST, 0, len(params))]
    for name in params:
        text = name.encode()
        out += [struct.pack("<Q", len(text)), text]
    out.append(struct.pack("<Q", len(params)))
    for value in params.values():
        value = value if isinstance(value, Tensor) else tensor(value)
        shape, dtype, data = value.shape, value.dtype, value.tobytes()
        head = struct.pack("<QQiiiBBH", _TENSOR, 0, _CPU, 0, len(shape), dtype.type_code, dtype.bits, dtype.lanes)
        out += [head, struct.pack(f"<{len(shape)}qq", *shape, len(data)), data]
    return b"".join(out)


class _Reader:
    """Bytes that are read one piece after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        """Numbers of a form."""
        self.at += struct.calcsize(form)
        try:
            return struct.unpack_from(form, self.data, self.at - struct.calcsize(form))
        except struct.error:
            raise InternalError("Invalid parameters file format") from None

    def bytes(self, count):
        """The next bytes."""
        self.at += count
        if self.at > len(self.data):
            raise InternalError("Invalid parameters file format")
        return bytes(self.data[self.at - count : self.at])


def _tensor(read):
    magic, _, _, _, ndim, code, bits, lanes = read.take("<QQiiiBBH")
    if magic != _TENSOR:
        raise InternalError("Invalid DLTensor file format")
    *shape, size = read.take(f"<{ndim}qq")
    data = read.bytes(size)
    return Tensor(np._of_bytes(data, tuple(shape), str(DataType.from_dlpack_data_type((code, bits, lanes)))))


def load_param_dict(param_bytes):
    """The parameters that `save_param_dict` wrote, here or in TVM."""
    read = _Reader(param_bytes.encode() if isinstance(param_bytes, str) else param_bytes)
    if read.take("<QQ")[0] != _LIST:
        raise InternalError("Invalid parameters file format")
    names = [read.bytes(read.take("<Q")[0]).decode() for _ in range(read.take("<Q")[0])]
    if read.take("<Q")[0] != len(names):
        raise InternalError("Invalid parameters file format")
    return {name: _tensor(read) for name in names}


def save_param_dict_to_file(params, path):
    """Writes parameters into a file."""
    with open(path, "wb") as file:
        file.write(save_param_dict(params))


def load_param_dict_from_file(path):
    """The parameters of a file."""
    with open(path, "rb") as file:
        return load_param_dict(file.read())
