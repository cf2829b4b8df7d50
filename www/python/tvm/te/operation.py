"""The functions that make tensors of tensor expressions."""

import inspect
from numbers import Integral

from ..ir.expr import is_prim_expr
from ..tirx import Evaluate, IterVar, Stmt, Var as _Var, decl_buffer
from ..tirx.expr import _scalar
from ..tirx.op import const as _const
from . import tag as _tag
from .tensor import ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor


def _shape(shape):
    shape = (shape,) if is_prim_expr(shape) or isinstance(shape, Integral) else shape
    return [_scalar(int(extent) if isinstance(extent, float) else extent) for extent in shape]


def placeholder(shape, dtype=None, name="placeholder"):
    """A tensor that is given."""
    return PlaceholderOp(name, _shape(shape), getattr(dtype, "dtype", dtype) or "float32").output(0)


def _tagged(tag):
    current = _tag.TagScope.get_current()
    if current is not None and tag != "":
        raise ValueError("nested tag is not allowed for now")
    return tag if current is None else current.tag


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """Tensors of a shape whose elements a function over indices gives."""
    tag, shape = _tagged(tag), _shape(shape)
    spec = inspect.getfullargspec(fcompute)
    args = [arg for arg in spec.args if arg != "self"] if inspect.ismethod(fcompute) else spec.args
    rest = len(shape) - len(args)
    if spec.varkw is not None:
        raise AssertionError("Variable keyword arguments not supported in fcompute")
    if spec.defaults is not None:
        raise AssertionError("Default arguments not supported in fcompute")
    if spec.kwonlyargs:
        raise AssertionError("Keyword arguments are not supported in fcompute")
    if spec.varargs is not None:
        if varargs_names is not None and len(varargs_names) != rest:
            raise RuntimeError(f"Number of varargs ({rest}) does not match numberof varargs_names ({len(varargs_names)})")
        names = args + (list(varargs_names) if varargs_names is not None else [f"i{at}" for at in range(rest)])
    else:
        names = args if args else [f"i{at}" for at in range(len(shape))]
        shape = shape[: len(names)]
    axis = [IterVar((0, extent), name, 0) for name, extent in zip(names, shape)]
    body = fcompute(*[item.var for item in axis])
    op = ComputeOp(name, tag, attrs, axis, body if isinstance(body, (list, tuple)) else [body])
    outputs = tuple(op.output(at) for at in range(op.num_outputs))
    return outputs[0] if len(outputs) == 1 else outputs


def _listed(value):
    return [value] if isinstance(value, Tensor) else list(value or ())


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """Tensors that are computed step by step along their first axis."""
    tag = _tagged(tag)
    init, update, states = _listed(init), _listed(update), _listed(state_placeholder)
    if len(init) != len(update) or len(init) != len(states):
        raise ValueError("init, update, state_placeholder must have same length")
    axis = IterVar((init[0].shape[0], update[0].shape[0]), f"{name}.idx", 3)
    op = ScanOp(name, tag, attrs, axis, init, update, states, _listed(inputs))
    outputs = [op.output(at) for at in range(len(update))]
    return outputs[0] if len(outputs) == 1 else outputs


def _placeholder_buffer(shape, dtype, name):
    return decl_buffer(shape, dtype, name, elem_offset=_Var("elem_offset", "int32"), layout=None)


