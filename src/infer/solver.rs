//! The constraint solver: equal types, and the relations that are not decided yet.
//!
//! After TVM's `type_solver.cc`. Each *occurrence* of a type has a [`Slot`] of its own, because TVM unifies type
//! objects, not type values: where `Tensor[(5,), f32]` meets `Tensor[(?,), f32]` both occurrences become the latter,
//! and other tensors of shape 5 stay as they are. A slot that is not known yet is a hole; inside of larger types it is
//! [`Type::Hole`].

use super::subst::TypeFacts;
use crate::ir::walk::for_each_type_in;
use crate::ir::{AttrsId, ExprId, MAX_TYPE_DEPTH, MAX_TYPE_SIZE, OpId, Store, Type, TypeId};
use crate::ops::{RuleCx, TypeRule, own};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Holes from this number on belong to an active solver: the number less this one counts its holes. The next solver
/// reuses them, so that holes do not fill the store.
const LOCAL: u32 = Store::FIRST_SCRATCH_HOLE;

/// One occurrence of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

struct Node {
    /// The slot this one was merged into; itself for a root.
    parent: u32,
    /// The known type of a root; a hole's own [`Type::Hole`] while it is unknown.
    ty: TypeId,
    /// The type that it was made with.
    own: TypeId,
    /// True if it was made as a hole.
    made_as_hole: bool,
    /// Relations to ask again when this slot is refined: first entry in `links`.
    first_link: u32,
    /// The last of these entries.
    last_link: u32,
}

const NO_LINK: u32 = u32::MAX;

struct Link {
    relation: u32,
    next: u32,
}

/// A constraint between types.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// The relation of an operator.
    Op(TypeRule),
    /// The relation that a script has for its operator.
    Own(OpId),
    /// The second type is the field at this index of the first.
    Field(u32),
}

struct Relation {
    rule: Rule,
    /// Its types in `args`, inputs first, then the output.
    first_arg: u32,
    n_args: u32,
    attrs: Option<AttrsId>,
    /// The expression to blame.
    expr: ExprId,
    resolved: bool,
    queued: bool,
}

/// A relation that failed.
pub(super) struct Failure {
    /// The expression to blame.
    pub expr: ExprId,
    /// The reason.
    pub message: String,
}

/// Equalities and relations between types.
#[derive(Default)]
pub(super) struct Solver {
    nodes: Vec<Node>,
    links: Vec<Link>,
    relations: Vec<Relation>,
    args: Vec<Slot>,
    queue: VecDeque<u32>,
    /// Slots of the holes it made.
    holes: Vec<Slot>,
    /// Slots of the program's own holes.
    user_holes: FxHashMap<u32, Slot>,
    pub(super) dims: super::unify::DimEqualities,
    pub(super) facts: TypeFacts,
    /// Relations that cannot hold.
    pub(super) failures: Vec<Failure>,
    /// A type turned out to have too many parts.
    pub(super) too_large: bool,
    /// A type turned out to nest too deeply.
    pub(super) too_deep: bool,
    /// True if [`Solver::output`] may answer at once: as long as all extents are plain numbers, known types are equal
    /// or do not fit, and no occurrence of a type learns from another.
    pub(super) at_once: bool,
    /// A buffer for keys of [`Store::related`].
    key: Vec<u32>,
    /// The number of links that were followed in merging.
    #[cfg(test)]
    pub(super) moved: usize,
}

impl Solver {
    /// Makes a solver for a program of about `nodes` nodes.
    pub(super) fn with_capacity(nodes: usize) -> Solver {
        Solver {
            nodes: Vec::with_capacity(nodes),
            links: Vec::with_capacity(2 * nodes),
            relations: Vec::with_capacity(nodes / 2),
            args: Vec::with_capacity(nodes),
            ..Solver::default()
        }
    }

    fn push(&mut self, ty: TypeId, made_as_hole: bool) -> Slot {
        let index = self.nodes.len() as u32;
        self.nodes.push(Node { parent: index, ty, own: ty, made_as_hole, first_link: NO_LINK, last_link: NO_LINK });
        Slot(index)
    }

