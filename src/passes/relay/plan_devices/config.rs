//! Targets, and the devices that stand for them (TVM's `CompilationConfig`, `VirtualDevice`).
//!
//! Source: `src/target/compilation_config.cc`, `src/target/virtual_device.cc`.

use crate::ir::{AttrValue, Id, Name, Object, Store};
use crate::pass::Literal;
use crate::tir::{TARGET_KINDS, device_type};

/// A device, as an index into [`Devices`]. Two are equal if all that is known of them is.
pub(super) type Device = usize;

/// Nothing is known of it.
pub(super) const ANY: Device = 0;

/// Facts about a device. Negative numbers, `None` and an empty text stand for unknown ones.
#[derive(Clone, PartialEq)]
struct Known {
    kind: i64,
    id: i64,
    target: Option<usize>,
    scope: Id<Name>,
}

struct Target {
    kind: String,
    object: AttrValue,
}

/// All devices of a program, and its targets.
pub(super) struct Devices {
    known: Vec<Known>,
    objects: Vec<Option<Id<Object>>>,
    /// Those that were given, and then those that only the program has.
    targets: Vec<Target>,
    given: usize,
    /// The device of whatever is not placed.
    pub default: Device,
    /// The device that shapes are computed on.
    pub host: Device,
}

impl Devices {
    /// Reads the targets to compile for; `fallback` is the type of device of whatever is not placed.
    pub fn new(store: &mut Store, config: &Literal, fallback: Option<i64>) -> Result<Devices, String> {
        let items = match config {
            Literal::List(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            let Literal::Str(text) = item else { return Err(format!("a target is a string, not {item}")) };
            texts.push(text.as_str());
        }
        if texts.is_empty() {
            return Err("Require at least one target".to_owned());
        }
        let scope = store.name("");
        let any = Known { kind: -1, id: -1, target: None, scope };
        let mut devices =
            Devices { known: vec![any], objects: vec![None], targets: Vec::new(), given: 0, default: ANY, host: ANY };
        // All targets have the same host: the first one for a CPU, or a plain `llvm`.
        let is_cpu = |text: &&&str| device_type(text.split_whitespace().next().unwrap_or_default()) == 1;
        let host = read_target(store, texts.iter().find(is_cpu).copied().unwrap_or("llvm"), AttrValue::Null)?;
        for text in texts {
            let target = read_target(store, text, host.object.clone())?;
            if devices.targets.iter().any(|known| known.kind == target.kind) {
                return Err(format!("Multiple targets have been given for the same device kind '{}'", target.kind));
            }
            devices.targets.push(target);
        }
        devices.given = devices.targets.len();
        let types: Vec<i64> = devices.targets.iter().map(|target| device_type(&target.kind)).collect();
        let first = types[0];
        let default = fallback.unwrap_or(if types.iter().all(|kind| *kind == first) { first } else { 1 });
        devices.default = devices.add(Known { kind: default, id: 0, target: Some(devices.target_for(default)?), scope });
        let host = devices.targets.iter().position(|target| target.kind == host.kind).unwrap_or_else(|| {
            devices.targets.push(host);
            devices.targets.len() - 1
        });
        devices.host = devices.add(Known { kind: 1, id: 0, target: Some(host), scope });
        Ok(devices)
    }

    fn add(&mut self, known: Known) -> Device {
        if let Some(at) = self.known.iter().position(|other| *other == known) {
            return at;
        }
        self.known.push(known);
        self.objects.push(None);
        self.known.len() - 1
    }

    fn target_for(&self, kind: i64) -> Result<usize, String> {
        let found = self.targets[..self.given].iter().position(|target| device_type(&target.kind) == kind);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.targets[..self.given].iter().map(|target| target.kind.as_str()).collect();
            format!("No target is specified for device type {kind}. The available targets are: {}", known.join(", "))
        })
    }

    /// Returns a device of the program. Its target is one of those that were given if it has the kind of it.
    pub fn read(&mut self, store: &Store, object: Id<Object>) -> Result<Device, String> {
        let number = |name: &str| match store.object_field(object, name) {
            Some(AttrValue::Int { value, .. }) => *value,
            _ => -1,
        };
        let target = match store.object_field(object, "target") {
            Some(AttrValue::Object(target)) => Some(self.target(store, *target)),
            _ => None,
        };
        let scope = match store.object_field(object, "memory_scope") {
            Some(AttrValue::Str(scope)) => *scope,
            _ => self.known[ANY].scope,
        };
        let device = self.add(Known { kind: number("device_type_int"), id: number("virtual_device_id"), target, scope });
        if self.objects[device].is_none() && device != ANY {
            self.objects[device] = Some(object);
        }
        Ok(device)
    }

    fn target(&mut self, store: &Store, object: Id<Object>) -> usize {
        let kind = match store.object_field(object, "kind") {
            Some(AttrValue::Object(kind)) => store.object(*kind).repr.as_deref().unwrap_or_default(),
            Some(AttrValue::Str(kind)) => store.str(*kind),
            _ => "",
        };
        let object = AttrValue::Object(object);
        match self.targets.iter().position(|known| known.kind == kind) {
            Some(at) => {
                self.targets[at].object = object;
                at
            }
            None => {
                self.targets.push(Target { kind: kind.to_owned(), object });
                self.targets.len() - 1
            }
        }
    }

    /// Adds the target of a device that has none.
    pub fn canonical(&mut self, device: Device) -> Result<Device, String> {
        let known = self.known[device].clone();
        if known.target.is_some() || known.kind < 1 {
            return Ok(device);
        }
        let target = Some(self.target_for(known.kind)?);
        Ok(self.add(Known { target, ..known }))
    }

    /// True if all is known of a device but the scope of its memory.
    pub fn is_constrained(&self, device: Device) -> bool {
        let Known { kind, id, target, .. } = &self.known[device];
        *kind > 0 && *id >= 0 && target.is_some()
    }

    /// Returns what is known of either of two devices; `None` if they contradict each other.
    pub fn join(&mut self, a: Device, b: Device) -> Option<Device> {
        let (x, y) = (self.known[a].clone(), self.known[b].clone());
        fn either<T: PartialEq>(x: T, y: T, nothing: &T) -> Option<T> {
            match (x == *nothing, y == *nothing) {
                (true, _) => Some(y),
                (_, true) => Some(x),
                _ => (x == y).then_some(x),
            }
        }
        let joined = Known {
            kind: either(x.kind, y.kind, &-1)?,
            id: either(x.id, y.id, &-1)?,
            target: either(x.target, y.target, &None)?,
            scope: either(x.scope, y.scope, &self.known[ANY].scope)?,
        };
        Some(self.add(joined))
    }

    /// Returns a device with what it lacks taken from another one.
    pub fn filled(&mut self, device: Device, from: Device) -> Device {
        let (mut made, from) = (self.known[device].clone(), self.known[from].clone());
        let nothing = &self.known[ANY];
        if made.kind < 0 {
            made.kind = from.kind;
        }
        if made.id < 0 {
            made.id = from.id;
        }
        if made.target.is_none() {
            made.target = from.target.filter(|target| device_type(&self.targets[*target].kind) == made.kind);
        }
        if made.scope == nothing.scope {
            made.scope = from.scope;
        }
        self.add(made)
    }

    /// Returns the object of a device: the one of the program if it has one.
    pub fn object(&mut self, store: &mut Store, device: Device) -> Id<Object> {
        if let Some(object) = self.objects[device] {
            return object;
        }
        let known = &self.known[device];
        let target = known.target.map_or(AttrValue::Null, |target| self.targets[target].object.clone());
        let fields = [
            ("device_type_int", AttrValue::int(known.kind)),
            ("memory_scope", AttrValue::Str(known.scope)),
            ("target", target),
            ("virtual_device_id", AttrValue::int(known.id)),
        ];
        let object = object(store, "VirtualDevice", fields.to_vec(), None);
        self.objects[device] = Some(object);
        object
    }

    /// Writes a device for a message.
    pub fn show(&self, store: &Store, device: Device) -> String {
        let Known { kind, id, target, scope } = &self.known[device];
        let mut parts = Vec::new();
        if *kind >= 0 {
            parts.push(format!("device_type={kind}"));
        }
        if *id >= 0 {
            parts.push(format!("virtual_device_id={id}"));
        }
        parts.extend(target.map(|target| format!("target={}", self.targets[target].kind)));
        if !store.str(*scope).is_empty() {
            parts.push(format!("memory_scope='{}'", store.str(*scope)));
        }
        format!("VirtualDevice({})", if parts.is_empty() { "?".to_owned() } else { parts.join(", ") })
    }
}

