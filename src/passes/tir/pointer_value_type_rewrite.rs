//! PointerValueTypeRewrite: buffers that are only used in whole vectors become buffers of vectors.
//!
//! Source: `src/tirx/transform/storage_rewrite.cc`, which does the same for allocations in StorageRewrite.

mod uses;

use super::{prim_func, with_func};
use crate::diag::Diagnostic;
use crate::ir::{
    Buffer, BufferLayout, DType, ExprId, Id, IdMap, Kinds, Mentions, Module, PrimExpr, PrimFunc, PrimId, PrimOp, sort,
};
use crate::ir::{PrimParam, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::arith::Analyzer;
use crate::tir::{Rewriting, StmtMutator, binary, has_kinds, math};
use rustc_hash::{FxHashMap, FxHashSet};
use uses::{Uses, preferred};

/// TVM's `tirx.transform.PointerValueTypeRewrite`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.PointerValueTypeRewrite",
    info_name: "tirx.PointerValueTypeRewrite",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes buffers of vectors of those that are only used in whole vectors.",
    doc: explained(
        "A buffer, or a pointer, whose accesses all read or write vectors of one length at multiples of that length becomes a \
buffer of such vectors with as many elements less, and its accesses lose their ramps: `A[T.Ramp(i * 4, 1, 4)]` is \
`A[T.Div(i * 4, 4)]` then. Single elements that are read beside become a lane of a vector: `T.Shuffle([A[...]], [1])`. The \
extent of the last axis must be a multiple of the length. Buffers that are accessed in several ways or types stay.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):
        for i in range(4):
            A[i * 4:i * 4 + 4] = B[T.Ramp(i * 4, 1, 4)]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), \"float32x4\", layout=None), B: T.Buffer((4,), \"float32x4\", layout=None)):
        for i in range(4):
            A[T.Div(i * 4, 4)] = B[T.Div(i * 4, 4)]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let which = Which { params: true, pointers: true, untyped: false, shuffles: true };
    rewrite_types(cx.store, func, which).map(Some)
}

/// The kinds of memory that may become vectors besides allocations.
#[derive(Clone, Copy)]
pub(super) struct Which {
    /// Buffers that are parameters.
    pub(super) params: bool,
    /// Pointers that are parameters.
    pub(super) pointers: bool,
    /// True if untyped pointers get the type of their uses.
    pub(super) untyped: bool,
    /// True if single elements become lanes.
    pub(super) shuffles: bool,
}

/// The identity of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Key {
    Buffer(Id<Buffer>),
    Pointer(Id<Symbol>),
}

/// Rewrites memory to vectors if all accesses are to whole vectors.
pub(super) fn rewrite_types(store: &mut Store, func: ExprId, which: Which) -> Result<ExprId, PassError> {
    let Some(prim) = prim_func(store, func) else { return Ok(func) };
    if has_kinds(store, func, Kinds::BLOCK)
        && let Some(buffer) = memory_of_block(store, prim.body)
    {
        let name = store.str(store.buffer(buffer).name);
        let message = format!(
            "Check failed: (it != info_map_.end()) is false: Load/Store of buffer {name} occurred before its declaration."
        );
        let error = Diagnostic::error("tir-buffer", message, None);
        return Err(vec![error.with_note("memory of blocks is lowered before, by LowerOpaqueBlock")]);
    }
    let mut uses = Uses {
        which,
        analyzer: Analyzer::new(),
        usage: FxHashMap::default(),
        order: Vec::new(),
        roots: FxHashMap::default(),
        tracked: Mentions::NONE,
    };
    for param in &prim.params {
        match *param {
            PrimParam::Buffer(buffer) => {
                uses.roots.insert(buffer, buffer);
                uses.declare_buffer(store, buffer, which.params);
            }
            PrimParam::Var(symbol) => uses.declare_pointer(store, symbol, which.pointers),
        }
    }
    uses.stmt(store, prim.body);
    let mut types = Types { roots: uses.roots, becomes: FxHashMap::default(), analyzer: Analyzer::new() };
    for key in uses.order {
        let usage = &uses.usage[&key];
        let preferred = preferred(store, usage);
        if usage.may && preferred != usage.element {
            types.becomes.insert(key, (usage.element, preferred));
        }
    }
    if types.becomes.is_empty() {
        return Ok(func);
    }
    Ok(with_func(store, "memory of vectors", func, |store, old| types.func(store, old)))
}

/// Returns the first buffer in use that a block allocates or matches: the allocations that this pass knows are statements.
fn memory_of_block(store: &Store, body: StmtId) -> Option<Id<Buffer>> {
    let (mut own, mut first) = (FxHashSet::default(), None);
    store.for_each_stmt(body, |stmt| {
        if let Stmt::Block(block) = stmt {
            let block = store.prim_block(*block);
            own.extend(block.allocs.iter().copied().chain(block.matches.iter().map(|(buffer, _)| *buffer)));
        }
        let mut used = |buffer: Id<Buffer>| first = first.or(Some(buffer).filter(|buffer| own.contains(buffer)));
        if let Stmt::Store { buffer, .. } = stmt {
            used(*buffer);
        }
        store.for_each_prim_of(stmt, |root| {
            store.for_each_prim(root, &mut |_, expr| {
                if let PrimExpr::Load { buffer, .. } = expr {
                    used(*buffer);
                }
            });
        });
    });
    first
}

