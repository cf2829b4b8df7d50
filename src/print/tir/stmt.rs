//! Statements (`stmt.cc`, `for_loop.cc`, `block.cc`). Nested statements are left as steps, so depth costs no stack.

use super::super::script::push_str_literal;
use super::super::{LineRole, MARK_END};
use super::expr::type_name;
use super::uses::{Named, Spot};
use super::{Tir, as_loop};
use crate::ir::{
    AttrNode, Block, Buffer, For, ForKind, Id, IterKind, IterVar, Name, PrimExpr, PrimId, Region, Stmt, StmtId, Store, Symbol,
};

/// The remaining steps of printing.
pub(super) enum Step {
    /// Statements from this one on.
    Body { stmts: Vec<StmtId>, next: usize },
    /// The end of a block of lines.
    Close,
    /// The end of a block whose lines are not indented.
    CloseFlat,
    /// The end of loops.
    CloseLoops(usize),
    /// The other branch of a statement.
    Else(StmtId, StmtId),
    /// The statement after the init of a block.
    AfterInit(StmtId),
    /// The end of a marked statement.
    Unmark,
}

/// A part of each message of MakePackedAPI; a function has it once (`tvm_ffi_binder.h`).
const WHEN_CALLING: &str = " when calling:\n  `";

impl Tir<'_, '_> {
    /// Pushes the statements of a body to be printed.
    pub(super) fn push_body(&mut self, body: StmtId, steps: &mut Vec<Step>) {
        steps.push(Step::Body { stmts: self.script.store.stmts_of(body), next: 0 });
    }

    pub(super) fn run(&mut self, mut steps: Vec<Step>) {
        while let Some(step) = steps.pop() {
            match step {
                Step::Body { stmts, next } => {
                    let Some(&id) = stmts.get(next) else { continue };
                    let concise = stmts.len() == 1;
                    self.begin();
                    self.node = self.script.store.stmt_node(id);
                    self.mark = self.is_marked(self.node);
                    let marked = self.mark;
                    let taken = self.scalar_with_value(id, stmts.get(next + 1).copied());
                    let next = next + if taken { 2 } else { 1 };
                    steps.push(Step::Body { stmts, next });
                    if marked {
                        steps.push(Step::Unmark);
                    }
                    if !taken {
                        self.stmt(id, concise, &mut steps);
                    }
                }
                Step::Close => self.close(),
                Step::Unmark => self.script.out.push_str(MARK_END),
                Step::CloseFlat => {
                    self.frames.pop();
                    self.script.close_scope();
                }
                Step::CloseLoops(n) => {
                    self.loops.truncate(n);
                    self.close();
                }
                Step::Else(id, other) => {
                    self.node = self.script.store.stmt_node(id);
                    self.line(LineRole::Close, "else:");
                    self.open_body(Spot::Stmt(other));
                    steps.push(Step::Close);
                    self.push_body(other, &mut steps);
                }
                Step::AfterInit(body) => {
                    self.close();
                    self.push_body(body, &mut steps);
                }
            }
        }
    }

    fn close(&mut self) {
        self.frames.pop();
        self.script.close_scope();
        self.script.indent -= 4;
    }

    fn open_body(&mut self, spot: Spot) {
        self.open(spot);
        self.indent();
    }

    /// Prints `x: T.int32 = value`: memory for one element and its first value. False for any other statement.
    fn scalar_with_value(&mut self, id: StmtId, next: Option<StmtId>) -> bool {
        let store = self.script.store;
        let Stmt::Alloc(buffer, _) = *store.stmt(id) else { return false };
        if !store.is_scalar(buffer, false) || !self.script.sugar {
            return false;
        }
        let Some(Stmt::Store { buffer: target, indices, value }) = next.map(|next| store.stmt(next)) else { return false };
        let at_zero = matches!(**indices, [index] if store.as_prim_int(index) == Some(0));
        if *target != buffer || !at_zero || reads(store, *value, buffer) {
            return false;
        }
        let mut text = self.scalar_head(buffer);
        text.push_str(" = ");
        self.prim(*value, &mut text);
        self.line(LineRole::Binding, &text);
        true
    }

