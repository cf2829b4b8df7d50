# passlab 1
# pass: LazyTransformParams()
@I.ir_module
class Module:
    @R.function
    def transform_params(p: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((4,), dtype="float32"))):
        with R.dataflow():
            first: R.Tensor((2, 3), dtype="float32") = p[0]
            turned: R.Tensor((3, 2), dtype="float32") = R.permute_dims(first)
            second: R.Tensor((4,), dtype="float32") = p[1]
            both = (turned, second)
            R.output(both)
        return both
