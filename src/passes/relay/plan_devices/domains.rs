//! The devices of expressions, of which some must be the same (TVM's `DeviceDomains`).
//!
//! A tensor has a device; a function has one for each parameter and its result. Devices that must be the same are unified.
//!
//! Source: `src/relay/transforms/device_domains.cc`.

use super::config::{ANY, Device, Devices};
use crate::ir::{AttrValue, Expr, ExprId, Id, Name, Store, Type, TypeId, VarId};
use crate::ops::build::{args, op_name};
use rustc_hash::FxHashMap;

pub(super) type DomainId = usize;

#[derive(Clone)]
struct Domain {
    device: Device,
    /// Those of the parameters and the result of a function; empty for anything else.
    parts: Vec<DomainId>,
}

/// Something that has a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Var(VarId),
    Global(Id<Name>),
    Expr(ExprId),
}

/// The devices of a program.
pub(super) struct Domains {
    pub devices: Devices,
    list: Vec<Domain>,
    /// The domain that each became when it was unified: itself, if it was not.
    becomes: Vec<DomainId>,
    of: FxHashMap<Key, DomainId>,
    callees: FxHashMap<ExprId, DomainId>,
    constrained: FxHashMap<Device, DomainId>,
    /// Those that were unified since an attempt began, which may fail.
    attempt: Option<Vec<DomainId>>,
}

/// `Err` is TVM's message; `None` stands for devices that contradict each other.
type Unified = Result<Option<DomainId>, String>;

impl Domains {
    pub fn new(devices: Devices) -> Domains {
        Domains {
            devices,
            list: Vec::new(),
            becomes: Vec::new(),
            of: FxHashMap::default(),
            callees: FxHashMap::default(),
            constrained: FxHashMap::default(),
            attempt: None,
        }
    }

    fn add(&mut self, domain: Domain) -> DomainId {
        self.list.push(domain);
        self.becomes.push(self.list.len() - 1);
        self.list.len() - 1
    }

    /// Makes the domain of a device; one for all uses of a device of which all is known.
    pub fn tensor(&mut self, device: Device) -> DomainId {
        if !self.devices.is_constrained(device) {
            return self.add(Domain { device, parts: Vec::new() });
        }
        if let Some(&known) = self.constrained.get(&device) {
            return known;
        }
        let made = self.add(Domain { device, parts: Vec::new() });
        self.constrained.insert(device, made);
        made
    }

    /// Makes the domain of a function: parameters, then the result.
    pub fn function(&mut self, parts: Vec<DomainId>) -> DomainId {
        self.add(Domain { device: ANY, parts })
    }

    /// Makes a domain for a type, the result on a device. Recursive: types nest as deep as the parser lets them.
    fn of_type(&mut self, store: &Store, ty: TypeId, device: Device) -> DomainId {
        match store.type_of_id(ty) {
            Type::Func { params, ret, .. } => {
                let mut parts: Vec<DomainId> = params.iter().map(|param| self.of_type(store, *param, ANY)).collect();
                parts.push(self.of_type(store, *ret, device));
                self.function(parts)
            }
            _ => self.tensor(device),
        }
    }

    fn free(&mut self, store: &Store, id: ExprId) -> Result<DomainId, String> {
        let ty = store.checked_type(id).ok_or("there is an expression without a type")?;
        Ok(self.of_type(store, ty, ANY))
    }

    /// Makes a domain for a type on a device of the program.
    pub fn on(&mut self, store: &Store, ty: TypeId, device: Device) -> Result<DomainId, String> {
        let device = self.devices.canonical(device)?;
        if device == ANY { Err("nothing is known of a device".to_owned()) } else { Ok(self.of_type(store, ty, device)) }
    }

    /// Returns what a domain has become.
    pub fn find(&mut self, domain: DomainId) -> DomainId {
        let mut root = domain;
        while self.becomes[root] != root {
            root = self.becomes[root];
        }
        let mut at = domain;
        // An attempt that fails is undone, so it may not shorten paths.
        while self.attempt.is_none() && self.becomes[at] != root {
            at = std::mem::replace(&mut self.becomes[at], root);
        }
        root
    }

    fn link(&mut self, from: DomainId, to: DomainId) {
        if from != to {
            self.becomes[from] = to;
            if let Some(attempt) = &mut self.attempt {
                attempt.push(from);
            }
        }
    }

    /// Returns the parts of a function's domain.
    pub fn parts(&mut self, domain: DomainId) -> Vec<DomainId> {
        let domain = self.find(domain);
        self.list[domain].parts.clone()
    }

