//! Writing the devices into a program: on parameters and functions, and `device_copy` where a value changes its device.
//!
//! Source: `DeviceCapturer` in `src/relay/transforms/device_planner.cc`.

use super::super::support::devices::on_device;
use super::super::support::is_primitive;
use super::config::{ANY, Device};
use super::domains::Domains;
use crate::ir::rewrite::{ExprMutator, Visit};
use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{AttrValue, Expr, ExprId, Store, VarId, map_children};
use crate::ops::build::{arg, args, call_with, is_call};
use rustc_hash::FxHashMap;

pub(super) struct Capture<'a> {
    pub domains: &'a mut Domains,
    /// The devices of the parameters of functions.
    pub params: FxHashMap<VarId, Device>,
    pub error: Option<String>,
}

/// A child before and after.
type Child = (ExprId, ExprId);

impl ExprMutator for Capture<'_> {
    fn rule(&self) -> &'static str {
        "device planned"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        if is_primitive(store, id) {
            return Visit::Keep;
        }
        if let Some(function) = store.as_function(id)
            && let Err(error) = self.note_params(store, id, function.params)
        {
            self.error.get_or_insert(error);
        }
        Visit::Descend
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        let Some(&device) = self.params.get(&var) else { return var };
        let object = self.domains.devices.object(store, device);
        let data = store.var_data(var);
        if data.device == Some(object) {
            return var;
        }
        let (annotation, ty) = (data.annotation, data.ty);
        let new = store.var_from(var, annotation, ty);
        store.set_var_device(new, Some(object));
        new
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        self.captured(store, pre, post).unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            post
        })
    }
}

