//! Blocks: `with T.sblock("name"):` and the statements at their head.

use super::value::Value;
use super::{FrameKind, Node, Read, Reader};
use crate::ir::{
    AttrValue, Attrs, Block, Buffer, DType, DTypeCode, For, ForKind, Id, IterKind, IterVar, List, Name, PrimExpr, PrimId, Region,
    Stmt, StmtId, Symbol,
};
use crate::parse::script::tree::{Arg, Stmt as Line};
use crate::tir;

/// A block under way.
#[derive(Default)]
pub(super) struct Open {
    iters: Vec<IterVar>,
    pub(super) predicate: Option<PrimId>,
    pub(super) reads: Option<Vec<Region>>,
    pub(super) writes: Option<Vec<Region>>,
    pub(super) annotations: Vec<(Id<Name>, AttrValue)>,
    pub(super) allocs: Vec<Id<Buffer>>,
    pub(super) matches: Vec<(Id<Buffer>, Region)>,
    pub(super) init: Option<StmtId>,
    /// True for a block of 2021, whose variables are bound later: `T.bind(vi, i)`, or all of them by the loops.
    pub(super) unbound: bool,
}

impl Reader<'_, '_, '_> {
    /// Reads `with T.sblock("name", no_realize=True):`.
    pub(super) fn sblock(&mut self, args: &[Arg], target: Option<Id<Node>>, body: List<Line>, at: Id<Node>) -> Read<()> {
        let mut name = String::new();
        let mut bare = false;
        let mut domains = None;
        for (i, arg) in args.iter().enumerate() {
            match (arg.name().map(|name| self.tree.text(name)), i) {
                (None, 0) if matches!(self.tree.expr(arg.value), Node::List(_)) => domains = Some(arg.value),
                (Some("name" | "name_hint"), _) | (None, 0) => match self.value(arg.value)? {
                    Value::Str(text) => name = text.to_string(),
                    _ => return Err(self.error("tir-type", "the name of a block is a string", arg.value)),
                },
                (None, 1) if domains.is_some() => name = self.tree.string(arg.value).unwrap_or_default().into_owned(),
                (Some("no_realize"), _) | (None, 1) => bare = self.tree.bool(arg.value) == Some(true),
                (Some("exec_scope"), _) => {}
                _ => return Err(self.error("tir-syntax", "`T.sblock` takes a name and `no_realize=`", arg.value)),
            }
        }
        if !name.is_empty() {
            name.push_str(&self.state.suffix);
        }
        let name = self.name_of(&name);
        self.open_scope();
        self.open_frame(FrameKind::Block(Box::default()));
        let result = match domains {
            Some(domains) => self.old_domains(domains, target, at),
            None => Ok(()),
        };
        self.lines(body);
        let (body, kind) = self.close_frame();
        self.close_scope();
        result?;
        let FrameKind::Block(mut open) = kind else { return Ok(()) };
        let mut around = if open.unbound { self.follow_loops(&mut open.iters, at)? } else { Vec::new() };
        if bare && (open.iters.iter().any(|iter| iter.value.is_some()) || open.predicate.is_some()) {
            let what = if open.predicate.is_some() { "`T.where` is" } else { "Block bindings are" };
            return Err(self.error("tir-type", format!("{what} not allowed when `no_realize=True`"), at));
        }
        let mut fields = open.annotations;
        let mask = i64::from(open.reads.is_none()) | i64::from(open.writes.is_none()) << 1;
        if mask != 0 {
            let key = self.name_of(super::complete::MISSING);
            fields.push((key, AttrValue::Int { value: mask, bits: 64 }));
        }
        let key = self.name_of("DictAttrs");
        let annotations = (!fields.is_empty()).then(|| self.store.attrs(Attrs { key, fields: fields.into() }));
        let block = self.store.add_prim_block(Block {
            name,
            iters: open.iters.into(),
            predicate: open.predicate.filter(|predicate| self.store.as_prim_int(*predicate) != Some(1)),
            reads: open.reads.unwrap_or_default().into(),
            writes: open.writes.unwrap_or_default().into(),
            allocs: open.allocs.into(),
            matches: open.matches.into(),
            annotations,
            init: open.init,
            body,
            bare,
        });
        let mut stmt = Stmt::Block(block);
        while let Some(head) = around.pop() {
            stmt = Stmt::For(head, self.add(stmt));
        }
        self.push(stmt);
        Ok(())
    }

    /// Binds the variables of a block of 2021, where none is bound, to the loops around it, or to new ones, which are returned
    /// (`BlockScopeHandler` of `scope_handler.py` and `script_complete.cc` before TVM's #9286).
    fn follow_loops(&mut self, iters: &mut [IterVar], at: Id<Node>) -> Read<Vec<For>> {
        if let Some(free) = iters.iter().find(|iter| iter.value.is_none())
            && iters.iter().any(|iter| iter.value.is_some())
        {
            let name = self.store.str(self.store.symbol(free.var).name).to_owned();
            return Err(self.error("tir-block", format!("Missing block iter var binding for {name}"), at));
        }
        if iters.iter().all(|iter| iter.value.is_some()) {
            return Ok(Vec::new());
        }
        let frames = self.state.frames.iter().rev().take_while(|frame| !matches!(frame.kind, FrameKind::Block(_)));
        let around: Vec<&FrameKind> = frames.map(|frame| &frame.kind).collect();
        let loops = around.into_iter().rev().flat_map(|kind| if let FrameKind::Loops(loops) = kind { &loops[..] } else { &[] });
        let mut vars: Vec<Id<Symbol>> = loops.map(|(var, ..)| *var).collect();
        let mut made = Vec::new();
        if vars.is_empty() {
            for (index, iter) in iters.iter().enumerate() {
                let (name, dtype) = (self.name_of(&format!("i{index}")), self.store.symbol(iter.var).dtype);
                let var = self.store.add_symbol(Symbol { name, dtype, size: false });
                let (min, extent) = (iter.min, iter.extent);
                made.push(For { var, min, extent, step: None, kind: ForKind::Serial, annotations: None });
                vars.push(var);
            }
        }
        if vars.len() != iters.len() {
            let message = format!(
                "Number of block iter var and outer loop nesting mismatch, {} block iter vars but {} loops",
                iters.len(),
                vars.len()
            );
            return Err(self.error("tir-block", message, at));
        }
        for (iter, var) in iters.iter_mut().zip(vars) {
            iter.value = Some(self.store.prim(PrimExpr::Var(var)));
        }
        Ok(made)
    }

    /// Returns the block whose head is read: its frame is the innermost one.
    pub(super) fn head_of_block(&mut self, what: &str, at: Id<Node>) -> Read<&mut Open> {
        let inside = self.state.frames.iter().any(|frame| matches!(frame.kind, FrameKind::Block(_)));
        if !matches!(self.state.frames.last().map(|frame| &frame.kind), Some(FrameKind::Block(_))) {
            let message = if inside {
                format!("T.{what} must be called at the top of a T.sblock(), and here is something else around it")
            } else {
                format!(
                    "T.{what} must be called at the top of a T.sblock(), but T.{what} occurred outside of any T.sblock() frame"
                )
            };
            return Err(self.error("tir-block", message, at));
        }
        match self.state.frames.last_mut().map(|frame| &mut frame.kind) {
            Some(FrameKind::Block(open)) => Ok(open),
            _ => Err(super::Stop),
        }
    }

    /// Returns the innermost block that is open.
    pub(super) fn block(&mut self) -> Option<&mut Open> {
        self.state.frames.iter_mut().rev().find_map(|frame| match &mut frame.kind {
            FrameKind::Block(open) => Some(&mut **open),
            _ => None,
        })
    }

    /// Reads `T.reads(...)`, `T.where(p)` and so on, which belong to the block around.
    pub(super) fn head(&mut self, what: &str, args: &[Arg], at: Id<Node>) -> Read<()> {
        let duplicate = |reader: &mut Self, what: &str| {
            Err(reader.error("tir-block", format!("Duplicate {what} declaration: the block has one already"), at))
        };
        match (what, args) {
            ("reads", _) => {
                let regions = self.regions(args)?;
                match self.head_of_block(what, at)?.reads.replace(regions) {
                    Some(_) => duplicate(self, "read region"),
                    None => Ok(()),
                }
            }
            ("writes", _) => {
                let regions = self.regions(args)?;
                match self.head_of_block(what, at)?.writes.replace(regions) {
                    Some(_) => duplicate(self, "write region"),
                    None => Ok(()),
                }
            }
            ("where", [arg]) => {
                let predicate = match self.value(arg.value)? {
                    Value::Int(known @ (0 | 1)) => self.store.prim_int(known, DType::BOOL),
                    Value::Int(known) => {
                        return Err(self.error("tir-type", format!("Invalid value for predicate: {known}"), arg.value));
                    }
                    value => self.prim_from(&value, arg.value)?,
                };
                match self.head_of_block(what, at)?.predicate.replace(predicate) {
                    Some(_) => duplicate(self, "block predicate"),
                    None => Ok(()),
                }
            }
            (_, [arg]) => {
                let mut fields = self.entries(arg.value)?;
                let Some(open) = self.block() else {
                    let message =
                        "T.sblock_attr must be called at the top of a T.sblock() frame, but occurred outside of any such frame";
                    return Err(self.error("tir-block", message, at));
                };
                let mut known = std::mem::take(&mut open.annotations);
                let merged = fields.drain(..).try_for_each(|(key, value)| merge(&mut known, key, value));
                if let Some(open) = self.block() {
                    open.annotations = known;
                }
                merged.map_err(|key| {
                    let key = self.store.str(key).to_owned();
                    self.error("tir-block", format!("Try to merge two annotations with different values for key `{key}`"), at)
                })
            }
            _ => Err(self.error("tir-syntax", format!("`T.{what}` takes one argument"), at)),
        }
    }

    /// Reads `vi, vj = T.axis.remap("SR", [i, j])`, `vi = T.axis.spatial(n, i)`.
    pub(super) fn axis(&mut self, target: Id<Node>, kind: &str, args: &[Arg], at: Id<Node>) -> Read<()> {
        self.head_of_block(&format!("axis.{kind}"), at)?;
        if kind == "remap" {
            return self.remap(target, args, at);
        }
        let kind = match kind {
            "spatial" | "S" => IterKind::Spatial,
            "reduce" | "R" => IterKind::Reduce,
            "scan" => IterKind::Scan,
            "opaque" => IterKind::Opaque,
            _ => return Err(self.error("tir-syntax", format!("unknown kind of variable `{kind}`"), at)),
        };
        let (mut domain, mut binding, mut bits) = (None, None, DType::I32);
        for (i, arg) in args.iter().enumerate() {
            match (arg.name().map(|name| self.tree.text(name)), i) {
                (Some("dom"), _) | (None, 0) => domain = Some(arg.value),
                (Some("binding"), _) | (None, 1) => binding = Some(arg.value),
                (Some("dtype"), _) | (None, 2) => bits = self.dtype(arg.value)?,
                _ => return Err(self.error("tir-syntax", "a variable has a range, a value and a type", arg.value)),
            }
        }
        let Some(domain) = domain else { return Err(self.error("tir-syntax", "expected a range and a value", at)) };
        if binding.is_none() && self.state.strict {
            let message = format!("axis.{}() missing 1 required positional argument: 'binding'", kind_name(kind));
            return Err(self.error("tir-syntax", message, at));
        }
        let (min, extent) = self.domain(domain)?;
        let of = self.store.prim_dtype(extent);
        if of.code == DTypeCode::Float {
            let message = format!(
                "Check failed: (extent_ty.code() == DLDataTypeCode::kDLInt) is false: The dtype of the domain of an IterVar must \
                 be an integer type. However, the domain's dtype is {of}"
            );
            return Err(self.error("tir-type", message, at));
        }
        let binding = match binding {
            Some(binding) => Some(self.prim(binding)?),
            None => None,
        };
        let widest = [self.store.prim_dtype(min).bits, self.store.prim_dtype(extent).bits, bits.bits].into_iter().max();
        let dtype = DType { bits: widest.unwrap_or(32), ..bits };
        self.iter(target, kind, (min, extent), binding, dtype)
    }

    /// Reads `n` or `(a, b)` or `T.Range(a, b)`.
    pub(super) fn domain(&mut self, id: Id<Node>) -> Read<(PrimId, PrimId)> {
        let value = self.value(id)?;
        if let Value::Range(min, extent) = value {
            return Ok((min, extent));
        }
        if let Some(items) = value.items().cloned() {
            let [lower, upper] = &*items else {
                return Err(self.error("tir-syntax", "a range has a beginning and an end", id));
            };
            let (lower, upper) = (self.prim_from(lower, id)?, self.prim_from(upper, id)?);
            let extent = self.difference(lower, upper);
            if self.store.as_prim_int(extent).is_some() {
                return Ok((lower, extent));
            }
            let zero = self.store.as_prim_int(lower) == Some(0);
            let extent = if zero { upper } else { tir::binary(self.store, crate::ir::PrimOp::Sub, upper, lower) };
            return Ok((lower, extent));
        }
        let extent = self.prim_from(&value, id)?;
        Ok((self.store.prim_int(0, self.store.prim_dtype(extent)), extent))
    }

    fn remap(&mut self, target: Id<Node>, args: &[Arg], at: Id<Node>) -> Read<()> {
        let (Some(kinds), Some(values)) = (args.first(), args.get(1)) else {
            return Err(self.error("tir-syntax", "expected `T.axis.remap(\"SR\", [i, j])`", at));
        };
        let (kinds, list) = (self.value(kinds.value)?, self.value(values.value)?);
        let (Value::Str(kinds), Some(list)) = (kinds, list.items().cloned()) else {
            return Err(self.error("tir-syntax", "expected `T.axis.remap(\"SR\", [i, j])`", at));
        };
        if kinds.len() != list.len() {
            return Err(self.error("tir-syntax", "as many variables, kinds and loops are needed", at));
        }
        let targets = self.targets(target, list.len())?;
        let nodes = match self.tree.expr(values.value) {
            Node::List(items) | Node::Tuple(items) if items.len() == list.len() => self.tree.items(items).to_vec(),
            _ => vec![values.value; list.len()],
        };
        for ((name, (value, node)), kind) in targets.into_iter().zip(list.iter().zip(nodes)).zip(kinds.chars()) {
            let kind = match kind {
                'S' => IterKind::Spatial,
                'R' => IterKind::Reduce,
                _ => return Err(self.error("tir-syntax", format!("Unknown axis kind: {kind}"), at)),
            };
            let symbol = self.symbol_of(value);
            let range = symbol.and_then(|symbol| {
                self.state.frames.iter().find_map(|frame| match &frame.kind {
                    FrameKind::Loops(loops) => loops.iter().find(|(var, ..)| *var == symbol).copied(),
                    _ => None,
                })
            });
            let Some((var, min, extent)) = range else {
                let message = match symbol {
                    Some(symbol) => format!("Variable is not in the loop: {}", self.store.str(self.store.symbol(symbol).name)),
                    None => "Only Var is supported in T.axis.remap".to_owned(),
                };
                return Err(self.error("tir-type", message, node));
            };
            let dtype = self.store.symbol(var).dtype;
            let value = self.store.prim(PrimExpr::Var(var));
            self.named_iter(&name, kind, (min, extent), Some(value), dtype, target)?;
        }
        self.list_names(target, list.len())
    }

    /// Reads `vs, *rest = ...` and `vs = ...`, which name lists of variables, too.
    fn list_names(&mut self, target: Id<Node>, wanted: usize) -> Read<()> {
        let tree = self.tree;
        let items = match tree.expr(target) {
            Node::Tuple(items) | Node::List(items) => tree.items(items).to_vec(),
            _ if wanted == 1 => return Ok(()),
            _ => vec![target],
        };
        for item in &items {
            let (inner, many) = match tree.expr(*item) {
                Node::Starred(inner) => (inner, wanted + 1 - items.len()),
                _ if items.len() == 1 => (*item, wanted),
                _ => continue,
            };
            let Some(name) = tree.name(inner) else { continue };
            let values: Vec<Value> = (0..many).filter_map(|i| self.meaning(&format!("{name}_{i}")).cloned()).collect();
            self.define(name, Value::List(values.into()), inner)?;
        }
        Ok(())
    }

    /// Returns the names of a target for so many values; of `a, *b` the second gets numbered ones.
    fn targets(&mut self, target: Id<Node>, wanted: usize) -> Read<Vec<String>> {
        let tree = self.tree;
        let items = match tree.expr(target) {
            Node::Tuple(items) | Node::List(items) => tree.items(items).to_vec(),
            _ if wanted == 1 => vec![target],
            _ => match tree.name(target) {
                Some(name) => {
                    let names: Vec<String> = (0..wanted).map(|i| format!("{name}_{i}")).collect();
                    return Ok(names);
                }
                None => return Err(self.error("tir-syntax", "expected a name", target)),
            },
        };
        let stars = items.iter().filter(|item| matches!(tree.expr(**item), Node::Starred(_))).count();
        if stars > 1 || (stars == 0 && items.len() != wanted) || items.len() > wanted + stars {
            return Err(self.error("tir-syntax", "as many variables, kinds and loops are needed", target));
        }
        let mut names = Vec::with_capacity(wanted);
        for item in &items {
            let (inner, many) = match tree.expr(*item) {
                Node::Starred(inner) => (inner, wanted + 1 - items.len()),
                _ => (*item, 0),
            };
            let Some(name) = tree.name(inner) else { return Err(self.error("tir-syntax", "expected a name", inner)) };
            match tree.expr(*item) {
                Node::Starred(_) => names.extend((0..many).map(|i| format!("{name}_{i}"))),
                _ => names.push(name.to_owned()),
            }
        }
        Ok(names)
    }

    fn iter(
        &mut self,
        target: Id<Node>,
        kind: IterKind,
        range: (PrimId, PrimId),
        value: Option<PrimId>,
        dtype: DType,
    ) -> Read<()> {
        match self.tree.name(target) {
            Some(name) => self.named_iter(name, kind, range, value, dtype, target),
            None => Err(self.error("tir-syntax", "expected a name", target)),
        }
    }

    pub(super) fn named_iter(
        &mut self,
        name: &str,
        kind: IterKind,
        (min, extent): (PrimId, PrimId),
        value: Option<PrimId>,
        dtype: DType,
        at: Id<Node>,
    ) -> Read<()> {
        let var = self.new_symbol(name, dtype);
        let prim = self.store.prim(PrimExpr::Var(var));
        self.define(name, Value::Prim(prim), at)?;
        if let Some(open) = self.block() {
            open.iters.push(IterVar { var, kind, min, extent, value });
        }
        Ok(())
    }

    /// Reads `T.bind(vi, i)`: the value of a block's variable, as in 2021.
    pub(super) fn bind_iter(&mut self, symbol: Id<crate::ir::Symbol>, value: PrimId) -> bool {
        let Some(open) = self.block() else { return false };
        match open.iters.iter_mut().find(|iter| iter.var == symbol && iter.value.is_none()) {
            Some(iter) => {
                iter.value = Some(value);
                true
            }
            None => false,
        }
    }
}

/// Returns the name that TVM's scripts have for a kind of variable.
fn kind_name(kind: IterKind) -> &'static str {
    match kind {
        IterKind::Spatial => "spatial",
        IterKind::Reduce => "reduce",
        IterKind::Scan => "scan",
        IterKind::Opaque => "opaque",
    }
}

/// Adds an annotation to others: maps become one, and of a key that has another value the key is given back.
fn merge(known: &mut Vec<(Id<Name>, AttrValue)>, key: Id<Name>, value: AttrValue) -> Result<(), Id<Name>> {
    match (known.iter_mut().find(|(name, _)| *name == key).map(|(_, old)| old), value) {
        (None, value) => known.push((key, value)),
        (Some(AttrValue::Map(old)), AttrValue::Map(new)) => {
            let mut fields = std::mem::take(old).into_vec();
            let merged = new.into_iter().try_for_each(|(key, value)| merge(&mut fields, key, value));
            *old = fields.into();
            merged?;
        }
        (Some(old), value) if *old == value => {}
        _ => return Err(key),
    }
    Ok(())
}