fn object(store: &mut Store, key: &str, fields: Vec<(&str, AttrValue)>, repr: Option<&str>) -> Id<Object> {
    let key = store.name(key);
    let fields = fields.into_iter().map(|(name, value)| (store.name(name), value)).collect();
    store.add_object(Object { key, fields, items: Box::new([]), repr: repr.map(Into::into) })
}

/// Makes a target of `cuda -arch=sm_70`, with the options that it gives.
fn read_target(store: &mut Store, text: &str, host: AttrValue) -> Result<Target, String> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let Some((_, keys, _)) = TARGET_KINDS.iter().find(|(known, ..)| *known == kind) else {
        let known: Vec<&str> = TARGET_KINDS.iter().map(|(known, ..)| *known).collect();
        return Err(format!("Target kind \"{kind}\" is not defined; known are {}", known.join(", ")));
    };
    let value = |store: &mut Store, text: &str| match (text.parse::<i64>(), text) {
        (Ok(value), _) => AttrValue::int(value),
        (_, "True" | "False") => AttrValue::Bool(text == "True"),
        _ => AttrValue::Str(store.name(text.trim_matches('"'))),
    };
    let mut attrs: Vec<(&str, AttrValue)> = Vec::new();
    for word in words {
        let (name, text) = word.trim_start_matches('-').split_once('=').unwrap_or((word.trim_start_matches('-'), "True"));
        attrs.push((name, value(store, text)));
    }
    let attrs = attrs.into_iter().map(|(name, value)| (store.name(name), value)).collect();
    let keys = keys.iter().map(|key| AttrValue::Str(store.name(key))).collect();
    let kind_object = object(store, "TargetKind", Vec::new(), Some(kind));
    let tag = AttrValue::Str(store.name(""));
    let fields = vec![
        ("attrs", AttrValue::Map(attrs)),
        ("features", AttrValue::Map(Box::new([]))),
        ("host", host),
        ("keys", AttrValue::Array(keys)),
        ("kind", AttrValue::Object(kind_object)),
        ("tag", tag),
    ];
    let target = object(store, "Target", fields, None);
    Ok(Target { kind: kind.to_owned(), object: AttrValue::Object(target) })
}
