//! Plans which tensors share memory: first counts uses, then assigns memory.

use super::bound::Bounds;
use super::tokens::{Pool, Token, Tokens};
use crate::ir::{Binding, BindingBlock, DType, Expr, ExprId, Id, Module, PrimOp, Store, VarId};
use crate::passes::relax::call_tir_rewrite::calls_prim_func;
use crate::passes::relax::calls::{args, extents, op_name};
use crate::tir;
use rustc_hash::FxHashMap;

/// The memory of each tensor.
pub(super) struct Plan {
    pub(super) tokens: Vec<Token>,
    allocated: FxHashMap<ExprId, usize>,
}

impl Plan {
    /// Returns the memory of a tensor that `R.builtin.alloc_tensor` makes, if it is planned.
    pub(super) fn token_of(&self, alloc: ExprId) -> Option<usize> {
        self.allocated.get(&alloc).copied()
    }
}

/// Plans the memory of every function of a module.
pub(super) fn plan(store: &mut Store, module: &Module, bounds: &mut Bounds) -> Result<Plan, String> {
    let mut planner = Planner {
        module,
        exprs: FxHashMap::default(),
        vars: FxHashMap::default(),
        tokens: Vec::new(),
        blocks: Vec::new(),
        homes: FxHashMap::default(),
        users: FxHashMap::default(),
        pool: Pool::default(),
        allocated: FxHashMap::default(),
    };
    for &(_, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        bounds.read(store, store.function(id))?;
        planner.walk(store, bounds, store.function(id).body, Round::Count);
    }
    if planner.tokens.is_empty() {
        return Ok(Plan { tokens: Vec::new(), allocated: planner.allocated });
    }
    for &(_, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        planner.pool.clear();
        planner.walk(store, bounds, store.function(id).body, Round::Assign);
    }
    Ok(Plan { tokens: planner.tokens, allocated: planner.allocated })
}

/// An expression that uses memory: variables are distinct from their values.
#[derive(Clone, Copy)]
enum User {
    Expr(ExprId),
    Var(VarId),
}

struct Planner<'m> {
    module: &'m Module,
    exprs: FxHashMap<ExprId, Tokens>,
    vars: FxHashMap<VarId, Tokens>,
    tokens: Vec<Token>,
    /// Blocks that are open.
    blocks: Vec<Id<BindingBlock>>,
    /// The block in which each token is allocated; none for a token outside of the plan.
    homes: FxHashMap<usize, Id<BindingBlock>>,
    users: FxHashMap<usize, Vec<User>>,
    pool: Pool,
    allocated: FxHashMap<ExprId, usize>,
}

enum Task {
    Seq(ExprId),
    Begin(Id<BindingBlock>),
    Binding(Binding),
    End,
    /// Handles a binding after the sequences in its value.
    Bound(Binding),
    /// Handles the result that leaves a sequence.
    Result(ExprId),
}

/// The action on calls.
#[derive(Clone, Copy)]
enum Round {
    Count,
    Assign,
}

