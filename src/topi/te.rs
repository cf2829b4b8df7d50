//! Tensor expressions: tensors that are computed element by element from others (TVM's `te`).
//!
//! A tensor is the buffer that will hold it, so an element of it is an ordinary load, and the variable of an axis is
//! that of the block in the program. [`super::create`] builds the program.

use crate::ir::{AttrValue, Buffer, DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::{binary, cast, math};
use rustc_hash::FxHashMap;

/// A tensor: a placeholder or the result of a stage.
pub(crate) type Tensor = Id<Buffer>;

/// Combines two partial results of a reduction: the value so far and the next one of each output.
pub(crate) type Combine = fn(&mut Te, &[PrimId], &[PrimId]) -> Vec<PrimId>;

/// An axis that a stage runs over.
pub(crate) struct Axis {
    /// The variable in the expressions and in the block; called `v_` and the name.
    pub var: Id<Symbol>,
    /// The name of the loop.
    pub name: String,
    /// The number of values, from 0 on.
    pub extent: PrimId,
}

/// The computation of the elements.
pub(crate) enum Body {
    /// One expression for each output.
    Values(Vec<PrimId>),
    /// A reduction: identities and sources (one of each for every output), and the combiner.
    Reduce(Vec<PrimId>, Vec<PrimId>, Combine),
    /// A statement that computes everything, and the tensors that it reads (`te.extern`).
    Extern(crate::ir::StmtId, Vec<Tensor>),
    /// Such a statement with blocks of its own.
    Whole(crate::ir::StmtId, Vec<Tensor>),
}

/// One computation.
pub(crate) struct Stage {
    pub name: String,
    pub outputs: Vec<Tensor>,
    pub axes: Vec<Axis>,
    pub reduced: Vec<Axis>,
    pub body: Body,
    /// Hints that the block carries.
    pub attrs: Vec<(&'static str, AttrValue)>,
}

/// Tensor expressions under construction.
pub(crate) struct Te<'s> {
    pub store: &'s mut Store,
    pub stages: Vec<Stage>,
    /// The stage that computes a tensor; placeholders have none.
    pub made_by: FxHashMap<Tensor, usize>,
    /// True if new tensors may begin anywhere in their memory.
    pub offsets: bool,
    /// The alignment of new tensors, in bytes.
    pub align: u32,
    /// The message about a number that its type does not have, which TVM refuses to make.
    pub impossible: Option<String>,
}

/// The closure that computes an element; it gets the variables of the axes.
pub(crate) type Element<'f> = &'f mut dyn FnMut(&mut Te, &[PrimId]) -> PrimId;

impl<'s> Te<'s> {
    pub fn new(store: &'s mut Store) -> Te<'s> {
        Te { store, stages: Vec::new(), made_by: FxHashMap::default(), offsets: false, align: 64, impossible: None }
    }

    /// Makes a tensor without a stage.
    pub fn placeholder(&mut self, name: &str, shape: &[PrimId], dtype: DType) -> Tensor {
        let (name, scope) = (self.store.name(name), self.store.name("global"));
        let offset = self.offsets.then(|| {
            let name = self.store.name("elem_offset");
            let symbol = self.store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
            self.store.prim(PrimExpr::Var(symbol))
        });
        let packed = Buffer::new(name, dtype, shape.into(), scope);
        self.store.add_buffer(Buffer { elem_offset: offset, align: self.align, ..packed })
    }

    /// Makes a buffer that a statement allocates.
    pub fn local(&mut self, name: &str, shape: &[PrimId], dtype: DType) -> Tensor {
        let (name, scope) = (self.store.name(name), self.store.name("local"));
        self.store.add_buffer(Buffer::new(name, dtype, shape.into(), scope))
    }

    pub fn shape(&self, tensor: Tensor) -> Vec<PrimId> {
        self.store.buffer(tensor).shape.to_vec()
    }

    pub fn rank(&self, tensor: Tensor) -> usize {
        self.store.buffer(tensor).shape.len()
    }

    pub fn dtype(&self, tensor: Tensor) -> DType {
        self.store.buffer(tensor).dtype
    }

    pub fn tensor_name(&self, tensor: Tensor) -> String {
        self.store.str(self.store.buffer(tensor).name).to_owned()
    }

    /// Returns the name of the stage of a tensor; several outputs of a stage share it.
    pub fn op_name(&self, tensor: Tensor) -> String {
        match self.made_by.get(&tensor) {
            Some(stage) => self.stages[*stage].name.clone(),
            None => self.tensor_name(tensor),
        }
    }

    /// Makes `tensor[at]`.
    pub fn load(&mut self, tensor: Tensor, at: &[PrimId]) -> PrimId {
        self.store.prim(PrimExpr::Load { buffer: tensor, indices: at.into() })
    }

    /// Makes axes named after a pattern: `ax` is `ax0`, `ax1`, ..., as is `i`; `n c h w` are these names, as is `=i`,
    /// and any further axes have the names of `i` (like a variadic parameter of TVM's Python).
    pub fn axes(&mut self, pattern: &str, shape: &[PrimId]) -> Vec<Axis> {
        let names: Vec<&str> = pattern.trim_start_matches('=').split(' ').collect();
        let named = if pattern == "ax" || pattern == "i" { 0 } else { names.len() };
        let mut axes = Vec::with_capacity(shape.len());
        for (index, extent) in shape.iter().enumerate() {
            let name = match names.get(index) {
                Some(name) if index < named => (*name).to_owned(),
                _ if named == 0 => format!("{pattern}{index}"),
                _ => format!("i{}", index - named),
            };
            axes.push(self.axis(&name, *extent));
        }
        axes
    }

    /// Makes an axis of this name.
    pub fn axis(&mut self, name: &str, extent: PrimId) -> Axis {
        let dtype = match self.store.prim_dtype(extent) {
            dtype if dtype.code == DTypeCode::Int => dtype,
            _ => DType::I64,
        };
        let symbol = self.store.name(&format!("v_{name}"));
        let var = self.store.add_symbol(Symbol { name: symbol, dtype, size: false });
        Axis { var, name: name.to_owned(), extent }
    }

    pub fn vars(&mut self, axes: &[Axis]) -> Vec<PrimId> {
        axes.iter().map(|axis| self.store.prim(PrimExpr::Var(axis.var))).collect()
    }

    /// `te.compute`: makes a tensor whose element at each index is the result of the closure.
    pub fn compute(&mut self, name: &str, axes: &str, shape: &[PrimId], element: Element) -> Tensor {
        self.compute_with(name, axes, shape, Vec::new(), element)
    }

    /// [`Te::compute`] with hints for the block.
    pub fn compute_with(
        &mut self,
        name: &str,
        axes: &str,
        shape: &[PrimId],
        attrs: Vec<(&'static str, AttrValue)>,
        element: Element,
    ) -> Tensor {
        let axes = self.axes(axes, shape);
        let at = self.vars(&axes);
        let value = element(self, &at);
        self.add(name, shape, axes, Vec::new(), Body::Values(vec![value]), attrs)[0]
    }

    /// Makes a tensor that is reduced over axes: the closure gets the variables of the axes and of the reduced ones.
    pub fn reduce(
        &mut self,
        name: &str,
        axes: &str,
        shape: &[PrimId],
        over: &[(&str, PrimId)],
        how: Reducer,
        element: &mut dyn FnMut(&mut Te, &[PrimId], &[PrimId]) -> PrimId,
    ) -> Tensor {
        let axes = self.axes(axes, shape);
        let reduced: Vec<Axis> = over.iter().map(|(name, extent)| self.axis(name, *extent)).collect();
        let (at, k) = (self.vars(&axes), self.vars(&reduced));
        let source = element(self, &at, &k);
        let dtype = self.store.prim_dtype(source);
        let (identity, combine) = how.parts(self, dtype);
        let body = Body::Reduce(vec![identity], vec![source], combine);
        self.add(name, shape, axes, reduced, body, Vec::new())[0]
    }

    /// Adds a stage and returns its outputs, which all have this shape.
    pub fn add(
        &mut self,
        name: &str,
        shape: &[PrimId],
        axes: Vec<Axis>,
        reduced: Vec<Axis>,
        body: Body,
        attrs: Vec<(&'static str, AttrValue)>,
    ) -> Vec<Tensor> {
        let types: Vec<DType> = match &body {
            Body::Values(values) => values.iter().map(|value| self.store.prim_dtype(*value)).collect(),
            Body::Reduce(_, sources, _) => sources.iter().map(|value| self.store.prim_dtype(*value)).collect(),
            Body::Extern(..) | Body::Whole(..) => Vec::new(),
        };
        let several = types.len() > 1;
        let outputs: Vec<Tensor> = (types.into_iter().enumerate())
            .map(|(index, dtype)| {
                let name = if several { format!("{name}_v{index}") } else { name.to_owned() };
                self.placeholder(&name, shape, dtype)
            })
            .collect();
        self.add_stage(Stage { name: name.to_owned(), outputs: outputs.clone(), axes, reduced, body, attrs });
        outputs
    }

    /// Adds a stage whose outputs exist already.
    pub fn add_stage(&mut self, stage: Stage) {
        for output in &stage.outputs {
            self.made_by.insert(*output, self.stages.len());
        }
        self.stages.push(stage);
    }

    /// Makes an index.
    pub fn int(&mut self, value: i64) -> PrimId {
        self.store.prim_int(value, DType::I64)
    }

    /// Makes a number of any type.
    pub fn number(&mut self, value: f64, dtype: DType) -> PrimId {
        if dtype.code == DTypeCode::UInt && value < 0.0 {
            self.impossible.get_or_insert_with(|| format!("cannot make uint from negative value {value}"));
        }
        match dtype.is_float() {
            true => self.store.prim_float(value, dtype),
            false => self.store.prim_int(value as i64, dtype),
        }
    }

    /// Returns the number that an expression is.
    pub fn known(&self, prim: PrimId) -> Option<i64> {
        self.store.as_prim_int(prim)
    }

    pub fn type_of(&self, prim: PrimId) -> DType {
        self.store.prim_dtype(prim)
    }

    pub fn bin(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        binary(self.store, op, a, b)
    }

    pub fn plus(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::Add, a, b)
    }

    pub fn minus(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::Sub, a, b)
    }

    pub fn times(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::Mul, a, b)
    }

    /// `a / b` of floats; of integers rounded towards zero.
    pub fn over(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::Div, a, b)
    }

    pub fn floordiv(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::FloorDiv, a, b)
    }

    pub fn floormod(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::FloorMod, a, b)
    }

    pub fn both(&mut self, a: PrimId, b: PrimId) -> PrimId {
        self.bin(PrimOp::And, a, b)
    }

    /// `a + n`
    pub fn plus_int(&mut self, a: PrimId, n: i64) -> PrimId {
        let n = self.store.prim_int(n, self.type_of(a));
        self.plus(a, n)
    }

    /// `a - n`
    pub fn minus_int(&mut self, a: PrimId, n: i64) -> PrimId {
        let n = self.store.prim_int(n, self.type_of(a));
        self.minus(a, n)
    }

    pub fn cast(&mut self, dtype: DType, value: PrimId) -> PrimId {
        cast(self.store, dtype, value)
    }

    /// Makes a call of an intrinsic whose result has the type of its first argument.
    pub fn call(&mut self, op: &str, args: &[PrimId]) -> PrimId {
        if let (Some(name), [arg]) = (math::ROUNDINGS.iter().find(|name| **name == op), args) {
            return math::rounded(self.store, name, *arg);
        }
        let dtype = args.first().map_or(DType::F32, |arg| self.type_of(*arg));
        self.store.prim_call(op, args, dtype)
    }

    pub fn select(&mut self, cond: PrimId, then: PrimId, other: PrimId) -> PrimId {
        let (then, other) = crate::tir::match_types(self.store, then, other);
        self.store.prim(PrimExpr::Select { cond, then, other })
    }

    /// Makes `T.if_then_else(cond, then, other)`; a known condition is folded.
    pub fn if_then_else(&mut self, cond: PrimId, then: PrimId, other: PrimId) -> PrimId {
        math::if_then_else(self.store, cond, then, other)
    }

    /// Returns the absolute value of a number.
    pub fn abs(&mut self, x: PrimId) -> PrimId {
        math::absolute(self.store, x)
    }

    pub fn not(&mut self, x: PrimId) -> PrimId {
        math::not(self.store, x)
    }

    pub fn simplify(&mut self, prim: PrimId) -> PrimId {
        Analyzer::new().simplify(self.store, prim)
    }

    /// Returns the product of extents; 1 for none.
    pub fn product(&mut self, shape: &[PrimId]) -> PrimId {
        let one = self.int(1);
        shape.iter().fold(one, |size, extent| self.times(size, *extent))
    }

    /// Returns the greatest or least value of a type; for floats the finite one.
    pub fn limit(&mut self, dtype: DType, greatest: bool) -> PrimId {
        math::limit(self.store, dtype, greatest)
    }
}

/// The usual reductions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reducer {
    Sum,
    Prod,
    Max,
    Min,
    /// The conjunction of truth values.
    All,
    /// The disjunction of truth values.
    Any,
}

impl Reducer {
    pub fn parts(self, te: &mut Te, dtype: DType) -> (PrimId, Combine) {
        match self {
            Reducer::Sum => (te.number(0.0, dtype), |te, a, b| vec![te.plus(a[0], b[0])]),
            Reducer::Prod => (te.number(1.0, dtype), |te, a, b| vec![te.times(a[0], b[0])]),
            Reducer::Max => (te.limit(dtype, false), |te, a, b| vec![te.bin(PrimOp::Max, a[0], b[0])]),
            Reducer::Min => (te.limit(dtype, true), |te, a, b| vec![te.bin(PrimOp::Min, a[0], b[0])]),
            Reducer::All => (te.number(1.0, dtype), |te, a, b| vec![te.both(a[0], b[0])]),
            Reducer::Any => (te.number(0.0, dtype), |te, a, b| vec![te.bin(PrimOp::Or, a[0], b[0])]),
        }
    }
}
