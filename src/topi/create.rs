//! Makes a tensor program of tensor expressions: a loop nest with a block for each stage.
//!
//! Source: `src/te/operation/create_primfunc.cc`, and from `ScriptComplete` the regions and the root block.

use super::nested::{Scope, nest};
use super::te::{Axis, Body, Combine, Stage, Te, Tensor};
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, Attrs, AttrsId, Block, DType, For, ForKind, Id, IdMap, IterKind, IterVar, Name, PrimExpr, PrimFunc, PrimId,
    PrimParam, Stmt, StmtId, Symbol,
};
use crate::tir::access::block_accesses;
use crate::tir::substitute;
use rustc_hash::FxHashMap;

/// Makes the program with these parameters, some of which are the results of stages.
pub(crate) fn create_prim_func(te: &mut Te, params: &[PrimParam]) -> PrimFunc {
    let tensors: Vec<Tensor> = params
        .iter()
        .filter_map(|param| match param {
            PrimParam::Buffer(buffer) => Some(*buffer),
            PrimParam::Var(_) => None,
        })
        .collect();
    let order = order(te, &tensors);
    let mut making = Making { names: FxHashMap::default(), free: Vec::new(), params: &tensors };
    let mut allocs = Vec::new();
    let mut body = Vec::new();
    let mut stages: Vec<Option<Stage>> = std::mem::take(&mut te.stages).into_iter().map(Some).collect();
    for index in order {
        let Some(stage) = stages[index].take() else { continue };
        allocs.extend(stage.outputs.iter().copied().filter(|output| !tensors.contains(output)));
        body.push(making.stage(te, stage));
    }
    let body = te.store.add_stmts(&body);
    let body = with_root(te, body, &allocs);
    let mut fields = vec![("s_tir", AttrValue::Bool(true)), ("tirx.noalias", AttrValue::Bool(true))];
    if !making.free.is_empty() {
        sort_by(&mut making.free, |a, b| a.cmp(b));
        making.free.dedup();
        let places = making.free.iter().map(|&value| AttrValue::Int { value, bits: 64 }).collect();
        fields.insert(0, ("layout_free_buffers", AttrValue::Array(places)));
    }
    let attrs = dict(te, &fields);
    PrimFunc { params: params.into(), ret: None, attrs, body }
}

pub(super) fn dict(te: &mut Te, fields: &[(&str, AttrValue)]) -> Option<AttrsId> {
    if fields.is_empty() {
        return None;
    }
    let key = te.store.name("DictAttrs");
    let fields = fields.iter().map(|(name, value)| (te.store.name(name), value.clone())).collect();
    Some(te.store.attrs(Attrs { key, fields }))
}

/// Returns the stages that the tensors depend on, inputs before their users.
fn order(te: &Te, tensors: &[Tensor]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut open: Vec<(usize, bool)> = tensors.iter().rev().filter_map(|t| te.made_by.get(t)).map(|s| (*s, false)).collect();
    let mut seen = vec![false; te.stages.len()];
    while let Some((stage, done)) = open.pop() {
        if done {
            order.push(stage);
            continue;
        }
        if std::mem::replace(&mut seen[stage], true) {
            continue;
        }
        open.push((stage, true));
        let inputs = inputs(te, &te.stages[stage]);
        open.extend(inputs.iter().rev().filter_map(|t| te.made_by.get(t)).map(|input| (*input, false)));
    }
    order
}

/// Returns the tensors that a stage reads, in the order of the first reads.
fn inputs(te: &Te, stage: &Stage) -> Vec<Tensor> {
    let values = match &stage.body {
        Body::Values(values) | Body::Reduce(_, values, _) => values,
        Body::Extern(_, inputs) | Body::Whole(_, inputs) => return inputs.clone(),
    };
    let mut found = Vec::new();
    for value in values {
        te.store.for_each_prim(*value, &mut |_, expr| {
            if let PrimExpr::Load { buffer, .. } = expr
                && !found.contains(buffer)
            {
                found.push(*buffer);
            }
        });
    }
    found
}

struct Making<'p> {
    /// The number of uses of each block name.
    names: FxHashMap<String, u32>,
    /// The indices of parameters that are weights, whose layout is free.
    free: Vec<i64>,
    params: &'p [Tensor],
}

