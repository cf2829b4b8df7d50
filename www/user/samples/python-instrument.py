# Instruments in Python: one that times passes, and one that says which run and which are skipped.
import time

import tvm


@tvm.instrument.pass_instrument
class Timer:
    def __init__(self):
        self.begun = []

    def run_before_pass(self, mod, info):
        self.begun.append(time.perf_counter())

    def run_after_pass(self, mod, info):
        millis = (time.perf_counter() - self.begun.pop()) * 1000
        print(f"{info.name}: {millis:.1f} ms")


@tvm.instrument.pass_instrument
class SkipFolding:
    def should_run(self, mod, info):
        return info.name != "FoldConstant"
