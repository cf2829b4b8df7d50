//! Calls of tensor programs and external functions, shapes as values, and the operations of Relax's virtual machine.

use crate::ops::relax::deduce;
use crate::ops::row::{dtype, op, prim, relax, string, tuple, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, OpInfo};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    op("assert_op", "Stops the program with a message when the condition is false.")
        .relax(relax(&[value("vals")], deduce::runtime::asserted).variadic().impure()),
    op("builtin.alloc_tensor", "A new tensor whose memory is planned later.").relax(relax(
        &[value("shape"), dtype("dtype"), prim("runtime_device_index"), string("storage_scope").or_none()],
        deduce::runtime::alloc_tensor,
    )),
    op("builtin.stop_lift_params", "What comes from here on is not computed ahead from weights.")
        .relax(relax(&[value("x")], deduce::same)),
    op("call_builtin_with_ctx", "Calls a function of the virtual machine that gets its context.")
        .relax(relax(&[value("func"), tuple("args")], deduce::runtime::named_or_void).impure()),
    op("call_dps_packed", "Calls a linked function that writes its outputs into tensors it is given.")
        .relax(relax(&[value("func"), tuple("args")], deduce::runtime::named)),
    op("call_inplace_packed", "Calls a linked function that writes over some of its inputs and has no other side effects.")
        .relax(
            relax(&[value("args")], deduce::runtime::named_over_inputs)
                .variadic()
                .attrs(&schema("relax.attrs.CallInplacePackedAttrs", &[field::required("inplace_indices", AttrKind::Ints)]))
                .order(&["inplace_indices"]),
        ),
    op("call_pure_packed", "Calls a linked function that is said to have no side effects.")
        .relax(relax(&[value("args")], deduce::runtime::named_or_any).variadic()),
    op("call_py_func", "Calls a function written in Python.")
        .relax(relax(&[string("py_func_name"), tuple("args")], deduce::runtime::named)),
    op("call_tir", "Calls a tensor program, which writes its outputs into tensors it is given.")
        .relax(relax(&[value("gvar"), tuple("args")], deduce::runtime::named)),
    op("call_tir_inplace", "Calls a tensor program that writes some outputs over its inputs.").relax(
        relax(&[value("gvar"), tuple("args")], deduce::runtime::named_in_place)
            .attrs(&schema("relax.attrs.CallTIRInplaceAttrs", &[field::required("inplace_indices", AttrKind::Ints)])),
    ),
    op("call_tir_with_grad", "`call_tir` with the name of what computes its gradient.").relax(
        relax(&[value("gvar"), tuple("args")], deduce::runtime::named).attrs(&schema(
            "relax.attrs.CallTIRWithGradAttrs",
            &[field::required("te_grad_name", AttrKind::Str), field::or_none("te_grad_kwargs", AttrKind::Any)],
        )),
    ),
    op("hint_on_device", "Says on which device a value should be.").relax(
        relax(&[value("data")], deduce::same)
            .attrs(&schema(
                "relax.attrs.HintOnDeviceAttrs",
                &[
                    field::required("device_type", AttrKind::Int),
                    field::required("index", AttrKind::Int),
                    field::text("memory_scope", "global"),
                ],
            ))
            .order(&["data", "memory_scope"]),
    ),
    op("inspect.tensor_byte_offset", "Where the data begin, in bytes.")
        .relax(relax(&[value("tensor")], deduce::runtime::inspected)),
    op("inspect.tensor_dtype_bits", "Bits of the element type.").relax(relax(&[value("tensor")], deduce::runtime::inspected)),
    op("inspect.tensor_dtype_code", "Family of the element type.").relax(relax(&[value("tensor")], deduce::runtime::inspected)),
    op("inspect.tensor_dtype_lanes", "Lanes of the element type.").relax(relax(&[value("tensor")], deduce::runtime::inspected)),
    op("inspect.tensor_elem_offset", "Where the data begin, in elements.")
        .relax(relax(&[value("tensor")], deduce::runtime::inspected)),
    op("inspect.tensor_ndim", "How many axes there are.").relax(relax(&[value("tensor")], deduce::runtime::inspected)),
    op("inspect.tensor_shape_i", "The extent of one axis.")
        .relax(relax(&[value("tensor"), value("axis")], deduce::runtime::inspected)),
    op("inspect.tensor_stride_i", "The stride of one axis.")
        .relax(relax(&[value("tensor"), value("axis")], deduce::runtime::inspected)),
    op("invoke_closure", "Calls a closure.")
        .relax(relax(&[value("closure"), tuple("args")], deduce::runtime::named_or_any).impure()),
    op("invoke_pure_closure", "Calls a closure that has no side effects.")
        .relax(relax(&[value("closure"), tuple("args")], deduce::runtime::named_or_any)),
    op("make_closure", "A function with values of variables that it uses.")
        .relax(relax(&[value("func"), tuple("args")], deduce::any)),
    op("null_value", "No value.").relax(relax(&[], deduce::any)),
    op("print", "Prints values while the program runs.").relax(relax(&[value("vals")], deduce::void).variadic().impure()),
    op("shape_to_tensor", "A shape as a tensor.").relax(relax(&[value("expr")], deduce::create::shape_to_tensor)),
    op("size", "How many elements there are.").relax(relax(&[value("expr")], deduce::runtime::size)),
    op("tensor_to_shape", "A tensor as a shape.").relax(relax(&[value("expr")], deduce::create::tensor_to_shape)),
    op("to_vdevice", "The value on another device.").relax(
        relax(&[value("data")], deduce::runtime::to_vdevice)
            .attrs(&schema("relax.attrs.ToVDeviceAttrs", &[field::required("dst_vdevice", AttrKind::Any)])),
    ),
    op("vm.alloc_storage", "Memory, of the virtual machine.").relax(relax(
        &[value("shape"), prim("runtime_device_index"), dtype("dtype"), string("storage_scope").or_none()],
        deduce::any,
    )),
    op("vm.alloc_tensor", "A tensor in memory of the virtual machine.").relax(relax(
        &[value("storage"), prim("offset"), value("shape"), dtype("dtype"), prim("runtime_device_ind").or_none()],
        deduce::runtime::tensor_of_machine,
    )),
    op("vm.call_tir_dyn", "Calls a tensor program with a shape that is known when it runs.")
        .relax(relax(&[value("func"), tuple("args")], deduce::void).impure()),
    op("vm.kill_object", "Gives up an object of the virtual machine.").relax(relax(&[value("obj")], deduce::void).impure()),
];