    /// Returns `x: T.int32`.
    fn scalar_head(&mut self, buffer: Id<Buffer>) -> String {
        let scope = self.scope();
        let name = self.script.define_buffer(buffer, scope);
        format!("{name}: T.{}", self.script.store.buffer(buffer).dtype)
    }

    fn stmt(&mut self, id: StmtId, concise: bool, steps: &mut Vec<Step>) {
        let store = self.script.store;
        let mut text = String::new();
        match store.stmt(id) {
            Stmt::Seq(_) => self.push_body(id, steps),
            Stmt::For(..) => self.for_stmt(id, steps),
            Stmt::Block(block) => self.block(*block, steps),
            Stmt::Store { buffer, indices, value } => {
                // As in TVM, the value is printed first, so its declarations come first.
                let mut right = String::new();
                let name = self.buffer(*buffer);
                self.prim(*value, &mut right);
                if store.is_scalar(*buffer, true) {
                    text.push_str(&name);
                } else {
                    self.element(*buffer, indices, &mut text);
                }
                text.push_str(" = ");
                text.push_str(&right);
                self.line(LineRole::Binding, &text);
            }
            Stmt::If { cond, then, other } => {
                text.push_str("if ");
                self.prim(*cond, &mut text);
                text.push(':');
                self.line(LineRole::Binding, &text);
                self.open_body(Spot::Stmt(*then));
                steps.extend(other.map(|other| Step::Else(id, other)));
                steps.push(Step::Close);
                self.push_body(*then, steps);
            }
            Stmt::While { cond, body } => {
                text.push_str("while ");
                self.prim(*cond, &mut text);
                text.push(':');
                self.line(LineRole::Binding, &text);
                self.open_body(Spot::Stmt(id));
                steps.push(Step::Close);
                self.push_body(*body, steps);
            }
            Stmt::Bind { var, value } => {
                let mut right = String::new();
                self.prim(*value, &mut right);
                let scope = self.scope();
                let name = self.script.define_symbol(*var, scope);
                self.line(LineRole::Binding, &format!("{name}: T.let[{}] = {right}", type_name(store, store.symbol(*var).dtype)));
            }
            Stmt::Attr { .. } => self.attr(id, concise, steps),
            Stmt::Alloc(buffer, _) if self.script.sugar && store.is_scalar(*buffer, false) => {
                let head = self.scalar_head(*buffer);
                self.line(LineRole::Binding, &head);
            }
            Stmt::Alloc(buffer, annotations) => {
                let method = match store.str(store.buffer(*buffer).scope) {
                    "shared" => "alloc_shared",
                    "local" => "alloc_local",
                    _ => "alloc_buffer",
                };
                self.scope_said = method != "alloc_buffer";
                self.alloc(*buffer, method, *annotations);
                self.scope_said = false;
            }
            Stmt::Declare(buffer) => self.alloc(*buffer, "decl_buffer", None),
            Stmt::Assert { cond, kind, parts } => {
                text.push_str("assert ");
                self.prim(*cond, &mut text);
                text.push_str(", (");
                push_str_literal(&mut text, store.str(*kind));
                text.push_str(", [");
                for (i, part) in parts.iter().enumerate() {
                    text.push_str(if i > 0 { ", " } else { "" });
                    self.script.push_string(&mut text, store.str(*part), store.str(*part) == WHEN_CALLING);
                }
                text.push_str("])");
                self.line(LineRole::Binding, &text);
            }
            Stmt::Evaluate(value) => {
                let bare = match store.prim_of_id(*value) {
                    PrimExpr::Call { op, .. } => super::expr::operator(store.str(*op)).is_none(),
                    _ => false,
                };
                text.push_str(if bare { "" } else { "T.evaluate(" });
                self.prim(*value, &mut text);
                text.push_str(if bare { "" } else { ")" });
                self.line(LineRole::Binding, &text);
            }
            Stmt::Return(value) => {
                text.push_str("return ");
                self.prim(*value, &mut text);
                self.line(LineRole::Result, &text);
            }
            Stmt::Break => self.line(LineRole::Binding, "T.break_loop()"),
            Stmt::Continue => self.line(LineRole::Binding, "T.continue_loop()"),
        }
    }

