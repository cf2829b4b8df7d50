//! ToNonDataflow: dataflow blocks become ordinary blocks of bindings.
//!
//! Source: `src/relax/transform/to_non_dataflow.cc`.

use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Binding, Expr, ExprId, Module, Store, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run};

/// TVM's `relax.transform.ToNonDataflow`.
pub static SPEC: PassSpec = PassSpec {
    name: "ToNonDataflow",
    info_name: "ToNonDataflow",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Turns dataflow blocks into ordinary blocks of bindings.",
    doc: "A dataflow block promises that nothing in it has side effects. Lowering to calls that write into memory \
breaks that promise, so it is taken back first: the blocks lose their `with R.dataflow():`, their variables become \
ordinary ones, and neighbouring blocks are joined.",
    example_before: "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(lv)
            R.output(gv)
        return gv
",
    example_after: "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        lv: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
        gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(lv)
        return gv
",
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(to_non_dataflow(cx.store, function))
}

/// The pass on one function.
pub fn to_non_dataflow(store: &mut Store, function: ExprId) -> ExprId {
    rewrite(store, function, &mut Ordinary)
}

struct Ordinary;

impl ExprMutator for Ordinary {
    fn rule(&self) -> &'static str {
        "dataflow block to ordinary block"
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        if !store.var_data(var).dataflow {
            return var;
        }
        let (annotation, ty) = (store.var_data(var).annotation, store.var_data(var).ty);
        let new = store.var_from(var, annotation, ty);
        store.set_var_dataflow(new, false);
        new
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Expr::Seq { blocks, body } = store.expr(post) else { return post };
        if store.items(blocks).all(|block| !store.block(block).dataflow) {
            return post;
        }
        let bindings: Vec<Binding> = store.bindings(blocks).collect();
        let block = store.add_block_of(&bindings, false);
        let ty = store.checked_type(post);
        let blocks = store.list(&[block]);
        store.rebuild(pre, Expr::Seq { blocks, body }, ty)
    }
}
