//! Verifies tensor programs, by the rules of TVM's `src/tirx/analysis/verify_well_formed.cc`.
//!
//! - A variable is defined once in a function, and used in its scope: the body of a loop or block, or the statements
//!   after a binding or declaration. Only an index of threads may be launched again.
//! - A buffer is used where it is a parameter, declared, allocated or matched.
//! - In a block with axes no variable of a loop around it is used: the axes replace those.

use crate::diag::{Diagnostic, Span};
use crate::ir::{
    AttrNode, Buffer, DTypeCode, Expr, Id, Module, Name, PrimExpr, PrimFunc, PrimId, PrimParam, Region, Stmt, StmtId, Store,
    Symbol,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns all errors of the tensor programs of a module.
pub(super) fn verify(store: &Store, module: &Module) -> Vec<Diagnostic> {
    let mut check = Checker {
        store,
        symbols: FxHashMap::default(),
        buffers: FxHashMap::default(),
        scopes: Vec::new(),
        threads: FxHashSet::default(),
        loops: FxHashMap::default(),
        blocks: Vec::new(),
        place: None,
        errors: Vec::new(),
    };
    for &(_, function) in module.functions() {
        if let Expr::PrimFunc(program) = store.expr(function) {
            check.place = store.source_span(function);
            check.function(store.prim_func(program));
        }
    }
    check.errors
}

/// A defined variable or buffer.
#[derive(Clone, Copy)]
enum Def {
    Symbol(Id<Symbol>),
    Buffer(Id<Buffer>),
}

struct Checker<'s> {
    store: &'s Store,
    /// Variables that were defined, and true while they are in scope.
    symbols: FxHashMap<Id<Symbol>, bool>,
    buffers: FxHashMap<Id<Buffer>, bool>,
    /// The definitions of each open scope.
    scopes: Vec<Vec<Def>>,
    /// Indices of threads of the function.
    threads: FxHashSet<Id<Symbol>>,
    /// Variables of the loops around, with the number of blocks with axes around each loop.
    loops: FxHashMap<Id<Symbol>, usize>,
    /// Blocks with axes around.
    blocks: Vec<Id<Name>>,
    place: Option<Span>,
    errors: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn error(&mut self, message: String) {
        let error = Diagnostic::error("tir-ill-formed", message, self.place);
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn function(&mut self, function: &PrimFunc) {
        self.threads.clear();
        self.symbols.clear();
        self.buffers.clear();
        self.scopes.push(Vec::new());
        for param in &*function.params {
            if let PrimParam::Var(symbol) = *param {
                self.define(symbol);
            }
        }
        let buffers = function.params.iter().filter_map(|param| match param {
            PrimParam::Buffer(buffer) => Some(*buffer),
            PrimParam::Var(_) => None,
        });
        let buffers: Vec<Id<Buffer>> = buffers.collect();
        buffers.iter().for_each(|buffer| self.match_symbols(*buffer));
        buffers.iter().for_each(|buffer| self.define_buffer(*buffer));
        self.scope(function.body);
        self.close();
    }

    /// Checks a statement in a scope of its own.
    fn scope(&mut self, id: StmtId) {
        self.scopes.push(Vec::new());
        self.stmt(id);
        self.close();
    }

    fn close(&mut self) {
        for def in self.scopes.pop().unwrap_or_default() {
            match def {
                Def::Symbol(symbol) => {
                    self.symbols.insert(symbol, false);
                }
                Def::Buffer(buffer) => {
                    self.buffers.insert(buffer, false);
                }
            }
        }
    }

    fn redefined(&mut self, name: Id<Name>, holds: bool) {
        let nested = if holds { "nested " } else { "" };
        let name = self.store.str(name);
        self.error(format!("TIR is ill-formed, due to multiple {nested}definitions of variable {name}."));
    }

    fn define(&mut self, symbol: Id<Symbol>) {
        if let Some(holds) = self.symbols.insert(symbol, true)
            && !self.threads.contains(&symbol)
        {
            self.redefined(self.store.symbol(symbol).name, holds);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Def::Symbol(symbol));
        }
    }

    /// Defines the variables in the extents, strides and offset of a matched buffer.
    fn match_symbols(&mut self, buffer: Id<Buffer>) {
        let data = self.store.buffer(buffer);
        let mut found = Vec::new();
        for extent in &data.shape {
            self.store.for_each_prim(*extent, &mut |_, expr| {
                if let PrimExpr::Var(symbol) = *expr {
                    found.push(symbol);
                }
            });
        }
        for own in data.strides.iter().chain(&data.elem_offset) {
            if let PrimExpr::Var(symbol) = *self.store.prim_of_id(*own) {
                found.push(symbol);
            }
        }
        for symbol in found {
            if self.symbols.get(&symbol) != Some(&true) {
                self.define(symbol);
            }
        }
    }

    fn define_buffer(&mut self, buffer: Id<Buffer>) {
        if let Some(holds) = self.buffers.insert(buffer, true) {
            self.redefined(self.store.buffer(buffer).name, holds);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Def::Buffer(buffer));
        }
        let data = self.store.buffer(buffer);
        data.shape.iter().chain(&data.strides).chain(&data.elem_offset).for_each(|prim| self.expr(*prim));
    }

    fn use_buffer(&mut self, buffer: Id<Buffer>) {
        let why = match self.buffers.get(&buffer) {
            Some(true) => return,
            Some(false) => "but its declaration is no longer in-scope",
            None => "without a prior DeclBuffer or other declaration",
        };
        let name = self.store.str(self.store.buffer(buffer).name);
        self.error(format!("TIR is ill-formed: buffer {name} is used {why}."));
    }

    fn use_symbol(&mut self, symbol: Id<Symbol>) {
        let name = self.store.str(self.store.symbol(symbol).name);
        if let Some(depth) = self.loops.get(&symbol)
            && let Some(block) = self.blocks.last()
            && *depth < self.blocks.len()
        {
            let around = match depth.checked_sub(1).map(|at| self.store.str(self.blocks[at])) {
                Some(outer) => format!("in block \"{outer}\""),
                None => "outside of any block".to_owned(),
            };
            let block = self.store.str(*block);
            self.error(format!(
                "Loop iterator var {name} is defined {around}, but is used inside the non-opaque current block \"{block}\"."
            ));
        }
        let note = match self.symbols.get(&symbol) {
            Some(true) => return,
            Some(false) => "  While this variable was previously defined, this definition is no longer in-scope.",
            None => "",
        };
        self.error(format!("Invalid use of undefined variable {name}.{note}"));
    }

    fn expr(&mut self, root: PrimId) {
        let (mut symbols, mut buffers, mut bound) = (Vec::new(), Vec::new(), FxHashSet::default());
        self.store.for_each_prim(root, &mut |_, expr| match *expr {
            PrimExpr::Var(symbol) => symbols.push(symbol),
            PrimExpr::Load { buffer, .. } | PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => buffers.push(buffer),
            PrimExpr::Let { var, .. } => {
                bound.insert(var);
            }
            _ => {}
        });
        for symbol in symbols {
            if !bound.contains(&symbol) {
                self.use_symbol(symbol);
            }
        }
        buffers.into_iter().for_each(|buffer| self.use_buffer(buffer));
    }

    fn region(&mut self, region: &Region) {
        self.use_buffer(region.buffer);
        for (min, extent) in &region.ranges {
            self.expr(*min);
            extent.iter().for_each(|extent| self.expr(*extent));
        }
    }

    /// Statements nest no deeper than the parser lets them, so this may recurse.
    fn stmt(&mut self, id: StmtId) {
        let store = self.store;
        let outer = self.place;
        self.place = store.source_span(store.stmt_node(id)).or(outer);
        match store.stmt(id) {
            Stmt::Seq(list) => store.items(*list).for_each(|stmt| self.stmt(stmt)),
            Stmt::For(head, body) => {
                self.expr(head.min);
                self.expr(head.extent);
                self.scopes.push(Vec::new());
                self.define(head.var);
                let shadowed = self.loops.insert(head.var, self.blocks.len());
                self.scope(*body);
                match shadowed {
                    Some(depth) => self.loops.insert(head.var, depth),
                    None => self.loops.remove(&head.var),
                };
                self.close();
            }
            Stmt::Block(block) => self.block(*block),
            Stmt::Store { buffer, indices, value } => {
                self.expr(*value);
                self.use_buffer(*buffer);
                indices.iter().for_each(|index| self.expr(*index));
            }
            Stmt::If { cond, then, other } => {
                self.expr(*cond);
                self.scope(*then);
                other.iter().for_each(|other| self.scope(*other));
            }
            Stmt::While { cond, body } => {
                self.expr(*cond);
                self.scope(*body);
            }
            Stmt::Bind { var, value } => {
                self.expr(*value);
                self.define(*var);
            }
            Stmt::Attr { node, value, body, .. } => {
                self.expr(*value);
                self.scopes.push(Vec::new());
                match node {
                    AttrNode::Thread { var, .. } => {
                        self.define(*var);
                        self.threads.insert(*var);
                    }
                    AttrNode::Prim(prim) if store.prim_dtype(*prim).code != DTypeCode::Handle => self.expr(*prim),
                    _ => {}
                }
                self.scope(*body);
                self.close();
            }
            Stmt::Alloc(buffer, _) => self.define_buffer(*buffer),
            Stmt::Declare(buffer) => {
                store.buffer(*buffer).data.iter().for_each(|data| self.expr(*data));
                self.define_buffer(*buffer);
            }
            Stmt::Assert { cond: value, .. } | Stmt::Evaluate(value) | Stmt::Return(value) => self.expr(*value),
            Stmt::Break | Stmt::Continue => {}
        }
        self.place = outer;
    }

    fn block(&mut self, id: Id<crate::ir::Block>) {
        let block = self.store.prim_block(id);
        block.iters.iter().filter_map(|iter| iter.value).chain(block.predicate).for_each(|value| self.expr(value));
        self.scopes.push(Vec::new());
        for iter in &block.iters {
            self.expr(iter.min);
            self.expr(iter.extent);
            self.define(iter.var);
        }
        let has_axes = !block.iters.is_empty();
        if has_axes {
            self.blocks.push(block.name);
        }
        block.allocs.iter().for_each(|buffer| self.define_buffer(*buffer));
        block.reads.iter().chain(&block.writes).for_each(|region| self.region(region));
        block.matches.iter().for_each(|(_, region)| self.region(region));
        for (buffer, _) in &block.matches {
            self.match_symbols(*buffer);
            self.define_buffer(*buffer);
        }
        block.init.iter().for_each(|init| self.scope(*init));
        self.scope(block.body);
        if has_axes {
            self.blocks.pop();
        }
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(body: &str) -> Vec<String> {
        let lines: String = body.lines().map(|line| format!("        {line}\n")).collect();
        let source = format!(
            "@I.ir_module\nclass Module:\n    @T.prim_func(s_tir=True)\n    def f(A: T.Buffer((4,), \"float32\")):\n{lines}"
        );
        let store = &mut Store::new();
        let parsed = crate::parse::parse(store, &source);
        assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}", parsed.diagnostics);
        let place = |span: Span| source[span.start as usize..].lines().next().unwrap_or_default().trim().to_owned();
        let found = verify(store, &parsed.program.module);
        found.into_iter().map(|error| format!("{}: {}", error.span.map(place).unwrap_or_default(), error.message)).collect()
    }

    // The messages are those of TVM 0.27 for these programs, without the path that stands there for the span.
    #[test]
    fn the_axes_of_a_block_stand_for_the_loops_around_it() {
        let block = "for i in range(4):\n    with T.sblock(\"b\"):\n        v = T.axis.spatial(4, i)\n        ";
        assert_eq!(wrong(&format!("{block}A[v] = T.float32(1)")), Vec::<String>::new());
        assert_eq!(
            wrong(&format!("{block}A[v] = T.Cast(\"float32\", i)")),
            ["A[v] = T.Cast(\"float32\", i): Loop iterator var i is defined outside of any block, but is used inside the \
                 non-opaque current block \"b\"."]
        );
    }

    #[test]
    fn a_variable_that_nothing_defines_is_named_where_it_is_used() {
        let body = "n = T.int32()\nA[0] = T.float32(1)\nA[n] = T.float32(2)";
        assert_eq!(wrong(body), ["A[n] = T.float32(2): Invalid use of undefined variable n."]);
    }
}
