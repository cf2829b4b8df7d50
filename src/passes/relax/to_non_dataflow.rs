//! ToNonDataflow: replaces dataflow blocks by ordinary blocks of bindings.
//!
//! Source: `src/relax/transform/to_non_dataflow.cc`.

use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::{BindingBlock, ExprId, Id, Module, Store, VarId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

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
    doc: explained(
        "A dataflow block promises that nothing in it has side effects. Lowering to calls that write into memory \
breaks that promise, so it is taken back first: the blocks lose their `with R.dataflow():`, their variables become \
ordinary ones, and neighbouring blocks are joined.",
    ),
    example_before: explained(
        "\
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
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        lv: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
        gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(lv)
        return gv
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    to_non_dataflow(cx.store, module, function)
}

/// Runs the pass on one function.
pub fn to_non_dataflow(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    rewrite_function(store, module, function, &mut Ordinary)
}

struct Ordinary;

impl BlockMutator for Ordinary {
    fn rule(&self) -> &'static str {
        "dataflow block to ordinary block"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        if !store.var_data(var).dataflow {
            return var;
        }
        let (annotation, ty) = (store.var_data(var).annotation, store.var_data(var).ty);
        let new = store.var_from(var, annotation, ty);
        store.set_var_dataflow(new, false);
        let used = store.use_var(new);
        cx.replace(store, var, used);
        new
    }

    fn begin_block(&mut self, _: &mut Store, cx: &mut Mutation, _: Id<BindingBlock>) {
        cx.builder.set_dataflow(false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// As in TVM: the call is built anew over the new variable, so it has a type of its own.
    #[test]
    fn an_annotation_that_says_less_gives_way_where_operands_change() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor:\n        \
                    with R.dataflow():\n            a: R.Tensor(dtype=\"float32\", ndim=1) = R.exp(x)\n            \
                    b: R.Tensor((2,), dtype=\"float32\") = R.match_cast(a, R.Tensor((2,), dtype=\"float32\"))\n            \
                    c: R.Tensor(dtype=\"float32\", ndim=1) = R.exp(b)\n            gv: R.Tensor = R.exp(x)\n            \
                    R.output(c, gv)\n        return c\n";
        let made = after(text, "ToNonDataflow()");
        assert!(made.contains("a: R.Tensor(dtype=\"float32\", ndim=1) = R.exp(x)"), "{made}");
        assert!(made.contains("c: R.Tensor((2,), dtype=\"float32\") = R.exp(b)"), "{made}");
        assert!(made.contains("gv: R.Tensor = R.exp(x)"), "{made}");
    }
}
