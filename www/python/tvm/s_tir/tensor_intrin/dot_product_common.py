"""Dot products of four small integers: what each computes, and the instruction for it."""

from ...script.parser import from_source
from .. import TensorIntrin

_ONE = """
@T.prim_func(s_tir=True)
def {name}(
    A: T.Buffer((4,), "{a}", offset_factor=1, align=4, scope="shared"),
    B: T.Buffer((4,), "{b}", offset_factor=1, align=4, scope="shared"),
    C: T.Buffer((1,), "{c}", offset_factor=1, align=4, scope="local"),
) -> None:
    with T.sblock("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
{body}
"""

_SUM_OF_ONE = """
        for i in range(0, 4):
            with T.sblock("update"):
                vi = T.axis.remap("R", [i])
                C[0] = C[0] + T.cast(A[vi], "{c}") * T.cast(B[vi], "{c}")
"""

_ROWS = """
@T.prim_func(s_tir=True)
def {name}(
    A: T.Buffer((4,), "{a}", offset_factor=1),
    B: T.Buffer(({rows}, 4), "{b}", offset_factor=1),
    C: T.Buffer(({rows},), "{c}", offset_factor=1),
) -> None:
    with T.sblock("root"):
        T.reads(C[0:{rows}], A[0:4], B[0:{rows}, 0:4])
        T.writes(C[0:{rows}])
{body}
"""

_SUM_OF_ROWS = """
        for i in T.serial(0, {rows}):
            for k in T.serial(0, 4):
                with T.sblock("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], "{c}") * T.cast(B[vi, vk], "{c}")
"""


def _program(head, body, parts):
    return from_source(head.format(body=body.format(**parts), **parts))


def one(body, a, b, c, name="dp4a"):
    """What four elements times four others are, and a program with this body that computes it by an instruction."""
    parts = {"a": a, "b": b, "c": c, "rows": 1}
    return _program(_ONE, _SUM_OF_ONE, parts | {"name": f"{name}_desc"}), _program(_ONE, body, parts | {"name": f"{name}_impl"})


def rows_desc(rows, a, b, c, name):
    """What four elements times as many rows of four are."""
    return _program(_ROWS, _SUM_OF_ROWS, {"a": a, "b": b, "c": c, "rows": rows, "name": name})


def rows_impl(body, rows, a, b, c, name):
    """A program with this body that computes the same by an instruction."""
    return _program(_ROWS, body, {"a": a, "b": b, "c": c, "rows": rows, "name": name})


def get_dp4a_intrin(dtype_a, dtype_b, dtype_c):
    """The dot product of four elements on a GPU."""
    vectors = [f"{'int8' if dtype == 'int8' else 'uint8'}x4" for dtype in (dtype_a, dtype_b)]
    zero = "T.uint32(0)" if dtype_c == "uint32" else "T.int32(0)"
    loads = ", ".join(f'{buffer}.vload([0], "{vector}")' for buffer, vector in zip("AB", vectors))
    body = f'        C[0] += T.call_pure_extern("__dp4a", {loads}, {zero}, dtype="{dtype_c}")'
    return one(body, dtype_a, dtype_b, dtype_c)


def _register():
    made = {}
    for letters in ("s8s8s32", "u8s8s32", "s8u8s32", "u8u8u32"):
        kinds = ["uint" if letter == "u" else "int" for letter in letters if letter in "us"]
        name = f"dp4a_{letters}"
        TensorIntrin.register(name, *get_dp4a_intrin(f"{kinds[0]}8", f"{kinds[1]}8", f"{kinds[2]}32"), override=True)
        made[f"DP4A_{letters.upper()}_INTRIN"] = name
    return made


globals().update(_register())
