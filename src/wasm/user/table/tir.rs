//! Work on parts of tensor programs that scripts leave to the engine: operators, substitution, texts.

use crate::ir::{Expr, Extents, PrimFunc, PrimId, PrimOp, StmtId, Store, Type};
use crate::print::{self, PrintOptions};
use crate::tir;
use crate::wasm::user::{Js, error, with};
use wasm_bindgen::prelude::*;

fn prim(store: &Store, id: u32) -> Js<PrimId> {
    store.prim_at(id as usize).ok_or_else(|| error("there is no such scalar"))
}

fn stmt(store: &Store, id: u32) -> Js<StmtId> {
    store.stmt_at(id as usize).ok_or_else(|| error("there is no such statement"))
}

/// Makes a scalar or statement of others. `binary` (an operation's number, two scalars): what TVM's operator gives, which folds
/// numbers and joins types. `substitute` (0 for a scalar or 1 for a statement, its id, then pairs of a variable and the scalar in
/// its place): the same over other variables.
#[wasm_bindgen]
pub fn table_tir(what: &str, words: &[u32]) -> Js<u32> {
    with(|lent| {
        let store = &mut lent.store;
        Ok(match (what, words) {
            ("binary", [op, a, b]) => {
                let op = PrimOp::ALL.get(*op as usize).ok_or_else(|| error("there is no such operation"))?;
                let (a, b) = (prim(store, *a)?, prim(store, *b)?);
                tir::binary(store, *op, a, b).index() as u32
            }
            ("substitute", [kind, id, pairs @ ..]) => {
                let mut values = Vec::new();
                for pair in pairs.chunks_exact(2) {
                    let symbol = store.symbol_at(pair[0] as usize).ok_or_else(|| error("there is no such variable"))?;
                    values.push((symbol, prim(store, pair[1])?));
                }
                if *kind == 1 {
                    let id = stmt(store, *id)?;
                    return Ok(tir::substitute_stmt(store, id, &values).index() as u32);
                }
                let id = prim(store, *id)?;
                let mut find = |_: &mut Store, symbol| values.iter().find(|(from, _)| *from == symbol).map(|(_, to)| *to);
                tir::substitute(store, id, &mut find).index() as u32
            }
            _ => return Err(error("tensor programs are not asked that")),
        })
    })
}

/// The text of a scalar (2) or statement (3), by the number of its space, as a program has it.
#[wasm_bindgen]
pub fn table_text(space: u32, id: u32) -> Js<String> {
    with(|lent| {
        let store = &mut lent.store;
        if space == 2 {
            let id = prim(store, id)?;
            let dim = store.dim_of_prim(id);
            let shape = store.ty(Type::Shape(Extents::Known([dim].into())));
            let text = print::relax_ty(store, shape);
            return Ok(text.trim_start_matches("R.Shape([").trim_end_matches("])").trim_matches('"').to_owned());
        }
        let body = stmt(store, id)?;
        let func = store.add_prim_func(PrimFunc { params: [].into(), ret: None, attrs: None, body });
        let func = store.add(Expr::PrimFunc(func));
        let text = print::relax_expr(store, func, &PrintOptions::default());
        // The statement stands below the line that begins the function.
        let lines = text.lines().skip_while(|line| !line.starts_with("def ")).skip(1);
        Ok(lines.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n"))
    })
}
