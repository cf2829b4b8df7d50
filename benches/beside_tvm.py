"""Times TVM while it reads a program of Relax and runs passes over it: benches/tvm.rs starts this and prints the table.

    python benches/beside_tvm.py [--lower] PROGRAM PASS...

Each line that comes out is `what<TAB>milliseconds`: the best of some runs after one that is not counted. A pass that this TVM
does not have, that needs arguments, or that refuses the program has no line.
"""

import ast
import sys
import time
import typing

import tvm
import tvm.s_tir
import tvm.tirx
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

# The same rule as in benches/tvm.rs.
SECONDS, LEAST, MOST = 0.2, 2, 500


def best(run):
    run()
    found, begin = [], time.perf_counter()
    while len(found) < LEAST or (len(found) < MOST and time.perf_counter() - begin < SECONDS):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found) * 1e3


def read(text):
    """The program. What stands before it, such as its constants, is Python; TVM's parser reads the rest."""
    names = {"tvm": tvm, "I": I, "R": R, "T": T, "TypeVar": typing.TypeVar}
    head = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    exec(compile(ast.Module(head, []), "constants", "exec"), names)
    lines = text.split("\n")[max([node.end_lineno for node in head], default=0) :]
    # TVM prints an infinity as a string, which it does not read.
    return tvm.script.from_source("\n".join(lines).replace('R.const("-inf"', 'R.const(float("-inf")'), names)


def main(path, passes):
    text = open(path, encoding="utf-8").read()
    try:
        module = read(text)
    except Exception as error:
        sys.exit(f"TVM does not read it: {str(error).splitlines()[0]}")
    print(f"parse\t{best(lambda: read(text))}")
    for name in passes:
        try:
            made = getattr(relax.transform, name)()
            print(f"{name}\t{best(lambda: made(module))}")
        except Exception:
            continue


def lower(path, passes):
    """The same for passes of TIR, each over what the one before made of the legalised, fused program."""
    module = read(open(path, encoding="utf-8").read())
    for name in FUSED:
        module = getattr(relax.transform, name)()(module)
    for name in passes:
        family, short = name.split(".")
        try:
            made = getattr({"s_tir": tvm.s_tir, "tirx": tvm.tirx}[family].transform, short)()
            print(f"{name}\t{best(lambda: made(module))}")
            module = made(module)
        except Exception:
            continue


# The same passes as in benches/tvm.rs.
FUSED = ["LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"]

if sys.argv[1] == "--lower":
    lower(sys.argv[2], sys.argv[3:])
else:
    main(sys.argv[1], sys.argv[2:])
