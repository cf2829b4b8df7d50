"""Targets that passes bind are targets again, and programs are kept by a function."""

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def first(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(0)

    @T.prim_func(s_tir=True)
    def second(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(1)


def test_a_bound_target_is_the_one_that_was_given():
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host={"kind": "llvm"})
    bound = tvm.tirx.transform.BindTarget(target)(Module)["first"].attrs["target"]
    assert isinstance(bound, tvm.target.Target)
    assert bound == target
    assert bound.kind.name == "cuda" and bound.host.kind.name == "llvm"
    assert bound != tvm.target.Target("llvm")


def test_programs_are_kept_for_which_a_function_is_true():
    marked = tvm.IRModule({"first": Module["first"].with_attr("mark", 1), "second": Module["second"]})
    kept = tvm.tirx.transform.Filter(lambda func: func.attrs is not None and "mark" in func.attrs)(marked)
    assert [var.name_hint for var in kept.get_global_vars()] == ["first"]
    assert len(tvm.tirx.transform.Filter(lambda func: False)(Module).functions) == 0
    assert len(Module.functions) == 2
