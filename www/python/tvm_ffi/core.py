"""The names of the compiled part of TVM's foreign function interface."""

from tvm._node import Object  # noqa: F401

String = str
