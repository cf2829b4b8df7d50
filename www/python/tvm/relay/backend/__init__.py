"""The evaluator, which runs programs, under the names of TVM's executors."""

from ...contrib import graph_executor  # noqa: F401
from . import executor_factory, interpreter, vm
from .runtime import Executor, Runtime