    fn for_stmt(&mut self, id: StmtId, steps: &mut Vec<Step>) {
        let store = self.script.store;
        let mut grid: Vec<&For> = Vec::new();
        let mut body = id;
        while let Some((head, inner)) = as_loop(store, body) {
            let depends = || grid.iter().any(|outer| mentions(store, head.extent, outer.var));
            let plain = head.kind == ForKind::Serial
                && store.as_prim_int(head.min) == Some(0)
                && head.annotations.is_none()
                && head.step.is_none();
            if !plain || !self.script.sugar || depends() {
                break;
            }
            grid.push(head);
            body = inner;
        }
        let n_loops = self.loops.len();
        self.open(Spot::Stmt(id));
        let scope = self.scope();
        // The blocks inside know all loops that nest directly.
        let mut at = id;
        while let Some((head, inner)) = as_loop(store, at) {
            self.loops.push((head.var, head.min, head.extent));
            at = inner;
        }
        let text = if grid.len() > 1 {
            let (mut names, mut extents) = (Vec::new(), Vec::new());
            for head in grid {
                names.push(self.script.define_symbol(head.var, scope));
                let mut extent = String::new();
                self.prim(head.extent, &mut extent);
                extents.push(extent);
            }
            format!("for {} in T.grid({}):", names.join(", "), extents.join(", "))
        } else {
            let Some((head, inner)) = as_loop(store, id) else { return };
            body = inner;
            self.loop_head(head, scope)
        };
        self.line(LineRole::Binding, &text);
        self.indent();
        steps.push(Step::CloseLoops(n_loops));
        self.push_body(body, steps);
    }

    fn loop_head(&mut self, head: &For, scope: usize) -> String {
        let store = self.script.store;
        let name = self.script.define_symbol(head.var, scope);
        let mut text = format!("for {name} in ");
        text.push_str(match head.kind {
            ForKind::Serial if head.annotations.is_none() => "range(",
            ForKind::Serial => "T.serial(",
            ForKind::Parallel => "T.parallel(",
            ForKind::Vectorized => "T.vectorized(",
            ForKind::Unrolled => "T.unroll(",
            ForKind::Thread(_) => "T.thread_binding(",
        });
        if store.as_prim_int(head.min) == Some(0) && head.step.is_none() {
            self.prim(head.extent, &mut text);
        } else {
            self.prim(head.min, &mut text);
            text.push_str(", ");
            self.sum(head.min, head.extent, &mut text);
        }
        if let ForKind::Thread(tag) = head.kind {
            text.push_str(", thread=");
            push_str_literal(&mut text, store.str(tag));
        }
        if let Some(annotations) = head.annotations {
            let fields = &store.attrs_of_id(annotations).fields;
            match &**fields {
                [(key, _)] if store.str(*key) == "disable_unroll" => text.push_str(", unroll=False"),
                [(key, _)] if store.str(*key) == "pragma_unroll" => text.push_str(", unroll=True"),
                fields => {
                    text.push_str(", annotations=");
                    self.dict(fields, &mut text);
                }
            }
        }
        if let Some(step) = head.step {
            let sugar = head.kind == ForKind::Serial && head.annotations.is_none();
            text.push_str(if sugar { ", " } else { ", step=" });
            self.prim(step, &mut text);
        }
        text.push_str("):");
        text
    }

