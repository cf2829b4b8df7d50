//! Einstein sums.

use super::binary::Arithmetic;
use super::{ensure, tensors_of_tuple};
use crate::ir::sort::sort_by;
use crate::ir::{DType, Dim, PrimOp, Tensor};
use crate::ops::concrete::result_types;
use crate::ops::kernel::{by_lane, count, offsets, read, round_to, strides, write};
use crate::ops::relax::deduce;
use crate::ops::row::{op, relax, relay, value};
use crate::ops::schema::{field, schema};
use crate::ops::{AttrKind, OpInfo, OpPattern};
use crate::ops::{EvalError, KernelCx};
use crate::ops::{RuleCx, RuleResult, broadcast_shapes};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[op("einsum", "Sum of products over indices named by an equation, such as `ij,jk->ik`.")
    .pattern(OpPattern::Injective)
    .kernel(einsum_kernel)
    .relay(relay(&["data"], einsum_rule).attrs(&schema("relay.attrs.EinsumAttrs", &[field::required("equation", AttrKind::Str)])))
    .relax(
        relax(&[value("operands")], deduce::linear_algebra::einsum)
            .attrs(&schema("relax.attrs.EinsumAttrs", &[field::required("subscripts", AttrKind::Str)])),
    )];

/// The label of an ellipsis; it comes before all letters in their order.
const ELLIPSIS: char = '\0';

/// An equation such as `ij,jk->ik` (TVM's `EinsumEquation`).
struct Equation {
    /// The labels of each operand.
    inputs: Vec<Vec<char>>,
    /// The labels of the result.
    output: Vec<char>,
}

impl Equation {
    /// Parses an equation. Without an arrow the result has the ellipsis and the labels that occur
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
        sort_by(&mut labels, char::cmp);
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

/// Returns the number of axes that the ellipsis among `labels` covers in a tensor of that rank.
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
        (None, None) => Ok(cx.dim(PrimOp::Max, a, b)),
    }
}

fn einsum_kernel(cx: &KernelCx<'_>, x: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let (shape, dtype) = result_types(cx, einsum_rule, x, true)?.swap_remove(0);
    let equation = Equation::parse(cx.text("equation"))?;
    let loops = Loops::of(&equation, x, shape)?;
    by_lane!(dtype, T => Ok(vec![loops.run::<T>(x, dtype)?]))
}

/// An equation as nested loops: those over the result outside, the summed ones inside in
/// alphabetical order, each operand with its strides in both.
struct Loops {
    shape: Vec<i64>,
    summed: Vec<i64>,
    outer: Vec<Vec<usize>>,
    inner: Vec<Vec<usize>>,
}

impl Loops {
    fn of(equation: &Equation, x: &[Tensor], shape: Vec<i64>) -> Result<Loops, EvalError> {
        let widest = equation.inputs.iter().zip(x).filter(|(l, _)| l.contains(&ELLIPSIS));
        let hidden =
            widest.map(|(l, t)| covered(l, t.shape.len())).collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(0);
        // A loop is a label, or one axis that the ellipses cover.
        let loops_of = |labels: &[char], hidden: usize, covered: usize| -> Vec<(char, usize)> {
            let expand = |l: &char| match *l {
                ELLIPSIS => (hidden - covered..hidden).map(|i| (ELLIPSIS, i)).collect::<Vec<_>>(),
                l => vec![(l, 0)],
            };
            labels.iter().flat_map(expand).collect()
        };
        let outer_loops = loops_of(&equation.output, hidden, hidden);
        let mut extents: Vec<((char, usize), i64)> = Vec::new();
        let mut operands = Vec::new();
        for (labels, tensor) in equation.inputs.iter().zip(x) {
            let loops = loops_of(labels, hidden, covered(labels, tensor.shape.len())?);
            for (name, extent) in loops.iter().zip(tensor.shape.iter()) {
                match extents.iter_mut().find(|(n, _)| n == name) {
                    Some((_, known)) => *known = (*known).max(*extent),
                    None => extents.push((*name, *extent)),
                }
            }
            operands.push(loops);
        }
        sort_by(&mut extents, Ord::cmp);
        let summed: Vec<_> = extents.into_iter().filter(|(name, _)| !outer_loops.contains(name)).collect();
        let moves = |operand: &[(char, usize)], tensor: &Tensor, over: &[(char, usize)]| -> Vec<usize> {
            let from = strides(&tensor.shape);
            let stride = |name: &(char, usize)| {
                let axes = operand.iter().enumerate().filter(|(axis, n)| *n == name && tensor.shape[*axis] != 1);
                axes.map(|(axis, _)| from[axis]).sum()
            };
            over.iter().map(stride).collect()
        };
        let inner_loops: Vec<_> = summed.iter().map(|(name, _)| *name).collect();
        let per_operand = |over: &[(char, usize)]| operands.iter().zip(x).map(|(o, t)| moves(o, t, over)).collect();
        Ok(Loops {
            outer: per_operand(&outer_loops),
            inner: per_operand(&inner_loops),
            summed: summed.into_iter().map(|(_, extent)| extent).collect(),
            shape,
        })
    }

