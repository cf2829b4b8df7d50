//! Hashes of functions, where TVM has its structural hash: that one cannot be told from a text, as it is made of hashes of its
//! own types. Equal functions have equal hashes here, too.

use crate::ir::walk::{for_each_binder, for_each_child, post_order};
use crate::ir::{AttrValue, AttrsId, Expr, ExprId, IdMap, Pattern, Store, TypeId, VarId, show_type};
use rustc_hash::FxHashMap;

/// Hashes of expressions of one store, which names of variables do not change.
#[derive(Default)]
pub struct ExprHasher {
    attrs: FxHashMap<AttrsId, u64>,
    types: FxHashMap<TypeId, u64>,
}

impl ExprHasher {
    /// Returns the hash of an expression. Of a large constant the first bytes count.
    pub fn hash(&mut self, store: &Store, id: ExprId) -> u64 {
        let mut places: IdMap<Expr, u64> = IdMap::new();
        let mut vars: FxHashMap<VarId, u64> = FxHashMap::default();
        let mut hash = 0;
        for (place, node) in (0..).zip(post_order(store, id)) {
            places.insert(node, place);
            let mut number = |this: &mut ExprHasher, hash: u64, var: VarId| {
                let next = vars.len() as u64;
                let hash = mixed(hash, *vars.entry(var).or_insert(next));
                mixed(hash, store.var_data(var).annotation.map_or(0, |ty| this.ty(store, ty)))
            };
            hash = mixed(hash, store.expr(node).kind() as u64);
            for_each_child(store, node, |child| hash = mixed(hash, places.get(child).copied().unwrap_or(0)));
            for_each_binder(store, node, |var| hash = number(self, hash, var));
            hash = match store.expr(node) {
                Expr::Var(var) => number(self, hash, var),
                Expr::Global(name) => mixed(hash, text_hash(store.str(name))),
                Expr::Op(op) => mixed(hash, text_hash(crate::ops::info(op).name)),
                Expr::Ctor(ctor) => mixed(hash, text_hash(store.str(store.ctor(ctor).name))),
                Expr::TupleGetItem { index, .. } => mixed(hash, u64::from(index)),
                Expr::Call { .. } => mixed(hash, self.attrs(store, store.call(node).and_then(|call| call.attrs))),
                Expr::Function(function) => mixed(hash, self.attrs(store, store.function(function).attrs)),
                Expr::Constant(tensor) => {
                    let tensor = store.tensor(tensor);
                    let hash = mixed(hash, text_hash(&format!("{}{:?}", tensor.dtype, tensor.shape)));
                    tensor
                        .data
                        .as_deref()
                        .unwrap_or_default()
                        .iter()
                        .take(256)
                        .fold(hash, |hash, byte| mixed(hash, u64::from(*byte)))
                }
                Expr::Match { clauses, .. } => {
                    let mut left: Vec<_> = store.items(clauses).map(|clause| store.clause(clause).pattern).collect();
                    while let Some(pattern) = left.pop() {
                        hash = match *store.pattern(pattern) {
                            Pattern::Wildcard => mixed(hash, 1),
                            Pattern::Var(_) => mixed(hash, 2),
                            Pattern::Tuple(fields) => {
                                left.extend(store.items(fields));
                                mixed(hash, 3)
                            }
                            Pattern::Ctor { ctor, fields } => {
                                left.extend(store.items(fields));
                                mixed(hash, text_hash(store.str(store.ctor(ctor).name)))
                            }
                        };
                    }
                    hash
                }
                _ => hash,
            };
        }
        hash
    }

    fn ty(&mut self, store: &Store, ty: TypeId) -> u64 {
        *self.types.entry(ty).or_insert_with(|| text_hash(&show_type(store, ty)))
    }

    fn attrs(&mut self, store: &Store, attrs: Option<AttrsId>) -> u64 {
        let Some(attrs) = attrs else { return 0 };
        if let Some(known) = self.attrs.get(&attrs) {
            return *known;
        }
        let named = |hash, (name, value): &(_, AttrValue)| of_value(store, mixed(hash, text_hash(store.str(*name))), value);
        let hash = store.attrs_of_id(attrs).fields.iter().fold(1, named);
        self.attrs.insert(attrs, hash);
        hash
    }
}

/// Recursive: attributes nest at most as deep as the parser lets them.
fn of_value(store: &Store, hash: u64, value: &AttrValue) -> u64 {
    match value {
        AttrValue::Str(name) | AttrValue::Global(name) => mixed(hash, text_hash(store.str(*name))),
        AttrValue::Array(items) => items.iter().fold(mixed(hash, items.len() as u64), |hash, item| of_value(store, hash, item)),
        AttrValue::Map(entries) => {
            entries.iter().fold(hash, |hash, (name, value)| of_value(store, mixed(hash, text_hash(store.str(*name))), value))
        }
        AttrValue::DType(Some(dtype)) => mixed(hash, text_hash(&dtype.to_string())),
        AttrValue::Object(object) => {
            let object = store.object(*object);
            let hash = mixed(hash, text_hash(object.repr.as_deref().unwrap_or_default()));
            let fields = object.fields.iter().map(|(_, value)| value).chain(object.items.iter());
            fields.fold(hash, |hash, value| of_value(store, hash, value))
        }
        AttrValue::Type(ty) => mixed(hash, text_hash(&show_type(store, *ty))),
        AttrValue::Dim(dim) => mixed(hash, dim.known().map_or(1, |extent| extent as u64)),
        other => mixed(hash, other.as_float().map_or(1, f64::to_bits)),
    }
}

/// Mixes a number into a hash.
fn mixed(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Numbers variables in order, so that functions which differ only in names have one text. The `kept` names stay.
pub fn without_names(text: &str, kept: &[&str]) -> String {
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        out.push('%');
        if kept.contains(&name) {
            out.push_str(name);
        } else {
            let next = numbers.len();
            out.push_str(&numbers.entry(name).or_insert(next).to_string());
        }
        out.push_str(rest);
    }
    out
}

/// Returns the FNV-1a hash of a text, which is the same on every machine.
pub fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