    fn attr(&mut self, id: StmtId, concise: bool, steps: &mut Vec<Step>) {
        let store = self.script.store;
        let Stmt::Attr { node, key, value, body } = store.stmt(id) else { return };
        let mut body = *body;
        let mut text = String::new();
        let mut var = None;
        match node {
            AttrNode::Thread { var: thread, tag } => {
                text.push_str("T.launch_thread(");
                match self.known_thread(*thread, *tag, id) {
                    Some(name) => text.push_str(&name),
                    None => {
                        var = Some(*thread);
                        push_str_literal(&mut text, store.str(*tag));
                    }
                }
                text.push_str(", ");
                self.prim(*value, &mut text);
                text.push(')');
            }
            AttrNode::Prim(node) => {
                text.push_str("T.attr(");
                self.prim(*node, &mut text);
                text.push_str(", ");
                push_str_literal(&mut text, store.str(*key));
                text.push_str(", ");
                self.prim(*value, &mut text);
                text.push(')');
            }
            AttrNode::Nothing => {
                text.push_str("T.attr({");
                let (mut key, mut value) = (*key, *value);
                loop {
                    push_str_literal(&mut text, store.str(key));
                    text.push_str(": ");
                    self.prim(value, &mut text);
                    let Stmt::Attr { node: AttrNode::Nothing, key: k, value: v, body: inner } = store.stmt(body) else { break };
                    (key, value, body) = (*k, *v, *inner);
                    text.push_str(", ");
                }
                text.push_str("})");
            }
        }
        self.open(Spot::Stmt(id));
        let scope = self.scope();
        let name = var.map(|var| self.script.define_symbol(var, scope));
        if concise {
            let text = name.map_or(text.clone(), |name| format!("{name} = {text}"));
            self.line(LineRole::Binding, &text);
            // The next lines have the same indentation.
            self.begin();
            steps.push(Step::CloseFlat);
        } else {
            let name = name.map_or(String::new(), |name| format!(" as {name}"));
            self.line(LineRole::Binding, &format!("with {text}{name}:"));
            self.indent();
            steps.push(Step::Close);
        }
        self.push_body(body, steps);
    }

    /// Returns the name of a thread's index that has one, or needs one because it is also used outside of this statement.
    fn known_thread(&mut self, var: Id<Symbol>, tag: Id<Name>, id: StmtId) -> Option<String> {
        if let Some(name) = self.script.symbol_name(var) {
            return Some(name.to_owned());
        }
        if self.all_within(var, Spot::Stmt(id)) {
            return None;
        }
        let frame = self.home(Named::Symbol(var));
        let name = self.script.define_symbol(var, self.frames[frame].scope);
        let mut text = format!("{name} = T.env_thread(");
        push_str_literal(&mut text, self.script.store.str(tag));
        text.push(')');
        self.declare(frame, &text);
        Some(name)
    }

    fn block(&mut self, id: Id<Block>, steps: &mut Vec<Step>) {
        let store = self.script.store;
        let block = store.prim_block(id);
        let mut text = "with T.sblock(".to_owned();
        push_str_literal(&mut text, store.str(block.name));
        text.push_str(if block.bare { ", no_realize=True):" } else { "):" });
        self.line(LineRole::Binding, &text);
        self.open_body(Spot::Block(id));
        self.detail = true;
        let mut run: Vec<&IterVar> = Vec::new();
        for iter in &block.iters {
            if self.script.sugar && self.follows_loop(iter) {
                run.push(iter);
                continue;
            }
            self.remap(&mut run);
            self.iter(iter);
        }
        self.remap(&mut run);
        if let Some(predicate) = block.predicate {
            self.begin();
            let mut text = "T.where(".to_owned();
            self.prim(predicate, &mut text);
            text.push(')');
            self.line(LineRole::Binding, &text);
        }
        self.regions("T.reads(", &block.reads);
        self.regions("T.writes(", &block.writes);
        if let Some(annotations) = block.annotations {
            self.begin();
            let mut text = "T.sblock_attr(".to_owned();
            self.dict(&store.attrs_of_id(annotations).fields, &mut text);
            text.push(')');
            self.line(LineRole::Binding, &text);
        }
        for &buffer in &block.allocs {
            self.begin();
            self.alloc(buffer, "sblock_alloc_buffer", None);
        }
        for (buffer, region) in &block.matches {
            self.begin();
            let scope = self.scope();
            let mut source = String::new();
            self.region(region, &mut source);
            let name = self.script.define_buffer(*buffer, scope);
            let mut text = format!("{name} = T.match_buffer({source}, ");
            self.arguments(*buffer, &mut text);
            text.push(')');
            self.line(LineRole::Binding, &text);
        }
        steps.push(Step::Close);
        self.begin();
        match block.init {
            Some(init) => {
                self.line(LineRole::Binding, "with T.init():");
                self.open_body(Spot::Stmt(init));
                steps.push(Step::AfterInit(block.body));
                self.push_body(init, steps);
            }
            None => self.push_body(block.body, steps),
        }
        self.detail = false;
    }

