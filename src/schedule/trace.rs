//! Instructions as a trace has them, applied to a state.

use super::state::{BlockRef, LoopRef, State};
use super::tree::What;
use super::{Outcome, Refused, refuse};
use crate::diag::Span;
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, DType, Double, PrimId, PrimOp};
use crate::parse::trace::{Instruction, Node, NodeKind};
use crate::tir::index_map::IndexMap;
use crate::tir::{binary, math};
use rustc_hash::FxHashMap;

/// The meaning of a name in a trace.
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
    /// The number of instructions that were applied before.
    pub done: usize,
    /// Its place in the text.
    pub span: Span,
    /// The reason.
    pub message: String,
}

/// Applies instructions in their order, until one is refused. Each that changes the program is a rewrite; without fuel for
/// another one the rest is left out.
pub fn apply_trace(state: &mut State<'_>, trace: &[Instruction]) -> Result<(), Failure> {
    let mut tracer = Tracer::default();
    for (done, instruction) in trace.iter().enumerate() {
        if !state.store.log.has_fuel() && !state.store.makes_products() {
            return Ok(());
        }
        let applied = tracer.apply(state, instruction);
        applied.map_err(|Refused(message)| Failure { done, span: instruction.span, message })?;
    }
    Ok(())
}

/// The item of a list at an index, which may count from its end.
fn picked(values: &[Value], at: i64) -> Outcome<Value> {
    let at = if at < 0 { at + values.len() as i64 } else { at };
    match usize::try_from(at).ok().and_then(|at| values.get(at).cloned()) {
        Some(value) => Ok(value),
        None => refuse("IndexError: list index out of range"),
    }
}

/// The meanings of the names of a trace, as far as it was applied.
#[derive(Clone, Default)]
pub struct Tracer {
    names: FxHashMap<String, Value>,
}

impl Tracer {
    /// Applies an instruction and those among its arguments; what it gives gets its names.
    pub fn apply(&mut self, state: &mut State<'_>, instruction: &Instruction) -> Outcome<()> {
        for nested in &instruction.nested {
            self.apply_one(state, nested)?;
        }
        self.apply_one(state, instruction)
    }

    fn apply_one(&mut self, state: &mut State<'_>, instruction: &Instruction) -> Outcome<()> {
        let names = &mut self.names;
        let call = Call { instruction, names };
        let mut values = state.recorded(&instruction.name, |state| call.apply(state))?;
        if let Some(pick) = instruction.pick {
            values = vec![picked(&values, pick)?];
        }
        let outs = &instruction.outs;
        let wrong = |n: usize| refuse(format!("ValueError: {n} results for {} names", outs.len()));
        if let [one] = &outs[..] {
            match (one.strip_prefix('*'), one.strip_suffix(',')) {
                (Some(rest), _) => names.insert(rest.to_owned(), Value::List(values)),
                (_, Some(only)) if values.len() == 1 => names.insert(only.to_owned(), values.remove(0)),
                (_, Some(_)) => return wrong(values.len()),
                _ if values.len() == 1 => names.insert(one.clone(), values.remove(0)),
                _ => names.insert(one.clone(), Value::List(values)),
            };
            return Ok(());
        }
        if let Some(at) = outs.iter().position(|out| out.starts_with('*')) {
            if values.len() + 1 < outs.len() {
                return wrong(values.len());
            }
            let end = values.len() + 1 - (outs.len() - at);
            let rest: Vec<Value> = values.splice(at..end, [Value::None]).collect();
            values[at] = Value::List(rest);
        }
        match values.len() == outs.len() || outs.is_empty() {
            true => names.extend(outs.iter().map(|out| out.trim_start_matches('*').to_owned()).zip(values)),
            false => return wrong(values.len()),
        }
        Ok(())
    }

    /// The names of loops and blocks that are still there: of each the last that it was given.
    pub fn handles(&self, state: &State<'_>) -> Vec<(String, What)> {
        let mut found: Vec<(String, What)> = Vec::new();
        let mut names: Vec<_> = self.names.iter().collect();
        sort_by(&mut names, |a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.0.cmp(b.0)));
        for (name, value) in names {
            match value {
                // It has no name in the text.
                _ if name.starts_with(' ') => {}
                Value::Block(block) => found.push((name.clone(), What::Block(state.block_id(*block)))),
                Value::Loop(of) => found.push((name.clone(), What::Loop(of.var))),
                _ => {}
            }
        }
        found
    }

    /// The number of results that a name stands for: -1 for one loop or block, -2 for a number.
    pub fn count(&self, name: &str) -> i32 {
        match self.names.get(name) {
            Some(Value::List(items)) => items.len() as i32,
            Some(Value::Int(_)) => -2,
            Some(_) => -1,
            None => 0,
        }
    }

    /// True if a name stands for anything.
    pub fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }
}

