//! Unifies the devices of expressions that must have the same one, and gives defaults to the rest.
//!
//! Source: `DeviceAnalyzer`, `FreeOnDeviceDefaulter` and `DeviceDefaulter` in `src/relay/transforms/device_planner.cc`.

use super::super::support::devices::place_of;
use super::super::support::is_primitive;
use super::domains::Domains;
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Clause, Expr, ExprId, Id, Name, Pattern, PatternId, Store, VarId};
use crate::ops::build::{arg, args};
use rustc_hash::FxHashSet;

/// Functions of a module.
pub(super) type Functions = [(Id<Name>, ExprId)];

/// Returns the nodes of a function from the outside inwards, each once. The inside of a primitive function is left
/// out; a callee that is an operator or a constructor has no device.
fn nodes(store: &Store, root: ExprId) -> Vec<ExprId> {
    let (mut order, mut seen, mut stack) = (Vec::new(), FxHashSet::default(), vec![root]);
    while let Some(id) = stack.pop() {
        if matches!(store.expr(id), Expr::Op(_) | Expr::Ctor(_)) || !seen.insert(id) {
            continue;
        }
        order.push(id);
        if !is_primitive(store, id) {
            let from = stack.len();
            for_each_child(store, id, |child| stack.push(child));
            stack[from..].reverse();
        }
    }
    order
}

/// Unifies what must have the same device.
pub(super) fn analyze(store: &Store, domains: &mut Domains, functions: &Functions) -> Result<(), String> {
    for (name, function) in functions {
        let (global, own) = (domains.of_global(store, *name, *function)?, domains.of(store, *function)?);
        domains.same(store, store.str(*name), global, own)?;
        for id in nodes(store, *function) {
            node(store, domains, id)?;
        }
    }
    Ok(())
}

fn node(store: &Store, domains: &mut Domains, id: ExprId) -> Result<(), String> {
    let own = domains.of(store, id)?;
    let same_as = |domains: &mut Domains, what: &str, other: ExprId| {
        let other = domains.of(store, other)?;
        domains.same(store, what, own, other)
    };
    match store.expr(id) {
        Expr::Call { .. } => {
            let callee = domains.of_callee(store, id)?;
            let mut parts = Vec::new();
            for argument in args(store, id) {
                parts.push(domains.of(store, argument)?);
            }
            parts.push(own);
            let implied = domains.function(parts);
            domains.same(store, "a call and what it calls", callee, implied)
        }
        Expr::Let { var, value, body } => {
            let (var, value) = (domains.of_var(store, var)?, domains.of(store, value)?);
            domains.same(store, "a variable and its value", var, value)?;
            same_as(domains, "a let and its body", body)
        }
        Expr::Function(_) => function(store, domains, id),
        Expr::Tuple(fields) => {
            for field in store.items(fields) {
                let field = domains.of(store, field)?;
                domains.same_collapsed(store, "a tuple and its field", own, field)?;
            }
            Ok(())
        }
        Expr::TupleGetItem { tuple, .. } => {
            let tuple = domains.of(store, tuple)?;
            domains.same_collapsed(store, "a tuple and its field", tuple, own)
        }
        Expr::If { cond, then, other } => {
            let cond = domains.of(store, cond)?;
            domains.same_collapsed(store, "an if and its condition", cond, own)?;
            same_as(domains, "an if and its branch", then)?;
            same_as(domains, "an if and its branch", other)
        }
        Expr::Match { data, clauses, .. } => {
            let data = domains.of(store, data)?;
            domains.same_collapsed(store, "a match and its data", data, own)?;
            for clause in store.items(clauses) {
                let Clause { pattern, body } = *store.clause(clause);
                for var in pattern_vars(store, pattern) {
                    let var = domains.of_var(store, var)?;
                    domains.same_collapsed(store, "a match and a variable of its pattern", data, var)?;
                }
                same_as(domains, "a match and its arm", body)?;
            }
            Ok(())
        }
        Expr::RefCreate(value) => {
            let value = domains.of(store, value)?;
            domains.same_collapsed(store, "a reference and its value", own, value)
        }
        Expr::RefRead(reference) => {
            let reference = domains.of(store, reference)?;
            domains.same_collapsed(store, "a reference and its value", reference, own)
        }
        Expr::RefWrite { reference, value } => {
            let (reference, value) = (domains.of(store, reference)?, domains.of(store, value)?);
            domains.same_collapsed(store, "a reference and its value", reference, value)?;
            domains.same_collapsed(store, "a reference and its value", own, value)
        }
        _ => Ok(()),
    }
}

