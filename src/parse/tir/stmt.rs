//! Statements.

use super::{Meaning, Node, Read, Reader, Stop};
use crate::ir::{
    AttrNode, AttrValue, Buffer, BufferLayout, DType, DTypeCode, Id, List, Name, PrimExpr, PrimId, PrimOp, PrimParam,
    Stmt as TirStmt, StmtId,
};
use crate::parse::script::tree::{Arg, Binary, Stmt, StmtKind};
use crate::tir;

/// What a statement is about that holds for all that follow in its block.
struct Around {
    node: AttrNode,
    key: Id<Name>,
    value: PrimId,
    /// How many statements stand before it.
    from: usize,
}

/// The statements of a block while they are read.
#[derive(Default)]
struct Lines {
    stmts: Vec<StmtId>,
    around: Vec<Around>,
    /// Attributes that `T.func_attr` gave.
    attrs: Vec<(Id<Name>, AttrValue)>,
}

impl<'s> Reader<'_, 's, '_> {
    /// The body of the function, and its attributes.
    pub(super) fn func_body(&mut self, list: List<Stmt>, params: &mut [PrimParam]) -> Read<(StmtId, Vec<(Id<Name>, AttrValue)>)> {
        let mut lines = Lines::default();
        for stmt in self.tree.stmts(list).to_vec() {
            let done = match self.match_of_param(&stmt, params) {
                Some(done) => done,
                None => self.placed(&stmt, &mut lines),
            };
            // What follows is read all the same; the function is lost anyway.
            drop(done);
        }
        let attrs = std::mem::take(&mut lines.attrs);
        Ok((self.finish(lines), attrs))
    }

    /// `A = T.match_buffer(a, (n,))` where `a` is a parameter.
    fn match_of_param(&mut self, stmt: &Stmt, params: &mut [PrimParam]) -> Option<Read<()>> {
        let StmtKind::Assign { target, value } = stmt.kind else { return None };
        let Node::Call { callee, args } = self.tree.expr(value) else { return None };
        if self.intrinsic(callee) != Some("match_buffer") {
            return None;
        }
        let (first, rest) = self.tree.args(args).split_first()?;
        let (first, rest) = (*first, rest.to_vec());
        let Some(Meaning::Symbol(symbol)) = self.tree.name(first.value).and_then(|name| self.meaning(name)) else { return None };
        let name = self.tree.name(target)?;
        Some(self.declared(name, &rest, "global", true, value).and_then(
            |buffer| match self.match_param(symbol, buffer, params) {
                Some(buffer) => {
                    self.give(name, Meaning::Buffer(buffer));
                    Ok(())
                }
                None => Err(self.error("tir-type", "only a handle among the parameters can be matched", first.value)),
            },
        ))
    }

    /// The statements of a block as one.
    pub(super) fn body(&mut self, list: List<Stmt>) -> Read<StmtId> {
        let mark = self.given.len();
        let mut lines = Lines::default();
        for stmt in self.tree.stmts(list).to_vec() {
            let _ = self.placed(&stmt, &mut lines);
        }
        self.close(mark);
        Ok(self.finish(lines))
    }

    fn finish(&mut self, lines: Lines) -> StmtId {
        let Lines { mut stmts, mut around, .. } = lines;
        while let Some(Around { node, key, value, from }) = around.pop() {
            let rest = stmts.split_off(from);
            let body = self.sequence(&rest);
            stmts.push(self.store.add_stmt(TirStmt::Attr { node, key, value, body }));
        }
        self.sequence(&stmts)
    }

    fn sequence(&mut self, stmts: &[StmtId]) -> StmtId {
        if stmts.is_empty() {
            let zero = self.store.prim_int(0, DType::I32);
            return self.store.add_stmt(TirStmt::Evaluate(zero));
        }
        self.store.add_stmts(stmts)
    }

    /// Reads a statement and records where it stands.
    fn placed(&mut self, stmt: &Stmt, lines: &mut Lines) -> Read<()> {
        let first = lines.stmts.len();
        let result = self.stmt(stmt, lines);
        for &id in lines.stmts.get(first..).unwrap_or_default() {
            self.store.set_stmt_span(id, stmt.span);
        }
        result
    }

