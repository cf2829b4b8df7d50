//! Compares programs by structural equality as TVM defines it (`src/node/structural_equal.cc` and the `SEqualReduce` of
//! each node).
//!
//! Binders are matched, not compared by name: parameters, let variables, pattern variables, type parameters. Sharing is
//! compared too: two uses of one node must correspond to two uses of one node; in Relax, where operands are names, only
//! for functions and branches. Inferred types are ignored in Relay and compared in Relax; source locations never are.
//!
//! The comparison keeps its own stack, so depth is no limit; its cost is linear in the smaller program.

mod path;
mod prim;
mod value;

use super::expr::{BindingBlock, CallInfo, Ctor, Expr, ExprId, Function, Pattern, PatternId, VarId};
use super::id::{Id, IdMap, List};
use super::module::{Dialect, Module};
use super::prim::{Buffer, PrimId};
use super::sort::sort_by;
use super::store::Store;
use super::ty::{Symbol, Type, TypeId};
use super::{AttrsId, Object, TypeVar, Var};
use path::{NO_PLACE, Places, Step};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// The options of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EqualOptions {
    /// Free variables correspond one to one; otherwise a free variable equals only itself.
    pub map_free_vars: bool,
    /// Scalar float constants and float attributes are equal within 1e-5, relatively. The text format prints them with
    /// six digits, so a parsed text has no more.
    pub scalar_tolerance: bool,
    /// Constants whose values were left out of a dump are equal where their types are: nothing tells those of two texts
    /// apart. Otherwise such a constant equals only itself, for in one program they are different weights.
    pub unknown_constants: bool,
    /// Compares the types of expressions if both sides have one. Relax needs this, because a call there may have been
    /// given a weaker type than follows from its operands; a comparison of modules of Relax always does it.
    pub types: bool,
    /// Compares only what the results of Relay's functions depend on: not attributes of functions, and not devices.
    pub results: bool,
}

impl EqualOptions {
    /// The options for two texts that may be of one program: omitted constants count as equal.
    pub const TEXTS: EqualOptions =
        EqualOptions { map_free_vars: true, scalar_tolerance: false, unknown_constants: true, types: false, results: false };

    /// The options for two versions of which only the results are of interest.
    pub const RESULTS: EqualOptions =
        EqualOptions { map_free_vars: false, scalar_tolerance: false, unknown_constants: false, types: false, results: true };

    /// The options for two expressions of one program of Relax.
    pub const RELAX: EqualOptions =
        EqualOptions { map_free_vars: false, scalar_tolerance: false, unknown_constants: false, types: true, results: false };
}

/// The first difference that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path to the difference from the root: `@main.body.args[0]`.
    pub path: String,
    /// The difference in words.
    pub message: String,
    /// The nodes that were compared; none when the difference is not inside an expression.
    pub lhs: Option<ExprId>,
    /// See [`Difference::lhs`].
    pub rhs: Option<ExprId>,
    /// The types that differ, when it is types.
    pub types: Option<(TypeId, TypeId)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "at {}: {}", self.path, self.message) }
    }
}

/// Compares two versions of a program. Functions correspond by name.
pub fn modules(store: &Store, lhs: &Module, rhs: &Module, options: EqualOptions) -> Result<(), Box<Difference>> {
    if lhs == rhs {
        return Ok(());
    }
    let mut comparer = Comparer::new(store, options);
    comparer.dialect = lhs.dialect();
    comparer.options.types |= comparer.dialect == Dialect::Relax;
    let outcome = comparer.modules(lhs, rhs);
    comparer.explain(outcome)
}

/// Compares two expressions. Functions that they call correspond by name.
pub fn exprs(store: &Store, lhs: ExprId, rhs: ExprId, options: EqualOptions) -> Result<(), Box<Difference>> {
    let mut comparer = Comparer::new(store, options);
    comparer.push(lhs, rhs, Step::Root, NO_PLACE);
    let outcome = comparer.run();
    comparer.explain(outcome)
}

/// True if two attribute sets are one by content. Objects in them (`runtime.BoxInt`) have identities of their own.
pub fn attrs(store: &Store, lhs: AttrsId, rhs: AttrsId) -> bool {
    if lhs == rhs {
        return true;
    }
    let mut comparer = Comparer::new(store, EqualOptions::default());
    comparer.attrs(lhs, rhs, NO_PLACE).is_ok() && comparer.run().is_ok()
}

