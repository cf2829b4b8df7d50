"""Tensors, parameters, targets and samples of schedules."""

import numpy as np
import pytest
import tvm
from tvm import relax, s_tir
from tvm.relax import dpl
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

# The bytes that TVM 0.27 saves.
SAVED = (
    "b79c04054f8de5f700000000000000000200000000000000010000000000000077010000000000000061020000000000"
    "00003fa1b496f0405edd00000000000000000100000000000000020000000220010002000000000000000300000000000000"
    "1800000000000000000000000000803f0000004000004040000080400000a0403fa1b496f0405edd00000000000000000100"
    "0000000000000100000006080100020000000000000002000000000000000100"
)


def test_parameters_are_saved_as_tvm_saves_them(tmp_path):
    params = {"w": np.arange(6, dtype="float32").reshape(2, 3), "a": tvm.runtime.tensor(np.array([True, False]))}
    saved = bytes(tvm.runtime.save_param_dict(params))
    assert saved == bytes.fromhex(SAVED)
    loaded = tvm.runtime.load_param_dict(saved)
    assert sorted(loaded) == ["a", "w"] and loaded["w"].numpy().tolist() == params["w"].tolist()
    assert loaded["a"].numpy().tolist() == [True, False] and loaded["w"].shape == (2, 3)
    path = str(tmp_path / "params.bin")
    tvm.runtime.save_param_dict_to_file(params, path)
    assert tvm.runtime.load_param_dict_from_file(path)["w"].numpy().tolist() == params["w"].tolist()
    with pytest.raises(tvm.error.InternalError):
        tvm.runtime.load_param_dict(b"abcdefgh" * 3)


def test_a_tensor_tells_how_its_elements_lie():
    made = tvm.runtime.tensor(np.zeros((2, 3, 4), "float32"))
    assert made.numel() == 24 and tuple(made.strides) == (12, 4, 1) and made.is_contiguous()


def test_the_target_that_is_meant():
    target = tvm.target.Target
    with pytest.raises(ValueError):
        target.target_or_current(None)
    with target("llvm"):
        assert target.target_or_current(None).kind.name == "llvm"
    assert target.from_device("cpu").kind.name == "llvm"
    assert tvm.target.detect_target.detect_target_from_device(tvm.cpu()).kind.name == "llvm"
    assert "llvm" in target.list_kinds()


def test_a_kind_of_target_knows_its_options():
    kind = tvm.target.Target("cuda").kind
    assert int(kind.default_device_type) == 2 and list(kind.default_keys) == ["cuda", "gpu"] and kind.options["arch"] == "str"
    assert tvm.target.TargetKind.options_from_name("llvm")["vector-width"] == "int"
    with pytest.raises(tvm.error.InternalError):
        tvm.target.Target("llvm").get_kind_attr("no such attribute")


def test_a_target_can_be_given_a_name():
    tvm.target.register_tag("test/one", {"kind": "cuda", "arch": "sm_80"})
    assert tvm.target.Target("test/one").attrs["arch"] == "sm_80" and "test/one" in tvm.target.list_tags()
    with pytest.raises(tvm.error.InternalError):
        tvm.target.register_tag("test/one", {"kind": "cuda", "arch": "sm_90"})
    tvm.target.register_tag("test/one", {"kind": "cuda", "arch": "sm_90"}, override=True)
    assert tvm.target.Target("test/one").attrs["arch"] == "sm_90"


def test_a_device_by_keywords():
    assert tvm.device(device_type="cpu", index=2) == tvm.cpu(2) and tvm.device_from_target("cuda", index=1) == tvm.cuda(1)


