//! Values that are needed on two devices get a copy.
//!
//! Source: `ConflictedNodeFinder` and `ConflictedNodeRewriter` in `src/relay/transforms/device_planner.cc`.

use super::config::{ANY, Device, Devices};
use crate::ir::rewrite::ExprMutator;
use crate::ir::walk::for_each_child;
use crate::ir::{AttrValue, Expr, ExprId, Store};
use crate::ops::build::{args, call_with, is_call};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct Conflicts<'a> {
    devices: &'a mut Devices,
    of: FxHashMap<ExprId, Device>,
    conflicted: FxHashSet<ExprId>,
    pub error: Option<String>,
}

impl<'a> Conflicts<'a> {
    pub fn new(devices: &'a mut Devices) -> Self {
        Conflicts { devices, of: FxHashMap::default(), conflicted: FxHashSet::default(), error: None }
    }

    /// Notes that an expression is on a device. False if it is on another one.
    fn note(&mut self, id: ExprId, device: Device) -> bool {
        let known = self.of.get(&id).copied().unwrap_or(device);
        let joined = self.devices.join(known, device);
        self.of.insert(id, joined.unwrap_or(known));
        joined.is_some()
    }

    fn device(&mut self, store: &Store, call: ExprId, name: &str) -> Result<Device, String> {
        match store.attr(store.call(call).and_then(|call| call.attrs), name) {
            Some(AttrValue::Object(object)) => self.devices.read(store, *object),
            _ => Ok(ANY),
        }
    }

    /// Follows devices from calls to their arguments.
    pub fn find(&mut self, store: &Store, function: ExprId) -> Result<(), String> {
        let (mut seen, mut stack) = (FxHashSet::default(), vec![function]);
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let from = stack.len();
            if let Expr::Call { .. } = store.expr(id) {
                self.call(store, id)?;
                stack.extend(args(store, id));
            } else {
                for_each_child(store, id, |child| stack.push(child));
            }
            stack[from..].reverse();
        }
        self.conflicted.retain(|id| !is_call(store, *id, "on_device"));
        Ok(())
    }

    fn call(&mut self, store: &Store, id: ExprId) -> Result<(), String> {
        let mut own = self.of.get(&id).copied().unwrap_or(ANY);
        let mut inside = own;
        let is_place = is_call(store, id, "on_device");
        if is_place {
            let device = self.device(store, id, "virtual_device")?;
            let attrs = store.call(id).and_then(|call| call.attrs);
            if store.attr_int(attrs, "constrain_body") == Some(1) {
                inside = device;
            }
            if store.attr_int(attrs, "constrain_result") == Some(1) {
                own = device;
            }
        } else if is_call(store, id, "device_copy") {
            inside = self.device(store, id, "src_virtual_device")?;
            own = self.device(store, id, "dst_virtual_device")?;
        }
        if !self.note(id, own) && !is_place {
            let (own, known) = (self.devices.show(store, own), self.devices.show(store, self.of[&id]));
            return Err(format!("Mismatched device type after iterating args. Implied device: {own}; practical device: {known}"));
        }
        for argument in args(store, id) {
            if !self.note(argument, inside) {
                self.conflicted.insert(argument);
            }
        }
        Ok(())
    }

    fn copied(&mut self, store: &mut Store, call: ExprId, value: ExprId) -> Result<ExprId, String> {
        let on = |of: &FxHashMap<ExprId, Device>, id: ExprId| of.get(&id).copied().unwrap_or(ANY);
        let (from, to) = (on(&self.of, value), on(&self.of, call));
        let (from, to) = (self.devices.canonical(from)?, self.devices.canonical(to)?);
        if from == to {
            return Ok(value);
        }
        if from == ANY || to == ANY {
            return Err("a value is needed on two devices and on one that is not known".to_owned());
        }
        let (from, to) = (self.devices.object(store, from), self.devices.object(store, to));
        let written = [("src_virtual_device", AttrValue::Object(from)), ("dst_virtual_device", AttrValue::Object(to))];
        Ok(call_with(store, "device_copy", &[value], &written))
    }

    /// True if nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.conflicted.is_empty()
    }
}

impl ExprMutator for Conflicts<'_> {
    fn rule(&self) -> &'static str {
        "value copied to the device that needs it"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Expr::Call { callee, info, .. } = store.expr(post) else { return post };
        let old = args(store, post);
        if !old.iter().any(|argument| self.conflicted.contains(argument)) {
            return post;
        }
        let mut new = Vec::with_capacity(old.len());
        for argument in &old {
            let copied = match self.conflicted.contains(argument) {
                true => self.copied(store, pre, *argument),
                false => Ok(*argument),
            };
            new.push(copied.unwrap_or_else(|error| {
                self.error.get_or_insert(error);
                *argument
            }));
        }
        if new == old {
            return post;
        }
        let (operands, ty) = (store.list(&new), store.checked_type(pre));
        store.add_typed(Expr::Call { callee, args: operands, info }, ty)
    }
}
