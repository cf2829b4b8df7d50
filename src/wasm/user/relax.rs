//! Nodes that only Relax has, as packed numbers: extents, types of which not all is known, blocks of bindings, tensor programs, and
//! the builder, which lives here under a number for as long as the script does.

use super::{Js, Words, error, module_words, with};
use crate::boundary::scripts::{Build, TypeKind};
use crate::build::{BlockBuilder, is_leaf_or_tuple, signature};
use crate::diag::Diagnostic;
use crate::ir::walk::for_each_child;
use crate::ir::{
    Binding, BindingBlock, DType, Dialect, Dim, Expr, ExprId, ExprKind, Extents, Id, Module, PrimExpr, PrimOp, Store, Symbol,
    TensorInfo, Type, TypeId, VarId,
};
use crate::print;
use crate::words::Worded;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    /// A builder is not there while it is at work, when the script may be asked for the type of an operator of its own.
    static BUILDERS: RefCell<Vec<Option<BlockBuilder>>> = const { RefCell::new(Vec::new()) };
}

/// A script may make this many builders; every mutator has one.
const MAX_BUILDERS: usize = 100_000;

/// Builders belong to the script that made them.
pub(super) fn forget_builders() {
    BUILDERS.take();
}

fn index<T>(id: Id<T>) -> u32 {
    id.index() as u32
}

/// An extent: its kind and two numbers. The kind is `bits << 8` for a number, 1 for any extent, 2 for a symbol, 3 for
/// arithmetic; on the way in 4 is a number of the width that the dialect has.
pub(super) fn dim_words(dim: Dim) -> [u32; 3] {
    match dim {
        Dim::Int { value, bits } => [u32::from(bits) << 8, value as u32, (value >> 32) as u32],
        Dim::Any => [1, 0, 0],
        Dim::Symbol(symbol) => [2, index(symbol), 0],
        Dim::Expr(expr) => [3, index(expr), 0],
    }
}

pub(super) fn read_dim(read: &mut Words<'_>, dialect: Dialect) -> Js<Dim> {
    let (kind, low, high) = (read.word()?, read.word()?, read.word()?);
    let none = || error("there is no such extent");
    Ok(match kind {
        1 => Dim::Any,
        2 => Dim::Symbol(read.store.symbol_at(low as usize).ok_or_else(none)?),
        3 => {
            let id = read.store.prim_at(low as usize).ok_or_else(none)?;
            // Only arithmetic: for what is simpler there are extents of their own.
            match read.store.prim_of_id(id) {
                PrimExpr::Binary { .. } | PrimExpr::Cast { .. } | PrimExpr::Call { .. } => Dim::Expr(id),
                _ => return Err(none()),
            }
        }
        kind => {
            let relax = dialect == Dialect::Relax;
            let bits = if kind == 4 && relax {
                64
            } else if kind == 4 {
                32
            } else {
                kind >> 8
            };
            let value = i64::from(low) | (i64::from(high) << 32);
            if !matches!(bits, 32 | 64) || value < 0 {
                return Err(none());
            }
            Dim::Int { value, bits: bits as u8 }
        }
    })
}

/// Arithmetic over two extents, by the name of TVM's node: `Add`, `FloorDiv`.
#[wasm_bindgen]
pub fn user_dim(op: &str, words: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        let op = PrimOp::named(op).filter(|op| !op.is_logic()).ok_or_else(|| error("there is no such operation on extents"))?;
        let mut read = Words::new(&lent.store, words);
        let (a, b) = (read_dim(&mut read, Dialect::Relax)?, read_dim(&mut read, Dialect::Relax)?);
        let zero = [PrimOp::Div, PrimOp::Mod, PrimOp::FloorDiv, PrimOp::FloorMod].contains(&op) && b.known() == Some(0);
        if zero || [a, b].contains(&Dim::Any) {
            return Err(error("this cannot be computed"));
        }
        Ok(dim_words(lent.store.dim_binary(op, a, b)).to_vec())
    })
}

/// An extent as a program writes it.
#[wasm_bindgen]
pub fn user_dim_text(words: &[u32]) -> Js<String> {
    with(|lent| {
        let dim = read_dim(&mut Words::new(&lent.store, words), lent.dialect)?;
        Ok(dim_text(&mut lent.store, dim))
    })
}

fn dim_text(store: &mut Store, dim: Dim) -> String {
    let shape = store.ty(Type::Shape(Extents::Known([dim].into())));
    let text = print::relax_ty(store, shape);
    text.trim_start_matches("R.Shape([").trim_end_matches("])").trim_matches('"').to_owned()
}