/// An instruction, and what names stand for.
pub(super) struct Call<'a> {
    pub(super) instruction: &'a Instruction,
    names: &'a FxHashMap<String, Value>,
}

/// TVM's Python looks names up for some primitives only.
fn handle_needed(name: &str) -> String {
    format!("TypeError: a string is no block or loop here; get the block first: `b0 = sch.get_sblock(\"{name}\")`")
}

impl<'a> Call<'a> {
    /// The argument of a name, or at a place.
    pub(super) fn get(&self, place: usize, name: &str) -> Option<&'a Node> {
        let named = self.instruction.args.iter().find(|(known, _)| known.as_deref() == Some(name));
        let placed = || self.instruction.args.iter().filter(|(known, _)| known.is_none()).nth(place);
        named.or_else(placed).map(|(_, node)| node).filter(|node| !matches!(node.kind, NodeKind::None))
    }

    pub(super) fn need(&self, place: usize, name: &str) -> Outcome<&'a Node> {
        match self.get(place, name) {
            Some(node) => Ok(node),
            None => refuse(format!("TypeError: {}() needs the argument `{name}`", self.instruction.name)),
        }
    }

    pub(super) fn value(&self, node: &Node) -> Outcome<Value> {
        match &node.kind {
            NodeKind::Name(name) => match self.names.get(name) {
                Some(value) => Ok(value.clone()),
                None => refuse(format!("NameError: name '{name}' is not defined")),
            },
            NodeKind::Int(value) => Ok(Value::Int(*value)),
            NodeKind::Bool(value) => Ok(Value::Int(i64::from(*value))),
            NodeKind::None => Ok(Value::None),
            NodeKind::List(items) => {
                let mut all = Vec::new();
                for item in items {
                    match &item.kind {
                        NodeKind::Starred(inner) => match self.value(inner)? {
                            Value::List(items) => all.extend(items),
                            one => all.push(one),
                        },
                        _ => all.push(self.value(item)?),
                    }
                }
                Ok(Value::List(all))
            }
            NodeKind::Slice(of, lower, upper) => {
                let values = match self.value(of)? {
                    Value::List(items) => items,
                    one => vec![one],
                };
                let len = values.len() as i64;
                let place = |at: i64| (if at < 0 { at + len } else { at }).clamp(0, len) as usize;
                let (from, to) = (place(lower.unwrap_or(0)), place(upper.unwrap_or(len)));
                Ok(Value::List(values.get(from..to).unwrap_or_default().to_vec()))
            }
            NodeKind::Item(of, at) => match self.value(of)? {
                Value::List(items) => picked(&items, *at),
                Value::Block(_) | Value::Loop(_) if matches!(at, 0 | -1) => self.value(of),
                _ => refuse("TypeError: only a list has items"),
            },
            NodeKind::Binary(op, a, b) => match (self.value(a)?, self.value(b)?) {
                (Value::Int(a), Value::Int(b)) => match op.fold(a, b) {
                    Some(value) => Ok(Value::Int(value)),
                    None => refuse("ValueError: the number cannot be computed"),
                },
                (Value::List(mut a), Value::List(b)) if *op == PrimOp::Add => {
                    a.extend(b);
                    Ok(Value::List(a))
                }
                _ => refuse("TypeError: numbers are needed here"),
            },
            NodeKind::Neg(of) => match self.value(of)? {
                Value::Int(value) => Ok(Value::Int(value.wrapping_neg())),
                _ => refuse("TypeError: a number is needed here"),
            },
            NodeKind::Str(name) => refuse(handle_needed(name)),
            _ => refuse("TypeError: a block, a loop or a number is needed here"),
        }
    }

    /// A block, by its handle or by its name.
    pub(super) fn as_block(&self, state: &mut State<'_>, node: &Node) -> Outcome<BlockRef> {
        if let NodeKind::Str(name) = &node.kind {
            return state.get_block(name, None);
        }
        match self.value(node)? {
            Value::Block(block) => Ok(block),
            _ => refuse("TypeError: a block is needed here"),
        }
    }

    pub(super) fn block(&self, state: &mut State<'_>, place: usize, name: &str) -> Outcome<BlockRef> {
        let node = self.get(place, name).map_or_else(|| self.need(place, "block"), Ok)?;
        self.as_block(state, node)
    }

    /// A block by its handle alone, where TVM takes no name.
    pub(super) fn block_handle(&self, place: usize, name: &str) -> Outcome<BlockRef> {
        match self.value(self.need(place, name)?)? {
            Value::Block(block) => Ok(block),
            _ => refuse("TypeError: a block is needed here"),
        }
    }

    pub(super) fn as_loop(&self, node: &Node) -> Outcome<LoopRef> {
        match self.value(node)? {
            Value::Loop(of) => Ok(of),
            _ => refuse("TypeError: a loop is needed here"),
        }
    }

    pub(super) fn loop_at(&self, place: usize, name: &str) -> Outcome<LoopRef> {
        self.as_loop(self.need(place, name)?)
    }

    /// The arguments without a name as loops.
    pub(super) fn loops(&self) -> Outcome<Vec<LoopRef>> {
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

    pub(super) fn either(&self, place: usize, name: &str) -> Outcome<Result<BlockRef, LoopRef>> {
        match self.value(self.need(place, name)?)? {
            Value::Block(block) => Ok(Ok(block)),
            Value::Loop(of) => Ok(Err(of)),
            _ => refuse("TypeError: a block or a loop is needed here"),
        }
    }

    pub(super) fn int(&self, place: usize, name: &str, default: Option<i64>) -> Outcome<i64> {
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

    /// A list of numbers.
    pub(super) fn ints(&self, place: usize, name: &str) -> Outcome<Vec<i64>> {
        match &self.need(place, name)?.kind {
            NodeKind::List(items) => self.all_ints(items, name),
            _ => refuse(format!("TypeError: `{name}` is a list of numbers")),
        }
    }

    pub(super) fn all_ints(&self, items: &[Node], name: &str) -> Outcome<Vec<i64>> {
        let mut found = Vec::new();
        for item in items {
            match self.value(item)? {
                Value::Int(value) => found.push(value),
                _ => return refuse(format!("TypeError: `{name}` is a list of numbers")),
            }
        }
        Ok(found)
    }

    pub(super) fn text(&self, place: usize, name: &str) -> Outcome<&'a str> {
        match &self.need(place, name)?.kind {
            NodeKind::Str(text) => Ok(text),
            _ => refuse(format!("TypeError: `{name}` is a string")),
        }
    }

    pub(super) fn factors(&self, state: &mut State<'_>, place: usize) -> Outcome<Vec<Option<PrimId>>> {
        let Value::List(items) = self.value(self.need(place, "factors")?)? else {
            return refuse("TypeError: `factors` is a list");
        };
        let mut found = Vec::new();
        for item in items {
            found.push(match item {
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
            if let NodeKind::IndexMap(map) = &node.kind {
                return Ok(map.clone());
            }
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
        let mut todo = vec![&**body];
        let mut items = Vec::new();
        // Ranges are pairs in a list.
        while let Some(node) = todo.pop() {
            match &node.kind {
                NodeKind::List(inner) => todo.extend(inner.iter().rev()),
                _ => items.push(node),
            }
        }
        let mut indices = Vec::new();
        for item in items {
            let wide = dtypes.first().copied().unwrap_or(DType::I32);
            let index = self.prim(state, item, &scope, wide)?;
            indices.push(index);
        }
        Ok(IndexMap { params: vars, indices })
    }

    /// The value of padding: a number, or a lambda over the new indices; a number is one of the buffer's type.
    pub(super) fn pad_value(&self, state: &mut State<'_>, node: Option<&Node>, dtype: DType, index: DType) -> Outcome<IndexMap> {
        let Some(node) = node else { return refuse("TypeError: there is no value for the padding") };
        let bare = if let NodeKind::Lambda(_, body) = &node.kind { body } else { node };
        match bare.kind {
            NodeKind::Int(_) | NodeKind::Float(_) => {
                let value = match bare.kind {
                    NodeKind::Int(value) => state.store.prim_int(value, if dtype.is_float() { DType::I32 } else { dtype }),
                    NodeKind::Float(value) => state.store.prim_float(value, if dtype.is_float() { dtype } else { DType::F32 }),
                    _ => return refuse("TypeError: the value of padding is a number"),
                };
                Ok(IndexMap { params: Vec::new(), indices: vec![value] })
            }
            _ if std::ptr::eq(bare, node) && !matches!(node.kind, NodeKind::IndexMap(_)) => {
                let value = self.prim(state, node, &FxHashMap::default(), dtype)?;
                Ok(IndexMap { params: Vec::new(), indices: vec![value] })
            }
            _ => self.index_map(state, node, &[index]),
        }
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
    pub(super) fn attr(&self, state: &mut State<'_>, node: &Node) -> Outcome<AttrValue> {
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

    /// The argument of a name.
    pub(super) fn named(&self, name: &str) -> Option<&'a Node> {
        self.instruction.args.iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, node)| node)
    }

    /// The place of a buffer among those that a block reads or writes, by number or name.
    pub(super) fn cached(&self, state: &mut State<'_>, block: BlockRef, name: &str, writes: bool) -> Outcome<i64> {
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

    pub(super) fn named_int(&self, name: &str, default: i64) -> Outcome<i64> {
        match self.instruction.args.iter().find(|(known, _)| known.as_deref() == Some(name)) {
            None => Ok(default),
            Some((_, node)) => match self.value(node)? {
                Value::Int(value) => Ok(value),
                _ => refuse(format!("TypeError: `{name}` is a number")),
            },
        }
    }
}
