//! The user's passes and instruments.

use super::context::own_keys;
use super::{
    HostCall, Js, LENT, LOADING, Lent, Subject, Words, call_host, error, is_lost, lend, module_words, rule, source, with,
};
use crate::boundary::scripts::{DescKind, InstrumentDesc, PassDesc};
use crate::boundary::wire::Read;
use crate::diag::Diagnostic;
use crate::ir::{Dialect, ExprId, Module, Store};
use crate::pass::call::parse_calls;
use crate::pass::instrument::{self, Instrument};
use crate::pass::manager::{Pass, Registry, Runner, resolve_in};
use crate::pass::trace::{LogEntry, LogKind, Trace};
use crate::pass::user::UserRun;
use crate::pass::{PassError, PassInfo};
use crate::passes;
use crate::session::User;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The instruments that JavaScript describes.
pub(super) fn instruments(descs: Vec<InstrumentDesc>) -> Js<Vec<Box<dyn Instrument>>> {
    descs.iter().map(|desc| make_instrument(desc).map_err(|e| words_of(&e))).collect()
}

pub(super) fn thrown(found: PassError) -> JsValue {
    let messages: Vec<String> = found.into_iter().map(|d| d.message).collect();
    error(&messages.join("\n"))
}

/// A finding as an exception, with what there is to say besides.
fn words_of(found: &Diagnostic) -> JsValue {
    let notes: String = found.notes.iter().map(|note| format!("\n{note}")).collect();
    error(&format!("{}{notes}", found.message))
}

/// `[name, opt level, required passes, what it works on]` of a pass that is built in, in call notation; of two passes of one
/// name the one for programs of Relax or of Relay. Throws when there is none, or when the arguments do not fit.
#[wasm_bindgen]
pub fn user_pass_info(call: &str, relax: bool) -> Js<js_sys::Array> {
    let registry = Registry::from(passes::ALL).of(if relax { Dialect::Relax } else { Dialect::Relay });
    let calls = parse_calls(call).map_err(|e| words_of(&e))?;
    let [call] = calls.as_slice() else { return Err(error("this is not one pass")) };
    let spec = registry.lookup(&call.name);
    let registry = match spec {
        Some(spec) if !spec.works_on(registry.dialect()) => registry.of(spec.dialects.first().copied().unwrap_or_default()),
        _ => registry,
    };
    let pass = resolve_in(&registry, call).map_err(|e| words_of(&e))?;
    let required: js_sys::Array = pass.info.required.iter().map(|name| JsValue::from(name.as_str())).collect();
    let kind = spec.map_or("sequential", |spec| spec.run.kind().word());
    Ok(js_sys::Array::of4(&pass.info.name.into(), &(pass.info.opt_level as f64).into(), &required, &kind.into()))
}

/// Makes passes of their descriptions, in order.
fn make_passes(registry: &Registry, descs: Vec<PassDesc>) -> Result<Vec<Pass>, String> {
    let mut made: Vec<Pass> = Vec::new();
    for desc in descs {
        let info = PassInfo { name: desc.name, opt_level: desc.opt_level, required: desc.required, traceable: false };
        made.push(match desc.kind.0 {
            DescKind::BuiltIn => {
                let calls = parse_calls(&desc.call).map_err(|e| e.message)?;
                let [call] = calls.as_slice() else { return Err(format!("`{}` is not one pass", desc.call)) };
                resolve_in(registry, call).map_err(|e| e.message)?
            }
            DescKind::Sequential => {
                let parts = desc.passes.iter().map(|part| made.get(*part).cloned().ok_or("a part of a sequence is not there"));
                Pass::sequential(info, parts.collect::<Result<_, _>>()?)
            }
            DescKind::Function => Pass::user(info.clone(), function_pass(&info.name, desc.index)),
            // Passes over dataflow blocks and tensor programs go through the module on the other side.
            DescKind::Module | DescKind::DataflowBlock | DescKind::PrimFunc => {
                Pass::user(info.clone(), module_pass(&info.name, desc.index))
            }
        });
    }
    Ok(made)
}

/// Lets `f` make something for a pass: nodes that are made meanwhile are its products.
fn products<T>(
    store: &mut Store,
    subject: Option<Subject>,
    f: impl FnOnce(&mut Store) -> Result<T, String>,
) -> Result<T, PassError> {
    let mark = store.mark();
    if subject.is_some() {
        store.begin_products();
    }
    let result = f(store);
    if subject.is_some() && !is_lost() {
        store.end_products(mark, subject.map(Subject::claim));
    }
    result.map_err(|message| vec![Diagnostic::error("user-pass", message, None)])
}

