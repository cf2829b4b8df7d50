"""Passes that replace tensor programs, devices and compiled functions of a module."""

import pytest
import tvm
from tvm import relax, te
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import AlterOpImpl, FuseOpsByPattern, RunCodegen, UpdateVDevice
from tvm.script import ir as I
from tvm.script import relax as R


def program(shape, kind=None):
    """A tensor program that adds two tensors."""
    a, b = te.placeholder(shape, "float32", "a"), te.placeholder(shape, "float32", "b")
    made = te.create_prim_func([a, b, te.compute(shape, lambda *i: a(*i) + b(*i), "c")]).without_attr("global_symbol")
    return made.with_attr("operator_name", kind) if kind else made


def module(shape):
    """A module that calls such a program twice."""
    ty = relax.TensorType(shape, "float32")
    x, y = relax.Var("x", ty), relax.Var("y", ty)
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        add = bb.add_func(program(shape, "my.add"), "add")
        with bb.dataflow():
            once = bb.emit(relax.call_tir(add, [x, y], ty))
            twice = bb.emit_output(relax.call_tir(add, [once, y], ty))
        bb.emit_func_output(twice)
    return bb.get()


def bindings(func):
    """The bindings of a function, all in one list."""
    return [binding for block in func.body.blocks for binding in block.bindings]


def callees(func):
    """The operators that a function calls, programs by their names."""
    calls = [binding.value for binding in bindings(func) if isinstance(binding.value, relax.Call)]
    return [call.args[0].name_hint if isinstance(call.args[0], tvm.ir.GlobalVar) else call.op.name for call in calls]


def test_a_program_in_another_layout_has_its_tensors_transformed():
    made = AlterOpImpl({"my.add": program((4, 4))}, {"my.add": [lambda i: (i // 4, i % 4)] * 3})(module((16,)))
    assert callees(made["main"]) == ["relax.layout_transform", "relax.layout_transform", "my_add_replacement", "relax.layout_transform"] * 2
    assert made["my_add_replacement"].attrs["operator_name"] == "my.add"
    shapes = [[int(extent) for extent in binding.var.ty.shape] for binding in bindings(made["main"])]
    assert shapes[:4] == [[4, 4], [4, 4], [4, 4], [16]]


def test_a_buffer_without_a_map_stays():
    made = AlterOpImpl({"my.add": program((16,))}, {"my.add": [None, None, None]})(module((16,)))
    # The program that is given is equal to the one that is there, so it is the same function.
    assert callees(made["main"]) == ["add"] * 2
    made = AlterOpImpl({"other": program((16,))}, {})(module((16,)))
    assert callees(made["main"]) == ["add"] * 2


def test_what_is_padded_is_cut_off_again():
    made = AlterOpImpl({"my.add": program((4, 4))}, {"my.add": [lambda i: (i // 4, i % 4)] * 3})(module((14,)))
    assert callees(made["main"])[3:5] == ["relax.layout_transform", "remove_pad"]
    assert made["remove_pad"].attrs["operator_name"] == "remove_pad" and "global_symbol" not in made["remove_pad"].attrs
    assert [int(extent) for extent in made["main"].ret_ty.shape] == [14]


def test_each_buffer_needs_a_map():
    with pytest.raises(tvm.error.InternalError):
        AlterOpImpl({"my.add": program((4, 4))}, {"my.add": [lambda i: (i // 4, i % 4)]})(module((16,)))


def test_a_device_is_replaced_in_types_and_among_devices():
    @I.ir_module(s_tir=True)
    class OnDevices:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("opencl", 0)]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "opencl:0"), y: R.Tensor((4,), "float32", "llvm:0")):
            a = R.add(x, x)
            b = R.add(y, y)
            return (a, b)

    made = UpdateVDevice(relax.VDevice("llvm", 1), 1)(OnDevices)
    assert [device.target.kind.name for device in made.global_infos["vdevice"]] == ["llvm", "llvm"]
    assert [int(binding.var.ty.vdevice.vdevice_id) for binding in bindings(made["main"])[:2]] == [1, 0]
    with pytest.raises(IndexError):
        UpdateVDevice(relax.VDevice("llvm", 1), 2)(OnDevices)


@I.ir_module(s_tir=True)
class Products:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, y)
            b = R.nn.relu(a)
            c = R.add(b, y)
            R.output(c)
        return c


def marked(name):
    """The program with a function for another compiler."""
    pattern = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))
    return FuseOpsByPattern([(f"{name}.product", pattern)], annotate_codegen=True)(Products)


def test_a_marked_function_is_given_to_its_compiler():
    given = []

    @tvm.register_global_func("relax.ext.test_alter", override=True)
    def compiler(funcs, options, constants):
        given.append(([str(func.attrs["Codegen"]) for func in funcs], int(options["level"]), len(constants)))
        return []

    made = RunCodegen({"test_alter": {"level": 3}})(marked("test_alter"))
    assert given == [(["test_alter"], 3, 0)]
    assert [var.name_hint for var in made.get_global_vars()] == ["main"]
    assert callees(made["main"]) == ["relax.call_dps_packed", "relax.add"]


def test_a_compiler_that_is_not_there_is_named():
    with pytest.raises(tvm.error.InternalError, match="Codegen is not found: relax.ext.test_nobody"):
        RunCodegen()(marked("test_nobody"))
