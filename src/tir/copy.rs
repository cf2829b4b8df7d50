//! Copies of tensor programs: definitions in a body are made anew, and names from outside can be replaced (TVM's
//! `RenewDefs`, `src/s_tir/transform/renew_defs.cc`, and the substitution of buffers in FuseTIR).

use crate::ir::{
    AttrNode, Block, Buffer, For, Id, IdMap, PrimExpr, PrimFunc, PrimId, PrimParam, Region, Stmt, StmtId, Store, Symbol,
};
use rustc_hash::FxHashMap;

/// A copying under way. Preset entries for symbols and buffers replace them.
#[derive(Default)]
pub struct Copier {
    /// The replacements of variables.
    pub symbols: FxHashMap<Id<Symbol>, PrimId>,
    /// The replacements of buffers.
    pub buffers: FxHashMap<Id<Buffer>, Id<Buffer>>,
}

/// A statement whose inner ones are under way, with everything else copied.
enum Open {
    Seq(usize),
    For(For),
    Block(Box<Block>),
    If(PrimId, bool),
    While(PrimId),
    Attr(AttrNode, Id<crate::ir::Name>, PrimId),
}

enum Step {
    Enter(StmtId),
    Leave(StmtId, Open),
}

impl Copier {
    /// Copies a scalar expression.
    pub fn prim(&mut self, store: &mut Store, root: PrimId) -> PrimId {
        let mut order = Vec::new();
        let mut bound = Vec::new();
        store.for_each_prim(root, &mut |id, expr| {
            order.push(id);
            if let PrimExpr::Let { var, .. } = expr {
                bound.push(*var);
            }
        });
        bound.into_iter().for_each(|var| {
            self.define(store, var);
        });
        let mut done: IdMap<PrimExpr, PrimId> = IdMap::new();
        for id in order {
            let mut at = |child: PrimId| done.get(child).copied().unwrap_or(child);
            let new = match store.prim_rc(id).over(&mut at) {
                PrimExpr::Int { .. } | PrimExpr::Float { .. } | PrimExpr::Str(_) | PrimExpr::Any => continue,
                PrimExpr::Reducer(_) | PrimExpr::Attrs(_) => continue,
                PrimExpr::Var(symbol) => {
                    if let Some(new) = self.symbols.get(&symbol) {
                        done.insert(id, *new);
                    }
                    continue;
                }
                PrimExpr::Data(buffer) => PrimExpr::Data(self.buffer(buffer)),
                PrimExpr::Buffer(buffer) => PrimExpr::Buffer(self.buffer(buffer)),
                PrimExpr::Load { buffer, indices } => PrimExpr::Load { buffer: self.buffer(buffer), indices },
                PrimExpr::Let { var, value, body } => PrimExpr::Let { var: self.symbol(store, var), value, body },
                other => other,
            };
            let new = store.prim(new);
            done.insert(id, new);
        }
        done.get(root).copied().unwrap_or(root)
    }

    fn prims(&mut self, store: &mut Store, prims: &[PrimId]) -> Box<[PrimId]> {
        prims.iter().map(|prim| self.prim(store, *prim)).collect()
    }

    /// Returns the replacement of a buffer; itself by default.
    pub fn buffer(&self, buffer: Id<Buffer>) -> Id<Buffer> {
        self.buffers.get(&buffer).copied().unwrap_or(buffer)
    }

    /// Copies a whole program, with parameters of its own.
    pub fn program(&mut self, store: &mut Store, program: Id<PrimFunc>) -> PrimFunc {
        let PrimFunc { params, ret, attrs, body } = store.prim_func(program).clone();
        let params = (params.iter())
            .map(|param| match *param {
                PrimParam::Var(symbol) => PrimParam::Var(self.define(store, symbol)),
                PrimParam::Buffer(buffer) => PrimParam::Buffer(self.define_buffer(store, buffer)),
            })
            .collect();
        let body = self.stmt(store, body, &mut |_, _| {});
        PrimFunc { params, ret, attrs, body }
    }

    /// Defines a buffer: copies it under a new identity.
    pub fn define_buffer(&mut self, store: &mut Store, buffer: Id<Buffer>) -> Id<Buffer> {
        let old = store.buffer(buffer).clone();
        let shape = self.prims(store, &old.shape);
        let strides = self.prims(store, &old.strides);
        let elem_offset = old.elem_offset.map(|offset| self.prim(store, offset));
        let data = old.data.map(|data| self.prim(store, data));
        let new = store.add_buffer(Buffer { shape, strides, elem_offset, data, ..old });
        self.buffers.insert(buffer, new);
        new
    }