/// A new symbolic extent (`tir.Var`).
#[wasm_bindgen]
pub fn user_symbol(name: &str, dtype: &str) -> Js<Vec<u32>> {
    let dtype = super::element_type(dtype)?;
    with(|lent| {
        let name = lent.store.name(name);
        Ok(dim_words(Dim::Symbol(lent.store.add_symbol(Symbol { name, dtype, size: false }))).to_vec())
    })
}

fn extents_words(store: &mut Store, extents: &Extents, words: &mut Vec<u32>) {
    match extents {
        Extents::Unknown => words.push(0),
        Extents::Rank(rank) => words.extend([1, *rank]),
        Extents::Var(var) => words.extend([2, index(store.use_var(*var))]),
        Extents::Known(dims) => {
            words.push(3);
            words.extend(dims.iter().flat_map(|dim| dim_words(*dim)));
        }
    }
}

/// The words of a type of Relax, after those of the types that Relay has too.
pub(super) fn type_words(store: &mut Store, ty: &Type) -> Vec<u32> {
    let mut words = Vec::new();
    match ty {
        Type::Any => words.push(TypeKind::Any as u32),
        Type::Prim(dtype) => {
            let name = store.name(&dtype.to_string());
            words.extend([TypeKind::Prim as u32, index(name)]);
        }
        Type::Shape(extents) => {
            words.push(TypeKind::Shape as u32);
            extents_words(store, extents, &mut words);
        }
        Type::PartialTensor(info) => {
            let dtype = info.dtype.map_or(0, |dtype| index(store.name(&dtype.to_string())) + 1);
            words.extend([TypeKind::PartialTensor as u32, dtype]);
            extents_words(store, &info.extents, &mut words);
        }
        Type::Callable { params, ret, pure } => {
            words.extend([TypeKind::Callable as u32, index(*ret), u32::from(*pure), u32::from(params.is_none())]);
            words.extend(params.iter().flatten().map(|ty| index(*ty)));
        }
        Type::PackedFunc => words.push(TypeKind::PackedFunc as u32),
        Type::Str => words.push(TypeKind::Str as u32),
        // Tensors over several devices go by as a whole.
        _ => words.push(TypeKind::Whole as u32),
    }
    words
}

fn read_extents(read: &mut Words<'_>) -> Js<Extents> {
    Ok(match read.word()? {
        0 => Extents::Unknown,
        1 => match read.word()? {
            rank @ ..1000 => Extents::Rank(rank),
            _ => return Err(error("this is no number of axes")),
        },
        2 => Extents::Var(read.var()?),
        3 => {
            let mut dims = Vec::new();
            while read.words.len() > 0 {
                dims.push(read_dim(read, Dialect::Relax)?);
            }
            Extents::Known(dims.into())
        }
        _ => return Err(error("extents are not given this way")),
    })
}

/// A type of Relax whose kind was read; also what it is made of.
pub(super) fn read_type(read: &mut Words<'_>, kind: TypeKind) -> Js<(Type, Vec<TypeId>)> {
    let ty = match kind {
        TypeKind::Any => Type::Any,
        TypeKind::Prim => {
            let name = read.name()?;
            Type::Prim(super::element_type(read.store.str(name))?)
        }
        TypeKind::Shape => Type::Shape(read_extents(read)?),
        TypeKind::PartialTensor => {
            let dtype = match read.maybe(Store::name_at)? {
                Some(name) => Some(super::element_type(read.store.str(name))?),
                None => None,
            };
            match (read_extents(read)?, dtype) {
                (Extents::Known(shape), Some(dtype)) => Type::Tensor { shape, dtype },
                (extents, dtype) => Type::PartialTensor(TensorInfo { extents, dtype, vdevice: None }),
            }
        }
        TypeKind::Callable => {
            let (ret, pure, opaque) = (read.ty()?, read.word()? != 0, read.word()? != 0);
            let params = read.rest(Words::ty)?;
            let parts = params.iter().copied().chain([ret]).collect();
            return Ok((Type::Callable { params: (!opaque).then(|| params.into()), ret, pure }, parts));
        }
        TypeKind::PackedFunc => Type::PackedFunc,
        TypeKind::Str => Type::Str,
        _ => return Err(error("types of this kind are not made this way")),
    };
    Ok((ty, Vec::new()))
}

