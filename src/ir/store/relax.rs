//! The data of Relax alone: typed variables, blocks of bindings, lists of extents, tensors with unknown properties.

use super::Store;
use crate::ir::AttrValue;
use crate::ir::expr::*;
use crate::ir::id::{Id, List};
use crate::ir::ty::{Dim, Extents, Symbol, TensorInfo, Type, TypeId};

impl Store {
    /// Makes a new variable of this type, which is its annotation and its inferred type at once. One that holds a
    /// scalar is a symbolic extent too.
    pub fn relax_var(&mut self, name: &str, ty: Option<TypeId>, dataflow: bool) -> VarId {
        let symbol = match ty.map(|ty| self.type_of_id(ty)) {
            Some(&Type::Prim(dtype)) => {
                let name = self.name(name);
                Some(self.add_symbol(Symbol { name, dtype, size: false }))
            }
            _ => None,
        };
        let var = self.var(name, ty);
        self.vars[var.index()].ty = ty;
        self.vars[var.index()].dataflow = dataflow;
        self.vars[var.index()].symbol = symbol;
        var
    }

    /// Says which symbolic extent a variable that was just made is.
    pub fn set_var_symbol(&mut self, var: VarId, symbol: Option<Id<Symbol>>) {
        self.vars[var.index()].symbol = symbol;
    }

    /// Says whether a variable that was just made is visible in its own block only.
    pub fn set_var_dataflow(&mut self, var: VarId, dataflow: bool) {
        self.vars[var.index()].dataflow = dataflow;
    }

    /// Makes a new variable that stands for `old` with this type; it keeps the identity of `old`, and the symbolic
    /// extent that it is.
    pub fn retyped_var(&mut self, old: VarId, ty: TypeId) -> VarId {
        let new = self.var_from(old, Some(ty), Some(ty));
        // A scalar of another type is another symbol.
        if let (Type::Prim(dtype), Some(symbol)) = (self.type_of_id(ty).clone(), self.var_data(new).symbol)
            && self.symbol(symbol).dtype != dtype
        {
            let symbol = Symbol { dtype, ..self.symbol(symbol).clone() };
            let symbol = self.add_symbol(symbol);
            self.set_var_symbol(new, Some(symbol));
        }
        new
    }

    /// Returns the type of a variable.
    pub fn var_type(&self, var: VarId) -> Option<TypeId> {
        let data = self.var_data(var);
        data.ty.or(data.annotation)
    }

    /// Says that the type of a call of an operator is the one that follows from its operands.
    pub fn set_deduced(&mut self, call: ExprId) {
        self.deduced.insert(call, ());
    }

    /// True if the type of an operator's call is known to be the one that follows from its operands, so that it stays
    /// for other operands of the same types.
    pub fn is_deduced(&self, call: ExprId) -> bool {
        self.deduced.contains(call)
    }

    /// Adds `body` behind blocks of bindings.
    pub fn add_seq(&mut self, blocks: &[Id<BindingBlock>], body: ExprId) -> ExprId {
        let ty = self.checked_type(body);
        let blocks = self.list(blocks);
        self.add_typed(Expr::Seq { blocks, body }, ty)
    }

    /// Adds a block of bindings, from the bindings themselves.
    pub fn add_block_of(&mut self, bindings: &[Binding], dataflow: bool) -> Id<BindingBlock> {
        let ids: Vec<Id<Binding>> = bindings.iter().map(|binding| self.add_binding(*binding)).collect();
        let bindings = self.list(&ids);
        self.add_block(BindingBlock { bindings, dataflow })
    }

