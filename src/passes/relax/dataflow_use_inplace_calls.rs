//! DataflowUseInplaceCalls: lets operators write into the memory of an argument that is dead afterwards.
//!
//! Looks, in dataflow blocks, for calls of a few element-wise operators with an argument of the result's shape and type
//! that the block made, that has no later uses, and that shares no memory with later uses or another argument. Such a
//! call becomes `R.call_tir_inplace` of the operator's tensor program with argument and output in one buffer.
//!
//! If several arguments qualify, the last one is taken, as in TVM. A call whose program has no buffer for the argument
//! (a constant in the program) stays; TVM makes an invalid program of it. In blocks with more than a million possible
//! aliases the last ones are not tracked.
//!
//! Source: `src/relax/transform/dataflow_inplace.cc`.

use super::calls::{args, op_name};
use super::support::aliases::{Aliases, last_needed};
use crate::build::{BlockMutator, Mutation, rewrite_module};
use crate::infer::relax::prim_func_type;
use crate::ir::{
    AttrValue, Binding, BindingBlock, Dim, Expr, ExprId, Extents, Id, Module, Name, PrimFunc, PrimParam, Store, TypeId, VarId,
};
use crate::ops;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::Copier;
use crate::tir::arith::Analyzer;
use crate::topi::{self, Legalized};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.DataflowUseInplaceCalls`.
pub static SPEC: PassSpec = PassSpec {
    name: "DataflowUseInplaceCalls",
    info_name: "DataflowInsertInPlaceCalls",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lets operators write over arguments that nobody needs any more.",
    doc: explained("In a dataflow block, `add`, `subtract`, `multiply`, `divide`, `nn.relu` and `nn.silu` can write their result where \
an argument was, if that has the same shape and type, was made in the block, and neither it nor anything that may share its \
memory is needed later. They become `R.call_tir_inplace` of a tensor program. Arguments of the function are never written \
to, and views (`reshape`, `squeeze` and the like) share the memory of what they view."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            z: R.Tensor((2,), dtype=\"float32\") = R.multiply(y, x)
            R.output(z)
        return z
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def multiply_inplace(y: T.Buffer((T.int64(2),), \"float32\"), x: T.Buffer((T.int64(2),), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        # with T.sblock(\"root\"):
        for ax0 in range(T.int64(2)):
            with T.sblock(\"T_multiply\"):
                v_ax0 = T.axis.spatial(T.int64(2), ax0)
                T.reads(y[v_ax0], x[v_ax0])
                T.writes(y[v_ax0])
                y[v_ax0] = y[v_ax0] * x[v_ax0]

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            z: R.Tensor((2,), dtype=\"float32\") = R.call_tir_inplace(cls.multiply_inplace, (y, x), out_ty=R.Tensor((2,), dtype=\"float32\"), inplace_indices=[0])
            R.output(z)
        return z
"),
    run: Run::Module(run),
};

const SUPPORTED: &[&str] = &["add", "subtract", "multiply", "divide", "nn.silu", "nn.relu"];

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut pass = InPlace { before: module.clone(), found: FxHashMap::default(), made: Vec::new() };
    let mut new = rewrite_module(cx.store, module, &mut pass)?;
    // The operators' own programs were only needed to derive these.
    pass.made.iter().for_each(|name| new.remove_function(*name));
    Ok(new)
}

struct InPlace {
    before: Module,
    /// For each binding the argument that it may write to.
    found: FxHashMap<VarId, usize>,
    made: Vec<Id<Name>>,
}

impl BlockMutator for InPlace {
    fn rule(&self) -> &'static str {
        "written in place"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn begin_block(&mut self, store: &mut Store, _: &mut Mutation, block: Id<BindingBlock>) {
        let block = *store.block(block);
        if block.dataflow {
            let bindings: Vec<Binding> = store.items(block.bindings).map(|id| *store.binding(id)).collect();
            find(store, &bindings, &mut self.found);
        }
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let new = self.found.get(&pre.var).copied().and_then(|argument| self.in_place(store, cx, value, argument));
        let value = new.map_or(value, |new| cx.builder.normalize(store, new));
        cx.reemit(store, pre, value);
    }
}

impl InPlace {
    fn in_place(&mut self, store: &mut Store, cx: &mut Mutation, call: ExprId, argument: usize) -> Option<ExprId> {
        let Legalized::New(plain) = topi::legalize(store, &mut cx.builder, call, &FxHashMap::default()) else { return None };
        let mut operands = args(store, plain);
        let Expr::Global(name) = store.expr(*operands.first()?) else { return None };
        if self.before.function(name).is_none() {
            self.made.push(name);
        }
        let Expr::PrimFunc(program) = store.expr(cx.builder.module().function(name)?) else { return None };
        let program = written_over(store, store.prim_func(program).clone(), argument)?;
        let program = store.add_prim_func(program);
        let ty = prim_func_type(store, program);
        let program = store.add_typed(Expr::PrimFunc(program), Some(ty));
        let hint = format!("{}_inplace", store.str(name));
        operands[0] = cx.builder.add_function(store, program, &hint);
        let Expr::Call { info: Some(info), .. } = store.expr(plain) else { return None };
        let types: Vec<TypeId> = store.call_info(info).type_args.to_vec();
        let op = ops::lookup_relax("call_tir_inplace")?;
        let schema = ops::info(op).relax.as_ref().and_then(|row| row.attrs)?;
        let places = AttrValue::Array([AttrValue::int(argument as i64)].into());
        let set = schema.complete(store, &[("inplace_indices", places)]).ok()?;
        let attrs = store.attrs(set);
        let (callee, args) = (store.add(Expr::Op(op)), store.list(&operands));
        let info = store.add_call_info(Some(attrs), &types);
        Some(store.add(Expr::Call { callee, args, info }))
    }
}

/// Puts the output, the last parameter, into the buffer of another parameter.
fn written_over(store: &mut Store, program: PrimFunc, argument: usize) -> Option<PrimFunc> {
    let (last, params) = program.params.split_last()?;
    let (PrimParam::Buffer(output), Some(PrimParam::Buffer(input))) = (*last, params.get(argument)) else { return None };
    let mut copier = Copier::default();
    copier.buffers.insert(output, *input);
    let body = copier.stmt(store, program.body, &mut |_, _| {});
    Some(PrimFunc { params: params.into(), body, ..program })
}

/// Finds the calls that may write to an argument, and that argument.
fn find(store: &mut Store, bindings: &[Binding], found: &mut FxHashMap<VarId, usize>) {
    let aliases = Aliases::of(store, bindings);
    let last = last_needed(store, bindings);
    let mut ends: FxHashMap<usize, Vec<VarId>> = FxHashMap::default();
    for (var, end) in &last {
        ends.entry(*end).or_default().push(*var);
    }
    // The number of variables with later uses that may stand for a place.
    let mut needed: FxHashMap<u32, u32> = FxHashMap::default();
    for (index, binding) in bindings.iter().enumerate() {
        for place in ends.get(&index).into_iter().flatten().flat_map(|var| aliases.places(*var).unwrap_or_default()) {
            if let Some(count) = needed.get_mut(place) {
                *count = count.saturating_sub(1);
            }
        }
        if let Some(argument) = argument_of(store, binding, index, &aliases, &last, &needed) {
            found.insert(binding.var, argument);
        }
        if last.get(&binding.var).is_some_and(|end| *end > index) {
            for place in aliases.places(binding.var).unwrap_or_default() {
                *needed.entry(*place).or_default() += 1;
            }
        }
    }
}

/// Returns the argument that a call may write to.
fn argument_of(
    store: &mut Store,
    binding: &Binding,
    index: usize,
    aliases: &Aliases,
    last: &FxHashMap<VarId, usize>,
    needed: &FxHashMap<u32, u32>,
) -> Option<usize> {
    if !SUPPORTED.contains(&op_name(store, binding.value)) {
        return None;
    }
    let result = store.var_type(binding.var)?;
    let operands = args(store, binding.value);
    let var_of = |store: &Store, operand: ExprId| match store.expr(operand) {
        Expr::Var(var) => Some(var),
        _ => None,
    };
    (0..operands.len()).rev().find(|place| {
        let Some(var) = var_of(store, operands[*place]) else { return false };
        let (Some(ty), Some(own)) = (store.var_type(var), aliases.places(var)) else { return false };
        let free = last.get(&var).is_none_or(|end| *end <= index)
            && aliases.reached(var).is_some_and(|all| all.iter().all(|place| needed.get(place).is_none_or(|count| *count == 0)))
            && operands.iter().all(|other| *other == operands[*place] || aliases.apart(own, var_of(store, *other)));
        free && alike(store, result, ty)
    })
}

/// True if two tensors have one element type and one shape.
fn alike(store: &mut Store, a: TypeId, b: TypeId) -> bool {
    let (Some(a), Some(b)) = (store.tensor_info(a), store.tensor_info(b)) else { return false };
    let (Extents::Known(left), Extents::Known(right)) = (a.extents, b.extents) else { return false };
    let same = |store: &mut Store, a: Dim, b: Dim| {
        let (a, b) = (store.prim_of_dim(a), store.prim_of_dim(b));
        Analyzer::new().can_prove_equal(store, a, b)
    };
    a.dtype.is_some()
        && a.dtype == b.dtype
        && left.len() == right.len()
        && left.iter().zip(&*right).all(|(a, b)| same(store, *a, *b))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    fn made(body: &str) -> String {
        let mut text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2, 3), dtype=\"float32\"), \
                        n: R.Tensor((2, 1), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):\n        \
                        with R.dataflow():\n"
            .to_owned();
        for line in body.lines() {
            text += &format!("            {}\n", line.trim());
        }
        after(&(text + "            R.output(r)\n        return r\n"), "DataflowUseInplaceCalls()")
    }

    #[test]
    fn arguments_of_the_function_and_what_is_needed_later_are_not_written_to() {
        let text = made("a = R.add(x, x)\nb = R.nn.relu(a)\nr = R.multiply(a, b)");
        assert_eq!(text.matches("R.call_tir_inplace").count(), 1, "{text}");
        assert!(text.contains("cls.multiply_inplace, (a, b)") && text.contains("inplace_indices=[1]"), "{text}");
    }

    #[test]
    fn what_has_another_shape_is_not_written_to() {
        let text = made("a = R.add(n, n)\nr = R.multiply(a, x)");
        assert!(!text.contains("inplace"), "{text}");
    }

    #[test]
    fn memory_that_a_view_shares_is_not_written_to_while_the_view_is_needed() {
        let text = made("a = R.add(x, x)\nv = R.reshape(a, R.shape([2, 3]))\nb = R.nn.relu(a)\nr = R.add(b, v)");
        assert!(text.contains("b: R.Tensor((2, 3), dtype=\"float32\") = R.nn.relu(a)"), "{text}");
        let text = made("a = R.add(x, x)\nv = R.reshape(a, R.shape([2, 3]))\nr = R.add(a, v)");
        assert!(!text.contains("inplace"), "{text}");
    }

    #[test]
    fn of_a_tuple_that_a_block_makes_fields_are_known() {
        let text = made("a = R.add(x, x)\nt = (a, x)\nc = t[0]\nr = R.nn.relu(c)");
        assert!(text.contains("R.call_tir_inplace(cls.relu_inplace, (c,)"), "{text}");
        let text = made("a = R.add(x, x)\nt = (a, x)\nc = t[1]\nr = R.nn.relu(c)");
        assert!(!text.contains("inplace"), "{text}");
    }
}