    /// Returns the variable that a variable has become, when it is one.
    fn symbol(&self, store: &Store, symbol: Id<Symbol>) -> Id<Symbol> {
        match self.symbols.get(&symbol).map(|prim| store.prim_of_id(*prim)) {
            Some(PrimExpr::Var(new)) => *new,
            _ => symbol,
        }
    }

    /// Defines a variable: makes another one of that name.
    pub fn define(&mut self, store: &mut Store, symbol: Id<Symbol>) -> Id<Symbol> {
        let copy = store.symbol(symbol).clone();
        let new = store.add_symbol(copy);
        let prim = store.prim(PrimExpr::Var(new));
        self.symbols.insert(symbol, prim);
        new
    }

    /// Finds values of the symbols of an expression that make it equal to the given one (TVM's `SymbolicMatcher`).
    /// Accepts parts that may be equal; the error names parts that cannot be.
    pub fn match_prims(&mut self, store: &Store, param: PrimId, given: PrimId) -> Result<(), String> {
        let mut stack = vec![(param, given)];
        while let Some((a, b)) = stack.pop() {
            match (store.prim_of_id(a), store.prim_of_id(b)) {
                (PrimExpr::Var(symbol), _) => match self.symbols.get(symbol) {
                    Some(known) => {
                        if let (Some(x), Some(y)) = (store.as_prim_int(*known), store.as_prim_int(b))
                            && x != y
                        {
                            return Err(format!("a symbol of a program cannot be {x} and {y}"));
                        }
                    }
                    None => {
                        self.symbols.insert(*symbol, b);
                    }
                },
                (PrimExpr::Int { value: x, .. }, PrimExpr::Int { value: y, .. }) if x != y => {
                    return Err(format!("a program needs {x} where it is given {y}"));
                }
                (PrimExpr::Binary { op: p, a: a1, b: a2 }, PrimExpr::Binary { op: q, a: b1, b: b2 }) if p == q => {
                    stack.extend([(*a2, *b2), (*a1, *b1)]);
                }
                (PrimExpr::Cast { value: x, .. }, PrimExpr::Cast { value: y, .. }) => stack.push((*x, *y)),
                _ => {}
            }
        }
        Ok(())
    }

    fn region(&mut self, store: &mut Store, region: &Region) -> Region {
        let ranges = region
            .ranges
            .iter()
            .map(|(min, extent)| (self.prim(store, *min), extent.map(|extent| self.prim(store, extent))))
            .collect();
        Region { buffer: self.buffer(region.buffer), ranges }
    }

