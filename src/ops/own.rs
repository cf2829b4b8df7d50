//! Operators that a script registers, beside those of the tables. Of Relax it is asked for the types of calls and for their
//! normal form (TVM's `FInferType` and `FNormalize`), of Relay for the relation of types, unless that is one by name.

use super::relax::deduce::Deduce;
use super::row::{OpInfo, OpPattern, RelaxOp, RelayOp, op, relax};
use super::rule::{RuleCx, RuleResult, TypeRule, broadcast, broadcast_compare, identity, identity_compare};
use crate::ir::{AttrsId, Expr, ExprId, OpId, Store, Type, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// The functions of a script about its operators. A call has arguments in normal form.
pub trait Script {
    /// Returns the type of a call, or the reason why it has none.
    fn infer(&self, store: &mut Store, call: ExprId) -> Result<TypeId, String>;

    /// Returns what stands for a call in normal form; `None` if the operator has none of its own, or the call is in it.
    fn normalize(&self, store: &mut Store, call: ExprId) -> Result<Option<ExprId>, String>;

    /// Returns the type of a call of an operator of Relay with inputs of these types; `None` if it cannot be told yet.
    fn relate(&self, store: &mut Store, op: &str, inputs: &[TypeId], attrs: Option<AttrsId>) -> Result<Option<TypeId>, String>;
}

/// The facts about an operator of Relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfRelay<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number of its inputs.
    pub inputs: usize,
    /// The name of its relation; one that is not known is the script's, and none is no relation.
    pub relation: Option<&'a str>,
    /// Its pattern, if it has one.
    pub pattern: Option<OpPattern>,
    /// True if its calls have side effects.
    pub stateful: bool,
}

/// All rows that were ever registered stay, since expressions may refer to them.
const MOST: usize = 10_000;

/// The most inputs that an operator of Relay may have.
const MOST_INPUTS: usize = 64;

/// The names of inputs, of which a script tells the number alone.
static INPUTS: [&str; MOST_INPUTS] = ["input"; MOST_INPUTS];

#[derive(Default)]
struct Own {
    rows: Vec<&'static OpInfo>,
    /// The operators of Relay whose relation is the script's.
    asking: FxHashSet<OpId>,
    /// The rows of the script that is loaded, by their names without `relax.`.
    names: FxHashMap<&'static str, OpId>,
    /// The rows of Relay.
    relay_names: FxHashMap<&'static str, OpId>,
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
        let at = match own.rows.iter().position(is_same) {
            Some(at) => at,
            None => {
                let name: &'static str = Box::leak(name.into());
                let base = name.strip_prefix("relax.").unwrap_or(name);
                let in_relax = RelaxOp { name: base, variadic: true, pure, ..relax(&[], deduce) };
                own.add(OpInfo { relax: Some(in_relax), ..op(name, "An operator of the script.") })?
            }
        };
        let id = id_of(at);
        own.names.insert(own.rows[at].relax.map_or("", |relax| relax.name), id);
        Ok(id)
    })
}

impl Own {
    /// Adds a row, and returns its place.
    fn add(&mut self, row: OpInfo) -> Result<usize, String> {
        if self.rows.len() >= MOST {
            return Err("too many operators are registered".to_owned());
        }
        self.rows.push(Box::leak(Box::new(row)));
        Ok(self.rows.len() - 1)
    }
}

/// The operator of a row that is behind those of the tables.
fn id_of(at: usize) -> OpId {
    OpId((super::all().len() + at) as u16)
}

/// Registers an operator of Relay, or other facts about one.
pub fn register_relay(facts: &OfRelay<'_>, script: Rc<dyn Script>) -> Result<OpId, String> {
    OWN.with_borrow_mut(|own| {
        own.script = Some(script);
        if facts.inputs > MOST_INPUTS {
            return Err(format!("{}: an operator of a script has a number of inputs, of at most {MOST_INPUTS}", facts.name));
        }
        let known = facts.relation.and_then(named_relation);
        let asks = facts.relation.is_some() && known.is_none();
        let rule = known.or(asks.then_some(asked as TypeRule));
        let relay = Some(RelayOp { args: &INPUTS[..facts.inputs], attrs: None, rule });
        let name: &'static str = Box::leak(facts.name.into());
        let row = OpInfo { relay, pattern: facts.pattern, stateful: facts.stateful, ..op(name, "An operator of the script.") };
        let id = id_of(own.add(row)?);
        own.relay_names.insert(name, id);
        if asks {
            own.asking.insert(id);
        }
        Ok(id)
    })
}

fn named_relation(name: &str) -> Option<TypeRule> {
    match name {
        "Identity" => Some(identity),
        "IdentityComp" => Some(identity_compare),
        "Broadcast" => Some(broadcast),
        "BroadcastComp" => Some(broadcast_compare),
        _ => None,
    }
}

/// Stands in the rows of operators whose relation is the script's; inference uses [`relate`] instead, which knows the operator.
fn asked(_: &mut RuleCx<'_>) -> RuleResult {
    Ok(false)
}

/// True if the script has the relation of the operator.
pub fn asks_script(op: OpId) -> bool {
    is_own(op) && OWN.with_borrow(|own| own.asking.contains(&op))
}

/// Asks the script for the relation of an operator.
pub fn relate(cx: &mut RuleCx<'_>, op: OpId) -> RuleResult {
    let Some(script) = OWN.with_borrow(|own| own.script.clone()) else {
        return Err(format!("the script that registered `{}` is not loaded", super::info(op).name));
    };
    let inputs = &cx.types[..cx.n_inputs];
    if inputs.iter().any(|ty| matches!(cx.store.type_of_id(*ty), Type::Hole(_))) {
        return Ok(false);
    }
    match script.relate(cx.store, super::info(op).name, inputs, cx.attrs)? {
        Some(ty) => cx.output(ty),
        None => Ok(false),
    }
}

/// Forgets the names, and what was to be asked: another script is loaded.
pub fn forget() {
    OWN.with_borrow_mut(|own| {
        own.names.clear();
        own.relay_names.clear();
        own.script = None;
    });
}

/// Returns the operator that the loaded script registered under this name, without `relax.`.
pub(super) fn lookup(name: &str) -> Option<OpId> {
    OWN.with_borrow(|own| own.names.get(name).copied())
}

/// Returns the operator of Relay that the loaded script registered under this name.
pub(super) fn lookup_of_relay(name: &str) -> Option<OpId> {
    OWN.with_borrow(|own| own.relay_names.get(name).copied())
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

        fn relate(&self, _: &mut Store, _: &str, inputs: &[TypeId], _: Option<AttrsId>) -> Result<Option<TypeId>, String> {
            Ok(inputs.first().copied())
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

    #[test]
    fn a_relation_is_the_scripts_unless_it_has_a_known_name() {
        let script = Rc::new(Shapes);
        let facts = OfRelay {
            name: "mine.first",
            inputs: 2,
            relation: Some("mine"),
            pattern: Some(OpPattern::ElemWise),
            stateful: false,
        };
        let first = register_relay(&facts, script.clone()).expect("there is room");
        assert_eq!(super::super::lookup("mine.first"), Some(first));
        let same = OfRelay { name: "mine.same", relation: Some("Identity"), ..facts };
        let same = register_relay(&same, script).expect("there is room");
        assert!(asks_script(first) && !asks_script(same));
        let many = OfRelay { name: "mine.many", inputs: usize::MAX, ..facts };
        assert!(register_relay(&many, Rc::new(Shapes)).is_err());
        forget();
    }
}
