"""Runs tests with pytest; with `json`, writes a line for each."""

import json
import os
import sys

sys.path.insert(0, _given["site"])
import pytest  # noqa: E402


class _Record:
    """Collects outcomes: one line for each test or file that could not be collected."""

    def __init__(self):
        self.lines = []
        self.shown = {os.path.realpath(path): shown for shown, path in _given["files"]}

    def _add(self, nodeid, outcome, why=""):
        path, _, name = nodeid.partition("::")
        full = os.path.realpath(os.path.join(_ROOT, path))
        line = {"file": self.shown.get(full, path), "test": name or None, "outcome": outcome}
        if why:
            line["why"] = why
        self.lines.append(line)

    def pytest_runtest_logreport(self, report):
        why = ""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message if crash else str(report.longrepr)
        if report.when == "call" or (report.when == "setup" and not report.passed):
            outcome = report.outcome
            if hasattr(report, "wasxfail"):
                outcome = "xfailed" if report.skipped else "xpassed"
            elif report.when == "setup" and report.failed:
                outcome = "error"
            self._add(report.nodeid, outcome, why)
        elif report.when == "teardown" and report.failed:
            self._add(report.nodeid, "error", why)

    def pytest_collectreport(self, report):
        if report.failed:
            self._add(report.nodeid, "collect-error", str(report.longrepr))


_ROOT = os.path.commonpath([os.path.dirname(path) for _, path in _given["files"]])
os.chdir(_ROOT)
_record = _Record()
_args = [path for _, path in _given["files"]]
_args += [
    "-q",
    "-p",
    "no:cacheprovider",
    "--rootdir",
    _ROOT,
    "--tb",
    "short",
    "--import-mode",
    "prepend",
]
_args += ["-p", "no:faulthandler", "-W", "ignore"]
if _given["filter"]:
    _args += ["-k", _given["filter"]]
if _given["json"]:
    _args += ["--tb", "line"]
_status = int(pytest.main(_args, plugins=[_record]))
if _given["json"]:
    with open(_given["json"], "w") as _out:
        for _line in _record.lines:
            _out.write(json.dumps(_line) + "\n")
