//! Rules that a script registers for operators of Relay, which AlterOpLayout, ConvertLayout and Legalize ask instead of their own.

use super::dpl::{asking, ids};
use super::{Js, Words, error, module_words, run};
use crate::ir::{AttrsId, ExprId, Store};
use crate::pass::call::parse_calls;
use crate::pass::manager::{optimisable, resolve};
use crate::passes::relay::fake_quantization_to_integer::Asked;
use crate::passes::{ALL, relay};
use wasm_bindgen::prelude::*;

/// Runs FakeQuantizationToInteger, given as a call, on a module. Of the operators that are named, `ask` is asked in the words of
/// `passes::relay::support::affine::asked`; an empty answer says that its rule failed.
#[wasm_bindgen]
pub fn user_quantization_rules(call: &str, operators: Vec<String>, words: &[u32], ask: JsValue) -> Js<Vec<u32>> {
    run::reach(|lent| {
        let mut module = Words::new(&lent.store, words).module()?;
        let calls = parse_calls(call).map_err(|found| run::thrown(vec![found]))?;
        let [call] = &calls[..] else { return Err(error("one pass is needed here")) };
        let pass = resolve(ALL, call).map_err(|found| run::thrown(vec![found]))?;
        let arguments = pass.arguments();
        asking(lent, ask, |store, asking| {
            for (name, function) in optimisable(store, &module) {
                let mut rule = |store: &mut Store, words: &[u32]| {
                    asking.ask(store, 0, words, |_, answer| Ok(ids(answer))).filter(|answer| !answer.is_empty())
                };
                let asked = Asked { operators: &operators, ask: &mut rule };
                let new = relay::fake_quantization_to_integer::with_rules(store, &module, function, &arguments, Some(asked))?;
                module.set_function(name, new);
            }
            Ok(module_words(&module))
        })
    })
}

/// Runs one of these passes, given as a call, on a module. Of the operators that are named, `ask` is asked: it gets the
/// call as it was, its attributes or 0, and its arguments as they are now, and answers with a call or nothing.
#[wasm_bindgen]
pub fn user_op_rules(call: &str, operators: Vec<String>, words: &[u32], ask: JsValue) -> Js<Vec<u32>> {
    run::reach(|lent| {
        let mut module = Words::new(&lent.store, words).module()?;
        let calls = parse_calls(call).map_err(|found| run::thrown(vec![found]))?;
        let [call] = &calls[..] else { return Err(error("one pass is needed here")) };
        let pass = resolve(ALL, call).map_err(|found| run::thrown(vec![found]))?;
        let with_rules = match pass.info.name.as_str() {
            "AlterOpLayout" => relay::alter_op_layout::with_rules,
            "ConvertLayout" => relay::convert_layout::with_rules,
            "Legalize" => relay::legalize::with_rules,
            _ => return Err(error("this pass does not ask for rules")),
        };
        let arguments = pass.arguments();
        let new = asking(lent, ask, |store, asking| {
            for (name, function) in optimisable(store, &module) {
                let mut rule = |store: &mut Store, pre: ExprId, attrs: Option<AttrsId>, args: &[ExprId]| {
                    let mut words = vec![pre.index() as u32, attrs.map_or(0, |attrs| attrs.index() as u32 + 1)];
                    words.extend(args.iter().map(|arg| arg.index() as u32));
                    let answer = asking.ask(store, 0, &words, |store, answer| match ids(answer)[..] {
                        [] => Ok(None),
                        [id] => Words::new(store, &[id]).expr().map(Some),
                        _ => Err(error("a rule gives one call, or nothing")),
                    });
                    Ok(answer.flatten())
                };
                let new = with_rules(store, function, &arguments, &operators, &mut rule)?;
                module.set_function(name, new);
            }
            Ok(module_words(&module))
        })?;
        Ok(new)
    })
}
