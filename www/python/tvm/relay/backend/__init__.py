"""What runs programs: the evaluator, under the names of TVM's executors."""

from . import interpreter, vm
from .runtime import Executor, Runtime