fn function_pass(name: &str, index: u32) -> UserRun {
    let rule = rule(name);
    UserRun::Function(Rc::new(move |runner, store, module, function| {
        let mut words = vec![function.index() as u32];
        words.extend(module_words(module));
        let call = HostCall { what: "function", index, words: &words, info: JsValue::NULL, dialect: module.dialect() };
        let subject = Some(Subject { rule, root: function });
        products(store, subject, |store| {
            let value = lend(store, Some(runner), subject, &call)?;
            let id = value.as_f64().map_or(u32::MAX, |id| id as u32);
            let new = store.expr_at(id as usize).filter(|id| store.as_function(*id).is_some());
            let new = new.ok_or("a function pass must return a function")?;
            claim(store, rule, function, new);
            Ok(new)
        })
    }))
}

fn module_pass(name: &str, index: u32) -> UserRun {
    let rule = rule(name);
    UserRun::Module(Rc::new(move |runner, store, module| {
        let words = module_words(module);
        let call = HostCall { what: "module", index, words: &words, info: JsValue::NULL, dialect: module.dialect() };
        let main = store.name("main");
        let root = module.function(main).or_else(|| module.functions().first().map(|(_, function)| *function));
        let subject = root.map(|root| Subject { rule, root });
        products(store, subject, |store| {
            let value = lend(store, Some(runner), subject, &call)?;
            let words = value.dyn_into::<js_sys::Uint32Array>().map_err(|_| "a module pass must return a module")?;
            let new = Words::new(store, &words.to_vec()).module().map_err(|e| super::thrown_text(&e))?;
            for &(name, function) in module.functions() {
                match new.function(name) {
                    Some(now) => claim(store, rule, function, now),
                    None if store.log.has_fuel() => store.log.record_removal(rule, function),
                    None => {}
                }
            }
            Ok(new)
        })
    }))
}

/// Records that a whole function took the place of another, unless it is a copy of it.
fn claim(store: &mut Store, rule: &'static str, old: ExprId, new: ExprId) {
    if store.first_ancestor(new) != store.first_ancestor(old) {
        store.record(rule, old, old, new);
    }
}

/// An instrument of the user's.
struct UserInstrument {
    name: String,
    index: u32,
}

impl UserInstrument {
    fn call(&self, what: &'static str, subject: Option<(&mut Store, &Module, &PassInfo)>) -> Result<JsValue, PassError> {
        let failed = |message| vec![Diagnostic::error("user-instrument", message, None)];
        let Some((store, module, info)) = subject else {
            let call = HostCall { what, index: self.index, words: &[], info: JsValue::NULL, dialect: Dialect::Relay };
            return call_host(&call).map_err(failed);
        };
        let required: js_sys::Array = info.required.iter().map(|name| JsValue::from(name.as_str())).collect();
        let about = js_sys::Array::of3(&info.name.as_str().into(), &(info.opt_level as f64).into(), &required);
        let words = module_words(module);
        let call = HostCall { what, index: self.index, words: &words, info: about.into(), dialect: module.dialect() };
        lend(store, None, None, &call).map_err(failed)
    }
}

impl Instrument for UserInstrument {
    fn name(&self) -> &str {
        &self.name
    }

    fn enter_pass_ctx(&mut self) -> Result<(), PassError> {
        self.call("enter", None).map(|_| ())
    }

    fn exit_pass_ctx(&mut self) -> Result<(), PassError> {
        self.call("exit", None).map(|_| ())
    }

    fn should_run(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<bool, PassError> {
        // Without the hook, or without an answer, the pass runs.
        self.call("should_run", Some((store, module, info))).map(|answer| answer.is_undefined() || answer.is_truthy())
    }

    fn run_before_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        self.call("before", Some((store, module, info))).map(|said| said.as_string())
    }

    fn run_after_pass(&mut self, store: &mut Store, module: &Module, info: &PassInfo) -> Result<Option<String>, PassError> {
        self.call("after", Some((store, module, info))).map(|said| said.as_string())
    }
}

fn make_instrument(desc: &InstrumentDesc) -> Result<Box<dyn Instrument>, Diagnostic> {
    let InstrumentDesc { name, index, call } = desc;
    if call.is_empty() {
        return Ok(Box::new(UserInstrument { name: name.clone(), index: *index }));
    }
    instrument::resolve(call, &source().0)
}

