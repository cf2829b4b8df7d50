"""Marks of what another compiler takes."""

from .. import transform
from ..expr import Call
from ..expr_functor import ExprMutator
from ..op.annotation import compiler_begin, compiler_end


@transform.function_pass(opt_level=0)
class WhiteListAnnotator:
    """Marks every call of some operators for a compiler."""

    def __init__(self, op_list, compiler):
        if not isinstance(op_list, (list, tuple, set)):
            raise TypeError("op_list must be a list, tuple or set")
        self.op_list = op_list
        self.compiler = compiler

    def transform_function(self, func, mod, dev):
        """The function with marks."""
        names, compiler = self.op_list, self.compiler

        class Annotate(ExprMutator):
            """Puts marks around calls."""

            def visit_call(self, call):
                if getattr(call.op, "name", None) not in names:
                    return super().visit_call(call)
                args = [compiler_begin(self.visit(arg), compiler) for arg in call.args]
                return compiler_end(Call(call.op, args, call.attrs, call.type_args), compiler)

        return Annotate().visit(func)