/// A block: its id, whether it is a dataflow block, the number of bindings, and for each variable, value and cast or 0.
pub(super) fn block_words(store: &mut Store, block: Id<BindingBlock>, words: &mut Vec<u32>) {
    let bindings: Vec<Binding> = store.block_bindings(block).collect();
    words.extend([index(block), u32::from(store.block(block).dataflow), bindings.len() as u32]);
    for binding in bindings {
        let cast = binding.cast.map_or(0, |ty| index(ty) + 1);
        words.extend([index(store.use_var(binding.var)), index(binding.value), cast]);
    }
}

/// The parts of a node that only Relax and TIR have.
pub(super) fn node_words(store: &mut Store, node: Expr, words: &mut Vec<u32>) {
    match node {
        Expr::Seq { blocks, body } => {
            words.push(index(body));
            let blocks: Vec<_> = store.items(blocks).collect();
            blocks.into_iter().for_each(|block| block_words(store, block, words));
        }
        Expr::Shape(dims) => words.extend(store.dims_of_id(dims).iter().flat_map(|dim| dim_words(*dim))),
        Expr::Prim(prim) => {
            words.extend(match *store.prim_of_id(prim) {
                PrimExpr::Float { value, .. } => {
                    let bits = value.0.to_bits();
                    [6, bits as u32, (bits >> 32) as u32]
                }
                _ => dim_words(store.dim_of_prim(prim)),
            });
            let dtype = store.prim_dtype(prim).to_string();
            words.push(index(store.name(&dtype)));
        }
        Expr::Str(name) | Expr::Extern(name) => words.push(index(name)),
        Expr::DataType(dtype) => words.push(index(store.name(&dtype.to_string()))),
        Expr::PrimFunc(func) => words.push(store.prim_func(func).attrs.map_or(0, |attrs| index(attrs) + 1)),
        _ => {}
    }
}

/// A node of a kind that only Relax and TIR have, from its description.
pub(super) fn read_node(store: &mut Store, kind: ExprKind, pre: Option<ExprId>, words: &[u32]) -> Js<Expr> {
    let most = match kind {
        ExprKind::Prim => 4,
        ExprKind::Str | ExprKind::DataType | ExprKind::Extern | ExprKind::PrimFunc => 1,
        _ => usize::MAX,
    };
    if words.len() > most {
        return Err(error("a node has more parts than its kind takes"));
    }
    let mut read = Words::new(store, words);
    Ok(match kind {
        ExprKind::Seq => {
            let body = read.expr()?;
            let blocks = read.rest(Words::block)?;
            Expr::Seq { blocks: store.list(&blocks), body }
        }
        ExprKind::Shape => {
            let mut dims = Vec::new();
            while read.words.len() > 0 {
                dims.push(read_dim(&mut read, Dialect::Relax)?);
            }
            Expr::Shape(store.dims(&dims))
        }
        ExprKind::Prim => {
            let (what, low, high) = (read.word()?, read.word()?, read.word()?);
            if what > 1 {
                let dim = read_dim(&mut Words::new(store, &[what, low, high]), Dialect::Relax)?;
                return Ok(Expr::Prim(store.prim_of_dim(dim)));
            }
            let name = read.name()?;
            let dtype: DType = super::element_type(store.str(name))?;
            let bits = u64::from(low) | (u64::from(high) << 32);
            Expr::Prim(match what {
                0 => store.prim_int(bits as i64, dtype),
                _ => store.prim_float(f64::from_bits(bits), dtype),
            })
        }
        ExprKind::Str => Expr::Str(read.name()?),
        ExprKind::DataType => {
            let name = read.name()?;
            Expr::DataType(super::element_type(store.str(name))?)
        }
        ExprKind::Extern => Expr::Extern(read.name()?),
        ExprKind::PrimFunc => {
            let attrs = read.maybe(Store::attrs_at)?;
            let Some(Expr::PrimFunc(func)) = pre.map(|pre| store.expr(pre)) else {
                return Err(error("a tensor program is read from a text or copied from another one"));
            };
            let new = crate::ir::PrimFunc { attrs, ..store.prim_func(func).clone() };
            Expr::PrimFunc(store.add_prim_func(new))
        }
        _ => return Err(error("nodes of this kind are not made this way")),
    })
}

