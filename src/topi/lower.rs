//! The lowering of an operator call to a call of a tensor program: its arguments as tensors and scalars, and the final
//! call.
//!
//! Source: `python/tvm/relax/utils.py` (`gen_call_tir_inputs`), `python/tvm/relax/block_builder.py` (`call_te`).

use super::create::create_prim_func;
use super::te::{Te, Tensor};
use crate::build::BlockBuilder;
use crate::infer::relax::prim_func_type;
use crate::ir::{
    AttrValue, AttrsId, DType, Dim, Expr, ExprId, Extents, Id, Object, PrimExpr, PrimId, PrimParam, Store, Symbol, TensorInfo,
    Type, TypeId, VarId,
};
use crate::ops;
use crate::tir::substitute;
use rustc_hash::FxHashMap;

/// The reason why a call is not lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The operator has no tensor program, or none for this call, which stays.
    Leave,
    /// TVM refuses it.
    Error(String),
}

/// The replacement of a call.
pub(crate) type Lowered = Result<ExprId, Refused>;

impl From<&str> for Refused {
    fn from(message: &str) -> Refused {
        Refused::Error(message.to_owned())
    }
}

/// An argument in tensor expressions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    Tensor(Tensor),
    Scalar(PrimId),
}

/// A call that is being lowered.
pub(crate) struct Lower<'a, 's> {
    pub te: Te<'s>,
    pub builder: &'a mut BlockBuilder,
    /// The operator, without `R.`.
    pub op: &'static str,
    /// The preferred name of the program.
    pub hint: &'static str,
    pub call: ExprId,
    pub args: Vec<ExprId>,
    pub attrs: Option<AttrsId>,
    /// Type of the call.
    pub ty: TypeId,
    /// Variables of the program that hold the scalars of symbols.
    pub scalars: &'a FxHashMap<Id<Symbol>, VarId>,
    /// The symbols of the caller with their counterparts in the program, in the order of first use.
    symbols: Vec<(Id<Symbol>, PrimId)>,
    params: Vec<PrimParam>,
    given: Vec<ExprId>,
    /// Scalar arguments, whose symbols may have to be parameters.
    extra: Vec<PrimId>,
    /// The device of the first tensor that has one.
    device: Option<Id<Object>>,
    /// The parts so far, if this is a part of a larger program.
    pub parts: Option<Parts>,
}

/// Parts of a program that computes several operators.
#[derive(Default)]
pub(crate) struct Parts {
    /// The tensors that variables stand for.
    pub known: FxHashMap<VarId, Tensor>,
    /// The tensors that the last operator computes.
    pub last: Vec<Tensor>,
}

impl<'a, 's> Lower<'a, 's> {
    pub fn new(
        store: &'s mut Store,
        builder: &'a mut BlockBuilder,
        scalars: &'a FxHashMap<Id<Symbol>, VarId>,
        (op, hint): (&'static str, &'static str),
        call: ExprId,
        ty: TypeId,
    ) -> Lower<'a, 's> {
        let args = ops::build::args(store, call);
        let attrs = store.call(call).and_then(|call| call.attrs);
        Lower {
            te: Te::new(store),
            builder,
            op,
            hint,
            call,
            args,
            attrs,
            ty,
            scalars,
            symbols: Vec::new(),
            params: Vec::new(),
            given: Vec::new(),
            extra: Vec::new(),
            device: None,
            parts: None,
        }
    }

    pub fn arg(&self, index: usize) -> Result<ExprId, Refused> {
        self.args.get(index).copied().ok_or(Refused::Leave)
    }

    /// Returns the known type of a tensor.
    pub fn info(&self, expr: ExprId) -> Option<TensorInfo> {
        self.te.store.tensor_info(self.te.store.checked_type(expr)?)
    }

    /// Returns the known type of the call.
    pub fn out_info(&self) -> Result<TensorInfo, Refused> {
        self.te.store.tensor_info(self.ty).ok_or(Refused::Leave)
    }

