//! InjectDoubleBuffer: the next round's data is loaded while this round's is worked on.
//!
//! Source: `src/s_tir/transform/inject_double_buffer.cc`.

use super::prim_func;
use crate::ir::{
    AttrNode, AttrsId, Buffer, DType, ExprId, For, Id, Kinds, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, copy_stmt, has_kinds, rewrite_func};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.InjectDoubleBuffer`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectDoubleBuffer",
    info_name: "s_tir.InjectDoubleBuffer",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &["s_tir.InjectDoubleBuffer"],
    summary: "Fills one half of a buffer while the other half is used.",
    doc: explained(
        "A statement under the attribute `double_buffer_scope` fills a buffer in each round of a loop. The pass gives the buffer \
two halves: the first is filled before the loop, and each round fills the half that the next one reads. The setting `split_loop` \
says into how many copies the loop is unrolled (1 or an even number), with the last rounds apart; at 0 it stays as it is. Buffers \
must be flat.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\"), C: T.Buffer((16,), \"float32\")):
        for i in range(16):
            B = T.alloc_buffer((4,), scope=\"shared\", layout=None)
            with T.attr(B.data, \"double_buffer_scope\", 1):
                for j in range(4):
                    B[j] = A[i * 4 + j]
            C[i] = B[0]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((64,), \"float32\"), C: T.Buffer((16,), \"float32\")):
        B = T.alloc_shared((8,), layout=None)
        for j in range(4):
            B[T.Mul(0, 4) + j] = A[T.Mul(0, 4) + j]
        for i_outer in range(15):
            if i_outer + 1 < 16:
                T.attr(B.data, \"double_buffer_write\", 1)
                for j in range(4):
                    B[(i_outer + 1) % 2 * 4 + j] = A[(i_outer + 1) * 4 + j]
            C[i_outer] = B[i_outer % 2 * 4]
        if T.bool(True):
            if T.Add(15, 1) < 16:
                for j in range(4):
                    B[T.Add(15, 1) % 2 * 4 + j] = A[T.Add(15, 1) * 4 + j]
            C[15] = B[T.FloorMod(15, 2) * 4]
",
    ),
    run: Run::PrimFunc(run),
};

const SCOPE: &str = "double_buffer_scope";
const WRITE: &str = "double_buffer_write";
const FLAT: &str = "InjectDoubleBuffer expects flat 1-d buffers.  Has FlattenBuffer been run?";

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(None) };
    if !has_kinds(cx.store, func, Kinds::ATTR) {
        return Ok(Some(func));
    }
    let split = cx.config_field("s_tir.InjectDoubleBuffer", "split_loop");
    let mut entries = FxHashMap::default();
    detect(cx.store, prim.body, &mut entries);
    if entries.is_empty() {
        return Ok(Some(func));
    }
    let mut inject = Inject {
        split,
        entries,
        nest: Vec::new(),
        allocs: FxHashMap::default(),
        before: FxHashMap::default(),
        pending: Vec::new(),
    };
    rewrite_func(cx.store, func, &mut inject).map(Some)
}

/// A buffer with two halves.
#[derive(Clone, Default)]
struct Entry {
    /// The size of a half.
    stride: Option<PrimId>,
    /// The loop in whose rounds the halves change, and which half is written and read in it.
    at: Option<(StmtId, Id<Symbol>, PrimId)>,
    /// The buffer of both halves.
    both: Option<Id<Buffer>>,
}

/// Returns the buffers under the attribute whose pointers nothing uses after it.
fn detect(store: &Store, id: StmtId, found: &mut FxHashMap<Id<Buffer>, Entry>) {
    let stmt = store.stmt(id);
    if let Stmt::Attr { node: AttrNode::Prim(node), key, .. } = stmt
        && store.str(*key) == SCOPE
        && let PrimExpr::Data(buffer) = *store.prim_of_id(*node)
    {
        found.insert(buffer, Entry::default());
    }
    let mut forget = |root: PrimId| {
        store.for_each_prim(root, &mut |_, part| {
            if let PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) = part {
                found.remove(buffer);
            }
        });
    };
    if let Stmt::Declare(buffer) = stmt {
        store.buffer(*buffer).data.iter().for_each(|data| forget(*data));
    }
    store.for_each_prim_of(stmt, forget);
    let mut inner = Vec::new();
    store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
    inner.into_iter().for_each(|stmt| detect(store, stmt, found));
}

struct Inject {
    split: i64,
    entries: FxHashMap<Id<Buffer>, Entry>,
    /// The loops around.
    nest: Vec<(StmtId, For)>,
    /// The allocations before a loop.
    allocs: FxHashMap<StmtId, Vec<StmtId>>,
    /// The statements that fill buffers before a loop.
    before: FxHashMap<StmtId, Vec<StmtId>>,
    /// Allocations that have no place yet.
    pending: Vec<(Id<Buffer>, Option<AttrsId>)>,
}

impl StmtMutator for Inject {
    fn rule(&self) -> &'static str {
        "double buffer injected"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Attr { node: AttrNode::Prim(node), key, body, .. } if cx.store.str(key) == SCOPE => {
                self.producer(cx, node, body)
            }
            Stmt::Alloc(buffer, annotations) => {
                let entry = self.entries.get_mut(&buffer)?;
                let [size] = cx.store.buffer(buffer).shape[..] else {
                    cx.fail("tir-buffers", FLAT);
                    return None;
                };
                entry.stride = Some(size);
                self.pending.push((buffer, annotations));
                Some(cx.store.no_op())
            }
            Stmt::For(head, _) => self.loop_(cx, id, head),
            Stmt::Store { buffer, indices, value } => {
                let entry = self.entries.get(&buffer).cloned()?;
                let value = cx.root(self, value);
                let indices = cx.roots(self, &indices);
                let (Some((_, half, _)), Some(stride), [index]) = (entry.at, entry.stride, &indices[..]) else {
                    cx.fail("tir-buffers", FLAT);
                    return None;
                };
                let half = cx.store.prim(PrimExpr::Var(half));
                let index = in_half(cx.store, half, stride, *index);
                let buffer = self.both(cx.store, buffer)?;
                Some(cx.store.add_stmt(Stmt::Store { buffer, indices: [index].into(), value }))
            }
            _ => None,
        }
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let entry = self.entries.get(&buffer).cloned()?;
        let (Some((_, _, half)), Some(stride), [index]) = (entry.at, entry.stride, indices) else {
            cx.fail(
                "tir-buffers",
                "Check failed: (e.switch_read_var.defined()) is false: a double buffer is read before it is filled",
            );
            return None;
        };
        let index = in_half(cx.store, half, stride, *index);
        Some((self.both(cx.store, buffer)?, vec![index]))
    }
}

fn in_half(store: &mut Store, half: PrimId, stride: PrimId, index: PrimId) -> PrimId {
    let first = binary(store, PrimOp::Mul, half, stride);
    binary(store, PrimOp::Add, first, index)
}

impl Inject {
    /// Returns the buffer of both halves.
    fn both(&mut self, store: &mut Store, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let entry = self.entries.get_mut(&buffer)?;
        if entry.both.is_none() {
            let old = store.buffer(buffer).clone();
            let (size, stride) = (*old.shape.first()?, entry.stride?);
            let size = binary(store, PrimOp::Add, size, stride);
            entry.both = Some(store.add_buffer(Buffer { shape: [size].into(), ..old }));
        }
        entry.both
    }

    fn producer(&mut self, cx: &mut Rewriting<'_>, node: PrimId, body: StmtId) -> Option<StmtId> {
        let Some((id, head)) = self.nest.last().cloned() else {
            cx.fail("tir-loops", "Double buffer scope must be inside a loop");
            return None;
        };
        let buffer = match *cx.store.prim_of_id(node) {
            PrimExpr::Data(buffer) if self.entries.contains_key(&buffer) => buffer,
            _ => return Some(cx.visit(self, body)),
        };
        let store = &mut *cx.store;
        let variable = store.symbol(head.var).clone();
        let dtype = variable.dtype;
        let name = store.name(&format!("{}.db", store.str(variable.name)));
        let half = store.add_symbol(Symbol { name, ..variable });
        let [zero, one, two] = [0, 1, 2].map(|number| store.prim_int(number, dtype));
        let round = store.prim(PrimExpr::Var(head.var));
        let next = binary(store, PrimOp::Add, round, one);
        let read = binary(store, PrimOp::FloorMod, round, two);
        if let Some(entry) = self.entries.get_mut(&buffer) {
            entry.at = Some((id, half, read));
        }
        let body = cx.visit(self, body);
        let first = copy_stmt(cx.store, body, &[(half, zero), (head.var, zero)]);
        self.before.entry(id).or_default().push(first);
        let written = binary(cx.store, PrimOp::FloorMod, next, two);
        let body = copy_stmt(cx.store, body, &[(head.var, next), (half, written)]);
        let both = self.both(cx.store, buffer)?;
        let node = AttrNode::Prim(cx.store.prim(PrimExpr::Data(both)));
        let (key, value) = (cx.store.name(WRITE), cx.store.prim_int(1, DType::I32));
        let then = cx.store.add_stmt(Stmt::Attr { node, key, value, body });
        let cond = binary(cx.store, PrimOp::Lt, next, head.extent);
        Some(cx.store.add_stmt(Stmt::If { cond, then, other: None }))
    }

    fn loop_(&mut self, cx: &mut Rewriting<'_>, id: StmtId, head: For) -> Option<StmtId> {
        self.nest.push((id, head));
        let mut new = cx.descend(self, id);
        self.nest.pop();
        for (buffer, annotations) in std::mem::take(&mut self.pending) {
            match self.entries.get(&buffer).and_then(|entry| entry.at) {
                Some((at, ..)) => {
                    let both = self.both(cx.store, buffer)?;
                    let alloc = cx.store.add_stmt(Stmt::Alloc(both, annotations));
                    self.allocs.entry(at).or_default().push(alloc);
                }
                None => self.pending.push((buffer, annotations)),
            }
        }
        if let Some(mut all) = self.before.remove(&id) {
            if self.split == 0 {
                all.push(new);
            } else {
                self.split(cx, new, &mut all)?;
            }
            new = cx.store.flat_seq(None, &all);
        }
        if let Some(mut all) = self.allocs.remove(&id) {
            all.push(new);
            new = cx.store.flat_seq(None, &all);
        }
        Some(new)
    }

    /// Splits the loop into copies, and the remaining iterations.
    fn split(&mut self, cx: &mut Rewriting<'_>, id: StmtId, all: &mut Vec<StmtId>) -> Option<()> {
        let Stmt::For(head, body) = cx.store.stmt(id).clone() else { return None };
        let wrong = (self.split % 2 != 0 && self.split != 1) || !(1..=64).contains(&self.split);
        if wrong || cx.store.as_prim_int(head.min) != Some(0) {
            cx.fail("tir-loops", "It is better to split with multiple of 2, a loop from 0, into at most 64 copies");
            return None;
        }
        let store = &mut *cx.store;
        let variable = store.symbol(head.var).clone();
        let one = store.prim_int(1, variable.dtype);
        let rounds = binary(store, PrimOp::Sub, head.extent, one);
        let factor = store.prim_int(self.split, store.prim_dtype(rounds));
        let extent = binary(store, PrimOp::Div, rounds, factor);
        let rest = binary(store, PrimOp::Mul, extent, factor);
        let name = store.name(&format!("{}.outer", store.str(variable.name)));
        let outer = store.add_symbol(Symbol { name, ..variable });
        let var = store.prim(PrimExpr::Var(outer));
        let scaled = binary(store, PrimOp::Mul, var, factor);
        let mut copies = Vec::new();
        for number in 0..self.split {
            let number = store.prim_int(number, store.prim_dtype(factor));
            let value = binary(store, PrimOp::Add, scaled, number);
            copies.push(copy_stmt(store, body, &[(head.var, value)]));
        }
        let inner = store.flat_seq(None, &copies);
        let outer = For { var: outer, min: head.min, extent, step: None, kind: head.kind, annotations: None };
        all.push(store.add_stmt(Stmt::For(outer, inner)));
        let tail = Rewriting::new(store).visit(&mut Strip, body);
        for number in 0..self.split {
            let number = store.prim_int(number, store.prim_dtype(rest));
            let value = binary(store, PrimOp::Add, rest, number);
            let then = copy_stmt(store, tail, &[(head.var, value)]);
            let cond = binary(store, PrimOp::Lt, value, head.extent);
            all.push(store.add_stmt(Stmt::If { cond, then, other: None }));
        }
        Some(())
    }
}

/// Takes the attributes of writes away.
struct Strip;

impl StmtMutator for Strip {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt(id) {
            Stmt::Attr { key, body, .. } if cx.store.str(key) == WRITE => Some(cx.visit(self, body)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after_with, error, unchanged};

    #[test]
    fn the_loop_stays_whole_when_it_is_not_to_be_split() {
        let text =
            after_with(SPEC.example_before, "s_tir.InjectDoubleBuffer()", &[("s_tir.InjectDoubleBuffer", "{\"split_loop\": 0}")]);
        assert!(text.contains("for i in range(16):\n            if i + 1 < 16:"), "{text}");
        assert!(text.contains("C[i] = B[i % 2 * 4]"), "{text}");
    }

    #[test]
    fn a_buffer_with_two_dimensions_is_refused() {
        let source =
            SPEC.example_before.replace("(4,), scope", "(2, 2), scope").replace("B[j]", "B[0, j]").replace("B[0]", "B[0, 0]");
        assert!(error(&source, "s_tir.InjectDoubleBuffer()").starts_with("InjectDoubleBuffer expects flat 1-d buffers"));
    }

    #[test]
    fn without_the_attribute_nothing_happens() {
        unchanged(&SPEC.example_before.replace("double_buffer_scope", "other"), "s_tir.InjectDoubleBuffer()");
    }
}
