//! Statements.

use super::value::Value;
use super::{FrameKind, Node, Read, Reader, Stop};
use crate::ir::{Buffer, BufferLayout, DType, Id, List, Name, PrimExpr, PrimId, Region, Stmt as TirStmt, Symbol};
use crate::parse::script::tree::{Arg, Stmt, StmtKind};

impl<'s> Reader<'_, 's, '_> {
    /// Reads the statements of a block into the innermost frame. Goes on after an error, though the function is lost.
    pub(super) fn lines(&mut self, list: List<Stmt>) {
        for stmt in self.tree.stmts(list).to_vec() {
            let around = self.state.here.replace(stmt.span);
            let _ = self.stmt(&stmt);
            self.state.here = around;
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Read<()> {
        match stmt.kind {
            StmtKind::Assign { target, value } => self.assign(target, value),
            StmtKind::Annotated { target, annotation, value } => self.annotated(target, annotation, value),
            StmtKind::Augmented { target, op, value } => self.augmented(target, op, value),
            StmtKind::Expr(value) => self.expr_stmt(value),
            StmtKind::Return(value) => {
                let Some(value) = value.filter(|value| !matches!(self.tree.expr(*value), Node::None)) else { return Ok(()) };
                let value = self.prim(value)?;
                self.push(TirStmt::Return(value));
                Ok(())
            }
            StmtKind::Pass => Ok(()),
            StmtKind::Break => {
                self.push(TirStmt::Break);
                Ok(())
            }
            StmtKind::Continue => {
                self.push(TirStmt::Continue);
                Ok(())
            }
            StmtKind::Assert { cond, message } => {
                let at = cond;
                let cond = self.prim(cond)?;
                let (kind, parts) = self.message(message, at)?;
                self.push(TirStmt::Assert { cond, kind, parts: parts.into() });
                Ok(())
            }
            StmtKind::With { items, body } => {
                let items = self.tree.with_items(items).to_vec();
                self.open_scope();
                let result = self.with(&items, body);
                self.close_scope();
                result
            }
            StmtKind::For { target, iter, body } => {
                self.open_scope();
                let result = self.for_stmt(target, iter, body);
                self.close_scope();
                result
            }
            StmtKind::While { cond, body } => {
                let cond = self.prim(cond)?;
                let body = self.branch(body);
                self.push(TirStmt::While { cond, body });
                Ok(())
            }
            StmtKind::If { arms, other } => self.if_stmt(arms, other),
            StmtKind::Broken => Err(Stop),
            StmtKind::Def(def) => self.inner_def(def, stmt.span),
            StmtKind::Class(_) | StmtKind::Import { .. } => {
                Err(self.error_at("tir-syntax", "nothing of the kind stands in a function of TIR", stmt.span))
            }
        }
    }

    /// Reads statements in a frame and a scope of their own.
    fn branch(&mut self, body: List<Stmt>) -> crate::ir::StmtId {
        self.open_frame(FrameKind::Other);
        self.open_scope();
        self.lines(body);
        self.close_scope();
        self.close_frame().0
    }

    fn if_stmt(&mut self, arms: List<crate::parse::script::tree::Arm>, other: List<Stmt>) -> Read<()> {
        let arms = self.tree.arms(arms).to_vec();
        // Conditions are read in the order of the text, statements are built from the last one on.
        let mut read = Vec::new();
        let mut last = None;
        for (i, arm) in arms.iter().enumerate() {
            match self.value(arm.cond)? {
                // A truth value of Python decides while the program is read, and the chosen branch replaces the `if`.
                Value::Bool(known) if read.is_empty() => {
                    if known {
                        self.lines(arm.body);
                        return Ok(());
                    }
                }
                Value::Bool(known) => {
                    if known {
                        last = Some(arm.body);
                        break;
                    }
                }
                Value::Prim(cond) => read.push((cond, self.branch(arm.body))),
                value => {
                    let shown = match &value {
                        Value::Int(known) => known.to_string(),
                        other => other.kind().to_owned(),
                    };
                    let message = format!("If condition must be a boolean expression, but got {shown}");
                    return Err(self.error("tir-type", message, arm.cond));
                }
            }
            if i + 1 == arms.len() && !other.is_empty() {
                last = Some(other);
            }
        }
        if read.is_empty() {
            if let Some(last) = last.or((!other.is_empty()).then_some(other)) {
                self.lines(last);
            }
            return Ok(());
        }
        let mut rest = last.map(|last| self.branch(last));
        for (cond, then) in read.into_iter().rev() {
            rest = Some(self.add(TirStmt::If { cond, then, other: rest }));
        }
        rest.into_iter().for_each(|id| self.push_id(id));
        Ok(())
    }

    /// Reads the kind and the parts of an assertion's message.
    fn message(&mut self, message: Option<Id<Node>>, at: Id<Node>) -> Read<(Id<Name>, Vec<Id<Name>>)> {
        let Some(id) = message else {
            if self.state.strict {
                return Err(self.error("tir-syntax", "an assertion needs a message: `assert cond, \"why\"`", at));
            }
            let (kind, empty) = (self.name_of("RuntimeError"), self.name_of(""));
            return Ok((kind, vec![empty]));
        };
        let value = self.value(id)?;
        let (kind, parts) = match &value {
            Value::Tuple(items) => match &**items {
                [Value::Str(kind), parts] => (kind.to_string(), parts.clone()),
                [_, _] => {
                    let message = "Assert message tuple first element must be a string (error kind like \"ValueError\")";
                    return Err(self.error("tir-type", message, id));
                }
                items => {
                    let message = format!(
                        "Assert message tuple must have exactly 2 elements (kind, [parts...]), got {} elements",
                        items.len()
                    );
                    return Err(self.error("tir-type", message, id));
                }
            },
            _ => ("RuntimeError".to_owned(), value.clone()),
        };
        let parts = match parts.items() {
            Some(parts) => parts.to_vec(),
            None => vec![parts],
        };
        let mut texts = Vec::with_capacity(parts.len());
        for part in parts {
            let text = match part {
                Value::Str(text) => text.to_string(),
                Value::Int(known) => known.to_string(),
                _ => return Err(self.error("tir-type", "the parts of a message are strings", id)),
            };
            texts.push(self.name_of(&text));
        }
        Ok((self.name_of(&kind), texts))
    }

    /// Reads an assignment that declares an object, and returns that; nothing for all others.
    pub(super) fn declaration(&mut self, name: &'s str, intrinsic: &str, args: &[Arg], at: Id<Node>) -> Read<Option<Value>> {
        Ok(Some(match intrinsic {
            "sblock_alloc_buffer" => {
                let data = self.declared(name, args, intrinsic, false, at)?.buffer;
                Value::Buffer(self.block_buffer(name, data, at)?)
            }
            "alloc_buffer" if !self.state.strict && self.block().is_some() => {
                self.old("`T.alloc_buffer` in a block is the spelling of TVM 0.24; today `T.sblock_alloc_buffer`", at);
                let data = self.declared(name, args, "sblock_alloc_buffer", false, at)?.buffer;
                Value::Buffer(self.block_buffer(name, data, at)?)
            }
            "alloc_buffer" if !self.state.strict => {
                self.old("`T.alloc_buffer` of the function is the spelling of TVM 0.24; today `T.sblock_alloc_buffer`", at);
                let data = self.declared(name, args, "sblock_alloc_buffer", false, at)?.buffer;
                Value::Buffer(self.block_buffer(name, data, at)?)
            }
            "alloc_buffer" | "alloc_shared" | "alloc_local" | "smem" => {
                let method = if intrinsic == "smem" { "alloc_shared" } else { intrinsic };
                let declared = self.declared(name, args, method, false, at)?;
                let buffer = self.store.add_buffer(declared.buffer);
                self.push(TirStmt::Alloc(buffer, declared.annotations));
                Value::Buffer(buffer)
            }
            "decl_buffer" => {
                let data = self.declared(name, args, intrinsic, false, at)?.buffer;
                // Without a pointer it is memory of its own.
                let owns = data.data.is_none();
                let buffer = self.store.add_buffer(data);
                if let Some(Value::Buffer(known)) = self.meaning(name)
                    && self.state.announced.contains(known)
                {
                    let (known, old, new) = (*known, self.store.buffer(*known), self.store.buffer(buffer));
                    let same =
                        (&old.name, old.dtype, &old.shape, &old.strides) == (&new.name, new.dtype, &new.shape, &new.strides);
                    if same && !owns {
                        self.state.announced.remove(&known);
                        self.state.declared.push((known, buffer));
                    }
                }
                self.push(if owns { TirStmt::Alloc(buffer, None) } else { TirStmt::Declare(buffer) });
                Value::Buffer(buffer)
            }
            "Buffer" | "buffer" => {
                let data = self.declared(name, args, "Buffer", false, at)?.buffer;
                let buffer = self.store.add_buffer(data);
                if self.store.buffer(buffer).data.is_some() && !self.state.strict {
                    self.old("`T.Buffer(..., data=p)` as a statement is the spelling of TVM 0.20; today `T.decl_buffer`", at);
                    self.push(TirStmt::Declare(buffer));
                } else {
                    self.state.announced.insert(buffer);
                }
                Value::Buffer(buffer)
            }
            "match_buffer" => return self.match_buffer(name, args, at).map(Some),
            "launch_thread" => {
                let (node, key, value) = self.thread(args, Some(name), at)?;
                self.hold(node, key, value);
                return Ok(self.meaning(name).cloned());
            }
            "env_thread" => self.env_thread(name, args, at)?,
            "bind" | "Bind" => {
                let value = self.bind_call(Some(name), args, at)?;
                Value::Prim(value)
            }
            "alloc_scalar" | "local_scalar" | "shared_scalar" | "decl_scalar" => self.scalar_call(name, intrinsic, args, at)?,
            _ => return self.old_declaration(name, intrinsic, args, at),
        }))
    }

    /// Adds a buffer to the innermost block, or to the function's own block.
    pub(super) fn block_buffer(&mut self, name: &str, data: Buffer, at: Id<Node>) -> Read<Id<Buffer>> {
        if !self.state.s_tir {
            let message =
                "`T.sblock_alloc_buffer()` is only for s_tir PrimFuncs. Use `T.alloc_buffer()` inside default (tirx) PrimFuncs.";
            return Err(self.error("tir-block", message, at));
        }
        let known = match self.meaning(name) {
            Some(Value::Buffer(known)) if self.state.announced.contains(known) => {
                let known = *known;
                (*self.store.buffer(known) == data).then_some(known)
            }
            _ => None,
        };
        let buffer = known.unwrap_or_else(|| self.store.add_buffer(data));
        self.state.announced.remove(&buffer);
        match self.block() {
            Some(open) => open.allocs.push(buffer),
            None => self.state.root.push(buffer),
        }
        Ok(buffer)
    }

    /// Reads `x = T.alloc_scalar("float32", "shared")` and its kin.
    fn scalar_call(&mut self, name: &str, intrinsic: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let mut given = [None; 4];
        let names: &[&str] = match intrinsic {
            "decl_scalar" => &["dtype", "data", "scope", "elem_offset"],
            _ => &["dtype", "scope"],
        };
        for (i, arg) in args.iter().enumerate() {
            let place = match arg.name().map(|name| self.tree.text(name)) {
                Some(name) => names.iter().position(|known| *known == name),
                None => Some(i).filter(|i| *i < names.len()),
            };
            match place {
                Some(place) => given[place] = Some(arg.value),
                None => return Err(self.error("tir-syntax", format!("`T.{intrinsic}` takes no such argument"), arg.value)),
            }
        }
        let dtype = match given[0] {
            Some(dtype) => self.dtype(dtype)?,
            None => DType::F32,
        };
        if intrinsic != "decl_scalar" {
            let said = given[1].and_then(|scope| self.tree.string(scope));
            let scope = match intrinsic {
                "shared_scalar" => "shared",
                "local_scalar" => "local",
                _ => said.as_deref().unwrap_or("global"),
            };
            return Ok(Value::Prim(self.new_scalar(name, dtype, scope)));
        }
        let Some(data) = given[1] else { return Err(self.error("tir-syntax", "`T.decl_scalar` needs `data=`", at)) };
        let data = self.prim(data)?;
        let elem_offset = match given[3] {
            Some(offset) => Some(self.prim(offset)?),
            None => None,
        };
        let one = self.store.prim_int(1, DType::I32);
        let said = given[2].and_then(|scope| self.tree.string(scope));
        let (hint, scope) = (self.name_of(name), self.name_of(said.as_deref().unwrap_or("global")));
        let packed = Buffer::new(hint, dtype, [one].into(), scope);
        let buffer = Buffer { layout: BufferLayout::Rows, data: Some(data), elem_offset, ..packed };
        let buffer = self.store.add_buffer(buffer);
        self.push(TirStmt::Declare(buffer));
        Ok(Value::Prim(self.element_zero(buffer)))
    }

    /// Reads `A = T.match_buffer(...)` of a parameter or of a part of a buffer.
    fn match_buffer(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let first = args.iter().position(|arg| arg.name().is_none_or(|name| self.tree.text(name) == "param"));
        let Some(first) = first else {
            return Err(self.error("tir-syntax", "`T.match_buffer` takes a part of a buffer and a shape", at));
        };
        let mut rest = args.to_vec();
        let first = rest.remove(first).value;
        let source = self.value(first)?;
        if let Some(symbol) = self.symbol_of(&source) {
            let data = self.declared(name, &rest, "match_buffer", true, at)?.buffer;
            return match self.match_param(symbol, data) {
                Some(buffer) => Ok(Value::Buffer(buffer)),
                None => Err(self.error("tir-type", "Can not bind non-input param to buffer.", first)),
            };
        }
        let region = self.region(first)?;
        let whole = rest.iter().all(|arg| arg.name().is_some_and(|name| self.tree.text(name) != "shape"));
        let mut data = if whole {
            // Without a shape it has that of the part.
            let shape = region
                .ranges
                .iter()
                .map(|(min, extent)| extent.unwrap_or_else(|| self.store.prim_int(1, self.store.prim_dtype(*min))));
            let shape: Box<[PrimId]> = shape.collect();
            let of = self.store.buffer(region.buffer);
            let (dtype, scope) = (of.dtype, of.scope);
            let hint = self.name_of(name);
            Buffer::new(hint, dtype, shape, scope)
        } else {
            self.declared(name, &rest, "match_buffer", true, at)?.buffer
        };
        if self.state.s_tir {
            data.layout = BufferLayout::Unsaid;
        }
        self.check_part(&region, &data.shape, at)?;
        let buffer = self.store.add_buffer(data);
        self.head_of_block("match_buffer", at)?.matches.push((buffer, region));
        Ok(Value::Buffer(buffer))
    }

    /// Checks that a part of a buffer has the extents of the buffer that stands for it; ones in front may be left out.
    fn check_part(&mut self, region: &Region, shape: &[PrimId], at: Id<Node>) -> Read<()> {
        let Some(more) = region.ranges.len().checked_sub(shape.len()) else {
            let message = format!(
                "Dimension of source ffi::Array<Range> expected to be larger or equal than target buffer shape, but got {} vs. {}",
                region.ranges.len(),
                shape.len()
            );
            return Err(self.error("tir-type", message, at));
        };
        for ((_, extent), wanted) in region.ranges[more..].iter().zip(shape) {
            let of = extent.map_or(Some(1), |extent| self.store.as_prim_int(extent));
            if let (Some(of), Some(wanted)) = (of, self.store.as_prim_int(*wanted))
                && of != wanted
            {
                let message =
                    format!("The dimension mismatched between source region and target buffer shape, got {of} vs. {wanted}.");
                return Err(self.error("tir-type", message, at));
            }
        }
        Ok(())
    }

    /// Reads `x = T.bind(value)`, `T.bind(value, var=x)`.
    pub(super) fn bind_call(&mut self, name: Option<&str>, args: &[Arg], at: Id<Node>) -> Read<PrimId> {
        let (mut value, mut ty, mut var) = (None, None, None);
        for (i, arg) in args.iter().enumerate() {
            match (arg.name().map(|name| self.tree.text(name)), i) {
                (Some("value"), _) | (None, 0) => value = Some(arg.value),
                (Some("type_annotation"), _) | (None, 1) => ty = Some(arg.value),
                (Some("var"), _) | (None, 2) => var = Some(arg.value),
                _ => return Err(self.error("tir-syntax", "`T.bind` takes a value, a type and `var=`", arg.value)),
            }
        }
        let Some(value) = value else { return Err(self.error("tir-syntax", "`T.bind` takes a value", at)) };
        let value = self.prim(value)?;
        let var: Id<Symbol> = match var {
            Some(var) => {
                let known = self.value(var)?;
                match self.symbol_of(&known) {
                    Some(symbol) => symbol,
                    None => return Err(self.error("tir-type", "only a variable can be bound", var)),
                }
            }
            None => {
                let dtype = match ty {
                    Some(ty) => self.dtype(ty)?,
                    None => self.store.prim_dtype(value),
                };
                self.new_symbol(name.unwrap_or("v"), dtype)
            }
        };
        self.push(TirStmt::Bind { var, value });
        Ok(self.store.prim(PrimExpr::Var(var)))
    }

    fn expr_stmt(&mut self, id: Id<Node>) -> Read<()> {
        let tree = self.tree;
        self.count(id)?;
        if let Node::Call { callee, args } = tree.expr(id) {
            let args = tree.args(args).to_vec();
            let intrinsic = self.intrinsic(callee).unwrap_or("");
            match (intrinsic, &args[..]) {
                ("evaluate", [arg]) => {
                    if let Node::Call { callee, .. } = self.tree.expr(arg.value)
                        && let Some(jump) = self.intrinsic(callee).and_then(jump_named)
                    {
                        self.push(jump);
                        return Ok(());
                    }
                    let value = match self.value(arg.value)? {
                        Value::Buffer(buffer) if !self.store.is_scalar(buffer, true) => {
                            let message = "A buffer variable cannot be used as a scalar Evaluate value; use buffer.data to evaluate \
                                           its physical pointer";
                            return Err(self.error("tir-type", message, arg.value));
                        }
                        value => self.prim_from(&value, arg.value)?,
                    };
                    self.evaluate(value);
                    return Ok(());
                }
                ("func_attr", [arg]) => return self.func_attr(arg.value, id),
                ("reads" | "writes" | "where" | "sblock_attr", _) => return self.head(intrinsic, &args, id),
                ("block_attr", _) => {
                    self.old("`T.block_attr` is the spelling of TVM 0.24 and before; today `T.sblock_attr`", id);
                    return self.head("sblock_attr", &args, id);
                }
                ("launch_thread", _) => {
                    let (node, key, value) = self.thread(&args, None, id)?;
                    self.hold(node, key, value);
                    return Ok(());
                }
                ("attr", _) => {
                    for (node, key, value) in self.attr(&args, id)? {
                        self.hold(node, key, value);
                    }
                    return Ok(());
                }
                ("hint", _) => {
                    let (node, key, value) = self.hint(&args, id)?;
                    self.hold(node, key, value);
                    return Ok(());
                }
                ("bind" | "Bind", _) => {
                    if let [target, value] = args[..]
                        && !self.state.strict
                        && let Ok(known) = self.value(target.value)
                        && let Some(symbol) = self.symbol_of(&known)
                    {
                        let value = self.prim(value.value)?;
                        if self.bind_iter(symbol, value) {
                            return Ok(());
                        }
                    }
                    return self.bind_call(None, &args, id).map(drop);
                }
                ("Return", [arg]) => {
                    let value = self.prim(arg.value)?;
                    self.push(TirStmt::Return(value));
                    return Ok(());
                }
                ("break_loop" | "Break", []) => {
                    self.push(TirStmt::Break);
                    return Ok(());
                }
                ("continue_loop" | "Continue", []) => {
                    self.push(TirStmt::Continue);
                    return Ok(());
                }
                ("match_buffer", _) => return self.match_buffer("buffer", &args, id).map(drop),
                _ => {
                    if self.old_statement(intrinsic, &args, id)? {
                        return Ok(());
                    }
                }
            }
        }
        match self.value(id)? {
            // Text by itself documents; a name by itself says nothing.
            Value::Str(_) | Value::None | Value::Buffer(_) => Ok(()),
            Value::Prim(prim) if matches!(self.store.prim_of_id(prim), PrimExpr::Var(_)) => Ok(()),
            value @ (Value::Prim(_) | Value::Int(_) | Value::Bool(_)) => {
                let prim = self.prim_from(&value, id)?;
                self.evaluate(prim);
                Ok(())
            }
            other => {
                let message = format!("Parsing resulted in unexpected type: {}", other.kind());
                Err(self.error("tir-type", message, id))
            }
        }
    }

    pub(super) fn evaluate(&mut self, value: PrimId) {
        self.push(TirStmt::Evaluate(value));
    }
}

/// Returns the jump that a call of this name is.
fn jump_named(name: &str) -> Option<TirStmt> {
    match name {
        "break_loop" => Some(TirStmt::Break),
        "continue_loop" => Some(TirStmt::Continue),
        _ => None,
    }
}
