//! MergeCompilerRegions: merges neighbouring regions for one compiler.
//!
//! Each region is merged with those that its inputs come from, when they are for the same compiler and no region on the
//! way between them is for another: that one would have to run both before and after the merged region. Annotations
//! that are then inside of a region are removed.
//!
//! Does nothing to regions that are joined by operators outside of all regions. TVM visits the regions before one in no
//! particular order; here it is that of its inputs.
//!
//! Source: `src/relay/transforms/merge_compiler_regions.cc`.

use super::support::regions::{BEGIN, END, RegionId, Regions};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, IdMap, Module, Store};
use crate::ops::build::{arg, is_call};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Merges regions whose outputs another region of the same compiler uses.
pub static SPEC: PassSpec = PassSpec {
    name: "MergeCompilerRegions",
    info_name: "sequential",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Joins neighbouring regions that are for the same external compiler.",
    doc: explained(
        "What lies between `annotation.compiler_begin` and `annotation.compiler_end` is for a compiler of its own. Where the \
output of one region is the input of another for the same compiler, both become one and the signs between them go, unless \
another compiler has to run in between.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let fail = |text: String| vec![Diagnostic::error("relay-compiler-regions", text, cx.store.source_span(function))];
    let regions = Regions::of_function(cx.store, function).map_err(fail)?;
    let mut merger = Merger { regions, seen: IdMap::new(), merged: FxHashSet::default(), apart: FxHashMap::default() };
    merger.run(cx.store, function);
    Ok(rewrite(cx.store, function, &mut Inner(&merger.regions)))
}

struct Merger {
    regions: Regions,
    seen: IdMap<Expr, ()>,
    merged: FxHashSet<RegionId>,
    /// The regions that each region must not be merged with.
    apart: FxHashMap<RegionId, FxHashSet<RegionId>>,
}

enum Step {
    Visit(ExprId),
    Leave(ExprId),
    Merge(RegionId),
}

impl Merger {
    fn run(&mut self, store: &Store, root: ExprId) {
        let mut stack = vec![Step::Visit(root)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Visit(id) => {
                    if self.seen.contains(id) {
                        continue;
                    }
                    self.seen.insert(id, ());
                    stack.push(Step::Leave(id));
                    let first = stack.len();
                    for_each_child(store, id, |child| stack.push(Step::Visit(child)));
                    stack[first..].reverse();
                }
                Step::Leave(id) => {
                    let Some(region) = self.regions.get(id).filter(|_| is_call(store, id, END)) else { continue };
                    if self.merged.contains(&region) {
                        continue;
                    }
                    // The regions before this one are merged first.
                    stack.push(Step::Merge(region));
                    let before = self.regions.region(region).inputs.iter().rev().map(|begin| arg(store, *begin, 0));
                    stack.extend(before.filter(|id| self.regions.get(*id).is_some()).map(Step::Visit));
                }
                Step::Merge(region) => self.merge(store, region),
            }
        }
    }

    fn merge(&mut self, store: &Store, region: RegionId) {
        let (mut parents, mut related) = (Vec::new(), Vec::new());
        for begin in &self.regions.region(region).inputs {
            let input = arg(store, *begin, 0);
            match self.regions.get(input) {
                Some(parent) if !parents.contains(&parent) => {
                    parents.push(parent);
                    related.push(parent);
                }
                Some(_) => {}
                None => self.through_branches(store, input, &mut related),
            }
        }
        for parent in &related {
            let kept: Vec<RegionId> = self.apart.get(parent).into_iter().flatten().copied().collect();
            self.apart.entry(region).or_default().extend(kept);
        }
        for parent in parents {
            if self.regions.region(parent).target != self.regions.region(region).target {
                self.apart.entry(region).or_default().insert(parent);
                continue;
            }
            if parent == region || self.apart.get(&region).is_some_and(|apart| apart.contains(&parent)) {
                continue;
            }
            self.regions.merge(store, parent, region);
            for apart in self.apart.values_mut() {
                if apart.remove(&parent) {
                    apart.insert(region);
                }
            }
        }
        self.merged.insert(region);
    }

    /// Collects the regions that the parts of an `if` belong to, or the `if`s in them.
    fn through_branches(&self, store: &Store, id: ExprId, related: &mut Vec<RegionId>) {
        let mut stack = vec![id];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if let Expr::If { cond, then, other } = store.expr(id)
                && seen.insert(id)
            {
                for part in [cond, then, other] {
                    match self.regions.get(part) {
                        Some(region) => related.push(region),
                        None => stack.push(part),
                    }
                }
            }
        }
    }
}

/// Removes annotations that are inside of a region.
struct Inner<'a>(&'a Regions);

impl ExprMutator for Inner<'_> {
    fn rule(&self) -> &'static str {
        "regions merged"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if is_call(store, pre, BEGIN) {
            let end = arg(store, pre, 0);
            let inside = is_call(store, end, END) && self.0.get(pre) == self.0.get(end);
            let input = arg(store, post, 0);
            if inside && is_call(store, input, END) {
                return arg(store, input, 0);
            }
        }
        post
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, unchanged};

    /// `exp` and `add` for the compiler `a`, and what lies between them for `middle`.
    fn program(middle: &str) -> String {
        format!(
            "def @main(%x: Tensor[(4), float32]) {{
               %0 = annotation.compiler_begin(%x, compiler=\"a\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               %1 = exp(%0);
               %2 = annotation.compiler_end(%1, compiler=\"a\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               %3 = annotation.compiler_begin(%2, compiler=\"{middle}\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               %4 = negative(%3);
               %5 = annotation.compiler_end(%4, compiler=\"{middle}\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               %6 = annotation.compiler_begin(%2, compiler=\"a\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               %7 = annotation.compiler_begin(%5, compiler=\"a\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               annotation.compiler_end(add(%6, %7), compiler=\"a\", attrs_type_key=\"relay.attrs.CompilerAttrs\")
             }}"
        )
    }

    #[test]
    fn regions_for_one_compiler_become_one() {
        let text = after("MergeCompilerRegions()", &program("a"));
        assert_eq!((text.matches("compiler_begin(").count(), text.matches("compiler_end(").count()), (1, 1), "{text}");
    }

    #[test]
    fn branches_that_are_shared_are_gone_through_once() {
        // Every `if` has the one before it in both of its branches: as a tree they would be 2^60.
        let mut text = String::from("def @main(%c: bool, %x: Tensor[(4), float32]) {\n  %0 = exp(%x);\n");
        for i in 1..60 {
            text += &format!("  %{i} = if (%c) {{ %{} }} else {{ %{} }};\n", i - 1, i - 1);
        }
        let key = "attrs_type_key=\"relay.attrs.CompilerAttrs\"";
        text += &format!("  %60 = annotation.compiler_begin(%59, compiler=\"a\", {key});\n");
        text += &format!("  annotation.compiler_end(exp(%60), compiler=\"a\", {key})\n}}");
        unchanged("MergeCompilerRegions()", &text);
    }

    #[test]
    fn a_region_that_runs_before_and_after_another_is_not_made() {
        // `exp` would be in the region of `add`, which needs `negative`, which needs `exp`.
        unchanged("MergeCompilerRegions()", &program("b"));
    }
}
