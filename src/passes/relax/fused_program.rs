//! Builds one tensor program from a function that calls tensor programs (TVM's `FusedTIRConstructor`,
//! `src/relax/transform/fuse_tir.cc`).

use super::fuse_tir_inner::{BlockNames, once_each};
use super::support::{symbol_of, symbols_in};
use crate::ir::walk::leaf_types;
use crate::ir::{AttrValue, Block, Buffer, DType, Dim, Expr, ExprId, Extents, Function, Id, Module, Name, PrimExpr, PrimFunc};
use crate::ir::{PrimId, PrimParam, Stmt, StmtId, Store, Symbol, Type, TypeId, VarId};
use crate::ops;
use crate::tir::Copier;
use rustc_hash::{FxHashMap, FxHashSet};

/// A program under construction.
pub(super) struct FusedProgram<'m> {
    module: &'m Module,
    /// The buffers that variables of the function stand for.
    buffers: FxHashMap<VarId, Vec<Id<Buffer>>>,
    /// Symbols of the function, and their counterparts in the program.
    symbols: Copier,
    allocs: Vec<Id<Buffer>>,
    bodies: Vec<StmtId>,
    blocks: BlockNames,
}

impl<'m> FusedProgram<'m> {
    /// Makes the program of a function, and returns the indices of inputs that its results are written to. The error
    /// names the expression that cannot be part of a program.
    pub fn make(store: &mut Store, module: &'m Module, function: &Function) -> Result<(PrimFunc, Vec<i64>), String> {
        let (buffers, symbols) = (FxHashMap::default(), Copier::default());
        let mut program =
            FusedProgram { module, buffers, symbols, allocs: Vec::new(), bodies: Vec::new(), blocks: BlockNames::default() };
        let Expr::Seq { blocks, body } = store.expr(function.body) else { return Err("the body is no sequence".to_owned()) };
        let bindings: Vec<_> = store.bindings(blocks).collect();
        let scopes = program.scopes(store, &bindings.iter().map(|binding| binding.value).collect::<Vec<_>>());
        let mut params = Vec::new();
        for param in store.items(function.params).collect::<Vec<_>>() {
            program.param(store, param, scopes.get(&param).copied(), &mut params)?;
        }
        for binding in &bindings {
            if binding.cast.is_some() {
                return Err("MatchCast is unsupported in primitive functions".to_owned());
            }
            let found = match store.expr(binding.value) {
                Expr::Call { .. } => program.call(store, binding.value)?,
                _ => program.buffers_of(store, binding.value)?,
            };
            program.buffers.insert(binding.var, found);
        }
        let results = program.buffers_of(store, body)?;
        let mut inplace: Vec<i64> = Vec::new();
        let mut outputs: FxHashSet<Id<Buffer>> = FxHashSet::default();
        for buffer in results {
            match params.iter().position(|param| *param == PrimParam::Buffer(buffer)) {
                Some(index) if outputs.contains(&buffer) || inplace.contains(&(index as i64)) => {
                    return Err(format!("In-place index {index} used twice! An argument must be aliased."));
                }
                Some(index) => inplace.insert(0, index as i64),
                None => {
                    outputs.insert(buffer);
                    params.push(PrimParam::Buffer(buffer));
                }
            }
        }
        let inner = store.add_stmts(&program.bodies);
        let root = Block {
            allocs: program.allocs.iter().copied().filter(|buffer| !outputs.contains(buffer)).collect(),
            ..Block::around(store.name("root"), inner)
        };
        let root = store.add_prim_block(root);
        let body = store.add_stmt(Stmt::Block(root));
        let attrs = store.with_attr(None, "s_tir", AttrValue::Bool(true));
        let attrs = store.with_attr(Some(attrs), "tirx.noalias", AttrValue::Bool(true));
        Ok((PrimFunc { params: params.into(), ret: None, attrs: Some(attrs), body }, inplace))
    }

