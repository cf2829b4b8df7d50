# passlab 1
# pass: RemovePurityChecking()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        y: R.Tensor(dtype="float32", ndim=1) = R.call_pure_packed("f", x, ty_args=R.Tensor((5,), "float32"))
        z: R.Tensor(dtype="float32", ndim=1) = R.call_dps_packed("f", (y,), out_ty=R.Tensor((5,), "float32"))
        return z