/// Compares two types. Free type parameters and symbolic extents equal only themselves.
pub fn types(store: &Store, lhs: TypeId, rhs: TypeId) -> bool {
    Comparer::new(store, EqualOptions::default()).types(lhs, rhs, false).is_ok()
}

/// True if two scalar expressions are one but for the names of their variables and buffers, each of which has one partner.
pub fn like(store: &Store, lhs: PrimId, rhs: PrimId) -> bool {
    lhs == rhs || Comparer::new(store, EqualOptions::default()).prims(lhs, rhs, true).is_ok()
}

/// The reason why two things are not equal.
struct Mismatch {
    message: String,
    types: Option<(TypeId, TypeId)>,
}

type Outcome = Result<(), Mismatch>;

fn mismatch(message: impl Into<String>) -> Outcome {
    Err(Mismatch { message: message.into(), types: None })
}

fn expect(equal: bool, message: &str) -> Outcome {
    if equal { Ok(()) } else { mismatch(message) }
}

/// A one-to-one correspondence between nodes of the left and the right side.
struct Pairs<T> {
    to_rhs: IdMap<T, Id<T>>,
    to_lhs: IdMap<T, Id<T>>,
}

impl<T> Pairs<T> {
    fn new() -> Self {
        Pairs { to_rhs: IdMap::new(), to_lhs: IdMap::new() }
    }

    /// True if the two correspond; `None` when neither has a partner yet.
    fn check(&self, lhs: Id<T>, rhs: Id<T>) -> Option<bool> {
        match self.to_rhs.get(lhs) {
            Some(&partner) => Some(partner == rhs),
            None if self.to_lhs.contains(rhs) => Some(false),
            None => None,
        }
    }

    fn insert(&mut self, lhs: Id<T>, rhs: Id<T>) {
        self.to_rhs.insert(lhs, rhs);
        self.to_lhs.insert(rhs, lhs);
    }
}

enum Task {
    Compare {
        lhs: ExprId,
        rhs: ExprId,
        place: u32,
    },
    /// Everything below the two is equal: from now on they stand for each other.
    Pair(ExprId, ExprId),
    /// Everything below the two is equal, and they have no identity: they only need not be compared again.
    Known(ExprId, ExprId),
}

struct Comparer<'a> {
    store: &'a Store,
    options: EqualOptions,
    dialect: Dialect,
    nodes: Pairs<Expr>,
    vars: Pairs<Var>,
    /// The identities that copies of a variable share; see [`Var::vid`].
    vids: Pairs<Var>,
    type_vars: Pairs<TypeVar>,
    symbols: Pairs<Symbol>,
    buffers: Pairs<Buffer>,
    /// Scalar expressions that are equal, or are being compared.
    known_prims: FxHashSet<(PrimId, PrimId)>,
    holes: (FxHashMap<u32, u32>, FxHashMap<u32, u32>),
    ctors: FxHashSet<(Id<Ctor>, Id<Ctor>)>,
    objects: FxHashSet<(Id<Object>, Id<Object>)>,
    /// Nodes without identity that are equal, and types that are under the correspondences made so far.
    projections: FxHashSet<(ExprId, ExprId)>,
    known_types: FxHashSet<(TypeId, TypeId)>,
    /// True for a type without free parts, which would correspond instead of being equal.
    closed: IdMap<Type, bool>,
    tasks: Vec<Task>,
    places: Places,
    /// The nodes being compared, for the report.
    current: Option<(ExprId, ExprId, u32)>,
}

impl<'a> Comparer<'a> {
    fn new(store: &'a Store, options: EqualOptions) -> Self {
        Comparer {
            store,
            options,
            dialect: Dialect::Relay,
            nodes: Pairs::new(),
            vars: Pairs::new(),
            vids: Pairs::new(),
            type_vars: Pairs::new(),
            symbols: Pairs::new(),
            buffers: Pairs::new(),
            known_prims: FxHashSet::default(),
            holes: Default::default(),
            ctors: FxHashSet::default(),
            objects: FxHashSet::default(),
            projections: FxHashSet::default(),
            known_types: FxHashSet::default(),
            closed: IdMap::new(),
            tasks: Vec::new(),
            places: Places::default(),
            current: None,
        }
    }

    fn explain(&self, outcome: Outcome) -> Result<(), Box<Difference>> {
        outcome.map_err(|Mismatch { message, types }| {
            let (lhs, rhs, path) = match self.current {
                Some((lhs, rhs, place)) => (Some(lhs), Some(rhs), self.places.render(self.store, place)),
                None => (None, None, String::new()),
            };
            Box::new(Difference { path, message, lhs, rhs, types })
        })
    }

