//! Operators of Relax that a script registers, beside those of the tables: it is asked for the types of their calls and for
//! their normal form (TVM's `FInferType` and `FNormalize`).

use super::relax::deduce::Deduce;
use super::row::{OpInfo, RelaxOp, op, relax};
use crate::ir::{Expr, ExprId, OpId, Store, TypeId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// The functions of a script about its operators. A call has arguments in normal form.
pub trait Script {
    /// Returns the type of a call, or the reason why it has none.
    fn infer(&self, store: &mut Store, call: ExprId) -> Result<TypeId, String>;

    /// Returns what stands for a call in normal form; `None` if the operator has none of its own, or the call is in it.
    fn normalize(&self, store: &mut Store, call: ExprId) -> Result<Option<ExprId>, String>;
}

/// All rows that were ever registered stay, since expressions may refer to them.
const MOST: usize = 10_000;

#[derive(Default)]
struct Own {
    rows: Vec<&'static OpInfo>,
    /// The rows of the script that is loaded, by their names without `relax.`.
    names: FxHashMap<&'static str, OpId>,
    script: Option<Rc<dyn Script>>,
}

thread_local! {
    static OWN: RefCell<Own> = RefCell::new(Own::default());
}

/// Registers an operator by its whole name, for instance `relax.mine.twice`; one with that name and purity already is the same.
/// An error if there are too many.
pub fn register(name: &str, pure: bool, script: Rc<dyn Script>) -> Result<OpId, String> {
    OWN.with_borrow_mut(|own| {
        own.script = Some(script);
        let is_same = |row: &&OpInfo| row.name == name && row.relax.is_some_and(|relax| relax.pure == pure);
        let known = own.rows.iter().position(is_same);
        if known.is_none() && own.rows.len() >= MOST {
            return Err("too many operators are registered".to_owned());
        }
        let at = known.unwrap_or_else(|| {
            let name: &'static str = Box::leak(name.into());
            let base = name.strip_prefix("relax.").unwrap_or(name);
            let in_relax = RelaxOp { name: base, variadic: true, pure, ..relax(&[], deduce) };
            let row = OpInfo { relax: Some(in_relax), ..op(name, "An operator of the script.") };
            own.rows.push(Box::leak(Box::new(row)));
            own.rows.len() - 1
        });
        let id = OpId((super::all().len() + at) as u16);
        own.names.insert(own.rows[at].relax.map_or("", |relax| relax.name), id);
        Ok(id)
    })
}

/// Forgets the names, and what was to be asked: another script is loaded.
pub fn forget() {
    OWN.with_borrow_mut(|own| {
        own.names.clear();
        own.script = None;
    });
}

/// Returns the operator that the loaded script registered under this name, without `relax.`.
pub(super) fn lookup(name: &str) -> Option<OpId> {
    OWN.with_borrow(|own| own.names.get(name).copied())
}

/// Returns the row of an operator, by its place behind those of the tables.
pub(super) fn info(at: usize) -> &'static OpInfo {
    OWN.with_borrow(|own| own.rows[at])
}

/// True if a script registered the operator.
pub fn is_own(op: OpId) -> bool {
    op.0 as usize >= super::all().len()
}

/// Returns the normal form of a call of an own operator.
pub fn normalize(store: &mut Store, call: ExprId) -> Result<Option<ExprId>, String> {
    match OWN.with_borrow(|own| own.script.clone()) {
        Some(script) => script.normalize(store, call),
        None => Ok(None),
    }
}

fn deduce(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (script, op) = OWN.with_borrow(|own| (own.script.clone(), own.names.get(cx.op).copied()));
    let (Some(script), Some(op)) = (script, op) else {
        return Err(format!("the script that registered `{}` is not loaded", cx.op));
    };
    let callee = cx.store.add(Expr::Op(op));
    let args = cx.store.list(cx.args);
    let info = cx.store.add_call_info(cx.attrs, cx.ty_args);
    let call = cx.store.add(Expr::Call { callee, args, info });
    script.infer(cx.store, call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Type;

    struct Shapes;

    impl Script for Shapes {
        fn infer(&self, store: &mut Store, _: ExprId) -> Result<TypeId, String> {
            Ok(store.ty(Type::Any))
        }

        fn normalize(&self, _: &mut Store, _: ExprId) -> Result<Option<ExprId>, String> {
            Ok(None)
        }
    }

    #[test]
    fn operators_of_a_script_are_found_until_another_is_loaded() {
        let twice = register("relax.mine.twice", true, Rc::new(Shapes)).expect("there is room");
        assert_eq!(super::super::lookup_relax("mine.twice"), Some(twice));
        assert_eq!(register("relax.mine.twice", true, Rc::new(Shapes)), Ok(twice));
        assert!(is_own(twice) && super::super::info(twice).relax.is_some_and(|relax| relax.pure));
        let impure = register("relax.mine.twice", false, Rc::new(Shapes)).expect("there is room");
        assert_ne!(impure, twice);
        assert_eq!(super::super::lookup_relax("mine.twice"), Some(impure));
        forget();
        assert_eq!(super::super::lookup_relax("mine.twice"), None);
        assert_eq!(super::super::info(twice).name, "relax.mine.twice");
    }
}
