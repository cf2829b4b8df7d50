# Conv-conv fusion in Python: a convolution whose input is another convolution moves with it into a function of its own.
# Convolutions are tensor programs that say so with the attribute my_op_kind.
import tvm
from tvm import relax, topi


def build():
    """Returns a program of two convolutions in a row."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, 16, 64, 64), "float32"))
    w1 = relax.Var("w1", relax.TensorStructInfo((16, 16, 3, 3), "float32"))
    w2 = relax.Var("w2", relax.TensorStructInfo((16, 16, 3, 3), "float32"))
    with builder.function("main", [x, w1, w2]):
        with builder.dataflow():
            first = builder.emit_te(topi.nn.conv2d, x, w1, strides=1, padding=1, dilation=1)
            second = builder.emit_te(topi.nn.conv2d, first, w2, strides=1, padding=1, dilation=1)
            result = builder.emit_output(second)
        builder.emit_func_output(result)
    mod = builder.get()
    mod["conv2d"] = mod["conv2d"].with_attr("my_op_kind", "convolution")
    return mod


@relax.expr_functor.mutator
class Fuser(relax.PyExprMutator):
    def __init__(self, mod):
        super().__init__(mod)
        self.mod = mod

    def is_convolution(self, value):
        if not isinstance(value, relax.Call) or value.op != tvm.ir.Op.get("relax.call_tir"):
            return False
        attrs = self.mod[value.args[0]].attrs
        return bool(attrs) and attrs.get("my_op_kind") == "convolution"

    def visit_call_(self, call):
        if not self.is_convolution(call):
            return call
        producer = self.lookup_binding(call.args[1].fields[0])
        if not self.is_convolution(producer):
            return call
        conv = call.args[0]
        args = [*producer.args[1].fields, call.args[1].fields[1]]
        params = [relax.Var(name, arg.struct_info) for name, arg in zip(["x", "w1", "w2"], args)]
        inner = relax.BlockBuilder()
        with inner.function("fused", params, attrs={"Primitive": True}):
            with inner.dataflow():
                one = inner.emit(relax.call_tir(conv, params[:2], out_sinfo=producer.struct_info))
                two = inner.emit_output(relax.call_tir(conv, [one, params[2]], out_sinfo=call.struct_info))
            inner.emit_func_output(two)
        fused = self.builder_.add_func(inner.get()["fused"].without_attr("global_symbol"), "fused_conv_conv")
        return relax.Call(fused, args)


@tvm.transform.module_pass(opt_level=2, name="FuseTwoConv")
def fuse_two_conv(mod, ctx):
    """Two convolutions in a row become a function."""
    fuser = Fuser(mod)
    for var, func in mod.functions_items():
        if isinstance(func, relax.Function) and not (func.attrs and "Primitive" in func.attrs):
            fuser.builder_.update_func(var, fuser.visit_expr(func))
    return fuser.builder_.get()


after = fuse_two_conv(build())
print("well-formed:", relax.analysis.well_formed(after))
after.show()
