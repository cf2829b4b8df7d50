//! Arguments of functions, generated from their types.

use super::seed::Draws;
use super::value::{Closure, Fields, Value};
use super::{EvalFailure, Making, relax, value_to_expr};
use crate::infer::bind_type;
use crate::ir::{Dialect, ExprId, Function, List, Module, Store, Type, TypeId};
use std::rc::Rc;

/// The depth of generated values of data types, where there is a choice.
const DEPTH: usize = 3;

/// Generates arguments for a function of a module. In Relay, values of data types are two or three constructors deep, a function
/// returns the first of its arguments that has the right type, or else a value that does not depend on them, and a reference is
/// a new one.
///
/// Fails where the type is not known, or where no value can be generated for it.
pub fn made_args(store: &mut Store, module: &Module, function: ExprId, making: Making) -> Result<Vec<Value>, EvalFailure> {
    if module.dialect() != Dialect::Relay {
        return relax::made_args(store, function, making);
    }
    let Some(function) = store.as_function(function) else {
        return Err(EvalFailure::new("only functions have arguments"));
    };
    let mut draws = Draws::new(making);
    let params: Vec<_> = store.items(function.params).collect();
    let made = params.into_iter().map(|param| {
        let name = store.var_name(param).to_owned();
        let Some(ty) = store.var_type(param) else {
            return Err(EvalFailure::new(format!("the type of %{name} is not known")));
        };
        let made = value(store, module, ty, &name, &mut draws, DEPTH);
        made.map_err(|why| EvalFailure::new(format!("no value can be made up for %{name}: {why}")))
    });
    made.collect()
}

/// Types nest no deeper than brackets may, and values of data types no deeper than `depth` if they can end.
fn value(store: &mut Store, module: &Module, ty: TypeId, name: &str, draws: &mut Draws, depth: usize) -> Result<Value, String> {
    match store.type_of_id(ty).clone() {
        Type::Tuple(fields) => {
            let fields: Result<Vec<Value>, String> =
                fields.iter().map(|field| value(store, module, *field, name, draws, depth)).collect();
            fields.map(Value::tuple)
        }
        Type::Ref(inner) => {
            let inner = value(store, module, inner, name, draws, depth)?;
            Ok(Value::Ref(Rc::new(super::RefCell::new(inner))))
        }
        Type::Func { params, ret, .. } => {
            let mut vars = Vec::with_capacity(params.len());
            let mut body = None;
            for (index, param) in params.iter().enumerate() {
                let var = store.var(&format!("a{index}"), Some(*param));
                if *param == ret && body.is_none() {
                    body = Some(store.use_var(var));
                }
                vars.push(var);
            }
            let body = match body {
                Some(var) => var,
                None => {
                    let value = value(store, module, ret, name, draws, depth)?;
                    value_to_expr(store, &value).ok_or("its result cannot be written down")?
                }
            };
            let params = store.list(&vars);
            let function =
                Function { params, type_params: List::EMPTY, ret: Some(ret), body, attrs: None, device: None, pure: true };
            let function = store.function_expr(function);
            Ok(Value::Closure(Rc::new(Closure { function, name: None, slots: Rc::new([]), captured: Fields::default() })))
        }
        Type::Global(_) | Type::Apply { .. } => data(store, module, ty, name, draws, depth),
        _ => draws.value(store, ty, name),
    }
}

/// Generates a value of a data type: the last constructor with fields while there is depth, then the first without.
fn data(store: &mut Store, module: &Module, ty: TypeId, name: &str, draws: &mut Draws, depth: usize) -> Result<Value, String> {
    let (head, args) = match store.type_of_id(ty) {
        Type::Apply { head, args } => (*head, args.to_vec()),
        _ => (ty, Vec::new()),
    };
    let none = |store: &Store| format!("it is of type {}", crate::ir::show_type(store, ty));
    let Type::Global(global) = *store.type_of_id(head) else { return Err(none(store)) };
    let Some(adt) = module.adt(global) else { return Err(none(store)) };
    let adt = store.adt(adt).clone();
    let has_fields = |ctor: &&crate::ir::CtorId| !store.ctor(**ctor).inputs.is_empty();
    let chosen = match depth {
        0 => adt.ctors.iter().find(|ctor| !has_fields(ctor)),
        _ => adt.ctors.iter().find(has_fields).or(adt.ctors.first()),
    };
    let Some(&ctor) = chosen else { return Err(none(store)) };
    let inputs = store.ctor(ctor).inputs.clone();
    let mut fields = Vec::with_capacity(inputs.len());
    for input in &*inputs {
        let input = bind_type(store, *input, adt.type_params.iter().copied().zip(args.iter().copied()));
        fields.push(value(store, module, input, name, draws, depth.saturating_sub(1))?);
    }
    Ok(Value::Ctor(ctor, Rc::new(fields.into())))
}
