# passlab 1
# pass: LegalizeOps()
# pass: Schedule(trace="b0 = sch.get_sblock(name=\"matmul\", func_name=\"matmul\")\nl1, l2, l3 = sch.get_loops(block=b0)\nsch.vectorize(loop=l3)\n")
# view: schedule
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((32, 32), dtype="float32"), w: R.Tensor((32, 32), dtype="float32")) -> R.Tensor((32, 32), dtype="float32"):
        with R.dataflow():
            y: R.Tensor((32, 32), dtype="float32") = R.matmul(x, w)
            R.output(y)
        return y
