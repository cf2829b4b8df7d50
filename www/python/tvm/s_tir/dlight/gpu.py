"""Rules for GPUs."""

import sys
import types

from .base.schedule_rule import rules

rules(
    sys.modules[__name__],
    "gpu",
    ["Matmul", "GEMV", "LowBatchGEMV", "Reduction", "GeneralReduction", "Transpose", "RMSNorm", "Fallback"],
)


def _with_bucket(self, bucket=4):
    self.bucket = bucket


LowBatchGEMV.__init__ = _with_bucket  # noqa: F821 - made above
LowBatchGEMV._call = lambda self: f"{self._name}({self.bucket})"  # noqa: F821

# TVM's module of the rule.
low_batch_gemv = types.SimpleNamespace(LowBatchGEMV=LowBatchGEMV)  # noqa: F821