impl Planner<'_> {
    fn walk(&mut self, store: &mut Store, bounds: &mut Bounds, body: ExprId, round: Round) {
        let mut stack = vec![Task::Seq(body)];
        while let Some(task) = stack.pop() {
            match task {
                Task::Seq(id) => {
                    let Expr::Seq { blocks, body } = store.expr(id) else { continue };
                    stack.push(Task::Result(body));
                    for block in store.items(blocks).rev() {
                        stack.push(Task::End);
                        stack.extend(store.block_bindings(block).rev().map(Task::Binding));
                        stack.push(Task::Begin(block));
                    }
                }
                Task::Begin(block) => self.blocks.push(block),
                Task::End => {
                    self.blocks.pop();
                }
                Task::Result(body) => {
                    let tokens = self.tokens_of(store, body);
                    self.discard(&tokens);
                }
                Task::Binding(binding) => match store.expr(binding.value) {
                    Expr::If { cond, then, other } => {
                        let tokens = self.tokens_of(store, cond);
                        self.discard(&tokens);
                        stack.extend([Task::Bound(binding), Task::Seq(other), Task::Seq(then)]);
                    }
                    Expr::Function(id) => stack.extend([Task::Bound(binding), Task::Seq(store.function(id).body)]),
                    Expr::Call { .. } => {
                        match round {
                            Round::Count => self.count(store, bounds, binding.value),
                            Round::Assign => self.assign(store, bounds, binding.value),
                        }
                        stack.push(Task::Bound(binding));
                    }
                    _ => {
                        self.tokens_of(store, binding.value);
                        stack.push(Task::Bound(binding));
                    }
                },
                Task::Bound(binding) => {
                    // A cast has the memory of its operand.
                    let tokens = self.exprs.get(&binding.value).cloned().unwrap_or_default();
                    let tokens = match store.expr(binding.value) {
                        Expr::Var(_) => self.tokens_of(store, binding.value),
                        _ => tokens,
                    };
                    self.set(User::Var(binding.var), tokens);
                }
            }
        }
    }

    /// Returns the memory that an operand uses.
    fn tokens_of(&mut self, store: &Store, id: ExprId) -> Tokens {
        if self.tokens.is_empty() {
            return Tokens::None;
        }
        match store.expr(id) {
            Expr::Var(var) => self.vars.get(&var).cloned().unwrap_or_default(),
            Expr::Tuple(fields) => {
                let fields: Vec<ExprId> = store.items(fields).collect();
                let tokens = Tokens::Fields(fields.iter().map(|field| self.tokens_of(store, *field)).collect());
                self.set(User::Expr(id), tokens.clone());
                tokens
            }
            Expr::TupleGetItem { tuple, index } => {
                let tokens = match self.tokens_of(store, tuple) {
                    Tokens::Fields(fields) => fields.get(index as usize).cloned().unwrap_or_default(),
                    _ => Tokens::None,
                };
                self.set(User::Expr(id), tokens.clone());
                tokens
            }
            _ => self.exprs.get(&id).cloned().unwrap_or_default(),
        }
    }

    fn set(&mut self, user: User, tokens: Tokens) {
        if self.tokens.is_empty() {
            return;
        }
        tokens.each(&mut |token| self.users.entry(token).or_default().push(user));
        match (user, tokens) {
            // Most of a program uses no planned memory.
            (User::Expr(id), Tokens::None) => self.exprs.remove(&id),
            (User::Var(var), Tokens::None) => self.vars.remove(&var),
            (User::Expr(id), tokens) => self.exprs.insert(id, tokens),
            (User::Var(var), tokens) => self.vars.insert(var, tokens),
        };
    }

    fn discard(&mut self, tokens: &Tokens) {
        let mut found = Vec::new();
        tokens.each(&mut |token| found.push(token));
        for token in found {
            self.discard_one(token);
        }
    }

    fn discard_one(&mut self, token: usize) {
        for user in self.users.remove(&token).unwrap_or_default() {
            let tokens = match user {
                User::Expr(id) => self.exprs.get_mut(&id),
                User::Var(var) => self.vars.get_mut(&var),
            };
            if let Some(tokens) = tokens {
                *tokens = tokens.without(token);
            }
        }
        self.homes.remove(&token);
    }

    /// The first round: counts the uses of each token.
    fn count(&mut self, store: &mut Store, bounds: &mut Bounds, call: ExprId) {
        if self.tokens.is_empty() && op_name(store, call) != "builtin.alloc_tensor" {
            return;
        }
        let given = args(store, call);
        match op_name(store, call) {
            "builtin.alloc_tensor" => return self.create(store, bounds, call),
            _ if same_memory(store, call) => {
                let tokens = given.first().map(|arg| self.tokens_of(store, *arg)).unwrap_or_default();
                self.set(User::Expr(call), tokens);
                return;
            }
            _ => {}
        }
        let external = store.call(call).is_some_and(|call| matches!(store.expr(call.callee), Expr::Extern(_)));
        let counts = external || op_name(store, call) == "vm.call_tir_dyn" || calls_prim_func(store, self.module, call);
        let block = self.blocks.last().copied();
        for arg in given {
            let tokens = self.tokens_of(store, arg);
            if !counts {
                self.discard(&tokens);
                continue;
            }
            let mut foreign = Vec::new();
            tokens.each(&mut |token| {
                if self.homes.get(&token).copied() != block {
                    foreign.push(token);
                }
            });
            for token in &foreign {
                self.discard_one(*token);
            }
            tokens.each(&mut |token| {
                if !foreign.contains(&token) {
                    self.tokens[token].uses += 1;
                }
            });
        }
    }

    /// Plans memory for a tensor if possible; any other tensor stays out of the plan.
    fn create(&mut self, store: &mut Store, bounds: &mut Bounds, call: ExprId) {
        let [size, element, _, scope] = args(store, call)[..] else { return };
        let (Some(dims), Expr::DataType(dtype), Expr::Str(scope)) =
            (extents(store, size), store.expr(element), store.expr(scope))
        else {
            return;
        };
        let (Some(block), false) = (self.blocks.last(), self.exprs.contains_key(&call)) else { return };
        let mut number = dtype.bytes() as i64;
        let mut bytes = store.prim_int(1, DType::I64);
        for dim in bounds.largest(store, &dims) {
            match dim.known() {
                Some(extent) => number = number.saturating_mul(extent),
                None => {
                    let extent = store.prim_of_dim(dim);
                    bytes = tir::binary(store, PrimOp::Mul, bytes, extent);
                }
            }
        }
        let number = store.prim_int(number, DType::I64);
        let bytes = tir::binary(store, PrimOp::Mul, number, bytes);
        let scope = store.str(scope).to_owned();
        let token = self.tokens.len();
        self.tokens.push(Token { uses: 0, bytes, dtype, scope });
        self.homes.insert(token, *block);
        self.set(User::Expr(call), Tokens::One(token));
    }

    /// The second round: assigns memory to tokens.
    fn assign(&mut self, store: &mut Store, bounds: &mut Bounds, call: ExprId) {
        let given = args(store, call);
        match op_name(store, call) {
            "builtin.alloc_tensor" => {
                let Some(Tokens::One(wanted)) = self.exprs.get(&call).cloned() else { return };
                let token = self.pool.take(store, &mut bounds.analyzer, &mut self.tokens, wanted).unwrap_or(wanted);
                self.allocated.insert(call, token);
                self.exprs.insert(call, Tokens::One(token));
                return;
            }
            _ if same_memory(store, call) => {
                let tokens = given.first().map(|arg| self.tokens_of(store, *arg)).unwrap_or_default();
                self.exprs.insert(call, tokens);
                return;
            }
            _ => {}
        }
        for arg in given {
            let mut released = Vec::new();
            self.tokens_of(store, arg).each(&mut |token| {
                let uses = &mut self.tokens[token].uses;
                *uses = uses.saturating_sub(1);
                if *uses == 0 {
                    released.push(token);
                }
            });
            for token in released {
                self.pool.release(store, &self.tokens, token);
            }
        }
    }
}

/// True if the result of a call is in the memory of its first argument.
fn same_memory(store: &Store, call: ExprId) -> bool {
    if ["reshape", "memory.view", "memory.ensure_zero_offset"].contains(&op_name(store, call)) {
        return true;
    }
    match store.call(call).map(|call| store.expr(call.callee)) {
        Some(Expr::Extern(symbol)) => store.str(symbol) == "vm.builtin.reshape",
        _ => false,
    }
}