    fn push(&mut self, lhs: ExprId, rhs: ExprId, step: Step, parent: u32) {
        let place = self.places.add(step, parent);
        self.tasks.push(Task::Compare { lhs, rhs, place });
    }

    fn modules(&mut self, lhs: &Module, rhs: &Module) -> Outcome {
        expect(lhs.dialect() == rhs.dialect(), "a module of Relay against one of Relax")?;
        match (lhs.attrs(), rhs.attrs()) {
            (a, b) if a == b => {}
            (a, b) => self.dict_attrs(a, b, NO_PLACE).map_err(|m| Mismatch { message: format!("module: {}", m.message), ..m })?,
        }
        if lhs.global_infos() != rhs.global_infos() {
            self.dict_attrs(lhs.global_infos(), rhs.global_infos(), NO_PLACE)
                .map_err(|m| Mismatch { message: format!("global infos: {}", m.message), ..m })?;
        }
        let (left, right) = (by_name(self.store, lhs.adts()), by_name(self.store, rhs.adts()));
        same_names(self.store, &left, &right, "type")?;
        // TVM compares type definitions last; first is better, because constructors are compared
        // with their fields, in which the type parameters of the definition stand.
        for (&(name, a), &(_, b)) in left.iter().zip(&right) {
            self.adts(a, b).map_err(|m| Mismatch { message: format!("type {}: {}", self.store.str(name), m.message), ..m })?;
        }
        let (left, right) = (by_name(self.store, lhs.functions()), by_name(self.store, rhs.functions()));
        same_names(self.store, &left, &right, "function @")?;
        for (&(name, a), &(_, b)) in left.iter().zip(&right) {
            self.push(a, b, Step::Global(name), NO_PLACE);
            self.run()?;
        }
        Ok(())
    }

    fn adts(&mut self, lhs: Id<super::Adt>, rhs: Id<super::Adt>) -> Outcome {
        let store = self.store;
        let (a, b) = (store.adt(lhs), store.adt(rhs));
        expect(a.type_params.len() == b.type_params.len(), "another number of type parameters")?;
        for (&p, &q) in a.type_params.iter().zip(&b.type_params) {
            self.type_var(p, q, true)?;
        }
        expect(a.ctors.len() == b.ctors.len(), "another number of constructors")?;
        for (&c, &d) in a.ctors.iter().zip(&b.ctors) {
            self.ctors(c, d)?;
        }
        Ok(())
    }

    fn ctors(&mut self, lhs: Id<Ctor>, rhs: Id<Ctor>) -> Outcome {
        if lhs == rhs || self.ctors.contains(&(lhs, rhs)) {
            return Ok(());
        }
        let store = self.store;
        let (a, b) = (store.ctor(lhs), store.ctor(rhs));
        if a.name != b.name {
            return mismatch(format!("constructor {} against {}", store.str(a.name), store.str(b.name)));
        }
        expect(a.inputs.len() == b.inputs.len(), "the constructors have another number of fields")?;
        for (&t, &u) in a.inputs.iter().zip(&b.inputs) {
            self.types(t, u, self.options.map_free_vars)?;
        }
        self.ctors.insert((lhs, rhs));
        Ok(())
    }

