//! The types are worked out by hand from TVM's rules.

use super::*;
use crate::ir::{Attrs, Symbol};
use crate::ops::{info, lookup_relax};

/// Returns the type of a call of `op` with arguments of these types; attributes that are not written have their defaults.
fn deduce(store: &mut Store, op: &str, types: &[TypeId], written: &[(&str, AttrValue)]) -> Result<String, String> {
    let row = info(lookup_relax(op).expect("the operator exists")).relax.as_ref().expect("and Relax has it");
    let attrs = row.attrs.map(|schema| {
        let attrs: Attrs = schema.complete(store, written).expect("what is required is written");
        store.attrs(attrs)
    });
    let args: Vec<ExprId> = types
        .iter()
        .map(|ty| {
            let var = store.relax_var("x", Some(*ty), false);
            store.use_var(var)
        })
        .collect();
    let rule = row.deduce.expect("the operator has a rule");
    let ty = rule(&mut Deduce { store, op: row.name, args: &args, types, attrs, ty_args: &[], bound: &|_| None })?;
    Ok(show_relax_type(store, ty).to_string())
}

fn tensor(store: &mut Store, shape: &[i64]) -> TypeId {
    let shape: Vec<Dim> = shape.iter().map(|extent| int(*extent)).collect();
    store.tensor_type(&shape, DType::F32)
}

fn symbolic(store: &mut Store, name: &str) -> Dim {
    let name = store.name(name);
    Dim::Symbol(store.add_symbol(Symbol { name, dtype: DType::I64, size: false }))
}

fn shown(store: &mut Store, shape: &[i64]) -> Result<String, String> {
    let ty = tensor(store, shape);
    Ok(show_relax_type(store, ty).to_string())
}

#[test]
fn operands_are_broadcast_from_the_right() {
    let store = &mut Store::new();
    let (a, b) = (tensor(store, &[5, 1, 3]), tensor(store, &[4, 3]));
    let wanted = shown(store, &[5, 4, 3]);
    assert_eq!(deduce(store, "add", &[a, b], &[]), wanted);
    let c = tensor(store, &[2]);
    assert!(deduce(store, "add", &[a, c], &[]).unwrap_err().contains("not broadcastable"));
}

#[test]
fn of_extents_that_may_or_may_not_be_equal_only_the_rank_is_known() {
    let store = &mut Store::new();
    let (n, m) = (symbolic(store, "n"), symbolic(store, "m"));
    let a = store.tensor_type(&[n, int(3)], DType::F32);
    let b = store.tensor_type(&[m, int(3)], DType::F32);
    let vague = store.tensor_like(TensorInfo { extents: Extents::Rank(2), dtype: Some(DType::F32), vdevice: None });
    let wanted = show_relax_type(store, vague).to_string();
    assert_eq!(deduce(store, "add", &[a, b], &[]), Ok(wanted));
    let same = show_relax_type(store, a).to_string();
    assert_eq!(deduce(store, "add", &[a, a], &[]), Ok(same));
}

#[test]
fn a_convolution_loses_what_its_window_overhangs() {
    let store = &mut Store::new();
    // (224 + 3 + 3 - 7) / 2 + 1 = 112.
    let (data, weight) = (tensor(store, &[1, 3, 224, 224]), tensor(store, &[64, 3, 7, 7]));
    let ints = |values: &[i64]| crate::ops::build::ints(values);
    let attrs = [("strides", ints(&[2, 2])), ("padding", ints(&[3, 3, 3, 3]))];
    let wanted = shown(store, &[1, 64, 112, 112]);
    assert_eq!(deduce(store, "nn.conv2d", &[data, weight], &attrs), wanted);
    let other = tensor(store, &[64, 4, 7, 7]);
    assert!(deduce(store, "nn.conv2d", &[data, other], &attrs).unwrap_err().contains("channel size"));
}

