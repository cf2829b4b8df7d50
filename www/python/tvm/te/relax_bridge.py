"""Tensor programs of functions over tensor expressions, where these are operators of `topi`: each is an operator of Relax, which
the engine lowers."""


def call_te(builder, func, args, kwargs):
    """A call of the tensor program of a function."""
    from .. import topi

    name = getattr(func, "_relax_name", None)
    if name is None:
        raise NotImplementedError(
            "a tensor program is made of operators of topi here, not of te.compute: write it with T.prim_func"
        )
    _ = topi
    from ..relax import op
    from ..relax.expr import Function
    from ..relax.transform import LegalizeOps
    from ..ir.module import IRModule
    from ..ir.expr import Var
    from ..relax.block_builder import BlockBuilder

    tensors = [arg for arg in args if hasattr(arg, "ty")]
    fresh = [Var(f"x{index}", tensor.ty) for index, tensor in enumerate(tensors)]
    replaced = iter(fresh)
    operands = [next(replaced) if hasattr(arg, "ty") else arg for arg in args]
    inner = BlockBuilder()
    with inner.function("main", fresh):
        result = inner.emit(
            op.call(
                name,
                operands,
                {key: value for key, value in kwargs.items() if key != "primfunc_name_hint"},
            )
        )
        inner.emit_func_output(result)
    lowered = LegalizeOps()(inner.get())
    call = lowered["main"].body.blocks[0].bindings[0].value
    program = lowered[call.args[0]]
    hint = kwargs.get("primfunc_name_hint") or call.args[0].name_hint
    var = builder.add_func(program, hint)
    made = op.call_tir(var, list(tensors), call.ty_args[0])
    _ = (Function, IRModule)
    return made
