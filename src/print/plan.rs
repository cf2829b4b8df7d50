//! The decisions that TVM's printer makes while it prints, without writing text: which nodes get a number and in which
//! scope their lines stand, the names of variables, and the contents of the metadata section.
//!
//! The order is that of `RelayTextPrinter`. A node is *visited* when its right-hand side is built, in
//! post-order over calls, tuples and projections; it is *consumed* when a node that uses it is visited,
//! and only then it gets its number and its line.

use super::meta::{self, MetaKey, MetaTable};
use super::names::Names;
use super::{Numbering, PrintOptions};
use crate::ir::sort::sort_by;
use crate::ir::walk::for_each_child;
use crate::ir::{
    Adt, AttrValue, AttrsId, Dim, Expr, ExprId, ExprKind, Function, Id, IdMap, List, Module, Name, Object, Pattern, PatternId,
    Store, Type, TypeId, VarId,
};
use crate::ops;
use rustc_hash::{FxHashMap, FxHashSet};

/// A line of a scope before its result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// `%0 = ...;`
    Temp(ExprId),
    /// `free_var %x;`
    FreeVar(VarId),
}

/// A function body, branch, arm, or the items after a `let`.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) items: Vec<Item>,
    /// True if the result is written in full here instead of by its number.
    pub(super) inline: bool,
}

/// One binding of a chain of lets.
#[derive(Debug)]
pub(super) struct LetLine {
    /// The let itself.
    pub(super) node: ExprId,
    /// True if its value is written in full in this line.
    pub(super) inline: bool,
    /// The scope of the items between this line and the next.
    pub(super) scope: u32,
}

/// The scopes and lets of a node.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Branches, arms, or the body.
    pub(super) scopes: Vec<u32>,
    /// The bindings of a chain of lets, and the body of the last one.
    pub(super) lets: Vec<LetLine>,
    pub(super) last: Option<ExprId>,
}

/// All decisions.
pub(super) struct Plan<'a> {
    pub(super) store: &'a Store,
    pub(super) options: PrintOptions<'a>,
    pub(super) meta: MetaTable,
    pub(super) names: Names<'a>,
    pub(super) scopes: Vec<Scope>,
    pub(super) parts: FxHashMap<ExprId, Parts>,
    /// Numbers of the nodes with a line of their own.
    pub(super) temps: IdMap<Expr, u32>,
    n_temps: usize,
    /// Repeated bindings of a variable: a node and the index among its variables.
    pub(super) malformed: FxHashSet<(ExprId, u32)>,
    /// A bare expression; its scope is the first.
    pub(super) root: Option<ExprId>,
    /// Global functions by name.
    pub(super) order: Vec<ExprId>,

    visited: IdMap<Expr, ()>,
    /// Nodes whose comment was printed; their types are counted once.
    commented: IdMap<Expr, ()>,
    types: IdMap<Type, ()>,
    patterns: IdMap<Pattern, ()>,
    /// Uses of a node in the definition being printed: number of the definition, number of uses.
    uses: IdMap<Expr, (u32, u32)>,
    definition: u32,
    /// Free variables whose `free_var` line is still to come.
    undeclared: FxHashSet<VarId>,
    open: Vec<u32>,
    steps: Vec<Step>,
    /// True if the node consumed last is written in full at its use.
    last_inline: bool,
}

enum Step {
    /// Visits a node and its operands.
    Expand(ExprId),
    /// Visits a node whose calls, tuples and projections below are visited.
    Leaf(ExprId),
    /// Marks a node as visited.
    Done(ExprId),
    /// Visits a node and uses it. True if it may be written in full.
    Print(ExprId, bool),
    Consume(ExprId, bool),
    /// Opens a scope of this node; the scope of a bare expression has no owner.
    OpenScope(Option<ExprId>),
    CloseScope,
    /// The metadata of a call's attributes.
    CallAttrs(ExprId),
    Pattern(ExprId, PatternId),
    /// Continues the chain of lets that starts with the first node at the second one.
    Let(ExprId, ExprId),
    LetLine(ExprId, ExprId),
    LetEnd(ExprId),
}

