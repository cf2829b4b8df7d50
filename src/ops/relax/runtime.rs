//! Calls into kernels and libraries, closures, memory: what a program becomes before it runs.

use super::{RelaxOp, deduce, dtype, prim, shape, string, tuple, value};
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema};

/// Attributes `relax.attrs.CallInplacePackedAttrs`.
pub static CALL_INPLACE_PACKED: AttrsSchema =
    AttrsSchema { key: "relax.attrs.CallInplacePackedAttrs", fields: &[AttrField::required("inplace_indices", AttrKind::Ints)] };

/// Attributes `relax.attrs.CallTIRInplaceAttrs`.
pub static CALL_TIR_INPLACE: AttrsSchema =
    AttrsSchema { key: "relax.attrs.CallTIRInplaceAttrs", fields: &[AttrField::required("inplace_indices", AttrKind::Ints)] };

/// Attributes `relax.attrs.CallTIRWithGradAttrs`.
pub static CALL_TIR_WITH_GRAD: AttrsSchema = AttrsSchema {
    key: "relax.attrs.CallTIRWithGradAttrs",
    fields: &[
        AttrField::required("te_grad_name", AttrKind::Str),
        AttrField::new("te_grad_kwargs", AttrKind::Any, AttrDefault::Null),
    ],
};

/// Attributes `relax.attrs.HintOnDeviceAttrs`.
pub static HINT_ON_DEVICE: AttrsSchema = AttrsSchema {
    key: "relax.attrs.HintOnDeviceAttrs",
    fields: &[
        AttrField::required("device_type", AttrKind::Int),
        AttrField::required("index", AttrKind::Int),
        AttrField::new("memory_scope", AttrKind::Str, AttrDefault::Str("global")),
    ],
};

/// Attributes `relax.attrs.ToVDeviceAttrs`.
pub static TO_V_DEVICE: AttrsSchema =
    AttrsSchema { key: "relax.attrs.ToVDeviceAttrs", fields: &[AttrField::required("dst_vdevice", AttrKind::Any)] };

