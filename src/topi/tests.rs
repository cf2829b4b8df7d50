//! The table of rules, and what programs of a few operators look like.

use super::*;
use crate::ir::{DType, Dialect, Dim, Module};
use crate::print::{self, PrintOptions};

#[test]
fn every_rule_is_that_of_an_operator_and_no_operator_has_two() {
    let mut seen = Vec::new();
    for op in te_forms() {
        assert!(ops::lookup_relax(op).is_some(), "Relax has no operator `{op}`");
        assert!(!seen.contains(&op), "two rules for `{op}`");
        seen.push(op);
    }
    assert!(seen.len() > 150, "{} operators have a tensor-expression form", seen.len());
}

fn built(op: &str, shapes: &[&[i64]], attrs: &[(&str, AttrValue)]) -> Result<String, String> {
    let store = &mut Store::new();
    let mut builder = BlockBuilder::new(store, &Module::of(Dialect::Relax));
    let mut args = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let dims: Vec<Dim> = shape.iter().map(|value| Dim::Int { value: *value, bits: 64 }).collect();
        let ty = store.tensor_type(&dims, DType::F32);
        let var = store.relax_var(&format!("x{index}"), Some(ty), false);
        args.push(store.use_var(var));
    }
    builder.begin_block(false);
    builder.emit_te(store, op, &args, attrs, "")?;
    let module = builder.finish().map_err(|errors| errors[0].message.clone())?;
    Ok(print::module(store, &module, &PrintOptions::default()))
}

#[test]
fn an_operator_is_lowered_while_a_program_is_built() {
    let text = built("matmul", &[&[2, 3], &[3]], &[]).unwrap();
    assert!(text.contains("matmul[v_i0] = matmul[v_i0] + x0[v_i0, v_k] * x1[v_k]"), "{text}");
    assert_eq!(built("topk", &[&[2, 3]], &[]), Err("R.topk has no tensor-expression form".to_owned()));
    assert!(built("no_such", &[], &[]).is_err());
}

#[test]
fn a_block_says_what_it_reads_and_arguments_that_do_not_do_are_refused() {
    let text = built("matmul", &[&[2, 3], &[3]], &[]).unwrap();
    assert!(text.contains("T.reads(x0[v_i0, v_k], x1[v_k])"), "{text}");
    assert!(built("image.affine_grid", &[&[1, 2, 3]], &[]).is_err(), "it needs a shape");
}
