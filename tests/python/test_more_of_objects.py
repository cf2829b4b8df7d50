"""Hashes, paths, contexts and texts of objects."""

import pytest
import tvm
import tvm_ffi
from tvm import relax, sym, tirx
from tvm.ir import Range
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import relax as RB
from tvm_ffi.access_path import AccessKind, AccessPath


def _program(value):
    i = tirx.Var("i", "int32")
    return tirx.For(i, 0, 4, tirx.ForKind.SERIAL, tirx.Evaluate(i + value))


def test_hashes_tell_apart_what_is_not_equal():
    for a, b, same in ((_program(1), _program(1), True), (_program(1), _program(2), False), (Range(0, 2), Range(0, 3), False)):
        assert tvm_ffi.structural_equal(a, b) is same
        assert (tvm_ffi.structural_hash(a) == tvm_ffi.structural_hash(b)) is same


def test_names_of_functions_are_free_variables():
    a, b = tvm.ir.GlobalVar("f"), tvm.ir.GlobalVar("f")
    assert not tvm_ffi.structural_equal(a, b)
    assert tvm_ffi.structural_equal(a, b, map_free_vars=True)


def test_a_path_has_steps():
    path = AccessPath.root().attr("body").array_item(1)
    assert path.depth == 2
    assert path.parent == AccessPath.root().attr("body")
    assert path.parent.is_prefix_of(path)
    assert [step.kind for step in path.to_steps()] == [AccessKind.ATTR, AccessKind.ARRAY_ITEM]
    assert path.to_steps()[1].key == 1


def test_lists_of_a_context_are_written_as_tvm_writes_them():
    context = tvm.transform.PassContext(opt_level=2, required_pass=["a"])
    assert str(context.required_pass) == '("a",)'
    assert str(tvm.IRModule({}).attrs) == "{}"
    assert str(tirx.PrimFunc([], tirx.Evaluate(0)).with_attr("b", 1).with_attr("a", [1, 2]).attrs) == '{"a": [1, 2], "b": 1}'


def test_devices_and_attributes_say_their_fields():
    assert 'vdevice_id=1, memory_scope="global")' in str(relax.VDevice("llvm", 1))
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    assert str(relax.op.sum(x, [1]).attrs) == "relax.attrs.StatisticalAttrs(axis=(1,), keepdims=False)"


def test_types_that_follow_from_values_are_left_out():
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.add(x, x)
        z = (x, y)
        return z

    text = main.script(show_all_ty=False)
    assert "    y = R.add(x, x)\n    z = x, y\n" in text
    assert "    y: R.Tensor" in main.script()


def test_namespaces_and_modules_have_names_of_choice():
    @I.ir_module
    class Program:
        @R.function
        def helper(x: R.Tensor((2,), "float32")):
            return R.add(x, x)

        @R.function
        def main(x: R.Tensor((2,), "float32")):
            cls = Program
            return cls.helper(x)

    assert "# from tvm.script import ir as IR\n" in Program.script(ir_prefix="IR")
    assert "@IR.ir_module\n" in Program.script(ir_prefix="IR")
    assert "X.add(x, x)" in Program.script(extra_config={"relax.prefix": "X"})
    assert "own = Module\n" in Program.script(module_alias="own") and "own.helper(x)" in Program.script(module_alias="own")
    assert "class Named:\n" in Program.script(name="Named")


def test_a_builder_has_no_names_that_are_only_words():
    with IRBuilder():
        assert not hasattr(RB, "no_such_operator")


def test_an_unnamed_function_is_private():
    with IRBuilder() as builder:
        with RB.function():
            x = RB.arg("x", relax.TensorType((2,), "float32"))
            RB.func_ret_value(x)
    assert "@R.function(private=True)\ndef main" in builder.get().script()


def test_the_rest_of_a_linear_equation_stays_as_it_is():
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    factor, rest = sym.detect_linear_equation(x * 2 - (y + 0) * 3, [x])
    assert factor.value == 2
    assert str(rest) in ("y * 3 * -1", "0 - y * 3")


def test_bounds_are_read_off_a_simple_condition():
    x = tirx.Var("x", "int32")
    assert [None if end is None else end.value for end in sym.detect_clip_bound(tirx.all(x - 1 > 0, x < 8), [x])] == [2, 7]
    assert len(sym.detect_clip_bound(x * 2 < 8, [x])) == 2
    assert len(sym.detect_clip_bound(x * 2 + x % 3 < 8, [x])) == 0


def test_what_tvm_checks_itself_is_no_refusal_of_a_schedule():
    @T.prim_func(s_tir=True)
    def program(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    schedule = tvm.s_tir.Schedule(program)
    with pytest.raises(tvm.error.InternalError):
        schedule.transform_layout("b", ("write", 0), lambda i: (i // 2, i % 2))