    /// Returns all bindings of blocks, in order.
    pub fn bindings(&self, blocks: List<BindingBlock>) -> impl Iterator<Item = Binding> + '_ {
        self.items(blocks).flat_map(|block| self.block_bindings(block))
    }

    /// Returns the bindings of one block, in order.
    pub fn block_bindings(&self, block: Id<BindingBlock>) -> impl DoubleEndedIterator<Item = Binding> + ExactSizeIterator + '_ {
        self.items(self.block(block).bindings).map(|binding| *self.binding(binding))
    }

    /// Returns the id of a list of extents.
    pub fn dims(&mut self, dims: &[Dim]) -> Id<Dims> {
        self.dim_lists.intern(Dims(dims.into()))
    }

    /// Returns the extents behind an id.
    pub fn dims_of_id(&self, id: Id<Dims>) -> &[Dim] {
        &self.dim_lists.get(id).0
    }

    /// Returns the type of a tensor of which this is known: a [`Type::Tensor`] when that is everything.
    pub fn tensor_like(&mut self, info: TensorInfo) -> TypeId {
        match info {
            TensorInfo { extents: Extents::Known(shape), dtype: Some(dtype), vdevice: None } => {
                self.ty(Type::Tensor { shape, dtype })
            }
            info => self.ty(Type::PartialTensor(info)),
        }
    }

    /// Returns the known properties of a tensor, if the type is one.
    pub fn tensor_info(&self, ty: TypeId) -> Option<TensorInfo> {
        match self.type_of_id(ty) {
            Type::Tensor { shape, dtype } => {
                Some(TensorInfo { extents: Extents::Known(shape.clone()), dtype: Some(*dtype), vdevice: None })
            }
            Type::PartialTensor(info) => Some(info.clone()),
            _ => None,
        }
    }

    /// True for a constant of a text without its section: rules take it for whatever fits, as only the text lacks its type.
    pub fn is_left_out(&self, id: ExprId) -> bool {
        let without_value = matches!(self.expr(id), Expr::Constant(tensor) if self.tensor(tensor).data.is_none());
        let ty = self.checked_type(id).filter(|_| without_value);
        ty.and_then(|ty| self.tensor_info(ty)).is_some_and(|info| info == TensorInfo::UNKNOWN)
    }

    /// Returns a field of an object.
    pub fn object_field(&self, object: Id<Object>, name: &str) -> Option<&AttrValue> {
        self.object(object).fields.iter().find(|(field, _)| self.str(*field) == name).map(|(_, value)| value)
    }

    /// Returns a field of an object that is a string.
    pub fn object_str(&self, object: Id<Object>, name: &str) -> Option<&str> {
        match self.object_field(object, name)? {
            AttrValue::Str(text) => Some(self.str(*text)),
            _ => None,
        }
    }

    /// Returns the kind of target of a device: `llvm`, `cuda`.
    pub fn vdevice_kind(&self, device: Id<Object>) -> &str {
        let kind = match self.object_field(device, "target") {
            Some(AttrValue::Map(config)) => config.iter().find(|(name, _)| self.str(*name) == "kind").map(|(_, kind)| kind),
            other => other,
        };
        match kind {
            Some(AttrValue::Str(kind)) => self.str(*kind),
            _ => "",
        }
    }

    /// Returns the number of extents, if it is known.
    pub fn rank(&self, extents: &Extents) -> Option<usize> {
        match extents {
            Extents::Unknown => None,
            Extents::Rank(rank) => Some(*rank as usize),
            Extents::Known(dims) => Some(dims.len()),
            Extents::Var(var) => match self.type_of_id(self.var_type(*var)?) {
                Type::Shape(extents) if !matches!(extents, Extents::Var(_)) => self.rank(extents),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    #[test]
    fn a_tensor_of_which_all_is_known_is_the_tensor_type_of_both_dialects() {
        let store = &mut Store::new();
        let known = TensorInfo { extents: Extents::Known([Dim::int(2)].into()), dtype: Some(DType::F32), vdevice: None };
        let ty = store.tensor_like(known.clone());
        assert_eq!(ty, store.tensor_type(&[Dim::int(2)], DType::F32));
        assert_eq!(store.tensor_info(ty), Some(known));
        let vague = TensorInfo { extents: Extents::Rank(2), ..TensorInfo::UNKNOWN };
        let ty = store.tensor_like(vague.clone());
        assert_eq!(store.tensor_info(ty), Some(vague));
    }

    #[test]
    fn a_variable_that_holds_a_scalar_is_a_symbolic_extent() {
        let store = &mut Store::new();
        let int = store.ty(Type::Prim(DType::I64));
        let n = store.relax_var("n", Some(int), false);
        assert!(store.var_data(n).symbol.is_some());
        let renamed = store.retyped_var(n, int);
        assert_eq!(store.var_data(renamed).symbol, store.var_data(n).symbol);
    }
}
