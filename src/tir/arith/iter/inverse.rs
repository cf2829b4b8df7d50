//! Expresses iterators in terms of indices over them (TVM's `InverseAffineIterMap`).

use super::{Mark, Source, Split, Sum};
use crate::ir::{DType, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use crate::tir::arith::{Analyzer, DEEPEST};
use crate::tir::build::binary;
use std::rc::Rc;

/// A sum or digit that a value is handed to, on its way to the iterators.
enum Node<'a> {
    Sum(&'a Sum, Option<Rc<Mark>>),
    Split(&'a Split),
}

/// Returns the value of each iterator for which the indices of a bijective map have the values `outputs`. Nothing if an
/// index is no sequence of digits.
pub fn inverse_iter_map(store: &mut Store, map: &[Sum], outputs: &[PrimId]) -> Option<Vec<(Id<Symbol>, PrimId)>> {
    let mut nodes: Vec<(Node<'_>, Vec<usize>)> = Vec::new();
    let mut roots = Vec::new();
    for sum in map {
        roots.push(collect(sum, None, &mut nodes, 0)?);
    }
    let zero = store.prim_int(0, DType::I32);
    let mut values = vec![zero; nodes.len()];
    for (root, output) in roots.iter().zip(outputs) {
        values[*root] = *output;
    }
    let analyzer = &mut Analyzer::new();
    let mut inverse: Vec<(Id<Symbol>, PrimId)> = Vec::new();
    for at in (0..nodes.len()).rev() {
        let children = &nodes[at].1;
        match &nodes[at].0 {
            Node::Sum(sum, _) => {
                let input = binary(store, PrimOp::Sub, values[at], sum.base);
                if let ([split], [child]) = (&sum.args[..], &children[..]) {
                    // The only factors that leave nothing out.
                    store.as_prim_int(split.scale).filter(|scale| scale.abs() == 1)?;
                    let all = binary(store, PrimOp::Add, values[*child], input);
                    values[*child] = binary(store, PrimOp::Mul, all, split.scale);
                    continue;
                }
                let mut scale = sum.args.last().map_or(zero, |split| split.scale);
                for (place, split) in sum.args.iter().enumerate().rev() {
                    if !analyzer.can_prove_equal(store, split.scale, scale) {
                        return None;
                    }
                    scale = binary(store, PrimOp::Mul, scale, split.extent);
                    let mut value = binary(store, PrimOp::FloorDiv, input, split.scale);
                    if place > 0 {
                        value = binary(store, PrimOp::FloorMod, value, split.extent);
                    }
                    let child = children[place];
                    values[child] = binary(store, PrimOp::Add, values[child], value);
                }
            }
            Node::Split(split) => {
                let input = binary(store, PrimOp::Mul, values[at], split.lower);
                match (&split.source.source, &children[..]) {
                    (Source::Sum(_), [child]) => values[*child] = binary(store, PrimOp::Add, values[*child], input),
                    (Source::Prim(prim), _) => {
                        let PrimExpr::Var(symbol) = *store.prim_of_id(*prim) else { return None };
                        match inverse.iter_mut().find(|(known, _)| *known == symbol) {
                            Some((_, value)) => *value = binary(store, PrimOp::Add, *value, input),
                            None => inverse.push((symbol, input)),
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    Some(inverse)
}

/// Collects the nodes of a sum, children first; returns its number. Iterators with several uses are one node.
fn collect<'a>(sum: &'a Sum, mark: Option<Rc<Mark>>, nodes: &mut Vec<(Node<'a>, Vec<usize>)>, depth: u16) -> Option<usize> {
    if depth > DEEPEST {
        return None;
    }
    let mut children = Vec::new();
    for split in &sum.args {
        let inner = match &split.source.source {
            Source::Sum(inner) => {
                let known = nodes
                    .iter()
                    .position(|(node, _)| matches!(node, Node::Sum(_, Some(mark)) if Rc::ptr_eq(mark, &split.source)));
                let child = match known {
                    Some(known) => known,
                    None => collect(inner, Some(split.source.clone()), nodes, depth + 1)?,
                };
                vec![child]
            }
            _ => Vec::new(),
        };
        nodes.push((Node::Split(split), inner));
        children.push(nodes.len() - 1);
    }
    nodes.push((Node::Sum(sum, mark), children));
    Some(nodes.len() - 1)
}
