//! Explicit memory and calls of lowered functions, as the virtual machine's compiler makes them.

use crate::ops::tensor::shape::SHAPE_OF;
use crate::ops::{AttrDefault, AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.AllocStorageAttrs`.
pub static ALLOC_STORAGE: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AllocStorageAttrs",
    fields: &[
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("float32")),
        AttrField::required("virtual_device", AttrKind::Any),
    ],
};

/// Attributes `relay.attrs.AllocTensorAttrs`.
pub static ALLOC_TENSOR: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AllocTensorAttrs",
    fields: &[
        AttrField::new("dtype", AttrKind::DType, AttrDefault::DType("float32")),
        AttrField::required("const_shape", AttrKind::Any),
        AttrField::required("assert_shape", AttrKind::Ints),
    ],
};

/// Attributes `relay.attrs.ReshapeTensorAttrs`.
pub static RESHAPE_TENSOR: AttrsSchema =
    AttrsSchema { key: "relay.attrs.ReshapeTensorAttrs", fields: &[AttrField::required("newshape", AttrKind::Ints)] };

/// Attributes `relay.attrs.CallLoweredAttrs`.
pub static CALL_LOWERED: AttrsSchema =
    AttrsSchema { key: "relay.attrs.CallLoweredAttrs", fields: &[AttrField::new("metadata", AttrKind::Any, AttrDefault::Null)] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "memory.alloc_storage",
        doc: "Allocates a region of memory.",
        args: &["size", "shape", "alignment"],
        attrs: Some(&ALLOC_STORAGE),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "memory.alloc_tensor",
        doc: "Makes a tensor at an offset of a region of memory.",
        args: &["storage", "offset", "shape"],
        attrs: Some(&ALLOC_TENSOR),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "memory.kill",
        doc: "Ends the life of a tensor.",
        args: &["to_free"],
        pattern: Some(OpPattern::Opaque),
        stateful: true,
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vm.shape_of",
        doc: "The shape of a tensor whose rank may be unknown.",
        args: &["tensor"],
        attrs: Some(&SHAPE_OF),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vm.invoke_tvm_op",
        doc: "Runs a lowered function on inputs and outputs.",
        args: &["op", "ins", "outs"],
        pattern: Some(OpPattern::Opaque),
        stateful: true,
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "vm.reshape_tensor",
        doc: "The same memory under another shape.",
        args: &["data", "shape"],
        attrs: Some(&RESHAPE_TENSOR),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "call_lowered",
        doc: "Calls a lowered function.",
        args: &["func", "call_args"],
        attrs: Some(&CALL_LOWERED),
        pattern: Some(OpPattern::Opaque),
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo {
        name: "parser.MetaRef",
        doc: "Stands for an entry of the metadata section while a program is read.",
        args: &[],
        non_computational: true,
        ..OpInfo::BASE
    },
    OpInfo { name: "torch_op", doc: "Calls a serialised Torch function.", args: &[], ..OpInfo::BASE },
];