    /// Returns the kind of memory of variables of the function, set by the last program that takes or returns them.
    fn scopes(&self, store: &Store, values: &[ExprId]) -> FxHashMap<VarId, Id<Name>> {
        let mut scopes = FxHashMap::default();
        for value in values {
            let Some((program, args)) = self.called(store, *value) else { continue };
            for (arg, param) in args.iter().zip(&store.prim_func(program).params) {
                if let (Expr::Var(var), PrimParam::Buffer(buffer)) = (store.expr(*arg), param) {
                    scopes.insert(var, store.buffer(*buffer).scope);
                }
            }
        }
        scopes
    }

    /// Returns the tensor program that a call calls, and its arguments.
    fn called(&self, store: &Store, call: ExprId) -> Option<(Id<PrimFunc>, Vec<ExprId>)> {
        let op = store.called_op(call)?;
        if Some(op) != ops::lookup_relax("call_tir") && Some(op) != ops::lookup_relax("call_tir_inplace") {
            return None;
        }
        let args = store.call(call)?.args;
        let mut args = store.items(args);
        let Expr::Global(name) = store.expr(args.next()?) else { return None };
        let Expr::Tuple(fields) = store.expr(args.next()?) else { return None };
        let Expr::PrimFunc(program) = store.expr(self.module.function(name)?) else { return None };
        Some((program, store.items(fields).collect()))
    }

    /// Returns the symbol of the program for a symbol of the function.
    fn symbol(&mut self, store: &mut Store, symbol: Id<Symbol>) -> Id<Symbol> {
        match self.symbols.symbols.get(&symbol).map(|prim| store.prim_of_id(*prim)) {
            Some(PrimExpr::Var(new)) => *new,
            _ => self.symbols.define(store, symbol),
        }
    }

    /// Translates extents of the function to the program.
    fn shape(&mut self, store: &mut Store, dims: &[Dim]) -> Box<[PrimId]> {
        dims.iter()
            .map(|dim| {
                let prim = store.prim_of_dim(*dim);
                self.prim(store, prim)
            })
            .collect()
    }

    fn prim(&mut self, store: &mut Store, prim: PrimId) -> PrimId {
        for symbol in symbols_in(store, prim) {
            self.symbol(store, symbol);
        }
        self.symbols.prim(store, prim)
    }

    fn param(
        &mut self,
        store: &mut Store,
        var: VarId,
        scope: Option<Id<Name>>,
        params: &mut Vec<PrimParam>,
    ) -> Result<(), String> {
        let ty = store.var_type(var);
        let mut own = Vec::new();
        match ty.map(|ty| store.type_of_id(ty).clone()) {
            Some(Type::Prim(_)) => {
                if let Some(symbol) = store.var_data(var).symbol {
                    params.push(PrimParam::Var(self.symbol(store, symbol)));
                }
            }
            Some(Type::Shape(Extents::Known(dims))) => {
                for dim in dims.iter() {
                    let Dim::Symbol(symbol) = *dim else {
                        return Err("a shape that is a parameter may have nothing but symbols".to_owned());
                    };
                    params.push(PrimParam::Var(self.symbol(store, symbol)));
                }
            }
            _ => {
                let info = ty.and_then(|ty| store.tensor_info(ty));
                let Some((Extents::Known(dims), Some(dtype))) = info.map(|info| (info.extents, info.dtype)) else {
                    return Err("FuseTIR expects all Tensor parameters have a known shape.".to_owned());
                };
                let shape = self.shape(store, &dims);
                let scope = scope.unwrap_or_else(|| store.name("global"));
                let name = store.var_data(var).name;
                let buffer = store.add_buffer(Buffer::new(name, dtype, shape, scope));
                params.push(PrimParam::Buffer(buffer));
                own.push(buffer);
            }
        }
        self.buffers.insert(var, own);
        Ok(())
    }

