//! MergeCompositeFunctions: merges calls for one external compiler that can run together into one function for it.
//!
//! Source: `src/relax/transform/merge_composite_functions.cc`.

use super::composite_groups::composite_groups;
use super::dead_code_elimination::eliminate_dead_code;
use super::grouping::{Partition, make_grouped_functions};
use super::support::with_attrs;
use crate::build::{self, BlockBuilder, BlockMutator, Mutation, copy_with_new_vars};
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Expr, ExprId, Function, Id, Module, Name, Store, Type};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::relax::to_non_dataflow::to_non_dataflow;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.MergeCompositeFunctions`.
pub static SPEC: PassSpec = PassSpec {
    name: "MergeCompositeFunctions",
    info_name: "MergeCompositeFunctions",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Merges composite functions for one external compiler into larger functions for it.",
    doc: explained(
        "FuseOpsByPattern makes *composite* functions, whose attribute `Composite` says for which compiler they are \
(`dnnl.conv2d_relu`). A call of one joins the group of an argument that comes from the same compiler, if that does not make two \
groups wait for one another. Each group becomes a public function with `Codegen`, in which the composite functions stand as \
inner functions. The function `main` is looked at.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function(private=True)
    def relu(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"Composite\": \"dnnl.relu\", \"Primitive\": True})
        with R.dataflow():
            gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            lv: R.Tensor((2,), dtype=\"float32\") = cls.relu(x)
            gv: R.Tensor((2,), dtype=\"float32\") = cls.relu(lv)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def fused_relu_relu_dnnl(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"Codegen\": \"dnnl\"})
        @R.function
        def gv(x_1: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
            R.func_attr({\"Composite\": \"dnnl.relu\"})
            with R.dataflow():
                gv_1: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(x_1)
                R.output(gv_1)
            return gv_1

        lv: R.Tensor((2,), dtype=\"float32\") = gv(x)
        gv_1: R.Tensor((2,), dtype=\"float32\") = gv(lv)
        return gv_1

    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv: R.Tensor((2,), dtype=\"float32\") = cls.fused_relu_relu_dnnl(x)
            R.output(gv)
        return gv
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let main = store.name("main");
    let Some(function) = module.function(main).filter(|main| matches!(store.expr(*main), Expr::Function(_))) else {
        return Err(vec![Diagnostic::error("relax-no-main", "ValueError: Cannot find global var \"main\" in the Module", None)]);
    };
    // TVM takes a body of a scalar type for a scalar expression, and does not look into it.
    let scalar = store.as_function(function).and_then(|main| store.checked_type(main.body));
    let scalar = scalar.is_some_and(|ty| matches!(store.type_of_id(ty), Type::Prim(_)));
    let partition = if scalar { Partition::default() } else { composite_groups(store, module, function)? };
    for &(name, other) in module.functions() {
        let Some(data) = store.as_function(other).filter(|_| scalar || name != main) else { continue };
        if store.attr_int(data.attrs, "Primitive").is_some_and(|value| value != 0) {
            continue;
        }
        if let Expr::Seq { blocks, .. } = store.expr(data.body)
            && let Some(block) = store.items(blocks).find(|block| store.block(*block).dataflow)
            && let Some(binding) = store.block_bindings(block).next()
        {
            let message = format!("InternalError: Variable {} could not be found in any group", store.var_name(binding.var));
            return Err(vec![Diagnostic::error("relax-composite", message, store.source_span(binding.value))]);
        }
    }
    let grouped = make_grouped_functions(store, module, &partition, true, &[])?;
    let Some(function) = grouped.function(main) else { return Ok(grouped) };
    let builder = BlockBuilder::new(&grouped);
    let mut mutation = Mutation::new(builder);
    let mut annotate = Annotate { original: module, grouped: &grouped, renamed: FxHashMap::default(), errors: Vec::new() };
    let new = build::run(store, &mut mutation, &mut annotate, function);
    mutation.builder.update_function(store, main, new);
    if !annotate.errors.is_empty() {
        return Err(annotate.errors);
    }
    let result = mutation.builder.finish()?;
    Ok(eliminate_dead_code(store, &result, &["main"]))
}

/// Makes the functions of groups public, under names with their compilers.
struct Annotate<'m> {
    original: &'m Module,
    grouped: &'m Module,
    renamed: FxHashMap<Id<Name>, ExprId>,
    errors: PassError,
}

impl BlockMutator for Annotate<'_> {
    fn rule(&self) -> &'static str {
        "function for an external compiler"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Global(_)))
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Call { callee, args, info } = store.expr(post) else { return post };
        let Expr::Global(name) = store.expr(callee) else { return post };
        let Some(function) = self.grouped.function(name) else { return post };
        let Some(compiler) = codegen(store, function) else { return post };
        let new = match self.renamed.get(&name) {
            Some(new) => *new,
            None => {
                cx.builder.remove_function(name);
                let symbol = format!("{}_{compiler}", store.str(name));
                let inlined = match inline_composites(store, self.original, function) {
                    Ok(inlined) => inlined,
                    Err(found) => {
                        self.errors.extend(found);
                        return post;
                    }
                };
                let Expr::Function(id) = store.expr(inlined) else { return post };
                let value = AttrValue::Str(store.name(&symbol));
                let attrs = store.with_attr(store.function(id).attrs, "global_symbol", value);
                let attrs = store.without_attr(Some(attrs), "Primitive");
                let public = with_attrs(store, inlined, attrs);
                let new = cx.builder.add_function(store, public, &symbol);
                self.renamed.insert(name, new);
                new
            }
        };
        store.add(Expr::Call { callee: new, args, info })
    }
}

fn codegen(store: &Store, function: ExprId) -> Option<String> {
    let Expr::Function(id) = store.expr(function) else { return None };
    store.attr_str(store.function(id).attrs, "Codegen").map(str::to_owned)
}

/// Removes dataflow blocks from a function, and moves the composite functions that it calls into it.
fn inline_composites(store: &mut Store, module: &Module, function: ExprId) -> Result<ExprId, PassError> {
    let function = to_non_dataflow(store, module, function)?;
    let builder = BlockBuilder::new(module);
    let mut cx = Mutation::new(builder);
    let mut inline = Inline { module, inlined: FxHashMap::default() };
    let new = build::run(store, &mut cx, &mut inline, function);
    cx.builder.finish().map(|_| new)
}

struct Inline<'m> {
    module: &'m Module,
    inlined: FxHashMap<Id<Name>, ExprId>,
}

impl BlockMutator for Inline<'_> {
    fn rule(&self) -> &'static str {
        "composite function inside"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        store.call(id).is_some_and(|call| matches!(store.expr(call.callee), Expr::Global(_)))
    }

    fn leave(&mut self, store: &mut Store, _: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Call { callee, args, info } = store.expr(post) else { return post };
        let Expr::Global(name) = store.expr(callee) else { return post };
        let Some(function) = self.module.function(name) else { return post };
        let Expr::Function(id) = store.expr(function) else { return post };
        let Function { attrs, .. } = *store.function(id);
        if store.attr_str(attrs, "Composite").is_none() {
            return post;
        }
        let copy = match self.inlined.get(&name) {
            Some(copy) => *copy,
            None => {
                let builder = BlockBuilder::new(self.module);
                let copy = copy_with_new_vars(store, &mut Mutation::new(builder), function);
                let attrs = store.without_attr(attrs, "Primitive");
                let copy = with_attrs(store, copy, attrs);
                self.inlined.insert(name, copy);
                copy
            }
        };
        store.add(Expr::Call { callee: copy, args, info })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    #[should_panic(expected = "Do not have a default for relax.expr.If")]
    fn a_branch_cannot_be_grouped() {
        after(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(c: R.Tensor((), dtype=\"bool\"), x: R.Tensor((2,), dtype=\"float32\")) \
             -> R.Tensor((2,), dtype=\"float32\"):\n        if c:\n            a: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n            \
             y: R.Tensor((2,), dtype=\"float32\") = a\n        else:\n            b: R.Tensor((2,), dtype=\"float32\") = R.log(x)\n            \
             y: R.Tensor((2,), dtype=\"float32\") = b\n        return y\n",
            "MergeCompositeFunctions()",
        );
    }

    /// TVM refuses it, too: its groups are those of `main` alone.
    #[test]
    #[should_panic(expected = "Variable gv could not be found in any group")]
    fn another_function_with_a_dataflow_block_is_refused() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        with R.dataflow():\n            \
                    gv: R.Tensor((2,), dtype=\"float32\") = R.exp(x)\n            R.output(gv)\n        return gv\n";
        let function = &text[text.find("    @R.function").unwrap_or_default()..];
        after(&format!("{text}\n{}", function.replace("def main", "def other")), "MergeCompositeFunctions()");
    }

    #[test]
    #[should_panic(expected = "Variable n could not be found in any group")]
    fn a_function_of_a_scalar_is_refused_where_it_has_a_dataflow_block() {
        after(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> T.int64:\n        \
             with R.dataflow():\n            n: T.int64 = 1\n            R.output(n)\n        return n\n",
            "MergeCompositeFunctions()",
        );
    }
}
