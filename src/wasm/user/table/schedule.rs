//! Schedules of Python: each instruction makes a new state, which has a number; an older one can be gone back to.

use crate::ir;
use crate::ir::{Module, Stmt, StmtId, Store};
use crate::parse::trace::parse_trace;
use crate::schedule::state::Saved;
use crate::schedule::tree::What;
use crate::schedule::{State, Tracer, intrinsic_module};
use crate::wasm::user::{Js, Words, error, module_words, with};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

/// A state of a schedule.
#[derive(Clone)]
struct Step {
    tracer: Tracer,
    saved: Option<Saved>,
    module: Module,
}

thread_local! {
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// A script may have this many states.
const MAX_STEPS: usize = 100_000;

/// Forgets all states.
pub(super) fn forget() {
    STEPS.take();
}

/// A schedule of a module; gives the number of its state.
#[wasm_bindgen]
pub fn table_schedule(module: &[u32]) -> Js<u32> {
    with(|lent| {
        let module = Words::new(&lent.store, module).module()?;
        keep(Step { tracer: Tracer::default(), saved: None, module })
    })
}

fn keep(step: Step) -> Js<u32> {
    STEPS.with_borrow_mut(|steps| {
        if steps.len() >= MAX_STEPS {
            return Err(error("there are too many states of schedules"));
        }
        steps.push(step);
        Ok(steps.len() as u32 - 1)
    })
}

/// Applies one instruction, as a trace writes it, whose results get one name. `[number of the new state, number of results or -1
/// where the name stands for one, words of the module]`.
#[wasm_bindgen]
pub fn table_instruct(state: u32, text: &str, name: &str) -> Js<js_sys::Array> {
    let mut step = STEPS
        .with_borrow(|steps| steps.get(state as usize).cloned())
        .ok_or_else(|| error("there is no such state of a schedule"))?;
    let instructions = parse_trace(text)
        .map_err(|found| error(found.first().map_or("this is no instruction", |found| found.message.as_str())))?;
    with(|lent| {
        let mut state = State::new(&mut lent.store, &step.module);
        if let Some(saved) = &step.saved {
            state.go_back(saved);
        }
        for instruction in &instructions {
            step.tracer.apply(&mut state, instruction).map_err(|refused| error(&refused.0))?;
        }
        let count = step.tracer.count(name);
        let module = state.module();
        step.saved = Some(state.saved());
        let number = keep(step)?;
        let words = js_sys::Uint32Array::from(&module_words(&module)[..]);
        Ok(js_sys::Array::of3(&number.into(), &count.into(), &words))
    })
}

/// The statement that a name of a schedule stands for: one more than its id, 0 where it stands for none.
#[wasm_bindgen]
pub fn table_handle(state: u32, name: &str) -> Js<u32> {
    let step = STEPS
        .with_borrow(|steps| steps.get(state as usize).cloned())
        .ok_or_else(|| error("there is no such state of a schedule"))?;
    with(|lent| {
        let mut state = State::new(&mut lent.store, &step.module);
        if let Some(saved) = &step.saved {
            state.go_back(saved);
        }
        let Some((_, what)) = step.tracer.handles(&state).into_iter().find(|(known, _)| known == name) else { return Ok(0) };
        let module = state.module();
        let store = &*state.store;
        let bodies = module.functions().iter().filter_map(|(_, function)| match store.expr(*function) {
            ir::Expr::PrimFunc(func) => Some(store.prim_func(func).body),
            _ => None,
        });
        Ok(bodies.filter_map(|body| find(store, body, what)).next().map_or(0, |id| id.index() as u32 + 1))
    })
}

/// The loop or block in a statement.
fn find(store: &Store, root: StmtId, what: What) -> Option<StmtId> {
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        match (store.stmt(id), what) {
            (Stmt::For(head, _), What::Loop(var)) if head.var == var => return Some(id),
            (Stmt::Block(block), What::Block(wanted)) if *block == wanted => return Some(id),
            _ => store.for_each_inner_stmt(id, |inner| stack.push(inner)),
        }
    }
    None
}

/// The module of a tensor intrinsic that TVM registers, with its functions `desc` and `impl`; nothing for another name.
#[wasm_bindgen]
pub fn table_intrinsic(name: &str) -> Js<Vec<u32>> {
    with(|lent| Ok(intrinsic_module(&mut lent.store, name).map_or(Vec::new(), |module| module_words(&module))))
}
