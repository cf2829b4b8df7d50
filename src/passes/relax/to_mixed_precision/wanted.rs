//! The precision that the users of variables want.

use super::policy;
use crate::ir::{Binding, DType, DTypeCode, Expr, ExprId, Store, Type, TypeId, VarId};
use crate::ops::MixedPrecision;
use rustc_hash::FxHashMap;

/// Element types of the tensors of a value (TVM's `NType`). Types nest as deep as the parser's limit on brackets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DTypes {
    Leaf(Option<DType>),
    Fields(Vec<DTypes>),
}

/// The element type of a tensor without users so far.
const UNUSED: DType = DType::new(DTypeCode::Float, 0);

impl DTypes {
    /// Returns the element types of a type, or `all` for each; `None` when a part of it is no tensor.
    pub(super) fn of(store: &Store, ty: TypeId, all: Option<DType>) -> Option<DTypes> {
        match store.type_of_id(ty) {
            Type::Tuple(fields) => {
                Some(DTypes::Fields(fields.iter().map(|field| DTypes::of(store, *field, all)).collect::<Option<_>>()?))
            }
            Type::Tensor { dtype, .. } => Some(DTypes::Leaf(all.or(Some(*dtype)))),
            Type::PartialTensor(info) => Some(DTypes::Leaf(all.or(info.dtype))),
            _ => None,
        }
    }

    fn field(&self, at: usize) -> DTypes {
        match self {
            DTypes::Fields(fields) => fields.get(at).cloned().unwrap_or(DTypes::Leaf(None)),
            leaf => leaf.clone(),
        }
    }

    pub(super) fn combine(&self, other: &DTypes, f: &dyn Fn(Option<DType>, Option<DType>) -> Option<DType>) -> DTypes {
        match (self, other) {
            (DTypes::Leaf(a), DTypes::Leaf(b)) => DTypes::Leaf(f(*a, *b)),
            (DTypes::Fields(a), DTypes::Fields(b)) => DTypes::Fields(a.iter().zip(b).map(|(a, b)| a.combine(b, f)).collect()),
            _ => self.clone(),
        }
    }

    /// Returns the wider of both. A tensor without users counts as single precision: TVM prints it as `float0` and
    /// parses that as a float of the usual width.
    fn merge(&self, other: &DTypes) -> DTypes {
        let width = |dtype: DType| if dtype == UNUSED { 32 } else { dtype.bits };
        self.combine(other, &|a, b| match (a, b) {
            (Some(a), Some(b)) => Some(if width(a) > width(b) { a } else { b }),
            (a, b) => a.or(b),
        })
    }
}

pub(super) fn dtypes(store: &Store, expr: ExprId, all: Option<DType>) -> Option<DTypes> {
    DTypes::of(store, store.checked_type(expr)?, all)
}

/// The wanted element types of variables, collected from the last binding to the first.
pub(super) struct Wanted(FxHashMap<VarId, DTypes>);

impl Wanted {
    /// Returns the element types that the users of a variable want; `None` if it has no users.
    pub(super) fn get(&self, var: VarId) -> Option<&DTypes> {
        self.0.get(&var)
    }

    pub(super) fn of(store: &Store, function: ExprId) -> Wanted {
        let mut wanted = Wanted(FxHashMap::default());
        let Expr::Function(id) = store.expr(function) else { return wanted };
        let Expr::Seq { blocks, body } = store.expr(store.function(id).body) else { return wanted };
        wanted.require_as_is(store, body);
        for block in store.items(blocks).rev().filter(|block| store.block(*block).dataflow) {
            for binding in store.block_bindings(block).rev() {
                wanted.binding(store, binding);
            }
        }
        wanted
    }

    fn binding(&mut self, store: &Store, binding: Binding) {
        let unused = |ty| DTypes::of(store, ty, Some(UNUSED));
        let tracked = |wanted: &mut Wanted| {
            let found = wanted.0.get(&binding.var).cloned();
            found.or_else(|| unused(store.var_type(binding.var)?))
        };
        match store.expr(binding.value) {
            _ if binding.cast.is_some() => self.require_as_is(store, binding.value),
            Expr::Call { args, .. } => match policy(store, binding.value) {
                Some(policy) => {
                    let all = if policy == MixedPrecision::Always { DType::F16 } else { DType::F32 };
                    for arg in store.items(args) {
                        if let Some(to) = dtypes(store, arg, Some(all)) {
                            self.require(store, arg, &to);
                        }
                    }
                }
                None => store.items(args).for_each(|arg| self.require_as_is(store, arg)),
            },
            Expr::Tuple(fields) => {
                let Some(lhs) = tracked(self) else { return };
                for (at, field) in store.items(fields).enumerate() {
                    self.require(store, field, &lhs.field(at));
                }
            }
            Expr::TupleGetItem { tuple, index } => {
                let Some(lhs) = tracked(self) else { return };
                let Some(Type::Tuple(types)) = store.checked_type(tuple).map(|ty| store.type_of_id(ty)) else { return };
                let fields =
                    types.iter().enumerate().map(|(at, ty)| if at == index as usize { Some(lhs.clone()) } else { unused(*ty) });
                if let Some(fields) = fields.collect::<Option<Vec<_>>>() {
                    self.require(store, tuple, &DTypes::Fields(fields));
                }
            }
            _ => self.require_as_is(store, binding.value),
        }
    }

    fn require(&mut self, store: &Store, arg: ExprId, to: &DTypes) {
        match store.expr(arg) {
            Expr::Var(var) => {
                let merged = self.0.get(&var).map_or_else(|| to.clone(), |known| known.merge(to));
                self.0.insert(var, merged);
            }
            Expr::Tuple(fields) => {
                for (at, field) in store.items(fields).enumerate() {
                    self.require(store, field, &to.field(at));
                }
            }
            _ => {}
        }
    }

    /// Keeps full precision for the variables in an expression.
    fn require_as_is(&mut self, store: &Store, expr: ExprId) {
        for id in crate::ir::walk::post_order(store, expr) {
            if matches!(store.expr(id), Expr::Var(_))
                && let Some(to) = dtypes(store, id, Some(DType::F32))
            {
                self.require(store, id, &to);
            }
        }
    }
}
