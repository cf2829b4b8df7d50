//! References into the metadata section: `meta[relay.Constant][0]`.

use crate::ir::{Expr, ExprId, ExprKind, Id, Name, Object, PrimExpr, PrimId, Store, Symbol, Tensor, Type, TypeId};
use rustc_hash::FxHashMap;

/// An object of the metadata section. Objects are distinct by identity, as in TVM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum MetaKey {
    /// A constant or another expression held by an attribute.
    Expr(ExprId),
    /// The attributes of this call.
    Attrs(ExprId),
    /// The map at this path in the attributes of this node.
    Value(ExprId, Vec<u32>),
    Symbol(Id<Symbol>),
    Dim(PrimId),
    Hole(u32),
    Global(Id<Name>),
    Object(Id<Object>),
    Type(TypeId),
}

/// The objects that the text refers to, by type key in the order of first use.
#[derive(Default)]
pub(super) struct MetaTable {
    index: FxHashMap<MetaKey, (u32, u32)>,
    groups: Vec<(String, Vec<MetaKey>)>,
}

impl MetaTable {
    /// Gives `key` a number, if it has none yet.
    pub(super) fn add(&mut self, key: MetaKey, type_key: &str) {
        if self.index.contains_key(&key) {
            return;
        }
        let group = match self.groups.iter().position(|(k, _)| k == type_key) {
            Some(group) => group,
            None => {
                self.groups.push((type_key.to_string(), Vec::new()));
                self.groups.len() - 1
            }
        };
        let members = &mut self.groups[group].1;
        self.index.insert(key.clone(), (group as u32, members.len() as u32));
        members.push(key);
    }

    /// Returns the type key and number of an object.
    pub(super) fn get(&self, key: &MetaKey) -> Option<(&str, u32)> {
        let &(group, number) = self.index.get(key)?;
        Some((&self.groups[group as usize].0, number))
    }

    /// Returns the type keys and their objects, in the order of first use.
    pub(super) fn groups(&self) -> &[(String, Vec<MetaKey>)] {
        &self.groups
    }
}

/// Returns TVM's type key of an expression.
pub(super) fn expr_key(store: &Store, id: ExprId) -> &'static str {
    match store.expr(id).kind() {
        ExprKind::Var => "relay.Var",
        ExprKind::Global => "GlobalVar",
        ExprKind::Op => "Op",
        ExprKind::Ctor => "relay.Constructor",
        ExprKind::Constant => "relay.Constant",
        ExprKind::Tuple => "relay.Tuple",
        ExprKind::TupleGetItem => "relay.TupleGetItem",
        ExprKind::Call => "relay.Call",
        ExprKind::Let => "relay.Let",
        ExprKind::If => "relay.If",
        ExprKind::Function => "relay.Function",
        ExprKind::Match => "relay.Match",
        ExprKind::RefCreate => "relay.RefCreate",
        ExprKind::RefRead => "relay.RefRead",
        ExprKind::RefWrite => "relay.RefWrite",
        ExprKind::Seq => "relax.expr.SeqExpr",
        ExprKind::Shape => "relax.expr.ShapeExpr",
        ExprKind::Prim => "relax.expr.PrimValue",
        ExprKind::Str => "ir.StringImm",
        ExprKind::DataType => "relax.expr.DataTypeImm",
        ExprKind::Extern => "relax.expr.ExternFunc",
        ExprKind::PrimFunc => "tirx.PrimFunc",
        ExprKind::Stmt => "tirx.Stmt",
    }
}

/// Returns TVM's type key of a symbolic extent.
pub(super) fn symbol_key(symbol: &Symbol) -> &'static str {
    if symbol.size { "tir.SizeVar" } else { "tir.Var" }
}

/// Returns TVM's type key of extent arithmetic.
pub(super) fn dim_key(expr: &PrimExpr) -> &'static str {
    match expr {
        PrimExpr::Binary { op, .. } => op.key(),
        _ => "tir.Cast",
    }
}

/// Returns TVM's type key of a type.
pub(super) fn type_key(ty: &Type) -> &'static str {
    match ty {
        Type::Tensor { .. } => "relay.TensorType",
        Type::Tuple(_) => "TupleType",
        Type::Func { .. } => "FuncType",
        Type::Ref(_) => "relay.RefType",
        Type::Var(_) => "TypeVar",
        Type::Global(_) => "GlobalTypeVar",
        Type::Apply { .. } => "TypeCall",
        Type::Hole(_) => "IncompleteType",
        Type::Any => "relax.AnyType",
        Type::Prim(_) => "ir.PrimType",
        Type::Shape(_) => "relax.ShapeType",
        Type::PartialTensor(_) => "relax.TensorType",
        Type::Callable { .. } => "relax.FuncType",
        Type::PackedFunc => "relax.PackedFuncType",
        Type::Str => "ir.StringType",
        Type::Distributed { .. } => "relax.distributed.DTensorType",
    }
}

/// Returns the tensor of a constant in the metadata section: one that does not print as a number.
pub(super) fn meta_tensor(store: &Store, id: ExprId) -> Option<&Tensor> {
    match store.expr(id) {
        Expr::Constant(tensor) => Some(store.tensor(tensor)).filter(|t| super::value::scalar_text(t).is_none()),
        _ => None,
    }
}
