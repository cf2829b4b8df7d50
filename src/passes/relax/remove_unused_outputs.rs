//! RemoveUnusedOutputs: removes the fields of private functions' result tuples that have no uses.
//!
//! Source: `src/relax/transform/remove_unused_outputs.cc`.

use super::support::global_symbol;
use crate::build::{BlockBuilder, BlockMutator, Mutation, Normalize, run as rewrite_in};
use crate::ir::walk::{for_each_child, post_order};
use crate::ir::{Binding, BindingBlock, DType, Expr, ExprId, Function, Id, Module, Name, Store, Type, TypeId, VarId};
use crate::pass::{Args, Inner, Part, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.RemoveUnusedOutputs`.
pub static SPEC: PassSpec = PassSpec {
    name: "RemoveUnusedOutputs",
    info_name: "RemoveUnusedOutputs",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes fields that no caller uses from the results of private functions.",
    doc: explained("When every caller takes the tuple that a private function gives apart and leaves some fields unused, the function does \
not give them any more; a single one left is given without a tuple. `CanonicalizeBindings` and `DeadCodeElimination` follow."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function(private=True)
    def both(a: R.Tensor((2,), dtype=\"float32\")) -> R.Tuple(R.Tensor((2,), dtype=\"float32\"), R.Tensor((2,), dtype=\"float32\")):
        b: R.Tensor((2,), dtype=\"float32\") = R.exp(a)
        c: R.Tensor((2,), dtype=\"float32\") = R.log(a)
        return (b, c)

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        y: R.Tuple(R.Tensor((2,), dtype=\"float32\"), R.Tensor((2,), dtype=\"float32\")) = cls.both(x)
        z: R.Tensor((2,), dtype=\"float32\") = y[0]
        return z
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function(private=True)
    def both(a: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        b: R.Tensor((2,), dtype=\"float32\") = R.exp(a)
        return b

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        gv: R.Tensor((2,), dtype=\"float32\") = cls.both(x)
        return gv
"),
    run: Run::Sequential(|_| {
        vec![Part::Inner(&INNER), Part::call("CanonicalizeBindings()"), Part::call("DeadCodeElimination()")]
    }),
};

static INNER: Inner = Inner { info_name: "RemoveUnusedOutputsInner", opt_level: 0, run: Run::Module(run) };

/// For each function a mask of the fields with uses.
type Masks = FxHashMap<Id<Name>, Vec<bool>>;

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let masks = used_fields(store, module);
    let mut changed = module.clone();
    if !masks.is_empty() {
        let mut mutation = Mutation::new(BlockBuilder::new(module));
        for &(name, function) in module.functions() {
            let Some(mask) = masks.get(&name) else { continue };
            let narrow = narrower(store, function, mask);
            let new = rewrite_in(store, &mut mutation, &mut Normalize, narrow);
            mutation.builder.update_function(store, name, new);
        }
        changed = mutation.builder.finish()?;
        let mut mutation = Mutation::new(BlockBuilder::new(&changed));
        let mut calls = Calls { masks };
        for &(name, function) in changed.functions() {
            if matches!(store.expr(function), Expr::Function(_)) {
                let new = rewrite_in(store, &mut mutation, &mut calls, function);
                mutation.builder.update_function(store, name, new);
            }
        }
        changed = mutation.builder.finish()?;
    }
    Ok(changed)
}

/// Finds the private functions that return fields without uses.
fn used_fields(store: &Store, module: &Module) -> Masks {
    let mut masks = Masks::default();
    for &(name, function) in module.functions() {
        let ret = store.as_function(function).and_then(|function| function.ret);
        if global_symbol(store, function).is_none()
            && let Some(Type::Tuple(fields)) = ret.map(|ty| store.type_of_id(ty))
        {
            masks.insert(name, vec![false; fields.len()]);
        }
    }
    if masks.is_empty() {
        return masks;
    }
    for &(_, function) in module.functions() {
        let nodes = post_order(store, function);
        let mut values: FxHashMap<VarId, ExprId> = FxHashMap::default();
        for id in &nodes {
            if let Expr::Seq { blocks, .. } = store.expr(*id) {
                values.extend(store.bindings(blocks).map(|binding| (binding.var, binding.value)));
            }
        }
        let callee = |id: ExprId| {
            let mut id = id;
            while let Expr::Var(var) = store.expr(id)
                && let Some(value) = values.get(&var)
            {
                id = *value;
            }
            match store.expr(store.call(id)?.callee) {
                Expr::Global(name) => Some(name),
                _ => None,
            }
        };
        for id in nodes {
            match store.expr(id) {
                Expr::TupleGetItem { tuple, index } => {
                    if let Some(mask) = callee(tuple).and_then(|name| masks.get_mut(&name))
                        && let Some(used) = mask.get_mut(index as usize)
                    {
                        *used = true;
                    }
                }
                _ => for_each_child(store, id, |child| {
                    // As in TVM, a variable bound to the tuple is no use by itself, but makes every field used.
                    if matches!(store.expr(child), Expr::Var(_))
                        && let Some(mask) = callee(child).and_then(|name| masks.get_mut(&name))
                    {
                        mask.fill(true);
                    }
                }),
            }
        }
    }
    masks.retain(|_, mask| mask.contains(&false));
    masks
}

/// Reduces a function to those fields. It is not in normal form yet.
fn narrower(store: &mut Store, function: ExprId, mask: &[bool]) -> ExprId {
    let Some(data) = store.as_function(function) else { return function };
    let (Some(ret), Expr::Seq { blocks, body }) = (data.ret, store.expr(data.body)) else { return function };
    let Type::Tuple(types) = store.type_of_id(ret) else { return function };
    let types = types.to_vec();
    let var = store.relax_var("previous_outputs", Some(ret), false);
    let tuple = store.use_var(var);
    let mut blocks: Vec<Id<BindingBlock>> = store.items(blocks).collect();
    blocks.push(store.add_block_of(&[Binding { var, value: body, cast: None }], false));
    let fields: Vec<ExprId> = kept(&types, mask)
        .map(|(index, ty)| store.add_typed(Expr::TupleGetItem { tuple, index: index as u32 }, Some(ty)))
        .collect();
    let body = match fields[..] {
        [only] => only,
        _ => store.add_tuple(&fields),
    };
    let blocks = store.list(&blocks);
    let body = store.rebuild(data.body, Expr::Seq { blocks, body }, None);
    let new = store.add_function(Function { body, ret: None, ..data });
    store.rebuild(function, Expr::Function(new), None)
}

fn kept<'a>(types: &'a [TypeId], mask: &'a [bool]) -> impl Iterator<Item = (usize, TypeId)> + 'a {
    types.iter().copied().enumerate().filter(|(index, _)| mask.get(*index) == Some(&true))
}

struct Calls {
    masks: Masks,
}

impl BlockMutator for Calls {
    fn rule(&self) -> &'static str {
        "a call that gives only what is used"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Global(_)))
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let Expr::Global(name) = store.expr(call.callee) else { return post };
        let Some(mask) = self.masks.get(&name) else { return post };
        let new = store.rebuild(pre, Expr::Call { callee: call.callee, args: call.args, info: call.info }, None);
        let new = cx.builder.emit(store, new, "");
        let single = mask.iter().filter(|used| **used).count() == 1;
        let mut fields = Vec::with_capacity(mask.len());
        let mut index = 0;
        for used in mask {
            fields.push(match used {
                true if single => new,
                true => {
                    index += 1;
                    store.add(Expr::TupleGetItem { tuple: new, index: index - 1 })
                }
                // The value is never read.
                false => {
                    let nan = store.prim_float(f64::NAN, DType::F64);
                    store.add(Expr::Prim(nan))
                }
            });
        }
        store.add_tuple(&fields)
    }
}
