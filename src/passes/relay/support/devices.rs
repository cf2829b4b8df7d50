//! Annotations of the device that a value is on (TVM's `on_device`).
//!
//! Source: `src/relay/op/memory/on_device.cc`.

use crate::ir::{AttrValue, Expr, ExprId, Id, Object, Store};
use crate::ops::build::{arg, call_with, op_name};

/// A `VirtualDevice`.
pub type Device = Id<Object>;

/// The attributes of a call of `on_device`.
pub struct Place {
    /// The device.
    pub device: Device,
    /// True if the value inside has to be on the device.
    pub body: bool,
    /// True if both the value inside and the result have to be there.
    pub fixed: bool,
}

/// Returns the attributes of an expression that is a call of `on_device`.
pub fn place_of(store: &Store, id: ExprId) -> Option<Place> {
    let attrs = store.call(id).filter(|_| op_name(store, id) == "on_device")?.attrs;
    let Some(AttrValue::Object(device)) = store.attr(attrs, "virtual_device") else { return None };
    let holds = |name| store.attr_int(attrs, name) == Some(1);
    let body = holds("constrain_body");
    Some(Place { device: *device, body, fixed: body && holds("constrain_result") })
}

/// True for an expression that needs no annotation: its binding says where it is, or it is on any device.
fn is_evident(store: &Store, value: ExprId) -> bool {
    matches!(store.expr(value), Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) | Expr::Function(_))
}

/// Returns what an annotation stands around where TVM, which writes all of them anew (`DeviceAwareExprMutator`), leaves it out.
pub fn without_place(store: &Store, id: ExprId) -> Option<ExprId> {
    let place = place_of(store, id)?;
    let value = arg(store, id, 0);
    (is_evident(store, value) || is_anywhere(store, place.device)).then_some(value)
}

/// Annotates a value with its device (TVM's `MaybeOnDevice`) and replaces an annotation that is there. The value stays
/// as it is where the device is known by other means, or is any.
pub fn on_device(store: &mut Store, value: ExprId, device: Device) -> ExprId {
    if is_anywhere(store, device) {
        return value;
    }
    if is_evident(store, value) {
        return value;
    }
    let (value, body) = match place_of(store, value) {
        Some(place) => (arg(store, value, 0), place.body),
        None => (value, true),
    };
    let set = [
        ("virtual_device", AttrValue::Object(device)),
        ("constrain_result", AttrValue::Bool(true)),
        ("constrain_body", AttrValue::Bool(body)),
    ];
    call_with(store, "on_device", &[value], &set)
}

/// True if a device leaves everything open.
fn is_anywhere(store: &Store, device: Device) -> bool {
    let open = |name| matches!(store.object_field(device, name), Some(AttrValue::Int { value: -1, .. }));
    open("device_type_int") && open("virtual_device_id") && matches!(store.object_field(device, "target"), Some(AttrValue::Null))
}
