//! Equality of types, extents, tensors and attributes.

use super::path::Step;
use super::{Comparer, Mismatch, Outcome, expect, mismatch};
use crate::ir::attrs::{AttrValue, AttrsId};
use crate::ir::id::Id;
use crate::ir::tensor::Tensor;
use crate::ir::ty::{DType, DTypeCode, Dim, Extents, Symbol, TensorInfo, Type, TypeId};
use crate::ir::{Expr, Name, Object, PrimExpr, TypeVar};
use std::rc::Rc;

/// TVM's tolerance when it compares attributes that are doubles (`BaseValueEqual`).
const DOUBLE_TOLERANCE: f64 = 1e-9;
/// Half a unit of the sixth digit, rounded up, relative to the number.
const TEXT_TOLERANCE: f64 = 1e-5;

impl<'a> Comparer<'a> {
    pub(super) fn optional_types(&mut self, lhs: Option<TypeId>, rhs: Option<TypeId>, map_free: bool, what: &str) -> Outcome {
        match (lhs, rhs) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) => {
                self.types(a, b, map_free).map_err(|_| Mismatch { message: format!("{what} differs"), types: Some((a, b)) })
            }
            _ => mismatch(format!("{what} is given on one side only")),
        }
    }

    /// Compares types. `map_free`: type parameters and symbolic extents that have no partner yet get one.
    ///
    /// Recursive: types nest only as deep as the parser's limit on brackets.
    pub(super) fn types(&mut self, lhs: TypeId, rhs: TypeId, map_free: bool) -> Outcome {
        if (lhs == rhs && self.is_closed(lhs)) || self.known_types.contains(&(lhs, rhs)) {
            return Ok(());
        }
        let store = self.store;
        let outcome = match (store.type_of_id(lhs), store.type_of_id(rhs)) {
            (Type::Tensor { shape: a, dtype: d }, Type::Tensor { shape: b, dtype: e }) => {
                if d != e || a.len() != b.len() {
                    mismatch("types differ")
                } else {
                    a.iter().zip(b.iter()).try_for_each(|(&x, &y)| self.dims(x, y, map_free))
                }
            }
            (Type::Tuple(a), Type::Tuple(b)) => self.type_lists(a, b, map_free),
            (Type::Func { type_params: p, params: a, ret: x }, Type::Func { type_params: q, params: b, ret: y }) => {
                if p.len() != q.len() {
                    mismatch("types differ")
                } else {
                    p.iter()
                        .zip(q)
                        .try_for_each(|(&p, &q)| self.type_var(p, q, true))
                        .and_then(|()| self.type_lists(a, b, map_free))
                        .and_then(|()| self.types(*x, *y, map_free))
                }
            }
            (Type::Ref(a), Type::Ref(b)) => self.types(*a, *b, map_free),
            (Type::Var(a), Type::Var(b)) => self.type_var(*a, *b, map_free),
            (Type::Global(a), Type::Global(b)) => expect(a == b, "types differ"),
            (Type::Apply { head: f, args: a }, Type::Apply { head: g, args: b }) => {
                self.types(*f, *g, map_free).and_then(|()| self.type_lists(a, b, map_free))
            }
            (Type::Hole(a), Type::Hole(b)) => self.hole(*a, *b, map_free),
            (Type::Shape(a), Type::Shape(b)) => self.extents(a, b, map_free),
            (Type::PartialTensor(a), Type::PartialTensor(b)) => {
                expect(a.dtype == b.dtype, "types differ")?;
                match (a.vdevice, b.vdevice) {
                    (None, None) => {}
                    (Some(a), Some(b)) => self.objects(a, b)?,
                    _ => return mismatch("types differ"),
                }
                self.extents(&a.extents, &b.extents, map_free)
            }
            (Type::Callable { params: a, ret: x, pure: p }, Type::Callable { params: b, ret: y, pure: q }) => {
                expect(p == q, "types differ")?;
                match (a, b) {
                    (None, None) => {}
                    (Some(a), Some(b)) => self.type_lists(a, b, true)?,
                    _ => return mismatch("types differ"),
                }
                self.types(*x, *y, map_free)
            }
            (Type::Distributed { tensor: a, mesh: m, placement: p }, Type::Distributed { tensor: b, mesh: n, placement: q }) => {
                expect(p == q, "types differ")?;
                self.objects(*m, *n)?;
                self.types(*a, *b, map_free)
            }
            (a, b) if a == b => Ok(()),
            _ => mismatch("types differ"),
        };
        outcome.map_err(|m| Mismatch { types: m.types.or(Some((lhs, rhs))), ..m })?;
        self.known_types.insert((lhs, rhs));
        Ok(())
    }

    fn extents(&mut self, lhs: &Extents, rhs: &Extents, map_free: bool) -> Outcome {
        match (lhs, rhs) {
            (Extents::Known(a), Extents::Known(b)) => {
                expect(a.len() == b.len(), "types differ")?;
                a.iter().zip(b.iter()).try_for_each(|(&x, &y)| self.dims(x, y, map_free))
            }
            (Extents::Var(a), Extents::Var(b)) => self.var(*a, *b, map_free),
            (a, b) => expect(a == b, "types differ"),
        }
    }

    fn type_lists(&mut self, a: &[TypeId], b: &[TypeId], map_free: bool) -> Outcome {
        expect(a.len() == b.len(), "types differ")?;
        a.iter().zip(b).try_for_each(|(&x, &y)| self.types(x, y, map_free))
    }

    pub(super) fn type_var(&mut self, lhs: Id<TypeVar>, rhs: Id<TypeVar>, map_free: bool) -> Outcome {
        match self.type_vars.check(lhs, rhs) {
            Some(equal) => expect(equal, "another type parameter"),
            None if map_free || lhs == rhs => {
                self.type_vars.insert(lhs, rhs);
                Ok(())
            }
            None => mismatch("different free type parameters"),
        }
    }

    fn hole(&mut self, lhs: u32, rhs: u32, map_free: bool) -> Outcome {
        match (self.holes.0.get(&lhs), self.holes.1.get(&rhs)) {
            (Some(&partner), _) => expect(partner == rhs, "types differ"),
            (None, Some(_)) => mismatch("types differ"),
            (None, None) if map_free || lhs == rhs => {
                self.holes.0.insert(lhs, rhs);
                self.holes.1.insert(rhs, lhs);
                Ok(())
            }
            (None, None) => mismatch("types that are not known"),
        }
    }

    fn is_closed(&mut self, ty: TypeId) -> bool {
        if let Some(&known) = self.closed.get(ty) {
            return known;
        }
        let store = self.store;
        let closed = match store.type_of_id(ty) {
            Type::Tensor { shape, .. } => shape.iter().all(|d| matches!(d, Dim::Int { .. } | Dim::Any)),
            Type::Tuple(fields) => fields.iter().all(|&t| self.is_closed(t)),
            Type::Func { .. } | Type::Var(_) | Type::Hole(_) => false,
            Type::Any | Type::Prim(_) | Type::PackedFunc | Type::Str => true,
            Type::Shape(extents) | Type::PartialTensor(TensorInfo { extents, vdevice: None, .. }) => match extents {
                Extents::Known(dims) => dims.iter().all(|d| matches!(d, Dim::Int { .. } | Dim::Any)),
                Extents::Var(_) => false,
                Extents::Unknown | Extents::Rank(_) => true,
            },
            Type::PartialTensor(_) | Type::Callable { .. } | Type::Distributed { .. } => false,
            Type::Ref(inner) => self.is_closed(*inner),
            Type::Global(_) => true,
            Type::Apply { head, args } => self.is_closed(*head) && args.iter().all(|&t| self.is_closed(t)),
        };
        self.closed.insert(ty, closed);
        closed
    }

    pub(super) fn dims(&mut self, lhs: Dim, rhs: Dim, map_free: bool) -> Outcome {
        match (lhs, rhs) {
            (Dim::Symbol(a), Dim::Symbol(b)) => self.symbol(a, b, map_free),
            (Dim::Expr(a), Dim::Expr(b)) => self.prims(a, b, map_free),
            (a, b) => expect(a == b, "extents differ"),
        }
    }

    pub(super) fn symbol(&mut self, a: Id<Symbol>, b: Id<Symbol>, map_free: bool) -> Outcome {
        if let Some(equal) = self.symbols.check(a, b) {
            return expect(equal, "another symbolic extent");
        }
        let store = self.store;
        let same_kind = store.symbol(a).dtype == store.symbol(b).dtype && store.symbol(a).size == store.symbol(b).size;
        expect(((map_free || self.options.map_free_vars) && same_kind) || a == b, "different symbolic extents")?;
        self.symbols.insert(a, b);
        Ok(())
    }

    /// True for variables of scalars whose symbols stand for each other.
    pub(super) fn are_one_scalar(&self, lhs: Expr, rhs: Expr) -> bool {
        match (self.scalar_variable(lhs), self.scalar_variable(rhs)) {
            (Some(a), Some(b)) => self.symbols.check(a, b) == Some(true),
            _ => false,
        }
    }

    /// Returns the symbol of a variable that holds a scalar: a node of Relax or a scalar expression, which are one thing in TVM.
    pub(super) fn scalar_variable(&self, node: Expr) -> Option<Id<Symbol>> {
        match node {
            Expr::Var(var) => self.store.var_data(var).symbol,
            Expr::Prim(prim) => match self.store.prim_of_id(prim) {
                PrimExpr::Var(symbol) => Some(*symbol),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn tensors(&mut self, lhs: Id<Tensor>, rhs: Id<Tensor>) -> Outcome {
        if lhs == rhs {
            return Ok(());
        }
        let (a, b) = (self.store.tensor(lhs), self.store.tensor(rhs));
        if a.dtype != b.dtype {
            return mismatch(format!("constants of type {} and {}", a.dtype, b.dtype));
        }
        expect(a.shape == b.shape, "constants of another shape")?;
        match (&a.data, &b.data) {
            (Some(x), Some(y)) => {
                if Rc::ptr_eq(x, y) || x == y {
                    return Ok(());
                }
                let close = self.options.scalar_tolerance
                    && a.is_scalar()
                    && matches!((float(a.dtype, x), float(b.dtype, y)), (Some(x), Some(y)) if text_equal(x, y));
                expect(close, "constants with other values")
            }
            (None, None) => expect(self.options.unknown_constants, "constants of which no value is known"),
            _ => mismatch("only one of the constants has a value"),
        }
    }

    /// Compares the attributes of a call, field by field.
    pub(super) fn attrs(&mut self, lhs: AttrsId, rhs: AttrsId, place: u32) -> Outcome {
        let store = self.store;
        let (a, b) = (store.attrs_of_id(lhs), store.attrs_of_id(rhs));
        if a.key != b.key {
            return mismatch(format!("attributes of type {} and {}", store.str(a.key), store.str(b.key)));
        }
        expect(a.fields.len() == b.fields.len(), "another number of attributes")?;
        for (i, (name, value)) in a.fields.iter().enumerate() {
            let other = match &b.fields[i] {
                (same, other) if same == name => Some(other),
                _ => b.get(*name),
            };
            let Some(other) = other else {
                return mismatch(format!("only one has the attribute `{}`", store.str(*name)));
            };
            self.values(value, other, *name, place)?;
        }
        Ok(())
    }

    /// Compares the attributes of a function: a map. None at all is the same as an empty one.
    pub(super) fn dict_attrs(&mut self, lhs: Option<AttrsId>, rhs: Option<AttrsId>, place: u32) -> Outcome {
        let store = self.store;
        let empty: &[(Id<Name>, AttrValue)] = &[];
        let [a, b] = [lhs, rhs].map(|id| id.map_or(empty, |id| &store.attrs_of_id(id).fields));
        for (name, value) in a {
            match b.iter().find(|(n, _)| n == name) {
                Some((_, other)) => self.values(value, other, *name, place)?,
                None => return mismatch(format!("only the first has the attribute `{}`", store.str(*name))),
            }
        }
        match b.iter().find(|(n, _)| !a.iter().any(|(m, _)| m == n)) {
            Some((name, _)) => mismatch(format!("only the second has the attribute `{}`", store.str(*name))),
            None => Ok(()),
        }
    }

    pub(super) fn objects(&mut self, lhs: Id<Object>, rhs: Id<Object>) -> Outcome {
        let mut stack = Vec::new();
        let equal = self.object_parts(lhs, rhs, &mut stack) && self.value_pairs(stack, None);
        expect(equal, "objects of the metadata section differ")
    }

    fn values(&mut self, lhs: &'a AttrValue, rhs: &'a AttrValue, name: Id<Name>, place: u32) -> Outcome {
        if self.value_pairs(vec![(lhs, rhs)], Some((name, place))) {
            return Ok(());
        }
        mismatch(format!("attribute `{}` differs", self.store.str(name)))
    }

    /// True if two objects are alike; pushes their contents on the stack.
    fn object_parts(&mut self, lhs: Id<Object>, rhs: Id<Object>, stack: &mut Vec<(&'a AttrValue, &'a AttrValue)>) -> bool {
        if lhs == rhs || !self.objects.insert((lhs, rhs)) {
            return true;
        }
        let (a, b) = (self.store.object(lhs), self.store.object(rhs));
        self.index_maps(a, b);
        stack.extend(a.items.iter().zip(b.items.iter()));
        stack.extend(a.fields.iter().zip(b.fields.iter()).map(|((_, x), (_, y))| (x, y)));
        a.key == b.key
            && a.repr == b.repr
            && a.items.len() == b.items.len()
            && a.fields.iter().map(|(n, _)| n).eq(b.fields.iter().map(|(n, _)| n))
    }

    /// Pairs the variables of `T.index_map(lambda i, j: (j, i))`, which are its own, by their places.
    fn index_maps(&mut self, a: &'a Object, b: &'a Object) {
        let initial = |object: &'a Object| match object.fields.first() {
            Some((_, AttrValue::Array(items))) => items.as_ref(),
            _ => &[],
        };
        if self.store.str(a.key) != "IndexMap" || b.key != a.key {
            return;
        }
        for pair in initial(a).iter().zip(initial(b)) {
            if let (AttrValue::Dim(Dim::Symbol(x)), AttrValue::Dim(Dim::Symbol(y))) = pair {
                // Variables of other types are found different where they are used.
                let _ = self.symbol(*x, *y, true);
            }
        }
    }

    /// Compares pairs of values with a stack of their own. Expressions among them become tasks.
    fn value_pairs(&mut self, mut stack: Vec<(&'a AttrValue, &'a AttrValue)>, at: Option<(Id<Name>, u32)>) -> bool {
        while let Some((lhs, rhs)) = stack.pop() {
            let same = match (lhs, rhs) {
                (AttrValue::Float(a), AttrValue::Float(b)) => {
                    let (a, b) = (a.0, b.0);
                    a == b
                        || (a.is_nan() && b.is_nan())
                        || (a - b).abs() < DOUBLE_TOLERANCE
                        || (self.options.scalar_tolerance && text_equal(a, b))
                }
                (AttrValue::Array(a), AttrValue::Array(b)) => {
                    stack.extend(a.iter().zip(b.iter()).rev());
                    a.len() == b.len()
                }
                (AttrValue::Map(a), AttrValue::Map(b)) => {
                    a.len() == b.len()
                        && a.iter().all(|(name, value)| match b.iter().find(|(n, _)| n == name) {
                            Some((_, other)) => {
                                stack.push((value, other));
                                true
                            }
                            None => false,
                        })
                }
                (AttrValue::Dim(a), AttrValue::Dim(b)) => self.dims(*a, *b, self.options.map_free_vars).is_ok(),
                (AttrValue::Type(a), AttrValue::Type(b)) => self.types(*a, *b, self.options.map_free_vars).is_ok(),
                (AttrValue::Expr(a), AttrValue::Expr(b)) => match at {
                    Some((name, place)) => {
                        self.push(*a, *b, Step::Attr(name), place);
                        true
                    }
                    None => a == b,
                },
                (AttrValue::Object(a), AttrValue::Object(b)) => self.object_parts(*a, *b, &mut stack),
                (a, b) => a == b,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

/// True if two numbers print alike with six digits, or nearly so.
fn text_equal(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= TEXT_TOLERANCE * a.abs().max(b.abs())
}

/// Returns the value of a float scalar.
fn float(dtype: DType, bytes: &[u8]) -> Option<f64> {
    match (dtype.code, dtype.bits) {
        (DTypeCode::Float, 16) => Some(half::f16::from_le_bytes(bytes.try_into().ok()?).to_f64()),
        (DTypeCode::Float, 32) => Some(f64::from(f32::from_le_bytes(bytes.try_into().ok()?))),
        (DTypeCode::Float, 64) => Some(f64::from_le_bytes(bytes.try_into().ok()?)),
        (DTypeCode::BFloat, 16) => Some(half::bf16::from_le_bytes(bytes.try_into().ok()?).to_f64()),
        _ => None,
    }
}
