//! Programs as tables: what Python reads and makes, many nodes in one crossing (`www/python/tvm/_table.py`).
//!
//! A row is `space, id, number of words, words` on the way out and `space, number of words, words` on the way in. A node that
//! was given once is not given again, because nothing of it changes; a part of it is referred to by its id. The words of each
//! kind stand in [`read`] and, in the same order, in [`mod@write`].

mod arith;
mod ask;
mod programs;
mod read;
mod run;
mod schedule;
mod tir;
mod write;

pub use arith::*;
pub use ask::*;
pub use programs::*;
pub use schedule::*;
pub use tir::*;

use super::{Js, MAX_NODES, Words, error, with};
use crate::boundary::scripts::Space;
use crate::ir::{Dialect, Dim, Expr, ExprId, Id, Module, Store, Tensor, walk};
use crate::print::{self, Marks, Notes, PrintOptions};
use crate::words::Worded;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

/// No reference.
const NONE: u32 = u32::MAX;

/// The table with a number; names have none.
fn space_at(number: u32) -> Option<Space> {
    Space::at(number).filter(|space| *space != Space::Name)
}

/// True if there is something with that id.
fn is_there(space: Space, store: &Store, index: usize) -> bool {
    fn some<T>(id: Option<Id<T>>) -> bool {
        id.is_some()
    }
    match space {
        Space::Expr => some(store.expr_at(index)),
        Space::Type => some(store.type_at(index)),
        Space::Prim => some(store.prim_at(index)),
        Space::Stmt => some(store.stmt_at(index)),
        Space::Symbol => some(store.symbol_at(index)),
        Space::Buffer => some(store.buffer_at(index)),
        Space::Attrs => some(store.attrs_at(index)),
        Space::Object => some(store.object_at(index)),
        Space::Block => some(store.block_at(index)),
        Space::Pattern => some(store.pattern_at(index)),
        Space::Adt => some(store.adt_at(index)),
        Space::TypeVar => some(store.type_var_at(index)),
        Space::Name => some(store.name_at(index)),
    }
}

thread_local! {
    /// Things that Python was given already.
    static GIVEN: RefCell<FxHashSet<u64>> = RefCell::new(FxHashSet::default());
}

/// Says in which dialect nodes are made and texts are written from now on, for a script that is about programs of both.
#[wasm_bindgen]
pub fn user_dialect(relax: bool) -> Js<()> {
    with(|lent| {
        lent.dialect = if relax { Dialect::Relax } else { Dialect::Relay };
        Ok(())
    })
}

/// Forgets what was given: a new script knows nothing.
#[wasm_bindgen]
pub fn table_forget() {
    GIVEN.with_borrow_mut(FxHashSet::clear);
}

/// Forgets what was made of the memory that was lent.
pub(super) fn forget_memory() {
    table_forget();
    arith::forget();
    schedule::forget();
}

/// Rows of things, each a space and an id, and of everything that they lead to: `[rows, ids of names, their texts]`.
#[wasm_bindgen]
pub fn table_read(things: &[u32]) -> Js<js_sys::Array> {
    with(|lent| {
        GIVEN.with_borrow_mut(|given| {
            let store = &mut lent.store;
            let mut reader = read::Reader::new(store, lent.dialect, given);
            for thing in things.chunks_exact(2) {
                let space = space_at(thing[0]).filter(|space| is_there(*space, reader.store, thing[1] as usize));
                reader.all(space.ok_or_else(|| error("there is nothing with this id"))?, thing[1]);
            }
            let (words, names) = (std::mem::take(&mut reader.words), std::mem::take(&mut reader.names));
            let ids: Vec<u32> = names.iter().map(|id| id.index() as u32).collect();
            let texts: Vec<&str> = names.iter().map(|id| store.str(*id)).collect();
            Ok(js_sys::Array::of3(
                &js_sys::Uint32Array::from(&words[..]),
                &js_sys::Uint32Array::from(&ids[..]),
                &texts.join("\0").into(),
            ))
        })
    })
}

/// Makes what rows say; gives the id of each.
#[wasm_bindgen]
pub fn table_write(words: &[u32], texts: &str) -> Js<Vec<u32>> {
    with(|lent| {
        if lent.store.n_nodes() > MAX_NODES {
            return Err(error("the program has too many nodes"));
        }
        write::Writer::new(&mut lent.store, lent.dialect, words, texts).all()
    })
}

/// A module as TVM's `script()` or `astext()` prints it. `flags`: 1 the header, 2 the metadata, 4 the types of constants of Relay
/// that no pass has inferred: a text without metadata is not read without them.
#[wasm_bindgen]
pub fn table_print(module: &[u32], flags: u32) -> Js<String> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        let notes = (flags & 4 != 0).then(|| types_of_constants(&mut lent.store, &module));
        let notes = notes.as_ref();
        let options = PrintOptions { header: flags & 1 != 0, metadata: flags & 2 != 0, notes, ..PrintOptions::default() };
        Ok(print::module(&lent.store, &module, &options))
    })
}