    fn run<T: Arithmetic>(&self, x: &[Tensor], dtype: DType) -> Result<Tensor, EvalError> {
        let values: Vec<Vec<T>> = x.iter().map(read::<T>).collect::<Result<_, _>>()?;
        let n = count(&self.shape, dtype)?;
        let steps = count(&self.summed, dtype)?;
        let inside: Vec<Vec<usize>> = self.inner.iter().map(|moves| offsets(&self.summed, moves).collect()).collect();
        let mut outside: Vec<_> = self.outer.iter().map(|moves| offsets(&self.shape, moves)).collect();
        let mut out = Vec::with_capacity(n);
        let mut bases = vec![0; x.len()];
        for _ in 0..n {
            for (base, places) in bases.iter_mut().zip(&mut outside) {
                *base = places.next().unwrap_or(0);
            }
            let term = |k: usize| {
                let factors = values.iter().enumerate().map(|(i, v)| v[bases[i] + inside[i][k]]);
                factors.reduce(|a, b| round_to(dtype, a.times(b))).unwrap_or_default()
            };
            out.push(match self.summed.is_empty() {
                true => term(0),
                false => (0..steps).fold(T::default(), |sum, k| round_to(dtype, sum.plus(term(k)))),
            });
        }
        write(dtype, &self.shape, &out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(equation: &str, x: &[(&[i64], &[i64])], shape: &[i64]) -> Vec<i64> {
        let x: Vec<Tensor> = x.iter().map(|(s, v)| write(DType::I64, s, v).unwrap()).collect();
        let equation = Equation::parse(equation).unwrap();
        let out = Loops::of(&equation, &x, shape.to_vec()).unwrap().run::<i64>(&x, DType::I64).unwrap();
        read(&out).unwrap()
    }

    #[test]
    fn labels_that_the_result_lacks_are_summed() {
        let (a, b): (&[i64], &[i64]) = (&[1, 2, 3, 4], &[5, 6, 7, 8]);
        assert_eq!(run("ij,jk->ik", &[(&[2, 2], a), (&[2, 2], b)], &[2, 2]), [19, 22, 43, 50]);
        assert_eq!(run("ii", &[(&[2, 2], a)], &[]), [5]);
        assert_eq!(run("...j->...", &[(&[2, 2], a)], &[2]), [3, 7]);
        assert_eq!(run("...,...", &[(&[2, 2], a), (&[1, 2], &[10, 100])], &[2, 2]), [10, 200, 30, 400]);
    }

    #[test]
    fn without_an_arrow_labels_that_occur_once_remain() {
        let equation = Equation::parse("ba, bc").unwrap();
        assert_eq!(equation.output, ['a', 'c']);
        assert!(Equation::parse("a-b").is_err());
    }
}
