//! Compiles statements to steps.
//!
//! A loop or branch is a scope. Steps are put into the outermost scope in which all their operands are known, so
//! loop-invariant expressions are computed before the loop. When a scope is closed, its steps are appended to those of
//! its parent. Equal steps of a scope are merged. Vectors are computed lane by lane, each lane in a register.

mod buffer;
mod call;
mod expr;
mod packed;
mod stmt;
mod thread;

use super::machine::int;
use super::memory::Kind;
use super::step::{Code, Label, Math, Reg, Region, Step};
use super::{CacheShape, Given};
use crate::eval::EvalFailure;
use crate::ir::{Buffer, DType, Id, Module, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Reducer, StmtId, Store, Symbol};
use crate::ops::kernel::read_scalar;
use buffer::Place;
use rustc_hash::FxHashMap;
use stmt::Task;

/// The limit of steps: a program may get long by its vectors or the functions that it calls.
const MAX_STEPS: usize = 1 << 20;

pub(super) type Done<T> = Result<T, EvalFailure>;

/// The source of a program.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) store: &'s Store,
    /// The module with the functions that it calls.
    pub(super) module: Option<&'s Module>,
    /// The cache to count with, if executions of each part are counted.
    pub(super) count: Option<CacheShape>,
}

/// Compiles a program with the arguments for its parameters, one for each. Also returns the registers that are to point
/// to the memory of parameters.
pub(super) fn compile(source: Source, function: &PrimFunc, given: &[Given]) -> Done<(Code, Vec<Option<Reg>>)> {
    let mut compiler = Compiler::new(source);
    let params: Vec<Option<Reg>> =
        function.params.iter().zip(given).map(|(param, given)| compiler.param(*param, given)).collect::<Done<_>>()?;
    for param in &*function.params {
        if let PrimParam::Buffer(id) = param {
            compiler.lay_out(*id)?;
        }
    }
    compiler.body(function.body)?;
    Ok((compiler.finish()?, params))
}

/// Compiles a scalar expression to steps that leave its value in [`Code::result`].
pub(super) fn compile_expr(store: &Store, root: PrimId, symbols: &[(Id<Symbol>, i64)]) -> Done<Code> {
    let mut compiler = Compiler::new(Source { store, module: None, count: None });
    for (symbol, value) in symbols {
        let reg = compiler.constant(*value as u64);
        compiler.bind(*symbol, vec![reg]);
    }
    let result = compiler.scalar(root)?;
    compiler.code.result = Some(result);
    compiler.finish()
}

pub(super) fn unsupported<T>(what: &str) -> Done<T> {
    Err(EvalFailure { code: "eval-no-kernel", ..EvalFailure::new(format!("{what} cannot be run here")) })
}

/// A loop or branch that is being compiled.
#[derive(Default)]
struct Scope {
    steps: Vec<Step>,
    origins: Vec<Option<StmtId>>,
    /// The results of steps without effects.
    known: FxHashMap<Key, Reg>,
    /// Values of the expressions of the current statement.
    values: FxHashMap<(PrimId, u16), Reg>,
    /// The values of symbols before this scope.
    shadowed: Vec<(Id<Symbol>, Option<Vec<Reg>>)>,
    /// The part of the program to count in.
    region: usize,
}

/// A step without effects: its operation and the registers that it reads.
type Key = (u8, u8, Kind, Kind, [Reg; 3]);

pub(super) struct Compiler<'s> {
    source: Source<'s>,
    store: &'s Store,
    code: Code,
    scopes: Vec<Scope>,
    /// The depth of the scope in which each register gets its value.
    levels: Vec<u32>,
    constants: FxHashMap<u64, Reg>,
    known: FxHashMap<Reg, u64>,
    symbols: FxHashMap<Id<Symbol>, Vec<Reg>>,
    buffers: FxHashMap<Id<Buffer>, Place>,
    labels: Label,
    tasks: Vec<Task>,
    /// Labels of the loops around: the targets of `break` and `continue`.
    loops: Vec<(Label, Label)>,
    /// Loops around inside of a block of threads: label of the head, register of the round.
    rounds: Vec<(Label, Reg)>,
    /// The target of `return` and the register for its value; empty in the function itself.
    returns: Vec<(Label, Reg)>,
    /// The functions that are being compiled.
    callers: Vec<StmtId>,
    /// The statement that is being compiled, and the depth of scopes when it began.
    stmt: Option<StmtId>,
    stmt_depth: usize,
    /// The number of statements compiled so far.
    statements: usize,
    threads: thread::Threads,
    reducer: Option<Reducer>,
    safe: FxHashMap<PrimId, bool>,
    /// More than 0 within indices.
    in_index: u32,
    /// True if a loop or function has been left early.
    jumped: bool,
}

