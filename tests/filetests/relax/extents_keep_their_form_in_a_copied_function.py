# passlab 1
# pass: LambdaLift()
@I.ir_module
class Module:
    @R.function
    def main(lv: R.Tensor(("n", 1, 3, "m"), dtype="float32")) -> R.Tensor(("n", 1, 3, "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        @R.function
        def inner(p_: R.Tensor((n, 1, 3, m), dtype="float32")) -> R.Tensor((4 * n * 3 * m,), dtype="float32"):
            s: R.Tensor((4 * n * 3 * m,), dtype="float32") = R.call_dps_packed("f", p_, out_ty=R.Tensor((4 * n * 3 * m,), dtype="float32"))
            t: R.Shape([n + 1 + m + 2]) = R.shape([n + 1 + m + 2])
            return s
        r = inner(lv)
        return lv
