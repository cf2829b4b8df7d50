//! Chooses the functions and statics that stay in the first half of the engine (`split`).

use crate::linked::{Linked, Uses};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use walrus::ir::{Const, Value, Visitor, dfs_in_order};
use walrus::{FunctionId, FunctionKind, Module};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The modules of the engine that a first program in Relay does without: the other dialect, rare operators and kernels,
/// and functions for the user's scripts alone. A call of one is still correct: it is fetched then.
const SECOND: &[&str] = &[
    "build::",
    "check::",
    "eval::making::",
    "eval::relax::",
    "eval::seed::",
    "eval::tir::",
    "infer::exhaustive::",
    "infer::relax::",
    "ir::equal::prim::",
    "ops::dynamic::",
    "ops::image::",
    "ops::nn::bitserial::",
    "ops::nn::conv_kernel::",
    "ops::nn::conv_transpose::",
    "ops::nn::dense_kernel::",
    "ops::nn::loss::",
    "ops::nn::misc::",
    "ops::nn::norm_kernel::",
    "ops::nn::pool_kernel::",
    "ops::nn::space",
    "ops::nn::sparse::",
    "ops::nn::winograd::",
    "ops::qnn::",
    "ops::random::",
    "ops::relax::",
    "ops::special::",
    "ops::tensor::arrange_kernels::",
    "ops::tensor::einsum::",
    "ops::tensor::fourier::",
    "ops::tensor::index_kernels::",
    "ops::tensor::reduce_kernels::",
    "ops::tensor::scatter_kernels::",
    "ops::tensor::sort_kernels::",
    "ops::vision::",
    "parse::front::",
    "parse::relax::",
    "parse::relay::ndarray::",
    "parse::relay::section::",
    "parse::script::",
    "parse::tir::",
    "parse::trace::",
    "pass::built_in::",
    "passes::keeps::",
    "passes::any::apply_pass_to_function::",
    "passes::relax::",
    "passes::relay::annotate_memory_scope::",
    "passes::relay::annotate_spans::",
    "passes::relay::annotate_target::",
    "passes::relay::annotate_used_memory::",
    "passes::relay::capture_post_dfs_index_in_spans::",
    "passes::relay::combine_parallel",
    "passes::relay::conv2d_to_sparse",
    "passes::relay::convert_layout::",
    "passes::relay::defunctionalization::",
    "passes::relay::defuse_ops::",
    "passes::relay::dense_to_sparse::",
    "passes::relay::div_to_mul::",
    "passes::relay::dynamic_to_static::",
    "passes::relay::eta_expand::",
    "passes::relay::extract_fused_functions::",
    "passes::relay::fake_quantization_to_integer::",
    "passes::relay::fast_math::",
    "passes::relay::first_order_gradient::",
    "passes::relay::fold_explicit_padding::",
    "passes::relay::gradient::",
    "passes::relay::inline::",
    "passes::relay::label_ops::",
    "passes::relay::lambda_lift::",
    "passes::relay::lazy_gradient_init::",
    "passes::relay::legalize::",
    "passes::relay::manifest_alloc::",
    "passes::relay::manifest_lifetimes::",
    "passes::relay::memory_plan::",
    "passes::relay::merge_compiler_regions::",
    "passes::relay::merge_composite::",
    "passes::relay::partial_evaluate::",
    "passes::relay::partition_graph::",
    "passes::relay::plan_devices::",
    "passes::relay::qnn_legalize::",
    "passes::relay::quantize_",
    "passes::relay::remove_standalone_reshapes::",
    "passes::relay::simplify_fc_transpose::",
    "passes::relay::support::affine::",
    "passes::relay::support::combine",
    "passes::relay::support::let_lists::",
    "passes::relay::support::lifetimes::",
    "passes::relay::support::notation::rare::",
    "passes::relay::support::regions::",
    "passes::relay::support::text_hash::",
    "passes::relay::support::types::",
    "passes::relay::support::weights::",
    "passes::relay::to_a_normal_form::",
    "passes::relay::to_cps::",
    "passes::relay::to_graph_normal_form::",
    "passes::relay::to_mixed_precision::",
    "passes::relay::un_cps::",
    "passes::tir::",
    "pattern::graph::",
    "pattern::rare::",
    "print::metadata::",
    "print::relax::",
    "print::script::",
    "print::tir::",
    "schedule::",
    "session::Session::graph",
    "session::Session::history",
    "session::beside::",
    "session::files::",
    "session::graph::",
    "session::history::",
    "session::measure::",
    "session::nest::",
    "session::place::",
    "session::trial::",
    "session::values::",
    "tir::",
    "topi::",
    "trust::",
    "verify::relax::",
    "verify::tir::",
    "wasm::nest::",
    "wasm::trust::",
    "wasm::user::",
    "wasm::values::",
];