    fn regions(&mut self, head: &str, regions: &[Region]) {
        self.begin();
        let mut text = head.to_owned();
        for (i, region) in regions.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            self.region(region, &mut text);
        }
        text.push(')');
        self.line(LineRole::Binding, &text);
    }

    /// True if a block's variable is that of an outer loop over the same range.
    fn follows_loop(&self, iter: &IterVar) -> bool {
        let Some(PrimExpr::Var(symbol)) = iter.value.map(|value| self.script.store.prim_of_id(value)) else { return false };
        matches!(iter.kind, IterKind::Spatial | IterKind::Reduce)
            && self.loops.iter().any(|(var, min, extent)| var == symbol && *min == iter.min && *extent == iter.extent)
    }

    /// Prints `vi, vj = T.axis.remap("SR", [i, j])`.
    fn remap(&mut self, run: &mut Vec<&IterVar>) {
        if let [only] = run[..] {
            self.iter(only);
        } else if !run.is_empty() {
            self.begin();
            let scope = self.scope();
            let (mut names, mut kinds, mut values) = (Vec::new(), String::new(), Vec::new());
            for iter in run.iter() {
                names.push(self.script.define_symbol(iter.var, scope));
                kinds.push(if iter.kind == IterKind::Spatial { 'S' } else { 'R' });
                let mut text = String::new();
                iter.value.iter().for_each(|value| self.prim(*value, &mut text));
                values.push(text);
            }
            let text = format!("{} = T.axis.remap(\"{kinds}\", [{}])", names.join(", "), values.join(", "));
            self.line(LineRole::Binding, &text);
        }
        run.clear();
    }

    /// Prints `vi = T.axis.spatial(n, i)`.
    fn iter(&mut self, iter: &IterVar) {
        self.begin();
        let kind = match iter.kind {
            IterKind::Spatial => "spatial",
            IterKind::Reduce => "reduce",
            IterKind::Scan => "scan",
            IterKind::Opaque => "opaque",
        };
        let mut right = format!("T.axis.{kind}(");
        if self.script.store.as_prim_int(iter.min) == Some(0) {
            self.prim(iter.extent, &mut right);
        } else {
            right.push('(');
            self.prim(iter.min, &mut right);
            right.push_str(", ");
            self.sum(iter.min, iter.extent, &mut right);
            right.push(')');
        }
        if let Some(value) = iter.value {
            right.push_str(", ");
            self.prim(value, &mut right);
        }
        right.push(')');
        let scope = self.scope();
        let name = self.script.define_symbol(iter.var, scope);
        self.line(LineRole::Binding, &format!("{name} = {right}"));
    }
}

/// True if an expression reads a buffer.
fn reads(store: &Store, root: PrimId, wanted: Id<Buffer>) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, part| found |= matches!(part, PrimExpr::Load { buffer, .. } if *buffer == wanted));
    found
}

/// True if an expression mentions a variable.
fn mentions(store: &Store, root: PrimId, wanted: Id<crate::ir::Symbol>) -> bool {
    let mut found = false;
    store.for_each_prim(root, &mut |_, part| found |= matches!(part, PrimExpr::Var(symbol) if *symbol == wanted));
    found
}