    /// Makes a slot for an unknown type.
    pub(super) fn hole(&mut self, store: &mut Store) -> Slot {
        let ty = store.scratch_hole(self.holes.len() as u32);
        let slot = self.push(ty, true);
        self.holes.push(slot);
        slot
    }

    /// Makes an occurrence of a type; a hole is the same slot wherever it occurs.
    pub(super) fn occurrence(&mut self, store: &Store, ty: TypeId) -> Slot {
        match *store.type_of_id(ty) {
            Type::Hole(number) => self.hole_slot(number, ty),
            _ => self.push(ty, false),
        }
    }

    fn hole_slot(&mut self, number: u32, ty: TypeId) -> Slot {
        if number >= LOCAL {
            return self.holes[(number - LOCAL) as usize];
        }
        if let Some(&slot) = self.user_holes.get(&number) {
            return slot;
        }
        let slot = self.push(ty, true);
        self.user_holes.insert(number, slot);
        slot
    }

    /// Returns the slot that represents all slots merged with this one.
    pub(super) fn root(&mut self, slot: Slot) -> Slot {
        let mut at = slot.0;
        loop {
            let parent = self.nodes[at as usize].parent;
            if parent == at {
                return Slot(at);
            }
            let grandparent = self.nodes[parent as usize].parent;
            self.nodes[at as usize].parent = grandparent;
            at = grandparent;
        }
    }

    /// Returns the type an occurrence was made with. Merging does not change it, as it does not change the type object
    /// that TVM's inferencer holds.
    pub(super) fn own(&self, slot: Slot) -> TypeId {
        self.nodes[slot.0 as usize].own
    }

    /// True if the occurrence was made as a hole, filled or not.
    pub(super) fn made_as_hole(&self, slot: Slot) -> bool {
        self.nodes[slot.0 as usize].made_as_hole
    }

    /// True if the occurrence is a hole of the program.
    pub(super) fn is_from_program(&self, store: &Store, slot: Slot) -> bool {
        matches!(*store.type_of_id(self.own(slot)), Type::Hole(number) if number < LOCAL)
    }

    /// Returns the known type of a root.
    pub(super) fn known(&self, root: Slot) -> TypeId {
        self.nodes[root.0 as usize].ty
    }

    /// True if the type of a root is unknown.
    pub(super) fn is_unknown(&self, root: Slot) -> bool {
        let node = &self.nodes[root.0 as usize];
        node.made_as_hole && node.ty == node.own
    }

    /// Returns the type of an occurrence as far as it is known, with its holes filled.
    pub(super) fn resolve(&mut self, store: &mut Store, slot: Slot) -> TypeId {
        let root = self.root(slot);
        let ty = self.known(root);
        if self.is_unknown(root) { ty } else { self.resolve_type(store, ty) }
    }

    /// Fills the holes of a type as far as they are known.
    pub(super) fn resolve_type(&mut self, store: &mut Store, ty: TypeId) -> TypeId {
        if self.facts.is_closed(store, ty) {
            return ty;
        }
        let mut done = FxHashMap::default();
        let resolved = self.resolve_open(store, ty, 0, &mut done);
        self.too_large |= store.type_size(resolved) > MAX_TYPE_SIZE;
        resolved
    }

    fn resolve_open(&mut self, store: &mut Store, ty: TypeId, depth: usize, done: &mut FxHashMap<TypeId, TypeId>) -> TypeId {
        if depth > MAX_TYPE_DEPTH {
            self.too_deep = true;
            return ty;
        }
        if let Type::Hole(number) = *store.type_of_id(ty) {
            let slot = self.hole_slot(number, ty);
            let root = self.root(slot);
            let known = self.known(root);
            return if self.is_unknown(root) { known } else { self.resolve_open(store, known, depth, done) };
        }
        if self.facts.is_closed(store, ty) {
            return ty;
        }
        if let Some(&known) = done.get(&ty) {
            return known;
        }
        let result = super::subst::map_children(store, ty, &mut |store, child| self.resolve_open(store, child, depth + 1, done));
        done.insert(ty, result);
        result
    }