impl<'a> Plan<'a> {
    fn new(store: &'a Store, options: &PrintOptions<'a>) -> Self {
        Plan {
            store,
            options: *options,
            meta: MetaTable::default(),
            names: Names::new(options.numbering),
            scopes: Vec::new(),
            parts: FxHashMap::default(),
            temps: IdMap::new(),
            n_temps: 0,
            malformed: FxHashSet::default(),
            root: None,
            order: Vec::new(),
            visited: IdMap::new(),
            commented: IdMap::new(),
            types: IdMap::new(),
            patterns: IdMap::new(),
            uses: IdMap::new(),
            definition: 0,
            undeclared: FxHashSet::default(),
            open: Vec::new(),
            steps: Vec::new(),
            last_inline: false,
        }
    }

    pub(super) fn of_module(store: &'a Store, module: &Module, options: &PrintOptions<'a>) -> Self {
        let mut plan = Plan::new(store, options);
        for adt in sorted_adts(store, module) {
            for &ctor in &store.adt(adt).ctors {
                let inputs = &store.ctor(ctor).inputs;
                inputs.iter().for_each(|&ty| plan.ty(ty));
            }
        }
        plan.order = sorted_functions(store, module).into_iter().map(|(_, function)| function).collect();
        for function in plan.order.clone() {
            plan.count_uses(function);
            plan.function(function);
            plan.run();
        }
        plan
    }

    pub(super) fn of_expr(store: &'a Store, root: ExprId, options: &PrintOptions<'a>) -> Self {
        let mut plan = Plan::new(store, options);
        plan.count_uses(root);
        plan.root = Some(root);
        plan.steps.extend([Step::CloseScope, Step::Print(root, true), Step::OpenScope(None)]);
        plan.run();
        plan
    }

    pub(super) fn of_type(store: &'a Store, ty: TypeId) -> Self {
        let options =
            PrintOptions { numbering: Numbering::Exact, types: true, metadata: false, header: false, ..PrintOptions::default() };
        let mut plan = Plan::new(store, &options);
        plan.ty(ty);
        plan
    }

