"""Programs that are built call by call, and texts of what is in no function. The tests pass on TVM 0.27, too."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import relax as relax_builder
from tvm.script.ir_builder import tirx as tirx_builder


def test_a_function_of_relax():
    with IRBuilder() as builder:
        with relax_builder.function():
            R.func_name("main")
            x = R.arg("x", relax.TensorType((2, 3), "float32"))
            with R.dataflow() as frame:
                y = R.emit(R.add(x, x))
                IRBuilder.name("y", y)
                R.output(R.emit(R.exp(y)))
            R.func_ret_value(frame.output_vars[0])

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            z = R.exp(y)
            R.output(z)
        return z

    made = builder.get()
    tvm.ir.assert_structural_equal(made, main)
    assert made.body.blocks[0].bindings[0].var.name == "y"


def test_a_tensor_program():
    with IRBuilder() as builder:
        with tirx_builder.prim_func():
            tirx_builder.func_name("main")
            A = tirx_builder.arg("A", tirx.decl_buffer((8,), "float32"))
            B = tirx_builder.arg("B", tirx.decl_buffer((8,), "float32"))
            with tirx_builder.serial(8) as i:
                IRBuilder.name("i", i)
                with tirx_builder.If(i < 4):
                    with tirx_builder.Then():
                        tirx_builder.buffer_store(B, A[i] + T.float32(1), [i])
                    with tirx_builder.Else():
                        tirx_builder.buffer_store(B, T.float32(0), [i])

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            if i < 4:
                B[i] = A[i] + T.float32(1)
            else:
                B[i] = T.float32(0)

    tvm.ir.assert_structural_equal(builder.get(), main)


def test_targets_have_the_limits_of_their_kinds():
    assert tvm.target.Target("metal").attrs["max_num_threads"] == 256
    assert tvm.target.Target("opencl").attrs["thread_warp_size"] == 1
    apple = tvm.target.Target("apple/m2-gpu")
    assert apple.attrs["max_threads_per_block"] == 1024
    assert apple.host.attrs["mcpu"] == "apple-m2"


def test_a_builder_is_needed():
    with pytest.raises(ValueError, match="No builder in current scope"):
        IRBuilder.current()


def test_a_conditional_alone_is_printed_with_its_branches():
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
        if c:
            y = R.exp(x)
        else:
            y = R.tanh(x)
        return y

    text = str(main.body.blocks[0].bindings[0])
    assert "if c:" in text and "else:" in text and "R.tanh(x)" in text
    assert text.splitlines()[1] == 'c: R.Tensor((), dtype="bool")'


def test_declarations_stand_before_a_dataflow_block():
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y

    lines = str(main.body.blocks[0]).splitlines()
    assert lines[:3] == ["n = T.int64()", 'x: R.Tensor((n,), dtype="float32")', "with R.dataflow():"]


def test_a_value_is_printed_alone_unless_more_is_asked_for():
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    call = relax.op.exp(x)
    assert str(call) == "R.exp(x)"
    assert call.script(verbose_expr=True) == 'n = T.int64()\nx: R.Tensor((n,), dtype="float32")\nR.exp(x)'
    assert (n + 1).script(verbose_expr=True) == "n = T.int64()\nn + T.int64(1)"


def test_a_truth_value_among_arguments_is_a_number():
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.call_dps_packed("f", [x, True], out_ty=R.Tensor((2,), "float32"))
        return y

    value = main.body.blocks[0].bindings[0].value.args[1].fields[1]
    assert value.ty == tvm.ir.PrimType("int64") and int(value) == 1


def test_a_view_has_to_lie_within_the_tensor():
    with pytest.raises(tvm.error.DiagnosticError):

        @R.function
        def larger(A: R.Tensor([16], "float32")):
            B = R.memory.view(A, R.shape([17]))
            return B

    with pytest.raises(tvm.error.DiagnosticError):

        @R.function
        def offset(A: R.Tensor):
            B = R.memory.view(A, relative_byte_offset=16)
            return B


def test_an_output_in_place_has_the_type_of_its_input():
    with pytest.raises(tvm.error.DiagnosticError):

        @I.ir_module(s_tir=True)
        class Module:
            @T.prim_func(s_tir=True)
            def f(A: T.Buffer((2, 3), "int32"), B: T.Buffer((2, 3), "int32")):
                T.evaluate(0)

            @R.function
            def main(x: R.Tensor((2, 4), "int32")):
                gv = R.call_tir_inplace(Module.f, x, [0], R.Tensor((2, 3), "int32"))
                return gv


def test_a_constant_around_a_program_has_a_type():
    one = relax.const(1, "float32")

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.add(x, one)
        return y

    assert main.ret_ty == relax.TensorType((2,), "float32")


def test_gradients_of_a_variable_inside():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.sum(lv)
                R.output(gv)
            return gv

    inner = Module["main"].body.blocks[0].bindings[0].var
    made = relax.transform.Gradient("main", require_grads=inner)(Module)["main_adjoint"]
    assert len(made.ret_ty.fields[1].fields) == 1
    assert "R.broadcast_to" in str(made) and "R.multiply" not in str(made)


def test_buffers_have_an_alignment():
    with IRBuilder() as builder:
        with tirx_builder.prim_func(s_tir=True):
            a = tirx_builder.arg("a", tirx_builder.handle())
            made = tirx_builder.match_buffer(a, (16, 16), "float16", None, None, None, "shared", align=32, offset_factor=16)
            tirx_builder.evaluate(made[0, 0])
    text = builder.get().script()
    assert 'scope="shared", align=32, offset_factor=16' in text
