"""Operators of `topi` over tensors of tensor expressions. Each program is what TVM 0.27 gives; the tests pass there, too."""

import pytest
import tvm
from tvm import relax, te, topi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def equal(func, expected):
    """Both functions are the same, whatever they are called."""
    expected = expected.with_attr("global_symbol", "main").with_attr("tirx.noalias", True)
    tvm.ir.assert_structural_equal(func, expected)


def test_a_number_has_the_type_of_the_tensor_beside_it():
    A = te.placeholder((4, 8), "float32", "A")
    func = te.create_prim_func([A, topi.exp(topi.multiply(A, 2))])

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((4, 8), "float32"), compute: T.Buffer((4, 8), "float32")):
        T_multiply = T.sblock_alloc_buffer((4, 8))
        for ax0, ax1 in T.grid(4, 8):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T_multiply[v_ax0, v_ax1] = A[v_ax0, v_ax1] * T.float32(2.0)
        for i0, i1 in T.grid(4, 8):
            with T.sblock("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                compute[v_i0, v_i1] = T.exp(T_multiply[v_i0, v_i1])

    equal(func, expected)


def test_the_second_matrix_of_dense_is_transposed():
    """A square one gave another product silently."""
    A, W = te.placeholder((4, 4), "float32", "A"), te.placeholder((4, 4), "float32", "W")
    func = te.create_prim_func([A, W, topi.nn.dense(A, W)])

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((4, 4), "float32"), W: T.Buffer((4, 4), "float32"), T_matmul_NT: T.Buffer((4, 4), "float32")):
        T.func_attr({"layout_free_buffers": [1]})
        for i0, i1, k in T.grid(4, 4, 4):
            with T.sblock("T_matmul_NT"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                with T.init():
                    T_matmul_NT[v_i0, v_i1] = T.float32(0.0)
                T_matmul_NT[v_i0, v_i1] = T_matmul_NT[v_i0, v_i1] + A[v_i0, v_k] * W[v_i1, v_k]

    equal(func, expected)


def test_extents_are_variables_of_the_caller():
    n = te.var("n")
    X = te.placeholder((n, 8), "float32", "X")
    made = topi.transpose(X)
    assert made.shape[1].same_as(n)


def test_operators_are_composed_in_a_function_of_emit_te():
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(lambda x: topi.sum(topi.nn.relu(x), axis=1), x, primfunc_name_hint="sum_relu"))

    @I.ir_module
    class Expected:
        @T.prim_func(private=True, s_tir=True)
        def sum_relu(x: T.Buffer((T.int64(2), T.int64(3)), "float32"), compute_red: T.Buffer((T.int64(2),), "float32")):
            T.func_attr({"tirx.noalias": True})
            compute = T.sblock_alloc_buffer((T.int64(2), T.int64(3)))
            for i0, i1 in T.grid(T.int64(2), T.int64(3)):
                with T.sblock("compute"):
                    v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                    compute[v_i0, v_i1] = T.max(x[v_i0, v_i1], T.float32(0.0))
            for ax0, k1 in T.grid(T.int64(2), T.int64(3)):
                with T.sblock("compute_red"):
                    v_ax0, v_k1 = T.axis.remap("SR", [ax0, k1])
                    with T.init():
                        compute_red[v_ax0] = T.float32(0.0)
                    compute_red[v_ax0] = compute_red[v_ax0] + compute[v_ax0, v_k1]

        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2,), "float32"):
            cls = Expected
            gv = R.call_tir(cls.sum_relu, (x,), out_ty=R.Tensor((2,), "float32"))
            return gv

    tvm.ir.assert_structural_equal(builder.get(), Expected)


def test_an_index_of_a_constant_keeps_the_width_of_its_variables():
    A = te.placeholder((4, 8), "float32", "A")
    _, right = topi.split(A, 2, axis=1)
    assert "A[v_ax0, v_ax1 + 4]" in te.create_prim_func([A, right]).script()


def test_a_tensor_around_a_program_is_not_read_into_it():
    A = te.placeholder((4,), "float32", "A")

    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1.0)

    assert A.name == "A" and func.params[0].name == "A"


def test_an_element_type_by_the_name_of_a_variable():
    def make(dtype):
        @I.ir_module
        class Module:
            @R.function
            def main(x: R.Tensor((2, 3), dtype)) -> R.Tensor((2, 3), dtype):
                nonlocal dtype
                return x

        return Module

    assert make("float16")["main"].params[0].ty.dtype == "float16"


def test_integers_are_refused_where_only_floats_are_computed():
    with pytest.raises(TypeError, match="only supports floating-point inputs, but got int16"):
        topi.acos(te.placeholder((8,), "int16", "x"))


def test_operands_of_two_types_are_cast_to_one():
    """A number with a fraction was cut to an integer beside integers."""
    A, B = te.placeholder((4,), "int8", "A"), te.placeholder((4,), "int64", "B")
    assert topi.add(A, 1.5).dtype == "float32"
    assert topi.add(A, 300).dtype == "int32"
    assert "T.Cast(\"int64\", A[v_ax0]) + B[v_ax0]" in te.create_prim_func([A, B, topi.add(A, B)]).script()


def test_an_integer_attribute_set_in_python_is_the_one_of_the_text():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((8,), "float32")):
        T.func_attr({"count": 1, "places": [1, 2]})
        T.evaluate(0)

    again = func.without_attr("count").with_attr("count", 1).with_attr("places", [1, 2])
    tvm.ir.assert_structural_equal(func, again)


def test_a_packed_function_takes_buffers_as_arrays():
    A = te.placeholder((4, 3), "float32", "A")
    C = te.extern((4, 3), [A], lambda ins, outs: tvm.tirx.call_packed("testing.echo", ins[0], outs[0]), name="C")
    text = te.create_prim_func([A, topi.add(C, 1.0)]).script()
    array = "T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(4, 3), 0, 2, T.float32(0.0), A.elem_offset)"
    assert f'T.call_packed("testing.echo", {array}, ' in text
    assert "T.reads()\n" in text


def test_an_element_beside_a_tensor_stays_in_the_expression():
    """The tensor of the element was left out of what the block reads."""
    A, B = te.placeholder((4,), "float32", "A"), te.placeholder((2,), "float32", "B")
    assert "T_add[v_ax0] = A[v_ax0] + B[0]" in te.create_prim_func([A, B, topi.add(A, B[0])]).script()


def test_a_choice_of_an_index_is_as_wide_as_the_index():
    A, L = te.placeholder((4, 6), "float32", "A"), te.placeholder((4,), "int32", "L")
    text = te.create_prim_func([A, L, topi.reverse_sequence(A, L, 1, 0)]).script()
    assert "A[v_ax0, T.if_then_else(" in text


def test_a_picture_is_enlarged_with_the_cubic_parameter_of_topi():
    """It was -0.5, the default of another operator; that of `topi.image.resize2d` is -0.75."""
    X = te.placeholder((1, 1, 4, 4), "float32", "X")
    text = te.create_prim_func([X, topi.image.resize2d(X, [0.0] * 4, (8, 8), method="cubic")]).script()
    assert "T.float32(-0.75)" in text


def test_arguments_by_the_names_of_topi():
    A = te.placeholder((4, 6), "float32", "A")
    assert [int(extent) for extent in topi.reshape(A, newshape=(24,)).shape] == [24]
    assert topi.clip(A, a_min=0.0, a_max=6.0).dtype == "float32"