/// The greatest size, in instructions, of a function that stays in the first half because its stub would be as large.
const STUB: u64 = 40;

/// The contents of the first half.
pub struct Kept {
    pub functions: HashSet<FunctionId>,
    /// Functions that it holds pointers to, whether it keeps them or not.
    pub pointed: HashSet<FunctionId>,
    /// True for each static that it keeps.
    statics: Vec<bool>,
}

impl Kept {
    /// Finds the items reachable from outside without passing through a function of the second half.
    pub fn of(module: &Module, linked: &Linked) -> Result<Kept> {
        let mut by_name = HashMap::<&str, Vec<FunctionId>>::new();
        let mut goes = HashSet::new();
        for (id, local) in module.funcs.iter_local() {
            let name = module.funcs.get(id).name.as_deref().unwrap_or_default();
            by_name.entry(name).or_default().push(id);
            // Of equal functions the compiler keeps one, under whichever name; those are mostly small closures.
            if local.size() > STUB && is_named(name) {
                goes.insert(id);
            }
        }
        let exported = module.exports.iter().filter_map(|export| match export.item {
            walrus::ExportItem::Function(function) => Some(function),
            _ => None,
        });
        // An exported function must stay, whatever its name.
        let mut waiting: Vec<FunctionId> = exported.chain(module.start).collect();
        let mut kept = Kept { functions: HashSet::new(), pointed: HashSet::new(), statics: vec![false; linked.statics.len()] };
        while let Some(function) = waiting.pop() {
            if !kept.functions.insert(function) {
                continue;
            }
            waiting.extend(calls(module, function).into_iter().filter(|callee| !goes.contains(callee)));
            let name = module.funcs.get(function).name.as_deref().unwrap_or_default();
            let mut uses: Vec<&Uses> = linked.functions.get(name).into_iter().collect();
            if uses.is_empty() {
                knows_no_static(module, function, linked)?;
            }
            while let Some(next) = uses.pop() {
                let pointed = next.functions.iter().filter_map(|name| by_name.get(name.as_str())).flatten();
                for &function in pointed {
                    kept.pointed.insert(function);
                    if !goes.contains(&function) {
                        waiting.push(function);
                    }
                }
                for &index in &next.statics {
                    if !std::mem::replace(&mut kept.statics[index], true) {
                        uses.push(&linked.statics[index].uses);
                    }
                }
            }
        }
        Ok(kept)
    }

    /// Prints the sizes in the first half: instructions of functions by module, bytes of statics; the largest first.
    pub fn weigh(&self, module: &Module, linked: &Linked) {
        let mut weights = HashMap::<String, u64>::new();
        for (id, local) in module.funcs.iter_local().filter(|(id, _)| self.functions.contains(id)) {
            let name = format!("{:#}", rustc_demangle::demangle(module.funcs.get(id).name.as_deref().unwrap_or_default()));
            let name = name.trim_start_matches(['<', '&', '*', '(', '[']);
            let path: Vec<&str> = name.split("::").take(6).collect();
            *weights.entry(path.join("::")).or_default() += local.size();
        }
        let mut weights: Vec<(u64, String)> = weights.into_iter().map(|(name, size)| (size, name)).collect();
        weights.sort_by(|a, b| b.cmp(a));
        for (size, name) in weights.iter().filter(|(size, _)| *size > 400) {
            println!("{size:>9}  {name}");
        }
        let bytes: u32 =
            linked.statics.iter().zip(&self.statics).filter(|(_, kept)| **kept).map(|(one, _)| one.place.len() as u32).sum();
        println!("{bytes:>9}  bytes of statics");
    }