    /// Returns the buffers of a value of the function, those of a tuple one after the other.
    fn buffers_of(&self, store: &Store, value: ExprId) -> Result<Vec<Id<Buffer>>, String> {
        match store.expr(value) {
            Expr::Var(var) => self.buffers.get(&var).cloned().ok_or_else(|| "a variable from outside".to_owned()),
            Expr::Tuple(fields) => {
                let mut all = Vec::new();
                let mut stack: Vec<ExprId> = store.items(fields).rev().collect();
                while let Some(field) = stack.pop() {
                    match store.expr(field) {
                        Expr::Tuple(inner) => stack.extend(store.items(inner).rev()),
                        Expr::TupleGetItem { tuple, index } => all.extend(self.item(store, tuple, index)?),
                        Expr::Var(var) => all.extend(self.buffers.get(&var).into_iter().flatten()),
                        Expr::Constant(_) => return Err("Relax.Constant is not supported in primitive functions.".to_owned()),
                        _ => {}
                    }
                }
                Ok(all)
            }
            Expr::TupleGetItem { tuple, index } => self.item(store, tuple, index),
            Expr::Constant(_) => Err("Relax.Constant is not supported in primitive functions.".to_owned()),
            _ => Err("only calls of tensor programs, tuples and their fields can be part of one".to_owned()),
        }
    }

    fn item(&self, store: &Store, tuple: ExprId, index: u32) -> Result<Vec<Id<Buffer>>, String> {
        let Expr::Var(var) = store.expr(tuple) else { return Err("a field of a tuple that has no variable".to_owned()) };
        let all = self.buffers.get(&var).ok_or("a variable from outside")?;
        let types = match store.var_type(var).map(|ty| store.type_of_id(ty)) {
            Some(Type::Tuple(types)) => types.to_vec(),
            _ => Vec::new(),
        };
        let count = |ty: &TypeId| leaf_types(store, *ty).count();
        let start: usize = types.iter().take(index as usize).map(count).sum();
        let len = types.get(index as usize).map_or(0, count);
        all.get(start..start + len).map(<[_]>::to_vec).ok_or_else(|| "a field that the tuple does not have".to_owned())
    }

    /// Adds the body of the program that is called, and returns the buffers of its results.
    fn call(&mut self, store: &mut Store, call: ExprId) -> Result<Vec<Id<Buffer>>, String> {
        let Some((program, args)) = self.called(store, call) else {
            return Err("Only call_tir and call_tir_inplace are supported in primitive function".to_owned());
        };
        let program = store.prim_func(program).clone();
        let Stmt::Block(root) = *store.stmt(program.body) else {
            return Err("Only schedulable functions (whose body is the root block) can be fused".to_owned());
        };
        let root = store.prim_block(root).clone();
        let mut copier = Copier::default();
        let mut targets = Vec::new();
        for arg in &args {
            if let Expr::Var(var) = store.expr(*arg) {
                targets.extend(self.buffers.get(&var).into_iter().flatten().copied());
            }
        }
        let mut inputs = Vec::new();
        for (arg, param) in args.iter().zip(&program.params) {
            match *param {
                PrimParam::Buffer(buffer) => inputs.push(buffer),
                PrimParam::Var(symbol) => {
                    let value = self.scalar(store, *arg).ok_or("a scalar parameter needs a scalar")?;
                    let param = store.prim(PrimExpr::Var(symbol));
                    copier.match_prims(store, param, value)?;
                }
            }
        }
        if inputs.len() != targets.len() {
            return Err("every buffer needs a tensor that the function computes or is given".to_owned());
        }
        for (buffer, target) in inputs.into_iter().zip(targets) {
            match_shapes(store, &mut copier, buffer, target)?;
            copier.buffers.insert(buffer, target);
        }
        for buffer in &root.allocs {
            // Names are compared with those of all earlier allocations, before the results are added.
            self.allocs.push(*buffer);
        }
        let first = self.allocs.len() - root.allocs.len();
        let results = self.results(store, call, &program, args.len(), &mut copier)?;
        for at in first..first + root.allocs.len() {
            self.allocs[at] = copier.define_buffer(store, self.allocs[at]);
        }
        let names = &mut self.blocks;
        let body = copier.stmt(store, root.body, &mut |store, block| {
            let name = names.unique(store.str(block.name));
            block.name = store.name(&name);
            block.reads = once_each(&block.reads);
            block.writes = once_each(&block.writes);
        });
        self.bodies.push(body);
        Ok(results)
    }

