//! Runs programs that Python made.

use crate::eval::{self, Value};
use crate::ir::{Dialect, Expr, ExprId, Id, Module, Name, Store};
use crate::wasm::user::dpl::{Asking, asking, ids};
use crate::wasm::user::{Js, Words, error, with};
use wasm_bindgen::prelude::*;

/// Runs a tensor program of a module on arguments: for each that it writes its place and its new contents, a constant.
#[wasm_bindgen]
pub fn table_run_program(module: &[u32], name: &str, args: &[u32]) -> Js<Vec<u32>> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        let args = Words::new(&lent.store, args).rest(Words::expr)?;
        let store = &mut lent.store;
        let id = store.name(name);
        let Some(Expr::PrimFunc(program)) = module.function(id).map(|function| store.expr(function)) else {
            return Err(error(&format!("the module has no tensor program {name}")));
        };
        let options = eval::EvalOptions::default();
        let said = |failure: eval::EvalFailure| error(&failure.message);
        let values: Result<Vec<_>, _> = args.iter().map(|arg| eval::eval_expr(store, &module, *arg, &[], options)).collect();
        let applied = eval::apply_prim_func(store, &module, program, &values.map_err(said)?, options, (None, false));
        let applied = applied.map_err(said)?;
        let eval::Value::Tuple(values) = &applied.value else { return Err(error("the value is not data")) };
        let mut found = Vec::new();
        for (place, value) in applied.written.iter().zip(values.items()) {
            let constant = eval::value_to_expr(store, value).ok_or_else(|| error("the value is not data"))?;
            found.extend([*place as u32, constant.index() as u32]);
        }
        Ok(found)
    })
}

/// The result of a function of a module on arguments, which are constants or tuples and shapes of them; behind it the arguments
/// that linked functions wrote into, each by its place with what it is then. `ask` is asked for a linked function: it gets its
/// name and arguments and answers with nothing if there is none, or with the result and the same of what it wrote.
#[wasm_bindgen]
pub fn table_run(module: &[u32], name: &str, args: &[u32], ask: JsValue) -> Js<Vec<u32>> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        let args = Words::new(&lent.store, args).rest(Words::expr)?;
        let store = &mut lent.store;
        let id = store.name(name);
        let function = module.function(id).ok_or_else(|| error(&format!("the module has no function {name}")))?;
        let options = eval::EvalOptions::default();
        let said = |failure: eval::EvalFailure| error(&failure.message);
        if module.dialect() != Dialect::Relax || ask.is_undefined() {
            let call = store.add_call(function, &args, None);
            let value = eval::eval_expr(store, &module, call, &[], options).map_err(said)?;
            return Ok(vec![data(store, &value)?.index() as u32]);
        }
        let values: Result<Vec<Value>, _> = args.iter().map(|arg| eval::eval_expr(store, &module, *arg, &[], options)).collect();
        let values = values.map_err(said)?;
        let ran = asking(lent, ask, |store, asking| {
            let mut linked = |store: &mut Store, name: Id<Name>, args: &[Value]| ask_linked(store, asking, name, args);
            Ok(eval::run_linked(store, &module, function, &values, options, &mut linked))
        })?;
        let (value, written) = ran.map_err(said)?;
        let store = &mut lent.store;
        let mut words = vec![data(store, &value)?.index() as u32];
        for (place, tensor) in written {
            words.extend([place as u32, store.add_constant(tensor).index() as u32]);
        }
        Ok(words)
    })
}

fn data(store: &mut Store, value: &Value) -> Js<ExprId> {
    eval::value_to_expr(store, value).ok_or_else(|| error("the value is a function or a reference, not data"))
}

/// Asks for a linked function.
fn ask_linked(store: &mut Store, asking: &mut Asking<'_>, name: Id<Name>, args: &[Value]) -> Option<Result<Value, String>> {
    let mut words = vec![store.add(Expr::Extern(name)).index() as u32];
    for arg in args {
        let held = if let Value::Ref(cell) = arg { cell.get() } else { arg.clone() };
        let word =
            if let Value::Word(word) = held { Some(store.add(Expr::Str(word))) } else { eval::value_to_expr(store, &held) };
        match word {
            Some(id) => words.push(id.index() as u32),
            None => return Some(Err(format!("a linked function cannot be given {}", held.kind()))),
        }
    }
    let answer = asking.ask(store, 0, &words, |_, answer| Ok(ids(answer)));
    let answer = answer.unwrap_or_default();
    let (result, written) = answer.split_first()?;
    let read = |store: &mut Store, id: u32| {
        let expr = Words::new(store, &[id]).expr().map_err(|_| "a linked function gave no value".to_owned())?;
        let module = Module::of(Dialect::Relax);
        eval::eval_expr(store, &module, expr, &[], eval::EvalOptions::default()).map_err(|failure| failure.message)
    };
    for pair in written.chunks_exact(2) {
        if let Some(Value::Ref(cell)) = args.get(pair[0] as usize) {
            match read(store, pair[1]) {
                Ok(value) => drop(cell.set(value)),
                Err(why) => return Some(Err(why)),
            }
        }
    }
    Some(read(store, *result))
}