impl Capture<'_> {
    fn note_params(&mut self, store: &Store, id: ExprId, params: crate::ir::List<crate::ir::Var>) -> Result<(), String> {
        let domain = self.domains.of(store, id)?;
        for (param, part) in store.items(params).zip(self.domains.parts(domain)) {
            self.params.insert(param, self.domains.result_device(part));
        }
        Ok(())
    }

    /// Returns the device of an expression, of an annotation that of what is inside.
    fn device(&mut self, store: &Store, id: ExprId) -> Result<Device, String> {
        let id = if is_call(store, id, "on_device") { arg(store, id, 0) } else { id };
        let domain = self.domains.of(store, id)?;
        match self.domains.result_device(domain) {
            ANY => Err("no VirtualDevice was determined for an expression".to_owned()),
            device => Ok(device),
        }
    }

    /// Copies a value from the device that it is on to the one that is expected, and says so if that is not the one around.
    fn child(&mut self, store: &mut Store, around: Device, expected: Device, on: Device, (pre, post): Child) -> ExprId {
        if matches!(store.expr(pre), Expr::Op(_) | Expr::Ctor(_)) {
            return post;
        }
        let mut value = post;
        if on != expected {
            let (from, to) = (self.domains.devices.object(store, on), self.domains.devices.object(store, expected));
            let inside = on_device(store, value, from);
            let written = [("src_virtual_device", AttrValue::Object(from)), ("dst_virtual_device", AttrValue::Object(to))];
            value = call_with(store, "device_copy", &[inside], &written);
        }
        if expected != around {
            let device = self.domains.devices.object(store, expected);
            value = on_device(store, value, device);
        }
        if alike(store, value, pre) { pre } else { value }
    }

    /// Does so where the device around is the one that is expected.
    fn within(&mut self, store: &mut Store, expected: Device, child: Child) -> Result<ExprId, String> {
        let on = self.device(store, child.0)?;
        Ok(self.child(store, expected, expected, on, child))
    }

    fn captured(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Result<ExprId, String> {
        let new = match (store.expr(pre), store.expr(post)) {
            (Expr::Call { .. }, Expr::Call { .. }) => return self.call(store, pre, post),
            (Expr::Function(_), Expr::Function(_)) => return self.function(store, pre, post),
            (Expr::Let { value: value_before, body: body_before, var }, Expr::Let { var: new_var, value, body }) => {
                let bound = self.domains.of_var(store, var)?;
                let (around, bound) = (self.device(store, pre)?, self.domains.result_device(bound));
                let on = self.device(store, value_before)?;
                let value = self.child(store, ANY, bound, on, (value_before, value));
                Expr::Let { var: new_var, value, body: self.within(store, around, (body_before, body))? }
            }
            _ if !has_children(store, pre) => return Ok(post),
            _ => {
                let device = self.device(store, pre)?;
                let pairs = children(store, pre).into_iter().zip(children(store, post));
                let new = pairs.map(|child| self.within(store, device, child)).collect::<Result<Vec<_>, _>>()?;
                map_children(store, post, &new, &|var| var).unwrap_or(store.expr(post))
            }
        };
        Ok(same_or(store, pre, post, new))
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Result<ExprId, String> {
        if is_call(store, pre, "on_device") {
            return Ok(arg(store, post, 0));
        }
        if is_call(store, pre, "device_copy") {
            return self.copy(store, pre, post);
        }
        let around = self.device(store, pre)?;
        let callee = self.domains.of_callee(store, pre)?;
        let (parts, result) = (self.domains.parts(callee), self.domains.result_device(callee));
        let (Some(before), Some(call)) = (store.call(pre), store.call(post)) else { return Ok(post) };
        let op = self.child(store, around, around, result, (before.callee, call.callee));
        let mut new = Vec::with_capacity(parts.len());
        for ((before, after), part) in args(store, pre).into_iter().zip(args(store, post)).zip(parts) {
            let (expected, on) = (self.domains.result_device(part), self.device(store, before)?);
            new.push(self.child(store, around, expected, on, (before, after)));
        }
        let Expr::Call { info, .. } = store.expr(post) else { return Ok(post) };
        if op == call.callee && new == args(store, post) {
            return Ok(post);
        }
        let operands = store.list(&new);
        let ty = store.checked_type(pre);
        Ok(store.add_typed(Expr::Call { callee: op, args: operands, info }, ty))
    }

    /// Copies of copies become one, and one to the same device goes.
    fn copy(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Result<ExprId, String> {
        let (mut body, mut value) = (arg(store, pre, 0), arg(store, post, 0));
        let mut from = self.copied(store, pre, "src_virtual_device")?;
        let to = self.copied(store, pre, "dst_virtual_device")?;
        while is_call(store, body, "device_copy") {
            let inner = (self.copied(store, body, "src_virtual_device")?, self.copied(store, body, "dst_virtual_device")?);
            if inner.0 != inner.1 {
                // This copy was made for the inner one.
                value = arg(store, value, 0);
                if super::super::support::devices::place_of(store, value).is_some() {
                    value = arg(store, value, 0);
                }
            }
            from = inner.0;
            body = arg(store, body, 0);
        }
        let made = if from == to { value } else { self.child(store, to, to, from, (body, value)) };
        Ok(if alike(store, made, post) { post } else { made })
    }

    fn copied(&mut self, store: &Store, call: ExprId, name: &str) -> Result<Device, String> {
        let attrs = store.call(call).and_then(|call| call.attrs);
        let Some(AttrValue::Object(object)) = store.attr(attrs, name) else {
            return Err("a device_copy has no devices".to_owned());
        };
        let device = self.domains.devices.read(store, *object)?;
        self.domains.devices.canonical(device)
    }

    fn function(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Result<ExprId, String> {
        let (Some(before), Some(after)) = (store.as_function(pre), store.as_function(post)) else { return Ok(post) };
        let domain = self.domains.of(store, pre)?;
        let device = self.domains.result_device(domain);
        let body = self.within(store, device, (before.body, after.body))?;
        let object = Some(self.domains.devices.object(store, device));
        if body == after.body && object == after.device {
            return Ok(post);
        }
        let ty = store.checked_type(pre);
        let function = store.add_function(crate::ir::Function { body, device: object, ..after });
        Ok(store.add_typed(Expr::Function(function), ty))
    }
}

/// True if two calls are equal, so that a program that is planned already keeps its nodes.
fn alike(store: &Store, made: ExprId, known: ExprId) -> bool {
    let (Some(new), Some(old)) = (store.call(made), store.call(known)) else { return false };
    let attrs = |attrs: Option<crate::ir::AttrsId>| attrs.map(|attrs| &store.attrs_of_id(attrs).fields);
    new.callee == old.callee && args(store, made) == args(store, known) && attrs(new.attrs) == attrs(old.attrs)
}

/// Returns `post` if it is the wanted expression already.
fn same_or(store: &mut Store, pre: ExprId, post: ExprId, new: Expr) -> ExprId {
    let ty = store.checked_type(pre);
    let made = store.add_typed(new, ty);
    if children(store, made) == children(store, post) { post } else { made }
}

fn children(store: &Store, id: ExprId) -> Vec<ExprId> {
    let mut found = Vec::new();
    for_each_child(store, id, |child| found.push(child));
    found
}
