//! Values as pairs with the cells of their gradients, and their types.

use super::refused;
use crate::ir::{Expr, ExprId, Function, Id, List, Module, Name, Store, Type, TypeId, VarId};
use crate::ops::build;
use crate::pass::PassError;
use rustc_hash::FxHashMap;

/// Bindings, the outermost first.
pub(super) type Lets = Vec<(VarId, ExprId)>;

/// A translation under way.
pub(super) struct Reverse<'s> {
    pub store: &'s mut Store,
    pub module: Module,
    pub names: u32,
    /// The type of a cell with the way back.
    pub cell: TypeId,
    /// The variables that stand for pairs.
    pub vars: FxHashMap<VarId, VarId>,
    pub globals: FxHashMap<Id<Name>, Id<Name>>,
}

impl<'s> Reverse<'s> {
    pub fn new(store: &'s mut Store, module: &Module) -> Reverse<'s> {
        let unit = store.tuple_type(&[]);
        let back = store.ty(Type::Func { type_params: Box::new([]), params: Box::new([]), ret: unit });
        let cell = store.ty(Type::Ref(back));
        Reverse { store, module: module.clone(), names: 0, cell, vars: FxHashMap::default(), globals: FxHashMap::default() }
    }

    pub fn push(&mut self, lets: &mut Lets, value: ExprId) -> ExprId {
        let name = format!("x_{}", self.names);
        self.names += 1;
        let var = self.store.var(&name, None);
        lets.push((var, value));
        self.store.use_var(var)
    }

    pub fn bound(&mut self, lets: Lets, body: ExprId) -> ExprId {
        lets.into_iter().rev().fold(body, |body, (var, value)| self.store.add(Expr::Let { var, value, body }))
    }

    pub fn field(&mut self, tuple: ExprId, index: u32) -> ExprId {
        self.store.add(Expr::TupleGetItem { tuple, index })
    }

    /// Makes `fn () { body }`.
    pub fn thunk(&mut self, body: ExprId) -> ExprId {
        let ret = Some(self.store.tuple_type(&[]));
        let empty = Function { params: List::EMPTY, type_params: List::EMPTY, ret, body, attrs: None, device: None, pure: true };
        let function = self.store.add_function(empty);
        self.store.add(Expr::Function(function))
    }

    pub fn empty_cell(&mut self) -> ExprId {
        let unit = self.store.add_tuple(&[]);
        let nothing = self.thunk(unit);
        self.store.add(Expr::RefCreate(nothing))
    }

    pub fn zero_pair(&mut self, value: ExprId) -> ExprId {
        let zeros = build::call(self.store, "zeros_like", &[value]);
        let cell = self.store.add(Expr::RefCreate(zeros));
        self.store.add_tuple(&[value, cell])
    }

    /// Returns the type of the pairs for a type. Recursive: types nest at most as deep as the parser lets them.
    pub fn reversed(&mut self, ty: TypeId) -> TypeId {
        match self.store.type_of_id(ty).clone() {
            Type::Tensor { .. } => {
                let cell = self.store.ty(Type::Ref(ty));
                self.store.tuple_type(&[ty, cell])
            }
            Type::Tuple(fields) => {
                let fields: Vec<TypeId> = fields.iter().map(|field| self.reversed(*field)).collect();
                self.store.tuple_type(&fields)
            }
            Type::Func { type_params, params, ret } => {
                let mut params: Vec<TypeId> = params.iter().map(|param| self.reversed(*param)).collect();
                params.push(self.cell);
                let ret = self.reversed(ret);
                self.store.ty(Type::Func { type_params, params: params.into(), ret })
            }
            Type::Ref(value) => {
                let value = self.reversed(value);
                self.store.ty(Type::Ref(value))
            }
            Type::Apply { head, args } => {
                let args = args.iter().map(|arg| self.reversed(*arg)).collect();
                self.store.ty(Type::Apply { head, args })
            }
            _ => ty,
        }
    }

    pub fn type_of(&self, id: ExprId) -> Result<TypeId, PassError> {
        self.store.checked_type(id).ok_or_else(|| refused(self.store, id, "a type is not known: run InferType first"))
    }

    /// Applies something to each tensor of a value (TVM's `LiftTensor`).
    pub fn lifted(&mut self, ty: TypeId, value: ExprId, lets: &mut Lets, each: fn(&mut Self, ExprId) -> ExprId) -> ExprId {
        let made = match self.store.type_of_id(ty).clone() {
            Type::Tuple(fields) => {
                let mut new = Vec::with_capacity(fields.len());
                for (index, ty) in (0u32..).zip(&fields) {
                    let field = self.field(value, index);
                    let field = self.push(lets, field);
                    new.push(self.lifted(*ty, field, lets, each));
                }
                self.store.add_tuple(&new)
            }
            _ => each(self, value),
        };
        self.push(lets, made)
    }

    pub fn updated(&mut self, ty: TypeId, argument: ExprId, more: ExprId, lets: &mut Lets) {
        if let Type::Tuple(fields) = self.store.type_of_id(ty).clone() {
            for (index, ty) in (0u32..).zip(&fields) {
                let [argument, more] = [argument, more].map(|tuple| {
                    let field = self.field(tuple, index);
                    self.push(lets, field)
                });
                self.updated(*ty, argument, more, lets);
            }
            return;
        }
        let (cell, again) = (self.field(argument, 1), self.field(argument, 1));
        let before = self.store.add(Expr::RefRead(again));
        let sum = build::call(self.store, "add", &[before, more]);
        let write = self.store.add(Expr::RefWrite { reference: cell, value: sum });
        self.push(lets, write);
    }
}