#[test]
fn matmul_multiplies_stacks_of_matrices_and_vectors() {
    let store = &mut Store::new();
    let (a, b) = (tensor(store, &[8, 1, 4, 5]), tensor(store, &[2, 5, 6]));
    let wanted = shown(store, &[8, 2, 4, 6]);
    assert_eq!(deduce(store, "matmul", &[a, b], &[]), wanted);
    let vector = tensor(store, &[5]);
    let wanted = shown(store, &[8, 1, 4]);
    assert_eq!(deduce(store, "matmul", &[a, vector], &[]), wanted);
    let wrong = tensor(store, &[4]);
    assert!(deduce(store, "matmul", &[a, wrong], &[]).is_err());
}

#[test]
fn reductions_keep_or_drop_their_axes() {
    let store = &mut Store::new();
    let data = tensor(store, &[2, 3, 4]);
    let axis = ("axis", crate::ops::build::ints(&[-1]));
    let wanted = shown(store, &[2, 3]);
    assert_eq!(deduce(store, "sum", &[data], std::slice::from_ref(&axis)), wanted);
    let wanted = shown(store, &[2, 3, 1]);
    assert_eq!(deduce(store, "sum", &[data], &[axis, ("keepdims", AttrValue::Bool(true))]), wanted);
    let wanted = shown(store, &[]);
    assert_eq!(deduce(store, "sum", &[data], &[]), wanted);
}

#[test]
fn a_split_in_unequal_parts_has_a_shorter_last_one() {
    let store = &mut Store::new();
    let data = tensor(store, &[7, 2]);
    let parts = [tensor(store, &[3, 2]), tensor(store, &[3, 2]), tensor(store, &[1, 2])];
    let tuple = store.ty(Type::Tuple(parts.into()));
    let wanted = show_relax_type(store, tuple).to_string();
    let attrs = [("indices_or_sections", AttrValue::Int { value: 3, bits: 64 }), ("axis", AttrValue::int(0))];
    assert_eq!(deduce(store, "split", &[data], &attrs), Ok(wanted));
}

#[test]
fn every_operator_of_relax_says_what_it_gives_or_gives_anything() {
    for op in crate::ops::all().iter().filter_map(|op| op.relax.as_ref()) {
        let vague = ["layout_transform", "null_value"];
        assert!(op.deduce.is_some() || vague.iter().any(|start| op.name.starts_with(start)), "{} has no rule", op.name);
    }
}

#[test]
fn boxes_need_as_many_numbers_as_are_asked_for() {
    let store = &mut Store::new();
    let data = tensor(store, &[1, 5, 6]);
    let found = deduce(store, "vision.get_valid_counts", &[data], &[("score_index", AttrValue::int(6))]);
    assert_eq!(found, Err("get_valid_counts expects score_index to be in range [0, 6), but got 6".to_owned()));
    let found = deduce(store, "vision.get_valid_counts", &[data], &[]).expect("it fits");
    assert!(found.contains("int32") && found.contains("R.Tensor((1, 5, 6), dtype=\"float32\")"), "{found}");
    let flat = tensor(store, &[5, 6]);
    let found = deduce(store, "vision.get_valid_counts", &[flat], &[]);
    assert_eq!(found, Err("get_valid_counts expects 3-D input, got ndim 2".to_owned()));
    let found = deduce(store, "inspect.tensor_ndim", &[data], &[]);
    assert!(found.is_ok_and(|found| found.contains("int32")));
}

/// Extents are written as TVM's analyzer leaves them.
#[test]
fn extents_of_windows_are_simplified() {
    let store = &mut Store::new();
    let (h, k) = (symbolic(store, "h"), symbolic(store, "k"));
    let data = store.tensor_type(&[int(1), int(3), h, int(8)], DType::F32);
    let weight = store.tensor_type(&[int(4), int(3), k, int(3)], DType::F32);
    let found = deduce(store, "nn.conv2d", &[data, weight], &[]).expect("fits");
    assert!(found.contains("((h + 1i64) - k), 6)"), "{found}");
    let pool = [("pool_size", crate::ops::build::ints(&[2, 2])), ("strides", crate::ops::build::ints(&[2, 2]))];
    let found = deduce(store, "nn.max_pool2d", &[data], &pool).expect("fits");
    assert!(!found.contains("- 1i64"), "{found}");
}

