"""Names that stand in other modules here than in TVM are found where TVM has them."""

import importlib

import pytest
import tvm
from tvm import relax, tirx

PATHS = {
    "tvm.relax.op.binary.add": lambda: relax.op.add,
    "tvm.relax.op.unary.exp": lambda: relax.op.exp,
    "tvm.relax.op.create.zeros": lambda: relax.op.zeros,
    "tvm.relax.op.manipulate.reshape": lambda: relax.op.reshape,
    "tvm.relax.op.linear_algebra.matmul": lambda: relax.op.matmul,
    "tvm.relax.op.index.take": lambda: relax.op.take,
    "tvm.relax.op.search.where": lambda: relax.op.where,
    "tvm.relax.op.set.unique": lambda: relax.op.unique,
    "tvm.relax.op.statistical.mean": lambda: relax.op.mean,
    "tvm.relax.op.sorting.argsort": lambda: relax.op.argsort,
    "tvm.relax.op.datatype.astype": lambda: relax.op.astype,
    "tvm.relax.op.mask.masked_fill": lambda: relax.op.masked_fill,
    "tvm.relax.op.qdq.quantize": lambda: relax.op.quantize,
    "tvm.relax.op.ternary.ewise_fma": lambda: relax.op.ewise_fma,
    "tvm.relax.op.nn.nn.relu": lambda: relax.op.nn.relu,
    "tvm.relax.op.image.image.resize2d": lambda: relax.op.image.resize2d,
    "tvm.relax.op.memory.view.view": lambda: relax.op.memory.view,
    "tvm.relax.op.memory.memory.alloc_tensor": lambda: relax.op.memory.alloc_tensor,
    "tvm.relax.op.builtin.builtin.stop_lift_params": lambda: relax.op.builtin.stop_lift_params,
    "tvm.relax.op.grad.grad.no_grad": lambda: relax.op.grad.no_grad,
    "tvm.relax.op.vision.nms.non_max_suppression": lambda: relax.op.vision.non_max_suppression,
    "tvm.relax.analysis.analysis.free_vars": lambda: relax.analysis.free_vars,
    "tvm.relax.analysis.estimate_memory_usage.estimate_memory_usage": lambda: relax.analysis.estimate_memory_usage,
    "tvm.relax.transform.fast_math.FastMathTransform": lambda: relax.transform.FastMathTransform,
    "tvm.relax.transform.remove_redundant_reshape.RemoveRedundantReshape": lambda: relax.transform.RemoveRedundantReshape,
    "tvm.relax.binding_rewrite.DataflowBlockRewrite": lambda: relax.DataflowBlockRewrite,
    "tvm.relax.pipeline.get_pipeline": lambda: relax.get_pipeline,
    "tvm.tirx.build.build": lambda: tirx.build,
    "tvm.tirx.analysis.analysis.undefined_vars": lambda: tirx.analysis.undefined_vars,
    "tvm.tirx.transform.function_pass.prim_func_pass": lambda: tirx.transform.prim_func_pass,
    "tvm.ir.prim.expr.Add": lambda: tirx.Add,
    "tvm.ir.prim.op.max_value": lambda: tirx.max_value,
    "tvm.s_tir.stmt.SBlock": lambda: tirx.SBlock if hasattr(tirx, "SBlock") else tvm.s_tir.SBlock,
    "tvm.s_tir.data_layout.slayout": lambda: tvm.s_tir.slayout,
    "tvm.target.target.Target": lambda: tvm.target.Target,
    "tvm.target.tag.list_tags": lambda: tvm.target.list_tags,
    "tvm.runtime.params.save_param_dict": lambda: tvm.runtime.save_param_dict,
    "tvm.runtime.module.load_module": lambda: tvm.runtime.load_module,
    "tvm.script.parser.core.entry.parse": lambda: tvm.script.parser.parse,
}


@pytest.mark.parametrize("path", PATHS)
def test_a_name_is_the_same_in_both_modules(path):
    module, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(module), name) is PATHS[path]()


def test_a_function_keeps_its_name_when_a_module_of_the_name_is_imported():
    importlib.import_module("tvm.tirx.build")
    assert callable(tirx.build)


def test_a_module_has_no_other_names():
    with pytest.raises(ImportError):
        from tvm.relax.op.binary import no_such_operator  # noqa: F401


def test_a_module_gives_all_of_its_names():
    names = {}
    exec("from tvm.relax.op.unary import *", names)
    assert names["exp"] is relax.op.exp


def test_attributes_are_of_the_class_of_their_key():
    from tvm.relax.op.op_attrs import Conv1DAttrs, Conv2DAttrs

    x = relax.Var("x", relax.TensorType((1, 3, 8, 8), "float32"))
    w = relax.Var("w", relax.TensorType((4, 3, 3, 3), "float32"))
    attrs = relax.op.nn.conv2d(x, w).attrs
    assert isinstance(attrs, Conv2DAttrs) and not isinstance(attrs, Conv1DAttrs)


def test_programs_of_tests_have_what_was_asked_for():
    from tvm.relax.testing import get_relax_matmul_module
    from tvm.relax.testing.attention import get_relax_attention_module, get_relax_stacked_attention_module

    def operators(mod):
        return [binding.value.op.name for binding in mod["main"].body.blocks[0].bindings if isinstance(binding.value, relax.Call)]

    mod = get_relax_matmul_module((2, 3), (4, 3), "float16", "float32", True, (4,), relax.op.nn.relu)
    assert operators(mod) == ["relax.permute_dims", "relax.matmul", "relax.add", "relax.nn.relu"]
    mod = get_relax_attention_module((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), dtype="float32", bias_shape=(1, 3, 2, 2), qk_scale=0.5)
    assert operators(mod) == ["relax.nn.attention_bias"]
    qkv = relax.Var("qkv", relax.TensorType((3, 2, 4, 12), "float32"))

    class Given:
        shape, dtype = (3, 2, 4, 12), "float32"

    mod = get_relax_stacked_attention_module(Given, 2, 3, 4, 4, 4, "split", layout="SBN3H")
    assert operators(mod) == ["relax.split", *["relax.permute_dims"] * 3, "relax.nn.attention", "relax.permute_dims"]
    assert mod["main"].ret_ty.shape.values[0] == qkv.ty.shape.values[0]


def test_names_of_json_of_other_versions():
    from tvm.ir import json_compact

    graph = {"nodes": [{"type": "a"}, {"type": "b"}], "metadata": {"tvm_version": "0.1.0"}}
    update = json_compact.create_updater({"a": lambda node, nodes: {"type": "c"}}, "0.1", "0.2")
    assert update(graph)["nodes"] == [{"type": "c"}, {"type": "b"}] and json_compact.get_version(graph) == "0.2"


@pytest.mark.parametrize("path", ["relax.backend.contrib", "contrib.cudnn", "s_tir.meta_schedule.relax_integration", "relax.distributed"])
def test_modules_for_what_a_machine_may_lack_can_be_imported(path):
    assert importlib.import_module(f"tvm.{path}").__name__ == f"tvm.{path}"
