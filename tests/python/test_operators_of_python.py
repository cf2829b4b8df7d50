"""Operators that Python calls, devices, and statements that Python makes. The tests pass on TVM 0.27, too."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as builder


@pytest.mark.parametrize("make", [relax.op.ones, relax.op.zeros])
def test_a_tensor_of_equal_elements_needs_shape_and_type(make):
    with pytest.raises(TypeError):
        make(4, "float32")
    with pytest.raises(TypeError):
        make(tirx.Var("n", "int64"), "float32")
    with pytest.raises(TypeError):
        make((2, 3))
    made = relax.BlockBuilder().normalize(make((2, 3), tvm.ir.PrimType("int8")))
    tvm.ir.assert_structural_equal(made.ty, relax.TensorType([2, 3], "int8"))


def test_shapes_are_no_numbers():
    x = relax.Var("x", relax.TensorType([2, 3], "float32"))
    with pytest.raises(TypeError):
        relax.op.full(4, relax.const(1.0))
    with pytest.raises(TypeError):
        relax.op.reshape(x, 6)


def test_the_element_type_as_a_type():
    made = relax.BlockBuilder().normalize(relax.op.arange(0, 6, 2, tvm.ir.PrimType("float32")))
    tvm.ir.assert_structural_equal(made.ty, relax.TensorType([3], "float32"))
    assert tvm.ir.PrimType("int8") == "int8"
    assert tvm.ir.PrimType("int8") != "int16"


def test_hints_to_devices():
    @R.function(private=True)
    def main(x: R.Tensor((2,), "float32")):
        y = R.hint_on_device(x, R.device(4, 1), "global.texture")
        z = R.hint_on_device(y, R.cpu())
        return z

    x = relax.Var("x", relax.TensorType([2], "float32"))
    made = relax.BlockBuilder()
    with made.function("main", [x], private=True):
        y = made.emit(relax.op.hint_on_device(x, tvm.opencl(1), "global.texture"))
        made.emit_func_output(made.emit(relax.op.hint_on_device(y, tvm.cpu())))
    tvm.ir.assert_structural_equal(main, made.get()["main"])


def test_global_infos_of_python_and_of_a_text():
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("cuda", 1), I.vdevice({"kind": "cuda", "arch": "sm_80"})], "dummy": [I.dummy_global_info()]})

        @R.function
        def main(x: R.Tensor((2,), "float32")):
            return x

    x = relax.Var("x", relax.TensorType([2], "float32"))
    made = relax.BlockBuilder()
    with made.function("main", [x]):
        made.emit_func_output(x)
    mod = made.get()
    mod.update_global_info("vdevice", [relax.VDevice("cuda", 1), relax.VDevice({"kind": "cuda", "arch": "sm_80"})])
    mod.update_global_info("dummy", [relax.DummyGlobalInfo()])
    tvm.ir.assert_structural_equal(Module, mod)


def test_comparisons_of_scalars_are_expressions_where_they_are_compared():
    n = tirx.Var("n", "int64")
    tvm.ir.assert_structural_equal(n % 4 == 0, tirx.EQ(n % 4, tirx.IntImm("int64", 0)), map_free_vars=True)


def test_a_program_with_threads():
    with IRBuilder() as made:
        with builder.prim_func(s_tir=True):
            builder.func_name("main")
            A = builder.arg("A", builder.Buffer((8,), "float32"))
            thread = builder.env_thread("threadIdx.x")
            with builder.launch_thread(thread, 8):
                builder.buffer_store(A, T.float32(1), [thread])

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        A[tx] = T.float32(1)

    tvm.ir.assert_structural_equal(made.get(), main)
    assert int(main.body.node.dom.extent) == 8


def test_regions_and_the_root_are_found():
    with IRBuilder() as made:
        with builder.prim_func(s_tir=True):
            builder.func_name("main")
            A = builder.arg("A", builder.Buffer((8,), "float32"))
            B = builder.sblock_alloc_buffer((8,), "float32")
            with builder.serial(8) as i:
                with builder.sblock("copy"):
                    v = builder.axis.spatial(8, i)
                    builder.buffer_store(B, A[v], [v])

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32")):
        B = T.sblock_alloc_buffer((8,))
        for i in range(8):
            with T.sblock("copy"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]

    tvm.ir.assert_structural_equal(made.get(), main)


def test_a_declaration_without_memory_allocates():
    with IRBuilder() as made:
        with builder.prim_func():
            builder.decl_buffer([8], "float32")
            builder.evaluate(1)
    assert isinstance(made.get().body.seq[0], tirx.AllocBuffer)


def test_statements_have_places():
    span = tvm.ir.Span(tvm.ir.SourceName("a.py"), 3, 3, 1, 9)
    with IRBuilder() as made:
        with builder.prim_func():
            with made.with_source_span(span):
                builder.evaluate(1)
    assert made.get().body.span.line == 3


def test_statements_with_bodies_are_of_before():
    buffer = tirx.decl_buffer((8,), "float32")
    body = tirx.Evaluate(0)
    assert tirx.AllocBuffer(buffer, body).body is body
    pointer = tirx.Var("pointer", buffer.data.ty)
    assert tirx.DeclBuffer(buffer, body, data=pointer).body is body


def test_an_axis_around_a_program():
    thread = tirx.Var("tx", "int32")
    axis = tirx.IterVar(tvm.ir.Range(0, 8), thread, tirx.IterVar.ThreadIndex, "threadIdx.x")

    @T.prim_func(check_well_formed=False)
    def main(A: T.Buffer((8,), "float32")):
        with T.attr(axis, "thread_extent", 8):
            A[thread] = T.float32(1)

    @T.prim_func
    def expected(A: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        A[tx] = T.float32(1)

    tvm.ir.assert_structural_equal(main.without_attr("global_symbol"), expected.without_attr("global_symbol"))


def test_prefixes_are_names():
    @T.prim_func
    def main():
        T.evaluate(0)

    with pytest.raises(RuntimeError):
        main.script(ir_prefix="2I")


def test_facts_that_are_noted_of_few_operators():
    facts = [("dynamic_strided_slice", "FDataDependent", True), ("memory.view", "RequiresArgumentShapes", False), ("unique", "FCallPacked", "relax.run.unique")]
    for name, key, value in facts:
        assert tvm.ir.Op.get(f"relax.{name}").get_attr(key) == value
    assert tvm.ir.Op.get("relax.add").get_attr("FDataDependent") is None