fn function(store: &Store, domains: &mut Domains, id: ExprId) -> Result<(), String> {
    let Some(function) = store.as_function(id) else { return Ok(()) };
    let own = domains.of(store, id)?;
    let Some((result, params)) = domains.parts(own).split_last().map(|(result, params)| (*result, params.to_vec())) else {
        return Err("a function does not have the type of one".to_owned());
    };
    let body = domains.of(store, function.body)?;
    domains.same(store, "a function and its result", body, result)?;
    if let Some(object) = function.device {
        let device = domains.devices.read(store, object)?;
        let ty = store.checked_type(function.body).ok_or("there is an expression without a type")?;
        let placed = domains.on(store, ty, device)?;
        domains.same(store, "a function and its result", body, placed)?;
    }
    for (param, part) in store.items(function.params).zip(params) {
        let var = domains.of_var(store, param)?;
        domains.same(store, store.var_name(param), var, part)?;
        if let Some(object) = store.var_data(param).device {
            let device = domains.devices.read(store, object)?;
            let ty = store.var_type(param).ok_or("there is a variable without a type")?;
            let placed = domains.on(store, ty, device)?;
            domains.same(store, store.var_name(param), var, placed)?;
        }
    }
    Ok(())
}

/// Returns the variables that a pattern binds.
fn pattern_vars(store: &Store, pattern: PatternId) -> Vec<VarId> {
    let (mut found, mut stack) = (Vec::new(), vec![pattern]);
    while let Some(pattern) = stack.pop() {
        match *store.pattern(pattern) {
            Pattern::Wildcard => {}
            Pattern::Var(var) => found.push(var),
            Pattern::Ctor { fields, .. } | Pattern::Tuple(fields) => stack.extend(store.items(fields)),
        }
    }
    found
}

/// Gives what is inside of an annotation that constrains nothing the device of its result, if that is possible.
pub(super) fn unify_free(store: &Store, domains: &mut Domains, functions: &Functions) -> Result<(), String> {
    for (_, function) in functions {
        for id in post_order(store, *function) {
            let is_free = |name| store.attr_int(store.call(id).and_then(|call| call.attrs), name) != Some(1);
            if crate::ops::build::is_call(store, id, "on_device") && is_free("constrain_body") && is_free("constrain_result") {
                let (outside, inside) = (domains.of(store, id)?, domains.of(store, arg(store, id, 0))?);
                domains.try_same(outside, inside)?;
            }
        }
    }
    Ok(())
}

/// Gives devices to what has none: results before parameters, what is outside before what is inside.
pub(super) fn set_defaults(store: &Store, domains: &mut Domains, functions: &Functions) -> Result<(), String> {
    let default = domains.devices.default;
    for (_, function) in functions {
        for id in nodes(store, *function) {
            let domain = match store.expr(id) {
                Expr::Function(_) if !is_primitive(store, id) => domains.of(store, id)?,
                Expr::Call { .. } => domains.of_callee(store, id)?,
                Expr::Let { var, .. } => {
                    let (own, var) = (domains.of(store, id)?, domains.of_var(store, var)?);
                    if !domains.is_constrained(var) {
                        let device = domains.result_device(own);
                        domains.set_default(var, device)?;
                    }
                    continue;
                }
                _ => continue,
            };
            if !domains.is_constrained(domain) {
                domains.set_result_default(domain, default)?;
            }
        }
    }
    Ok(())
}

/// True if an annotation constrains what is inside and not its result (TVM's `is_normal`).
pub(super) fn is_normal(store: &Store, id: ExprId) -> bool {
    place_of(store, id).is_some_and(|place| place.body && !place.fixed)
}
