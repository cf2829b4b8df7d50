//! The memory of a session: every node of every version, and the data that they share.

mod attributes;
mod kinds;
mod mentions;
mod outside;
mod prim;
mod provenance;
mod relax;
mod size;

pub use kinds::Kinds;
pub use mentions::Mentions;
pub use prim::Pointer;
pub use provenance::Mark;
pub use size::{MAX_TYPE_DEPTH, MAX_TYPE_SIZE};

use super::Name;
use super::attrs::{Attrs, AttrsId};
use super::expr::*;
use super::id::{Id, IdMap, List};
use super::intern::Interner;
use super::origin::{Origin, RewriteId, RewriteLog};
use super::prim::{Block, Buffer, PrimExpr, PrimFunc, Stmt};
use super::tensor::Tensor;
use super::ty::{DType, Dim, Symbol, Type, TypeId};
use crate::diag::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// One session's memory: append-only arenas for nodes with identity, interners for the others.
///
/// Nodes are never changed or freed while the session lasts, so a version of the program is a handful of ids and a fact
/// about an id stays true.
#[derive(Clone, Default)]
pub struct Store {
    serial: Serial,
    exprs: Vec<Expr>,
    /// `checked_type` of each expression, by index: fixed when the node is made.
    types: Vec<Option<TypeId>>,
    origins: Vec<Origin>,
    /// Calls of operators of Relax whose type follows from their operands, and is not merely written.
    deduced: IdMap<Expr, ()>,
    vars: Vec<Var>,
    functions: Vec<Function>,
    clauses: Vec<Clause>,
    patterns: Vec<Pattern>,
    type_vars: Vec<TypeVar>,
    symbols: Vec<Symbol>,
    adts: Vec<Adt>,
    ctors: Vec<Ctor>,
    objects: Vec<Object>,
    bindings: Vec<Binding>,
    blocks: Vec<BindingBlock>,
    buffers: Vec<Buffer>,
    prim_blocks: Vec<Rc<Block>>,
    stmts: Vec<Rc<Stmt>>,
    /// The node of each statement, by index.
    stmt_nodes: Vec<ExprId>,
    prim_funcs: Vec<PrimFunc>,
    tensors: Vec<Tensor>,
    /// Indices of the elements of every [`List`].
    pool: Vec<u32>,

    names: Interner<Name>,
    interned_types: Interner<Type>,
    /// The depth and size of each type, by index.
    type_extents: Vec<size::TypeExtent>,
    prims: Interner<PrimExpr>,
    /// The type of each scalar expression, by index.
    prim_dtypes: Vec<DType>,
    /// The depth of each scalar expression, by index.
    prim_depths: Vec<u16>,
    /// The variables and buffers in each scalar expression, by index.
    prim_mentions: Vec<Mentions>,
    pointers: Interner<Pointer>,
    attr_sets: Interner<Attrs>,
    call_infos: Interner<CallInfo>,
    dim_lists: Interner<Dims>,

    var_uses: IdMap<Var, ExprId>,
    leaves: FxHashMap<Leaf, ExprId>,
    var_spans: IdMap<Var, Span>,
    numbers: FxHashMap<ExprId, u32>,
    n_holes: u32,
    scratch_holes: Vec<TypeId>,

    /// The results of InferType for roots, for `infer` alone. Facts about root ids stay true, so they are never
    /// removed.
    pub inferred: FxHashMap<ExprId, Rc<Inferred>>,
    /// The output types by the relations of operators for known inputs: keyed by their address, attributes and the
    /// types of the inputs. For `infer` alone.
    pub related: FxHashMap<Box<[u32]>, TypeId>,
    /// The kinds of nodes in functions of TIR and in scalar expressions, as far as they were asked for.
    kinds: IdMap<PrimFunc, Kinds>,
    prim_kinds: IdMap<PrimExpr, Kinds>,
    open_extents: bool,
    /// True while types are deduced outside of every function: nothing is known of symbols there.
    pub symbols_are_free: bool,
    /// The rewrites of this session.
    pub log: RewriteLog,
    /// The dataflow blocks of the text that variables were read in: neighbours are one block afterwards.
    read_blocks: FxHashMap<VarId, u32>,
    /// The rewrite under way, if any: nodes made now are its products.
    current: Option<RewriteId>,
    /// The name of the rewrite under way, if it is more precise than its driver's.
    current_rule: Option<&'static str>,
    /// True if the rewrite under way counts although its result equals its input.
    products_stand: bool,
}

/// The number of a memory, and of its copies.
#[derive(Clone, Copy)]
struct Serial(u32);

