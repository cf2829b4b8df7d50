"""Scripts for other versions of TVM find their modules, or read what is there instead."""

import importlib

import pytest
import tvm
from tvm import te

# TVM 0.27 has none of these names; what is tested is how this package helps those who have older scripts.
pytest.importorskip("tvm._absent")

MOVED = {
    "tvm.dlight.gpu": "tvm.s_tir.dlight.gpu",
    "tvm.dlight.base.transform": "tvm.s_tir.dlight.base.transform",
    "tvm.relax.vm": "tvm.runtime.vm",
    "tvm.script.ir_builder.tir": "tvm.script.ir_builder.tirx",
    "tvm.script.parser.tir": "tvm.script.parser.tirx",
    "tvm.tir.block_scope": "tvm.s_tir.sblock_scope",
    "tvm.tir.schedule.testing": "tvm.s_tir.schedule.testing",
    "tvm.tir.stmt": "tvm.tirx.stmt",
    "tvm.tir.transform.transform": "tvm.tirx.transform",
    "tvm._ffi.registry": "tvm.runtime.registry",
    "tvm.tir.tensor_intrin.cuda": "tvm.s_tir.tensor_intrin.cuda",
}


@pytest.mark.parametrize("old", MOVED)
def test_modules_are_found_where_they_are_now(old):
    module = importlib.import_module(MOVED[old])
    spec = module.__spec__
    assert importlib.import_module(old) is module and module.__spec__ is spec


def test_an_unknown_module_of_an_old_package_is_not_found():
    with pytest.raises(ModuleNotFoundError, match="No module named 'tvm.tir.nothing'"):
        importlib.import_module("tvm.tir.nothing")


@pytest.mark.parametrize(
    ("ask", "instead"),
    [
        (lambda: te.create_schedule, "te.create_prim_func makes a program"),
        (lambda: tvm.lower, "passes lower a program"),
        (lambda: tvm.placeholder, "te.placeholder is there"),
        (lambda: tvm.context, "tvm.device is there"),
        (lambda: tvm.tir.ir_builder, "T.prim_func"),
    ],
)
def test_names_that_went_say_what_is_there_instead(ask, instead):
    with pytest.raises(AttributeError, match=instead):
        ask()


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda: tvm.topi.cuda.schedule_injective(None), "schedules of tensor expressions"),
        (lambda: te.hybrid.script(None), "schedules of tensor expressions"),
        (lambda: tvm.relay.frontend.from_onnx(None), "models of another framework"),
        (lambda: tvm.driver.tvmc.load("x.onnx"), "no code is made"),
        (lambda: importlib.import_module("tvm.driver.tvmc.model").TVMCModel(), "no code is made"),
    ],
)
def test_what_is_not_here_says_why(use, reason):
    with pytest.raises(NotImplementedError, match=reason):
        use()


def test_a_class_that_is_not_here_may_have_subclasses():
    from tvm.relax.frontend.nn.llm.kv_cache import TIRPagedKVCache

    class Mine(TIRPagedKVCache):
        pass

    with pytest.raises(NotImplementedError, match="kv_cache.TIRPagedKVCache is not here"):
        Mine()


def test_passes_over_blocks_are_found_where_they_stood():
    assert "ConvertBlocksToOpaque" in str(tvm.tir.transform.ConvertBlocksToOpaque().info)
    assert "StmtSimplify" in str(tvm.tir.transform.Simplify().info)
    assert "FlattenBuffer" in str(tvm.tir.transform.StorageFlatten().info)
    # The settings that a pass had before are not passed over in silence.
    with pytest.raises(TypeError):
        tvm.tir.transform.CommonSubexprElimTIR(True, False)
    with pytest.raises(AttributeError, match="NoSuchPass"):
        tvm.tir.transform.NoSuchPass()


def test_a_program_is_built_as_up_to_0_15():
    func = tvm.relax.Function([], tvm.relax.const(3.0), ret_ty=tvm.relax.TensorType([], "float32")).with_attr("global_symbol", "main")
    machine = tvm.relax.vm.VirtualMachine(tvm.relax.vm.build(tvm.IRModule({"main": func}), "llvm"), tvm.cpu())
    assert float(machine["main"]().numpy()) == 3.0


def test_networks_of_relay_need_no_import():
    assert tvm.relay.testing.mlp.get_workload(1)[0]["main"] is not None


def test_tensor_intrinsics_are_found_beside_functions():
    from tvm.tir.function import TensorIntrin

    assert TensorIntrin is tvm.s_tir.TensorIntrin


def _two_indices(i, j):
    row = 4 * (i % 8) + j // 2
    return row, j % 2


def test_a_program_that_python_computes_may_have_blocks_by_their_old_name():
    from tvm.script import tir as T

    @T.prim_func
    def filled(a: T.handle):
        c = T.match_buffer(a, [32, 2], "float32")
        for ax0, ax1 in T.grid(8, 8):
            with T.block("c"):
                i, j = T.axis.remap("SS", [ax0, ax1])
                row, column = T.meta_var(_two_indices(i, j))
                c[row, column] = 1.0

    assert "c[4 * (i % 8) + j // 2, j % 2] = T.float32(1.0)" in filled.script()
