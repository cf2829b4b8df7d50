//! Converts older spellings, from 2021 on, to today's. Reports each kind once, with today's spelling.

use super::value::Value;
use super::{Def, Node, Read, Reader, decorator};
use crate::diag::{Diagnostic, Fix, Span};
use crate::ir::{DType, Id, IterKind, List, PrimExpr, PrimId, Stmt};
use crate::parse::effort::spend;
use crate::parse::script::tree::{Arg, Stmt as Line, Tree, WithItem};

/// The names that only old texts have after `T.`.
const MARKS: &[&str] = &[
    "block",
    "block_attr",
    "allocate",
    "allocate_const",
    "realize",
    "buffer_decl",
    "preflattened_buffer",
    "LetStmt",
    "ret",
    "SizeVar",
    "load",
    "store",
    "reduce_axis",
    "match_buffer_region",
    "tvm_call_packed",
    "ptx_mma",
    "ptx_ldmatrix",
    "mma_store",
    "mma_fill",
    "ptx_cp_async",
    "ptx_commit_group",
    "ptx_wait_group",
    "alloc_block",
];

/// Returns the expressions of a function.
fn inside(def: &Def) -> impl Iterator<Item = Id<Node>> + use<> {
    (def.exprs.0 as usize..def.exprs.1 as usize).map(Id::from_index).inspect(|_| spend(1))
}

/// Returns the name after `T.` in an expression.
fn behind<'s>(tree: &Tree<'s>, id: Id<Node>) -> Option<(&'s str, &'s str)> {
    let Node::Attribute { .. } = tree.expr(id) else { return None };
    let (head, rest) = tree.dotted(id)?.split_once('.')?;
    matches!(head, "T" | "tir" | "ty").then_some((head, rest))
}

/// True if a text imports tensor programs as TVM did before they were `tirx`.
fn imports_old(source: &str) -> bool {
    spend(source.len());
    source.lines().any(|line| {
        let line = line.trim_start_matches(['#', ' ']);
        ["from tvm.script import tir", "import tvm.script.tir", "from tvm.script import ty", "from tvm.script.parser import tir"]
            .into_iter()
            .any(|known| line.strip_prefix(known).is_some_and(|rest| !rest.starts_with('x')))
    })
}

/// True if a function is written in the way of a TVM before 0.27.
pub(super) fn is_old(tree: &Tree<'_>, def: &Def) -> bool {
    let decorated =
        tree.items(def.decorators).iter().any(|id| decorator(tree, *id).is_some_and(|name| name.contains("script.tir")));
    *tree.older.get_or_init(|| imports_old(tree.source))
        || decorated
        || inside(def).any(|id| match tree.expr(id) {
            Node::Attribute { .. } => {
                behind(tree, id).is_some_and(|(head, rest)| matches!(head, "tir" | "ty") || MARKS.contains(&rest))
            }
            Node::Subscript { value, .. } => behind(tree, value).is_some_and(|(_, rest)| matches!(rest, "Buffer" | "Ptr")),
            // Attributes of functions: `tir.noalias`.
            Node::Str => tree.text(tree.span(id)).trim_start_matches(['"', '\'']).starts_with("tir."),
            _ => false,
        })
}

/// True if a function has blocks, or buffers of blocks.
pub(super) fn has_blocks(tree: &Tree<'_>, def: &Def) -> bool {
    inside(def).any(|id| behind(tree, id).is_some_and(|(_, rest)| matches!(rest, "sblock" | "sblock_alloc_buffer" | "block")))
}

/// Edits that give every `T.Buffer[...]` of a text parentheses for brackets.
fn parenthesised(tree: &Tree<'_>) -> Vec<(Span, String)> {
    let mut edits = Vec::new();
    for id in (0..tree.len()).map(Id::from_index) {
        if let Node::Subscript { value, .. } = tree.expr(id)
            && behind(tree, value).is_some_and(|(_, rest)| rest == "Buffer")
        {
            let (open, end) = (tree.span(value).end, tree.span(id).end);
            edits.push((Span { start: open, end: open + 1 }, "(".to_owned()));
            edits.push((Span { start: end - 1, end }, ")".to_owned()));
        }
    }
    crate::ir::sort::sort_by(&mut edits, |a, b| a.0.cmp(&b.0));
    edits
}

impl<'s> Reader<'_, 's, '_> {
    /// Reports once that a construct is in the notation of older versions of TVM.
    #[cold]
    pub(super) fn old(&mut self, message: &str, at: Id<Node>) {
        let span = self.span(at);
        self.old_at(message, span);
    }