    fn stmt(&mut self, stmt: &Stmt, lines: &mut Lines) -> Read<()> {
        match stmt.kind {
            StmtKind::Assign { target, value } => self.assign(target, value, lines),
            StmtKind::Annotated { target, annotation, value } => self.annotated(target, annotation, value, lines),
            StmtKind::Augmented { target, op, value } => self.augmented(target, op, value, lines),
            StmtKind::Expr(value) => self.expr_stmt(value, lines),
            StmtKind::Return(value) => {
                let Some(value) = value else { return Ok(()) };
                let value = self.prim(value)?;
                self.push(TirStmt::Return(value), lines);
                Ok(())
            }
            StmtKind::Pass => Ok(()),
            StmtKind::Break => {
                self.push(TirStmt::Break, lines);
                Ok(())
            }
            StmtKind::Continue => {
                self.push(TirStmt::Continue, lines);
                Ok(())
            }
            StmtKind::Assert { cond, message } => {
                let cond = self.prim(cond)?;
                let (kind, parts) = self.message(message);
                self.push(TirStmt::Assert { cond, kind, parts: parts.into() }, lines);
                Ok(())
            }
            StmtKind::With { items, body } => {
                let items = self.tree.with_items(items).to_vec();
                let mark = self.given.len();
                let result = self.with(&items, body);
                self.close(mark);
                lines.stmts.extend(result?);
                Ok(())
            }
            StmtKind::For { target, iter, body } => {
                let mark = self.given.len();
                let result = self.for_stmt(target, iter, body);
                self.close(mark);
                lines.stmts.push(result?);
                Ok(())
            }
            StmtKind::While { cond, body } => {
                let cond = self.prim(cond)?;
                let body = self.body(body)?;
                self.push(TirStmt::While { cond, body }, lines);
                Ok(())
            }
            StmtKind::If { arms, other } => {
                let arms = self.tree.arms(arms).to_vec();
                // A truth value of Python chooses while the program is read.
                if let [only] = &arms[..]
                    && let Some(known) = self.tree.bool(only.cond)
                {
                    for stmt in self.tree.stmts(if known { only.body } else { other }).to_vec() {
                        self.stmt(&stmt, lines)?;
                    }
                    return Ok(());
                }
                let mut rest = if other.is_empty() { None } else { Some(self.body(other)?) };
                // Conditions are read in the order of the text, statements are built from the last one on.
                let mut read = Vec::new();
                for arm in arms {
                    read.push((self.prim(arm.cond)?, self.body(arm.body)?));
                }
                for (cond, then) in read.into_iter().rev() {
                    rest = Some(self.store.add_stmt(TirStmt::If { cond, then, other: rest }));
                }
                lines.stmts.extend(rest);
                Ok(())
            }
            StmtKind::Broken => Err(Stop),
            StmtKind::Def(_) | StmtKind::Class(_) | StmtKind::Import { .. } => {
                Err(self.error_at("tir-syntax", "nothing of the kind stands in a function of TIR", stmt.span))
            }
        }
    }

    fn push(&mut self, stmt: TirStmt, lines: &mut Lines) {
        lines.stmts.push(self.store.add_stmt(stmt));
    }

    /// The kind and the parts of an assertion's message.
    fn message(&mut self, message: Option<Id<Node>>) -> (Id<Name>, Vec<Id<Name>>) {
        let tree = self.tree;
        let mut kind = "RuntimeError".to_owned();
        let mut parts = Vec::new();
        if let Some(message) = message {
            match tree.expr(message) {
                Node::Tuple(items) => {
                    let items = tree.items(items);
                    kind = items.first().and_then(|id| tree.string(*id)).map_or(kind, Into::into);
                    if let Some(Node::List(list) | Node::Tuple(list)) = items.get(1).map(|id| tree.expr(*id)) {
                        parts.extend(tree.items(list).iter().filter_map(|id| tree.string(*id)));
                    }
                }
                _ => parts.extend(tree.string(message)),
            }
        }
        let parts = parts.iter().map(|part| self.store.name(part)).collect();
        (self.name_of(&kind), parts)
    }

    // ---- assignments ----