impl Making<'_> {
    fn fresh(&mut self, te: &mut Te, name: &str) -> Id<Name> {
        let mut candidate = name.to_owned();
        while self.names.contains_key(&candidate) {
            let count = self.names.get_mut(name).map_or(1, |count| {
                *count += 1;
                *count
            });
            candidate = format!("{name}_{count}");
        }
        self.names.insert(candidate.clone(), 0);
        te.store.name(&candidate)
    }

    /// Makes the loops and blocks of a stage.
    fn stage(&mut self, te: &mut Te, stage: Stage) -> StmtId {
        let Stage { name: hint, outputs, mut axes, mut reduced, body, attrs } = stage;
        if let Body::Whole(body, _) = body {
            return body;
        }
        let wide = widened(te, axes.iter_mut().chain(&mut reduced));
        let annotations = self.annotations(te, attrs);
        let at = te.vars(&axes);
        let (loops, mut iters): (Vec<For>, Vec<IterVar>) = axes.iter().map(|axis| spread(te, axis, IterKind::Spatial)).unzip();
        if iters.is_empty() && !matches!(body, Body::Extern(..)) {
            iters.push(dummy(te));
        }
        let mut blocks = Vec::new();
        match body {
            Body::Extern(body, _) | Body::Whole(body, _) => {
                let name = self.fresh(te, &hint);
                let block = Block { name, body, annotations, ..empty_block(te) };
                let block = te.store.add_prim_block(block);
                blocks.push(te.store.add_stmt(Stmt::Block(block)));
            }
            Body::Reduce(identities, sources, combine) => {
                let parts = (&identities[..], &sources[..], combine);
                return self.reduction(te, &hint, &outputs, [&axes, &reduced], parts, &wide, annotations);
            }
            Body::Values(values) => {
                let several = values.len() > 1;
                for (index, (output, value)) in outputs.iter().zip(values).enumerate() {
                    let own = if several { format!("{hint}.v{index}") } else { hint.clone() };
                    let name = self.fresh(te, &own);
                    // Each block has variables of its own.
                    let (iters, at, value) =
                        if index == 0 { (iters.clone(), at.clone(), value) } else { again(te, &iters, value) };
                    let value = te.simplify(value);
                    let value = in_wide_integers(te, value, &wide);
                    let body = write(te, *output, &at, value);
                    let block = Block { name, iters: iters.into(), body, annotations, ..empty_block(te) };
                    let block = with_regions(te, block);
                    let block = te.store.add_prim_block(block);
                    blocks.push(te.store.add_stmt(Stmt::Block(block)));
                }
            }
        }
        let body = te.store.add_stmts(&blocks);
        in_loops(te, loops, body)
    }

    /// Makes the loops and blocks of a reduction over the second axes: identities, sources and the combiner.
    #[allow(clippy::too_many_arguments, reason = "the parts of a stage")]
    fn reduction(
        &mut self,
        te: &mut Te,
        hint: &str,
        outputs: &[Tensor],
        [axes, reduced]: [&[Axis]; 2],
        (identities, sources, combine): (&[PrimId], &[PrimId], Combine),
        wide: &FxHashMap<Id<Symbol>, PrimId>,
        annotations: Option<AttrsId>,
    ) -> StmtId {
        let name = self.fresh(te, hint);
        let at = te.vars(axes);
        let left: Vec<PrimId> = outputs.iter().map(|output| te.load(*output, &at)).collect();
        let right: Vec<PrimId> = sources.iter().map(|source| te.simplify(*source)).collect();
        // The combiner works in the types of the elements, unless indices are among them.
        let combined: Vec<PrimId> = if wide.is_empty() {
            let right: Vec<PrimId> = right.into_iter().map(|value| in_wide_integers(te, value, wide)).collect();
            combine(te, &left, &right)
        } else {
            combine(te, &left, &right).into_iter().map(|value| in_wide_integers(te, value, wide)).collect()
        };
        let mut stmts = Vec::new();
        let mut values = combined.clone();
        if outputs.len() > 1 {
            for (output, value) in outputs.iter().zip(&combined) {
                let own = format!("v_{}", te.tensor_name(*output));
                let (name, dtype) = (te.store.name(&own), te.type_of(*value));
                let var = te.store.add_symbol(Symbol { name, dtype, size: false });
                stmts.push(te.store.add_stmt(Stmt::Bind { var, value: *value }));
                values[stmts.len() - 1] = te.store.prim(PrimExpr::Var(var));
            }
        }
        for (output, value) in outputs.iter().zip(values) {
            stmts.push(write(te, *output, &at, value));
        }
        let body = te.store.add_stmts(&stmts);
        let nest = nest(te, axes, reduced, wide);
        let init = |te: &mut Te, scope: &Scope| {
            let at: Vec<PrimId> = axes.iter().filter_map(|axis| scope.at.get(&axis.var)).copied().collect();
            let stmts: Vec<StmtId> =
                outputs.iter().zip(identities).map(|(output, value)| write(te, *output, &at, *value)).collect();
            te.store.add_stmts(&stmts)
        };
        let first = nest.first;
        nest.around(te, &mut |te, depth, scope, inner| {
            let init = (depth == first).then(|| init(te, scope));
            let (name, body) = match inner {
                None => (name, body),
                Some(inner) => (self.fresh(te, &format!("{hint}_l{}", depth + 1)), inner),
            };
            Block { name, init, body, annotations, ..empty_block(te) }
        })
    }

    /// Returns the hints of a block. The weights among the parameters are an attribute of the function instead.
    fn annotations(&mut self, te: &mut Te, attrs: Vec<(&'static str, AttrValue)>) -> Option<AttrsId> {
        let mut kept = Vec::new();
        for (key, value) in attrs {
            match (key, &value) {
                ("workload", _) => {}
                ("layout_free_placeholders", AttrValue::Array(items)) => {
                    let mut inner = Vec::new();
                    for item in items {
                        let tensor = match item {
                            AttrValue::Dim(crate::ir::Dim::Expr(prim)) => match te.store.prim_of_id(*prim) {
                                PrimExpr::Buffer(buffer) => self.params.iter().position(|param| param == buffer),
                                _ => None,
                            },
                            _ => None,
                        };
                        match tensor {
                            Some(place) => self.free.push(place as i64),
                            None => inner.push(item.clone()),
                        }
                    }
                    if !inner.is_empty() {
                        kept.push((key, AttrValue::Array(inner.into())));
                    }
                }
                _ => kept.push((key, value)),
            }
        }
        dict(te, &kept)
    }
}