/// The bytes of all constants of a module, which its metadata writes out in base64.
#[wasm_bindgen]
pub fn table_constants(module: &[u32]) -> Js<f64> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        let bytes = |(_, tensor)| lent.store.tensor(tensor).data.as_ref().map_or(0, |data| data.len());
        Ok(constants(&lent.store, &module).map(bytes).sum::<usize>() as f64)
    })
}

/// The constants in the functions of a module.
fn constants(store: &Store, module: &Module) -> impl Iterator<Item = (ExprId, Id<Tensor>)> {
    let nodes = module.functions().iter().flat_map(|(_, function)| walk::post_order(store, *function));
    nodes.filter_map(|id| match store.expr(id) {
        Expr::Constant(tensor) => Some((id, tensor)),
        _ => None,
    })
}

/// Texts for the comments of constants that have no type yet.
fn types_of_constants(store: &mut Store, module: &Module) -> Notes {
    let untyped: Vec<_> = constants(store, module).filter(|(id, _)| store.checked_type(*id).is_none()).collect();
    let texts = untyped.into_iter().map(|(id, tensor)| {
        let Tensor { shape, dtype, .. } = store.tensor(tensor).clone();
        let dims: Vec<Dim> = shape.iter().map(|extent| Dim::int(*extent)).collect();
        let ty = store.tensor_type(&dims, dtype);
        (id, format!(" ty={}", print::ty(store, ty)))
    });
    Notes { texts: texts.collect(), alone: false }
}

/// A program of TIR or Relax as [`table_print`] prints a module or, if there are no words, [`table_print_node`] an expression. What
/// `marks` says, each a space and an id, stands between two characters. Of `flags`, 8 asks for no short forms and 16 for
/// no types that follow from values.
#[wasm_bindgen]
pub fn table_print_marked(module: &[u32], id: u32, flags: u32, marks: &[u32]) -> Js<String> {
    with(|lent| {
        let marks = marks_of(&lent.store, marks);
        let options = PrintOptions {
            header: flags & 1 != 0,
            metadata: flags & 2 != 0,
            sugar: flags & 8 == 0,
            all_types: flags & 16 == 0,
            marks: Some(&marks),
            ..PrintOptions::default()
        };
        if module.is_empty() {
            let id = Words::new(&lent.store, &[id]).expr()?;
            return Ok(print::relax_expr(&lent.store, id, &options));
        }
        let module = Words::new(&lent.store, module).module()?;
        Ok(print::module(&lent.store, &module, &options))
    })
}

/// A program of Relay as [`table_print`] prints a module or, if there are no words, [`table_print_node`] an expression, with a text in
/// the comment of each node of `nodes`. Of `flags`, 8 asks for these texts alone.
#[wasm_bindgen]
pub fn table_print_noted(module: &[u32], id: u32, flags: u32, nodes: &[u32], texts: Vec<String>) -> Js<String> {
    with(|lent| {
        let nodes = nodes.iter().map(|id| lent.store.expr_at(*id as usize));
        let texts = nodes.zip(texts).filter_map(|(id, text)| Some((id?, text))).collect();
        let notes = Notes { texts, alone: flags & 8 != 0 };
        let options =
            PrintOptions { header: flags & 1 != 0, metadata: flags & 2 != 0, notes: Some(&notes), ..PrintOptions::default() };
        if module.is_empty() {
            let id = Words::new(&lent.store, &[id]).expr()?;
            return Ok(print::expr(&lent.store, id, &options));
        }
        let module = Words::new(&lent.store, module).module()?;
        Ok(print::module(&lent.store, &module, &options))
    })
}

/// The parts that pairs of a space and an id name; what is not there is left out.
fn marks_of(store: &Store, things: &[u32]) -> Marks {
    let mut marks = Marks::default();
    for thing in things.chunks_exact(2) {
        let index = thing[1] as usize;
        match space_at(thing[0]) {
            Some(Space::Expr) => marks.nodes.extend(store.expr_at(index)),
            Some(Space::Stmt) => marks.nodes.extend(store.stmt_at(index).map(|id| store.stmt_node(id))),
            Some(Space::Prim) => marks.prims.extend(store.prim_at(index)),
            Some(Space::Symbol) => marks.symbols.extend(store.symbol_at(index)),
            Some(Space::Buffer) => marks.buffers.extend(store.buffer_at(index)),
            _ => {}
        }
    }
    marks
}

/// A node as TVM's `script()` prints it. `space` is 0 for an expression or 1 for a type. Of `flags`, 1 asks for the header, 2 for
/// metadata, 4 for declarations of what is free.
#[wasm_bindgen]
pub fn table_print_node(space: u32, id: u32, flags: u32) -> Js<String> {
    with(|lent| {
        let options =
            PrintOptions { header: flags & 1 != 0, metadata: flags & 2 != 0, verbose: flags & 4 != 0, ..PrintOptions::default() };
        let relay = lent.dialect == Dialect::Relay;
        if space == 1 {
            let id = Words::new(&lent.store, &[id]).ty()?;
            return Ok(if relay { print::ty(&lent.store, id) } else { print::alone_relax_ty(&lent.store, id, options.verbose) });
        }
        let id = Words::new(&lent.store, &[id]).expr()?;
        Ok(if relay { print::expr(&lent.store, id, &options) } else { print::relax_expr(&lent.store, id, &options) })
    })
}
