//! Dictionaries: attributes of functions, annotations of loops and blocks.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{AttrValue, Attrs, AttrsId, DType, DTypeCode, Dim, Double, Id, Name, Object, PrimExpr};

impl Reader<'_, '_, '_> {
    /// Reads `{"key": value}`; nothing for an empty one.
    pub(super) fn dict(&mut self, id: Id<Node>) -> Read<Option<AttrsId>> {
        let fields = self.entries(id)?;
        if fields.is_empty() {
            return Ok(None);
        }
        let key = self.name_of("DictAttrs");
        Ok(Some(self.store.attrs(Attrs { key, fields: fields.into() })))
    }

    pub(super) fn entries(&mut self, id: Id<Node>) -> Read<Vec<(Id<Name>, AttrValue)>> {
        match self.value(id)?.bare() {
            Value::Dict(entries) => self.fields(&entries, id),
            Value::None => Ok(Vec::new()),
            _ => Err(self.error("tir-syntax", "expected `{\"key\": value}`", id)),
        }
    }

    fn fields(&mut self, entries: &[(Value, Value)], at: Id<Node>) -> Read<Vec<(Id<Name>, AttrValue)>> {
        let mut fields: Vec<(Id<Name>, AttrValue)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let Value::Str(key) = key else { return Err(self.error("tir-syntax", "a key is a string", at)) };
            let key = self.name_of(key);
            let value = self.attr_value(value, at)?;
            match fields.iter_mut().find(|(known, _)| *known == key) {
                Some(field) => field.1 = value,
                None => fields.push((key, value)),
            }
        }
        Ok(fields)
    }

    /// Reads the value of an attribute.
    pub(super) fn attr_value(&mut self, value: &Value, at: Id<Node>) -> Read<AttrValue> {
        Ok(match value {
            Value::None => AttrValue::Null,
            Value::Bool(known) => AttrValue::Bool(*known),
            Value::Int(known) => AttrValue::Int { value: *known, bits: 64 },
            Value::Float(known) => AttrValue::Float(Double(*known)),
            Value::Str(text) => AttrValue::Str(self.name_of(text)),
            Value::List(items) | Value::Tuple(items) => {
                let values: Read<Vec<AttrValue>> = items.iter().map(|item| self.attr_value(item, at)).collect();
                AttrValue::Array(values?.into())
            }
            Value::Dict(entries) => AttrValue::Map(self.fields(entries, at)?.into()),
            Value::Object(object) => object.clone(),
            Value::Type(dtype) | Value::Fresh(dtype) => AttrValue::DType(Some(*dtype)),
            Value::Buffer(buffer) => {
                let prim = self.store.prim(PrimExpr::Buffer(*buffer));
                AttrValue::Dim(Dim::Expr(prim))
            }
            Value::Meta(inner) => self.attr_value(inner, at)?,
            Value::Prim(prim) => match *self.store.prim_of_id(*prim) {
                PrimExpr::Str(text) => AttrValue::Str(text),
                // `T.bool(True)` and `True` are two things only to those who ask for the type.
                _ => AttrValue::Dim(self.store.dim_of_prim(*prim)),
            },
            other => {
                let message = format!("{} is no value of an attribute", other.kind());
                return Err(self.error("tir-type", message, at));
            }
        })
    }

    /// Reads `T.target("llvm -mcpu=skylake -num-cores=8")`, as TVM 0.21 and before wrote it: a field for each option.
    fn options(&mut self, kind: &str, options: &str, at: Id<Node>) -> Read<Vec<(Id<Name>, AttrValue)>> {
        self.old(
            "a target with options in its text is the spelling of TVM 0.21 and before; today `T.target({\"kind\": ...})`",
            at,
        );
        let kind = self.name_of(kind);
        let mut fields = vec![(self.name_of("kind"), AttrValue::Str(kind))];
        for option in options.split_whitespace() {
            let option = option.trim_start_matches('-');
            let (key, value) = option.split_once('=').unwrap_or((option, "1"));
            let value = match value.parse::<i64>() {
                Ok(value) => AttrValue::Int { value, bits: 64 },
                Err(_) if matches!(key, "keys" | "mattr" | "libs") => {
                    AttrValue::Array(value.split(',').map(|part| AttrValue::Str(self.store.name(part))).collect())
                }
                Err(_) => AttrValue::Str(self.store.name(value)),
            };
            fields.push((self.store.name(key), value));
        }
        Ok(fields)
    }

    /// Reads `T.target({"kind": "llvm"})` and `T.target("llvm", host="llvm")`.
    pub(super) fn target(&mut self, config: &Value, host: Option<&Value>, at: Id<Node>) -> Read<Value> {
        let mut fields = match config {
            Value::Dict(entries) => self.fields(entries, at)?,
            Value::Str(text) => match text.split_once(' ') {
                Some((kind, options)) => self.options(kind, options, at)?,
                None => {
                    let text = self.attr_value(config, at)?;
                    vec![(self.name_of("kind"), text)]
                }
            },
            other => {
                let message = format!("T.target expected a config dict or string, but got {}", other.kind());
                return Err(self.error("tir-type", message, at));
            }
        };
        let host_key = self.name_of("host");
        if let Some(host) = host {
            if fields.iter().any(|(key, _)| *key == host_key) {
                let message = "T.target expects to either receive the host as part of the target's config dictionary, or as a \
                               separate argument, but not both.";
                return Err(self.error("tir-type", message, at));
            }
            let host = self.attr_value(host, at)?;
            fields.push((host_key, host));
        }
        // A host is described by its own fields.
        for (key, value) in &mut fields {
            let AttrValue::Object(object) = *value else { continue };
            if *key == host_key {
                *value = AttrValue::Map(self.store.object(object).fields.clone());
            }
        }
        if let Err(message) = crate::tir::complete_target(self.store, &mut fields) {
            return Err(self.error("tir-type", message, at));
        }
        let key = self.name_of("Target");
        let object = self.store.add_object(Object { key, fields: fields.into(), items: [].into(), repr: None });
        Ok(Value::Object(AttrValue::Object(object)))
    }

    /// Reads `T.index_map(lambda i, j: (j, i))`.
    pub(super) fn index_map(&mut self, mapping: &Value, inverse: Option<&Value>, dtype: DType, at: Id<Node>) -> Read<Value> {
        let mut fields = Vec::new();
        for (which, lambda) in [Some(mapping), inverse].into_iter().enumerate() {
            let Some(lambda) = lambda else { continue };
            let (vars, results) = self.lambda(lambda, |reader, name, _| reader.new_symbol(name, dtype), at)?;
            let vars = vars.into_iter().map(|var| AttrValue::Dim(Dim::Symbol(var))).collect();
            let mut out = Vec::with_capacity(results.len());
            for result in results {
                let prim = self.prim_from(&result, at)?;
                if self.store.prim_dtype(prim).code != DTypeCode::Int {
                    return Err(self.error("tir-type", "an index map gives integers", at));
                }
                out.push(AttrValue::Dim(self.store.dim_of_prim(prim)));
            }
            let names = [["initial_indices", "final_indices"], ["inverse_initial_indices", "inverse_final_indices"]][which];
            fields.push((self.name_of(names[0]), AttrValue::Array(vars)));
            fields.push((self.name_of(names[1]), AttrValue::Array(out.into())));
        }
        let key = self.name_of("tirx.IndexMap");
        let object = self.store.add_object(Object { key, fields: fields.into(), items: [].into(), repr: None });
        Ok(Value::Object(AttrValue::Object(object)))
    }
}