    /// Merges `from` into `to`. Relations that wait for `from` are queued again, unless it was known as well before:
    /// then they would have the same results (TVM runs them all the same), and with a weight that ten thousand calls
    /// share each call would run all others again.
    pub(super) fn merge(&mut self, store: &Store, from: Slot, to: Slot) {
        if from == to {
            return;
        }
        let news = self.known(from) != self.known(to) || !self.facts.is_closed(store, self.nodes[to.0 as usize].ty);
        let mut link = std::mem::replace(&mut self.nodes[from.0 as usize].first_link, NO_LINK);
        self.nodes[from.0 as usize].parent = to.0;
        if !news {
            self.join(from, link, to);
            return;
        }
        let mut holes = None;
        while link != NO_LINK {
            let Link { relation, next } = self.links[link as usize];
            link = next;
            #[cfg(test)]
            {
                self.moved += 1;
            }
            if self.relations[relation as usize].resolved {
                continue;
            }
            self.enqueue(relation);
            self.attach(relation, to);
            let holes = holes.get_or_insert_with(|| {
                let ty = self.nodes[to.0 as usize].ty;
                if self.nodes[to.0 as usize].made_as_hole { Vec::new() } else { self.holes_in(store, ty) }
            });
            for &hole in &*holes {
                self.attach(relation, hole);
            }
        }
    }

    /// Puts the relations from `first` on, which were those of `from`, before those of `to`.
    fn join(&mut self, from: Slot, first: u32, to: Slot) {
        if first == NO_LINK {
            return;
        }
        let last = self.nodes[from.0 as usize].last_link;
        let to = &mut self.nodes[to.0 as usize];
        let rest = std::mem::replace(&mut to.first_link, first);
        if rest == NO_LINK {
            to.last_link = last;
        }
        self.links[last as usize].next = rest;
    }

    fn attach(&mut self, relation: u32, slot: Slot) {
        let link = self.links.len() as u32;
        let node = &mut self.nodes[slot.0 as usize];
        let next = std::mem::replace(&mut node.first_link, link);
        if next == NO_LINK {
            node.last_link = link;
        }
        self.links.push(Link { relation, next });
    }

    fn enqueue(&mut self, relation: u32) {
        let queued = &mut self.relations[relation as usize].queued;
        if !*queued {
            *queued = true;
            self.queue.push_back(relation);
        }
    }

    /// Returns the roots of the unfilled holes in a type.
    fn holes_in(&mut self, store: &Store, ty: TypeId) -> Vec<Slot> {
        let mut found = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack = vec![ty];
        while let Some(ty) = stack.pop() {
            if self.facts.is_closed(store, ty) || !seen.insert(ty) {
                continue;
            }
            match *store.type_of_id(ty) {
                Type::Hole(number) => {
                    let slot = self.hole_slot(number, ty);
                    let root = self.root(slot);
                    if self.is_unknown(root) {
                        found.push(root);
                    } else {
                        stack.push(self.known(root));
                    }
                }
                _ => for_each_type_in(store, ty, &mut |child| stack.push(child)),
            }
        }
        found
    }

    /// True if the hole `root` occurs in `ty`, so that the two cannot be equal.
    pub(super) fn occurs(&mut self, store: &Store, root: Slot, ty: TypeId) -> bool {
        !self.facts.is_closed(store, ty) && self.holes_in(store, ty).contains(&root)
    }

    /// Adds a relation over inputs and output. The next [`Solver::solve`] runs it.
    pub(super) fn relate(&mut self, store: &Store, rule: Rule, types: &[Slot], attrs: Option<AttrsId>, expr: ExprId) {
        let number = self.relations.len() as u32;
        let first_arg = self.args.len() as u32;
        self.args.extend_from_slice(types);
        self.relations.push(Relation {
            rule,
            first_arg,
            n_args: types.len() as u32,
            attrs,
            expr,
            resolved: false,
            queued: false,
        });
        for &slot in types {
            let root = self.root(slot);
            self.attach(number, root);
            if !self.is_unknown(root) {
                let known = self.known(root);
                for hole in self.holes_in(store, known) {
                    self.attach(number, hole);
                }
            }
        }
        self.enqueue(number);
    }

