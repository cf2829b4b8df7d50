//! Regions of a function between `annotation.compiler_begin` and `annotation.compiler_end` (TVM's `AnnotatedRegionSet`,
//! `src/relay/analysis/annotated_region_set.cc`).

use crate::ir::walk::for_each_child;
use crate::ir::{Expr, ExprId, IdMap, Store};
use crate::ops::build::{arg, is_call};
use rustc_hash::FxHashSet;

/// The annotation of an input of a region.
pub const BEGIN: &str = "annotation.compiler_begin";
/// The annotation of an output of a region.
pub const END: &str = "annotation.compiler_end";

/// Returns the compiler that a call of one of the two annotations is for.
pub fn compiler(store: &Store, sign: ExprId) -> &str {
    store.attr_str(store.call(sign).and_then(|call| call.attrs), "compiler").unwrap_or_default()
}

/// A part of a function that is for one compiler.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its number in its function.
    pub id: u32,
    /// The compiler that compiles the region.
    pub target: String,
    /// Calls of [`BEGIN`], in the order in which they are met.
    pub inputs: Vec<ExprId>,
    /// Calls of [`END`], in the order in which they are met.
    pub outputs: Vec<ExprId>,
}

/// The number of a region in [`Regions`]; one that was merged into another is an alias of that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RegionId(usize);

/// The regions of a function.
#[derive(Default)]
pub struct Regions {
    all: Vec<Region>,
    /// The region that each was merged into; itself while it stands.
    into: Vec<usize>,
    of: IdMap<Expr, usize>,
}

impl Regions {
    /// Finds the regions of a function. An error where the annotations do not match.
    pub fn of_function(store: &Store, function: ExprId) -> Result<Regions, String> {
        enum Step {
            Visit(ExprId),
            Leave(ExprId),
        }
        let mut regions = Regions::default();
        let mut seen: IdMap<Expr, ()> = IdMap::new();
        let mut stack = vec![Step::Visit(function)];
        while let Some(step) = stack.pop() {
            match step {
                Step::Visit(id) if seen.contains(id) => {}
                Step::Visit(id) => {
                    seen.insert(id, ());
                    match store.expr(id) {
                        Expr::Call { .. } | Expr::Tuple(_) | Expr::TupleGetItem { .. } => stack.push(Step::Leave(id)),
                        // The node is put into a region before its operands are visited.
                        _ => regions.add(store, id)?,
                    }
                    let first = stack.len();
                    for_each_child(store, id, |child| stack.push(Step::Visit(child)));
                    stack[first..].reverse();
                }
                Step::Leave(id) => regions.add(store, id)?,
            }
        }
        Ok(regions)
    }

    /// Returns the region of a node.
    pub fn get(&self, id: ExprId) -> Option<RegionId> {
        let mut slot = *self.of.get(id)?;
        while self.into[slot] != slot {
            slot = self.into[slot];
        }
        Some(RegionId(slot))
    }

    /// Returns the region of this number.
    pub fn region(&self, id: RegionId) -> &Region {
        &self.all[id.0]
    }

    /// Returns the regions that were not merged into another, in the order of their numbers.
    pub fn standing(&self) -> impl Iterator<Item = RegionId> + '_ {
        (0..self.all.len()).filter(|slot| self.into[*slot] == *slot).map(RegionId)
    }

    /// Merges `source` into `target`. Values that went from the one to the other are no inputs or outputs any more.
    pub fn merge(&mut self, store: &Store, source: RegionId, target: RegionId) {
        if source == target {
            return;
        }
        let Region { inputs, outputs, .. } = self.all[source.0].clone();
        self.all[target.0].inputs.extend(inputs);
        self.all[target.0].outputs.extend(outputs);
        let all = std::mem::take(&mut self.all[target.0].inputs);
        let (inner, inputs): (Vec<ExprId>, Vec<ExprId>) =
            all.into_iter().partition(|input| self.get(arg(store, *input, 0)) == Some(source));
        let gone: FxHashSet<ExprId> = inner.iter().map(|input| arg(store, *input, 0)).collect();
        let region = &mut self.all[target.0];
        region.inputs = inputs;
        region.outputs.retain(|output| !gone.contains(output));
        self.into[source.0] = target.0;
    }

    /// Puts a node into the region of its operands, or opens or closes one.
    fn add(&mut self, store: &Store, id: ExprId) -> Result<(), String> {
        let mut operands = Vec::new();
        match store.expr(id) {
            Expr::Call { .. } if is_call(store, id, BEGIN) => {
                let slot = self.all.len();
                let target = compiler(store, id).to_owned();
                self.all.push(Region { id: slot as u32, target, inputs: vec![id], outputs: Vec::new() });
                self.into.push(slot);
                self.of.insert(id, slot);
                return Ok(());
            }
            Expr::Call { .. } if is_call(store, id, END) => {
                let region = self.get(arg(store, id, 0)).ok_or("Cannot find the corresponding region for end annotation")?;
                if self.region(region).target != compiler(store, id) {
                    return Err("the two ends of a region are for different compilers".to_owned());
                }
                self.of.insert(id, region.0);
                self.all[region.0].outputs.push(id);
                return Ok(());
            }
            Expr::Call { args, .. } => operands.extend(store.items(args)),
            Expr::Tuple(_) | Expr::TupleGetItem { .. } | Expr::If { .. } | Expr::RefCreate(_) | Expr::RefRead(_) => {
                for_each_child(store, id, |child| operands.push(child));
            }
            Expr::Let { value, body, .. } => operands.extend([value, body]),
            Expr::RefWrite { reference, .. } => operands.push(reference),
            _ => return Ok(()),
        }
        // The outputs of a region are no longer in it.
        operands.retain(|operand| !is_call(store, *operand, END));
        let found: Vec<Option<RegionId>> = operands.iter().map(|operand| self.get(*operand)).collect();
        let Some(region) = found.iter().flatten().next().copied() else { return Ok(()) };
        if found.contains(&None) {
            return Err("Arg regions are inconsistent: a part of a call is in a region and another is not".to_owned());
        }
        for other in operands {
            if let Some(other) = self.get(other) {
                self.merge(store, other, region);
            }
        }
        match self.get(id) {
            Some(own) => self.merge(store, own, region),
            None => {
                self.of.insert(id, region.0);
            }
        }
        Ok(())
    }
}