    fn assign(&mut self, target: Id<Node>, value: Id<Node>, lines: &mut Lines) -> Read<()> {
        let tree = self.tree;
        if let Node::Subscript { value: buffer, items } = tree.expr(target) {
            let value = self.prim(value)?;
            let buffer = self.buffer(buffer)?;
            let indices = self.indices(buffer, items)?;
            self.store_to(buffer, indices, value, lines);
            return Ok(());
        }
        if let (Node::Tuple(targets), Node::Tuple(values)) = (tree.expr(target), tree.expr(value))
            && targets.len() == values.len()
        {
            for (target, value) in tree.items(targets).iter().zip(tree.items(values)) {
                self.assign(*target, *value, lines)?;
            }
            return Ok(());
        }
        if let Node::Call { callee, args } = tree.expr(value)
            && let Some(intrinsic) = self.intrinsic(callee)
        {
            let args = tree.args(args).to_vec();
            if let Some(kind) = intrinsic.strip_prefix("axis.") {
                return self.axis(target, kind, &args, value);
            }
            if let Some(name) = tree.name(target)
                && self.declaration(name, intrinsic, &args, value, lines)?
            {
                return Ok(());
            }
        }
        let Some(name) = tree.name(target) else {
            return Err(self.error("tir-syntax", "this cannot be assigned to", target));
        };
        if let Some(head) = tree.name(value)
            && (self.around.modules.contains(head) || matches!(self.meaning(head), Some(Meaning::Module)))
        {
            self.give(name, Meaning::Module);
            return Ok(());
        }
        let value = self.prim(value)?;
        match self.meaning(name) {
            Some(Meaning::Buffer(buffer)) if self.is_single(buffer) => {
                let zero = self.store.prim_int(0, DType::I32);
                self.store_to(buffer, vec![zero], value, lines);
            }
            _ => {
                let dtype = self.store.prim_dtype(value);
                if dtype.code == DTypeCode::Handle {
                    let var = self.new_symbol(name, dtype);
                    self.give(name, Meaning::Symbol(var));
                    self.push(TirStmt::Bind { var, value }, lines);
                } else {
                    self.scalar(name, dtype, Some(value), lines);
                }
            }
        }
        Ok(())
    }

    /// Whether a buffer has exactly one element, so that an assignment to its name stores to it.
    fn is_single(&self, buffer: Id<Buffer>) -> bool {
        matches!(*self.store.buffer(buffer).shape, [extent] if self.store.as_prim_int(extent) == Some(1))
    }

    fn store_to(&mut self, buffer: Id<Buffer>, indices: Vec<PrimId>, value: PrimId, lines: &mut Lines) {
        let dtype = self.store.buffer(buffer).dtype;
        let lanes = indices.last().map_or(1, |index| self.store.prim_dtype(*index).lanes);
        let value = match self.store.prim_dtype(value) {
            found if found.lanes == 1 && lanes > 1 => self.store.prim(PrimExpr::Broadcast { value, lanes }),
            _ => value,
        };
        let found = self.store.prim_dtype(value);
        let value = tir::cast(self.store, DType { lanes: found.lanes, ..dtype }, value);
        self.push(TirStmt::Store { buffer, indices: indices.into(), value }, lines);
    }

    /// `x: T.int32 = value`: memory for one element.
    fn scalar(&mut self, name: &str, dtype: DType, value: Option<PrimId>, lines: &mut Lines) {
        let one = self.store.prim_int(1, DType::I32);
        let (hint, scope) = (self.name_of(name), self.name_of("local"));
        let buffer =
            self.store.add_buffer(Buffer { layout: BufferLayout::Rows, ..Buffer::new(hint, dtype, [one].into(), scope) });
        self.give(name, Meaning::Buffer(buffer));
        self.push(TirStmt::Alloc(buffer, None), lines);
        if let Some(value) = value {
            let zero = self.store.prim_int(0, DType::I32);
            let value = tir::cast(self.store, dtype, value);
            self.push(TirStmt::Store { buffer, indices: [zero].into(), value }, lines);
        }
    }

