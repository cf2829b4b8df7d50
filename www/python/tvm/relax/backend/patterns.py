"""Patterns that several libraries take over, each with names for its parts."""

from ..dpl.pattern import GlobalVarPattern, TuplePattern, is_const, is_op, wildcard


def _finished(out, parts, with_bias, activation, allow_reshape=False):
    if with_bias:
        bias = parts["bias"] = wildcard()
        if allow_reshape:
            bias = is_op("relax.reshape")(bias, wildcard(), varg_default_wildcard=True)
            out = is_op("relax.add")(out, bias, varg_default_wildcard=True)
        else:
            out = is_op("relax.add")(out, bias)
    return is_op(activation)(out) if activation else out, parts


def _of_two(operator, first, second, transposed=False):
    parts = {first: wildcard(), second: wildcard()}
    left, right = parts.values()
    parts["root"] = is_op(operator)(left, is_op("relax.permute_dims")(right) if transposed else right)
    return parts["root"], parts


def make_fused_bias_activation_pattern(op_name, with_bias=False, activation=None, allow_reshape=False):
    """An operator of two operands, and what may follow."""
    return _finished(*_of_two(op_name, "lhs", "rhs"), with_bias, activation, allow_reshape)


def make_residual_block_pattern(node_output, binary_op="relax.add", activation=None):
    """The output of a node with what went around it."""
    node_output, parts = node_output if isinstance(node_output, tuple) else (node_output, {})
    residual = wildcard()
    both = is_op(binary_op)(node_output, residual) | is_op(binary_op)(residual, node_output)
    return is_op(activation)(both) if activation is not None else both, {**parts, "residual": residual}


def make_conv2d_pattern(with_bias=False, activation=None):
    """A convolution, and what may follow."""
    return _finished(*_of_two("relax.nn.conv2d", "input", "weight"), with_bias, activation)


def make_matmul_pattern(with_bias=False, activation=None, transposed_rhs=False):
    """A product of matrices, and what may follow."""
    return _finished(*_of_two("relax.matmul", "lhs", "rhs", transposed_rhs), with_bias, activation)


def make_attention_pattern(with_bias=False, var_len=False):
    """An attention, with a bias or with sequences of several lengths."""
    names = "query key value".split()
    if with_bias:
        names.append("bias")
    elif var_len:
        names += "seqstart_q seqstart_k max_seqlen_q max_seqlen_k".split()
    parts = {name: wildcard() for name in names}
    return is_op(f"relax.nn.attention{'_bias' if with_bias else '_var_len' if var_len else ''}")(*parts.values()), parts


def make_layer_norm_pattern():
    """A layer's normalization."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_rms_norm_pattern():
    """A call of a tensor program of two tensors, which is taken for a normalization."""
    parts = {"gv": GlobalVarPattern(), "inp": wildcard()}
    parts["rms_norm"] = is_op("relax.call_tir")(parts["gv"], TuplePattern([parts["inp"], wildcard()]))
    return parts["rms_norm"], parts


def make_matmul_dequantize_pattern(transposed_rhs=False):
    """A product of matrices that is dequantized."""
    root, parts = _of_two("relax.matmul", "lhs", "rhs", transposed_rhs)
    parts |= {"scale": is_const(), "zp": is_const()}
    return is_op("relax.dequantize")(root, parts["scale"], parts["zp"]), parts


def make_matmul_multiply_pattern(transposed_rhs=False):
    """A product of matrices that is scaled and cast."""
    root, parts = _of_two("relax.matmul", "lhs", "rhs", transposed_rhs)
    parts |= {"scaleA": wildcard(), "scaleB": wildcard()}
    scale = is_op("relax.multiply")(*[parts[name].has_shape((1,)) for name in ("scaleA", "scaleB")])
    return is_op("relax.astype")(is_op("relax.multiply")(root, scale)), parts
