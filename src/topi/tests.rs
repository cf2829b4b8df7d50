//! The table of rules, and the programs of a few operators.

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
    let mut builder = BlockBuilder::new(&Module::of(Dialect::Relax));
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

/// Returns the program that the operator call in `text` is lowered to.
fn lowered(text: &str) -> String {
    let store = &mut Store::new();
    let module = crate::parse::parse(store, text).program.module;
    let module = crate::infer::infer_module(store, &module).unwrap();
    let mut builder = BlockBuilder::new(&module);
    let call = module.functions().iter().flat_map(|(_, function)| crate::ir::walk::post_order(store, *function));
    let call = call.into_iter().find(|id| store.called_op(*id).is_some()).unwrap();
    builder.begin_block(false);
    builder.lower_call(store, call).unwrap();
    let module = builder.finish().unwrap();
    print::module(store, &module, &PrintOptions::default())
}

#[test]
fn extents_and_strides_of_an_axis_follow_a_pointer() {
    let text = |op: &str| {
        format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor, axis: T.int64) -> T.int64:\n        y: T.int64 = \
             R.inspect.{op}(x, axis)\n        return y\n"
        )
    };
    let made = lowered(&text("tensor_shape_i"));
    assert!(made.contains("T.tvm_struct_get(dlpack_handle, 0, 2, T.handle(\"int64\", \"global\").ty)"), "{made}");
    let made = lowered(&text("tensor_stride_i"));
    assert!(made.contains("shape_ptr: T.let[T.handle(\"int64\", \"global\")] = "), "{made}");
    assert!(made.contains("product[()] = product[()] * shape[dim]"), "{made}");
}

#[test]
fn places_that_nobody_writes_are_padded() {
    let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((7,), dtype=\"float32\")) -> \
                R.Tensor((2, 2, 2), dtype=\"float32\"):\n        y: R.Tensor((2, 2, 2), dtype=\"float32\") = \
                R.layout_transform(x, index_map=T.index_map(lambda i: (i // 4, i // 2 % 2, i % 2)), pad_value=None)\n        return y\n";
    let made = lowered(text);
    // The last of eight positions is outside of the seven elements.
    let wanted = "T.if_then_else(v_axis0 == T.int64(1) and v_axis1 * T.int64(2) + v_axis2 == T.int64(3), T.float32(0.0), \
                  x[v_axis0 * T.int64(4) + v_axis1 * T.int64(2) + v_axis2])";
    assert!(made.contains(wanted), "{made}");
}
