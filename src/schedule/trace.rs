//! Instructions as a trace has them, applied to a state.

use super::state::{BlockRef, LoopRef, State};
use super::{Outcome, Refused, refuse};
use crate::diag::Span;
use crate::ir::{AttrValue, DType, Double, ForKind, PrimId, PrimOp};
use crate::parse::trace::{Instruction, Node, NodeKind};
use crate::tir::index_map::IndexMap;
use crate::tir::{binary, math};
use rustc_hash::FxHashMap;

/// What a name in a trace stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Block(BlockRef),
    Loop(LoopRef),
    Int(i64),
    /// Nothing: the place of a block that stands at the top (`compute_at`'s inverse).
    None,
    List(Vec<Value>),
}

/// An instruction that was refused.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How many instructions were applied before.
    pub done: usize,
    /// Its place in the text.
    pub span: Span,
    /// Why.
    pub message: String,
}

/// Applies instructions in their order, until one is refused. Each that changes the program is a rewrite; without fuel for
/// another one the rest is left out.
pub fn apply_trace(state: &mut State<'_>, trace: &[Instruction]) -> Result<(), Failure> {
    let mut names: FxHashMap<String, Value> = FxHashMap::default();
    for (done, instruction) in trace.iter().enumerate() {
        let failure = |message: String| Failure { done, span: instruction.span, message };
        let call = Call { instruction, names: &names };
        if !state.store.log.has_fuel() && !state.store.makes_products() {
            return Ok(());
        }
        let values = state.recorded(&instruction.name, |state| call.apply(state));
        let mut values = values.map_err(|Refused(message)| failure(message))?;
        if let Some(pick) = instruction.pick {
            let at = if pick < 0 { pick + values.len() as i64 } else { pick };
            match usize::try_from(at).ok().and_then(|at| values.get(at).cloned()) {
                Some(value) => values = vec![value],
                None => return Err(failure("IndexError: list index out of range".to_owned())),
            }
        }
        let outs = &instruction.outs;
        match (values.len(), outs.len()) {
            (_, 0) => {}
            (1, 1) => {
                names.insert(outs[0].clone(), values[0].clone());
            }
            (n, m) if n == m => names.extend(outs.iter().cloned().zip(values)),
            (_, 1) => {
                names.insert(outs[0].clone(), Value::List(values));
            }
            (n, m) => return Err(failure(format!("ValueError: {n} results for {m} names"))),
        }
    }
    Ok(())
}

/// An instruction, and what names stand for.
pub(super) struct Call<'a> {
    instruction: &'a Instruction,
    names: &'a FxHashMap<String, Value>,
}

