# passlab 1
@R.function
def f(x: R.Tensor((16,)), w: R.Tensor((16, 2))):
    y = R.matmul(x, w, out_dtype="void")
    return y