/// Widens axes of 32 bits, which expressions use, to the 64 bits of a program; returns the replacements of their variables.
fn widened<'a>(te: &mut Te, axes: impl Iterator<Item = &'a mut Axis>) -> FxHashMap<Id<Symbol>, PrimId> {
    let mut new = FxHashMap::default();
    for axis in axes {
        if te.store.symbol(axis.var).dtype == DType::I64 {
            continue;
        }
        let symbol = Symbol { dtype: DType::I64, ..te.store.symbol(axis.var).clone() };
        let var = te.store.add_symbol(symbol);
        new.insert(axis.var, te.store.prim(PrimExpr::Var(var)));
        (axis.var, axis.extent) = (var, te.cast(DType::I64, axis.extent));
    }
    new
}

/// Converts an element to the form of a program: indices and conditions on integers have 64 bits.
fn in_wide_integers(te: &mut Te, value: PrimId, renamed: &FxHashMap<Id<Symbol>, PrimId>) -> PrimId {
    widen(te, value, renamed).0
}

/// Converts an index, whose parts all have 64 bits in a program.
pub(super) fn wide_index(te: &mut Te, index: PrimId, renamed: &FxHashMap<Id<Symbol>, PrimId>) -> PrimId {
    widen(te, index, renamed).1
}

/// Returns an expression in the forms that it has as an element and as an index.
fn widen(te: &mut Te, value: PrimId, renamed: &FxHashMap<Id<Symbol>, PrimId>) -> (PrimId, PrimId) {
    let mut order = Vec::new();
    te.store.for_each_prim(value, &mut |id, _| order.push(id));
    let mut wide: IdMap<PrimExpr, PrimId> = IdMap::new();
    let mut done: IdMap<PrimExpr, PrimId> = IdMap::new();
    for id in order {
        let node = te.store.prim_rc(id);
        let at = |map: &IdMap<PrimExpr, PrimId>, id: PrimId| map.get(id).copied().unwrap_or(id);
        let plain = match &*node {
            PrimExpr::Select { cond, then, other } => {
                PrimExpr::Select { cond: at(&wide, *cond), then: at(&done, *then), other: at(&done, *other) }
            }
            PrimExpr::Call { op, args, dtype } => {
                let choice = te.store.str(*op) == "if_then_else";
                let arg = |(index, arg): (usize, &PrimId)| at(if choice && index == 0 { &wide } else { &done }, *arg);
                PrimExpr::Call { op: *op, args: args.iter().enumerate().map(arg).collect(), dtype: *dtype }
            }
            PrimExpr::Load { buffer, indices } => {
                let known = if renamed.is_empty() { &done } else { &wide };
                PrimExpr::Load { buffer: *buffer, indices: indices.iter().map(|index| at(known, *index)).collect() }
            }
            PrimExpr::Var(symbol) if renamed.contains_key(symbol) => {
                done.insert(id, renamed[symbol]);
                wide.insert(id, renamed[symbol]);
                continue;
            }
            PrimExpr::Binary { op, a, b } => PrimExpr::Binary { op: *op, a: at(&done, *a), b: at(&done, *b) },
            PrimExpr::Not(a) => PrimExpr::Not(at(&done, *a)),
            PrimExpr::Cast { dtype, value } => PrimExpr::Cast { dtype: *dtype, value: at(&done, *value) },
            other => other.clone(),
        };
        let plain = te.store.prim(plain);
        done.insert(id, plain);
        // The same holds for parts of a condition.
        let narrow = |te: &Te, id: PrimId| te.type_of(id) == DType::I32;
        let condition = match &*node {
            PrimExpr::Binary { op, a, b } if op.is_logic() || narrow(te, id) || !renamed.is_empty() => {
                let (a, b) = (at(&wide, *a), at(&wide, *b));
                te.store.prim_binary(*op, a, b)
            }
            PrimExpr::Cast { dtype, value } if !renamed.is_empty() => te.cast(*dtype, at(&wide, *value)),
            PrimExpr::Select { cond, then, other } if !renamed.is_empty() => {
                let [cond, then, other] = [cond, then, other].map(|part| at(&wide, *part));
                te.store.prim(PrimExpr::Select { cond, then, other })
            }
            PrimExpr::Not(a) => {
                let a = at(&wide, *a);
                te.store.prim(PrimExpr::Not(a))
            }
            _ if narrow(te, plain) => te.cast(DType::I64, plain),
            _ => plain,
        };
        wide.insert(id, condition);
    }
    (done.get(value).copied().unwrap_or(value), wide.get(value).copied().unwrap_or(value))
}

