# A visitor over Relax in Python, as TVM's own: it counts the operators of a program.
import tvm
from tvm import relax


@relax.expr_functor.visitor
class CountOps(relax.PyExprVisitor):
    def __init__(self):
        super().__init__()
        self.counts = {}

    def visit_call_(self, call):
        super().visit_call_(call)
        if isinstance(call.op, tvm.ir.Op):
            self.counts[call.op.name] = self.counts.get(call.op.name, 0) + 1


@tvm.transform.module_pass(opt_level=0, name="CountOperators")
def count_operators(mod, ctx):
    """Prints how often each operator is called; changes nothing."""
    for var, func in mod.functions_items():
        if isinstance(func, relax.Function):
            visitor = CountOps()
            visitor.visit_expr(func)
            print(var.name_hint, visitor.counts)
    return mod
