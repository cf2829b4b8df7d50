//! FuseTIRInner: the main step of FuseTIR. It makes one tensor program of every function with `Primitive`.
//!
//! The bodies of the called programs are put one after the other; a result between them becomes a buffer that the new
//! program allocates. Symbols of the shapes are matched with their values in the function.
//!
//! TVM keeps the indices of inputs that are written in place in a hash set; here they come in the order of its
//! iteration for few elements, the last first.
//!
//! Source: `src/relax/transform/fuse_tir.cc`.

use super::fused_program::FusedProgram;
use crate::build::{self, BlockBuilder, BlockMutator, Mutation};
use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_binder, post_order};
use crate::ir::{AttrValue, Dim, Expr, ExprId, Extents, Id, Module, Name, Region, Store, Symbol, Type, TypeId, VarId};
use crate::ops;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Declares the part of TVM's `relax.transform.FuseTIR` that makes the programs.
pub static SPEC: PassSpec = PassSpec {
    name: "FuseTIRInner",
    info_name: "FuseTIRInner",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes one tensor program of each function that FuseOps made.",
    doc: explained(
        "A function with `Primitive`, which may do nothing but call tensor programs, becomes a tensor program of that name: the \
bodies of the programs one after the other, with buffers for what was passed between them. Its calls become `R.call_tir`, or \
`R.call_tir_inplace` when a result is written into an argument. In TVM it is a part of *FuseTIR*, which before it takes tuples of \
arguments apart and removes unused ones, and after it what is not called any more.",
    ),
    example_before: explained(BEFORE),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(4),), \"float32\")):
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])

    @T.prim_func(private=True, s_tir=True)
    def fused(x: T.Buffer((T.int64(4),), \"float32\"), B_intermediate_1: T.Buffer((T.int64(4),), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        B_intermediate = T.sblock_alloc_buffer((T.int64(4),))
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(x[v_i])
                T.writes(B_intermediate[v_i])
                B_intermediate[v_i] = T.exp(x[v_i])
        for i in range(T.int64(4)):
            with T.sblock(\"exp1\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(B_intermediate[v_i])
                T.writes(B_intermediate_1[v_i])
                B_intermediate_1[v_i] = T.exp(B_intermediate[v_i])

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.fused, (x,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            R.output(gv)
        return gv
",
    ),
    run: Run::Module(run),
};

/// A program before FuseTIR.
pub(super) const BEFORE: &str = "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def exp(A: T.Buffer((T.int64(4),), \"float32\"), B: T.Buffer((T.int64(4),), \"float32\")):
        for i in range(T.int64(4)):
            with T.sblock(\"exp\"):
                v_i = T.axis.spatial(T.int64(4), i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = T.exp(A[v_i])

    @R.function(private=True)
    def fused(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        R.func_attr({\"Primitive\": True})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.exp, (x,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            gv = R.call_tir(cls.exp, (lv,), out_ty=R.Tensor((4,), dtype=\"float32\"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv: R.Tensor((4,), dtype=\"float32\") = cls.fused(x)
            R.output(gv)
        return gv
";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut result = module.clone();
    let mut replaced: FxHashMap<Id<Name>, Vec<i64>> = FxHashMap::default();
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let data = *store.function(id);
        if store.attr_int(data.attrs, "Primitive").is_none_or(|value| value == 0) {
            continue;
        }
        let mut inplace = Vec::new();
        let mut error = None;
        let new =
            store.rewrite("one tensor program", function, function, |store| match FusedProgram::make(store, module, &data) {
                Ok((program, indices)) => {
                    inplace = indices;
                    let node = store.add_prim_func(program);
                    let ty = crate::infer::relax::prim_func_type(store, node);
                    store.add_typed(Expr::PrimFunc(node), Some(ty))
                }
                Err(message) => {
                    error = Some(Diagnostic::error("relax-fuse-tir", message, store.source_span(function)));
                    function
                }
            });
        if let Some(error) = error {
            return Err(vec![error]);
        }
        if new != function {
            result.set_function(name, new);
            replaced.insert(name, inplace);
        }
    }
    if replaced.is_empty() {
        return Ok(result);
    }
    let builder = BlockBuilder::new(&result);
    let mut mutation = Mutation::new(builder);
    for &(name, function) in module.functions() {
        if matches!(store.expr(function), Expr::Function(_)) && !replaced.contains_key(&name) {
            let mut calls = Calls { replaced: &replaced, scalars: scalars(store, function), errors: Vec::new() };
            let new = build::run(store, &mut mutation, &mut calls, function);
            if !calls.errors.is_empty() {
                return Err(calls.errors);
            }
            result.set_function(name, new);
        }
    }
    mutation.builder.finish().map(|_| result)
}

/// Returns the variables of a function that hold scalars, by their symbols.
fn scalars(store: &Store, function: ExprId) -> FxHashMap<Id<Symbol>, VarId> {
    let mut found = FxHashMap::default();
    for id in post_order(store, function) {
        for_each_binder(store, id, |var| {
            if let Some(symbol) = store.var_data(var).symbol {
                found.entry(symbol).or_insert(var);
            }
        });
    }
    found
}

struct Calls<'r> {
    /// Functions that have become programs, and the inputs that these write to.
    replaced: &'r FxHashMap<Id<Name>, Vec<i64>>,
    scalars: FxHashMap<Id<Symbol>, VarId>,
    errors: PassError,
}

impl BlockMutator for Calls<'_> {
    fn rule(&self) -> &'static str {
        "call of a fused program"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Global(_)))
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Call { callee, args, .. } = store.expr(post) else { return post };
        let Expr::Global(name) = store.expr(callee) else { return post };
        let Some(inplace) = self.replaced.get(&name) else { return post };
        let args: Vec<ExprId> = store.items(args).collect();
        let mut flat = Vec::with_capacity(args.len());
        for arg in args {
            match store.checked_type(arg).map(|ty| store.type_of_id(ty).clone()) {
                Some(Type::Shape(Extents::Known(dims))) => {
                    for dim in dims.iter() {
                        flat.push(self.scalar(store, *dim));
                    }
                }
                Some(Type::Shape(_) | Type::Tuple(_)) => {
                    let message = "FuseTIR requires all shape input has ty value, and tuples to be expanded.";
                    self.errors.push(Diagnostic::error("relax-fuse-tir", message, store.source_span(post)));
                    return post;
                }
                _ => flat.push(arg),
            }
        }
        let tuple = store.add_tuple(&flat);
        let ty = store.checked_type(post);
        let (op, attrs) = match inplace.is_empty() {
            true => ("call_tir", None),
            false => {
                let fields = [("inplace_indices", AttrValue::Array(inplace.iter().map(|i| AttrValue::int(*i)).collect()))];
                let row = ops::lookup_relax("call_tir_inplace").and_then(|op| ops::info(op).relax.as_ref());
                let set = row.and_then(|row| row.attrs).and_then(|schema| schema.complete(store, &fields).ok());
                ("call_tir_inplace", set.map(|set| store.attrs(set)))
            }
        };
        let Some(op) = ops::lookup_relax(op) else { return post };
        let op = store.add(Expr::Op(op));
        let args = store.list(&[callee, tuple]);
        let types: Vec<TypeId> = ty.into_iter().collect();
        let info = store.add_call_info(attrs, &types);
        store.add(Expr::Call { callee: op, args, info })
    }
}