/// The operators of this family.
pub static OPS: &[RelaxOp] = &[
    RelaxOp {
        name: "assert_op",
        deduce: Some(deduce::void),
        doc: "Stops the program with a message when the condition is false.",
        args: &[value("vals")],
        variadic: true,
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "builtin.alloc_tensor",
        deduce: Some(deduce::runtime::alloc_tensor),
        doc: "A new tensor whose memory is planned later.",
        args: &[value("shape"), dtype("dtype"), prim("runtime_device_index"), string("storage_scope").or_none()],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "builtin.stop_lift_params",
        deduce: Some(deduce::same),
        doc: "What comes from here on is not computed ahead from weights.",
        args: &[value("x")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_builtin_with_ctx",
        deduce: Some(deduce::runtime::named_or_void),
        doc: "Calls a function of the virtual machine that gets its context.",
        args: &[value("func"), tuple("args")],
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_dps_packed",
        deduce: Some(deduce::runtime::named),
        doc: "Calls a linked function that writes its outputs into tensors it is given.",
        args: &[value("func"), tuple("args")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_inplace_packed",
        deduce: Some(deduce::runtime::named),
        doc: "Calls a linked function that writes over some of its inputs and has no other side effects.",
        args: &[value("args")],
        variadic: true,
        attrs: Some(&CALL_INPLACE_PACKED),
        order: &["inplace_indices"],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_pure_packed",
        deduce: Some(deduce::runtime::named_or_any),
        doc: "Calls a linked function that is said to have no side effects.",
        args: &[value("args")],
        variadic: true,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_py_func",
        deduce: Some(deduce::runtime::named),
        doc: "Calls a function written in Python.",
        args: &[string("py_func_name"), tuple("args")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_tir",
        deduce: Some(deduce::runtime::named),
        doc: "Calls a tensor program, which writes its outputs into tensors it is given.",
        args: &[value("gvar"), tuple("args")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_tir_inplace",
        deduce: Some(deduce::runtime::named),
        doc: "Calls a tensor program that writes some outputs over its inputs.",
        args: &[value("gvar"), tuple("args")],
        attrs: Some(&CALL_TIR_INPLACE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "call_tir_with_grad",
        deduce: Some(deduce::runtime::named),
        doc: "`call_tir` with the name of what computes its gradient.",
        args: &[value("gvar"), tuple("args")],
        attrs: Some(&CALL_TIR_WITH_GRAD),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "hint_on_device",
        deduce: Some(deduce::same),
        doc: "Says on which device a value should be.",
        args: &[value("data")],
        attrs: Some(&HINT_ON_DEVICE),
        order: &["data", "memory_scope"],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_byte_offset",
        deduce: Some(deduce::runtime::inspected),
        doc: "Where the data begin, in bytes.",
        args: &[value("tensor")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_dtype_bits",
        deduce: Some(deduce::runtime::inspected),
        doc: "Bits of the element type.",
        args: &[value("tensor")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_dtype_code",
        deduce: Some(deduce::runtime::inspected),
        doc: "Family of the element type.",
        args: &[value("tensor")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_dtype_lanes",
        deduce: Some(deduce::runtime::inspected),
        doc: "Lanes of the element type.",
        args: &[value("tensor")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_elem_offset",
        deduce: Some(deduce::runtime::inspected),
        doc: "Where the data begin, in elements.",
        args: &[value("tensor")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_ndim",
        deduce: Some(deduce::runtime::inspected),
        doc: "How many axes there are.",
        args: &[value("tensor")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_shape_i",
        deduce: Some(deduce::runtime::inspected),
        doc: "The extent of one axis.",
        args: &[value("tensor"), value("axis")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "inspect.tensor_stride_i",
        deduce: Some(deduce::runtime::inspected),
        doc: "The stride of one axis.",
        args: &[value("tensor"), value("axis")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "invoke_closure",
        deduce: Some(deduce::runtime::named_or_any),
        doc: "Calls a closure.",
        args: &[value("closure"), tuple("args")],
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "invoke_pure_closure",
        deduce: Some(deduce::runtime::named_or_any),
        doc: "Calls a closure that has no side effects.",
        args: &[value("closure"), tuple("args")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "make_closure",
        deduce: Some(deduce::any),
        doc: "A function with values of variables that it uses.",
        args: &[value("func"), tuple("args")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "memory.alloc_storage",
        deduce: Some(deduce::any),
        doc: "Memory of a size.",
        args: &[value("size"), prim("virtual_device_index"), string("storage_scope"), dtype("dtype")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "memory.alloc_tensor",
        deduce: Some(deduce::runtime::tensor_in_storage),
        doc: "A tensor in a piece of memory.",
        args: &[value("storage"), prim("offset"), value("shape"), dtype("dtype"), prim("runtime_device_ind").or_none()],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "memory.ensure_zero_offset",
        deduce: Some(deduce::same),
        doc: "The same tensor, its data at the begin of its memory.",
        args: &[value("data")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "memory.kill_storage",
        deduce: Some(deduce::void),
        doc: "Gives memory back.",
        args: &[value("storage")],
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "memory.kill_tensor",
        deduce: Some(deduce::void),
        doc: "Gives a tensor up.",
        args: &[value("tensor")],
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "memory.view",
        deduce: Some(deduce::runtime::view),
        doc: "The same memory as a tensor of another shape or type.",
        args: &[value("data"), shape("shape").or_none(), value("dtype").or_none(), value("relative_byte_offset").or_none()],
        ..RelaxOp::BASE
    },
    RelaxOp { name: "null_value", deduce: Some(deduce::any), doc: "No value.", ..RelaxOp::BASE },
    RelaxOp {
        name: "print",
        deduce: Some(deduce::void),
        doc: "Prints values while the program runs.",
        args: &[value("vals")],
        variadic: true,
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "shape_of",
        deduce: Some(deduce::create::shape_of),
        relay: "shape_of",
        args: &[value("expr")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "shape_to_tensor",
        deduce: Some(deduce::create::shape_to_tensor),
        doc: "A shape as a tensor.",
        args: &[value("expr")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "size",
        deduce: Some(deduce::runtime::size),
        doc: "How many elements there are.",
        args: &[value("expr")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "tensor_to_shape",
        deduce: Some(deduce::create::tensor_to_shape),
        doc: "A tensor as a shape.",
        args: &[value("expr")],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "to_vdevice",
        deduce: Some(deduce::runtime::to_vdevice),
        doc: "The value on another device.",
        args: &[value("data")],
        attrs: Some(&TO_V_DEVICE),
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vm.alloc_storage",
        deduce: Some(deduce::any),
        doc: "Memory, of the virtual machine.",
        args: &[value("shape"), dtype("runtime_device_index"), prim("dtype"), string("storage_scope").or_none()],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vm.alloc_tensor",
        deduce: Some(deduce::runtime::tensor_of_machine),
        doc: "A tensor in memory of the virtual machine.",
        args: &[value("storage"), prim("offset"), value("shape"), dtype("dtype"), prim("runtime_device_ind").or_none()],
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vm.call_tir_dyn",
        deduce: Some(deduce::void),
        doc: "Calls a tensor program with a shape that is known when it runs.",
        args: &[value("func"), tuple("args")],
        pure: false,
        ..RelaxOp::BASE
    },
    RelaxOp {
        name: "vm.kill_object",
        deduce: Some(deduce::void),
        doc: "Gives up an object of the virtual machine.",
        args: &[value("obj")],
        pure: false,
        ..RelaxOp::BASE
    },
];
