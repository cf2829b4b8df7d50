//! Questions about programs (`relax.analysis`), by numbers.

use super::relax::{block_words, dim_words};
use super::{Js, Words, error, with};
use crate::boundary::scripts::Analysis;
use crate::infer::relax::analysis::{
    all_global_vars, called_global_vars, defined_symbolic_vars, free_symbolic_vars, udchain_of_block,
};
use crate::infer::relax::effects::contains_impure_call_of_another;
use crate::infer::relax::types::{common, fit};
use crate::ir::walk::post_order;
use crate::ir::{Dim, Expr, Id, Name, Store, Symbol};
use crate::tir::has_reshape_pattern;
use crate::verify;
use crate::words::Worded;
use wasm_bindgen::prelude::*;

fn globals(store: &mut Store, names: Vec<Id<Name>>) -> Vec<u32> {
    names.into_iter().map(|name| store.add(Expr::Global(name)).index() as u32).collect()
}

fn extents(symbols: Vec<Id<Symbol>>) -> Vec<u32> {
    symbols.into_iter().flat_map(|symbol| dim_words(Dim::Symbol(symbol))).collect()
}

/// The answer to a question ([`Analysis`]) about what follows.
#[wasm_bindgen]
pub fn user_analysis(what: u32, words: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        let mut read = Words::new(&lent.store, words);
        let place = |store: &mut Store, read: u32| Words::new(store, &[read]).expr();
        let (first, second) = (words.first().copied().unwrap_or(u32::MAX), words.get(1).copied().unwrap_or(u32::MAX));
        let what = Analysis::at(what).ok_or_else(|| error("there is no such question"))?;
        match what {
            Analysis::AllGlobalVars
            | Analysis::CalledGlobalVars
            | Analysis::DefinedSymbolicVars
            | Analysis::FreeSymbolicVars
            | Analysis::HasReshapePattern
            | Analysis::Blocks => {
                let expr = place(&mut lent.store, first)?;
                let store = &mut lent.store;
                Ok(match what {
                    Analysis::AllGlobalVars => {
                        let names = all_global_vars(store, expr);
                        globals(store, names)
                    }
                    Analysis::CalledGlobalVars => {
                        let names = called_global_vars(store, expr);
                        globals(store, names)
                    }
                    Analysis::DefinedSymbolicVars => extents(defined_symbolic_vars(store, expr)),
                    Analysis::FreeSymbolicVars => extents(free_symbolic_vars(store, expr)),
                    Analysis::HasReshapePattern => match store.expr(expr) {
                        Expr::PrimFunc(func) => vec![u32::from(has_reshape_pattern(store, func))],
                        _ => return Err(error("a tensor program is needed here")),
                    },
                    _ => {
                        let mut words = Vec::new();
                        for id in post_order(store, expr) {
                            let Expr::Seq { blocks, .. } = store.expr(id) else { continue };
                            for block in store.items(blocks).collect::<Vec<_>>() {
                                block_words(store, block, &mut words);
                            }
                        }
                        words
                    }
                })
            }
            Analysis::ContainsImpureCall => {
                let (expr, own, module) = (read.expr()?, read.expr()?, read.module()?);
                Ok(vec![u32::from(contains_impure_call_of_another(&lent.store, &module, expr, own))])
            }
            Analysis::UDChain => {
                let block = read.block()?;
                let store = &mut lent.store;
                let mut words = Vec::new();
                for (var, users) in udchain_of_block(store, block) {
                    words.extend([store.use_var(var).index() as u32, users.len() as u32]);
                    words.extend(users.into_iter().map(|user| store.use_var(user).index() as u32));
                }
                Ok(words)
            }
            Analysis::TypeBaseCheck | Analysis::TypeLca => {
                let mut read = Words::new(&lent.store, &[first, second]).rest(Words::ty)?.into_iter();
                let (Some(a), Some(b)) = (read.next(), read.next()) else { return Err(error("two types are needed here")) };
                Ok(vec![match what {
                    Analysis::TypeBaseCheck => fit(&mut lent.store, a, b) as u32,
                    _ => common(&mut lent.store, a, b).index() as u32,
                }])
            }
            // Messages of what is wrong with a module; a function alone does not say which others there are.
            Analysis::WellFormed => {
                let (alone, module) = (read.word()? != 0, read.module()?);
                let mut found = verify::verify(&mut lent.store, &module);
                found.retain(|d| d.is_error() && !(alone && d.code == "relax-unbound-global"));
                Ok(found.iter().map(|d| lent.store.name(&d.message).index() as u32).collect())
            }
        }
    })
}