    /// Runs relations, oldest first, until none has new inputs.
    pub(super) fn solve(&mut self, store: &mut Store) {
        let mut types = Vec::new();
        let mut slots = Vec::new();
        while let Some(number) = self.queue.pop_front() {
            let Relation { rule, first_arg, n_args, attrs, expr, .. } = self.relations[number as usize];
            slots.clear();
            slots.extend_from_slice(&self.args[first_arg as usize..(first_arg + n_args) as usize]);
            types.clear();
            for &slot in &slots {
                types.push(self.resolve(store, slot));
            }
            let mut unify = |store: &mut Store, a: TypeId, b: TypeId| self.unify_in_relation(store, &slots, &types, a, b);
            let answer = match rule {
                Rule::Op(rule) => {
                    let n_inputs = types.len() - 1;
                    rule(&mut RuleCx { store, types: &types, n_inputs, attrs, unify: &mut unify })
                }
                Rule::Own(op) => {
                    let n_inputs = types.len() - 1;
                    own::relate(&mut RuleCx { store, types: &types, n_inputs, attrs, unify: &mut unify }, op)
                }
                Rule::Field(index) => field(store, &types, index, &mut unify),
            };
            let relation = &mut self.relations[number as usize];
            // The flag is cleared only now, so that a relation which refines its own types is not queued again for that.
            relation.queued = false;
            match answer {
                Ok(resolved) => relation.resolved = resolved,
                Err(message) => {
                    // TVM keeps it queued for ever; one failure is enough.
                    relation.resolved = true;
                    self.failures.push(Failure { expr, message });
                }
            }
        }
    }

    /// Returns the output type of an operator's relation, if it follows at once: the inputs are known, and later
    /// findings cannot change them (see [`Solver::at_once`]). It is cached, since passes leave most calls as they were.
    /// `None` if the relation has to be noted and solved with the others.
    pub(super) fn output(
        &mut self,
        store: &mut Store,
        rule: TypeRule,
        inputs: &[Slot],
        attrs: Option<AttrsId>,
    ) -> Option<TypeId> {
        if !self.at_once {
            return None;
        }
        let address = rule as usize as u64;
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.extend([address as u32, (address >> 32) as u32, attrs.map_or(0, |attrs| attrs.index() as u32 + 1)]);
        let mut types = Vec::with_capacity(inputs.len() + 1);
        for &input in inputs {
            let root = self.root(input);
            types.push(self.known(root));
        }
        key.extend(types.iter().map(|ty| ty.index() as u32));
        let known = store.related.get(key.as_slice()).copied();
        let output = known.or_else(|| {
            if !types.iter().all(|ty| self.facts.is_closed(store, *ty)) {
                return None;
            }
            let hole = self.hole(store);
            let mut slots = inputs.to_vec();
            slots.push(hole);
            types.push(self.own(hole));
            let mut unify = |store: &mut Store, a: TypeId, b: TypeId| self.unify_in_relation(store, &slots, &types, a, b);
            let cx = &mut RuleCx { store, types: &types, n_inputs: inputs.len(), attrs, unify: &mut unify };
            // An error is reported when the relation is run with the others.
            let holds = rule(cx) == Ok(true);
            let output = self.resolve(store, hole);
            if !holds || !self.facts.is_closed(store, output) {
                return None;
            }
            store.related.insert(key.as_slice().into(), output);
            Some(output)
        });
        self.key = key;
        output
    }