impl<'a> Call<'a> {
    /// The argument of a name, or at a place.
    fn get(&self, place: usize, name: &str) -> Option<&'a Node> {
        let named = self.instruction.args.iter().find(|(known, _)| known.as_deref() == Some(name));
        let placed = || self.instruction.args.iter().filter(|(known, _)| known.is_none()).nth(place);
        named.or_else(placed).map(|(_, node)| node).filter(|node| !matches!(node.kind, NodeKind::None))
    }

    fn need(&self, place: usize, name: &str) -> Outcome<&'a Node> {
        match self.get(place, name) {
            Some(node) => Ok(node),
            None => refuse(format!("TypeError: {}() needs the argument `{name}`", self.instruction.name)),
        }
    }

    fn value(&self, node: &Node) -> Outcome<Value> {
        match &node.kind {
            NodeKind::Name(name) => match self.names.get(name) {
                Some(value) => Ok(value.clone()),
                None => refuse(format!("NameError: name '{name}' is not defined")),
            },
            NodeKind::Int(value) => Ok(Value::Int(*value)),
            NodeKind::Bool(value) => Ok(Value::Int(i64::from(*value))),
            NodeKind::None => Ok(Value::None),
            NodeKind::List(items) => Ok(Value::List(items.iter().map(|item| self.value(item)).collect::<Outcome<_>>()?)),
            NodeKind::Binary(op, a, b) => match (self.value(a)?, self.value(b)?) {
                (Value::Int(a), Value::Int(b)) => match op.fold(a, b) {
                    Some(value) => Ok(Value::Int(value)),
                    None => refuse("ValueError: the number cannot be computed"),
                },
                _ => refuse("TypeError: numbers are needed here"),
            },
            _ => refuse("TypeError: a block, a loop or a number is needed here"),
        }
    }

    /// A block, by its handle or by its name.
    fn as_block(&self, state: &mut State<'_>, node: &Node) -> Outcome<BlockRef> {
        if let NodeKind::Str(name) = &node.kind {
            return state.get_block(name, None);
        }
        match self.value(node)? {
            Value::Block(block) => Ok(block),
            _ => refuse("TypeError: a block is needed here"),
        }
    }

    fn block(&self, state: &mut State<'_>, place: usize, name: &str) -> Outcome<BlockRef> {
        let node = self.get(place, name).map_or_else(|| self.need(place, "block"), Ok)?;
        self.as_block(state, node)
    }

    fn as_loop(&self, node: &Node) -> Outcome<LoopRef> {
        match self.value(node)? {
            Value::Loop(of) => Ok(of),
            _ => refuse("TypeError: a loop is needed here"),
        }
    }

    fn loop_at(&self, place: usize, name: &str) -> Outcome<LoopRef> {
        self.as_loop(self.need(place, name)?)
    }

    /// The arguments without a name as loops.
    fn loops(&self) -> Outcome<Vec<LoopRef>> {
        let mut found = Vec::new();
        for (name, node) in &self.instruction.args {
            if name.is_some() {
                continue;
            }
            match self.value(node)? {
                Value::Loop(of) => found.push(of),
                Value::List(items) => {
                    for item in items {
                        match item {
                            Value::Loop(of) => found.push(of),
                            _ => return refuse("TypeError: a loop is needed here"),
                        }
                    }
                }
                _ => return refuse("TypeError: a loop is needed here"),
            }
        }
        Ok(found)
    }

    fn either(&self, state: &mut State<'_>, place: usize, name: &str) -> Outcome<Result<BlockRef, LoopRef>> {
        let node = self.need(place, name)?;
        if let NodeKind::Str(_) = node.kind {
            return Ok(Ok(self.as_block(state, node)?));
        }
        match self.value(node)? {
            Value::Block(block) => Ok(Ok(block)),
            Value::Loop(of) => Ok(Err(of)),
            _ => refuse("TypeError: a block or a loop is needed here"),
        }
    }

    fn int(&self, place: usize, name: &str, default: Option<i64>) -> Outcome<i64> {
        let Some(node) = self.get(place, name) else {
            return match default {
                Some(value) => Ok(value),
                None => self.need(place, name).map(|_| 0),
            };
        };
        match self.value(node)? {
            Value::Int(value) => Ok(value),
            _ => refuse(format!("TypeError: `{name}` is a number")),
        }
    }

    fn text(&self, place: usize, name: &str) -> Outcome<&'a str> {
        match &self.need(place, name)?.kind {
            NodeKind::Str(text) => Ok(text),
            _ => refuse(format!("TypeError: `{name}` is a string")),
        }
    }

    fn factors(&self, state: &mut State<'_>, place: usize) -> Outcome<Vec<Option<PrimId>>> {
        let NodeKind::List(items) = &self.need(place, "factors")?.kind else {
            return refuse("TypeError: `factors` is a list");
        };
        let mut found = Vec::new();
        for item in items {
            found.push(match self.value(item)? {
                Value::Int(value) => Some(state.store.prim_int(value, DType::I32)),
                Value::None => None,
                _ => return refuse("TypeError: a factor is a number"),
            });
        }
        Ok(found)
    }

    /// The buffer that is meant by a number, `("write", 0)`, `"write"` or its name, and whether it is written.
    pub(super) fn buffer(&self, state: &mut State<'_>, block: BlockRef, place: usize, name: &str) -> Outcome<(i64, bool)> {
        let node = self.need(place, name)?;
        let known = |text: &str| match text {
            "read" => Some(false),
            "write" => Some(true),
            _ => None,
        };
        match &node.kind {
            NodeKind::Int(index) => Ok((*index, true)),
            NodeKind::List(items) => match items.as_slice() {
                [Node { kind: NodeKind::Str(which), .. }, Node { kind: NodeKind::Int(index), .. }] => match known(which) {
                    Some(writes) => Ok((*index, writes)),
                    None => refuse(format!("ValueError: expected \"read\" or \"write\", not \"{which}\"")),
                },
                _ => refuse("TypeError: a buffer is meant by (\"write\", 0)"),
            },
            NodeKind::Str(text) => {
                let (tree, at) = state.find_block(block)?;
                let data = state.block_at(&tree, at)?;
                for (writes, regions) in [(true, &data.writes), (false, &data.reads)] {
                    let of = regions.iter().position(|region| state.store.str(state.store.buffer(region.buffer).name) == text);
                    if let Some(index) = of {
                        return Ok((index as i64, writes));
                    }
                }
                match known(text) {
                    Some(writes) => Ok((0, writes)),
                    None => refuse(format!("ValueError: the block reads and writes no buffer `{text}`")),
                }
            }
            _ => refuse("TypeError: a buffer is meant by (\"write\", 0)"),
        }
    }

    /// A map of indices whose parameters are of the given types.
    pub(super) fn index_map(&self, state: &mut State<'_>, node: &Node, dtypes: &[DType]) -> Outcome<IndexMap> {
        let NodeKind::Lambda(params, body) = &node.kind else {
            // `T.index_map(lambda i: (i,))`
            if let NodeKind::Call(_, args) = &node.kind
                && let Some((_, inner)) = args.first()
            {
                return self.index_map(state, inner, dtypes);
            }
            return refuse("TypeError: an index map is a lambda");
        };
        let mut vars = Vec::new();
        let mut scope: FxHashMap<&str, PrimId> = FxHashMap::default();
        for (place, param) in params.iter().enumerate() {
            let dtype = dtypes.get(place).or(dtypes.first()).copied().unwrap_or(DType::I32);
            let (var, prim) = state.var(param, dtype);
            vars.push(var);
            scope.insert(param, prim);
        }
        let items = match &body.kind {
            NodeKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&**body),
        };
        let mut indices = Vec::new();
        for item in items {
            let wide = dtypes.first().copied().unwrap_or(DType::I32);
            let index = self.prim(state, item, &scope, wide)?;
            indices.push(index);
        }
        Ok(IndexMap { params: vars, indices })
    }

    /// An expression of a lambda.
    pub(super) fn prim(
        &self,
        state: &mut State<'_>,
        node: &Node,
        scope: &FxHashMap<&str, PrimId>,
        dtype: DType,
    ) -> Outcome<PrimId> {
        let store = &mut *state.store;
        Ok(match &node.kind {
            NodeKind::Int(value) => store.prim_int(*value, dtype),
            NodeKind::Float(value) => store.prim_float(*value, DType::F32),
            NodeKind::Bool(value) => store.prim_int(i64::from(*value), DType::BOOL),
            NodeKind::Name(name) => match scope.get(name.as_str()) {
                Some(prim) => *prim,
                None => match self.names.get(name) {
                    Some(Value::Int(value)) => store.prim_int(*value, dtype),
                    _ => return refuse(format!("NameError: name '{name}' is not defined")),
                },
            },
            NodeKind::Binary(op, a, b) => {
                let (a, b) = (self.prim(state, a, scope, dtype)?, self.prim(state, b, scope, dtype)?);
                binary(state.store, *op, a, b)
            }
            NodeKind::Neg(value) => {
                let value = self.prim(state, value, scope, dtype)?;
                crate::tir::negate(state.store, value)
            }
            NodeKind::Not(value) => {
                let value = self.prim(state, value, scope, dtype)?;
                math::not(state.store, value)
            }
            NodeKind::Call(name, args) => {
                let bare = name.rsplit('.').next().unwrap_or(name);
                let mut values = Vec::new();
                for (_, arg) in args {
                    let inner = DType::parse(bare).unwrap_or(dtype);
                    values.push(self.prim(state, arg, scope, inner)?);
                }
                let store = &mut *state.store;
                match (bare, values.as_slice()) {
                    ("floordiv", &[a, b]) => binary(store, PrimOp::FloorDiv, a, b),
                    ("floormod", &[a, b]) => binary(store, PrimOp::FloorMod, a, b),
                    ("truncdiv" | "Div", &[a, b]) => binary(store, PrimOp::Div, a, b),
                    ("truncmod", &[a, b]) => binary(store, PrimOp::Mod, a, b),
                    ("min" | "Min", &[a, b]) => binary(store, PrimOp::Min, a, b),
                    ("max" | "Max", &[a, b]) => binary(store, PrimOp::Max, a, b),
                    ("if_then_else" | "Select", &[cond, a, b]) => math::if_then_else(store, cond, a, b),
                    (dtype, &[value]) if DType::parse(dtype).is_some() => {
                        let dtype = DType::parse(dtype).unwrap_or(DType::I32);
                        crate::tir::cast(store, dtype, value)
                    }
                    ("Cast" | "cast", &[_, value]) => value,
                    _ => return refuse(format!("NameError: `{name}` is not known in an index map")),
                }
            }
            _ => return refuse("TypeError: an index is made of variables and numbers"),
        })
    }

    /// The value of an annotation.
    fn attr(&self, state: &mut State<'_>, node: &Node) -> Outcome<AttrValue> {
        Ok(match &node.kind {
            NodeKind::None => AttrValue::Null,
            NodeKind::Bool(value) => AttrValue::Bool(*value),
            NodeKind::Int(value) => AttrValue::Int { value: *value, bits: 64 },
            NodeKind::Float(value) => AttrValue::Float(Double(*value)),
            NodeKind::Str(text) => AttrValue::Str(state.store.name(text)),
            NodeKind::List(items) => {
                AttrValue::Array(items.iter().map(|item| self.attr(state, item)).collect::<Outcome<Vec<_>>>()?.into())
            }
            NodeKind::Dict(entries) => {
                let mut fields = Vec::new();
                for (key, value) in entries {
                    let NodeKind::Str(key) = &key.kind else { return refuse("TypeError: a key is a string") };
                    let value = self.attr(state, value)?;
                    fields.push((state.store.name(key), value));
                }
                AttrValue::Map(fields.into())
            }
            NodeKind::Name(_) => match self.value(node)? {
                Value::Int(value) => AttrValue::Int { value, bits: 64 },
                _ => return refuse("TypeError: Only strings, integers, floats, ExprRVs and Arrays are supported for now"),
            },
            NodeKind::Call(name, args) => match args.as_slice() {
                [(_, inner)] if DType::parse(name.trim_start_matches("T.")).is_some() => self.attr(state, inner)?,
                _ => {
                    let prim = self.prim(state, node, &FxHashMap::default(), DType::I32)?;
                    AttrValue::Dim(state.store.dim_of_prim(prim))
                }
            },
            _ => return refuse("TypeError: Only strings, integers, floats, ExprRVs and Arrays are supported for now"),
        })
    }

    fn apply(&self, state: &mut State<'_>) -> Outcome<Vec<Value>> {
        let none = Ok(Vec::new());
        let one = |value| Ok(vec![value]);
        let blocks = |all: Vec<BlockRef>| Ok(all.into_iter().map(Value::Block).collect());
        let loops = |all: Vec<LoopRef>| Ok(all.into_iter().map(Value::Loop).collect());
        match self.instruction.name.as_str() {
            "get_sblock" | "get_block" => {
                let func = match self.get(1, "func_name") {
                    Some(_) => Some(self.text(1, "func_name")?),
                    None => None,
                };
                one(Value::Block(state.get_block(self.text(0, "name")?, func)?))
            }
            "get_loops" => {
                let block = self.block(state, 0, "block")?;
                loops(state.get_loops(block)?)
            }
            "get_child_blocks" => {
                let name = if self.named("block").is_some() { "block" } else { "block_or_loop" };
                let of = self.either(state, 0, name)?;
                blocks(state.get_child_blocks(of)?)
            }
            name @ ("get_producers" | "get_consumers") => {
                let block = self.block(state, 0, "block")?;
                blocks(state.get_neighbours(block, name == "get_consumers")?)
            }
            "get_output_blocks" => {
                let block = self.block(state, 0, "scope_block")?;
                blocks(state.get_output_blocks(block)?)
            }
            "work_on" => match state.function_named(self.text(0, "func_name")?) {
                Some(at) => {
                    state.at = at;
                    none
                }
                None => refuse("ValueError: there is no such function in the module"),
            },
            "enter_postproc" | "remove_rv" => none,
            "split" => {
                let factors = self.factors(state, 1)?;
                let keep = self.int(2, "preserve_unit_iters", Some(1))? != 0;
                let no_predicate = self.int(3, "disable_predication", Some(0))? != 0;
                loops(state.split(self.loop_at(0, "loop")?, &factors, keep, no_predicate)?)
            }
            "fuse" => {
                let keep = self.named_int("preserve_unit_iters", 1)? != 0;
                one(Value::Loop(state.fuse(&self.loops()?, keep)?))
            }
            "reorder" => {
                state.reorder(&self.loops()?)?;
                none
            }
            "add_unit_loop" => {
                let of = self.either(state, 0, "block_or_loop")?;
                one(Value::Loop(state.add_unit_loop(of)?))
            }
            "parallel" => {
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Parallel)?;
                none
            }
            "vectorize" => {
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Vectorized)?;
                none
            }
            "unroll" => {
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Unrolled)?;
                none
            }
            "bind" => {
                let tag = state.store.name(self.text(1, "thread_axis")?);
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Thread(tag))?;
                none
            }
            "annotate" => {
                let value = self.attr(state, self.need(2, "ann_val")?)?;
                let of = self.either(state, 0, "block_or_loop")?;
                state.annotate(of, self.text(1, "ann_key")?, value)?;
                none
            }
            "unannotate" => {
                let of = self.either(state, 0, "block_or_loop")?;
                state.unannotate(of, self.text(1, "ann_key")?)?;
                none
            }
            "set_scope" => {
                let block = self.block(state, 0, "block")?;
                let (index, _) = self.buffer(state, block, 1, "buffer_index")?;
                state.set_scope(block, index, self.text(2, "storage_scope")?)?;
                none
            }
            "unsafe_set_dtype" => {
                let block = self.block(state, 0, "block")?;
                state.unsafe_set_dtype(block, self.int(1, "buffer_index", None)?, self.text(2, "dtype")?)?;
                none
            }
            "storage_align" => {
                let block = self.block(state, 0, "block")?;
                let number = |place, name| self.int(place, name, None);
                let (index, axis) = (number(1, "buffer_index")?, number(2, "axis")?);
                state.storage_align(block, index, axis, number(3, "factor")?, number(4, "offset")?)?;
                none
            }
            "transform_block_layout" => {
                let node = self.need(1, "index_map")?;
                let block = self.block(state, 0, "block")?;
                state.transform_block_layout(block, &|state, dtypes| self.index_map(state, node, dtypes))?;
                none
            }
            name @ ("compute_at" | "reverse_compute_at") => {
                let block = self.block(state, 0, "block")?;
                let (under, keep) = (self.loop_at(1, "loop")?, self.int(2, "preserve_unit_loops", Some(0))? != 0);
                state.compute_at(block, under, keep, self.int(3, "index", Some(-1))?, name == "reverse_compute_at")?;
                none
            }
            "decompose_reduction" => {
                let block = self.block(state, 0, "block")?;
                one(Value::Block(state.decompose_reduction(block, self.loop_at(1, "loop")?)?))
            }
            "rfactor" => one(Value::Block(state.rfactor(self.loop_at(0, "loop")?, self.int(1, "factor_axis", None)?)?)),
            name @ ("cache_read" | "cache_write") => {
                let block = self.block(state, 0, "block")?;
                let which = if name == "cache_read" { "read_buffer_index" } else { "write_buffer_index" };
                let index = self.cached(state, block, which, name == "cache_write")?;
                let scope = self.text(2, "storage_scope")?;
                let consumers = match self.get(3, "consumer_blocks") {
                    None => Vec::new(),
                    Some(Node { kind: NodeKind::List(items), .. }) => {
                        items.iter().map(|item| self.as_block(state, item)).collect::<Outcome<_>>()?
                    }
                    Some(node) => vec![self.as_block(state, node)?],
                };
                one(Value::Block(match name {
                    "cache_read" => state.cache_read(block, index, scope, &consumers)?,
                    _ => state.cache_write(block, index, scope, &consumers)?,
                }))
            }
            "loop_partition" => {
                let factors = self.factors(state, 1)?;
                loops(state.loop_partition(self.loop_at(0, "loop")?, &factors)?)
            }
            "merge" => one(Value::Loop(state.merge(&self.loops()?)?)),
            "compute_inline" => {
                let block = self.block(state, 0, "block")?;
                state.compute_inline(block)?;
                none
            }
            "reverse_compute_inline" => {
                let block = self.block(state, 0, "block")?;
                state.reverse_compute_inline(block)?;
                none
            }
            other => refuse(format!("NotImplementedError: the primitive `{other}` is not here yet")),
        }
    }

    /// The argument of a name.
    fn named(&self, name: &str) -> Option<&'a Node> {
        self.instruction.args.iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, node)| node)
    }

    /// The place of a buffer among those that a block reads or writes, by number or name.
    fn cached(&self, state: &mut State<'_>, block: BlockRef, name: &str, writes: bool) -> Outcome<i64> {
        match &self.need(1, name)?.kind {
            NodeKind::Str(text) => {
                let (tree, at) = state.find_block(block)?;
                let data = state.block_at(&tree, at)?;
                let regions = if writes { &data.writes } else { &data.reads };
                let of = regions.iter().position(|region| state.store.str(state.store.buffer(region.buffer).name) == text);
                match of {
                    Some(index) => Ok(index as i64),
                    None => refuse(format!("ValueError: the block accesses no buffer `{text}`")),
                }
            }
            _ => self.int(1, name, None),
        }
    }

    fn named_int(&self, name: &str, default: i64) -> Outcome<i64> {
        match self.instruction.args.iter().find(|(known, _)| known.as_deref() == Some(name)) {
            None => Ok(default),
            Some((_, node)) => match self.value(node)? {
                Value::Int(value) => Ok(value),
                _ => refuse(format!("TypeError: `{name}` is a number")),
            },
        }
    }
}