    /// Element type of the call.
    pub fn out_dtype(&self) -> Result<DType, Refused> {
        self.out_info()?.dtype.ok_or(Refused::Leave)
    }

    /// Extents of the call, in the symbols of the program.
    pub fn out_shape(&mut self) -> Result<Vec<PrimId>, Refused> {
        match self.out_info()?.extents {
            Extents::Known(dims) => Ok(self.dims(&dims)),
            _ => Err(Refused::Leave),
        }
    }

    /// Returns the tensor that an argument is.
    pub fn tensor(&mut self, index: usize) -> Result<Tensor, Refused> {
        let arg = self.arg(index)?;
        self.tensor_of(arg)
    }

    /// Makes a value a parameter of the program.
    pub fn tensor_of(&mut self, arg: ExprId) -> Result<Tensor, Refused> {
        if let (Some(parts), Expr::Var(var)) = (&self.parts, self.te.store.expr(arg))
            && let Some(tensor) = parts.known.get(&var)
        {
            return Ok(*tensor);
        }
        let name = match self.te.store.expr(arg) {
            Expr::Var(var) => self.te.store.var_name(var).to_owned(),
            _ => match u8::try_from(self.params.len()).ok().filter(|n| *n < 26) {
                Some(n) => char::from(b'A' + n).to_string(),
                None => format!("tensor_input_{}", self.params.len()),
            },
        };
        self.tensor_named(arg, &name)
    }

    /// Does the same as [`Lower::tensor_of`] with a name for the parameter.
    pub fn tensor_named(&mut self, arg: ExprId, name: &str) -> Result<Tensor, Refused> {
        let info = self.info(arg).ok_or(Refused::Leave)?;
        let Extents::Known(dims) = info.extents else { return Err(Refused::Leave) };
        let dtype = info.dtype.ok_or("Back optional access")?;
        self.device = self.device.or(info.vdevice);
        let shape = self.dims(&dims);
        let tensor = self.te.placeholder(name, &shape, dtype);
        self.params.push(PrimParam::Buffer(tensor));
        self.given.push(arg);
        Ok(tensor)
    }

    /// Returns an argument that may be a tensor or a scalar.
    pub fn operand(&mut self, index: usize) -> Result<Operand, Refused> {
        let arg = self.arg(index)?;
        match self.scalar_of(arg) {
            Some(scalar) => Ok(Operand::Scalar(scalar)),
            None => self.tensor_of(arg).map(Operand::Tensor),
        }
    }

    /// Returns the scalar that a value is, if it is no tensor.
    pub fn scalar_of(&mut self, arg: ExprId) -> Option<PrimId> {
        let store = &*self.te.store;
        match store.expr(arg) {
            Expr::Prim(prim) => Some(self.prim(prim)),
            Expr::Var(var) => {
                let Type::Prim(dtype) = *store.type_of_id(store.var_type(var)?) else { return None };
                let data = store.var_data(var);
                match (data.symbol, dtype == DType::I64) {
                    (Some(symbol), true) => {
                        let prim = self.te.store.prim(PrimExpr::Var(symbol));
                        Some(self.prim(prim))
                    }
                    _ => {
                        let name = data.name;
                        let symbol = self.te.store.add_symbol(Symbol { name, dtype, size: false });
                        self.params.push(PrimParam::Var(symbol));
                        self.given.push(arg);
                        Some(self.te.store.prim(PrimExpr::Var(symbol)))
                    }
                }
            }
            _ => None,
        }
    }

    /// True if a value is a scalar that is no tensor.
    pub fn is_scalar(&self, arg: ExprId) -> bool {
        let ty = self.te.store.checked_type(arg).map(|ty| self.te.store.type_of_id(ty));
        matches!(ty, Some(Type::Prim(_)))
    }

