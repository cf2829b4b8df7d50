"""Pipelines of passes by name and by target."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Product:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3, 4), "float32")):
        with R.dataflow():
            z = R.matmul(x, y)
            w = R.nn.relu(z)
            R.output(w)
        return w


@I.ir_module(s_tir=True)
class Sum:
    @T.prim_func(s_tir=True)
    def add(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in range(128):
            with T.sblock("b"):
                v = T.axis.spatial(128, i)
                B[v] = A[v] + T.float32(1.0)


def test_the_pipeline_zero_fuses():
    names = {var.name_hint for var in relax.get_pipeline("zero")(Product).functions}
    assert names == {"main", "fused_matmul_relu"}


@pytest.mark.parametrize("name", ["default", "default_build"])
def test_the_pipelines_of_a_build_do_not_fuse(name):
    mod = relax.get_pipeline(name)(Product)
    assert {var.name_hint for var in mod.functions} == {"main", "matmul", "relu"}
    assert "R.vm.alloc_storage" in mod["main"].script()


def test_the_pipeline_of_a_target_fuses_and_lowers():
    mod = relax.get_default_pipeline(tvm.target.Target("llvm"))(Product)
    assert {var.name_hint for var in mod.functions} == {"main", "fused_matmul_relu"}
    assert "R.vm.kill_object" in mod["main"].script()


def test_pipelines_are_known_by_name():
    assert list(relax.pipeline.PIPELINE_MAP) == ["zero", "default", "default_build", "static_shape_tuning"]
    with pytest.raises(ValueError):
        relax.get_pipeline("no such pipeline")

    @relax.register_pipeline("mine")
    def mine():
        return relax.transform.LegalizeOps()

    assert len(relax.get_pipeline("mine")(Product).functions) == 3
    del relax.pipeline.PIPELINE_MAP["mine"]


def test_passes_for_a_graphics_processor_have_a_schedule():
    passes = relax.pipeline.legalize_passes(tvm.target.Target("cuda"))
    assert len(passes) == len(relax.pipeline.legalize_passes(tvm.target.Target("llvm"))) + 1


def test_the_pipeline_of_tensor_programs_has_three_parts():
    lower, host, device = tirx.get_tir_pipeline("default")
    mod = tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(Sum)
    made = lower(mod)
    assert int(made["add"].attrs["calling_conv"]) == 1 and len(made["add"].params) == 4
    assert "tvm_access_ptr" not in host()(made)["add"].script()
    assert device is not None
    with pytest.raises(ValueError):
        tirx.get_tir_pipeline("no such pipeline")


def test_options_of_passes_are_nodes():
    config = tirx.transform.UnrollLoopConfig(auto_max_step=16)
    assert config.auto_max_depth == 8
    with tvm.transform.PassContext(config={"tirx.UnrollLoop": config}):
        assert tvm.transform.PassContext.current().config["tirx.UnrollLoop"].auto_max_step == 16
    with tvm.transform.PassContext(config={"s_tir.LoopPartition": {"partition_const_loop": True}}):
        assert isinstance(tvm.transform.PassContext.current().config["s_tir.LoopPartition"], tvm.s_tir.transform.LoopPartitionConfig)
    with pytest.raises(TypeError):
        tvm.transform.PassContext(config={"tirx.UnrollLoop": {"no_such_option": 1}})


def test_options_reach_the_pass():
    @I.ir_module
    class Loop:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((4,), "float32")):
            for i in range(4):
                A[i] = T.float32(1.0)

    def unrolled(step):
        with tvm.transform.PassContext(config={"tirx.UnrollLoop": tirx.transform.UnrollLoopConfig(auto_max_step=step)}):
            return "for " not in tirx.transform.UnrollLoop()(Loop)["main"].script()

    assert unrolled(16) and not unrolled(0)