    /// Returns the places in memory of the statics that it does not keep. Statics may lie over each other: a byte goes
    /// when none that stays holds it.
    pub fn without(&self, linked: &Linked) -> Vec<Range<u32>> {
        #[derive(Clone, Copy, PartialEq, PartialOrd)]
        enum Byte {
            Unused,
            Goes,
            Stays,
        }
        let end = linked.statics.iter().map(|one| one.place.end).max().unwrap_or_default();
        let mut bytes = vec![Byte::Unused; end as usize];
        for (one, &kept) in linked.statics.iter().zip(&self.statics) {
            let fate = if kept || !one.constant { Byte::Stays } else { Byte::Goes };
            for byte in &mut bytes[one.place.start as usize..one.place.end as usize] {
                if *byte < fate {
                    *byte = fate;
                }
            }
        }
        let mut at = 0;
        let mut runs = Vec::new();
        for run in bytes.chunk_by(|a, b| a == b) {
            let from = at;
            at += run.len() as u32;
            if run[0] == Byte::Goes {
                runs.push(from..at);
            }
        }
        runs
    }
}

/// Fails for a function that the linker does not know and that may refer to a static all the same. Functions of
/// wasm-bindgen pass values on and refer to none.
fn knows_no_static(module: &Module, function: FunctionId, linked: &Linked) -> Result<()> {
    struct Constants(Vec<u32>);
    impl<'m> Visitor<'m> for Constants {
        fn visit_const(&mut self, constant: &Const) {
            if let Value::I32(value) = constant.value {
                self.0.push(value as u32);
            }
        }
    }
    let FunctionKind::Local(local) = &module.funcs.get(function).kind else { return Ok(()) };
    let mut found = Constants(Vec::new());
    dfs_in_order(&mut found, local, local.entry_block());
    if found.0.iter().any(|address| linked.statics.iter().any(|one| one.place.contains(address))) {
        let name = module.funcs.get(function).name.as_deref().unwrap_or("without a name");
        return Err(format!("the function {name} refers to a static, and the linker does not know it").into());
    }
    Ok(())
}

/// Does this function stand in one of the modules of the second half? Methods of a trait are named `<type as trait>::method`.
fn is_named(mangled: &str) -> bool {
    let name = format!("{:#}", rustc_demangle::demangle(mangled));
    let name = name.trim_start_matches(['<', '&', '*', '(', '[']).trim_start_matches("mut ").trim_start_matches("dyn ");
    name.strip_prefix("passlab::").is_some_and(|path| SECOND.iter().any(|prefix| path.starts_with(prefix)))
}

struct Calls<'m> {
    found: &'m mut Vec<FunctionId>,
}

impl<'m> Visitor<'m> for Calls<'_> {
    fn visit_function_id(&mut self, function: &FunctionId) {
        self.found.push(*function);
    }
}

/// Returns the functions that a function calls.
pub fn calls(module: &Module, function: FunctionId) -> Vec<FunctionId> {
    let mut found = Vec::new();
    if let FunctionKind::Local(local) = &module.funcs.get(function).kind {
        dfs_in_order(&mut Calls { found: &mut found }, local, local.entry_block());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::SECOND;
    use std::path::Path;

    /// Does a prefix name a module of the engine, the beginning of the name of one, or a method of a type?
    fn names_something(source: &Path, prefix: &str) -> bool {
        let parts: Vec<&str> = prefix.split("::").collect();
        let [modules @ .., last] = parts.as_slice() else { return false };
        if let [module, ty] = modules
            && ty.starts_with(char::is_uppercase)
        {
            let files = std::fs::read_dir(source.join(module)).into_iter().flatten().flatten();
            return files
                .filter_map(|file| std::fs::read_to_string(file.path()).ok())
                .any(|text| text.contains(&format!("fn {last}")));
        }
        let folder = source.join(modules.join("/"));
        if last.is_empty() {
            return folder.is_dir() || folder.with_extension("rs").is_file();
        }
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.filter_map(|file| file.file_name().into_string().ok()).any(|name| name.starts_with(last))
    }

    #[test]
    fn each_prefix_of_the_second_half_names_something() {
        let source = crate::sh::root().join("src");
        let idle: Vec<&str> = SECOND.iter().copied().filter(|prefix| !names_something(&source, prefix)).collect();
        assert!(idle.is_empty(), "nothing in src is named {idle:?}, so it moves nothing to the second half");
        assert!(!names_something(&source, "passes::relay::no_such_pass::"));
    }
}