/// A block of bindings: for each variable, value and cast or 0. A variable that has no type gets that of its value.
#[wasm_bindgen]
pub fn user_block(dataflow: bool, words: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        let mut read = Words::new(&lent.store, words);
        let mut bindings = Vec::new();
        while read.words.len() > 0 {
            bindings.push(read_binding(&mut read)?);
        }
        let block = lent.store.add_block_of(&bindings, dataflow);
        let mut words = Vec::new();
        block_words(&mut lent.store, block, &mut words);
        Ok(words)
    })
}

fn read_binding(read: &mut Words<'_>) -> Js<Binding> {
    Ok(Binding { var: read.var()?, value: read.expr()?, cast: read.maybe(Store::type_at)? })
}

/// A new builder in a module.
#[wasm_bindgen]
pub fn user_builder(module: &[u32]) -> Js<u32> {
    with(|lent| {
        let module: Module = Words::new(&lent.store, module).module()?;
        let builder = BlockBuilder::new(&module);
        BUILDERS.with_borrow_mut(|builders| {
            if builders.len() >= MAX_BUILDERS {
                return Err(error("the script makes too many builders"));
            }
            builders.push(Some(builder));
            Ok(builders.len() as u32 - 1)
        })
    })
}

fn first_of(found: &[Diagnostic]) -> Option<JsValue> {
    found.first().map(|found| error(&found.message))
}

/// Something that a builder does, by its number ([`Build`]), with its operands. An operand that does not fit is an exception.
#[wasm_bindgen]
pub fn user_builder_do(builder: u32, what: u32, words: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        let what = Build::at(what).ok_or_else(|| error("a builder does nothing of the kind"))?;
        let at = builder as usize;
        let taken = BUILDERS.with_borrow_mut(|builders| builders.get_mut(at).and_then(Option::take));
        let mut builder = taken.ok_or_else(|| error("there is no such builder, or it is at work"))?;
        let result = step(&mut lent.store, &mut builder, what, words);
        let found = first_of(&builder.take_errors());
        BUILDERS.with_borrow_mut(|builders| {
            if let Some(slot) = builders.get_mut(at) {
                *slot = Some(builder);
            }
        });
        found.map_or(result, Err)
    })
}

/// The parameters, if there are any.
fn read_params(read: &mut Words<'_>) -> Js<Option<Vec<VarId>>> {
    let known = read.word()? != 0;
    let params = read.rest(Words::var)?;
    Ok(known.then_some(params))
}

/// True if an operand needs a binding of its own, also one in a tuple (TVM's `NormalizeArgument`).
fn needs_bindings(store: &Store, expr: ExprId) -> bool {
    let (mut found, mut left, mut tuples) = (false, vec![expr], FxHashSet::default());
    while let Some(id) = left.pop() {
        let mut operand = |id| {
            found = found || !is_leaf_or_tuple(store, id);
            if matches!(store.expr(id), Expr::Tuple(_)) && tuples.insert(id) {
                left.push(id);
            }
        };
        match store.expr(id) {
            Expr::Call { .. } | Expr::Tuple(_) | Expr::TupleGetItem { .. } => for_each_child(store, id, operand),
            Expr::If { cond, .. } => operand(cond),
            _ => {}
        }
    }
    found
}

