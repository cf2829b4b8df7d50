//! Einstein sums.

use super::{ensure, tensors_of_tuple};
use crate::ir::{Dim, DimOp};
use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern, RuleCx, RuleResult, broadcast_shapes};

/// Attributes `relay.attrs.EinsumAttrs`.
pub static EINSUM: AttrsSchema =
    AttrsSchema { key: "relay.attrs.EinsumAttrs", fields: &[AttrField::required("equation", AttrKind::Str)] };

/// The operators of this family.
pub static OPS: &[OpInfo] = &[OpInfo {
    name: "einsum",
    doc: "Sum of products over indices named by an equation, such as `ij,jk->ik`.",
    args: &["data"],
    attrs: Some(&EINSUM),
    rule: Some(einsum_rule),
    pattern: Some(OpPattern::Injective),
    ..OpInfo::BASE
}];

/// Stands for an ellipsis among the labels; before all letters in their order.
const ELLIPSIS: char = '\0';

/// An equation such as `ij,jk->ik` (TVM's `EinsumEquation`).
struct Equation {
    /// The labels of each operand.
    inputs: Vec<Vec<char>>,
    /// The labels of the result.
    output: Vec<char>,
}

impl Equation {
    /// Reads an equation. Without an arrow the result has the ellipsis and the labels that occur
    /// once, in alphabetical order.
    fn parse(text: &str) -> Result<Equation, String> {
        let mut inputs = Vec::new();
        let mut current = Vec::new();
        let mut arrow = false;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                ' ' => {}
                '-' => {
                    ensure!(!arrow, "Equation can only have one arrow");
                    rest = rest.strip_prefix('>').ok_or("Cannot parse the Einsum equation: invalid arrow")?;
                    arrow = true;
                    inputs.push(std::mem::take(&mut current));
                }
                ',' => inputs.push(std::mem::take(&mut current)),
                '.' => {
                    ensure!(!current.contains(&ELLIPSIS), "Ellipsis can only appear once for each input and output");
                    rest = rest.strip_prefix("..").ok_or("Cannot parse the Einsum equation: invalid ellipsis")?;
                    current.push(ELLIPSIS);
                }
                c if c.is_ascii_alphabetic() => current.push(c),
                c => return Err(format!("Cannot parse the Einsum equation: invalid character {c} in equation {text}")),
            }
        }
        if arrow {
            return Ok(Equation { inputs, output: current });
        }
        inputs.push(current);
        let mut labels: Vec<char> = inputs.iter().flatten().copied().collect();
        labels.sort_unstable();
        let mut output = Vec::new();
        for group in labels.chunk_by(|a, b| a == b) {
            if group[0] == ELLIPSIS || group.len() == 1 {
                output.push(group[0]);
            }
        }
        Ok(Equation { inputs, output })
    }
}

fn einsum_rule(cx: &mut RuleCx<'_>) -> RuleResult {
    let Some(parts) = tensors_of_tuple(cx, 0, "einsum")? else { return Ok(false) };
    let Some(&(_, dtype)) = parts.first() else { return Err("einsum needs at least one tensor".into()) };
    ensure!(parts.iter().all(|(_, d)| *d == dtype), "relay.einsum requires all tensors have the same dtype");
    let equation = Equation::parse(cx.attr_text("equation"))?;
    ensure!(equation.inputs.len() == parts.len(), "Number of operands does not match the equation");
    let mut extents: Vec<(char, Dim)> = Vec::new();
    let mut ellipsis: Vec<Dim> = Vec::new();
    for (labels, (shape, _)) in equation.inputs.iter().zip(&parts) {
        let hidden = covered(labels, shape.len())?;
        let mut place = 0;
        for &label in labels {
            if label == ELLIPSIS {
                let part = &shape[place..place + hidden];
                let merged = broadcast_shapes(cx.store, &ellipsis, part);
                ellipsis = merged.ok_or("the axes that the ellipses cover do not broadcast")?;
                place += hidden;
                continue;
            }
            let extent = shape[place];
            place += 1;
            match extents.iter_mut().find(|(l, _)| *l == label) {
                None => extents.push((label, extent)),
                Some((_, known)) => *known = joined(cx, *known, extent)?,
            }
        }
    }
    let mut out = Vec::new();
    for label in equation.output {
        match extents.iter().find(|(l, _)| *l == label) {
            Some((_, extent)) => out.push(*extent),
            None if label == ELLIPSIS => out.extend(&ellipsis),
            None => return Err(format!("einsum: `{label}` occurs only in the result")),
        }
    }
    cx.output_tensor(&out, dtype)
}

/// How many axes the ellipsis among `labels` covers in a tensor of that rank.
fn covered(labels: &[char], rank: usize) -> Result<usize, String> {
    let named = labels.iter().filter(|l| **l != ELLIPSIS).count();
    let fits = if named < labels.len() { named <= rank } else { named == rank };
    ensure!(fits, "einsum: {named} labels for a tensor of rank {rank}");
    Ok(rank - named)
}

/// The extent of a label that stands for two axes.
fn joined(cx: &mut RuleCx<'_>, a: Dim, b: Dim) -> Result<Dim, String> {
    match (a.known(), b.known()) {
        (Some(x), Some(y)) if x == y => Ok(a),
        (Some(x), Some(y)) => {
            ensure!(x == 1 || y == 1, "Cannot broadcast extents {x} and {y}");
            Ok(Dim::int(x.max(y)))
        }
        (Some(_), None) => Ok(b),
        (None, Some(_)) => Ok(a),
        (None, None) => Ok(cx.dim(DimOp::Max, a, b)),
    }
}