    /// Counts the edges to each node of a definition (TVM's `DependencyGraph`): a node with more than
    /// one is never written in full at its use.
    fn count_uses(&mut self, root: ExprId) {
        self.definition += 1;
        let definition = self.definition;
        self.uses.insert(root, (definition, 0));
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            let uses = &mut self.uses;
            for_each_child(self.store, id, |child| match uses.get_mut(child) {
                Some((in_definition, count)) if *in_definition == definition => *count += 1,
                _ => {
                    uses.insert(child, (definition, 1));
                    stack.push(child);
                }
            });
        }
    }

    /// Estimates the number of lines.
    pub(super) fn n_lines(&self) -> usize {
        self.n_temps + 2 * self.scopes.len() + 2
    }

    fn is_unique(&self, id: ExprId) -> bool {
        !matches!(self.uses.get(id), Some(&(definition, count)) if definition == self.definition && count > 1)
    }

    fn run(&mut self) {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Expand(id) => self.expand(id),
                Step::Leaf(id) if self.visited.contains(id) => {}
                Step::Leaf(id) => self.leaf(id),
                Step::Done(id) => {
                    self.visited.insert(id, ());
                }
                Step::Print(id, may_inline) => {
                    self.steps.push(Step::Consume(id, may_inline));
                    self.expand(id);
                }
                Step::Consume(id, may_inline) => self.consume(id, may_inline),
                Step::OpenScope(owner) => {
                    let scope = self.new_scope();
                    if let Some(owner) = owner {
                        self.parts.entry(owner).or_default().scopes.push(scope);
                    }
                }
                Step::CloseScope => {
                    let scope = self.open.pop().expect("scopes are opened before they are closed");
                    self.scopes[scope as usize].inline = self.last_inline;
                }
                Step::CallAttrs(id) => self.call_attrs(id),
                Step::Pattern(owner, pattern) => self.pattern(owner, pattern),
                Step::Let(first, id) => self.let_or_body(first, id),
                Step::LetLine(first, id) => {
                    let inline = self.last_inline;
                    let scope = self.new_scope();
                    self.parts.entry(first).or_default().lets.push(LetLine { node: id, inline, scope });
                    if let Expr::Let { body, .. } = self.store.expr(id) {
                        self.steps.push(Step::Let(first, body));
                    }
                }
                Step::LetEnd(first) => {
                    let n = self.parts.get(&first).map_or(0, |parts| parts.lets.len());
                    self.open.truncate(self.open.len() - n);
                }
            }
        }
    }

    fn new_scope(&mut self) -> u32 {
        self.scopes.push(Scope::default());
        let scope = (self.scopes.len() - 1) as u32;
        self.open.push(scope);
        scope
    }

    fn expand(&mut self, id: ExprId) {
        if self.visited.contains(id) {
            return;
        }
        self.steps.push(Step::Leaf(id));
        match self.store.expr(id) {
            Expr::Call { callee, args, info: _ } => {
                self.expand_all(args);
                if !is_plain(self.store.expr(callee)) {
                    self.steps.push(Step::Expand(callee));
                }
            }
            Expr::Tuple(fields) => self.expand_all(fields),
            Expr::TupleGetItem { tuple, index: _ } => self.steps.push(Step::Expand(tuple)),
            _ => {}
        }
    }

    fn expand_all(&mut self, list: List<Expr>) {
        let visited = &self.visited;
        self.steps.extend(self.store.items(list).rev().filter(|id| !visited.contains(*id)).map(Step::Expand));
    }

    /// Pushes the parts of a node to be printed, the first on top.
    fn leaf(&mut self, id: ExprId) {
        let store = self.store;
        match store.expr(id) {
            Expr::Var(var) => {
                // It has no binding, so it is free.
                self.bind(id, 0, var);
                self.undeclared.insert(var);
                self.visited.insert(id, ());
            }
            Expr::Constant(_) => {
                if meta::meta_tensor(store, id).is_some() {
                    self.meta.add(MetaKey::Expr(id), "relay.Constant");
                }
                self.visited.insert(id, ());
            }
            Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) => {
                self.visited.insert(id, ());
            }
            Expr::Tuple(fields) => {
                self.steps.push(Step::Done(id));
                self.steps.extend(store.items(fields).rev().map(|field| Step::Print(field, false)));
            }
            Expr::TupleGetItem { tuple, index: _ } => {
                self.steps.extend([Step::Done(id), Step::Print(tuple, false)]);
            }
            Expr::Call { callee, args, info } => {
                self.steps.push(Step::Done(id));
                if !is_plain(store.expr(callee)) {
                    self.steps.push(Step::Print(callee, false));
                }
                if info.is_some() {
                    self.steps.push(Step::CallAttrs(id));
                }
                self.steps.extend(store.items(args).rev().map(|arg| Step::Print(arg, false)));
            }
            Expr::If { cond, then, other } => {
                self.steps.push(Step::Done(id));
                self.scope(id, other);
                self.scope(id, then);
                self.steps.push(Step::Print(cond, false));
            }
            Expr::Let { .. } => self.steps.extend([Step::Done(id), Step::LetEnd(id), Step::Let(id, id)]),
            Expr::Function(_) => {
                self.steps.push(Step::Done(id));
                self.function(id);
            }
            Expr::Match { data, clauses, complete: _ } => {
                self.steps.push(Step::Done(id));
                for clause in store.items(clauses).rev() {
                    let clause = store.clause(clause);
                    self.scope(id, clause.body);
                    self.steps.push(Step::Pattern(id, clause.pattern));
                }
                self.steps.push(Step::Print(data, false));
            }
            // Only Relax has them.
            Expr::Seq { .. }
            | Expr::Shape(_)
            | Expr::Prim(_)
            | Expr::Str(_)
            | Expr::DataType(_)
            | Expr::Extern(_)
            | Expr::PrimFunc(_)
            | Expr::Stmt(_) => {
                self.visited.insert(id, ());
            }
            Expr::RefCreate(value) => self.steps.extend([Step::Done(id), Step::Print(value, false)]),
            Expr::RefRead(reference) => self.steps.extend([Step::Done(id), Step::Print(reference, false)]),
            Expr::RefWrite { reference, value } => {
                self.steps.extend([Step::Done(id), Step::Print(value, false), Step::Print(reference, false)]);
            }
        }
    }

    /// Pushes a scope of `owner` with this result to be printed.
    fn scope(&mut self, owner: ExprId, result: ExprId) {
        self.steps.extend([Step::CloseScope, Step::Print(result, true), Step::OpenScope(Some(owner))]);
    }

    fn function(&mut self, id: ExprId) {
        let store = self.store;
        let Some(Function { params, body, ret, attrs, device, .. }) = store.as_function(id) else { return };
        for (place, param) in store.items(params).enumerate() {
            self.bind(id, place as u32, param);
        }
        if let Some(attrs) = attrs {
            self.attrs(id, attrs);
        }
        self.device(device);
        if let Some(ret) = ret {
            self.ty(ret);
        }
        self.scope(id, body);
    }

    fn let_or_body(&mut self, first: ExprId, id: ExprId) {
        if let Expr::Let { var, value, body: _ } = self.store.expr(id) {
            self.bind(id, 0, var);
            self.steps.extend([Step::LetLine(first, id), Step::Print(value, true)]);
        } else {
            self.parts.entry(first).or_default().last = Some(id);
            self.scope(first, id);
        }
    }

    fn consume(&mut self, id: ExprId, may_inline: bool) {
        let kind = self.store.expr(id).kind();
        if self.options.types && has_comment(kind) && !self.commented.contains(id) {
            self.commented.insert(id, ());
            if let Some(ty) = self.store.checked_type(id) {
                self.ty(ty);
            }
        }
        let scope = *self.open.last().expect("printing starts in a scope") as usize;
        if let Expr::Var(var) = self.store.expr(id) {
            if self.undeclared.remove(&var) {
                self.scopes[scope].items.push(Item::FreeVar(var));
            }
            self.last_inline = false;
        } else if always_inline(kind) || self.temps.contains(id) {
            self.last_inline = false;
        } else if may_inline && self.is_unique(id) {
            self.last_inline = true;
        } else {
            let number = self.names.temp(self.store, id);
            self.temps.insert(id, number);
            self.n_temps += 1;
            self.scopes[scope].items.push(Item::Temp(id));
            self.last_inline = false;
        }
    }

    /// Binds a variable by `owner`, at this index among the variables it binds.
    fn bind(&mut self, owner: ExprId, place: u32, var: VarId) {
        if !self.names.bind(self.store, var) {
            self.malformed.insert((owner, place));
            return;
        }
        let data = self.store.var_data(var);
        self.device(data.device);
        if let Some(ty) = data.annotation {
            self.ty(ty);
        }
        if let (true, Some(ty)) = (self.options.types, data.ty) {
            self.ty(ty);
        }
        if let Some(used) = self.store.var_use(var) {
            self.visited.insert(used, ());
            self.commented.insert(used, ());
        }
    }

    fn device(&mut self, device: Option<Id<Object>>) {
        if let Some(device) = device {
            self.meta.add(MetaKey::Object(device), self.store.str(self.store.object(device).key));
        }
    }

    fn pattern(&mut self, owner: ExprId, pattern: PatternId) {
        let store = self.store;
        let mut stack = vec![pattern];
        while let Some(pattern) = stack.pop() {
            if self.patterns.insert(pattern, ()).is_some() {
                continue;
            }
            match *store.pattern(pattern) {
                Pattern::Wildcard => {}
                Pattern::Var(var) => self.bind(owner, pattern_place(pattern), var),
                Pattern::Ctor { ctor: _, fields } | Pattern::Tuple(fields) => stack.extend(store.items(fields).rev()),
            }
        }
    }

    fn call_attrs(&mut self, id: ExprId) {
        let store = self.store;
        let Some((call, attrs)) = store.call(id).and_then(|call| Some((call, call.attrs?))) else { return };
        if own_attrs(store, call.callee, attrs) {
            self.attrs(id, attrs);
        } else {
            self.meta.add(MetaKey::Attrs(id), store.str(store.attrs_of_id(attrs).key));
        }
    }

    fn attrs(&mut self, owner: ExprId, attrs: AttrsId) {
        let mut path = Vec::new();
        for (i, (_, value)) in self.store.attrs_of_id(attrs).fields.iter().enumerate() {
            path.push(i as u32);
            self.value(owner, value, &mut path);
            path.pop();
        }
    }

    /// Recursive: values nest as deep as the brackets in which they were written.
    fn value(&mut self, owner: ExprId, value: &AttrValue, path: &mut Vec<u32>) {
        let store = self.store;
        match value {
            AttrValue::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.push(i as u32);
                    self.value(owner, item, path);
                    path.pop();
                }
            }
            AttrValue::Map(_) => self.meta.add(MetaKey::Value(owner, path.clone()), "Map"),
            AttrValue::Dim(dim) => self.dim(*dim),
            AttrValue::Global(name) => self.meta.add(MetaKey::Global(*name), "GlobalVar"),
            AttrValue::Expr(id) => self.meta.add(MetaKey::Expr(*id), meta::expr_key(store, *id)),
            AttrValue::Type(ty) => self.meta.add(MetaKey::Type(*ty), meta::type_key(store.type_of_id(*ty))),
            AttrValue::Object(id) => self.meta.add(MetaKey::Object(*id), store.str(store.object(*id).key)),
            AttrValue::Null
            | AttrValue::Bool(_)
            | AttrValue::Int { .. }
            | AttrValue::Float(_)
            | AttrValue::Str(_)
            | AttrValue::DType(_) => {}
        }
    }

    /// Recursive: types nest as deep as the parser lets them.
    fn ty(&mut self, ty: TypeId) {
        if self.types.insert(ty, ()).is_some() {
            return;
        }
        match self.store.type_of_id(ty) {
            Type::Tensor { shape, dtype: _ } => shape.iter().for_each(|&dim| self.dim(dim)),
            Type::Tuple(fields) => fields.iter().for_each(|&field| self.ty(field)),
            Type::Func { type_params: _, params, ret } => {
                params.iter().for_each(|&param| self.ty(param));
                self.ty(*ret);
            }
            Type::Ref(value) => self.ty(*value),
            Type::Var(_) | Type::Global(_) => {}
            Type::Apply { head, args } => {
                self.ty(*head);
                args.iter().for_each(|&arg| self.ty(arg));
            }
            Type::Hole(number) => self.meta.add(MetaKey::Hole(*number), "IncompleteType"),
            _ => {}
        }
    }

    fn dim(&mut self, dim: Dim) {
        match dim {
            Dim::Int { .. } | Dim::Any => {}
            Dim::Symbol(id) => self.meta.add(MetaKey::Symbol(id), meta::symbol_key(self.store.symbol(id))),
            Dim::Expr(id) => self.meta.add(MetaKey::Dim(id), meta::dim_key(self.store.prim_of_id(id))),
        }
    }
}