    pub fn unify(&mut self, a: DomainId, b: DomainId) -> Unified {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return Ok(Some(a));
        }
        let (x, y) = (self.list[a].clone(), self.list[b].clone());
        if x.parts.len() != y.parts.len() {
            return Err("a function and something else, or functions of different arity, have the same device".to_owned());
        }
        let joined = if !x.parts.is_empty() {
            let mut parts = Vec::with_capacity(x.parts.len());
            for (x, y) in x.parts.into_iter().zip(y.parts) {
                match self.unify(x, y)? {
                    Some(part) => parts.push(part),
                    None => return Ok(None),
                }
            }
            self.function(parts)
        } else if y.device == ANY {
            a
        } else if x.device == ANY {
            b
        } else {
            let Some(device) = self.devices.join(x.device, y.device) else { return Ok(None) };
            let device = self.devices.canonical(device)?;
            self.tensor(device)
        };
        self.link(a, joined);
        self.link(b, joined);
        Ok(Some(joined))
    }

    /// Unifies a tensor's domain with another one, or with every part of a function's.
    fn collapse(&mut self, tensor: DomainId, other: DomainId) -> Result<bool, String> {
        let parts = self.parts(other);
        if parts.is_empty() {
            return Ok(self.unify(tensor, other)?.is_some());
        }
        for part in parts {
            if self.unify(part, tensor)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn key(store: &Store, id: ExprId) -> Key {
        match store.expr(id) {
            Expr::Var(var) => Key::Var(var),
            Expr::Global(name) => Key::Global(name),
            _ => Key::Expr(id),
        }
    }

    /// Returns the domain of an expression.
    pub fn of(&mut self, store: &Store, id: ExprId) -> Result<DomainId, String> {
        let key = Self::key(store, id);
        if let Some(&known) = self.of.get(&key) {
            return Ok(self.find(known));
        }
        let made = self.free(store, id)?;
        self.of.insert(key, made);
        Ok(made)
    }

    /// Returns the domain of a variable.
    pub fn of_var(&mut self, store: &Store, var: VarId) -> Result<DomainId, String> {
        if let Some(&known) = self.of.get(&Key::Var(var)) {
            return Ok(self.find(known));
        }
        let ty = store.var_type(var).ok_or("there is a variable without a type")?;
        let made = self.of_type(store, ty, ANY);
        self.of.insert(Key::Var(var), made);
        Ok(made)
    }

    /// Returns the domain of a function of the module.
    pub fn of_global(&mut self, store: &Store, name: Id<Name>, function: ExprId) -> Result<DomainId, String> {
        if let Some(&known) = self.of.get(&Key::Global(name)) {
            return Ok(self.find(known));
        }
        let made = self.free(store, function)?;
        self.of.insert(Key::Global(name), made);
        Ok(made)
    }

    fn device(&mut self, store: &Store, call: ExprId, name: &str) -> Result<Device, String> {
        match store.attr(store.call(call).and_then(|call| call.attrs), name) {
            Some(AttrValue::Object(object)) => self.devices.read(store, *object),
            _ => Ok(ANY),
        }
    }

    /// Returns the domain of what a call calls.
    pub fn of_callee(&mut self, store: &Store, call: ExprId) -> Result<DomainId, String> {
        if let Some(&known) = self.callees.get(&call) {
            return Ok(self.find(known));
        }
        let arguments = args(store, call);
        let attrs = store.call(call).and_then(|call| call.attrs);
        let ty = |id: ExprId| store.checked_type(id).ok_or("there is an expression without a type");
        let callee = store.call(call).map(|call| store.expr(call.callee));
        let is_set = |name: &str| store.attr_int(attrs, name) == Some(1);
        let parts = match (op_name(store, call), callee) {
            ("on_device", _) => {
                let device = self.device(store, call, "virtual_device")?;
                let mut part = |name: &str| match is_set(name) {
                    true => self.on(store, ty(arguments[0])?, device),
                    false => self.free(store, arguments[0]),
                };
                vec![part("constrain_body")?, part("constrain_result")?]
            }
            ("device_copy", _) => {
                let (from, to) =
                    (self.device(store, call, "src_virtual_device")?, self.device(store, call, "dst_virtual_device")?);
                vec![self.on(store, ty(arguments[0])?, from)?, self.on(store, ty(arguments[0])?, to)?]
            }
            ("memory.alloc_storage", _) => {
                let device = self.device(store, call, "virtual_device")?;
                let host = self.tensor(self.devices.host);
                vec![host, host, host, self.on(store, ty(call)?, device)?]
            }
            (name @ ("memory.alloc_tensor" | "vm.reshape_tensor"), _) => {
                let (free, host) = (self.free(store, call)?, self.tensor(self.devices.host));
                if name == "memory.alloc_tensor" { vec![free, host, host, free] } else { vec![free, host, free] }
            }
            ("vm.shape_of", _) => vec![self.free(store, arguments[0])?, self.tensor(self.devices.host)],
            ("vm.invoke_tvm_op", _) => {
                let (callee, free) = (self.free(store, arguments[0])?, self.free(store, call)?);
                vec![callee, free, free, free]
            }
            ("", Some(Expr::Ctor(_))) => {
                let result = self.free(store, call)?;
                let mut parts = Vec::with_capacity(arguments.len() + 1);
                for argument in &arguments {
                    let part = self.free(store, *argument)?;
                    self.collapse(result, part)?;
                    parts.push(part);
                }
                parts.push(result);
                parts
            }
            ("", _) => return self.of(store, store.call(call).map_or(call, |call| call.callee)),
            _ => {
                let free = self.tensor(ANY);
                vec![free; arguments.len() + 1]
            }
        };
        let made = self.function(parts);
        self.callees.insert(call, made);
        Ok(made)
    }

    fn conflict<T>(&mut self, store: &Store, what: &str, a: DomainId, b: DomainId) -> Result<T, String> {
        let (a, b) = (self.show(store, a), self.show(store, b));
        Err(format!("Incompatible virtual devices for {what}: {a} and {b}"))
    }

    /// Requires that two have the same devices.
    pub fn same(&mut self, store: &Store, what: &str, a: DomainId, b: DomainId) -> Result<(), String> {
        match self.unify(a, b)? {
            Some(_) => Ok(()),
            None => self.conflict(store, what, a, b),
        }
    }

    /// Requires that something and all parts of another thing have the same device.
    pub fn same_collapsed(&mut self, store: &Store, what: &str, tensor: DomainId, other: DomainId) -> Result<(), String> {
        if self.collapse(tensor, other)? { Ok(()) } else { self.conflict(store, what, tensor, other) }
    }

    /// Makes two have the same devices if they can.
    pub fn try_same(&mut self, a: DomainId, b: DomainId) -> Result<(), String> {
        self.attempt = Some(Vec::new());
        let unified = self.unify(a, b);
        let linked = self.attempt.take().unwrap_or_default();
        if unified?.is_none() {
            for domain in linked.into_iter().rev() {
                self.becomes[domain] = domain;
            }
        }
        Ok(())
    }

    pub fn is_constrained(&mut self, domain: DomainId) -> bool {
        let domain = self.find(domain);
        match self.list[domain].parts.clone() {
            parts if parts.is_empty() => self.devices.is_constrained(self.list[domain].device),
            parts => parts.into_iter().all(|part| self.is_constrained(part)),
        }
    }

    /// Fills in what is not known from a device.
    pub fn set_default(&mut self, domain: DomainId, from: Device) -> Result<(), String> {
        let domain = self.find(domain);
        let parts = self.list[domain].parts.clone();
        if parts.is_empty() {
            let device = self.devices.filled(self.list[domain].device, from);
            let device = self.devices.canonical(device)?;
            let made = self.tensor(device);
            return self.unify(domain, made)?.map(|_| ()).ok_or_else(|| "a device has no default".to_owned());
        }
        parts.into_iter().try_for_each(|part| self.set_default(part, from))
    }

    /// Does so for a function: its result first, whose device is then the default of the parameters.
    pub fn set_result_default(&mut self, domain: DomainId, from: Device) -> Result<(), String> {
        if self.parts(domain).is_empty() {
            return self.set_default(domain, from);
        }
        let result = self.result(domain);
        self.set_default(result, from)?;
        let device = self.result_device(domain);
        self.set_default(domain, device)
    }

    /// Returns the domain of the result of a function, of its result if that is a function, and so on.
    fn result(&mut self, domain: DomainId) -> DomainId {
        let mut domain = self.find(domain);
        while let Some(&last) = self.list[domain].parts.last() {
            domain = self.find(last);
        }
        domain
    }

    /// Returns the device of what a domain is of, of a function that of its result.
    pub fn result_device(&mut self, domain: DomainId) -> Device {
        let domain = self.result(domain);
        self.list[domain].device
    }

    fn show(&mut self, store: &Store, domain: DomainId) -> String {
        let domain = self.find(domain);
        let parts = self.list[domain].parts.clone();
        if parts.is_empty() {
            return self.devices.show(store, self.list[domain].device);
        }
        let mut parts: Vec<String> = parts.into_iter().map(|part| self.show(store, part)).collect();
        let result = parts.pop().unwrap_or_default();
        format!("fn({}):{result}", parts.join(","))
    }
}