impl Calls<'_> {
    /// Returns an extent as an argument.
    fn scalar(&self, store: &mut Store, dim: Dim) -> ExprId {
        if let Dim::Symbol(symbol) = dim
            && let Some(var) = self.scalars.get(&symbol)
        {
            return store.use_var(*var);
        }
        let prim = store.prim_of_dim(dim);
        let ty = store.ty(Type::Prim(store.prim_dtype(prim)));
        store.add_typed(Expr::Prim(prim), Some(ty))
    }
}

/// Returns the first region of each buffer: a buffer that is read twice is read at the same place.
pub(super) fn once_each(regions: &[Region]) -> Box<[Region]> {
    let mut seen = FxHashSet::default();
    regions.iter().filter(|region| seen.insert(region.buffer)).cloned().collect()
}

/// Gives every block a unique name: numbers count on from the one that a name ends with.
#[derive(Default)]
pub(super) struct BlockNames(FxHashSet<String>);

impl BlockNames {
    /// Returns the name itself, or the next one that is free.
    pub fn unique(&mut self, name: &str) -> String {
        if self.0.insert(name.to_owned()) {
            return name.to_owned();
        }
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let (base, mut number) = match name[base.len()..].parse::<u64>() {
            Ok(number) => (base, number),
            Err(_) => (name, 0),
        };
        loop {
            number = number.wrapping_add(1);
            let candidate = format!("{base}{number}");
            if self.0.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}
