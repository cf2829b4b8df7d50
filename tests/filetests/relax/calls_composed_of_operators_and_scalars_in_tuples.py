# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((10, 6), "float32")):
        a = R.nn.relu6(x)
        b = R.layout_transform(x, index_map=lambda i, j: (j, i), pad_value=2)
        c = R.call_dps_packed("f", [x, True], out_ty=R.Tensor((10,), "float32"))
        d = R.emit_with_ty("relax.builtin.alloc_tensor", (R.shape([2]), R.dtype("int32"), R.prim_value(0), R.str("global")), (R.Tensor((2,), dtype="int32"),))
        e = R.memory.view(x, dtype="uint32")
        return (a, b, c, d, e, False)
