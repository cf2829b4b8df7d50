//! Reads and compares descriptions of targets, as attributes hold them (`src/target/target.cc`).

use crate::ir::{AttrValue, Id, Name, Object, Store};
use crate::pass::Literal;
use crate::tir::{TARGET_KINDS, complete_target};

/// Reads a target: its kind, or a dictionary with the kind in it. Omitted fields get TVM's defaults.
pub(super) fn read(store: &mut Store, literal: &Literal) -> Result<AttrValue, String> {
    let entries = match literal {
        Literal::Str(kind) => vec![(Literal::Str("kind".to_owned()), Literal::Str(kind.clone()))],
        Literal::Dict(entries) => entries.clone(),
        other => return Err(format!("Expect target to be a string or a dictionary, but got {other}")),
    };
    let named =
        |name: &str| entries.iter().find(|(key, _)| matches!(key, Literal::Str(key) if key == name)).map(|(_, value)| value);
    let Some(Literal::Str(kind)) = named("kind") else {
        return Err("a target needs a kind: {\"kind\": \"llvm\"}".to_owned());
    };
    if !TARGET_KINDS.iter().any(|(known, ..)| known == kind) {
        let known: Vec<&str> = TARGET_KINDS.iter().map(|(known, ..)| *known).collect();
        return Err(format!("Target kind \"{kind}\" is not defined; known are {}", known.join(", ")));
    }
    let mut fields = Vec::new();
    for (key, value) in &entries {
        let Literal::Str(key) = key else { return Err(format!("Expect the key of a target to be a string, but got {key}")) };
        let value = match key.as_str() {
            "host" => {
                let host = read(store, value)?;
                beside(store, &host)
            }
            _ => value_of(store, value),
        };
        fields.push((store.name(key), value));
    }
    complete_target(store, &mut fields)?;
    Ok(target(store, fields))
}

fn value_of(store: &mut Store, literal: &Literal) -> AttrValue {
    match literal {
        Literal::None => AttrValue::Null,
        Literal::Bool(value) => AttrValue::Bool(*value),
        Literal::Int(value) => AttrValue::Int { value: *value, bits: 64 },
        Literal::Float(value) => AttrValue::Float(crate::ir::Double(*value)),
        Literal::Str(text) => AttrValue::Str(store.name(text)),
        Literal::List(items) => AttrValue::Array(items.iter().map(|item| value_of(store, item)).collect()),
        Literal::Dict(entries) => {
            let name = |key: &Literal| if let Literal::Str(key) = key { key.clone() } else { key.to_string() };
            let mut fields = Vec::new();
            for (key, value) in entries {
                let value = value_of(store, value);
                fields.push((store.name(&name(key)), value));
            }
            AttrValue::Map(fields.into())
        }
    }
}

/// Makes a target with these fields, which stand in the order of their names.
fn target(store: &mut Store, mut fields: Vec<(Id<Name>, AttrValue)>) -> AttrValue {
    crate::ir::sort::sort_by(&mut fields, |a, b| store.str(a.0).cmp(store.str(b.0)));
    let key = store.name("Target");
    AttrValue::Object(store.add_object(Object { key, fields: fields.into(), items: [].into(), repr: None }))
}

fn fields(store: &Store, target: &AttrValue) -> Vec<(Id<Name>, AttrValue)> {
    match target {
        AttrValue::Object(object) => store.object(*object).fields.to_vec(),
        AttrValue::Map(fields) => fields.to_vec(),
        _ => Vec::new(),
    }
}

/// Converts a target to the form for a field of another one.
fn beside(store: &Store, target: &AttrValue) -> AttrValue {
    AttrValue::Map(fields(store, target).into())
}

/// Returns a field of a target.
pub(super) fn field(store: &Store, target: &AttrValue, name: &str) -> Option<AttrValue> {
    fields(store, target).into_iter().find(|(known, _)| store.str(*known) == name).map(|(_, value)| value)
}

/// Returns the target that an attribute of a statement names.
pub(super) fn of_node(store: &mut Store, node: crate::ir::PrimId) -> Option<AttrValue> {
    let crate::ir::PrimExpr::Attrs(attrs) = *store.prim_of_id(node) else { return None };
    let attrs = store.attrs_of_id(attrs).clone();
    (store.str(attrs.key) == "Target").then(|| target(store, attrs.fields.to_vec()))
}

/// True if two targets are the same, field by field.
pub(super) fn same(store: &Store, a: &AttrValue, b: &AttrValue) -> bool {
    let (a, b) = (fields(store, a), fields(store, b));
    a.len() == b.len() && a.iter().all(|field| b.contains(field))
}

/// Returns the host beside a device.
pub(super) fn host(store: &mut Store, target: &AttrValue) -> Option<AttrValue> {
    let host = field(store, target, "host").filter(|host| *host != AttrValue::Null)?;
    match host {
        AttrValue::Map(fields) => Some(self::target(store, fields.to_vec())),
        other => Some(other),
    }
}

/// Returns a target without its host.
pub(super) fn without_host(store: &mut Store, target: &AttrValue) -> AttrValue {
    let rest: Vec<_> = fields(store, target).into_iter().filter(|(name, _)| store.str(*name) != "host").collect();
    self::target(store, rest)
}

/// Returns a target with a host.
pub(super) fn with_host(store: &mut Store, target: &AttrValue, host: &AttrValue) -> AttrValue {
    let mut rest: Vec<_> = fields(store, target).into_iter().filter(|(name, _)| store.str(*name) != "host").collect();
    rest.push((store.name("host"), beside(store, host)));
    self::target(store, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::call::parse_literal;

    fn of(store: &mut Store, text: &str) -> Result<AttrValue, String> {
        read(store, &parse_literal(text).expect("a literal"))
    }

    #[test]
    fn what_is_not_said_of_a_target_is_taken_for_granted() {
        let store = &mut Store::new();
        let target = of(store, "{\"kind\": \"cuda\", \"arch\": \"sm_80\", \"host\": \"llvm\"}").expect("a target");
        let arch = AttrValue::Str(store.name("sm_80"));
        assert_eq!(field(store, &target, "arch"), Some(arch));
        assert_eq!(field(store, &target, "thread_warp_size").and_then(|size| size.as_int()), Some(32));
        let beside = host(store, &target).expect("the host");
        let kind = AttrValue::Str(store.name("llvm"));
        assert_eq!(field(store, &beside, "kind"), Some(kind));
        let alone = without_host(store, &target);
        assert_eq!(host(store, &alone), None);
    }

    #[test]
    fn kinds_that_nobody_knows_are_named() {
        let store = &mut Store::new();
        assert!(of(store, "\"nope\"").unwrap_err().starts_with("Target kind \"nope\" is not defined"));
        assert!(of(store, "3").unwrap_err().starts_with("Expect target to be a string"));
    }
}