/// Puts a block into loops, the first of them outermost.
pub(super) fn within_loops(te: &mut Te, loops: Vec<For>, block: Block) -> StmtId {
    let block = te.store.add_prim_block(block);
    let body = te.store.add_stmt(Stmt::Block(block));
    in_loops(te, loops, body)
}

fn in_loops(te: &mut Te, loops: Vec<For>, body: StmtId) -> StmtId {
    loops.into_iter().rev().fold(body, |body, head| te.store.add_stmt(Stmt::For(head, body)))
}

/// Returns the loop and the variable of the block for an axis.
pub(super) fn spread(te: &mut Te, axis: &Axis, kind: IterKind) -> (For, IterVar) {
    let dtype = te.store.symbol(axis.var).dtype;
    let name = te.store.name(&axis.name);
    let var = te.store.add_symbol(Symbol { name, dtype, size: false });
    let min = te.store.prim_int(0, dtype);
    let extent = te.simplify(axis.extent);
    let value = Some(te.store.prim(PrimExpr::Var(var)));
    let head = For { var, min, extent, step: None, kind: ForKind::Serial, annotations: None };
    (head, IterVar { var: axis.var, kind, min, extent, value })
}

/// Returns the variable of a block that runs once.
pub(super) fn dummy(te: &mut Te) -> IterVar {
    let name = te.store.name("vi");
    let var = te.store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
    let (min, extent) = (te.int(0), te.int(1));
    IterVar { var, kind: IterKind::Spatial, min, extent, value: Some(min) }
}

/// Renews the variables of a block, and an expression over them.
fn again(te: &mut Te, iters: &[IterVar], value: PrimId) -> (Vec<IterVar>, Vec<PrimId>, PrimId) {
    let mut new = Vec::new();
    let mut at = Vec::new();
    let mut to = FxHashMap::default();
    for iter in iters {
        let copy = te.store.symbol(iter.var).clone();
        let var = te.store.add_symbol(copy);
        new.push(IterVar { var, ..iter.clone() });
        let used = te.store.prim(PrimExpr::Var(var));
        at.push(used);
        to.insert(iter.var, used);
    }
    let value = substitute(te.store, value, &mut |_, symbol| to.get(&symbol).copied());
    (new, at, value)
}

fn write(te: &mut Te, buffer: Tensor, at: &[PrimId], value: PrimId) -> StmtId {
    te.store.add_stmt(Stmt::Store { buffer, indices: at.into(), value })
}

/// Gives a block the regions that it reads and writes.
pub(super) fn with_regions(te: &mut Te, block: Block) -> Block {
    let accesses = block_accesses(te.store, &block, &|_| true);
    Block { reads: accesses.reads.into(), writes: accesses.writes.into(), ..block }
}

/// Makes an empty block.
pub(super) fn empty_block(te: &mut Te) -> Block {
    Block::around(te.store.name("root"), te.store.add_stmts(&[]))
}

/// Puts the body into a root block, unless it already is a block without variables.
pub(super) fn with_root(te: &mut Te, body: StmtId, allocs: &[Tensor]) -> StmtId {
    let is_root = matches!(te.store.stmt(body), Stmt::Block(block) if te.store.prim_block(*block).iters.is_empty());
    if is_root && allocs.is_empty() {
        return body;
    }
    let block = Block { allocs: allocs.into(), body, ..empty_block(te) };
    let block = te.store.add_prim_block(block);
    te.store.add_stmt(Stmt::Block(block))
}