    /// Copies a statement. `leave_block` may change a block whose parts are done.
    pub fn stmt(&mut self, store: &mut Store, root: StmtId, leave_block: &mut dyn FnMut(&mut Store, &mut Block)) -> StmtId {
        let mut steps = vec![Step::Enter(root)];
        let mut done: Vec<StmtId> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(id) => self.enter(store, id, &mut steps, &mut done),
                Step::Leave(id, open) => {
                    let new = match open {
                        Open::Seq(count) => {
                            let stmts = done.split_off(done.len() - count);
                            let list = store.list(&stmts);
                            store.rebuild_stmt(id, Stmt::Seq(list))
                        }
                        Open::For(head) => {
                            let body = pop(&mut done, root);
                            store.rebuild_stmt(id, Stmt::For(head, body))
                        }
                        Open::Block(mut block) => {
                            block.body = pop(&mut done, root);
                            if block.init.is_some() {
                                block.init = done.pop();
                            }
                            leave_block(store, &mut block);
                            let block = store.add_prim_block(*block);
                            store.rebuild_stmt(id, Stmt::Block(block))
                        }
                        Open::If(cond, both) => {
                            let other = if both { done.pop() } else { None };
                            let then = pop(&mut done, root);
                            store.rebuild_stmt(id, Stmt::If { cond, then, other })
                        }
                        Open::While(cond) => {
                            let body = pop(&mut done, root);
                            store.rebuild_stmt(id, Stmt::While { cond, body })
                        }
                        Open::Attr(node, key, value) => {
                            let body = pop(&mut done, root);
                            store.rebuild_stmt(id, Stmt::Attr { node, key, value, body })
                        }
                    };
                    done.push(new);
                }
            }
        }
        pop(&mut done, root)
    }

    fn enter(&mut self, store: &mut Store, id: StmtId, steps: &mut Vec<Step>, done: &mut Vec<StmtId>) {
        let stmt = store.stmt(id).clone();
        let open = match stmt {
            Stmt::Seq(list) => {
                let stmts: Vec<StmtId> = store.items(list).collect();
                steps.push(Step::Leave(id, Open::Seq(stmts.len())));
                steps.extend(stmts.into_iter().rev().map(Step::Enter));
                return;
            }
            Stmt::Block(block) => {
                let old = store.prim_block(block).clone();
                let block = self.block(store, &old);
                steps.push(Step::Leave(id, Open::Block(Box::new(block))));
                steps.push(Step::Enter(old.body));
                steps.extend(old.init.map(Step::Enter));
                return;
            }
            Stmt::For(head, _) => {
                let (min, extent) = (self.prim(store, head.min), self.prim(store, head.extent));
                let step = head.step.map(|step| self.prim(store, step));
                let var = self.define(store, head.var);
                Open::For(For { var, min, extent, step, ..head })
            }
            Stmt::If { cond, other, .. } => Open::If(self.prim(store, cond), other.is_some()),
            Stmt::While { cond, .. } => Open::While(self.prim(store, cond)),
            Stmt::Attr { node, key, value, .. } => {
                let node = match node {
                    AttrNode::Prim(prim) => AttrNode::Prim(self.prim(store, prim)),
                    AttrNode::Thread { var, tag } => AttrNode::Thread { var: self.define(store, var), tag },
                    AttrNode::Nothing => AttrNode::Nothing,
                };
                Open::Attr(node, key, self.prim(store, value))
            }
            flat => {
                let flat = self.flat(store, flat);
                let new = store.rebuild_stmt(id, flat);
                done.push(new);
                return;
            }
        };
        steps.push(Step::Leave(id, open));
        let inner = store.stmt(id).nested();
        steps.extend(inner.into_iter().flatten().rev().map(Step::Enter));
    }

    /// Copies a statement without others inside.
    fn flat(&mut self, store: &mut Store, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Store { buffer, indices, value } => {
                let value = self.prim(store, value);
                Stmt::Store { buffer: self.buffer(buffer), indices: self.prims(store, &indices), value }
            }
            Stmt::Bind { var, value } => {
                let value = self.prim(store, value);
                Stmt::Bind { var: self.define(store, var), value }
            }
            Stmt::Alloc(buffer, annotations) => Stmt::Alloc(self.define_buffer(store, buffer), annotations),
            Stmt::Declare(buffer) => Stmt::Declare(self.define_buffer(store, buffer)),
            Stmt::Assert { cond, kind, parts } => Stmt::Assert { cond: self.prim(store, cond), kind, parts },
            Stmt::Evaluate(value) => Stmt::Evaluate(self.prim(store, value)),
            Stmt::Return(value) => Stmt::Return(self.prim(store, value)),
            other => other,
        }
    }

    /// Copies a block except its body.
    fn block(&mut self, store: &mut Store, old: &Block) -> Block {
        let mut iters = old.iters.clone();
        for iter in &mut iters {
            iter.value = iter.value.map(|value| self.prim(store, value));
            (iter.min, iter.extent) = (self.prim(store, iter.min), self.prim(store, iter.extent));
        }
        let predicate = old.predicate.map(|predicate| self.prim(store, predicate));
        for iter in &mut iters {
            iter.var = self.define(store, iter.var);
        }
        let allocs = old.allocs.iter().map(|buffer| self.define_buffer(store, *buffer)).collect();
        let sources: Vec<Region> = old.matches.iter().map(|(_, source)| self.region(store, source)).collect();
        let matches =
            old.matches.iter().zip(sources).map(|((buffer, _), source)| (self.define_buffer(store, *buffer), source)).collect();
        let reads = old.reads.iter().map(|region| self.region(store, region)).collect();
        let writes = old.writes.iter().map(|region| self.region(store, region)).collect();
        Block { iters, predicate, allocs, matches, reads, writes, ..old.clone() }
    }
}

fn pop(done: &mut Vec<StmtId>, fallback: StmtId) -> StmtId {
    done.pop().unwrap_or(fallback)
}