    /// Translates a scalar of the caller to the program.
    pub fn prim(&mut self, prim: PrimId) -> PrimId {
        let new = self.renamed(prim);
        self.extra.push(new);
        new
    }

    /// Returns the extents of an argument that is a shape literal, or a variable that is bound to one.
    pub fn shape_arg(&mut self, index: usize) -> Result<Vec<PrimId>, Refused> {
        let arg = self.arg(index)?;
        let value = self.builder.value_of(self.te.store, arg);
        let dims = match self.te.store.expr(value) {
            Expr::Shape(dims) => self.te.store.dims_of_id(dims).to_vec(),
            _ => match self.te.store.checked_type(arg).map(|ty| self.te.store.type_of_id(ty).clone()) {
                Some(Type::Shape(Extents::Known(dims))) => dims.to_vec(),
                _ => return Err(Refused::Leave),
            },
        };
        let shape = self.dims(&dims);
        self.extra.extend(&shape);
        Ok(shape)
    }

    /// Returns the values of a tuple, through the variables that name it.
    pub fn fields(&mut self, index: usize) -> Result<Vec<ExprId>, Refused> {
        let arg = self.arg(index)?;
        let value = self.builder.value_of(self.te.store, arg);
        if let Expr::Tuple(items) = self.te.store.expr(value) {
            return Ok(self.te.store.items(items).collect());
        }
        let ty = self.te.store.checked_type(arg).map(|ty| self.te.store.type_of_id(ty).clone());
        let Some(Type::Tuple(types)) = ty else { return Err(Refused::Leave) };
        self.bound_fields(arg, types.len())
    }

    /// Binds the fields of a tuple to variables.
    pub fn bound_fields(&mut self, arg: ExprId, count: usize) -> Result<Vec<ExprId>, Refused> {
        let mut fields = Vec::new();
        for index in 0..count as u32 {
            let field = self.te.store.add(Expr::TupleGetItem { tuple: arg, index });
            fields.push(self.builder.emit(self.te.store, field, ""));
        }
        Ok(fields)
    }

    /// Returns the tensors of a tuple.
    pub fn tensors(&mut self, index: usize) -> Result<Vec<Tensor>, Refused> {
        let fields = self.fields(index)?;
        fields.into_iter().map(|field| self.tensor_of(field)).collect()
    }

    /// Returns the number of a constant of rank 0, as a scalar of its type.
    pub fn constant(&mut self, arg: ExprId) -> Option<PrimId> {
        let constant = ops::build::constant(self.te.store, arg)?;
        if !constant.is_scalar() {
            return None;
        }
        let dtype = constant.dtype;
        let value = ops::build::elements(constant)?.first().copied()?;
        Some(match dtype.is_float() {
            true => self.te.store.prim_float(value, dtype),
            false => self.te.store.prim_int(value as i64, dtype),
        })
    }

    fn dims(&mut self, dims: &[Dim]) -> Vec<PrimId> {
        dims.iter()
            .map(|dim| {
                let prim = self.te.store.prim_of_dim(*dim);
                self.renamed(prim)
            })
            .collect()
    }

    /// Translates an expression to the symbols of the program.
    fn renamed(&mut self, prim: PrimId) -> PrimId {
        let symbols = &mut self.symbols;
        substitute(self.te.store, prim, &mut |store, symbol| {
            if let Some((_, new)) = symbols.iter().find(|(old, _)| *old == symbol) {
                return Some(*new);
            }
            let copy = store.symbol(symbol).clone();
            let new = store.add_symbol(copy);
            let new = store.prim(PrimExpr::Var(new));
            symbols.push((symbol, new));
            Some(new)
        })
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.te.store.attr_int(self.attrs, name)
    }

    pub fn flag(&self, name: &str) -> bool {
        self.int(name).is_some_and(|value| value != 0)
    }

    pub fn float(&self, name: &str) -> f64 {
        self.number(name).unwrap_or(0.0)
    }