/// `dim op by`.
fn with(store: &mut Store, op: PrimOp, dim: Dim, by: i64) -> Dim {
    dim_arith(store, op, dim, int(by))
}

#[test]
fn symbolic_extents_that_can_never_be_equal_are_refused() {
    let store = &mut Store::new();
    let (k, n) = (symbolic(store, "k"), symbolic(store, "n"));
    let more = with(store, PrimOp::Add, k, 1);
    let matrix = |store: &mut Store, a: Dim, b: Dim| store.tensor_type(&[a, b], DType::F32);
    let (x, y, z) = (matrix(store, int(3), k), matrix(store, more, int(5)), matrix(store, n, int(5)));
    assert!(deduce(store, "matmul", &[x, y], &[]).is_err(), "k is never k + 1");
    assert!(deduce(store, "matmul", &[x, z], &[]).is_ok(), "k may be n");
}

#[test]
fn output_channels_that_are_never_a_multiple_of_the_groups_are_refused() {
    let store = &mut Store::new();
    let k = symbolic(store, "k");
    let groups = [("groups", AttrValue::Int { value: 6, bits: 64 })];
    let six = with(store, PrimOp::Mul, k, 6);
    let more = with(store, PrimOp::Add, six, 4);
    let mut conv = |out: Dim, channels: Dim| {
        let data = store.tensor_type(&[int(2), six, int(28), int(28)], DType::F32);
        let weight = store.tensor_type(&[out, channels, int(3), int(3)], DType::F32);
        deduce(store, "nn.conv2d", &[data, weight], &groups)
    };
    assert!(conv(six, k).is_ok());
    assert!(conv(k, k).is_ok(), "k may be a multiple of six");
    assert!(conv(more, k).unwrap_err().contains("divisible"));
}

#[test]
fn a_scalar_is_quantised_by_one_scale() {
    let store = &mut Store::new();
    let zero_point = |store: &mut Store, shape: &[i64]| {
        let shape: Vec<Dim> = shape.iter().map(|extent| int(*extent)).collect();
        store.tensor_type(&shape, DType::I8)
    };
    let scalar = tensor(store, &[]);
    let (one, many) = (tensor(store, &[1]), tensor(store, &[2]));
    let (zero, zeros) = (zero_point(store, &[1]), zero_point(store, &[2]));
    let attrs = [("out_dtype", AttrValue::DType(Some(DType::I8)))];
    assert!(deduce(store, "quantize", &[scalar, one, zero], &attrs).is_ok());
    assert!(deduce(store, "quantize", &[scalar, many, zeros], &attrs).unwrap_err().contains("scalar or singleton"));
    let data = tensor(store, &[2, 3]);
    assert!(deduce(store, "quantize", &[data, many, zeros], &attrs).unwrap_err().starts_with("Size mismatch"), "the axis has 3");
}

#[test]
fn boxes_and_anchors_have_to_fit() {
    let store = &mut Store::new();
    let types = |store: &mut Store, anchors: i64, last: i64| {
        [tensor(store, &[1, 3, 5]), tensor(store, &[1, 20]), tensor(store, &[1, anchors, last])]
    };
    let attrs = [("variances", crate::ops::build::ints(&[1, 1, 1, 1]))];
    for (anchors, last, fits) in [(5, 4, true), (4, 4, false), (5, 5, false)] {
        let given = types(store, anchors, last);
        let found = deduce(store, "vision.multibox_transform_loc", &given, &attrs);
        assert_eq!(found.is_ok(), fits, "{found:?}");
    }
}
