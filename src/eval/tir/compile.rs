//! From statements to steps.

use super::{Given, Math, Num, Reg, Step};
use crate::eval::EvalFailure;
use crate::ir::{
    AttrNode, Block, Buffer, DType, For, ForKind, Id, IterKind, IterVar, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Stmt,
    StmtId, Store, Symbol,
};
use crate::ops::kernel::read_scalar;
use crate::ops::tensor::unary::erf;
use rustc_hash::FxHashMap;

/// A program as steps.
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    /// How many registers it uses.
    pub(super) registers: Reg,
    /// Element types of its buffers: those that are given, then those that it allocates.
    pub(super) memories: Vec<DType>,
}

/// Makes a program into steps, knowing what its parameters are given, one for each.
pub(super) fn compile(store: &Store, function: &PrimFunc, given: &[Given]) -> Result<Code, EvalFailure> {
    let mut compiler = Compiler::new(store);
    for (param, given) in function.params.iter().zip(given) {
        match (param, given) {
            (PrimParam::Buffer(id), Given::Tensor(tensor)) => compiler.fit(*id, tensor.dtype, &tensor.shape)?,
            (PrimParam::Buffer(id), Given::Output(dtype, shape)) => compiler.fit(*id, *dtype, shape)?,
            (PrimParam::Var(symbol), Given::Scalar(value)) => {
                let value = match value.dtype.is_float() {
                    true => read_scalar(value).map(Num::Float),
                    false => read_scalar(value).map(Num::Int),
                };
                let reg = compiler.symbol(*symbol);
                compiler.steps.push(Step::Set(reg, value.map_err(|error| EvalFailure::new(error.0))?));
            }
            _ => return unsupported("a program that is given a number for a buffer, or the other way round,"),
        }
    }
    for param in &function.params {
        if let PrimParam::Buffer(id) = param {
            compiler.declare(*id)?;
        }
    }
    compiler.all(function.body)?;
    Ok(compiler.finish())
}

/// Makes a scalar expression into steps; beside them the register that holds its value.
pub(super) fn compile_expr(store: &Store, root: PrimId, symbols: &[(Id<Symbol>, i64)]) -> Result<(Code, Reg), EvalFailure> {
    let mut compiler = Compiler::new(store);
    for (symbol, value) in symbols {
        let reg = compiler.symbol(*symbol);
        compiler.steps.push(Step::Set(reg, Num::Int(*value)));
    }
    let result = compiler.expr(root)?;
    Ok((compiler.finish(), result))
}

/// What is left to be made into steps.
enum Task {
    Stmt(StmtId),
    /// The end of a loop: its variable goes on, and all begins again. The jump at `exit` leads behind it.
    Again {
        head: usize,
        exit: usize,
        count: Option<(Reg, Reg)>,
    },
    /// A jump leads to where the steps have come by then.
    Land(usize),
    /// The end of a branch, if another follows.
    Else {
        from: usize,
        other: StmtId,
    },
}

struct Compiler<'s> {
    store: &'s Store,
    steps: Vec<Step>,
    registers: Reg,
    symbols: FxHashMap<Id<Symbol>, Reg>,
    buffers: FxHashMap<Id<Buffer>, (usize, Box<[Reg]>)>,
    memories: Vec<DType>,
    tasks: Vec<Task>,
}

type Done<T> = Result<T, EvalFailure>;

fn unsupported<T>(what: &str) -> Done<T> {
    Err(EvalFailure { code: "eval-no-kernel", ..EvalFailure::new(format!("{what} cannot be run here")) })
}

