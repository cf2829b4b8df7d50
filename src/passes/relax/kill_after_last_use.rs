//! KillAfterLastUse: releases values after their last use.
//!
//! Source: `src/relax/transform/kill_after_last_use.cc`.

use super::calls::{args, call, op_name};
use super::canonicalize_bindings::canonicalize_bindings;
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::walk::{for_each_child, has_children};
use crate::ir::{Binding, Expr, ExprId, IdMap, Module, Store, Type, TypeId, Var, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// TVM's `relax.transform.KillAfterLastUse`.
pub static SPEC: PassSpec = PassSpec {
    name: "KillAfterLastUse",
    info_name: "KillAfterLastUse",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives tensors, memory and other objects back behind their last use.",
    doc: explained(
        "Behind the binding that uses a variable last comes `R.memory.kill_tensor`, `R.memory.kill_storage` for memory or \
`R.vm.kill_object` for anything else. What a function gives, its parameters, constants, null values, shapes, scalars and functions stay. \
Bindings that only name another variable are removed first.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
        z: R.Tensor((2,), dtype=\"float32\") = R.add(x, y)
        return z
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
        z: R.Tensor((2,), dtype=\"float32\") = R.add(x, y)
        R.memory.kill_tensor(y)
        return z
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let store = &mut *cx.store;
    let function = canonicalize_bindings(store, module, function)?;
    let unused = unused_names(store, function);
    let function = match unused.is_empty() {
        true => function,
        false => rewrite_function(store, module, function, &mut Remove { unused })?,
    };
    rewrite_function(store, module, function, &mut Kill { last: FxHashMap::default() })
}

/// Returns variables without uses that only rename another one.
fn unused_names(store: &Store, function: ExprId) -> FxHashSet<VarId> {
    let mut used: IdMap<Var, ()> = IdMap::new();
    let mut names: FxHashSet<VarId> = FxHashSet::default();
    for id in crate::ir::walk::post_order(store, function) {
        match store.expr(id) {
            Expr::Var(var) => {
                used.insert(var, ());
            }
            Expr::Seq { blocks, .. } => {
                for binding in store.bindings(blocks) {
                    let Expr::Var(other) = store.expr(binding.value) else { continue };
                    if binding.cast.is_none_or(|_| store.var_type(binding.var) == store.var_type(other)) {
                        names.insert(binding.var);
                    }
                }
            }
            _ => {}
        }
    }
    names.retain(|var| !used.contains(*var));
    names
}

struct Remove {
    unused: FxHashSet<VarId>,
}

impl BlockMutator for Remove {
    fn rule(&self) -> &'static str {
        "a name that nobody uses"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn enter_binding(&mut self, _: &mut Store, _: &mut Mutation, binding: Binding) -> bool {
        !self.unused.contains(&binding.var)
    }
}

/// The values to kill behind a binding, in this order.
#[derive(Default)]
struct Last {
    tensors: Vec<VarId>,
    storage: Vec<VarId>,
    objects: Vec<VarId>,
}

struct Kill {
    /// The last uses of each binding in the current sequence. As in TVM they are lost behind an inner sequence.
    last: FxHashMap<VarId, Last>,
}

impl BlockMutator for Kill {
    fn rule(&self) -> &'static str {
        "not needed any more"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn enter(&mut self, store: &mut Store, _: &mut Mutation, id: ExprId) -> crate::ir::rewrite::Visit {
        if matches!(store.expr(id), Expr::Seq { .. } | Expr::Function(_)) {
            self.last = last_uses(store, id);
        }
        crate::ir::rewrite::Visit::Descend
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        if matches!(store.expr(pre), Expr::Seq { .. } | Expr::Function(_)) {
            self.last.clear();
        }
        post
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        cx.reemit(store, pre, value);
        let Some(last) = self.last.remove(&pre.var) else { return };
        let groups =
            [("memory.kill_tensor", last.tensors), ("memory.kill_storage", last.storage), ("vm.kill_object", last.objects)];
        for (name, vars) in groups {
            for var in vars {
                let used = store.use_var(var);
                let kill = call(store, name, &[used]);
                cx.builder.emit(store, kill, "_");
            }
        }
    }
}

struct Usage {
    /// Bindings in order.
    order: Vec<VarId>,
    /// The binding that uses a variable last; `None` where the result does.
    last: IdMap<Var, Option<VarId>>,
    storage: IdMap<Var, ()>,
    constants: IdMap<Var, ()>,
    killed: IdMap<Var, ()>,
}

enum Step {
    /// Visits an expression, whose uses count for this binding.
    Visit(ExprId, Option<VarId>),
    Bind(Binding),
}

fn last_uses(store: &Store, root: ExprId) -> FxHashMap<VarId, Last> {
    let mut usage =
        Usage { order: Vec::new(), last: IdMap::new(), storage: IdMap::new(), constants: IdMap::new(), killed: IdMap::new() };
    let mut stack = vec![Step::Visit(root, None)];
    while let Some(step) = stack.pop() {
        let first = stack.len();
        match step {
            Step::Bind(binding) => usage.bind(store, binding, &mut stack),
            Step::Visit(id, binding) => match store.expr(id) {
                Expr::Var(var) => {
                    usage.last.insert(var, binding);
                    if let Some(ty) = store.var_type(var) {
                        shapes_in(store, ty, &mut |shape| {
                            usage.last.insert(shape, binding);
                        });
                    }
                }
                Expr::Seq { blocks, body } => {
                    stack.extend(store.bindings(blocks).map(Step::Bind));
                    stack.push(Step::Visit(body, binding));
                    stack[first..].reverse();
                }
                _ => {
                    let counts = |child| matches!(store.expr(child), Expr::Var(_)) || has_children(store, child);
                    for_each_child(store, id, |child| stack.extend(counts(child).then_some(Step::Visit(child, binding))));
                    stack[first..].reverse();
                }
            },
        }
    }
    usage.result(store)
}

/// Visits variables whose value is the shape of a tensor of this type.
fn shapes_in(store: &Store, ty: TypeId, f: &mut dyn FnMut(VarId)) {
    if let Type::PartialTensor(info) = store.type_of_id(ty)
        && let crate::ir::Extents::Var(var) = info.extents
    {
        f(var);
    }
}

impl Usage {
    fn bind(&mut self, store: &Store, binding: Binding, stack: &mut Vec<Step>) {
        self.order.push(binding.var);
        if binding.cast.is_none() {
            match (op_name(store, binding.value), store.expr(binding.value)) {
                ("vm.alloc_storage" | "memory.alloc_storage", _) => {
                    self.storage.insert(binding.var, ());
                    return;
                }
                ("memory.kill_tensor" | "memory.kill_storage" | "vm.kill_object", _) => {
                    if let Some(&arg) = args(store, binding.value).first()
                        && let Expr::Var(var) = store.expr(arg)
                    {
                        self.killed.insert(var, ());
                    }
                    return;
                }
                ("null_value", _) | (_, Expr::Constant(_)) => {
                    self.constants.insert(binding.var, ());
                    return;
                }
                _ => {}
            }
        }
        stack.push(Step::Visit(binding.value, Some(binding.var)));
    }

    fn result(self, store: &Store) -> FxHashMap<VarId, Last> {
        let mut result: FxHashMap<VarId, Last> = FxHashMap::default();
        for var in self.order {
            let Some(Some(at)) = self.last.get(var) else { continue };
            if self.killed.contains(var) {
                continue;
            }
            let ty = store.var_type(var);
            let is_storage = self.storage.contains(var);
            // The others are in no register of the machine.
            let in_register = match ty.map(|ty| store.type_of_id(ty)) {
                Some(Type::Callable { .. } | Type::PackedFunc | Type::Shape(_) | Type::Prim(_)) => false,
                _ => !self.constants.contains(var),
            };
            if !is_storage && !in_register {
                continue;
            }
            let last = result.entry(*at).or_default();
            match ty.and_then(|ty| store.tensor_info(ty)) {
                _ if is_storage => last.storage.push(var),
                Some(_) => last.tensors.push(var),
                None => last.objects.push(var),
            }
        }
        result
    }
}
