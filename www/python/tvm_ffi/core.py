"""What the compiled part of TVM's foreign function interface gives."""

from tvm._node import Object  # noqa: F401

String = str
