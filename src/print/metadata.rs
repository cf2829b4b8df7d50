//! The `#[metadata]` section: TVM's `SaveJSON` (`src/node/serialization.cc`) of a map from type keys to
//! arrays of the objects that the text refers to.
//!
//! Nodes of the JSON are numbered when they are first reached, a node before its children, fields in
//! the order in which the C++ class declares them. Nodes that TVM shares are shared here if the program
//! shows it; spans are left out, as for a program that was built and not parsed.

mod json;
mod node;
pub(crate) mod program;

use super::meta::MetaKey;
use super::plan::Plan;
use crate::ir::{ExprId, Id, Name, Object, PrimId, Store, Symbol, Tensor, Type, TypeId, TypeVar, VarId};
use node::{Node, Source, Value};
use rustc_hash::FxHashMap;

/// Returns the JSON of the section; `None` when it is empty.
pub(super) fn section(plan: &Plan) -> Option<String> {
    let mut graph = Graph::new(plan);
    let root = graph.root()?;
    graph.reach(root);
    Some(graph.write(root))
}

/// A mentioned node. The first one is the null node.
type Handle = u32;
const NULL: Handle = 0;

/// The identity that two mentions of one node share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Identity {
    Expr(ExprId),
    Symbol(Id<Symbol>),
    Dim(PrimId),
    Intrinsic(Id<Name>),
    Object(Id<Object>),
    Variable(VarId),
    TypeVar(Id<TypeVar>),
    /// The unconstrained device: one object in TVM.
    AnyDevice,
}

struct Graph<'a> {
    store: &'a Store,
    plan: &'a Plan<'a>,
    sources: Vec<Source<'a>>,
    handles: FxHashMap<Identity, Handle>,
    /// Numbers of handles, in the order of first reach.
    numbers: Vec<Option<u32>>,
    nodes: Vec<Node>,
    tensors: Vec<Id<Tensor>>,
    tensor_numbers: FxHashMap<Id<Tensor>, u32>,
}

impl<'a> Graph<'a> {
    fn new(plan: &'a Plan<'a>) -> Self {
        let mut graph = Graph {
            store: plan.store,
            plan,
            sources: Vec::new(),
            handles: FxHashMap::default(),
            numbers: Vec::new(),
            nodes: Vec::new(),
            tensors: Vec::new(),
            tensor_numbers: FxHashMap::default(),
        };
        graph.handle(Source::Null);
        graph
    }

    /// Mentions a node of its own.
    fn handle(&mut self, source: Source<'a>) -> Handle {
        self.sources.push(source);
        self.numbers.push(None);
        (self.sources.len() - 1) as Handle
    }

    /// Mentions a node that may have other mentions.
    fn shared(&mut self, identity: Identity, source: Source<'a>) -> Handle {
        if let Some(&handle) = self.handles.get(&identity) {
            return handle;
        }
        let handle = self.handle(source);
        self.handles.insert(identity, handle);
        handle
    }

    /// Makes the map at the root. TVM takes it from a hash map with a handful of keys, whose iteration
    /// gives the last key first.
    fn root(&mut self) -> Option<Handle> {
        let plan = self.plan;
        let mut keys = Vec::new();
        let mut arrays = Vec::new();
        for (key, members) in plan.meta.groups().iter().rev() {
            let mut items: Vec<Handle> = members.iter().map(|member| self.member(member)).collect();
            // An object without a value keeps its number if others follow it.
            while items.last() == Some(&NULL) {
                items.pop();
            }
            if !items.is_empty() {
                keys.push(key.clone());
                arrays.push(self.handle(Source::Array(items)));
            }
        }
        (!keys.is_empty()).then(|| self.handle(Source::Map(keys, arrays)))
    }

    fn member(&mut self, key: &MetaKey) -> Handle {
        match key {
            MetaKey::Expr(id) => self.expr(*id),
            MetaKey::Attrs(id) => match self.store.call(*id).and_then(|call| call.attrs) {
                Some(attrs) => self.handle(Source::Attrs(attrs)),
                None => NULL,
            },
            MetaKey::Value(owner, path) => match self.value_at(*owner, path) {
                Some(value) => self.value(value),
                None => NULL,
            },
            MetaKey::Symbol(id) => self.shared(Identity::Symbol(*id), Source::Symbol(*id)),
            MetaKey::Dim(id) => self.shared(Identity::Dim(*id), Source::Dim(*id)),
            MetaKey::Hole(_) => self.handle(Source::Hole),
            MetaKey::Global(name) => self.handle(Source::Global(*name)),
            MetaKey::Object(id) => self.object(*id),
            MetaKey::Type(ty) => self.ty(*ty),
        }
    }

    /// Numbers all nodes that can be reached from `root`, parents first.
    fn reach(&mut self, root: Handle) {
        let mut stack = vec![root, NULL];
        let mut children = Vec::new();
        while let Some(handle) = stack.pop() {
            if self.numbers[handle as usize].is_some() {
                continue;
            }
            self.numbers[handle as usize] = Some(self.nodes.len() as u32);
            let node = self.node(handle);
            children.clear();
            node.for_each_handle(|child| children.push(child));
            stack.extend(children.iter().rev());
            self.nodes.push(node);
        }
    }

    /// Returns the number of a tensor among those of the section.
    fn tensor(&mut self, id: Id<Tensor>) -> Value {
        let next = self.tensors.len() as u32;
        let number = *self.tensor_numbers.entry(id).or_insert(next);
        if number == next {
            self.tensors.push(id);
        }
        Value::Text(number.to_string())
    }

    fn any_device(&mut self) -> Handle {
        self.shared(Identity::AnyDevice, Source::AnyDevice)
    }

    fn ty(&mut self, ty: TypeId) -> Handle {
        match self.store.type_of_id(ty) {
            Type::Var(var) => self.shared(Identity::TypeVar(*var), Source::TypeVar(*var)),
            _ => self.handle(Source::Type(ty)),
        }
    }

    fn optional_type(&mut self, ty: Option<TypeId>) -> Handle {
        ty.map_or(NULL, |ty| self.ty(ty))
    }
}
