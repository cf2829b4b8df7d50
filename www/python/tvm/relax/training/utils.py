"""Joins a model and a loss, and gradients of tensor expressions."""

from ...ir.transform import module_pass
from ...error import InternalError
from ...ir.expr import Tuple, Var
from ...ir.module import IRModule
from ...ir.type import PrimType, TensorType
from ..expr import DataflowBlock, DataflowVar, Function, SeqExpr
from ..expr_functor import PyExprMutator, mutator
from ..utils import copy_with_new_vars


@mutator
class _Joined(PyExprMutator):
    """Replaces variables, also where they are defined."""

    def __init__(self, replaced):
        super().__init__()
        for old, new in replaced:
            self.set_var_remap(old.vid, new)

    def visit_var_def_(self, var):
        return self.visit_expr(var)


def _only_block(body, words):
    if len(body.blocks) != 1 or not isinstance(body.blocks[0], DataflowBlock):
        raise InternalError(f"{words} only one DataflowBlock")
    return list(body.blocks[0].bindings)


def _returned(body):
    """The variables that a model gives."""
    results = list(body.fields) if isinstance(body, Tuple) else [body]
    if not all(isinstance(result, Var) for result in results):
        raise InternalError("The return value of the backbone should be either a Var or a Tuple of Vars")
    return results


def _joined(backbone, loss, count, name):
    bindings = _only_block(loss.body, "The loss function should have")
    result = loss.body.body
    is_scalar = isinstance(result, Var) and isinstance(result.ty, TensorType) and result.ty.ndim == 0
    if not is_scalar:
        raise InternalError("The loss function must return a scalar(0-dim Tensor) Var")
    given = _returned(backbone.body.body)
    if len(given) < count:
        raise InternalError(
            f"The number of return values of the backbone function is {len(given)}, which is less than the given "
            f"num_backbone_outputs {count}"
        )
    if len(loss.params) < count:
        raise InternalError(
            f"The number of parameters of the loss function is {len(loss.params)}, which is less than the given "
            f"num_backbone_outputs {count}"
        )
    replaced = []
    for at, var in enumerate(given[:count]):
        # An output that the loss alone uses becomes a variable of the block. A scalar stays one: types may depend on it.
        if not any(var.same_as(other) for other in given[count:]) and not isinstance(var.ty, PrimType):
            given[at] = DataflowVar(var.name, var.ty)
            replaced.append((var, given[at]))
    from ...ir.base import structural_equal

    for at, param in enumerate(list(loss.params)[:count]):
        if not structural_equal(given[at].ty, param.ty):
            raise InternalError(
                f"The type of the {at}-th return value of backbone function is: {given[at].ty} while the corresponding "
                f"type of parameter of loss function is {param.ty}, which is different."
            )
        replaced.append((param, given[at]))
    joined = _Joined(replaced)
    builder = joined.builder_
    builder._begin_dataflow_block()
    for binding in _only_block(backbone.body, "Backbone should have") + bindings:
        joined.visit_binding(binding)
    block = builder._end_block()
    results = [result, *given[count:]]
    body = SeqExpr([block], results[0] if len(results) == 1 else Tuple(results))
    params = [*backbone.params, *list(loss.params)[count:]]
    made = Function(params, body, None, backbone.is_pure, backbone.attrs)
    return made.with_attr("global_symbol", name)


def AppendLoss(func_name, loss_function, num_backbone_outputs=1, new_func_name=None):
    """A pass that adds a function which computes the loss of what a function of the module gives."""

    @module_pass(opt_level=0, name="AppendLoss")
    def append(mod, _):
        name = new_func_name or func_name + "_loss"
        backbone = mod[func_name]
        if not isinstance(backbone, Function):
            raise InternalError(f"{func_name} is not a Relax Function")
        made = _joined(copy_with_new_vars(backbone), copy_with_new_vars(loss_function), num_backbone_outputs, name)
        new = IRModule(mod.functions, attrs=mod.attrs, global_infos=mod.global_infos)
        new[name] = made
        return new

    return append