    /// Translates a scalar argument to the program.
    fn scalar(&mut self, store: &mut Store, arg: ExprId) -> Option<PrimId> {
        if let Some(symbol) = symbol_of(store, arg) {
            let symbol = self.symbol(store, symbol);
            return Some(store.prim(PrimExpr::Var(symbol)));
        }
        match store.expr(arg) {
            Expr::Prim(prim) => Some(self.prim(store, prim)),
            _ => None,
        }
    }

    /// Returns the buffers that a program writes to: inputs, or new ones that are allocated.
    fn results(
        &mut self,
        store: &mut Store,
        call: ExprId,
        program: &PrimFunc,
        inputs: usize,
        copier: &mut Copier,
    ) -> Result<Vec<Id<Buffer>>, String> {
        let info = store.call(call).and_then(|call| call.info).map(|info| store.call_info(info).clone());
        let out = info.as_ref().and_then(|info| info.type_args.first().copied()).ok_or("the call says no type of its result")?;
        let types = match store.type_of_id(out) {
            Type::Tuple(types) => types.to_vec(),
            _ => vec![out],
        };
        let attrs = info.and_then(|info| info.attrs);
        let mut next = inputs;
        let places: Vec<usize> = match store.attr_ints(attrs, "inplace_indices") {
            Some(indices) => indices
                .into_iter()
                .map(|index| {
                    usize::try_from(index).unwrap_or_else(|_| {
                        next += 1;
                        next - 1
                    })
                })
                .collect(),
            None => (inputs..inputs + types.len()).collect(),
        };
        let mut results = Vec::with_capacity(types.len());
        for (ty, place) in types.iter().zip(places) {
            let Some(PrimParam::Buffer(buffer)) = program.params.get(place).copied() else {
                return Err(format!("The output params of a PrimFunc must be buffers, but parameter {place} is none"));
            };
            if place < inputs {
                results.push(copier.buffer(buffer));
                continue;
            }
            let Some(Extents::Known(dims)) = store.tensor_info(*ty).map(|info| info.extents) else {
                return Err("FuseTIR expects all parameters are Tensors with symbolic shape.".to_owned());
            };
            let shape = self.shape(store, &dims);
            let name = self.intermediate_name(store, buffer);
            let old = store.buffer(buffer).clone();
            let name = store.name(&name);
            // The offset keeps its type, which is visible when extents now have another one.
            let index_type = |shape: &[PrimId]| shape.first().map_or(DType::I32, |extent| store.prim_dtype(*extent));
            let (own, new) = (index_type(&old.shape), index_type(&shape));
            let elem_offset = old.elem_offset.or_else(|| (own != new).then(|| store.prim_int(0, own)));
            let new = store.add_buffer(Buffer { name, shape, elem_offset, ..old });
            self.allocs.push(new);
            match_shapes(store, copier, buffer, new)?;
            copier.buffers.insert(buffer, new);
            results.push(new);
        }
        Ok(results)
    }

    fn intermediate_name(&self, store: &Store, buffer: Id<Buffer>) -> String {
        let mut name = format!("{}_intermediate", store.str(store.buffer(buffer).name));
        let taken = |name: &str| self.allocs.iter().any(|other| store.str(store.buffer(*other).name) == name);
        let mut number = 0;
        while taken(&name) {
            number += 1;
            name = format!("{name}_{number}");
        }
        name
    }
}

fn match_shapes(store: &mut Store, copier: &mut Copier, buffer: Id<Buffer>, target: Id<Buffer>) -> Result<(), String> {
    let (own, given) = (store.buffer(buffer).shape.clone(), store.buffer(target).shape.clone());
    if own.len() != given.len() {
        return Err("a buffer and what it stands for have another number of axes".to_owned());
    }
    own.iter().zip(&given).try_for_each(|(own, given)| copier.match_prims(store, *own, *given))
}