    /// Returns a number that may be missing, or have a type.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.te.store.number_of(self.te.store.attr(self.attrs, name)?)
    }

    pub fn text(&self, name: &str) -> String {
        self.te.store.attr_str(self.attrs, name).unwrap_or("").to_owned()
    }

    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.te.store.attr_ints(self.attrs, name)
    }

    /// A list of numbers.
    pub fn numbers(&self, name: &str) -> Option<Vec<f64>> {
        self.te.store.attr_floats(self.attrs, name)
    }

    /// Returns an element type that may be missing.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        self.te.store.attr_dtype(self.attrs, name)
    }

    /// Returns axes, which may count from behind; all of them if the attribute names none.
    pub fn axes(&self, name: &str, rank: usize) -> Vec<usize> {
        match self.ints(name) {
            Some(axes) => axes.into_iter().map(|axis| from_front(axis, rank)).collect(),
            None => (0..rank).collect(),
        }
    }

    /// Makes the call of the program that computes these tensors.
    pub fn finish(&mut self, outs: &[Tensor]) -> Lowered {
        let hint = self.hint;
        self.finish_as(hint, outs)
    }

    /// Does the same as [`Lower::finish`] with another name for the program.
    pub fn finish_as(&mut self, hint: &str, outs: &[Tensor]) -> Lowered {
        if let Some(message) = self.te.impossible.take() {
            return Err(Refused::Error(message));
        }
        if let Some(parts) = &mut self.parts {
            parts.last = outs.to_vec();
            return Ok(self.call);
        }
        let mut params = std::mem::take(&mut self.params);
        let mut given = std::mem::take(&mut self.given);
        let unbound = self.unbound(&params, outs);
        params.extend(unbound.iter().map(|symbol| PrimParam::Var(*symbol)));
        params.extend(outs.iter().map(|out| PrimParam::Buffer(*out)));
        let program = create_prim_func(&mut self.te, &params);
        for symbol in unbound {
            let old = self.symbols.iter().find(|(_, new)| *self.te.store.prim_of_id(*new) == PrimExpr::Var(symbol));
            given.extend(old.map(|(old, _)| *old).map(|old| self.scalar(old)));
        }
        let program = self.te.store.add_prim_func(program);
        let ty = prim_func_type(self.te.store, program);
        let program = self.te.store.add_typed(Expr::PrimFunc(program), Some(ty));
        let program = self.builder.add_function(self.te.store, program, hint);
        let types: Vec<TypeId> = outs.iter().map(|out| self.type_of(*out)).collect();
        let ty = match types[..] {
            [one] => one,
            _ => self.te.store.tuple_type(&types),
        };
        let args = self.te.store.add_tuple(&given);
        Ok(call_with_types(self.te.store, "call_tir", &[program, args], &[ty]))
    }

    /// Returns the symbols that are used and are no extent of a parameter.
    fn unbound(&self, params: &[PrimParam], outs: &[Tensor]) -> Vec<Id<Symbol>> {
        let store = &*self.te.store;
        let mut bound = Vec::new();
        let mut used = Vec::new();
        let see = |prim: PrimId, used: &mut Vec<Id<Symbol>>| {
            store.for_each_prim(prim, &mut |_, expr| {
                if let PrimExpr::Var(symbol) = expr
                    && !used.contains(symbol)
                {
                    used.push(*symbol);
                }
            });
        };
        let buffers = params.iter().filter_map(|param| match param {
            PrimParam::Buffer(buffer) => Some((*buffer, true)),
            PrimParam::Var(_) => None,
        });
        for (buffer, _) in buffers.chain(outs.iter().map(|out| (*out, false))) {
            for extent in &store.buffer(buffer).shape {
                see(*extent, &mut used);
                if let PrimExpr::Var(symbol) = store.prim_of_id(*extent) {
                    bound.push(*symbol);
                }
            }
        }
        for param in params {
            if let PrimParam::Var(symbol) = param {
                bound.push(*symbol);
            }
        }
        self.extra.iter().for_each(|prim| see(*prim, &mut used));
        used.retain(|symbol| !bound.contains(symbol));
        used
    }

    /// Returns a symbol of the caller as a value.
    fn scalar(&mut self, symbol: Id<Symbol>) -> ExprId {
        if let Some(var) = self.scalars.get(&symbol) {
            return self.te.store.use_var(*var);
        }
        let prim = self.te.store.prim(PrimExpr::Var(symbol));
        let ty = self.te.store.ty(Type::Prim(self.te.store.prim_dtype(prim)));
        self.te.store.add_typed(Expr::Prim(prim), Some(ty))
    }

    /// Returns the type of a result, in the symbols of the caller.
    fn type_of(&mut self, tensor: Tensor) -> TypeId {
        let shape = self.te.shape(tensor);
        let dims: Vec<Dim> = shape.into_iter().map(|extent| self.outside(extent)).collect();
        let dtype = Some(self.te.dtype(tensor));
        self.te.store.tensor_like(TensorInfo { extents: Extents::Known(dims.into()), dtype, vdevice: self.device })
    }

    /// Translates an extent to the symbols of the caller.
    pub fn outside(&mut self, extent: PrimId) -> Dim {
        let symbols = &self.symbols;
        let prim = substitute(self.te.store, extent, &mut |store, symbol| {
            let own = symbols.iter().find(|(_, new)| *store.prim_of_id(*new) == PrimExpr::Var(symbol));
            own.map(|(old, _)| store.prim(PrimExpr::Var(*old)))
        });
        self.te.store.dim_of_prim(prim)
    }

    /// Begins the lowering of another call in the same place.
    pub fn fresh(&mut self, call: ExprId) -> Lower<'_, '_> {
        let ty = self.te.store.checked_type(call).unwrap_or(self.ty);
        Lower::new(self.te.store, self.builder, self.scalars, (self.op, self.hint), call, ty)
    }

    /// Lowers a call of another operator.
    pub fn again(&mut self, name: &str, args: &[ExprId], written: &[(&str, AttrValue)]) -> Lowered {
        let call = self.relax_call(name, args, written);
        let call = self.builder.normalize(self.te.store, call);
        match super::legalize(self.te.store, self.builder, call, self.scalars) {
            super::Legalized::New(new) => Ok(new),
            super::Legalized::Same => Ok(call),
            super::Legalized::Error(message) => Err(Refused::Error(message)),
        }
    }

    /// Makes a call of another operator of Relax.
    pub fn relax_call(&mut self, name: &str, args: &[ExprId], written: &[(&str, AttrValue)]) -> ExprId {
        let op = ops::lookup_relax(name);
        let schema = op.and_then(|op| ops::info(op).relax.as_ref()).and_then(|row| row.attrs);
        let set = schema.and_then(|schema| schema.complete(self.te.store, written).ok());
        let attrs = set.map(|set| self.te.store.attrs(set));
        match op {
            Some(op) => {
                let callee = self.te.store.add(Expr::Op(op));
                self.te.store.add_call(callee, args, attrs)
            }
            None => self.call,
        }
    }
}

/// `R.name(args, ty_args=types)`
pub(crate) fn call_with_types(store: &mut Store, name: &str, args: &[ExprId], types: &[TypeId]) -> ExprId {
    let Some(op) = ops::lookup_relax(name) else { return args[0] };
    let callee = store.add(Expr::Op(op));
    let args = store.list(args);
    let info = store.add_call_info(None, types);
    store.add(Expr::Call { callee, args, info })
}

/// Returns an axis, which may count from behind, counted from the front.
pub(crate) fn from_front(axis: i64, rank: usize) -> usize {
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    axis.max(0) as usize
}