    #[cold]
    pub(super) fn old_at(&mut self, message: &str, span: Span) {
        if !self.diagnostics.iter().any(|known| known.code == "tir-old" && known.message == message) {
            self.diagnostics.push(Diagnostic::note("tir-old", message, span));
        }
    }

    /// Reports a feature that was removed without a replacement.
    #[cold]
    fn gone(&mut self, message: &str, at: Id<Node>) -> super::Stop {
        self.error("tir-gone", message, at)
    }

    /// Reads `T.Buffer[(n,), "float32"]`, `T.Ptr[T.float32]`.
    pub(super) fn old_subscript(&mut self, value: Id<Node>, items: List<Id<Node>>, at: Id<Node>) -> Read<Option<Value>> {
        match self.intrinsic(value) {
            Some("Buffer") => {
                let args = self.old_buffer_args(items, at);
                let data = self.declared("buffer", &args, "Buffer", false, at)?.buffer;
                let buffer = self.store.add_buffer(data);
                self.state.announced.insert(buffer);
                Ok(Some(Value::Buffer(buffer)))
            }
            Some("Ptr" | "handle") => {
                self.old("`T.Ptr[...]` is the spelling of TVM 0.10; today `T.handle(\"float32\", \"global\")`", at);
                let args: Vec<Arg> = self.flat(items).into_iter().map(Arg::positional).collect();
                self.pointer(&args, at).map(|dtype| Some(Value::Fresh(dtype)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the arguments of `T.Buffer[(n,), "float32"]`.
    pub(super) fn old_buffer_args(&mut self, items: List<Id<Node>>, at: Id<Node>) -> Vec<Arg> {
        const OLD: &str = "`T.Buffer[(n,), \"float32\"]` is the spelling of TVM 0.10; today `T.Buffer((n,), \"float32\")`";
        self.old(OLD, at);
        if let Some(note) = self.diagnostics.last_mut().filter(|note| note.message == OLD && note.fixes.is_empty()) {
            note.fixes.push(Fix { title: "Write it as today".to_owned(), edits: parenthesised(self.tree), asks: Vec::new() });
        }
        let items = self.tree.items(items).to_vec();
        let pair = match items[..] {
            [only] => match self.tree.expr(only) {
                Node::Tuple(inner) => self.tree.items(inner).to_vec(),
                _ => items.clone(),
            },
            _ => items.clone(),
        };
        // A tuple of extents alone has no type behind it.
        let typed = pair.get(1).is_some_and(|id| self.tree.string(*id).is_some());
        let args = if typed { pair } else { items };
        args.into_iter().map(Arg::positional).collect()
    }

    /// Reads `with tir.block([m, tir.reduce_axis(0, k)], "C") as [vi, vk]:`.
    pub(super) fn old_domains(&mut self, domains: Id<Node>, target: Option<Id<Node>>, at: Id<Node>) -> Read<()> {
        self.old(
            "`tir.block([m, n], \"C\") as [vi, vj]` is the spelling of 2021; today `T.sblock(\"C\")` and `T.axis.remap`",
            at,
        );
        let Node::List(items) = self.tree.expr(domains) else { return Ok(()) };
        let items = self.tree.items(items).to_vec();
        let names = match target.map(|target| (target, self.tree.expr(target))) {
            Some((_, Node::List(names) | Node::Tuple(names))) => self.tree.items(names).to_vec(),
            Some((target, _)) => vec![target],
            None => Vec::new(),
        };
        if names.len() != items.len() {
            return Err(self.error("tir-syntax", "a block has as many variables as ranges", domains));
        }
        for (item, name) in items.into_iter().zip(names) {
            let mut kind = IterKind::Spatial;
            let mut range = None;
            if let Node::Call { callee, args } = self.tree.expr(item) {
                let args = self.tree.args(args).to_vec();
                kind = match self.intrinsic(callee) {
                    Some("reduce_axis") => IterKind::Reduce,
                    Some("scan_axis") => IterKind::Scan,
                    Some("opaque_axis") => IterKind::Opaque,
                    _ => IterKind::Spatial,
                };
                let ranged = kind != IterKind::Spatial || matches!(self.intrinsic(callee), Some("range"));
                range = match args[..] {
                    [extent] if ranged => Some((None, extent.value)),
                    [begin, end] if ranged => Some((Some(begin.value), end.value)),
                    _ => None,
                };
            }
            let (min, extent) = match range {
                Some((Some(begin), end)) => {
                    let (begin, end) = (self.prim(begin)?, self.prim(end)?);
                    (begin, self.difference(begin, end))
                }
                Some((None, end)) => self.domain(end)?,
                None => self.domain(item)?,
            };
            let Some(text) = self.tree.name(name) else { return Err(self.error("tir-syntax", "expected a name", name)) };
            let dtype = self.store.prim_dtype(extent);
            self.named_iter(text, kind, (min, extent), None, dtype, name)?;
        }
        if let Some(open) = self.block() {
            open.unbound = true;
        }
        Ok(())
    }

    /// Reads forms of `with` that TVM no longer has.
    pub(super) fn old_with(
        &mut self,
        name: &str,
        args: &[Arg],
        item: &WithItem,
        rest: &[WithItem],
        body: List<Line>,
    ) -> Read<()> {
        let at = item.context;
        let target = item.target.and_then(|target| self.tree.name(target));
        match (name, args) {
            ("allocate", _) => {
                let value = self.allocate(target.unwrap_or("buffer"), args, at)?;
                if let Some(target) = target {
                    self.define(target, value, at)?;
                }
                self.with(rest, body)
            }
            ("LetStmt", _) => {
                self.old("`with T.LetStmt(value) as x:` is the spelling of TVM 0.24; today `x: T.let = value`", at);
                let value = self.bind_call(target, args, at)?;
                if let Some(target) = target {
                    self.define(target, Value::Prim(value), at)?;
                }
                self.with(rest, body)
            }
            ("let", [var, value]) => {
                self.old("`with T.let(x, value):` is the spelling of TVM 0.10; today `x: T.let = value`", at);
                let known = self.value(var.value)?;
                let value = self.prim(value.value)?;
                let Some(var) = self.symbol_of(&known) else {
                    return Err(self.error("tir-type", "only a variable can be bound", var.value));
                };
                self.push(Stmt::Bind { var, value });
                self.with(rest, body)
            }
            ("Assert" | "assert", [cond, message]) => {
                let cond = self.prim(cond.value)?;
                let text = self.tree.string(message.value).unwrap_or_default();
                let (kind, part) = (self.name_of("RuntimeError"), self.name_of(&text));
                self.push(Stmt::Assert { cond, kind, parts: [part].into() });
                self.with(rest, body)
            }
            ("decl_buffer" | "alloc_buffer" | "Buffer", _) => {
                if let Some(target) = target {
                    self.state.hint = Some(target.to_owned());
                    let value = self.intrinsic_call(name, args, at)?;
                    self.define(target, value, at)?;
                }
                self.with(rest, body)
            }
            ("While" | "If" | "Then" | "Else" | "For", _) => {
                Err(self.error("tir-syntax", format!("`T.{name}` is written as Python's own statement"), at))
            }
            ("realize", [region, ..]) => {
                self.realize(region.value, at)?;
                self.with(rest, body)
            }
            ("allocate_const", _) => {
                let value = self.allocate_const(target.unwrap_or("constant"), args, at)?;
                if let Some(target) = target {
                    self.define(target, value, at)?;
                }
                self.with(rest, body)
            }
            ("prefetch", _) => Err(self.gone("`T.prefetch` as a statement is gone", at)),
            _ => {
                if name.is_empty() {
                    return Err(self.error("tir-syntax", "Invalid context expression in the with-statement.", at));
                }
                // A name of the device dialect says so; others open nothing.
                if self.intrinsic_call(name, args, at).is_err() {
                    return Err(super::Stop);
                }
                Err(self.error("tir-syntax", format!("`T.{name}` opens no block"), at))
            }
        }
    }

    /// Reads `A = T.allocate([128], "float32", "global")`.
    fn allocate(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        self.old("`T.allocate` is the spelling of TVM 0.24 and before; today `T.alloc_buffer`", at);
        let names = ["extents", "dtype", "scope", "condition", "annotations"];
        let mut given = [None; 5];
        for (i, arg) in args.iter().enumerate() {
            let place = match arg.name().map(|name| self.tree.text(name)) {
                Some(name) => names.iter().position(|known| *known == name),
                None => Some(i).filter(|i| *i < names.len()),
            };
            match place {
                Some(place) => given[place] = Some(arg.value),
                None => return Err(self.error("tir-syntax", "`T.allocate` takes no such argument", arg.value)),
            }
        }
        let Some(extents) = given[0] else { return Err(self.error("tir-syntax", "a buffer needs a shape", at)) };
        let shape = self.extents(extents, false)?;
        let dtype = match given[1] {
            Some(dtype) => self.dtype(dtype)?,
            None => DType::F32,
        };
        let scope = given[2].and_then(|scope| self.tree.string(scope)).filter(|text| !text.is_empty());
        let annotations = match given[4] {
            Some(annotations) => self.dict(annotations)?,
            None => None,
        };
        let (hint, scope) = (self.name_of(name), self.name_of(scope.as_deref().unwrap_or("global")));
        let buffer = self.store.add_buffer(crate::ir::Buffer::new(hint, dtype, shape.into(), scope));
        self.state.pointers.insert(buffer);
        self.push(Stmt::Alloc(buffer, annotations));
        Ok(Value::Buffer(buffer))
    }

    /// Reads `T.realize(A[0:10])`: from here on the buffer has memory, unless it is a parameter.
    fn realize(&mut self, region: Id<Node>, at: Id<Node>) -> Read<()> {
        self.old("`T.realize` is gone: a buffer is allocated where it is named, `T.alloc_buffer`", at);
        let buffer = self.region(region)?.buffer;
        if self.state.announced.remove(&buffer) {
            self.push(Stmt::Alloc(buffer, None));
        }
        Ok(())
    }

    /// Reads assignments that declare an object in an old way; nothing for all others.
    pub(super) fn old_declaration(&mut self, name: &'s str, intrinsic: &str, args: &[Arg], at: Id<Node>) -> Read<Option<Value>> {
        Ok(Some(match intrinsic {
            "allocate" => self.allocate(name, args, at)?,
            "allocate_const" => self.allocate_const(name, args, at)?,
            "buffer_decl" => {
                self.old("`T.buffer_decl` is the spelling of TVM 0.10; today `T.decl_buffer` or `T.Buffer`", at);
                let data = self.declared(name, args, "Buffer", false, at)?.buffer;
                let owned = data.data.is_some();
                let buffer = self.store.add_buffer(data);
                if owned {
                    self.push(Stmt::Declare(buffer));
                } else {
                    self.state.announced.insert(buffer);
                }
                Value::Buffer(buffer)
            }
            "match_buffer_region" => {
                self.old("`T.match_buffer_region` is the spelling of 2021; today `T.match_buffer`", at);
                let [arg] = args else { return Err(self.error("tir-syntax", "expected a part of a buffer", at)) };
                let region = self.region(arg.value)?;
                let of = self.store.buffer(region.buffer).clone();
                let shape = region.ranges.iter().map(|(min, extent)| match extent {
                    Some(extent) => *extent,
                    None => self.store.prim_int(1, self.store.prim_dtype(*min)),
                });
                let shape: Box<[PrimId]> = shape.collect();
                let hint = self.name_of(name);
                let buffer = self.store.add_buffer(crate::ir::Buffer::new(hint, of.dtype, shape, of.scope));
                self.head_of_block("match_buffer", at)?.matches.push((buffer, region));
                Value::Buffer(buffer)
            }
            "LetStmt" => {
                self.old("`with T.LetStmt(value) as x:` is the spelling of TVM 0.24; today `x: T.let = value`", at);
                Value::Prim(self.bind_call(Some(name), args, at)?)
            }
            "SizeVar" | "var" => {
                self.old("`T.var` and `T.SizeVar` are spellings of TVM 0.24 and before; today `T.int32()`", at);
                let place = usize::from(intrinsic == "SizeVar").min(args.len().saturating_sub(1));
                let dtype = match args.get(place) {
                    Some(arg) => self.dtype(arg.value)?,
                    None => DType::I32,
                };
                let known = self.meaning(name).cloned().and_then(|value| self.symbol_of(&value));
                match known.filter(|symbol| self.state.matched.contains(symbol)) {
                    Some(symbol) => Value::Prim(self.store.prim(PrimExpr::Var(symbol))),
                    None => {
                        let symbol = self.new_symbol(name, dtype);
                        Value::Prim(self.store.prim(PrimExpr::Var(symbol)))
                    }
                }
            }
            "preflattened_buffer" => {
                self.old("`T.preflattened_buffer` is gone: it said what a flat buffer was once", at);
                Value::None
            }
            _ => return Ok(None),
        }))
    }

    /// Reads statements that are calls; false for all others.
    pub(super) fn old_statement(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<bool> {
        match (name, args) {
            ("preflattened_buffer", _) => {
                self.old("`T.preflattened_buffer` is gone: it said what a flat buffer was once", at);
                Ok(true)
            }
            ("ret", [arg]) => {
                self.old("`T.ret(x)` is the spelling of TVM 0.24 and before; today `return x`", at);
                let value = self.prim(arg.value)?;
                self.push(Stmt::Return(value));
                Ok(true)
            }
            ("buffer_store", [buffer, value, indices]) => {
                let buffer = self.buffer(buffer.value)?;
                let value = self.prim(value.value)?;
                let indices = self.indices(buffer, &[indices.value], at)?;
                self.store_to(buffer, indices, value, at)?;
                Ok(true)
            }
            ("store", _) => self.old_store(args, at).map(|()| true),
            ("realize", [region, ..]) => self.realize(region.value, at).map(|()| true),
            ("allocate", _) => {
                self.allocate("buffer", args, at)?;
                Ok(true)
            }
            ("Assert", [cond, message]) => {
                let cond = self.prim(cond.value)?;
                let text = self.tree.string(message.value).unwrap_or_default();
                let (kind, part) = (self.name_of("RuntimeError"), self.name_of(&text));
                self.push(Stmt::Assert { cond, kind, parts: [part].into() });
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Reads calls in expressions; nothing for all others.
    pub(super) fn old_call(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Option<Value>> {
        let legacy = match name {
            "tvm_call_packed" => Some("call_packed"),
            "tvm_call_cpacked" => Some("call_cpacked"),
            "tvm_call_packed_lowered" => Some("call_packed_lowered"),
            "tvm_call_cpacked_lowered" => Some("call_cpacked_lowered"),
            "ptx_mma" => Some("ptx_legacy.mma"),
            "ptx_ldmatrix" => Some("ptx_legacy.ldmatrix"),
            "mma_store" => Some("cuda.mma_store"),
            "mma_fill" => Some("cuda.mma_fill"),
            "ptx_cp_async" => Some("s_tir.cp_async_raw"),
            "ptx_commit_group" => Some("ptx.cp.async_.commit_group"),
            "ptx_wait_group" => Some("ptx.cp.async_.wait_group"),
            _ => None,
        };
        if let Some(today) = legacy {
            self.old(&format!("`T.{name}` has another name today: `T.{today}`"), at);
            return self.intrinsic_call(today, args, at).map(Some);
        }
        match (name, args) {
            ("let", [var, value, body]) => {
                self.old("`T.let(x, value, body)` is the spelling of TVM 0.10; today `T.Let(body, where={x: value})`", at);
                let known = self.value(var.value)?;
                let Some(var) = self.symbol_of(&known) else {
                    return Err(self.error("tir-type", "only a variable can be bound", var.value));
                };
                let (value, body) = (self.prim(value.value)?, self.prim(body.value)?);
                Ok(Some(Value::Prim(self.store.prim(PrimExpr::Let { var, value, body }))))
            }
            ("var" | "SizeVar", _) => {
                self.old("`T.var` and `T.SizeVar` are spellings of TVM 0.24 and before; today `T.int32()`", at);
                let place = usize::from(name == "SizeVar").min(args.len().saturating_sub(1));
                let dtype = match args.get(place) {
                    Some(arg) => self.dtype(arg.value)?,
                    None => DType::I32,
                };
                Ok(Some(Value::Fresh(dtype)))
            }
            ("load", _) => self.old_load(args, at).map(Some),
            ("get_elem_offset", _) => self.elem_offset(args, at).map(Some),
            ("allocate_const", _) => self.allocate_const("constant", args, at).map(Some),
            ("reduce_axis" | "scan_axis" | "opaque_axis", _) => {
                Err(self.error("tir-syntax", "this stands among the ranges of a block of 2021", at))
            }
            ("block", _) => Err(self.error("tir-syntax", "a block is opened by `with`", at)),
            ("ret", _) => Err(self.error("tir-syntax", "`T.ret(x)` is a statement: today `return x`", at)),
            ("all" | "any", _) if !args.is_empty() => {
                let op = if name == "all" { crate::ir::PrimOp::And } else { crate::ir::PrimOp::Or };
                let mut result: Option<PrimId> = None;
                for (value, at) in self.positional(args)? {
                    let prim = self.prim_from(&value, at)?;
                    result = Some(match result {
                        Some(known) => crate::tir::binary(self.store, op, known, prim),
                        None => prim,
                    });
                }
                Ok(result.map(Value::Prim))
            }
            _ => Ok(None),
        }
    }
}