def extern(
    shape,
    inputs,
    fcompute,
    name="extern",
    dtype=None,
    in_buffers=None,
    out_buffers=None,
    tag="",
    attrs=None,
):
    """Tensors that a statement over buffers computes."""
    tag = _tagged(tag)
    shape = (shape,) if is_prim_expr(shape) or isinstance(shape, Integral) else shape
    if len(shape) == 0 or is_prim_expr(shape[0]) or isinstance(shape[0], Integral):
        shape = [shape]
    if in_buffers is not None and not isinstance(in_buffers, list):
        in_buffers = [in_buffers]
    if out_buffers is not None and not isinstance(out_buffers, list):
        out_buffers = [out_buffers]
    for what, items, buffers in (("inputs and in_buffers", inputs, in_buffers), ("outputs and out_buffers", shape, out_buffers)):
        if buffers is not None and len(items) != len(buffers):
            raise RuntimeError(f"Number of {what} mismatch: {len(items)} vs {len(buffers)}.")
    if any(not isinstance(item, Tensor) for item in inputs):
        raise ValueError("expect inputs to be tensor")
    if in_buffers is None:
        in_buffers = [_placeholder_buffer(item.shape, item.dtype, item.op.name) for item in inputs]
    if out_buffers is None:
        if dtype is None:
            types = {item.dtype for item in inputs}
            if len(types) != 1:
                raise ValueError("Cannot infer output type, please provide dtype argument")
            dtype = [*types] * len(shape)
        dtype = [dtype] if isinstance(dtype, str) else dtype
        out_buffers = [_placeholder_buffer(_shape(extents), of, name) for extents, of in zip(shape, dtype)]
    body = fcompute(in_buffers, out_buffers)
    if is_prim_expr(body):
        body = Evaluate(body)
    if not isinstance(body, Stmt):
        raise ValueError(f"Function '{fcompute.__name__}' should return Expr or Stmt, but it returned '{type(body)}'")
    op = ExternOp(name, tag, attrs, inputs, in_buffers, out_buffers, body)
    outputs = [op.output(at) for at in range(len(out_buffers))]
    return outputs[0] if len(outputs) == 1 else outputs


def extern_primfunc(input_tensors, primfunc, **kwargs):
    """Tensors that a tensor program computes."""
    from ..s_tir.analysis import touched_buffers
    from ..tirx.buffer import is_buffer_var

    reads, writes = touched_buffers(primfunc.body)
    buffers = [param for param in primfunc.params if is_buffer_var(param)]
    inputs = [buffer for buffer in buffers if any(buffer is item for item in reads)]
    outputs = [buffer for buffer in buffers if any(buffer is item for item in writes)]
    if not inputs or not outputs:
        raise AssertionError(f"PrimFunc has no {'output' if inputs else 'input'} buffers")
    results = [buffer for buffer in outputs if not any(buffer is item for item in inputs)]
    if not results:
        results = [outputs[-1]]
        inputs = [buffer for buffer in inputs if buffer is not outputs[-1]]
    if len(inputs) != len(input_tensors):
        raise AssertionError("The number of provided input input_tensors does not match the number of input buffers in the primfunc")
    for tensor, buffer in zip(input_tensors, inputs):
        if len(tensor.shape) != len(buffer.shape) or not all(a == b for a, b in zip(tensor.shape, buffer.shape)):
            raise AssertionError("The input input_tensors provided do not match the input buffers in the primfunc.")
    return extern(
        [buffer.shape for buffer in results],
        input_tensors,
        lambda ins, outs: primfunc.body,
        in_buffers=inputs,
        out_buffers=results,
        **kwargs,
    )


def var(name="tindex", dtype="int32", span=None):
    """A variable."""
    return _Var(name, dtype)


def size_var(name="size", dtype="int32", span=None):
    """A variable that is not negative."""
    from ..tirx import SizeVar

    return SizeVar(name, dtype)


def const(value, dtype="int32", span=None):
    """A number as a scalar expression."""
    return _const(value, dtype)


def thread_axis(dom=None, tag="", name="", span=None):
    """An index of a thread."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError("tag must be given as Positional or keyword argument")
    return IterVar(dom, name or tag, 1, tag)


def reduce_axis(dom, name="rv", thread_tag="", span=None):
    """An index that a reduction runs over."""
    return IterVar(dom, name, 2, thread_tag)


def create_prim_func(ops, index_dtype_override=None):
    """The tensor program that computes tensors of other tensors."""
    from ._program import program

    return program(list(ops) if isinstance(ops, (list, tuple)) else [ops], index_dtype_override)