    fn run(&mut self) -> Outcome {
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Pair(lhs, rhs) => self.nodes.insert(lhs, rhs),
                Task::Known(lhs, rhs) => {
                    self.projections.insert((lhs, rhs));
                }
                Task::Compare { lhs, rhs, place } => {
                    self.current = Some((lhs, rhs, place));
                    self.compare(lhs, rhs, place)?;
                }
            }
        }
        self.current = None;
        Ok(())
    }

    /// Leaves the mark that two nodes are equal, to be made when everything below them is. Those that have
    /// identity stand for each other from then on.
    fn mark(&mut self, lhs: ExprId, rhs: ExprId) {
        let has_identity = self.dialect == Dialect::Relay || matches!(self.store.expr(lhs), Expr::If { .. } | Expr::Function(_));
        self.tasks.push(if has_identity { Task::Pair(lhs, rhs) } else { Task::Known(lhs, rhs) });
    }

    /// Compares two nodes without their children, and pushes the children as tasks, first child on top.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each kind of node")]
    fn compare(&mut self, lhs: ExprId, rhs: ExprId, place: u32) -> Outcome {
        match self.nodes.check(lhs, rhs) {
            Some(true) => return Ok(()),
            Some(false) => return mismatch("one side uses a value twice where the other has two values of that form"),
            None if self.dialect == Dialect::Relax && self.projections.contains(&(lhs, rhs)) => return Ok(()),
            None => {}
        }
        let store = self.store;
        let computed = matches!(store.expr(lhs), Expr::Call { .. } | Expr::TupleGetItem { .. } | Expr::If { .. });
        if self.options.types
            && computed
            && let (Some(a), Some(b)) = (store.checked_type(lhs), store.checked_type(rhs))
        {
            self.optional_types(Some(a), Some(b), self.options.map_free_vars, "type of the value")?;
        }
        let first = self.tasks.len();
        match (store.expr(lhs), store.expr(rhs)) {
            (Expr::Var(_), Expr::Var(_)) if self.are_one_scalar(store.expr(lhs), store.expr(rhs)) => return Ok(()),
            (Expr::Var(a), Expr::Var(b)) => return self.var(a, b, self.options.map_free_vars),
            (Expr::Global(a), Expr::Global(b)) => {
                if a != b {
                    return mismatch(format!("@{} against @{}", store.str(a), store.str(b)));
                }
                return Ok(());
            }
            (Expr::Op(a), Expr::Op(b)) => return expect(a == b, "different operators"),
            (Expr::Ctor(a), Expr::Ctor(b)) => return self.ctors(a, b),
            (Expr::Constant(a), Expr::Constant(b)) => return self.tensors(a, b),
            (Expr::Tuple(a), Expr::Tuple(b)) => {
                expect(a.len() == b.len(), "the tuples have another number of fields")?;
                if a.is_empty() {
                    // The empty tuple has no identity.
                    return Ok(());
                }
                self.mark(lhs, rhs);
                for (i, (x, y)) in store.items(a).zip(store.items(b)).enumerate() {
                    self.push(x, y, Step::Field(i as u32), place);
                }
            }
            (Expr::TupleGetItem { tuple: a, index: i }, Expr::TupleGetItem { tuple: b, index: j }) => {
                expect(i == j, "another field of the tuple")?;
                if self.projections.contains(&(lhs, rhs)) {
                    return Ok(());
                }
                self.tasks.push(Task::Known(lhs, rhs));
                self.push(a, b, Step::Tuple, place);
            }
            (Expr::Call { .. }, Expr::Call { .. }) => self.calls(lhs, rhs, place)?,
            (Expr::Let { var: v, value: a, body: c }, Expr::Let { var: w, value: b, body: d }) => {
                self.var(v, w, true)?;
                self.tasks.push(Task::Pair(lhs, rhs));
                self.push(a, b, Step::Value, place);
                self.push(c, d, Step::Body, place);
            }
            (Expr::If { cond: a, then: c, other: e }, Expr::If { cond: b, then: d, other: f }) => {
                self.tasks.push(Task::Pair(lhs, rhs));
                self.push(a, b, Step::Cond, place);
                self.push(c, d, Step::Then, place);
                self.push(e, f, Step::Else, place);
            }
            (Expr::Function(a), Expr::Function(b)) => {
                self.tasks.push(Task::Pair(lhs, rhs));
                self.functions(*store.function(a), *store.function(b), place)?;
            }
            (Expr::Match { data: a, clauses: c, complete: p }, Expr::Match { data: b, clauses: d, complete: q }) => {
                expect(p == q, "one match is complete, the other is not")?;
                expect(c.len() == d.len(), "the matches have another number of arms")?;
                self.tasks.push(Task::Pair(lhs, rhs));
                self.push(a, b, Step::Data, place);
                for (i, (x, y)) in store.items(c).zip(store.items(d)).enumerate() {
                    let (x, y) = (*store.clause(x), *store.clause(y));
                    self.patterns(x.pattern, y.pattern)?;
                    self.push(x.body, y.body, Step::Arm(i as u32), place);
                }
            }
            (Expr::RefCreate(a), Expr::RefCreate(b)) => {
                self.tasks.push(Task::Pair(lhs, rhs));
                self.push(a, b, Step::Value, place);
            }
            (Expr::RefRead(a), Expr::RefRead(b)) => {
                self.tasks.push(Task::Pair(lhs, rhs));
                self.push(a, b, Step::Ref, place);
            }
            (Expr::RefWrite { reference: a, value: c }, Expr::RefWrite { reference: b, value: d }) => {
                self.tasks.push(Task::Pair(lhs, rhs));
                self.push(a, b, Step::Ref, place);
                self.push(c, d, Step::Value, place);
            }
            (Expr::Seq { blocks: a, body: c }, Expr::Seq { blocks: b, body: d }) => {
                self.mark(lhs, rhs);
                self.blocks(a, b, place)?;
                self.push(c, d, Step::Body, place);
            }
            (Expr::Shape(a), Expr::Shape(b)) => {
                let (a, b) = (store.dims_of_id(a), store.dims_of_id(b));
                expect(a.len() == b.len(), "the shapes have another number of extents")?;
                return a.iter().zip(b).try_for_each(|(&x, &y)| self.dims(x, y, self.options.map_free_vars));
            }
            (Expr::Prim(a), Expr::Prim(b)) => {
                let (a, b) = (store.dim_of_prim(a), store.dim_of_prim(b));
                return self.dims(a, b, self.options.map_free_vars);
            }
            (Expr::Str(a), Expr::Str(b)) => return expect(a == b, "different strings"),
            (Expr::DataType(a), Expr::DataType(b)) => return expect(a == b, "different element types"),
            (Expr::Extern(a), Expr::Extern(b)) => return expect(a == b, "different external functions"),
            (Expr::PrimFunc(a), Expr::PrimFunc(b)) => return self.prim_funcs(a, b, place),
            (a, b) => match (self.scalar_variable(a), self.scalar_variable(b)) {
                (Some(a), Some(b)) => return self.symbol(a, b, self.options.map_free_vars),
                _ => return mismatch(format!("{:?} against {:?}", a.kind(), b.kind())),
            },
        }
        // The mark that the two are equal stays below, the children come off in order.
        let keep = usize::from(!matches!(self.tasks.get(first), Some(Task::Compare { .. })));
        self.tasks[first + keep..].reverse();
        Ok(())
    }

    /// Compares blocks: pairs variables in the order of their bindings, then compares the values.
    fn blocks(&mut self, lhs: List<BindingBlock>, rhs: List<BindingBlock>, place: u32) -> Outcome {
        let store = self.store;
        expect(lhs.len() == rhs.len(), "another number of blocks")?;
        let mut number = 0;
        for (a, b) in store.items(lhs).zip(store.items(rhs)) {
            expect(store.block(a).dataflow == store.block(b).dataflow, "only one of the blocks is a dataflow block")?;
            let (a, b) = (store.block_bindings(a), store.block_bindings(b));
            expect(a.len() == b.len(), "the blocks have another number of bindings")?;
            for (a, b) in a.zip(b) {
                self.optional_types(a.cast, b.cast, true, "type of the match_cast")?;
                self.var(a.var, b.var, true)?;
                self.push(a.value, b.value, Step::Binding(number), place);
                number += 1;
            }
        }
        Ok(())
    }

    fn calls(&mut self, lhs: ExprId, rhs: ExprId, place: u32) -> Outcome {
        let store = self.store;
        let (Some(a), Some(b)) = (store.call(lhs), store.call(rhs)) else { return Ok(()) };
        let args_differ = a.args.len() != b.args.len();
        match (store.expr(a.callee), store.expr(b.callee)) {
            (Expr::Op(f), Expr::Op(g)) => {
                expect(f == g, "calls of different operators")?;
                expect(!args_differ, "another number of arguments")?;
                if self.dialect == Dialect::Relax {
                    self.type_args(a.info, b.info)?;
                }
            }
            _ => {
                expect(!args_differ, "another number of arguments")?;
                self.type_args(a.info, b.info)?;
            }
        }
        self.mark(lhs, rhs);
        self.push(a.callee, b.callee, Step::Callee, place);
        for (i, (x, y)) in store.items(a.args).zip(store.items(b.args)).enumerate() {
            self.push(x, y, Step::Arg(i as u32), place);
        }
        match (a.attrs, b.attrs) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) => self.attrs(a, b, place),
            _ => mismatch("one call has attributes, the other has none"),
        }
    }

    fn only_results(&self) -> bool {
        self.options.results && self.dialect == Dialect::Relay
    }

    fn type_args(&mut self, lhs: Option<Id<CallInfo>>, rhs: Option<Id<CallInfo>>) -> Outcome {
        let store = self.store;
        let [x, y] = [lhs, rhs].map(|info| info.map_or(&[][..], |info| &store.call_info(info).type_args));
        expect(x.len() == y.len(), "another number of type arguments")?;
        x.iter().zip(y).try_for_each(|(&t, &u)| self.types(t, u, self.options.map_free_vars))
    }

    fn functions(&mut self, a: Function, b: Function, place: u32) -> Outcome {
        let store = self.store;
        expect(a.params.len() == b.params.len(), "another number of parameters")?;
        expect(a.pure == b.pure, "only one of the functions is pure")?;
        for (v, w) in store.items(a.params).zip(store.items(b.params)) {
            self.var(v, w, true)?;
        }
        expect(a.type_params.len() == b.type_params.len(), "another number of type parameters")?;
        for (p, q) in store.items(a.type_params).zip(store.items(b.type_params)) {
            self.type_var(p, q, true)?;
        }
        self.optional_types(a.ret, b.ret, self.options.map_free_vars, "result type")?;
        if !self.only_results() {
            self.dict_attrs(a.attrs, b.attrs, place)?;
        }
        self.push(a.body, b.body, Step::Body, place);
        Ok(())
    }

    /// Compares two variables. `define`: they are bound here, so any two may correspond.
    fn var(&mut self, lhs: VarId, rhs: VarId, define: bool) -> Outcome {
        let store = self.store;
        let describe = || format!("%{} against %{}", store.var_name(lhs), store.var_name(rhs));
        match self.vars.check(lhs, rhs) {
            Some(true) => return Ok(()),
            Some(false) => return mismatch(format!("another variable: {}", describe())),
            None => {}
        }
        let (a, b) = (store.var_data(lhs), store.var_data(rhs));
        self.optional_types(a.annotation, b.annotation, define, "type of the variable")
            .map_err(|m| Mismatch { message: format!("{}: {}", describe(), m.message), ..m })?;
        match self.vids.check(a.vid, b.vid) {
            Some(true) => {}
            Some(false) => return mismatch(format!("another variable: {}", describe())),
            None if define || a.vid == b.vid => self.vids.insert(a.vid, b.vid),
            None => return mismatch(format!("different free variables: {}", describe())),
        }
        expect(a.dataflow == b.dataflow, "only one of the variables is a dataflow variable")?;
        match (a.symbol, b.symbol) {
            (Some(a), Some(b)) => self.symbol(a, b, define || self.options.map_free_vars)?,
            (None, None) => {}
            _ => return mismatch(format!("only one holds a scalar: {}", describe())),
        }
        match (a.device, b.device) {
            (None, None) => {}
            _ if self.only_results() => {}
            (Some(a), Some(b)) => self.objects(a, b)?,
            _ => return mismatch(format!("only one is bound to a device: {}", describe())),
        }
        self.vars.insert(lhs, rhs);
        Ok(())
    }

    /// Patterns nest only as deep as the parser's limit on brackets.
    fn patterns(&mut self, lhs: PatternId, rhs: PatternId) -> Outcome {
        let store = self.store;
        let (p, q) = match (*store.pattern(lhs), *store.pattern(rhs)) {
            (Pattern::Wildcard, Pattern::Wildcard) => return Ok(()),
            (Pattern::Var(v), Pattern::Var(w)) => return self.var(v, w, true),
            (Pattern::Ctor { ctor: c, fields: p }, Pattern::Ctor { ctor: d, fields: q }) => {
                self.ctors(c, d)?;
                (p, q)
            }
            (Pattern::Tuple(p), Pattern::Tuple(q)) => (p, q),
            _ => return mismatch("different patterns"),
        };
        expect(p.len() == q.len(), "the patterns have another number of fields")?;
        for (p, q) in store.items(p).zip(store.items(q)) {
            self.patterns(p, q)?;
        }
        Ok(())
    }
}

fn by_name<T: Copy>(store: &Store, items: &[(Id<super::Name>, T)]) -> Vec<(Id<super::Name>, T)> {
    let mut items = items.to_vec();
    sort_by(&mut items, |a, b| store.str(a.0).cmp(store.str(b.0)));
    items
}

fn same_names<T>(store: &Store, lhs: &[(Id<super::Name>, T)], rhs: &[(Id<super::Name>, T)], what: &str) -> Outcome {
    let missing = |from: &[(Id<super::Name>, T)], of: &[(Id<super::Name>, T)]| {
        from.iter().map(|(n, _)| *n).find(|n| !of.iter().any(|(m, _)| m == n))
    };
    if let Some(name) = missing(lhs, rhs) {
        return mismatch(format!("only the first has {what}{}", store.str(name)));
    }
    if let Some(name) = missing(rhs, lhs) {
        return mismatch(format!("only the second has {what}{}", store.str(name)));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