#[expect(clippy::too_many_lines, reason = "a table: an arm for each call")]
fn step(store: &mut Store, builder: &mut BlockBuilder, what: Build, words: &[u32]) -> Js<Vec<u32>> {
    let mut read = Words::new(store, words);
    let in_block = [Build::EndBlock, Build::Emit, Build::EmitOutput, Build::MatchCast, Build::EmitNormalized, Build::EmitTE];
    if in_block.contains(&what) && !builder.has_block() {
        return Err(error("no block is being built: emit inside of a function or between the begin and the end of a block"));
    }
    let hint = |store: &Store, name: Option<Id<crate::ir::Name>>| name.map_or(String::new(), |name| store.str(name).to_owned());
    Ok(match what {
        Build::BeginBlock => {
            builder.begin_block(read.word()? != 0);
            Vec::new()
        }
        Build::EndBlock => {
            let pre = read.maybe(Store::block_at)?;
            let dataflow = builder.is_dataflow();
            let new = builder.end_block();
            let same = |pre: &Id<BindingBlock>| {
                store.block(*pre).dataflow == dataflow
                    && store.block_bindings(*pre).len() == new.len()
                    && store.block_bindings(*pre).zip(&new).all(|(a, b)| (a.var, a.value, a.cast) == (b.var, b.value, b.cast))
            };
            let block = match pre.filter(same) {
                Some(pre) => pre,
                None => store.add_block_of(&new, dataflow),
            };
            let mut words = Vec::new();
            block_words(store, block, &mut words);
            words
        }
        Build::Emit => {
            let (value, name) = (read.expr()?, read.maybe(Store::name_at)?);
            let hint = hint(store, name);
            vec![index(builder.emit(store, value, &hint))]
        }
        Build::EmitOutput => {
            let (value, name) = (read.expr()?, read.maybe(Store::name_at)?);
            let hint = hint(store, name);
            if !builder.is_dataflow() {
                return Err(error("EmitOutput has to be called inside dataflow block."));
            }
            vec![index(builder.emit_output(store, value, &hint))]
        }
        Build::MatchCast => {
            let (value, ty, name) = (read.expr()?, read.ty()?, read.maybe(Store::name_at)?);
            let hint = hint(store, name);
            vec![index(builder.emit_match_cast(store, value, ty, &hint))]
        }
        Build::EmitNormalized => {
            let binding = read_binding(&mut read)?;
            builder.emit_normalized(store, binding);
            Vec::new()
        }
        Build::Normalize => {
            let expr = read.expr()?;
            if !builder.has_block() && needs_bindings(store, expr) {
                return Err(error("Check failed: (!block_stack_.empty()) is false: Cannot normalize non-leaf without a scope"));
            }
            store.symbols_are_free = !builder.has_scope();
            let result = builder.normalize(store, expr);
            store.symbols_are_free = false;
            vec![index(result)]
        }
        Build::LookupBinding => {
            let var = read.var()?;
            vec![builder.lookup_binding(var).map_or(0, |value| index(value) + 1)]
        }
        Build::BeginScope => {
            let params: Vec<VarId> = read.rest(Words::var)?;
            builder.begin_scope(store, &params);
            Vec::new()
        }
        Build::BeginInnerScope => {
            builder.begin_inner_scope();
            Vec::new()
        }
        Build::EndScope => {
            builder.end_scope();
            Vec::new()
        }
        Build::AddFunction => {
            let (function, name) = (read.expr()?, read.name()?);
            let hint = store.str(name).to_owned();
            vec![index(builder.add_function(store, function, &hint))]
        }
        Build::UpdateFunction => {
            let (name, function) = (read.name()?, read.expr()?);
            builder.update_function(store, name, function);
            let ty = signature(store, function);
            builder.set_signature(name, ty);
            Vec::new()
        }
        Build::Module => module_words(builder.module()),
        Build::IsDataflow => vec![u32::from(builder.is_dataflow())],
        Build::Operand => {
            let expr = read.expr()?;
            vec![index(builder.normalize_operand(store, expr))]
        }
        Build::UniqueName => {
            let name = read.name()?;
            let hint = store.str(name).to_owned();
            let unique = builder.unique_name(&hint);
            vec![index(store.name(&unique))]
        }
        Build::BeginFunction => {
            let (name, attrs, pure) = (read.name()?, read.maybe(Store::attrs_at)?, read.word()? != 0);
            let params = read_params(&mut read)?;
            let name = store.str(name).to_owned();
            builder.begin_function(store, &name, params.as_deref(), attrs, pure);
            Vec::new()
        }
        Build::SwitchBlock => {
            let dataflow = read.word()? != 0;
            if !builder.switch_block(store, dataflow) {
                return Err(error("a dataflow block is opened in a function that is being built"));
            }
            Vec::new()
        }
        Build::EmitFuncOutput => {
            let (output, params) = (read.expr()?, read_params(&mut read)?);
            vec![index(builder.emit_func_output(store, output, params.as_deref()).map_err(error)?)]
        }
        Build::EndFunction => vec![builder.end_function().map_or(0, |name| index(name) + 1)],
        Build::EmitTE => {
            let (call, name) = (read.expr()?, read.maybe(Store::name_at)?);
            let hint = hint(store, name);
            let lowered = builder.lower_call(store, call).map_err(|message| error(&message))?;
            vec![index(builder.emit(store, lowered, &hint))]
        }
        Build::ComposeTE => {
            let (expr, name) = (read.expr()?, read.name()?);
            let count = read.count()?;
            let params = read.many(count, |read| Ok((read.var()?, read.expr()?)))?;
            let hint = super::rule(store.str(name));
            let lowered = builder.compose_te(store, expr, &params, hint).map_err(|message| error(&message))?;
            vec![index(builder.emit(store, lowered, ""))]
        }
    })
}