/// Returns the memory that an expression for a pointer is about.
fn key_of(store: &Store, data: PrimId) -> Option<Key> {
    match *store.prim_of_id(data) {
        PrimExpr::Data(buffer) | PrimExpr::Buffer(buffer) => Some(Key::Buffer(buffer)),
        PrimExpr::Var(symbol) => Some(Key::Pointer(symbol)),
        _ => None,
    }
}

/// Writes the new types.
struct Types {
    roots: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The element types before and after.
    becomes: FxHashMap<Key, (DType, DType)>,
    analyzer: Analyzer,
}

impl Types {
    fn func(&mut self, store: &mut Store, old: PrimFunc) -> PrimFunc {
        let mut cx = Rewriting::new(store);
        let mut keys: Vec<Key> = self.becomes.keys().copied().collect();
        let place = |key: &Key| match key {
            Key::Buffer(buffer) => (0, buffer.index()),
            Key::Pointer(symbol) => (1, symbol.index()),
        };
        sort::sort_by(&mut keys, |a, b| place(a).cmp(&place(b)));
        let mut pointers: IdMap<Symbol, Id<Symbol>> = IdMap::new();
        for key in keys {
            let (from, to) = self.becomes[&key];
            match key {
                Key::Buffer(buffer) => {
                    let new = vectors(cx.store, buffer, from, to);
                    let new = cx.store.add_buffer(new);
                    cx.set_buffer(buffer, new);
                }
                Key::Pointer(symbol) => {
                    let old = cx.store.symbol(symbol).clone();
                    let scope = match cx.store.pointee(old.dtype) {
                        Some(pointer) => pointer.scope,
                        None => cx.store.name("global"),
                    };
                    let dtype = cx.store.pointer(to, scope);
                    let new = cx.store.add_symbol(Symbol { dtype, ..old });
                    pointers.insert(symbol, new);
                    let becomes = cx.store.prim(PrimExpr::Var(new));
                    cx.set_symbol(symbol, becomes);
                }
            }
        }
        let params = (old.params.iter())
            .map(|param| match *param {
                PrimParam::Buffer(buffer) => PrimParam::Buffer(cx.buffer(buffer)),
                PrimParam::Var(symbol) => PrimParam::Var(pointers.get(symbol).copied().unwrap_or(symbol)),
            })
            .collect();
        let body = cx.visit(self, old.body);
        PrimFunc { params, body, ..old }
    }

    /// Returns the types of a buffer's elements before and after, if they change.
    fn of(&self, buffer: Id<Buffer>) -> Option<(DType, DType)> {
        let root = self.roots.get(&buffer).copied().unwrap_or(buffer);
        self.becomes.get(&Key::Buffer(root)).copied()
    }

    /// Returns the number of an element in its vector, and how long that is, where a single one is accessed.
    fn lane(&mut self, store: &mut Store, buffer: Id<Buffer>, last: PrimId) -> Option<i64> {
        let (from, to) = self.of(buffer)?;
        let factor = i64::from(to.lanes / from.lanes.max(1));
        let is_ramp = matches!(*store.prim_of_id(last), PrimExpr::Ramp { .. });
        if is_ramp || factor <= 1 || store.prim_dtype(last).lanes != 1 {
            return None;
        }
        Some(self.analyzer.modular_set(store, last).base.rem_euclid(factor))
    }
}

/// Makes a buffer with vectors as elements.
fn vectors(store: &mut Store, buffer: Id<Buffer>, from: DType, to: DType) -> Buffer {
    let old = store.buffer(buffer).clone();
    let mut shape = old.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = divided(store, *last, i64::from(to.lanes / from.lanes.max(1)));
    }
    Buffer { dtype: to, shape, layout: BufferLayout::Unsaid, ..old }
}

fn divided(store: &mut Store, value: PrimId, by: i64) -> PrimId {
    let by = math::constant(store, by, store.prim_dtype(value));
    binary(store, PrimOp::Div, value, by)
}

