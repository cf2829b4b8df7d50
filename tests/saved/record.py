"""Writes what TVM 0.27 saves and prints of a program of ours: a Python with apache-tvm, no arguments."""

from pathlib import Path

# ruff: noqa: E501
# The program is as TVM prints it.
import tvm
from tvm.script import from_source

HERE = Path(__file__).parent
SRC = '''
@I.ir_module
class Module:
    I.module_attrs({"version": 3})
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        C = T.alloc_buffer((4,))
        D = T.decl_buffer((4,), data=C.data)
        assert A[0] > T.float32(0.0), ("ValueError", ["a ", "b"])
        for i in T.vectorized(4):
            with T.sblock("twice"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                D[vi] = A[vi] * T.float32(2.0)
                B[vi] = T.if_then_else(vi < 3, D[vi], T.exp(A[vi]))

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor((4,), dtype="float32", vdevice="llvm:0"), flag: R.Tensor((), dtype="bool"), k: T.int64, s: R.Shape(["n", 4])) -> R.Tuple(R.Tensor(("n", 4), dtype="float32"), R.Object):
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            lv1: R.Tensor((4,), dtype="float32") = R.call_tir(cls.twice, (w,), out_ty=R.Tensor((4,), dtype="float32"))
            lv2: R.Tensor((2, 4, 8, 8), dtype="float32") = R.nn.conv2d(R.zeros(R.shape([2, 3, 8, 8]), dtype="float32"), R.zeros(R.shape([4, 3, 3, 3]), dtype="float32"), padding=[1, 1, 1, 1], out_dtype="float32")
            lv3: R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Tensor((n, 2), dtype="float32")) = R.split(lv, indices_or_sections=2, axis=1)
            lv4: R.Tensor((n, 2), dtype="float32") = lv3[1]
            lv5: R.Tensor((n, 2), dtype="float16") = R.astype(lv4, dtype="float16")
            gv: R.Tensor((2 * n, 2), dtype="float32") = R.reshape(lv, R.shape([2 * n, 2]))
            R.output(gv, lv1)
        y: R.Object = R.call_packed("my.function", gv, R.prim_value(k), R.str("text"), R.dtype("int8"), ty_args=(R.Object,))
        if flag:
            z_then: R.Tensor((n, 4), dtype="float32") = R.nn.softmax(x, axis=-1)
            z: R.Tensor((n, 4), dtype="float32") = z_then
        else:
            z_else: R.Tensor((n, 4), dtype="float32") = x
            z: R.Tensor((n, 4), dtype="float32") = z_else
        m = T.int64()
        u: R.Tensor((m, 4), dtype="float32") = R.match_cast(z, R.Tensor((m, 4), dtype="float32"))
        @R.function
        def inner(a: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            b: R.Tensor((2,), dtype="float32") = R.sum(R.stack((a, a), axis=0), axis=[0], keepdims=False)
            return b

        return (z, y)
'''
m = from_source(SRC, check_well_formed=False)
(HERE / "everything.json").write_text(tvm.ir.save_json(m) + "\n")
(HERE / "everything.expected").write_text(m.script().split("\n\n# Metadata omitted")[0] + "\n")
