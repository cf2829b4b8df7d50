//! ConvertSSA: no variable and no buffer is defined twice.
//!
//! Source: `IRConvertSSA` in `src/tirx/transform/ir_utils.cc`. Two loops over one variable come about when passes copy
//! statements; in a text every definition is one of its own.

use super::{prim_func, with_func};
use crate::ir::{AttrNode, Buffer, ExprId, Id, Module, PrimExpr, PrimFunc, PrimParam, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator};
use rustc_hash::{FxHashMap, FxHashSet};

const fn spec(name: &'static str, summary: &'static str) -> PassSpec {
    PassSpec {
        name,
        info_name: name,
        dialects: crate::pass::spec::TIR,
        opt_level: 0,
        required: &[],
        params: &[],
        config: &[],
        summary,
        doc: explained(
            "A variable of a loop, a block, a binding or an allocation that is defined a second time, in one function or in two, \
becomes another one of its name there. The index of a thread may be bound several times in a function, since it is the same \
one. Programs that were written are as they should be: only passes bring about others, such as unrolling a loop.",
        ),
        example_before: explained(
            "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            A[i] = 1
        for i in range(16):
            A[i] = 2
",
        ),
        example_after: explained(
            "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"int32\")):
        for i in range(16):
            A[i] = 1
        for i in range(16):
            A[i] = 2
",
        ),
        run: Run::Module(run),
    }
}

/// TVM's `tirx.transform.ConvertSSA`.
pub static SPEC: PassSpec = spec("tirx.ConvertSSA", "Gives every definition a variable of its own.");

/// TVM's `s_tir.transform.ConvertSSA`, a pass of its own there for definitions in blocks.
pub static BLOCKS: PassSpec = spec("s_tir.ConvertSSA", "Gives every definition a variable of its own, those of blocks, too.");

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut new = module.clone();
    let mut defined = Defined::default();
    for &(name, func) in module.functions() {
        if prim_func(cx.store, func).is_none() {
            continue;
        }
        let func = converted(cx.store, func, &mut defined);
        new.set_function(name, func);
    }
    Ok(new)
}

/// A function in which every definition has a variable of its own.
pub(super) fn convert(store: &mut Store, func: ExprId) -> ExprId {
    converted(store, func, &mut Defined::default())
}

fn converted(store: &mut Store, func: ExprId, defined: &mut Defined) -> ExprId {
    with_func(store, "definition renamed", func, |store, old| {
        defined.threads.clear();
        let mut cx = Rewriting::new(store);
        let mut params = Vec::new();
        for param in &old.params {
            params.push(match *param {
                PrimParam::Var(symbol) => PrimParam::Var(defined.symbol(&mut cx, symbol)),
                PrimParam::Buffer(buffer) => {
                    for symbol in free(cx.store, buffer) {
                        if !old.params.contains(&PrimParam::Var(symbol)) && cx.symbol(symbol).is_none() {
                            defined.shape(&mut cx, symbol);
                        }
                    }
                    PrimParam::Buffer(defined.buffer(&mut cx, buffer))
                }
            });
        }
        defined.shapes.clear();
        let body = cx.visit(defined, old.body);
        PrimFunc { params: params.into(), body, ..old }
    })
}

/// Returns the variables in the shape of a buffer.
fn free(store: &Store, buffer: Id<Buffer>) -> Vec<Id<Symbol>> {
    let data = store.buffer(buffer);
    let mut found = Vec::new();
    for part in data.shape.iter().chain(&data.strides).chain(&data.elem_offset) {
        store.for_each_prim(*part, &mut |_, expr| {
            if let PrimExpr::Var(symbol) = expr {
                found.push(*symbol);
            }
        });
    }
    found
}

/// The variables and buffers defined so far.
#[derive(Default)]
struct Defined {
    symbols: FxHashSet<Id<Symbol>>,
    buffers: FxHashSet<Id<Buffer>>,
    /// The thread indices of this function.
    threads: FxHashMap<Id<Symbol>, Id<Symbol>>,
    /// Variables in shapes of parameters of this function.
    shapes: FxHashSet<Id<Symbol>>,
}

impl Defined {
    /// Returns the variable for a definition.
    fn symbol(&mut self, cx: &mut Rewriting<'_>, symbol: Id<Symbol>) -> Id<Symbol> {
        if self.symbols.insert(symbol) {
            return symbol;
        }
        let copy = cx.store.symbol(symbol).clone();
        let new = cx.store.add_symbol(copy);
        self.symbols.insert(new);
        let becomes = cx.store.prim(PrimExpr::Var(new));
        cx.set_symbol(symbol, becomes);
        new
    }