    /// Assignments that declare something. False for all others.
    fn declaration(&mut self, name: &'s str, intrinsic: &str, args: &[Arg], at: Id<Node>, lines: &mut Lines) -> Read<bool> {
        match intrinsic {
            "sblock_alloc_buffer" => {
                let data = self.declared(name, args, "global", false, at)?;
                let known = match self.meaning(name) {
                    Some(Meaning::Buffer(known)) if self.announced.remove(&known) => {
                        (*self.store.buffer(known) == data).then_some(known)
                    }
                    _ => None,
                };
                let buffer = known.unwrap_or_else(|| self.store.add_buffer(data));
                self.give(name, Meaning::Buffer(buffer));
                match &mut self.block {
                    Some(open) => open.allocs.push(buffer),
                    None => self.root.push(buffer),
                }
            }
            "alloc_buffer" | "alloc_shared" | "alloc_local" => {
                let scope = intrinsic.strip_prefix("alloc_").filter(|scope| *scope != "buffer").unwrap_or("global");
                let data = self.declared(name, args, scope, false, at)?;
                let buffer = self.store.add_buffer(data);
                self.give(name, Meaning::Buffer(buffer));
                self.push(TirStmt::Alloc(buffer, None), lines);
            }
            "decl_buffer" => {
                let data = self.declared(name, args, "global", false, at)?;
                let buffer = self.store.add_buffer(data);
                self.give(name, Meaning::Buffer(buffer));
                self.push(TirStmt::Declare(buffer), lines);
            }
            "Buffer" => {
                let data = self.declared(name, args, "global", false, at)?;
                let buffer = self.store.add_buffer(data);
                self.announced.insert(buffer);
                self.give(name, Meaning::Buffer(buffer));
            }
            "match_buffer" => {
                let Some((first, rest)) = args.split_first() else {
                    return Err(self.error("tir-syntax", "`T.match_buffer` takes a part of a buffer and a shape", at));
                };
                let region = self.region(first.value)?;
                let data = self.declared(name, rest, "global", true, at)?;
                let buffer = self.store.add_buffer(data);
                self.give(name, Meaning::Buffer(buffer));
                match &mut self.block {
                    Some(open) => open.matches.push((buffer, region)),
                    None => return Err(self.error("tir-syntax", "a part of a buffer is matched in a block", at)),
                }
            }
            "launch_thread" => {
                let (node, value) = self.thread(args, Some(name), at)?;
                let key = self.name_of("thread_extent");
                lines.around.push(Around { node, key, value, from: lines.stmts.len() });
            }
            "bind" => {
                let [arg] = args else { return Err(self.error("tir-syntax", "`T.bind` takes one value", at)) };
                let value = self.prim(arg.value)?;
                let var = self.new_symbol(name, self.store.prim_dtype(value));
                self.give(name, Meaning::Symbol(var));
                self.push(TirStmt::Bind { var, value }, lines);
            }
            _ => {
                let dtype = match intrinsic {
                    "handle" => Some(self.pointer(args, at)?),
                    _ => DType::parse(intrinsic).filter(|_| args.is_empty()),
                };
                let Some(dtype) = dtype else { return Ok(false) };
                // A quoted shape may have made the variable already.
                let known = match self.meaning(name) {
                    Some(Meaning::Symbol(symbol)) if self.matched.contains(&symbol) => Some(symbol),
                    _ => None,
                };
                match known {
                    Some(symbol) if self.store.symbol(symbol).dtype != dtype => {
                        return Err(self.error("tir-type", format!("`{name}` has another type already"), at));
                    }
                    Some(_) => {}
                    None => {
                        let symbol = self.new_symbol(name, dtype);
                        self.give(name, Meaning::Symbol(symbol));
                    }
                }
            }
        }
        Ok(true)
    }