/// Returns the index of a pattern variable among the variables its match binds.
pub(super) fn pattern_place(pattern: PatternId) -> u32 {
    pattern.index() as u32
}

/// True if attributes are written inline: a call of an operator takes only the operator's own type of
/// attributes, others are in the metadata section.
pub(super) fn own_attrs(store: &Store, callee: ExprId, attrs: AttrsId) -> bool {
    match store.expr(callee) {
        Expr::Op(op) => ops::info(op).relay_attrs().is_some_and(|schema| schema.key == store.str(store.attrs_of_id(attrs).key)),
        _ => true,
    }
}

/// True for expressions that print without any decision.
fn is_plain(expr: Expr) -> bool {
    matches!(expr, Expr::Op(_) | Expr::Global(_) | Expr::Ctor(_))
}

fn always_inline(kind: ExprKind) -> bool {
    matches!(kind, ExprKind::Var | ExprKind::Global | ExprKind::Op | ExprKind::Ctor | ExprKind::Constant)
}

/// True if the type of such a node is printed behind it.
pub(super) fn has_comment(kind: ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Constant | ExprKind::Call | ExprKind::Var | ExprKind::Function | ExprKind::Tuple | ExprKind::TupleGetItem
    )
}

/// Returns type definitions by name.
pub(super) fn sorted_adts(store: &Store, module: &Module) -> Vec<Id<Adt>> {
    let mut adts = module.adts().to_vec();
    sort_by(&mut adts, |a, b| store.str(a.0).cmp(store.str(b.0)));
    adts.into_iter().map(|(_, adt)| adt).collect()
}

/// Returns functions by name.
pub(super) fn sorted_functions(store: &Store, module: &Module) -> Vec<(Id<Name>, ExprId)> {
    let mut functions = module.functions().to_vec();
    sort_by(&mut functions, |a, b| store.str(a.0).cmp(store.str(b.0)));
    functions
}
