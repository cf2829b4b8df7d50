//! FuseTransposeMatmul: fuses a product with a transposed matrix into one tensor program.
//!
//! Source: `python/tvm/relax/transform/fuse_transpose_matmul.py`.

use super::calls::args;
use super::fuse_ops_by_pattern::{FusionPattern, fuse_ops_by_pattern};
use super::support::type_error;
use crate::build::{BlockMutator, Mutation, rewrite_module_by_name};
use crate::infer::relax::{Signatures, deduce_call};
use crate::ir::{AttrValue, Expr, ExprId, Extents, Module, Store, TensorInfo, TypeId};
use crate::ops::lookup_relax;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::Patterns;
use crate::topi::{self, Legalized};

/// TVM's `relax.transform.FuseTransposeMatmul`.
pub static SPEC: PassSpec = PassSpec {
    name: "FuseTransposeMatmul",
    info_name: "FuseTransposeMatmul",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Makes one tensor program of a product and the transposition of its right factor.",
    doc: explained("A `matmul` whose second operand is a `permute_dims` that swaps the last two axes becomes a call of a tensor program, \
`NT_matmul`, which reads that operand as it was before. The two calls stand in a function of their own first, as \
`FuseOpsByPattern` makes them; it stays, and nothing calls it. `LegalizeOps` and passes that give products to libraries come \
behind and before. Where nothing uses the product but something else the transposed matrix, TVM puts the product in the place of \
that; here its result has the type of the matrix, which is as wrong."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\"), w: R.Tensor((4, 3), dtype=\"float32\")) -> R.Tensor((2, 4), dtype=\"float32\"):
        with R.dataflow():
            wt: R.Tensor((3, 4), dtype=\"float32\") = R.permute_dims(w, axes=[1, 0])
            o: R.Tensor((2, 4), dtype=\"float32\") = R.matmul(x, wt)
            R.output(o)
        return o
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def NT_matmul(x: T.Buffer((T.int64(2), T.int64(3)), \"float32\"), w: T.Buffer((T.int64(4), T.int64(3)), \"float32\"), NT_matmul: T.Buffer((T.int64(2), T.int64(4)), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        # with T.sblock(\"root\"):
        for i0, i1, k in T.grid(T.int64(2), T.int64(4), T.int64(3)):
            with T.sblock(\"NT_matmul\"):
                v_i0, v_i1, v_k = T.axis.remap(\"SSR\", [i0, i1, k])
                T.reads(x[v_i0, v_k], w[v_i1, v_k])
                T.writes(NT_matmul[v_i0, v_i1])
                with T.init():
                    NT_matmul[v_i0, v_i1] = T.float32(0.0)
                NT_matmul[v_i0, v_i1] = NT_matmul[v_i0, v_i1] + x[v_i0, v_k] * w[v_i1, v_k]

    @R.function(private=True)
    def fused_relax_permute_dims_relax_matmul(w: R.Tensor((4, 3), dtype=\"float32\"), x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 4), dtype=\"float32\"):
        R.func_attr({\"Composite\": \"transpose_matmul_fuse\", \"Primitive\": True})
        with R.dataflow():
            wt: R.Tensor((3, 4), dtype=\"float32\") = R.permute_dims(w, axes=[1, 0])
            gv: R.Tensor((2, 4), dtype=\"float32\") = R.matmul(x, wt, out_dtype=None)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\"), w: R.Tensor((4, 3), dtype=\"float32\")) -> R.Tensor((2, 4), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.NT_matmul, (x, w), out_ty=R.Tensor((2, 4), dtype=\"float32\"))
            R.output(gv)
        return gv
"),
    run: Run::Module(run),
};

/// The value of `Composite` in the functions that the pattern makes.
const COMPOSITE: &str = "transpose_matmul_fuse";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut patterns = Patterns::new();
    let [w, x] = [(); 2].map(|()| patterns.wildcard());
    let transposed = patterns.call_op("permute_dims", &[w]);
    let pattern = patterns.call_op("matmul", &[x, transposed]);
    let mut refused = None;
    let check = &mut |store: &mut Store, _: ExprId, matches: &crate::pattern::Matches, _: &rustc_hash::FxHashMap<_, _>| {
        let Some(call) = matches.get(transposed) else { return false };
        swaps_last_axes(store, call).unwrap_or_else(|message| {
            refused.get_or_insert(message);
            false
        })
    };
    let mut fusion = [FusionPattern { name: COMPOSITE, patterns: &patterns, pattern, check: Some(check) }];
    let fused = fuse_ops_by_pattern(store, module, &mut fusion, false, &[])?;
    match refused {
        Some(message) => Err(type_error(message)),
        None => rewrite_module_by_name(store, &fused, &mut Lower { module: &fused }),
    }
}

/// True if a `permute_dims` swaps the last two axes and keeps the others. The error is Python's message where TVM does
/// not check the number of axes.
fn swaps_last_axes(store: &Store, call: ExprId) -> Result<bool, &'static str> {
    let data = args(store, call)[0];
    let rank = store.checked_type(data).and_then(|ty| store.tensor_info(ty)).and_then(|info| store.rank(&info.extents));
    let Some(rank) = rank else { return Ok(false) };
    let axes = match store.call(call).and_then(|call| store.attr(call.attrs, "axes")) {
        Some(AttrValue::Array(axes)) => Some(axes.iter().map(|axis| store.value_int(axis)).collect::<Vec<_>>()),
        _ => None,
    };
    if rank == 2 && axes.is_none() {
        return Ok(true);
    }
    if rank < 2 {
        return Err("list index out of range");
    }
    let axes = axes.ok_or("'NoneType' object is not iterable")?;
    let mut wanted: Vec<Option<i64>> = (0..rank as i64).map(Some).collect();
    wanted.swap(rank - 1, rank - 2);
    Ok(axes == wanted)
}

/// Returns the type of a product with a transposed matrix, with the elements of `result`. The function that takes its place
/// may have given another value: the matrix itself, where only that is read.
fn product_type(store: &mut Store, x: ExprId, w: ExprId, result: TypeId) -> Option<TypeId> {
    let (element, info) = (store.tensor_info(result)?.dtype, store.tensor_info(store.checked_type(w)?)?);
    let Extents::Known(dims) = &info.extents else { return None };
    let mut dims = dims.to_vec();
    let rank = dims.len();
    dims.swap(rank.checked_sub(1)?, rank.checked_sub(2)?);
    let transposed = store.tensor_like(TensorInfo { extents: Extents::Known(dims.into()), ..info });
    let transposed = store.relax_var("b", Some(transposed), false);
    let transposed = store.use_var(transposed);
    let callee = store.add(Expr::Op(lookup_relax("matmul")?));
    let args = store.list(&[x, transposed]);
    let product = deduce_call(store, &Signatures::default(), callee, args, None, &|_| None).ok()?;
    let product = store.tensor_info(product)?;
    Some(store.tensor_like(TensorInfo { dtype: element, ..product }))
}

struct Lower<'m> {
    module: &'m Module,
}

impl BlockMutator for Lower<'_> {
    fn rule(&self) -> &'static str {
        "product with a transposed matrix"
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let Expr::Global(name) = store.expr(call.callee) else { return post };
        let composite = self.module.function(name).and_then(|function| store.as_function(function));
        let is_ours = composite.is_some_and(|function| store.attr_str(function.attrs, "Composite") == Some(COMPOSITE));
        let (Some(ty), true) = (store.checked_type(post), is_ours) else { return post };
        let operands = args(store, post);
        // The function gives the transposed matrix, too, where others read it; it has one parameter where that is both factors.
        let ([w, x], Some(_)) = (&operands[..], store.tensor_info(ty)) else {
            let message = match store.tensor_info(ty) {
                Some(_) => "IndexError: Index out of range. size: 1, got index 1",
                None => "AttributeError: 'TupleType' object has no attribute 'dtype'",
            };
            cx.builder.error("relax-fuse", message.to_owned(), store.source_span(post));
            return post;
        };
        let ty = product_type(store, *x, *w, ty).unwrap_or(ty);
        match topi::product_with_transposed(store, &mut cx.builder, *x, *w, ty) {
            Legalized::New(new) => new,
            Legalized::Same => {
                let message = "emit_te now only supports Tensor that has ShapeExpr shape".to_owned();
                cx.builder.error("relax-legalize", message, store.source_span(post));
                post
            }
            Legalized::Error(message) => {
                cx.builder.error("relax-legalize", message, store.source_span(post));
                post
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn another_order_of_axes_is_left_alone() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2, 2, 3), \"float32\"), w: \
                    R.Tensor((3, 2, 2), \"float32\")):\n        with R.dataflow():\n            wt = R.permute_dims(w, axes=[2, 0, 1])\n            \
                    o = R.matmul(x, wt)\n            R.output(o)\n        return o\n";
        assert!(!after(text, "FuseTransposeMatmul()").contains("NT_matmul"));
    }
}
