//! FuseOpsByPattern: makes composite functions, for external compilers, of calls of operators that match a pattern.
//!
//! In TVM patterns are objects of Python. [`fuse_ops_by_pattern`] takes those of [`crate::pattern`], and scripts of the
//! user can pass theirs; the pass as written in a list can only have an empty list of patterns.
//!
//! Source: `src/relax/transform/fuse_ops.cc`.

use super::grouping::{Partition, bound_values, make_grouped_functions};
use super::support::with_attrs;
use crate::build::{self, BlockBuilder, BlockMutator, Mutation};
use crate::diag::Diagnostic;
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, Binding, Expr, ExprId, Function, Id, Module, Name, Store, VarId};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::pattern::{Matcher, Matches, Pat, Pattern, Patterns};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.FuseOpsByPattern`.
pub static SPEC: PassSpec = PassSpec {
    name: "FuseOpsByPattern",
    info_name: "FuseOpsByPattern",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param {
            name: "patterns",
            default: "[]",
            doc: explained("Patterns, which are objects of Python in TVM; only none are possible here."),
        },
        Param { name: "bind_constants", default: "True", doc: "Whether constants stay inside of the functions." },
        Param { name: "annotate_codegen", default: "False", doc: "Whether every function is wrapped for its compiler." },
        Param { name: "entry_functions", default: "None", doc: "Names of the functions to look at; all where none are given." },
    ],
    config: &[],
    summary: "Makes composite functions of calls that look like a pattern.",
    doc: explained(
        "Every call that looks like a pattern becomes, with the calls that it was found with, a function with `Composite` (the \
name of the pattern) and `Primitive`. With `annotate_codegen` composite functions are wrapped into public ones with `Codegen`, \
the part of their name before the first dot.",
    ),
    example_before: explained(
        "\
# FuseOpsByPattern(patterns=[], annotate_codegen=True)
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
            gv: R.Tensor((2,), dtype=\"float32\") = cls.relu(x)
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
        cls = Module
        with R.dataflow():
            gv: R.Tensor((2,), dtype=\"float32\") = cls.relu_dnnl(x)
            R.output(gv)
        return gv

    @R.function
    def relu_dnnl(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        R.func_attr({\"Codegen\": \"dnnl\"})
        @R.function
        def local_func(x_1: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
            R.func_attr({\"Composite\": \"dnnl.relu\"})
            with R.dataflow():
                gv: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(x_1)
                R.output(gv)
            return gv

        output: R.Tensor((2,), dtype=\"float32\") = local_func(x)
        return output
",
    ),
    run: Run::Module(run),
};

/// A pattern whose matches become functions (TVM's `FusionPattern`).
pub struct FusionPattern<'p> {
    /// The value of `Composite` in the functions: `dnnl.conv2d_relu`.
    pub name: &'p str,
    /// The table that holds the pattern.
    pub patterns: &'p Patterns,
    /// The pattern of the last call.
    pub pattern: Pat,
    /// Returns true if a match is to be fused.
    pub check: Option<Check<'p>>,
}

/// Checks a call, the matches of the parts of its pattern, and the variables that values are bound to.
pub type Check<'p> = &'p mut dyn FnMut(&mut Store, ExprId, &Matches, &FxHashMap<ExprId, VarId>) -> bool;

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let names = |name: &str| match args.get(name) {
        Literal::List(items) => items.clone(),
        _ => Vec::new(),
    };
    if !names("patterns").is_empty() {
        let message = "patterns are objects of Python and cannot be written here";
        return Err(vec![Diagnostic::error("relax-pattern", message, None)]);
    }
    let entries: Vec<Id<Name>> = names("entry_functions")
        .iter()
        .filter_map(|name| match name {
            Literal::Str(name) => Some(cx.store.name(name)),
            _ => None,
        })
        .collect();
    let module = fuse_ops_by_pattern(cx.store, module, &mut [], args.bool("bind_constants"), &entries)?;
    if args.bool("annotate_codegen") { annotate(cx.store, &module) } else { Ok(module) }
}

/// Makes composite functions of matches, one pattern after the other.
pub fn fuse_ops_by_pattern(
    store: &mut Store,
    module: &Module,
    patterns: &mut [FusionPattern<'_>],
    bind_constants: bool,
    entries: &[Id<Name>],
) -> Result<Module, PassError> {
    let mut module = module.clone();
    for pattern in patterns {
        let mut partition = Partition::default();
        for &(name, function) in module.functions() {
            if (entries.is_empty() || entries.contains(&name)) && is_ordinary(store, function) {
                partition_by_pattern(store, function, pattern, &mut partition);
            }
        }
        module = make_grouped_functions(store, &module, &partition, !bind_constants, entries)?;
    }
    Ok(module)
}

/// True for a function of Relax that was not made for an external compiler or of a group.
fn is_ordinary(store: &Store, function: ExprId) -> bool {
    let Expr::Function(id) = store.expr(function) else { return false };
    let attrs = store.function(id).attrs;
    super::grouping::may_be_grouped(store, function) && store.attr_str(attrs, "Composite").is_none()
}

/// Puts the calls of each match of the pattern into one group (TVM's `PatternBasedPartitioner`).
fn partition_by_pattern(store: &mut Store, function: ExprId, fusion: &mut FusionPattern<'_>, partition: &mut Partition) {
    let bound = bound_values(store, function);
    let mut bindings: Vec<Binding> = Vec::new();
    for id in post_order(store, function) {
        if let Expr::Seq { blocks, .. } = store.expr(id) {
            bindings.extend(store.bindings(blocks));
        }
    }
    let var_of: FxHashMap<ExprId, VarId> = bindings.iter().map(|binding| (binding.value, binding.var)).collect();
    for binding in &bindings {
        let group = partition.add();
        partition.sizes[group] = 1;
        partition.group_of.insert(binding.var, group);
        if store.call(binding.value).is_none() || binding.cast.is_some() {
            continue;
        }
        let Some(matches) = Matcher::new(fusion.patterns, &bound).matches(store, fusion.pattern, binding.value) else { continue };
        if fusion.check.as_mut().is_some_and(|check| !check(store, binding.value, &matches, &var_of)) {
            continue;
        }
        // A value that a wildcard matches may be the end of another group, and stays out.
        let members: Vec<VarId> = matches
            .iter()
            .filter(|(pat, found)| match fusion.patterns.get(*pat) {
                Pattern::Call { .. } => *found != binding.value,
                Pattern::TupleGetItem { .. } => true,
                _ => false,
            })
            .filter_map(|(_, found)| var_of.get(&found).copied())
            .collect();
        // An earlier group is merged only when the match has all of its members.
        let taken = members.iter().filter_map(|var| partition.group_of.get(var)).filter(|group| partition.sizes[**group] > 1);
        let taken: Vec<usize> = taken.copied().collect();
        let inside = |var: &VarId| members.contains(var) || *var == binding.var;
        let whole = partition.group_of.iter().all(|(var, group)| !taken.contains(group) || inside(var));
        if !whole {
            continue;
        }
        partition.attrs[group].push(("Composite", AttrValue::Str(store.name(fusion.name))));
        for var in members {
            let old = partition.group_of.insert(var, group);
            if let Some(old) = old.filter(|old| *old != group) {
                partition.sizes[old] -= 1;
                partition.sizes[group] += 1;
            }
        }
    }
}

/// Wraps composite functions into public ones for their compilers (TVM's `CompositeFunctionAnnotator`).
pub fn annotate(store: &mut Store, module: &Module) -> Result<Module, PassError> {
    let builder = BlockBuilder::new(module);
    let mut cx = Mutation::new(builder);
    let mut wrap = Wrap { module, wrapped: FxHashMap::default() };
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let attrs = store.function(id).attrs;
        if store.attr_str(attrs, "Composite").is_none() && store.attr_str(attrs, "Codegen").is_none() {
            let new = build::run(store, &mut cx, &mut wrap, function);
            cx.builder.update_function(store, name, new);
        }
    }
    cx.builder.finish()
}

struct Wrap<'m> {
    module: &'m Module,
    wrapped: FxHashMap<Id<Name>, ExprId>,
}

impl BlockMutator for Wrap<'_> {
    fn rule(&self) -> &'static str {
        "composite function for its compiler"
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Expr::Call { callee, args, info } = store.expr(post) else { return post };
        let Expr::Global(name) = store.expr(callee) else { return post };
        let Some(function) = self.module.function(name) else { return post };
        let Expr::Function(id) = store.expr(function) else { return post };
        let data = *store.function(id);
        let Some(composite) = store.attr_str(data.attrs, "Composite").map(str::to_owned) else { return post };
        let compiler = composite.split('.').next().unwrap_or_default().to_owned();
        let new = match self.wrapped.get(&name) {
            Some(new) => *new,
            None => {
                let symbol = format!("{}_{compiler}", store.str(name));
                let outer = wrapped(store, function, &data, &compiler, &symbol);
                cx.builder.remove_function(name);
                let new = cx.builder.add_function(store, outer, &symbol);
                self.wrapped.insert(name, new);
                new
            }
        };
        store.add(Expr::Call { callee: new, args, info })
    }
}

/// Makes a function that only calls the composite function, which is defined inside of it.
fn wrapped(store: &mut Store, function: ExprId, data: &Function, compiler: &str, symbol: &str) -> ExprId {
    let attrs = store.without_attr(data.attrs, "Primitive");
    let inner = with_attrs(store, function, attrs);
    let params: Vec<VarId> =
        store.items(data.params).collect::<Vec<_>>().into_iter().map(|param| store.fresh_var(param)).collect();
    let local = store.relax_var("local_func", store.checked_type(inner), false);
    let callee = store.use_var(local);
    let args: Vec<ExprId> = params.iter().map(|param| store.use_var(*param)).collect();
    let args = store.list(&args);
    let value = store.add_typed(Expr::Call { callee, args, info: None }, data.ret);
    let output = store.relax_var("output", data.ret, false);
    let bindings = [Binding { var: local, value: inner, cast: None }, Binding { var: output, value, cast: None }];
    let block = store.add_block_of(&bindings, false);
    let result = store.use_var(output);
    let body = store.add_seq(&[block], result);
    let mut set = None;
    for (key, text) in [("Codegen", compiler), ("global_symbol", symbol)] {
        let value = AttrValue::Str(store.name(text));
        set = Some(store.with_attr(set, key, value));
    }
    let params = store.list(&params);
    crate::build::function_over(store, None, Function { params, body, attrs: set, ..*data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::{self, PrintOptions};

    #[test]
    fn calls_that_look_like_a_pattern_become_a_function_and_another_chain_is_another_one() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> \
                    R.Tensor((2,), dtype=\"float32\"):\n        with R.dataflow():\n            lv: R.Tensor((2,), \
                    dtype=\"float32\") = R.exp(x)\n            lv1: R.Tensor((2,), dtype=\"float32\") = R.nn.relu(lv)\n            \
                    lv2: R.Tensor((2,), dtype=\"float32\") = R.exp(lv1)\n            gv: R.Tensor((2,), dtype=\"float32\") = \
                    R.nn.relu(lv2)\n            R.output(gv)\n        return gv\n";
        let store = &mut Store::new();
        let module = crate::parse::parse(store, text).program.module;
        let module = crate::infer::infer_module(store, &module).expect("types");
        let mut patterns = Patterns::new();
        let any = patterns.wildcard();
        let exp = patterns.call_op("exp", &[any]);
        let pattern = patterns.call_op("nn.relu", &[exp]);
        let fusion = FusionPattern { name: "x.exp_relu", patterns: &patterns, pattern, check: None };
        let fused = fuse_ops_by_pattern(store, &module, &mut [fusion], true, &[]).expect("it can be fused");
        let made = print::module(store, &fused, &PrintOptions::default());
        assert_eq!(made.matches("cls.fused_relax_exp_relax_nn_relu(").count(), 2, "{made}");
        assert!(made.contains("\"Composite\": \"x.exp_relu\", \"Primitive\": True"), "{made}");
        let mut refuses = |_: &mut Store, _: ExprId, _: &Matches, _: &FxHashMap<ExprId, VarId>| false;
        let fusion = FusionPattern { name: "x.exp_relu", patterns: &patterns, pattern, check: Some(&mut refuses) };
        assert_eq!(fuse_ops_by_pattern(store, &module, &mut [fusion], true, &[]), Ok(module));
    }
}