impl<'s> Compiler<'s> {
    fn new(store: &'s Store) -> Compiler<'s> {
        Compiler {
            store,
            steps: Vec::new(),
            registers: 0,
            symbols: FxHashMap::default(),
            buffers: FxHashMap::default(),
            memories: Vec::new(),
            tasks: Vec::new(),
        }
    }

    fn finish(self) -> Code {
        Code { steps: self.steps, registers: self.registers, memories: self.memories }
    }

    /// Checks a parameter against what it is given. Symbolic extents are those of the tensor.
    fn fit(&mut self, id: Id<Buffer>, dtype: DType, shape: &[i64]) -> Done<()> {
        let store = self.store;
        let buffer = store.buffer(id);
        let wrong = |what: &str| {
            let name = store.str(buffer.name);
            Err(EvalFailure::new(format!("buffer `{name}` is given a tensor of another {what}")))
        };
        if buffer.dtype != dtype || buffer.shape.len() != shape.len() {
            return wrong("type or rank");
        }
        for (wanted, extent) in buffer.shape.iter().zip(shape) {
            match store.prim_of_id(*wanted) {
                PrimExpr::Var(symbol) if !self.symbols.contains_key(symbol) => {
                    let reg = self.symbol(*symbol);
                    self.steps.push(Step::Set(reg, Num::Int(*extent)));
                }
                PrimExpr::Int { value, .. } if value != extent => return wrong("shape"),
                _ => {}
            }
        }
        Ok(())
    }

    fn register(&mut self) -> Reg {
        self.registers += 1;
        self.registers - 1
    }

    fn set(&mut self, value: Num) -> Reg {
        let to = self.register();
        self.steps.push(Step::Set(to, value));
        to
    }

    fn symbol(&mut self, symbol: Id<Symbol>) -> Reg {
        if let Some(known) = self.symbols.get(&symbol) {
            return *known;
        }
        let new = self.register();
        self.symbols.insert(symbol, new);
        new
    }

    /// A buffer of which nothing but the shape is known yet.
    fn declare(&mut self, id: Id<Buffer>) -> Done<usize> {
        let buffer = self.store.buffer(id).clone();
        // A variable offset is for the caller to choose; tensors here begin where their memory does.
        let moved = buffer.elem_offset.is_some_and(|offset| {
            self.store.as_prim_int(offset) != Some(0) && !matches!(self.store.prim_of_id(offset), PrimExpr::Var(_))
        });
        if !buffer.strides.is_empty() || moved {
            return unsupported("a buffer with strides or an offset");
        }
        if buffer.dtype.lanes != 1 {
            return unsupported("a buffer of vectors");
        }
        let mut extents = Vec::with_capacity(buffer.shape.len());
        for extent in &buffer.shape {
            extents.push(self.expr(*extent)?);
        }
        self.memories.push(buffer.dtype);
        self.buffers.insert(id, (self.memories.len() - 1, extents.into()));
        Ok(self.memories.len() - 1)
    }

    fn alloc(&mut self, id: Id<Buffer>) -> Done<()> {
        let memory = self.declare(id)?;
        let extents = self.buffers[&id].1.clone();
        self.steps.push(Step::Alloc { memory, extents });
        Ok(())
    }

    /// The place of an element, counted from the first.
    fn place(&mut self, buffer: Id<Buffer>, indices: &[Reg]) -> Done<(usize, Reg)> {
        let Some((memory, extents)) = self.buffers.get(&buffer).cloned() else { return unsupported("a buffer from elsewhere") };
        if extents.len() != indices.len() {
            return unsupported("an access that counts other axes than the buffer has");
        }
        let mut place = self.set(Num::Int(0));
        for (extent, index) in extents.iter().zip(indices) {
            let to = self.register();
            self.steps.push(Step::Index { to, before: place, extent: *extent, index: *index });
            place = to;
        }
        Ok((memory, place))
    }

    /// Steps that compute an expression: operands first, what occurs twice once.
    fn expr(&mut self, root: PrimId) -> Done<Reg> {
        let mut order = Vec::new();
        let store = self.store;
        store.for_each_prim(root, &mut |id, _| order.push(id));
        let mut done: FxHashMap<PrimId, Reg> = FxHashMap::default();
        for id in order {
            let reg = self.node(id, &done)?;
            done.insert(id, reg);
        }
        Ok(done[&root])
    }

    fn node(&mut self, id: PrimId, done: &FxHashMap<PrimId, Reg>) -> Done<Reg> {
        let store = self.store;
        let dtype = store.prim_dtype(id);
        if dtype.lanes != 1 {
            return unsupported("an expression of vectors");
        }
        let step = match store.prim_of_id(id) {
            PrimExpr::Int { value, .. } => return Ok(self.set(Num::Int(*value))),
            PrimExpr::Float { value, .. } => return Ok(self.set(Num::Float(value.0).fit(dtype))),
            PrimExpr::Var(symbol) => return Ok(self.symbol(*symbol)),
            PrimExpr::Binary { op, a, b } => {
                // Logic is computed in the type of its operands, and its result is true or false.
                let dtype = if op.is_logic() { DType::BOOL } else { dtype };
                Step::Binary { op: *op, to: self.register(), a: done[a], b: done[b], dtype }
            }
            PrimExpr::Not(value) => Step::Not { to: self.register(), from: done[value] },
            PrimExpr::Cast { value, .. } => Step::Cast { to: self.register(), from: done[value], dtype },
            PrimExpr::Select { cond, then, other } => {
                Step::Select { to: self.register(), cond: done[cond], then: done[then], other: done[other] }
            }
            PrimExpr::Load { buffer, indices } => {
                let indices: Vec<Reg> = indices.iter().map(|index| done[index]).collect();
                let (memory, place) = self.place(*buffer, &indices)?;
                Step::Load { to: self.register(), memory, place }
            }
            PrimExpr::Call { op, args, .. } => {
                let args: Vec<Reg> = args.iter().map(|arg| done[arg]).collect();
                self.call(store.str(*op), &args, dtype)?
            }
            _ => return unsupported("an expression about memory, text or bound variables"),
        };
        let to = self.registers - 1;
        self.steps.push(step);
        Ok(to)
    }

    fn call(&mut self, name: &str, args: &[Reg], dtype: DType) -> Done<Step> {
        let to = self.register();
        Ok(match (name, args) {
            ("if_then_else", &[cond, then, other]) => Step::Select { to, cond, then, other },
            ("likely", &[from]) => Step::Copy { to, from },
            (_, &[a]) | (_, &[a, _]) => {
                let b = args.get(1).copied().unwrap_or(a);
                match math(name, args.len()) {
                    Some(f) => Step::Math { f, to, a, b, dtype },
                    None => return unsupported(&format!("`T.{name}`")),
                }
            }
            _ => return unsupported(&format!("`T.{name}`")),
        })
    }

    /// A jump whose target is set later.
    fn unless(&mut self, cond: Reg) -> usize {
        self.steps.push(Step::Unless(cond, 0));
        self.steps.len() - 1
    }

    fn land(&mut self, from: usize) {
        let here = self.steps.len();
        match &mut self.steps[from] {
            Step::Jump(to) | Step::Unless(_, to) => *to = here,
            _ => {}
        }
    }

    fn stmt(&mut self, id: StmtId) -> Done<()> {
        let store = self.store;
        match store.stmt(id) {
            Stmt::Seq(_) => self.tasks.extend(store.stmts_of(id).into_iter().rev().map(Task::Stmt)),
            Stmt::For(head, body) => self.for_loop(head, *body)?,
            Stmt::Block(block) => self.block(store.prim_block(*block))?,
            Stmt::Store { buffer, indices, value } => {
                let value = self.expr(*value)?;
                let mut places = Vec::with_capacity(indices.len());
                for index in indices {
                    places.push(self.expr(*index)?);
                }
                let (memory, place) = self.place(*buffer, &places)?;
                self.steps.push(Step::Store { memory, place, value });
            }
            Stmt::If { cond, then, other } => {
                let cond = self.expr(*cond)?;
                let from = self.unless(cond);
                self.tasks.push(match other {
                    Some(other) => Task::Else { from, other: *other },
                    None => Task::Land(from),
                });
                self.tasks.push(Task::Stmt(*then));
            }
            Stmt::While { cond, body } => {
                let head = self.steps.len();
                let cond = self.expr(*cond)?;
                let exit = self.unless(cond);
                self.tasks.push(Task::Again { head, exit, count: None });
                self.tasks.push(Task::Stmt(*body));
            }
            Stmt::Bind { var, value } => self.bind(*var, *value)?,
            Stmt::Attr { node: AttrNode::Thread { .. }, .. } => return unsupported("a program for threads"),
            Stmt::Attr { body, .. } => self.tasks.push(Task::Stmt(*body)),
            Stmt::Alloc(buffer, _) => self.alloc(*buffer)?,
            Stmt::Assert { cond, .. } => {
                let cond = self.expr(*cond)?;
                self.steps.push(Step::Assert(cond));
            }
            Stmt::Evaluate(value) if store.as_prim_int(*value).is_some() => {}
            Stmt::Evaluate(_) => return unsupported("a call for its effect"),
            Stmt::Return(_) | Stmt::Break | Stmt::Continue => return unsupported("leaving a loop or function early"),
            Stmt::Declare(_) => return unsupported("a buffer in the memory of another"),
        }
        Ok(())
    }

    fn bind(&mut self, var: Id<Symbol>, value: PrimId) -> Done<()> {
        let from = self.expr(value)?;
        let to = self.symbol(var);
        self.steps.push(Step::Copy { to, from });
        Ok(())
    }

    fn for_loop(&mut self, head: &For, body: StmtId) -> Done<()> {
        if matches!(head.kind, ForKind::Thread(_)) {
            return unsupported("a program for threads");
        }
        self.bind(head.var, head.min)?;
        let var = self.symbol(head.var);
        let (min, extent) = (self.expr(head.min)?, self.expr(head.extent)?);
        let step = match head.step {
            Some(step) => self.expr(step)?,
            None => self.set(Num::Int(1)),
        };
        let end = self.register();
        self.steps.push(Step::Binary { op: PrimOp::Add, to: end, a: min, b: extent, dtype: DType::I64 });
        let start = self.steps.len();
        let more = self.register();
        self.steps.push(Step::Binary { op: PrimOp::Lt, to: more, a: var, b: end, dtype: DType::BOOL });
        let exit = self.unless(more);
        self.tasks.push(Task::Again { head: start, exit, count: Some((var, step)) });
        self.tasks.push(Task::Stmt(body));
        Ok(())
    }

    fn block(&mut self, block: &Block) -> Done<()> {
        if !block.matches.is_empty() {
            return unsupported("a block that matches a part of a buffer");
        }
        for iter in &block.iters {
            let Some(value) = iter.value else { return unsupported("an axis without a value") };
            self.bind(iter.var, value)?;
        }
        if let Some(predicate) = block.predicate {
            let holds = self.expr(predicate)?;
            let from = self.unless(holds);
            self.tasks.push(Task::Land(from));
        }
        for buffer in &block.allocs {
            self.alloc(*buffer)?;
        }
        self.tasks.push(Task::Stmt(block.body));
        if let Some(init) = block.init {
            // Before the first round of the axes that are reduced.
            let mut skips = Vec::new();
            for IterVar { var, min, .. } in block.iters.iter().filter(|iter| iter.kind == IterKind::Reduce) {
                let (a, b, to) = (self.symbol(*var), self.expr(*min)?, self.register());
                self.steps.push(Step::Binary { op: PrimOp::Eq, to, a, b, dtype: DType::BOOL });
                skips.push(self.unless(to));
            }
            self.tasks.extend(skips.into_iter().map(Task::Land));
            self.tasks.push(Task::Stmt(init));
        }
        Ok(())
    }

    fn all(&mut self, body: StmtId) -> Done<()> {
        self.tasks.push(Task::Stmt(body));
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::Stmt(id) => self.stmt(id)?,
                Task::Again { head, exit, count } => {
                    if let Some((var, step)) = count {
                        self.steps.push(Step::Binary { op: PrimOp::Add, to: var, a: var, b: step, dtype: DType::I64 });
                    }
                    self.steps.push(Step::Jump(head));
                    self.land(exit);
                }
                Task::Land(from) => self.land(from),
                Task::Else { from, other } => {
                    self.steps.push(Step::Jump(0));
                    self.tasks.push(Task::Land(self.steps.len() - 1));
                    self.land(from);
                    self.tasks.push(Task::Stmt(other));
                }
            }
        }
        Ok(())
    }
}