impl StmtMutator for Types {
    fn rule(&self) -> &'static str {
        ""
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let Stmt::Bind { var, value } = *cx.store.stmt(id) else { return None };
        let new = cx.symbol(var)?;
        let PrimExpr::Var(var) = *cx.store.prim_of_id(new) else { return None };
        let mut value = cx.root(self, value);
        let dtype = cx.store.symbol(var).dtype;
        if let PrimExpr::Call { op, args, .. } = &*cx.store.prim_rc(value) {
            value = cx.store.prim(PrimExpr::Call { op: *op, args: args.clone(), dtype });
        }
        Some(cx.store.rebuild_stmt(id, Stmt::Bind { var, value }))
    }

    fn define_buffer(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let (from, to) = self.of(buffer)?;
        let mut new = vectors(cx.store, buffer, from, to);
        new.data = new.data.map(|data| cx.root(self, data));
        Some(cx.store.add_buffer(new))
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        let (from, to) = self.of(buffer)?;
        let factor = (to.lanes / from.lanes.max(1)).max(1);
        let mut indices = indices.to_vec();
        let last = indices.last_mut()?;
        if cx.store.prim_dtype(*last).is_scalable() {
            return None;
        }
        match *cx.store.prim_of_id(*last) {
            PrimExpr::Ramp { base, stride, lanes } if cx.store.as_prim_int(stride) == Some(1) => {
                let mut index = divided(cx.store, base, i64::from(lanes));
                if lanes != factor {
                    let rest = lanes / factor;
                    let by = cx.store.prim_int(i64::from(rest), cx.store.prim_dtype(index));
                    let base = binary(cx.store, PrimOp::Mul, index, by);
                    index = cx.store.prim(PrimExpr::Ramp { base, stride, lanes: rest.max(1) });
                }
                *last = index;
            }
            _ if factor > 1 && cx.store.prim_dtype(*last).lanes == 1 => *last = divided(cx.store, *last, i64::from(factor)),
            _ => {}
        }
        Some((cx.buffer(buffer), indices))
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        match (&*cx.store.prim_rc(pre), &*cx.store.prim_rc(post)) {
            (PrimExpr::Load { buffer, indices }, _) => {
                let Some(lane) = indices.last().and_then(|last| self.lane(cx.store, *buffer, *last)) else { return post };
                let lane = cx.store.prim_int(lane, DType::I32);
                cx.store.prim(PrimExpr::Shuffle { vectors: [post].into(), indices: [lane].into() })
            }
            (PrimExpr::Call { args: old, .. }, PrimExpr::Call { op, args, dtype })
                if args.len() == 5 && cx.store.str(*op) == "tvm_access_ptr" =>
            {
                let root = match key_of(cx.store, old[1]) {
                    Some(Key::Buffer(buffer)) => Key::Buffer(self.roots.get(&buffer).copied().unwrap_or(buffer)),
                    Some(key) => key,
                    None => return post,
                };
                let Some((from, to)) = self.becomes.get(&root).copied() else { return post };
                let factor = i64::from(to.lanes / from.lanes.max(1));
                let mut args = args.clone();
                args[0] = cx.store.prim_call("type_annotation", &[], to);
                if let Key::Buffer(buffer) = root {
                    let buffer = cx.buffer(buffer);
                    args[1] = cx.store.prim(PrimExpr::Data(buffer));
                }
                args[2] = divided(cx.store, args[2], factor);
                args[3] = divided(cx.store, args[3], factor);
                let dtype = match cx.store.pointee(*dtype) {
                    Some(pointer) => cx.store.pointer(to, pointer.scope),
                    None => *dtype,
                };
                cx.store.prim(PrimExpr::Call { op: *op, args, dtype })
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    #[test]
    fn memory_of_a_block_is_refused_where_it_is_used() {
        let text = |used: &str| {
            format!(
                "@T.prim_func(private=True)\ndef f(A: T.Buffer((16,), \"float32\")):\n    C = T.sblock_alloc_buffer((16,))\n    \
                 for i in range(16):\n        with T.sblock(\"b\"):\n            v = T.axis.spatial(16, i)\n            {used}[v] = T.float32(1.0)\n"
            )
        };
        let message = "Check failed: (it != info_map_.end()) is false: Load/Store of buffer C occurred before its declaration.";
        for pass in ["tirx.PointerValueTypeRewrite()", "tirx.StorageRewrite()"] {
            assert_eq!(error(&text("C"), pass), message);
            unchanged(&text("A"), pass);
        }
    }

    fn source(body: &str) -> String {
        format!(
            "@T.prim_func(private=True, s_tir=True)\ndef f(A: T.Buffer((64,), \"float32\"), n: T.int32):\n    B = T.alloc_buffer((16,))\n    {body}\n"
        )
    }

    #[test]
    fn whole_vectors_make_a_buffer_of_vectors() {
        let text = after(&source("B[0:4] = A[T.Ramp(n * 4, 1, 4)]"), "tir.PointerValueTypeRewrite()");
        assert!(text.contains("A: T.Buffer((16,), \"float32x4\")") && text.contains("B[0] = A[T.Div(n * 4, 4)]"), "{text}");
    }

    #[test]
    fn a_single_element_is_read_as_a_lane() {
        let text = after(&source("A[0:4] = T.Broadcast(A[n * 8 + 5], 4)"), "tir.PointerValueTypeRewrite()");
        assert!(text.contains("T.Shuffle([A[T.Div(n * 8 + 5, 4)]], [1])"), "{text}");
    }

    #[test]
    fn buffers_that_are_used_in_several_ways_stay() {
        for body in
            ["A[n:n + 4] = T.Broadcast(T.float32(0.0), 4)", "A[n] = A[n + 1]", "A[0] = A[n * 4]\n    A[0:4] = A[T.Ramp(8, 1, 4)]"]
        {
            unchanged(&source(body), "tir.PointerValueTypeRewrite()");
        }
    }
}
