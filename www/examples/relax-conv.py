# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    # Two convolutions that read the same input, for any number of images at a time.
    @R.function
    def main(
        x: R.Tensor((n, 16, 32, 32), dtype="float32"),
        w1: R.Tensor((16, 16, 3, 3), dtype="float32"),
        w2: R.Tensor((32, 16, 3, 3), dtype="float32"),
        scale: R.Tensor((1, 16, 1, 1), dtype="float32"),
    ) -> R.Tensor((n, 48, 32, 32), dtype="float32"):
        cls = Module
        with R.dataflow():
            left = R.nn.conv2d(x, w1, padding=1)
            right = R.nn.conv2d(x, w2, padding=1)
            # The same product twice: one is enough.
            a = R.multiply(left, scale)
            b = R.multiply(left, scale)
            sum = cls.activate(R.add(a, b))
            unused = R.exp(right)
            out = R.concat((sum, R.nn.relu(right)), axis=1)
            R.output(out)
        return out

    @R.function(private=True)
    def activate(y: R.Tensor((n, 16, 32, 32), dtype="float32")) -> R.Tensor((n, 16, 32, 32), dtype="float32"):
        z = R.nn.silu(y)
        return z
