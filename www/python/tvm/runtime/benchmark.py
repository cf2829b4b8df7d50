"""Times of runs. They are the evaluator's: nothing is compiled, so that they compare programs badly."""

import time

_said = False


class BenchmarkResult:
    """Seconds that runs took."""

    def __init__(self, results):
        self.results = list(results)
        ordered, count = sorted(self.results), len(self.results)
        self.min, self.max = ordered[0], ordered[-1]
        self.mean = sum(ordered) / count
        self.median = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
        self.std = (sum((result - self.mean) ** 2 for result in ordered) / count) ** 0.5

    def __repr__(self):
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, max={self.max}, std={self.std}, "
            f"results={self.results})"
        )

    def __str__(self):
        heads = " ".join(f"{name:^12}" for name in ["mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)"])
        values = [self.mean, self.median, self.max, self.min, self.std]
        return f"Execution time summary:\n{heads}\n" + " ".join(f"{value * 1000:^12.4f}" for value in values) + " " * 15


def evaluator(run, repeat):
    """A function that runs another and says how long that took. It runs once where TVM would take a mean."""

    def measure(*args):
        global _said
        if not _said:
            _said = True
            print("passlab: programs are evaluated here, not compiled; these are the evaluator's times of one run each")
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            run(*args)
            times.append(time.perf_counter() - start)
        return BenchmarkResult(times)

    return measure