    /// Returns the type of a field of a tuple, if it follows at once.
    pub(super) fn field(&mut self, store: &Store, tuple: Slot, index: u32) -> Option<TypeId> {
        let root = self.root(tuple);
        let ty = self.known(root);
        match store.type_of_id(ty) {
            Type::Tuple(fields) if self.at_once && self.facts.is_closed(store, ty) => fields.get(index as usize).copied(),
            _ => None,
        }
    }

    /// Unifies for a relation, which names its types by value. The left side is one of them, in doubt the last one,
    /// which is the output; the right side is a new type.
    fn unify_in_relation(
        &mut self,
        store: &mut Store,
        slots: &[Slot],
        types: &[TypeId],
        left: TypeId,
        right: TypeId,
    ) -> Result<(), String> {
        let a = match types.iter().rposition(|ty| *ty == left) {
            Some(index) => slots[index],
            None => self.occurrence(store, left),
        };
        let b = self.occurrence(store, right);
        self.unify(store, a, b, true, true).map(|_| ()).map_err(|mismatch| mismatch.message())
    }
}

/// TVM's `TupleGetItemRel`.
fn field(
    store: &mut Store,
    types: &[TypeId],
    index: u32,
    unify: &mut dyn FnMut(&mut Store, TypeId, TypeId) -> Result<(), String>,
) -> Result<bool, String> {
    let field = match store.type_of_id(types[0]) {
        Type::Hole(_) => return Ok(false),
        Type::Tuple(fields) => fields
            .get(index as usize)
            .copied()
            .ok_or_else(|| format!("the tuple has {} fields, there is no field {index}", fields.len()))?,
        _ => {
            let shown = crate::ir::show_type(store, types[0]);
            return Err(format!("TupleGetItem expect input type to be TupleType, get {shown} instead"));
        }
    };
    unify(store, types[1], field)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{DType, Dim};
    use std::cell::Cell;

    /// Like the scale of a batch normalisation: the input determines the output.
    fn same(cx: &mut RuleCx<'_>) -> Result<bool, String> {
        let ty = cx.types[0];
        (cx.unify)(cx.store, ty, ty)?;
        (cx.unify)(cx.store, cx.types[1], ty)?;
        Ok(true)
    }

    #[test]
    fn what_many_relations_share_is_not_gone_through_for_each_of_them() {
        let store = &mut Store::new();
        let vector = store.tensor_type(&[Dim::int(8)], DType::F32);
        let expr = store.add_tuple(&[]);
        let mut solver = Solver::with_capacity(0);
        let shared = solver.occurrence(store, vector);
        let n = 1000;
        let outputs: Vec<Slot> = (0..n).map(|_| solver.hole(store)).collect();
        for &output in &outputs {
            solver.relate(store, Rule::Op(same), &[shared, output], None, expr);
        }
        solver.solve(store);
        assert!(solver.failures.is_empty());
        assert!(outputs.iter().all(|output| solver.resolve(store, *output) == vector));
        assert!(solver.moved <= 2 * n, "{} links for {n} relations", solver.moved);
    }

    thread_local! {
        static ASKED: Cell<usize> = const { Cell::new(0) };
    }

    fn counted(cx: &mut RuleCx<'_>) -> Result<bool, String> {
        ASKED.set(ASKED.get() + 1);
        same(cx)
    }

    #[test]
    fn a_relation_over_known_inputs_is_asked_once_in_a_session() {
        let store = &mut Store::new();
        let [five, six] = [5, 6].map(|extent| store.tensor_type(&[Dim::int(extent)], DType::F32));
        let ask = |store: &mut Store, input: TypeId, at_once: bool| {
            ASKED.set(0);
            let mut solver = Solver { at_once, ..Solver::default() };
            let input = solver.occurrence(store, input);
            (solver.output(store, counted, &[input], None), ASKED.get())
        };
        assert_eq!(ask(store, five, true), (Some(five), 1));
        assert_eq!(ask(store, five, true), (Some(five), 0));
        assert_eq!(ask(store, six, true), (Some(six), 1));
        assert_eq!(ask(store, six, false), (None, 0));
        let hole = store.hole();
        assert_eq!(ask(store, hole, true), (None, 0));
    }
}