impl Default for Serial {
    fn default() -> Serial {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Serial(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The result of InferType for a root, with the facts outside of the root that it depends on.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The root with its types; the same root when it had them.
    pub result: ExprId,
    /// Global functions it refers to and their annotated types.
    pub globals: Box<[(Id<Name>, TypeId)]>,
    /// The type definitions of the module.
    pub adts: Box<[(Id<Name>, AdtId)]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Leaf {
    Global(Id<Name>),
    Op(OpId),
    Ctor(CtorId),
}

macro_rules! arena {
    ($(#[$add_doc:meta])* $add:ident, $(#[$get_doc:meta])* $get:ident, $field:ident, $kind:ty) => {
        $(#[$add_doc])*
        pub fn $add(&mut self, value: $kind) -> Id<$kind> {
            self.$field.push(value);
            Id::from_index(self.$field.len() - 1)
        }

        $(#[$get_doc])*
        pub fn $get(&self, id: Id<$kind>) -> &$kind {
            &self.$field[id.index()]
        }
    };
}

impl Store {
    /// Makes an empty store.
    pub fn new() -> Store {
        Store::default()
    }

    /// Returns the number of this memory, which no other has but copies of it: an id says nothing of another memory.
    pub fn serial(&self) -> u32 {
        self.serial.0
    }

    arena!(
        /// Adds a function's data; [`Store::function_expr`] makes the expression too.
        add_function, /// A function's data.
        function, functions, Function);
    arena!(
        /// Adds an arm of a match.
        add_clause, /// An arm of a match.
        clause, clauses, Clause);
    arena!(
        /// Adds a pattern.
        add_pattern, /// A pattern.
        pattern, patterns, Pattern);
    arena!(
        /// Adds a type parameter.
        add_type_var, /// A type parameter.
        type_var, type_vars, TypeVar);
    arena!(
        /// Adds a symbolic extent.
        add_symbol, /// A symbolic extent.
        symbol, symbols, Symbol);
    arena!(
        /// Adds a type definition.
        add_adt, /// A type definition.
        adt, adts, Adt);
    arena!(
        /// Adds a constructor.
        add_ctor, /// A constructor.
        ctor, ctors, Ctor);
    arena!(
        /// Adds an object of the metadata section.
        add_object, /// An object of the metadata section.
        object, objects, Object);
    arena!(
        /// Adds a binding of a block.
        add_binding, /// A binding of a block.
        binding, bindings, Binding);
    arena!(
        /// Adds a block of bindings.
        add_block, /// A block of bindings.
        block, blocks, BindingBlock);
    arena!(
        /// Adds a tensor.
        add_tensor, /// A tensor.
        tensor, tensors, Tensor);

    /// Returns the id of a name.
    pub fn name(&mut self, text: &str) -> Id<Name> {
        self.names.intern_str(text)
    }

    /// Returns the text of a name.
    pub fn str(&self, name: Id<Name>) -> &str {
        &self.names.get(name).0
    }

    /// Returns the text of a name, shared, for when the store has to be changed meanwhile.
    pub fn name_rc(&self, name: Id<Name>) -> Rc<Name> {
        self.names.get_rc(name)
    }

    /// Returns the id of a type.
    pub fn ty(&mut self, ty: Type) -> TypeId {
        if let Type::Tensor { shape, .. } = &ty
            && !self.open_extents
        {
            self.open_extents = shape.iter().any(|dim| !matches!(dim, Dim::Int { bits: 32, .. }));
        }
        let known = self.interned_types.len();
        let extent = self.extent_of_type(&ty);
        let id = self.interned_types.intern(ty);
        if id.index() == known {
            self.type_extents.push(extent);
        }
        id
    }

    /// True if there ever was a tensor type with an extent that is no plain number: unknown, a symbol or of another
    /// width than the usual one.
    pub fn has_open_extents(&self) -> bool {
        self.open_extents
    }

    /// Returns the type behind an id.
    pub fn type_of_id(&self, id: TypeId) -> &Type {
        self.interned_types.get(id)
    }

    /// Returns the type behind an id, shared, for when the store has to be changed meanwhile.
    pub fn type_rc(&self, id: TypeId) -> Rc<Type> {
        self.interned_types.get_rc(id)
    }

    /// Makes `Tensor[shape, dtype]`.
    pub fn tensor_type(&mut self, shape: &[Dim], dtype: DType) -> TypeId {
        self.ty(Type::Tensor { shape: shape.into(), dtype })
    }

    /// Makes `(A, B)`.
    pub fn tuple_type(&mut self, fields: &[TypeId]) -> TypeId {
        self.ty(Type::Tuple(fields.into()))
    }

    /// Makes a type that is not known yet, different from every other.
    pub fn hole(&mut self) -> TypeId {
        self.n_holes += 1;
        self.ty(Type::Hole(self.n_holes))
    }

    /// Returns the hole number `index` of those that type inference numbers itself and uses again each time. They must
    /// not end up in a program.
    pub fn scratch_hole(&mut self, index: u32) -> TypeId {
        while self.scratch_holes.len() <= index as usize {
            let number = Store::FIRST_SCRATCH_HOLE + self.scratch_holes.len() as u32;
            let ty = self.ty(Type::Hole(number));
            self.scratch_holes.push(ty);
        }
        self.scratch_holes[index as usize]
    }

    /// Holes with numbers from here on are [`Store::scratch_hole`]s.
    pub const FIRST_SCRATCH_HOLE: u32 = 1 << 31;

    /// Stores a list of ids.
    pub fn list<T>(&mut self, items: &[Id<T>]) -> List<T> {
        if items.is_empty() {
            return List::EMPTY;
        }
        let start = self.pool.len() as u32;
        self.pool.extend(items.iter().map(|id| id.index() as u32));
        List::at(start, items.len() as u32)
    }

    /// Returns the elements of a list.
    pub fn items<T>(&self, list: List<T>) -> impl DoubleEndedIterator<Item = Id<T>> + ExactSizeIterator + '_ {
        self.pool[list.start as usize..(list.start + list.len) as usize].iter().map(|&index| Id::from_index(index as usize))
    }

    /// Returns one element of a list. Panics past its end.
    pub fn item<T>(&self, list: List<T>, index: usize) -> Id<T> {
        assert!(index < list.len(), "element {index} of a list of {}", list.len());
        Id::from_index(self.pool[list.start as usize + index] as usize)
    }

    /// Makes a new variable, written with this annotation; it has no inferred type yet.
    pub fn var(&mut self, name: &str, annotation: Option<TypeId>) -> VarId {
        let name = self.name(name);
        let vid = Id::from_index(self.vars.len());
        self.vars.push(Var { name, vid, annotation, ty: None, device: None, dataflow: false, symbol: None });
        vid
    }

    /// Makes a new variable that stands for `old` with other contents; it keeps the identity of `old` (TVM: same `vid`)
    /// and its place in the text.
    pub fn var_from(&mut self, old: VarId, annotation: Option<TypeId>, ty: Option<TypeId>) -> VarId {
        let new = Var { annotation, ty, ..self.vars[old.index()].clone() };
        self.vars.push(new);
        let id = Id::from_index(self.vars.len() - 1);
        if let Some(&span) = self.var_spans.get(old) {
            self.var_spans.insert(id, span);
        }
        id
    }

    /// Makes a new variable that looks like `old`, for copies of its binder.
    pub fn fresh_var(&mut self, old: VarId) -> VarId {
        let id = Id::from_index(self.vars.len());
        let new = Var { vid: id, ..self.vars[old.index()].clone() };
        self.vars.push(new);
        id
    }

    /// Sets the device constraint of a variable that was just made.
    pub fn set_var_device(&mut self, var: VarId, device: Option<Id<Object>>) {
        self.vars[var.index()].device = device;
    }

    /// Returns a variable.
    pub fn var_data(&self, id: VarId) -> &Var {
        &self.vars[id.index()]
    }

    /// Returns the name hint of a variable.
    pub fn var_name(&self, id: VarId) -> &str {
        self.str(self.vars[id.index()].name)
    }

    /// Returns the node that uses a variable: one for all uses.
    pub fn use_var(&mut self, var: VarId) -> ExprId {
        if let Some(&id) = self.var_uses.get(var) {
            return id;
        }
        let ty = self.vars[var.index()].ty;
        let id = self.push(Expr::Var(var), ty, Origin::Unknown);
        self.var_uses.insert(var, id);
        id
    }

    /// Returns the node that uses a variable, if there is one yet.
    pub fn var_use(&self, var: VarId) -> Option<ExprId> {
        self.var_uses.get(var).copied()
    }

    /// Returns the number of variables that the session has made.
    pub fn n_vars(&self) -> usize {
        self.vars.len()
    }

    /// Records where a variable is bound in the text.
    pub fn set_var_span(&mut self, var: VarId, span: Span) {
        self.var_spans.insert(var, span);
    }

    /// Returns the source location of a variable's binding.
    pub fn var_span(&self, var: VarId) -> Option<Span> {
        self.var_spans.get(var).copied()
    }

    fn push(&mut self, expr: Expr, ty: Option<TypeId>, origin: Origin) -> ExprId {
        self.exprs.push(expr);
        self.types.push(ty);
        self.origins.push(origin);
        let id = Id::from_index(self.exprs.len() - 1);
        #[cfg(debug_assertions)]
        super::walk::for_each_child(self, id, |child| assert!(child < id, "a child must be older than its parent"));
        id
    }

    fn shared_leaf(&mut self, leaf: Leaf, expr: Expr) -> ExprId {
        if let Some(&id) = self.leaves.get(&leaf) {
            return id;
        }
        let id = self.push(expr, None, Origin::Unknown);
        self.leaves.insert(leaf, id);
        id
    }

    /// Adds a node without a type. Shared leaves (variables, globals, operators, constructors)
    /// come out as the one node they have.
    pub fn add(&mut self, expr: Expr) -> ExprId {
        self.add_typed(expr, None)
    }

    /// Adds a node with the type that inference found for it.
    pub fn add_typed(&mut self, expr: Expr, ty: Option<TypeId>) -> ExprId {
        match expr {
            Expr::Var(v) => self.use_var(v),
            Expr::Global(name) => self.shared_leaf(Leaf::Global(name), expr),
            Expr::Op(op) => self.shared_leaf(Leaf::Op(op), expr),
            Expr::Ctor(ctor) => self.shared_leaf(Leaf::Ctor(ctor), expr),
            _ => {
                let origin = self.current_origin();
                self.push(expr, ty, origin)
            }
        }
    }

    /// Returns the origin of nodes made now.
    fn current_origin(&self) -> Origin {
        self.current.map_or(Origin::Unknown, Origin::Made)
    }

    /// Makes a copy of `pre` with other contents or another type that means the same.
    pub fn rebuild(&mut self, pre: ExprId, expr: Expr, ty: Option<TypeId>) -> ExprId {
        match expr {
            Expr::Var(_) | Expr::Global(_) | Expr::Op(_) | Expr::Ctor(_) => self.add_typed(expr, ty),
            _ => self.push(expr, ty, Origin::Rebuilt(pre)),
        }
    }

    /// Returns the node behind an id.
    pub fn expr(&self, id: ExprId) -> Expr {
        self.exprs[id.index()]
    }

    /// Returns the number of expressions that the session has made.
    pub fn n_exprs(&self) -> usize {
        self.exprs.len()
    }

    /// Returns the number of nodes that the session has made: expressions, statements and scalar expressions.
    pub fn n_nodes(&self) -> usize {
        self.exprs.len() + self.stmts.len() + self.prims.len()
    }

    /// Returns the type that InferType found for a node (TVM's `checked_type`). As in TVM it is stale on a node rebuilt
    /// by a pass, until the next InferType.
    pub fn checked_type(&self, id: ExprId) -> Option<TypeId> {
        self.types[id.index()]
    }

    /// Returns the call behind an id, if it is one.
    pub fn call(&self, id: ExprId) -> Option<Call> {
        match self.expr(id) {
            Expr::Call { callee, args, info } => {
                let attrs = info.and_then(|i| self.call_infos.get(i).attrs);
                Some(Call { callee, args, attrs, info })
            }
            _ => None,
        }
    }

    /// Returns the operator that `id` calls, if it is a call of an operator.
    pub fn called_op(&self, id: ExprId) -> Option<OpId> {
        match self.expr(self.call(id)?.callee) {
            Expr::Op(op) => Some(op),
            _ => None,
        }
    }

    /// Returns the function behind an id, if it is one.
    pub fn as_function(&self, id: ExprId) -> Option<Function> {
        match self.expr(id) {
            Expr::Function(f) => Some(*self.function(f)),
            _ => None,
        }
    }

    /// Returns the attributes and type arguments of a call.
    pub fn call_info(&self, id: Id<CallInfo>) -> &CallInfo {
        self.call_infos.get(id)
    }

    /// Interns the further properties of a call; `None` without any.
    pub fn add_call_info(&mut self, attrs: Option<AttrsId>, type_args: &[TypeId]) -> Option<Id<CallInfo>> {
        if attrs.is_none() && type_args.is_empty() {
            return None;
        }
        Some(self.call_infos.intern(CallInfo { attrs, type_args: type_args.into() }))
    }

    /// Adds `callee(args, attrs)`.
    pub fn add_call(&mut self, callee: ExprId, args: &[ExprId], attrs: Option<AttrsId>) -> ExprId {
        let args = self.list(args);
        let info = self.add_call_info(attrs, &[]);
        self.add(Expr::Call { callee, args, info })
    }

    /// Adds `(fields)`.
    pub fn add_tuple(&mut self, fields: &[ExprId]) -> ExprId {
        let fields = self.list(fields);
        self.add(Expr::Tuple(fields))
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, tensor: Tensor) -> ExprId {
        let tensor = self.add_tensor(tensor);
        self.add(Expr::Constant(tensor))
    }

    /// Adds a function literal.
    pub fn function_expr(&mut self, function: Function) -> ExprId {
        let function = self.add_function(function);
        self.add(Expr::Function(function))
    }
}