    /// Defines a variable at its first use in the shape of a parameter.
    fn shape(&mut self, cx: &mut Rewriting<'_>, symbol: Id<Symbol>) {
        if self.shapes.insert(symbol) {
            self.symbol(cx, symbol);
        }
    }

    fn buffer(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Id<Buffer> {
        let old = cx.store.buffer(buffer).clone();
        let shape = cx.roots(self, &old.shape);
        let strides = cx.roots(self, &old.strides);
        let elem_offset = old.elem_offset.map(|offset| cx.root(self, offset));
        let data = old.data.map(|data| cx.root(self, data));
        let new = Buffer { shape, strides, elem_offset, data, ..old };
        if self.buffers.insert(buffer) && new == *cx.store.buffer(buffer) {
            return buffer;
        }
        let new = cx.store.add_buffer(new);
        self.buffers.insert(new);
        cx.set_buffer(buffer, new);
        new
    }

    /// Rewrites a statement with a variable of its own inside.
    fn scoped(&mut self, cx: &mut Rewriting<'_>, id: StmtId, symbols: &[Id<Symbol>]) -> StmtId {
        let outer: Vec<_> = symbols.iter().map(|symbol| (*symbol, cx.symbol(*symbol))).collect();
        symbols.iter().for_each(|symbol| {
            self.symbol(cx, *symbol);
        });
        let new = cx.descend(self, id);
        for (symbol, before) in outer {
            match before {
                Some(before) => cx.set_symbol(symbol, before),
                None => cx.unset_symbol(symbol),
            }
        }
        new
    }
}

impl StmtMutator for Defined {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::For(head, _) => Some(self.scoped(cx, id, &[head.var])),
            Stmt::Block(block) => {
                let iters: Vec<Id<Symbol>> = cx.store.prim_block(block).iters.iter().map(|iter| iter.var).collect();
                Some(self.scoped(cx, id, &iters))
            }
            Stmt::Attr { node: AttrNode::Thread { var, .. }, .. } => {
                match self.threads.get(&var).copied() {
                    Some(known) if known != var => {
                        let becomes = cx.store.prim(PrimExpr::Var(known));
                        cx.set_symbol(var, becomes);
                    }
                    Some(_) => {}
                    None => {
                        let new = self.symbol(cx, var);
                        self.threads.insert(var, new);
                    }
                }
                None
            }
            Stmt::Bind { var, value } => {
                let new = cx.root(self, value);
                let becomes = self.symbol(cx, var);
                if (becomes, new) == (var, value) {
                    return Some(id);
                }
                Some(cx.store.rebuild_stmt(id, Stmt::Bind { var: becomes, value: new }))
            }
            Stmt::Alloc(buffer, annotations) => {
                let new = self.buffer(cx, buffer);
                Some(if new == buffer { id } else { cx.store.rebuild_stmt(id, Stmt::Alloc(new, annotations)) })
            }
            Stmt::Declare(buffer) => {
                let new = self.buffer(cx, buffer);
                Some(if new == buffer { id } else { cx.store.rebuild_stmt(id, Stmt::Declare(new)) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, For, ForKind};
    use crate::passes::tir::testing::unchanged;

    #[test]
    fn two_loops_over_one_variable_get_one_each() {
        let store = &mut Store::new();
        let name = store.name("i");
        let var = store.add_symbol(Symbol { name, dtype: DType::I32, size: false });
        let (zero, two, index) = (store.prim_int(0, DType::I32), store.prim_int(2, DType::I32), store.prim(PrimExpr::Var(var)));
        let call = store.prim_call("call_extern", &[index], DType::I32);
        let body = store.add_stmt(Stmt::Evaluate(call));
        let head = For { var, min: zero, extent: two, step: None, kind: ForKind::Serial, annotations: None };
        let one = store.add_stmt(Stmt::For(head, body));
        let both = store.add_stmts(&[one, one]);
        let func = store.add_prim_func(PrimFunc { params: [].into(), ret: None, attrs: None, body: both });
        let func = store.add_typed(crate::ir::Expr::PrimFunc(func), None);
        let new = converted(store, func, &mut Defined::default());
        let body = prim_func(store, new).expect("a function").body;
        let vars: Vec<Id<Symbol>> = (store.stmts_of(body).into_iter())
            .filter_map(|stmt| if let Stmt::For(head, _) = store.stmt(stmt) { Some(head.var) } else { None })
            .collect();
        assert!(vars.len() == 2 && vars[0] == var && vars[1] != var, "{vars:?}");
    }

    #[test]
    fn what_was_written_stays() {
        let source = "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"int32\"), n: T.int32):\n    for i in range(n):\n        x: T.let[T.int32] = i + 1\n        A[i] = x\n    for i in range(n):\n        A[i] = n\n";
        unchanged(source, "tir.ConvertSSA()");
        unchanged(source, "s_tir.ConvertSSA()");
    }
}
