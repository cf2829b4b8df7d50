"""Runs files as `python FILE` would, one after the other."""

import os
import runpy
import sys
import traceback

_status = 0
for _shown, _path in _given["files"]:
    sys.argv = [_path]
    os.chdir(os.path.dirname(_path))
    try:
        runpy.run_path(_path, run_name="__main__")
    except SystemExit as _exit:
        _code = _exit.code
        if isinstance(_code, str):
            print(_code, file=sys.stderr)
        _status = _code if isinstance(_code, int) else int(_code is not None)
    except BaseException:
        traceback.print_exc()
        _status = 1
    if _status:
        break
sys.stdout.flush()
sys.stderr.flush()