/// The functions that expressions call, by TVM's names.
fn math(name: &str, args: usize) -> Option<Math> {
    let one: Option<fn(f64) -> f64> = match name {
        "exp" => Some(f64::exp),
        "exp2" => Some(f64::exp2),
        "exp10" => Some(|x| 10f64.powf(x)),
        "log" => Some(f64::ln),
        "log2" => Some(f64::log2),
        "log10" => Some(f64::log10),
        "log1p" => Some(f64::ln_1p),
        "sqrt" => Some(f64::sqrt),
        "rsqrt" => Some(|x| 1.0 / x.sqrt()),
        "sigmoid" => Some(|x| 1.0 / (1.0 + (-x).exp())),
        "erf" => Some(erf),
        "sin" => Some(f64::sin),
        "cos" => Some(f64::cos),
        "tan" => Some(f64::tan),
        "sinh" => Some(f64::sinh),
        "cosh" => Some(f64::cosh),
        "tanh" => Some(f64::tanh),
        "asin" => Some(f64::asin),
        "acos" => Some(f64::acos),
        "atan" => Some(f64::atan),
        "asinh" => Some(f64::asinh),
        "acosh" => Some(f64::acosh),
        "atanh" => Some(f64::atanh),
        "floor" => Some(f64::floor),
        "ceil" => Some(f64::ceil),
        "trunc" => Some(f64::trunc),
        "round" | "nearbyint" => Some(f64::round_ties_even),
        "fabs" | "abs" => Some(f64::abs),
        "isnan" => Some(|x| f64::from(x.is_nan())),
        "isinf" => Some(|x| f64::from(x.is_infinite())),
        _ => None,
    };
    let two: Option<fn(f64, f64) -> f64> = match name {
        "pow" | "power" => Some(f64::powf),
        "atan2" => Some(f64::atan2),
        "hypot" => Some(f64::hypot),
        "copysign" => Some(f64::copysign),
        "fmod" => Some(|x, y| x % y),
        _ => None,
    };
    let bits: Option<fn(i64, i64) -> i64> = match name {
        "bitwise_and" => Some(|x, y| x & y),
        "bitwise_or" => Some(|x, y| x | y),
        "bitwise_xor" => Some(|x, y| x ^ y),
        "shift_left" => Some(|x, y| x.checked_shl(y as u32).unwrap_or(0)),
        "shift_right" => Some(|x, y| x.checked_shr(y as u32).unwrap_or(0)),
        "bitwise_not" => Some(|x, _| !x),
        _ => None,
    };
    match (args, one, two, bits) {
        (1, Some(f), ..) => Some(Math::One(f)),
        (2, _, Some(f), _) => Some(Math::Two(f)),
        (_, _, _, Some(f)) if args == 2 || name == "bitwise_not" => Some(Math::Bits(f)),
        _ => None,
    }
}