@T.prim_func(s_tir=True)
def two_steps(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    B = T.sblock_alloc_buffer((64, 64), "float32")
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = A[v, w] * T.float32(2)
    for i, j in T.grid(64, 64):
        with T.sblock("C"):
            v, w = T.axis.remap("SS", [i, j])
            C[v, w] = B[v, w] + T.float32(1)


@pytest.mark.parametrize("decision, depth", [(0, 1), (1, 2), (7, 2)])
def test_a_block_is_moved_to_a_location_that_is_sampled(decision, depth):
    sch = s_tir.Schedule(two_steps)
    block = sch.get_sblock("B")
    loop = sch.sample_compute_location(block, decision=decision)
    assert f"decision={min(decision, 1)})" in str(sch.trace)
    sch.compute_at(block, loop)
    assert len(sch.get_loops(block)) == 2 and len(sch.get_loops("C")) == 2
    shared = [a.same_as(b) for a, b in zip(map(sch.get, sch.get_loops(block)), map(sch.get, sch.get_loops("C")))]
    assert shared.count(True) == depth


@pytest.mark.parametrize("decision", [-1, -2])
def test_a_location_that_is_no_loop(decision):
    sch = s_tir.Schedule(two_steps)
    block = sch.get_sblock("B")
    loop = sch.sample_compute_location(block, decision=decision)
    with pytest.raises(TypeError):
        sch.get(loop)
    mark = s_tir.StmtSRef.root_mark() if decision == -1 else s_tir.StmtSRef.inline_mark()
    assert sch.get_sref(loop) == mark


def test_factors_of_which_the_inner_ones_are_a_multiple():
    sch = s_tir.Schedule(two_steps, seed=1)
    loop = sch.get_loops("C")[0]
    for seed in range(1, 6):
        sch.seed(seed)
        factors = [int(sch.get(item)) for item in sch.sample_partitioned_tile(loop, 4, partition_pos=2, innerpart_factor=4)]
        assert np.prod(factors) == 64 and factors[2] * factors[3] % 4 == 0
    given = sch.sample_partitioned_tile(loop, 4, partition_pos=2, innerpart_factor=4, decision=[2, 8, 2, 2])
    assert [int(sch.get(item)) for item in given] == [2, 8, 2, 2]
    assert [int(sch.get(item)) for item in sch.sample_partitioned_tile(loop, 3, 2, 7)] == [-1, 1, 1]


def test_rewriters_of_patterns_are_joined():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "int32"), y: R.Tensor((2, 3), "int32")) -> R.Tensor((2, 3), "int32"):
            with R.dataflow():
                z = R.add(x, y)
                w = R.subtract(z, y)
                R.output(w)
            return w

    def rule(name, put):
        return dpl.ExprPatternRewriter(dpl.is_op(name)(dpl.wildcard(), dpl.wildcard()), lambda expr, found: put(*expr.args))

    first, second = rule("relax.add", relax.op.multiply), rule("relax.subtract", relax.op.divide)
    assert isinstance(first | second, dpl.OrRewriter) and isinstance(first | second, dpl.PatternMatchingRewriter)
    for both in (first | second, dpl.OrRewriter(first, second)):
        made = both(Module)["main"].body.blocks[0].bindings
        assert [binding.value.op.name for binding in made] == ["relax.multiply", "relax.divide"]


def test_the_type_of_a_call():
    n = tvm.tirx.Var("n", "int64")
    func = relax.FuncType([relax.TensorType((n, 4), "float32")], relax.TensorType((n * 2,), "float32"))
    arg = relax.Var("y", relax.TensorType((3, 4), "float32"))
    derive = relax.analysis.derive_call_ret_type
    made = derive(func, relax.Call(relax.Var("f", func), [arg]), relax.BlockBuilder())
    tvm.ir.assert_structural_equal(made, relax.TensorType((6,), "float32"))
    extern = relax.ExternFunc("g")
    made = derive(extern.ty, relax.Call(extern, [arg], ty_args=[relax.TensorType((1,), "int32")]), relax.BlockBuilder())
    tvm.ir.assert_structural_equal(made, relax.TensorType((1,), "int32"))
    with pytest.raises(ValueError):
        derive(func, relax.Call(relax.Var("f", func), [arg, arg]), relax.BlockBuilder())


def test_numbers_stay_numbers_when_they_are_converted():
    assert tvm.runtime.convert(3) == 3 and isinstance(tvm.runtime.convert(3), int)
    items = tvm.runtime.convert([1, 2.5, True, "s"])
    assert [type(item).__name__ for item in items][:3] == ["int", "float", "bool"]
    assert list(tvm.runtime.convert({"a": (1, 2)})["a"]) == [1, 2]