impl<'s> Compiler<'s> {
    fn new(source: Source<'s>) -> Compiler<'s> {
        let mut compiler = Compiler {
            source,
            store: source.store,
            code: Code::default(),
            scopes: Vec::new(),
            levels: Vec::new(),
            constants: FxHashMap::default(),
            known: FxHashMap::default(),
            symbols: FxHashMap::default(),
            buffers: FxHashMap::default(),
            labels: 0,
            tasks: Vec::new(),
            loops: Vec::new(),
            rounds: Vec::new(),
            returns: Vec::new(),
            callers: Vec::new(),
            stmt: None,
            stmt_depth: 0,
            statements: 0,
            threads: thread::Threads::default(),
            reducer: None,
            safe: FxHashMap::default(),
            in_index: 0,
            jumped: false,
        };
        compiler.open();
        compiler
    }

    fn fail<T>(&self, message: impl Into<String>) -> Done<T> {
        Err(EvalFailure::new(message))
    }

    /// Binds a parameter to its argument; returns the register of its pointer if the argument is memory.
    fn param(&mut self, param: PrimParam, given: &Given) -> Done<Option<Reg>> {
        match (param, given) {
            (PrimParam::Buffer(id), Given::Tensor(tensor)) => {
                self.fit(id, tensor.dtype, &tensor.shape)?;
                self.pointer_of_param(Some(id)).map(Some)
            }
            (PrimParam::Buffer(id), Given::Output(dtype, shape)) => {
                self.fit(id, *dtype, shape)?;
                self.pointer_of_param(Some(id)).map(Some)
            }
            (PrimParam::Var(symbol), Given::Scalar(value)) => {
                let kind = Kind::of(self.store.symbol(symbol).dtype);
                let number = match value.dtype.is_float() {
                    true => read_scalar::<f64>(value).map(f64::to_bits),
                    false => read_scalar::<i64>(value).map(|value| value as u64),
                };
                let number = number.map_err(|error| EvalFailure::new(error.0))?;
                let reg = self.constant(Kind::of(value.dtype).convert(kind, number));
                // The symbol may have a value already, as an extent of a buffer.
                if let Some([old]) = self.symbols.get(&symbol).map(|regs| &regs[..])
                    && *old != reg
                {
                    let name = self.store.str(self.store.symbol(symbol).name);
                    return self.fail(format!("`{name}` is given another number than the extents of buffers say"));
                }
                self.bind(symbol, vec![reg]);
                Ok(None)
            }
            (PrimParam::Var(symbol), Given::Tensor(_) | Given::Output(..)) => {
                let dtype = self.store.symbol(symbol).dtype;
                if Kind::of(dtype) != Kind::of(DType::HANDLE) {
                    let name = self.store.str(self.store.symbol(symbol).name);
                    return self.fail(format!("`{name}` is a number and is given a tensor"));
                }
                let reg = self.pointer_of_param(None)?;
                self.bind(symbol, vec![reg]);
                Ok(Some(reg))
            }
            (PrimParam::Buffer(id), Given::Scalar(_)) => {
                let name = self.store.str(self.store.buffer(id).name);
                self.fail(format!("buffer `{name}` is given a number"))
            }
        }
    }

    fn pointer_of_param(&mut self, id: Option<Id<Buffer>>) -> Done<Reg> {
        let reg = self.register(0);
        if let Some(id) = id {
            self.place_at(id, reg);
        }
        Ok(reg)
    }

    /// Returns the depth of the innermost scope.
    fn depth(&self) -> u32 {
        self.scopes.len() as u32 - 1
    }

    /// Returns a new register that gets its value in the scope of that depth.
    fn register(&mut self, level: u32) -> Reg {
        self.code.registers.push(0);
        self.levels.push(level);
        self.code.registers.len() as Reg - 1
    }

    fn level(&self, regs: &[Reg]) -> u32 {
        regs.iter().map(|reg| self.levels[*reg as usize]).max().unwrap_or(0)
    }

    fn constant(&mut self, value: u64) -> Reg {
        if let Some(known) = self.constants.get(&value) {
            return *known;
        }
        let reg = self.register(0);
        self.code.registers[reg as usize] = value;
        self.constants.insert(value, reg);
        self.known.insert(reg, value);
        reg
    }

    fn int(&mut self, value: i64) -> Reg {
        self.constant(value as u64)
    }

    fn known(&self, reg: Reg) -> Option<i64> {
        self.known.get(&reg).map(|value| *value as i64)
    }

    fn label(&mut self) -> Label {
        self.labels += 1;
        self.labels - 1
    }

    /// Adds a step to the innermost scope.
    fn emit(&mut self, step: Step) {
        let depth = self.depth();
        self.emit_at(depth, step);
    }

    fn emit_at(&mut self, level: u32, step: Step) {
        let scope = &mut self.scopes[level as usize];
        scope.steps.push(step);
        scope.origins.push(self.stmt);
    }

    /// Returns the result of a step without effects that reads these registers, in the outermost scope where they are known.
    fn pure(&mut self, tag: u8, op: u8, kinds: (Kind, Kind), regs: [Reg; 3], step: impl FnOnce(Reg) -> Step) -> Reg {
        let level = self.level(&regs);
        let key = (tag, op, kinds.0, kinds.1, regs);
        if let Some(known) = self.scopes[level as usize].known.get(&key) {
            return *known;
        }
        let to = self.register(level);
        self.emit_at(level, step(to));
        self.scopes[level as usize].known.insert(key, to);
        to
    }

    fn int_op(&mut self, op: PrimOp, kind: Kind, a: Reg, b: Reg) -> Reg {
        if let (Some(x), Some(y)) = (self.known(a), self.known(b))
            && let Some(value) = int(op, kind, x, y)
        {
            return self.int(value);
        }
        match (op, self.known(a), self.known(b)) {
            (PrimOp::Add, Some(0), _) | (PrimOp::Mul, Some(1), _) => return b,
            (PrimOp::Add | PrimOp::Sub, _, Some(0)) | (PrimOp::Mul, _, Some(1)) => return a,
            _ => {}
        }
        let divides = matches!(op, PrimOp::Div | PrimOp::Mod | PrimOp::FloorDiv | PrimOp::FloorMod);
        let step = |to| Step::Int { op, kind, to, a, b };
        if divides && self.known(b).is_none_or(|value| value == 0) {
            // It may fail, so it stays where it is.
            let to = self.register(self.depth());
            self.emit(step(to));
            return to;
        }
        self.pure(0, op as u8, (kind, kind), [a, b, 0], step)
    }

    /// Computes `a + b * c` as integers of 64 bits.
    fn multiply_add(&mut self, a: Reg, b: Reg, c: Reg) -> Reg {
        match (self.known(a), self.known(b), self.known(c)) {
            (_, Some(_), Some(_)) | (_, _, Some(1)) | (_, Some(1), _) => {
                let product = self.int_op(PrimOp::Mul, Kind::Int(64), b, c);
                self.int_op(PrimOp::Add, Kind::Int(64), a, product)
            }
            (Some(0), ..) => self.int_op(PrimOp::Mul, Kind::Int(64), b, c),
            _ => {
                // The part that changes less often is computed in its own scope.
                if self.level(&[b, c]) < self.level(&[a]) {
                    let product = self.int_op(PrimOp::Mul, Kind::Int(64), b, c);
                    return self.int_op(PrimOp::Add, Kind::Int(64), a, product);
                }
                self.pure(1, 0, (Kind::F64, Kind::F64), [a, b, c], |to| Step::Place { to, a, b, c })
            }
        }
    }

    fn open(&mut self) {
        let mut scope = Scope::default();
        if self.source.count.is_some() {
            self.code.regions.push(Region::default());
            scope.region = self.code.regions.len() - 1;
            scope.steps.push(Step::Count(scope.region as u32));
            scope.origins.push(self.stmt);
        }
        self.scopes.push(scope);
    }

    /// Ends a scope and returns its steps.
    fn close(&mut self) -> (Vec<Step>, Vec<Option<StmtId>>) {
        let Some(scope) = self.scopes.pop() else { return Default::default() };
        for (symbol, old) in scope.shadowed.into_iter().rev() {
            match old {
                Some(regs) => self.symbols.insert(symbol, regs),
                None => self.symbols.remove(&symbol),
            };
        }
        (scope.steps, scope.origins)
    }

    /// Appends the steps of a closed scope to the current one.
    fn append(&mut self, (steps, origins): (Vec<Step>, Vec<Option<StmtId>>)) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.steps.extend(steps);
            scope.origins.extend(origins);
        }
    }

    /// Binds a symbol to these lanes until the end of the scope.
    fn bind(&mut self, symbol: Id<Symbol>, regs: Vec<Reg>) {
        if self.symbols.get(&symbol) == Some(&regs) {
            return;
        }
        let old = self.symbols.insert(symbol, regs);
        if old.is_some() {
            for scope in &mut self.scopes {
                scope.values.clear();
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.shadowed.push((symbol, old));
        }
    }

    /// Returns the region that counts at this point, if counting is requested.
    fn region(&mut self) -> Option<&mut Region> {
        let index = self.scopes.last()?.region;
        self.code.regions.get_mut(index)
    }

    /// Begins a new region, since the code before may have left the current one.
    fn new_region(&mut self) {
        if self.source.count.is_some() {
            self.code.regions.push(Region::default());
            let region = self.code.regions.len() - 1;
            if let Some(scope) = self.scopes.last_mut() {
                scope.region = region;
            }
            self.emit(Step::Count(region as u32));
        }
    }

    /// Replaces labels of jumps by steps.
    fn finish(mut self) -> Done<Code> {
        let (steps, origins) = self.close();
        if steps.len() > MAX_STEPS {
            return unsupported("a program that is as long as this");
        }
        let mut places = vec![0 as Label; self.labels as usize];
        let mut next = 0;
        for step in &steps {
            match step {
                Step::Mark(label) => places[*label as usize] = next,
                _ => next += 1,
            }
        }
        let place = |label: Label| places[label as usize];
        let mut code = self.code;
        for (step, origin) in steps.into_iter().zip(origins) {
            let step = match step {
                Step::Mark(_) => continue,
                Step::Jump(to) => Step::Jump(place(to)),
                Step::Unless(cond, to) => Step::Unless(cond, place(to)),
                Step::UnlessEqual(a, b, to) => Step::UnlessEqual(a, b, place(to)),
                Step::Next { var, step, end, head } => Step::Next { var, step, end, head: place(head) },
                step => step,
            };
            code.steps.push(step);
            code.origins.push(origin);
        }
        for fork in &mut code.forks {
            fork.join = place(fork.join);
        }
        for wait in &mut code.yields {
            wait.at = place(wait.at);
            wait.loops.iter_mut().for_each(|(head, _)| *head = place(*head));
        }
        Ok(code)
    }

    /// Adds a numeric function to the table.
    fn math(&mut self, f: Math) -> u16 {
        self.code.math.push(f);
        (self.code.math.len() - 1) as u16
    }

    /// Returns the lanes of a type; scalable vectors have the least number, one times the factor.
    fn lanes(dtype: DType) -> u16 {
        match dtype.code {
            crate::ir::DTypeCode::Handle => 1,
            _ => (dtype.lanes & !DType::SCALABLE).max(1),
        }
    }

    /// True if an expression can be computed even if its value is not used: it reads no memory and divides by no variable.
    fn is_safe(&mut self, root: PrimId) -> bool {
        if let Some(known) = self.safe.get(&root) {
            return *known;
        }
        let (store, mut safe) = (self.store, true);
        store.for_each_prim(root, &mut |_, expr| match expr {
            PrimExpr::Load { .. } => safe = false,
            PrimExpr::Binary { op: PrimOp::Div | PrimOp::Mod | PrimOp::FloorDiv | PrimOp::FloorMod, b, .. } => {
                let known = store.as_prim_int(*b).is_some_and(|value| value != 0);
                safe &= known || store.prim_dtype(*b).is_float();
            }
            PrimExpr::Call { op, args, .. } => {
                let name = store.str(*op);
                let pure = matches!(name, "if_then_else" | "likely") || super::math::function(name, args.len(), true).is_some();
                safe &= pure;
            }
            _ => {}
        });
        self.safe.insert(root, safe);
        safe
    }

    fn body(&mut self, body: StmtId) -> Done<()> {
        self.callers.push(body);
        self.tasks.push(Task::Stmt(body));
        self.work(0)
    }
}
