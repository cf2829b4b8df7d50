//! ConvertToDataflow: moves bindings without side effects and branches into dataflow blocks.
//!
//! Source: `src/relax/transform/convert_dataflow.cc`.

use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::infer::relax::effects::is_impure_call;
use crate::ir::{Binding, BindingBlock, Expr, ExprId, Id, Module, Store};
use crate::pass::{Args, Inner, Param, Part, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.ConvertToDataflow`.
pub static SPEC: PassSpec = PassSpec {
    name: "ConvertToDataflow",
    info_name: "sequential",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "min_size", default: "2", doc: "Fewer bindings than this make no block of their own." }],
    config: &[],
    summary: "Gathers bindings without side effects into dataflow blocks.",
    doc: explained(
        "A run of bindings that have no side effects and are no branches becomes a dataflow block, when it is long enough or \
extends one that is there. Then `CanonicalizeBindings` follows, which makes dataflow variables of what only the block uses.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
        z: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(y)
        return z
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            z: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(y)
            R.output(z)
        return z
",
    ),
    run: Run::Sequential(|_| vec![Part::Inner(&EXTRACT), Part::call("CanonicalizeBindings()")]),
};

static EXTRACT: Inner = Inner { info_name: "ConvertToDataflow", opt_level: 0, run: Run::Function(run) };

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    let min_size = usize::try_from(args.int("min_size")).unwrap_or(0);
    rewrite_function(cx.store, module, function, &mut Extract { module, min_size })
}

struct Extract<'m> {
    module: &'m Module,
    min_size: usize,
}

impl BlockMutator for Extract<'_> {
    fn rule(&self) -> &'static str {
        "bindings without side effects to a dataflow block"
    }

    fn wants(&self, _: &Store, _: ExprId) -> bool {
        false
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Seq { blocks, body } = store.expr(post) else { return post };
        let mut split = Split { min_size: self.min_size, ..Split::default() };
        for block in store.items(blocks) {
            let bindings = store.block_bindings(block);
            if store.block(block).dataflow {
                split.from = Some(bindings.len());
                split.run.extend(bindings);
                continue;
            }
            for binding in bindings {
                if matches!(store.expr(binding.value), Expr::If { .. }) || is_impure_call(store, self.module, binding.value) {
                    split.end_run();
                    split.rest.push(binding);
                } else {
                    split.run.push(binding);
                }
            }
        }
        split.end_run();
        let rest = std::mem::take(&mut split.rest);
        split.blocks.push((rest, false));
        if !split.changed {
            return post;
        }
        let blocks: Vec<Id<BindingBlock>> =
            split.blocks.iter().map(|(bindings, dataflow)| store.add_block_of(bindings, *dataflow)).collect();
        let blocks = store.list(&blocks);
        let ty = store.checked_type(post);
        store.rebuild(post, Expr::Seq { blocks, body }, ty)
    }
}

/// The blocks of the current sequence so far.
#[derive(Default)]
struct Split {
    min_size: usize,
    blocks: Vec<(Vec<Binding>, bool)>,
    /// Bindings that stay outside of dataflow blocks; all before those of the run.
    rest: Vec<Binding>,
    /// Bindings that may go into one.
    run: Vec<Binding>,
    /// The number of them that came from the last dataflow block, if one is among them.
    from: Option<usize>,
    changed: bool,
}

impl Split {
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let from = self.from.take();
        if run.is_empty() {
            return;
        }
        if run.len() < self.min_size && from.is_none() {
            self.rest.extend(run);
            return;
        }
        self.changed |= from != Some(run.len());
        self.blocks.push((std::mem::take(&mut self.rest), false));
        self.blocks.push((run, true));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// One of TVM's own cases: the block grows upwards.
    #[test]
    fn a_binding_before_a_block_joins_it() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor, y: R.Tensor) -> R.Tensor:\n        \
                    z: R.Tensor = R.add(x, y)\n        with R.dataflow():\n            v: R.Tensor = R.add(z, x)\n            \
                    R.output(v)\n        return v\n";
        assert!(after(text, "ConvertToDataflow()").contains("with R.dataflow():\n            z: R.Tensor = R.add(x, y)"));
    }

    #[test]
    fn a_single_binding_and_a_call_with_side_effects_stay_outside() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)\n        \
                    R.print(y, format=\"\")\n        return y\n";
        assert!(!after(text, "ConvertToDataflow()").contains("dataflow()"));
        assert!(after(text, "ConvertToDataflow(min_size=1)").contains("dataflow()"));
    }
}