/// Runs one of the passes that are described on a module, directly, in the current context. The others are those that it may
/// require, of a script that is being loaded.
#[wasm_bindgen]
pub fn user_run(passes: JsValue, which: u32, module: &[u32]) -> Js<Vec<u32>> {
    let descs = Vec::<PassDesc>::read(passes, "passes")?;
    reach(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        let registry = lent.runner.as_ref().map_or_else(|| passes::ALL.into(), |runner| runner.registry().clone());
        let registry = registry.of(module.dialect());
        let listed: Vec<bool> = descs.iter().map(|desc| desc.listed).collect();
        let made = make_passes(&registry, descs).map_err(|e| error(&e))?;
        // While the script is loaded the runner does not know yet which passes it has made so far.
        if let Some(runner) = lent.runner.as_mut().filter(|_| LOADING.get()) {
            runner.set_user(made.iter().zip(listed).filter(|(_, listed)| *listed).map(|(pass, _)| pass.clone()).collect());
        }
        let pass = made.get(which as usize).ok_or_else(|| error("there is no pass"))?;
        let mut own = None;
        let runner = match &mut lent.runner {
            Some(runner) => runner,
            None => own.insert(Runner::new(registry, || 0.0, Trace::new(module.clone()))),
        };
        let new = runner.call(&mut lent.store, pass, &module).map_err(thrown)?;
        Ok(module_words(&new))
    })
}

/// Does something that may call the user's code again. Nodes that are made meanwhile are not products of the pass that
/// is under way.
pub(super) fn reach<T>(f: impl FnOnce(&mut Lent) -> Js<T>) -> Js<T> {
    with(|lent| {
        let products = lent.store.makes_products();
        if products {
            lent.store.end_products(lent.mark, lent.subject.map(Subject::claim));
        }
        let result = f(lent);
        if products && !is_lost() {
            lent.mark = lent.store.mark();
            lent.store.begin_products();
        }
        result
    })
}

/// Writes into the log of the step under way; false when there is none.
#[wasm_bindgen]
pub fn user_log(text: &str) -> bool {
    let Some(mut lent) = LENT.take() else { return false };
    let runner = lent.runner.as_mut().filter(|_| !LOADING.get());
    let step = runner.and_then(|runner| Some((runner.open_step()?, runner)));
    let logged = step
        .map(|(step, runner)| {
            runner.trace.log.push(LogEntry { step: Some(step), kind: LogKind::Printed, text: format!("{text}\n") })
        })
        .is_some();
    LENT.set(Some(lent));
    logged
}

/// Takes the lines that passes and instruments have printed and reported since the last time, while a script is loaded:
/// there is no list of steps yet where they could stand.
#[wasm_bindgen]
pub fn user_printed() -> Vec<String> {
    let Some(mut lent) = LENT.take() else { return Vec::new() };
    let mut said = Vec::new();
    if let Some(runner) = lent.runner.as_mut().filter(|_| LOADING.get()) {
        let printed = runner.trace.log.drain(..).filter(|entry| entry.kind == LogKind::Printed);
        said.extend(printed.map(|entry| entry.text.trim_end_matches('\n').to_owned()));
        let reported = runner.trace.steps.iter_mut().flat_map(|step| step.reported.drain(..));
        said.extend(reported.map(|found| format!("{}: {}", found.severity.word(), found.message)));
    }
    LENT.set(Some(lent));
    said
}

/// Names of the instruments that are built in.
#[wasm_bindgen]
pub fn user_instruments() -> Vec<String> {
    crate::pass::built_in::ALL.iter().map(|spec| spec.name.to_owned()).collect()
}

/// Checks a call of an instrument that is built in; throws when it cannot be made.
#[wasm_bindgen]
pub fn user_instrument(call: &str) -> Js<()> {
    instrument::resolve(call, "").map(|_| ()).map_err(|e| words_of(&e))
}

/// True if a pass of that name is compiled in.
#[wasm_bindgen]
pub fn user_has_pass(name: &str) -> bool {
    name == "Sequential" || Registry::from(passes::ALL).lookup(name).is_some()
}

/// Reads what a script made, for the session: its passes, of which those that are `listed` stand in the list, and its
/// instruments.
pub(in crate::wasm) fn registered(passes: JsValue, instruments: JsValue) -> Js<User> {
    let descs = Vec::<PassDesc>::read(passes, "passes")?;
    let instruments = Vec::<InstrumentDesc>::read(instruments, "instruments")?;
    let listed: Vec<bool> = descs.iter().map(|desc| desc.listed).collect();
    let made = make_passes(&passes::ALL.into(), descs).map_err(|e| error(&e))?;
    let known = Registry::from(passes::ALL);
    let mut passes: Vec<Pass> = Vec::new();
    for (pass, _) in made.into_iter().zip(listed).filter(|(_, listed)| *listed) {
        let name = &pass.info.name;
        if known.lookup(name).is_none() && passes.iter().all(|other| other.info.name != *name) {
            passes.push(pass);
        }
    }
    let instrument = move |name: &str| {
        let found = instruments.iter().find(|known| known.name == name)?;
        make_instrument(found).ok()
    };
    Ok(User { passes, instrument: std::rc::Rc::new(instrument), keys: own_keys() })
}
