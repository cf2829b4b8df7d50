"""`R.emit_te` in a program that is written as a class."""

import pytest
import tvm
from tvm import relax, te, tirx, topi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def same_as_built(module, build, params):
    """The module is the one that a block builder makes of the same calls."""
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(build(builder, *params))
    tvm.ir.assert_structural_equal(module, builder.get())


def test_calls_of_operators_become_calls_of_their_programs():
    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor((4,), "float32")):
            total = R.emit_te(topi.add, x, y)
            one = R.emit_te(topi.divide, total, R.const(2, "float32"))
            both = R.emit_te(topi.concatenate, (one, x), axis=0)
            return both

    def build(builder, x, y):
        total = builder.emit_te(topi.add, x, y)
        one = builder.emit_te(topi.divide, total, relax.const(2, "float32"))
        return builder.emit_te(topi.concatenate, (one, x), axis=0)

    x = relax.Var("x", relax.TensorType((2, 4), "float32"))
    same_as_built(Module, build, [x, relax.Var("y", relax.TensorType((4,), "float32"))])


def test_symbolic_extents_keep_their_variables():
    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(["m"])):
            n = T.int64()
            m = T.int64()
            wide = R.emit_te(topi.broadcast_to, x, [m, n, 4])
            return R.emit_te(topi.reshape, wide, [m * n, 4])

    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")

    def build(builder, x, s):
        wide = builder.emit_te(topi.broadcast_to, x, [m, n, 4])
        return builder.emit_te(topi.reshape, wide, [m * n, 4])

    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    same_as_built(Module, build, [x, relax.Var("s", relax.ShapeType([m]))])


def test_the_same_operand_twice_is_two_arguments():
    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            return R.emit_te(topi.add, x, x)

    call = Module["main"].body.blocks[0].bindings[0].value
    assert len(call.args[1].fields) == 2
    assert len(Module["add"].params) == 3


def test_a_scalar_that_no_extent_tells_is_an_argument():
    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), s: R.Shape(["m"])):
            m = T.int64()
            return R.emit_te(topi.add, x, m)

    call = Module["main"].body.blocks[0].bindings[0].value
    assert len(call.args[1].fields) == 2
    assert [param.name for param in Module["add"].params][1] == "m"


def test_a_function_of_ones_own_under_a_name_that_is_asked_for():
    def halved(tensor):
        return te.compute((tensor.shape[0] // 2,), lambda i: tensor[i * 2], name="halved")

    name = "first"

    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor((8,), "float32")):
            with R.dataflow():
                y = R.emit_te(halved, x, primfunc_name_hint=f"{name}_half")
                R.output(y)
            return y

    assert {var.name_hint for var in Module.get_global_vars()} == {"main", "first_half"}
    assert list(Module["main"].ret_ty.shape.values) == [4]


def test_a_call_in_a_branch():
    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor((3,), "float32"), which: R.Tensor((), "bool")):
            if which:
                y = R.emit_te(topi.exp, x)
            else:
                y = R.emit_te(topi.tanh, x)
            return y

    assert {var.name_hint for var in Module.get_global_vars()} == {"main", "exp", "tanh"}


def test_two_programs_of_one_name_are_refused():
    with pytest.raises(tvm.error.DiagnosticError, match="function add already exists"):

        @I.ir_module(s_tir=True)
        class Module:
            @R.function
            def main(x: R.Tensor((3,), "float32")):
                y = R.emit_te(topi.add, x, x)
                z = R.emit_te(topi.add, y, x)
                return z


def test_a_function_alone_has_no_module_for_the_program():
    with pytest.raises(tvm.error.DiagnosticError, match="under I.ir_module"):

        @R.function
        def main(x: R.Tensor((3,), "float32")):
            y = R.emit_te(topi.exp, x)
            return y


def test_a_function_of_python_writes_a_part_of_the_program():
    def twice(value, low=0.0):
        return relax.op.clip(relax.op.add(value, value), low, 6.0)

    @I.ir_module(s_tir=True)
    class Module:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                y = R.exp(x)
                z = twice(y, low=1.0)
                R.output(z)
            return z

    @I.ir_module(s_tir=True)
    class Expected:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                y = R.exp(x)
                z = R.clip(R.add(y, y), 1.0, 6.0)
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(Module, Expected)


def test_axes_of_one_element_go_and_symbolic_ones_stay():
    n = tirx.Var("n", "int64")
    A = te.placeholder((1, n, 4), "float32", "A")
    assert [str(extent) for extent in topi.squeeze(A).shape] == ["n", "4"]
    assert len(topi.squeeze(te.placeholder((n, 4), "float32", "B")).shape) == 2


def test_a_module_that_is_not_well_formed_is_refused_unless_that_is_deliberate():
    with pytest.raises(tvm.error.DiagnosticError, match="not well-formed"):

        @I.ir_module(s_tir=True)
        class Refused:
            @R.function
            def main(x: R.Tensor((3,), "float32")):
                with R.dataflow():
                    y = R.call_packed("f", x, ty_args=R.Tensor((3,), "float32"))
                    R.output(y)
                return y

    @I.ir_module(check_well_formed=False, s_tir=True)
    class Deliberate:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                y = R.call_packed("f", x, ty_args=R.Tensor((3,), "float32"))
                R.output(y)
            return y

    assert not relax.analysis.check_well_formed(Deliberate)


def test_an_element_of_a_tensor_is_an_operand_of_a_node():
    a, b = te.placeholder((4,), "float16", "a"), te.placeholder((4,), "float16", "b")
    made = te.create_prim_func([a, b, te.compute((4,), lambda i: tirx.Mul(tirx.Sub(a[i], b[i]), b[i]), name="c")])
    assert "c[v_i] = (a[v_i] - b[v_i]) * b[v_i]" in made.script()
