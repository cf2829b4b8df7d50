//! The loop of every rewriting of expressions: what is to be done stands on a stack of its own, so that programs may nest as deep
//! as memory holds.
//!
//! A [`Form`] says what a result is made into: a graph whose shared nodes stay shared ([`super::rewrite`], for Relay), bindings in
//! A-normal form ([`crate::build`], for Relax), `let`s by scope (ToANormalForm), or scalar expressions
//! ([`crate::tir::Rewriting`]). Fuel and records are the store's ([`Store::rewrite`]). Statements of TIR are not driven: a
//! pass works before and after their children, as in TVM, and asks for these itself.

use super::expr::ExprId;
use super::store::Store;

/// The answer of a pass on entering a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit<N = ExprId> {
    /// Rewrite its children, rebuild it, then ask on leaving it.
    Descend,
    /// It stays as it is, and everything below it.
    Keep,
    /// Replaces it by this; neither is visited further.
    Replace(N),
    /// The result of rewriting this one replaces it (`return Mutate(op->true_branch)`).
    Follow(N),
}

/// One thing to do.
#[derive(Clone, Copy)]
pub enum Step<N, S> {
    /// A node is reached.
    Visit(N),
    /// The children of a node are done.
    Leave(N),
    /// The second is done, and its result is that of the first.
    Become(N, N),
    /// Anything else that a form does in between.
    Own(S),
}

/// The things to do, last first.
pub type Agenda<F> = Vec<Step<<F as Form>::Node, <F as Form>::Step>>;

/// The way in which results are put together.
pub trait Form {
    /// The kind of node that is visited.
    type Node: Copy;
    /// The things that it does beside visiting and leaving.
    type Step;

    /// True if a node needs no visit: its result is known.
    fn is_known(&mut self, node: Self::Node) -> bool {
        let _ = node;
        false
    }

    /// Asks the pass about a node before its children.
    fn enter(&mut self, node: Self::Node) -> Visit<Self::Node>;

    /// Puts a node's children on the agenda, and before them what is done afterwards: mostly [`Step::Leave`].
    fn descend(&mut self, node: Self::Node, agenda: &mut Agenda<Self>);

    /// Rebuilds a node over the results for its children, asks the pass again, and keeps the result.
    fn leave(&mut self, node: Self::Node);

    /// Keeps a result that the pass gave on entering.
    fn give(&mut self, node: Self::Node, result: Self::Node);

    /// Keeps the result of another node as that of this one.
    fn give_again(&mut self, node: Self::Node, other: Self::Node);

    /// Does what the form itself put on the agenda.
    fn step(&mut self, step: Self::Step, agenda: &mut Agenda<Self>);
}

/// Does everything on the agenda, and what that adds to it.
pub fn drive<F: Form>(form: &mut F, agenda: &mut Agenda<F>) {
    while let Some(step) = agenda.pop() {
        match step {
            Step::Visit(node) if form.is_known(node) => {}
            Step::Visit(node) => match form.enter(node) {
                Visit::Descend => form.descend(node, agenda),
                Visit::Keep => form.give(node, node),
                Visit::Replace(other) => form.give(node, other),
                Visit::Follow(other) => agenda.extend([Step::Become(node, other), Step::Visit(other)]),
            },
            Step::Leave(node) => form.leave(node),
            Step::Become(node, other) => form.give_again(node, other),
            Step::Own(step) => form.step(step, agenda),
        }
    }
}

impl Store {
    /// Asks a pass about a node before its children. Another node in the answer is a rewrite; without fuel it is not asked.
    pub fn ask_on_entry(&mut self, rule: &'static str, id: ExprId, ask: impl FnOnce(&mut Store) -> Visit) -> Visit {
        let mut visit = Visit::Descend;
        self.rewrite(rule, id, id, |store| {
            visit = ask(store);
            match visit {
                Visit::Descend | Visit::Keep => id,
                Visit::Replace(other) | Visit::Follow(other) => other,
            }
        });
        visit
    }
}
