"""Nodes with some fields changed: a node itself if none is."""

from . import _walk
from .expr import Call, Constant, Function, If, Let, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var


def _changed(pairs):
    """Fields with what is given for them, and True if one of them is another object then."""
    values, changed = [], False
    for old, new in pairs:
        if new is None or new is old:
            values.append(old)
            continue
        several = isinstance(new, (list, tuple))
        changed |= not (several and _walk.same(list(old), list(new)))
        values.append(new)
    return values, changed


def _made(node, cls, pairs, span):
    values, changed = _changed(pairs)
    if not changed and (span is None or span is node.span):
        return node
    return cls(*values, span=node.span if span is None else span)


def ConstantWithFields(constant, data=None, virtual_device=None, span=None):
    """A constant with another tensor."""
    return _made(constant, Constant, [(constant.data, data)], span)


def TupleWithFields(tup, fields=None, virtual_device=None, span=None):
    """A tuple with other fields."""
    return _made(tup, Tuple, [(tup.fields, fields)], span)


def VarWithFields(variable, vid=None, type_annotation=None, virtual_device=None, span=None):
    """A variable with another name or type."""
    if vid is None or vid is variable.vid:
        made = _made(variable, Var, [(variable.name_hint, None), (variable.type_annotation, type_annotation)], span)
        if made is not variable:
            made._vid = variable.vid
        return made
    annotation = variable.type_annotation if type_annotation is None else type_annotation
    made = Var(vid.name_hint, annotation, variable.span if span is None else span)
    made._vid = vid
    return made


def CallWithFields(call, op=None, args=None, attrs=None, type_args=None, virtual_device=None, span=None):
    """A call with another callee, arguments, attributes or types."""
    return _made(call, Call, [(call.op, op), (call.args, args), (call.attrs, attrs), (call.type_args, type_args)], span)


def LetWithFields(let, variable=None, value=None, body=None, virtual_device=None, span=None):
    """A `let` with another variable, value or body."""
    return _made(let, Let, [(let.var, variable), (let.value, value), (let.body, body)], span)


def IfWithFields(if_expr, cond=None, true_branch=None, false_branch=None, virtual_device=None, span=None):
    """An `if` with another condition or branches."""
    pairs = [(if_expr.cond, cond), (if_expr.true_branch, true_branch), (if_expr.false_branch, false_branch)]
    return _made(if_expr, If, pairs, span)


def TupleGetItemWithFields(tuple_get_item, tuple_value=None, index=None, virtual_device=None, span=None):
    """Another field, or the field of another tuple."""
    pairs = [(tuple_get_item.tuple_value, tuple_value), (tuple_get_item.index, index)]
    return _made(tuple_get_item, TupleGetItem, pairs, span)


def RefCreateWithFields(ref_create, value=None, virtual_device=None, span=None):
    """A cell with another value."""
    return _made(ref_create, RefCreate, [(ref_create.value, value)], span)


def RefReadWithFields(ref_read, ref=None, virtual_device=None, span=None):
    """A read of another cell."""
    return _made(ref_read, RefRead, [(ref_read.ref, ref)], span)


def RefWriteWithFields(ref_write, ref=None, value=None, virtual_device=None, span=None):
    """A write into another cell, or of another value."""
    return _made(ref_write, RefWrite, [(ref_write.ref, ref), (ref_write.value, value)], span)


def FunctionWithFields(function, params=None, body=None, ret_type=None, ty_params=None, attrs=None, virtual_device=None, span=None):
    """A function with other parameters, body, types or attributes."""
    pairs = [(function.params, params), (function.body, body), (function.ret_type, ret_type)]
    pairs += [(function.type_params, ty_params), (function.attrs, attrs)]
    return _made(function, Function, pairs, span)
