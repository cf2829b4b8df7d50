# A mutator over Relax in Python: x + x becomes 2 * x. It is a pass, and tried at once on a program of the script's own.
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@relax.expr_functor.mutator
class Doubling(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == tvm.ir.Op.get("relax.add") and call.args[0].same_as(call.args[1]):
            return relax.op.multiply(call.args[0], relax.const(2, "float32"))
        return call


@tvm.transform.module_pass(opt_level=0, name="DoubleBySum")
class DoubleBySum:
    """A value added to itself is multiplied by two."""

    def transform_module(self, mod, ctx):
        mutator = Doubling(mod)
        for var, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mutator.builder_.update_func(var, mutator.visit_expr(func))
        return mutator.builder_.get()


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


DoubleBySum()(Before).show()
