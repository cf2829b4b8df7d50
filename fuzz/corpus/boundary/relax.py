# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(["n"]), c: R.Tensor((), "bool"), p: R.Prim(value="n")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv: R.Tensor((n, 4), "float32") = R.match_cast(x, R.Tensor((n, 4), "float32"))
            gv = R.add(lv, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            R.output(gv)
        if c:
            r = R.call_pure_packed("f", gv, ty_args=R.Tensor((n, 4), "float32"))
        else:
            r = gv
        return (r, R.shape([n + 1, T.max(n, 2)]), R.str("x"), None)