    fn annotated(&mut self, target: Id<Node>, annotation: Id<Node>, value: Option<Id<Node>>, lines: &mut Lines) -> Read<()> {
        let Some(name) = self.tree.name(target) else {
            return Err(self.error("tir-syntax", "expected a name", target));
        };
        let (head, ty) = match self.tree.expr(annotation) {
            Node::Subscript { value, items } => (value, self.tree.items(items).first().copied()),
            _ => (annotation, None),
        };
        let value = match value {
            Some(value) => Some(self.prim(value)?),
            None => None,
        };
        match (self.intrinsic(head), value) {
            (Some("let"), Some(value)) => {
                let dtype = match ty {
                    Some(ty) => self.dtype(ty)?,
                    None => self.store.prim_dtype(value),
                };
                let var = self.new_symbol(name, dtype);
                self.give(name, Meaning::Symbol(var));
                self.push(TirStmt::Bind { var, value }, lines);
            }
            (Some("let"), None) => return Err(self.error("tir-syntax", "`T.let` needs a value", annotation)),
            _ => {
                let dtype = self.dtype(annotation)?;
                self.scalar(name, dtype, value, lines);
            }
        }
        Ok(())
    }

    fn augmented(&mut self, target: Id<Node>, op: Binary, value: Id<Node>, lines: &mut Lines) -> Read<()> {
        let (buffer, indices) = match self.tree.expr(target) {
            Node::Subscript { value, items } => {
                let buffer = self.buffer(value)?;
                (buffer, self.indices(buffer, items)?)
            }
            _ => (self.buffer(target)?, vec![self.store.prim_int(0, DType::I32)]),
        };
        let old = self.store.prim(PrimExpr::Load { buffer, indices: indices.clone().into() });
        let value = self.prim(value)?;
        let op = match op {
            Binary::Add => PrimOp::Add,
            Binary::Sub => PrimOp::Sub,
            Binary::Mul => PrimOp::Mul,
            Binary::Div => PrimOp::Div,
            Binary::FloorDiv => PrimOp::FloorDiv,
            Binary::Mod => PrimOp::FloorMod,
            _ => return Err(self.error("tir-syntax", "this operator does not work on scalars", target)),
        };
        let value = tir::binary(self.store, op, old, value);
        self.store_to(buffer, indices, value, lines);
        Ok(())
    }

    // ---- expressions as statements ----

    fn expr_stmt(&mut self, id: Id<Node>, lines: &mut Lines) -> Read<()> {
        let tree = self.tree;
        if let Node::Str = tree.expr(id) {
            return Ok(());
        }
        let Node::Call { callee, args } = tree.expr(id) else {
            let value = self.prim(id)?;
            self.push(TirStmt::Evaluate(value), lines);
            return Ok(());
        };
        let args = tree.args(args).to_vec();
        let intrinsic = self.intrinsic(callee).unwrap_or("");
        match (intrinsic, &args[..]) {
            ("evaluate", [arg]) => {
                let value = self.prim(arg.value)?;
                self.push(TirStmt::Evaluate(value), lines);
            }
            ("func_attr", [arg]) => lines.attrs = self.entries(arg.value)?,
            ("reads" | "writes" | "where" | "sblock_attr" | "block_attr", _) => self.head(intrinsic, &args, id)?,
            ("launch_thread", _) => {
                let (node, value) = self.thread(&args, None, id)?;
                let key = self.name_of("thread_extent");
                lines.around.push(Around { node, key, value, from: lines.stmts.len() });
            }
            ("attr", _) => {
                for (node, key, value) in self.attr(&args, id)? {
                    lines.around.push(Around { node, key, value, from: lines.stmts.len() });
                }
            }
            _ => {
                let value = self.prim(id)?;
                self.push(TirStmt::Evaluate(value), lines);
            }
        }
        Ok(())
    }

    /// `T.reads(...)`, `T.where(p)` and so on, which belong to the block around.
    fn head(&mut self, what: &str, args: &[Arg], at: Id<Node>) -> Read<()> {
        let Some(mut open) = self.block.take() else {
            return Err(self.error("tir-syntax", format!("`T.{what}` belongs into a block"), at));
        };
        let result = match (what, args) {
            ("reads", _) => self.regions(args).map(|regions| open.reads = Some(regions)),
            ("writes", _) => self.regions(args).map(|regions| open.writes = Some(regions)),
            ("where", [arg]) => self.prim(arg.value).map(|predicate| open.predicate = Some(predicate)),
            (_, [arg]) => self.dict(arg.value).map(|annotations| open.annotations = annotations),
            _ => Err(self.error("tir-syntax", format!("`T.{what}` takes one argument"), at)),
        };
        self.block = Some(open);
        result
    }
}
