//! Dictionaries: attributes of functions, annotations of loops and blocks.

use super::{Node, Read, Reader};
use crate::ir::{AttrValue, Attrs, AttrsId, Double, Id, Name, Object};

impl Reader<'_, '_, '_> {
    /// `{"key": value}`; nothing for an empty one.
    pub(super) fn dict(&mut self, id: Id<Node>) -> Read<Option<AttrsId>> {
        let fields = self.entries(id)?;
        if fields.is_empty() {
            return Ok(None);
        }
        let key = self.name_of("DictAttrs");
        Ok(Some(self.store.attrs(Attrs { key, fields: fields.into() })))
    }

    pub(super) fn entries(&mut self, id: Id<Node>) -> Read<Vec<(Id<Name>, AttrValue)>> {
        let Node::Dict(items) = self.tree.expr(id) else {
            return Err(self.error("tir-syntax", "expected `{\"key\": value}`", id));
        };
        let mut fields = Vec::new();
        for pair in self.tree.items(items).to_vec().chunks(2) {
            let Some(key) = self.tree.string(pair[0]) else {
                return Err(self.error("tir-syntax", "a key is a string", pair[0]));
            };
            let key = self.name_of(&key);
            fields.push((key, self.value(pair[1])?));
        }
        Ok(fields)
    }

    fn value(&mut self, id: Id<Node>) -> Read<AttrValue> {
        let tree = self.tree;
        Ok(match tree.expr(id) {
            Node::None => AttrValue::Null,
            Node::True => AttrValue::Bool(true),
            Node::False => AttrValue::Bool(false),
            Node::Str => AttrValue::Str(self.name_of(&tree.string(id).unwrap_or_default())),
            Node::List(items) | Node::Tuple(items) => {
                let values: Read<Vec<AttrValue>> = tree.items(items).to_vec().into_iter().map(|item| self.value(item)).collect();
                AttrValue::Array(values?.into())
            }
            Node::Dict(_) => AttrValue::Map(self.entries(id)?.into()),
            Node::Call { callee, args } if self.intrinsic(callee) == Some("target") => {
                let fields = match tree.args(args) {
                    [arg] if arg.name().is_none() => match tree.expr(arg.value) {
                        Node::Dict(_) => self.entries(arg.value)?,
                        _ => vec![(self.name_of("kind"), self.value(arg.value)?)],
                    },
                    _ => return Err(self.error("tir-syntax", "`T.target` takes one argument", id)),
                };
                let key = self.name_of("Target");
                AttrValue::Object(self.store.add_object(Object { key, fields: fields.into(), items: [].into(), repr: None }))
            }
            _ => {
                if let Some(value) = tree.int(id) {
                    let Ok(value) = i64::try_from(value) else {
                        return Err(self.error("tir-number", "this number does not fit into 64 bits", id));
                    };
                    return Ok(AttrValue::Int { value, bits: 64 });
                }
                if let Some(value) = tree.float(id) {
                    return Ok(AttrValue::Float(Double(value)));
                }
                let prim = self.argument(id)?;
                let dim = self.store.dim_of_prim(prim);
                AttrValue::Dim(dim)
            }
        })
    }
}
