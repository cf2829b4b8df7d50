# passlab 1
# pass: LegalizeOps()
# pass: AnnotateTIROpPattern()
# pass: FuseOps()
# pass: FuseTIR()
# view: schedule
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16, 16), dtype="float32"), w: R.Tensor((16, 16), dtype="float32"), b: R.Tensor((16,), dtype="float32")) -> R.Tensor((16, 16), dtype="float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, b)
            out = R.nn.relu(z)
            R.output(out)
        return out
