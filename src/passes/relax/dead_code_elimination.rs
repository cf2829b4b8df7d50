//! DeadCodeElimination: removes bindings without uses and unreachable functions.
//!
//! Source: `src/relax/transform/dead_code_elimination.cc` and `src/relax/transform/utils.cc` (`RemoveAllUnused`).

use super::support::{global_symbol, type_error};
use crate::build::visited;
use crate::infer::relax::effects::contains_impure_call;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::post_order;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, IdMap, Module, Name, PrimExpr, PrimFunc, PrimId, Store, Var, VarId};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// TVM's `relax.transform.DeadCodeElimination`.
pub static SPEC: PassSpec = PassSpec {
    name: "DeadCodeElimination",
    info_name: "DeadCodeElimination",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[Param { name: "entry_functions", default: "None", doc: "Names of functions that stay beside the public ones." }],
    config: &[],
    summary: "Removes bindings that are not used and functions that cannot be reached.",
    doc: explained(
        "A binding goes when nothing uses its variable and its value has no side effects; in a dataflow block nothing has. \
A `match_cast` stays always: it is a check that may fail. Then functions go that cannot be reached from a public one (one \
with a `global_symbol`), from an external one or from those named in `entry_functions`. When a function that is called is \
not in the module, all functions stay.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function(private=True)
    def unused(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        return x

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(x)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(x)
            R.output(gv)
        return gv
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let mut entries: Vec<&str> = Vec::new();
    if let Literal::List(names) = args.get("entry_functions") {
        entries.extend(names.iter().filter_map(|name| match name {
            Literal::Str(name) => Some(name.as_str()),
            _ => None,
        }));
    }
    if let Some(name) = entries.iter().find(|name| module.function(cx.store.name(name)).is_none()) {
        return Err(type_error(format!("ValueError: Cannot find global var \"{name}\" in the Module")));
    }
    Ok(eliminate_dead_code(cx.store, module, &entries))
}

/// Runs the pass on a module; `entries` names the functions that stay.
pub fn eliminate_dead_code(store: &mut Store, module: &Module, entries: &[&str]) -> Module {
    let reachable = without_unreachable(store, module, entries);
    let mut result = reachable.clone();
    for &(name, function) in reachable.functions() {
        if matches!(store.expr(function), Expr::Function(_)) {
            let new = remove_all_unused(store, module, function);
            result.set_function(name, new);
        }
    }
    if result == reachable { result } else { without_unreachable(store, &result, entries) }
}

fn without_unreachable(store: &Store, module: &Module, entries: &[&str]) -> Module {
    let mut reached: FxHashSet<Id<Name>> = FxHashSet::default();
    let mut stack: Vec<Id<Name>> = Vec::new();
    for &(name, function) in module.functions() {
        let external = matches!(store.expr(function), Expr::Extern(_));
        if external || global_symbol(store, function).is_some() || entries.contains(&store.str(name)) {
            stack.push(name);
        }
    }
    // Most programs are one function.
    if stack.len() == module.functions().len() {
        return module.clone();
    }
    while let Some(name) = stack.pop() {
        if !reached.insert(name) {
            continue;
        }
        let Some(function) = module.function(name) else { return module.clone() };
        if let Expr::PrimFunc(id) = store.expr(function) {
            let called = called_by_program(store, id);
            let names = module.functions().iter().map(|(name, _)| *name);
            stack.extend(names.filter(|name| called.contains(store.str(*name))));
        }
        for id in post_order(store, function) {
            if let Expr::Global(callee) = store.expr(id) {
                stack.push(callee);
            }
        }
    }
    let mut result = module.clone();
    for (name, _) in module.functions() {
        if !reached.contains(name) {
            result.remove_function(*name);
        }
    }
    result
}

/// Returns the functions of the module that a tensor program calls.
fn called_by_program(store: &Store, id: Id<PrimFunc>) -> FxHashSet<&str> {
    let mut found = FxHashSet::default();
    let mut look = |root: PrimId| {
        store.for_each_prim(root, &mut |_, expr| {
            if let PrimExpr::Call { op, .. } = expr {
                found.extend(store.str(*op).strip_prefix('@'));
            }
        });
    };
    store.for_each_stmt(store.prim_func(id).body, |stmt| store.for_each_prim_of(stmt, &mut look));
    found
}

/// Removes bindings without uses from a function (TVM's `RemoveAllUnused`).
pub fn remove_all_unused(store: &mut Store, module: &Module, function: ExprId) -> ExprId {
    let (kept, all) = used_bindings(store, module, function);
    match all.iter().all(|var| kept.contains(var)) {
        true => visited(store, function),
        false => {
            let new = rewrite(store, function, &mut Remove { kept });
            visited(store, new)
        }
    }
}

/// Returns the variables whose bindings have to stay, found by a walk from the roots to their operands, and all
/// variables bound on the way.
fn used_bindings(store: &Store, module: &Module, function: ExprId) -> (FxHashSet<VarId>, Vec<VarId>) {
    let mut all: Vec<VarId> = Vec::new();
    let mut values: IdMap<Var, ExprId> = IdMap::default();
    let mut needed: FxHashSet<VarId> = FxHashSet::default();
    let mut visited: IdMap<Expr, ()> = IdMap::default();
    // Expressions that are needed, so their uses count.
    let mut stack: Vec<ExprId> = vec![function];
    while let Some(id) = stack.pop() {
        if visited.insert(id, ()).is_some() {
            continue;
        }
        match store.expr(id) {
            Expr::Var(var) => {
                if needed.insert(var)
                    && let Some(value) = values.get(var)
                {
                    stack.push(*value);
                }
            }
            Expr::Seq { blocks, body } => {
                for block in store.items(blocks) {
                    for binding in store.block_bindings(block) {
                        values.insert(binding.var, binding.value);
                        all.push(binding.var);
                        let stays = binding.cast.is_some() || contains_impure_call(store, module, binding.value);
                        if stays {
                            needed.insert(binding.var);
                        }
                        match store.expr(binding.value) {
                            _ if stays || needed.contains(&binding.var) => stack.push(binding.value),
                            // The result of an inner function counts as used, also where it is never called.
                            Expr::Function(_) => stack.push(binding.value),
                            Expr::If { .. } => {
                                let nodes = post_order(store, binding.value).into_iter();
                                stack.extend(nodes.filter(|id| matches!(store.expr(*id), Expr::Function(_))));
                            }
                            _ => {}
                        }
                    }
                }
                stack.push(body);
            }
            _ => crate::ir::walk::for_each_child(store, id, |child| stack.push(child)),
        }
        // As in TVM, a shape in the type of a variable keeps its symbols alive only through their uses in values.
    }
    (needed, all)
}

struct Remove {
    kept: FxHashSet<VarId>,
}

impl ExprMutator for Remove {
    fn rule(&self) -> &'static str {
        "remove a binding that is not used"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        matches!(store.expr(id), Expr::Seq { .. })
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Expr::Seq { blocks, body } = store.expr(post) else { return post };
        let mut changed = false;
        let mut kept: Vec<(Vec<Binding>, bool)> = Vec::new();
        for block in store.items(blocks) {
            let all: Vec<Binding> = store.block_bindings(block).collect();
            let some: Vec<Binding> = all.iter().copied().filter(|binding| self.kept.contains(&binding.var)).collect();
            changed |= some.len() != all.len();
            if some.is_empty() {
                continue;
            }
            let dataflow = store.block(block).dataflow;
            // Neighbouring blocks of one kind become one block.
            match kept.last_mut() {
                Some((bindings, kind)) if *kind == dataflow => bindings.extend(some),
                _ => kept.push((some, dataflow)),
            }
        }
        if !changed {
            return post;
        }
        let blocks: Vec<Id<BindingBlock>> =
            kept.iter().map(|(bindings, dataflow)| store.add_block_of(bindings, *dataflow)).collect();
        let blocks = store.list(&blocks);
        let ty = store.checked_type(post);
        store.rebuild(pre, Expr::Seq { blocks, body }, ty)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn calls_with_side_effects_and_casts_stay() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def main(x: R.Tensor(dtype=\"float32\", ndim=1)) \
                    -> R.Tensor(dtype=\"float32\", ndim=1):\n        y: R.Any = R.call_packed(\"f\", x)\n        \
                    z: R.Tensor((2,), dtype=\"float32\") = R.match_cast(x, R.Tensor((2,), dtype=\"float32\"))\n        \
                    w: R.Tensor(dtype=\"float32\", ndim=1) = R.add(x, x)\n        return x\n";
        let made = after(text, "DeadCodeElimination()");
        assert!(made.contains("call_packed") && made.contains("match_cast"), "{made}");
        assert!(!made.contains("R.add"), "{made}");
    }

    #[test]
    fn a_call_of_a_function_of_the_module_with_side_effects_stays() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(private=True, pure=False)\n    def shout(x: R.Tensor((2,), dtype=\"float32\")) \
                    -> R.Tensor((2,), dtype=\"float32\"):\n        return x\n\n    @R.function(pure=False)\n    \
                    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n        cls = Module\n        \
                    y: R.Tensor((2,), dtype=\"float32\") = cls.shout(x)\n        return x\n";
        assert!(after(text, "DeadCodeElimination()").contains("cls.shout(x)"));
    }

    const WRONG: &str = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                         R.Tensor((3,)):\n        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)\n        return y\n";

    /// As in TVM, which rebuilds functions even where nothing in them changes; Normalize does not.
    #[test]
    fn a_result_that_cannot_be_is_not_kept() {
        for pass in ["DeadCodeElimination()", "ToNonDataflow()", "TopologicalSort()", "CanonicalizeBindings()"] {
            let made = after(WRONG, pass);
            assert!(made.contains("-> R.Tensor((2,), dtype=\"float32\"):"), "{pass}: {made}");
        }
        assert!(after(WRONG, "Normalize()").contains("-> R.Tensor((3,)):"));
    }

    #[test]
    #[should_panic(expected = "Cannot find global var")]
    fn an_entry_that_is_not_there_is_an_error() {
        after(WRONG, "DeadCodeElimination(entry_functions=[\"other\"])");
    }

    #[test]
    fn a_tensor_program_that_only_another_one_calls_stays() {
        let text = "@I.ir_module\nclass Module:\n    @T.prim_func(private=True)\n    def plus(x: T.float32) -> T.float32:\n        \
                    return x + T.float32(1)\n\n    @T.prim_func(private=True)\n    def each(x: T.Buffer((2,), \"float32\"), y: T.Buffer((2,), \
                    \"float32\")):\n        for i in range(2):\n            y[i] = Module.plus(x[i])\n\n    @R.function\n    def main(x: \
                    R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n        cls = Module\n        \
                    y = R.call_tir(cls.each, (x,), out_ty=R.Tensor((2,), dtype=\"float32\"))\n        return y\n";
        assert!(after(text, "DeadCodeElimination()").contains("def plus"));
    }
}
