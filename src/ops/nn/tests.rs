//! Calls of operators on constants, with values found by hand. Each also checks that the result has the
//! type that the relation gives.

use crate::ir::{AttrValue, AttrsId, DType, Double, Store, Tensor, Type, TypeId};
use crate::ops::kernel::{read, write};
use crate::ops::{KernelCx, RuleCx, info, lookup, tensor_of};

fn floats(shape: &[i64], values: &[f32]) -> Tensor {
    write(DType::F32, shape, values).unwrap()
}

fn ints(dtype: DType, shape: &[i64], values: &[i64]) -> Tensor {
    write(dtype, shape, values).unwrap()
}

fn list(items: &[i64]) -> AttrValue {
    AttrValue::Array(items.iter().map(|i| AttrValue::int(*i)).collect())
}

/// Returns the result of the call, one tensor for each field.
fn call(name: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Vec<Tensor> {
    call_in(&mut Store::new(), name, attrs, inputs)
}

fn call_in(store: &mut Store, name: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Vec<Tensor> {
    let op = lookup(name).unwrap();
    let attrs = info(op).relay_attrs().map(|schema| {
        let complete = schema.complete(store, attrs).unwrap();
        store.attrs(complete)
    });
    let out = relation(store, name, attrs, inputs);
    let kernel = info(op).kernel.unwrap();
    let outputs = kernel(&KernelCx { store, attrs, out_type: out }, inputs).unwrap();
    let types = match store.type_of_id(out) {
        Type::Tuple(fields) => fields.to_vec(),
        _ => vec![out],
    };
    for (tensor, ty) in outputs.iter().zip(types) {
        let (shape, dtype) = tensor_of(store, ty).unwrap();
        let shape: Vec<i64> = shape.iter().map(|d| d.known().unwrap()).collect();
        assert_eq!((&*tensor.shape, tensor.dtype), (&*shape, dtype), "{name}");
    }
    outputs
}

fn relation(store: &mut Store, name: &str, attrs: Option<AttrsId>, inputs: &[Tensor]) -> TypeId {
    let hole = store.hole();
    let mut types: Vec<TypeId> = (inputs.iter())
        .map(|t| {
            let shape: Vec<_> = t.shape.iter().map(|e| crate::ir::Dim::int(*e)).collect();
            store.tensor_type(&shape, t.dtype)
        })
        .collect();
    types.push(hole);
    let mut out = None;
    let mut unify = |_: &mut Store, a: TypeId, b: TypeId| {
        if a == hole {
            out = Some(b);
        }
        Ok(())
    };
    let rule = info(lookup(name).unwrap()).relay_rule().unwrap();
    let mut cx = RuleCx { store, types: &types, n_inputs: inputs.len(), attrs, unify: &mut unify };
    assert_eq!(rule(&mut cx), Ok(true), "{name}");
    out.unwrap()
}

fn values(tensors: &[Tensor]) -> Vec<f32> {
    read(&tensors[0]).unwrap()
}

fn assert_close(found: &[f32], wanted: &[f32]) {
    assert_eq!(found.len(), wanted.len());
    assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} is not {wanted:?}");
}

#[test]
fn a_convolution_in_nhwc_is_that_in_nchw() {
    // An image of 2x2 with 2 channels, kernel 1x1 with weights 1 and 10.
    let plain = [floats(&[1, 2, 2, 2], &[1.0, 3.0, 5.0, 7.0, 2.0, 4.0, 6.0, 8.0]), floats(&[1, 2, 1, 1], &[1.0, 10.0])];
    assert_eq!(values(&call("nn.conv2d", &[], &plain)), [21.0, 43.0, 65.0, 87.0]);
    let store = &mut Store::new();
    let text = |store: &mut Store, text: &str| AttrValue::Str(store.name(text));
    let attrs = [("data_layout", text(store, "NHWC")), ("kernel_layout", text(store, "HWIO"))];
    let turned = [floats(&[1, 2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), floats(&[1, 1, 2, 1], &[1.0, 10.0])];
    assert_eq!(values(&call_in(store, "nn.conv2d", &attrs, &turned)), [21.0, 43.0, 65.0, 87.0]);
}

#[test]
fn a_dilated_strided_padded_convolution_has_the_extent_of_its_relation() {
    let attrs = [("strides", list(&[2, 1])), ("padding", list(&[1, 0, 2, 1])), ("dilation", list(&[1, 2]))];
    let out = call("nn.conv2d", &attrs, &[floats(&[1, 1, 4, 5], &[1.0; 20]), floats(&[3, 1, 2, 2], &[1.0; 12])]);
    assert_eq!(&*out[0].shape, [1, 3, 3, 4]);
}

#[test]
fn a_transposed_convolution_has_the_extent_of_its_relation() {
    let attrs = [("strides", list(&[2, 2])), ("padding", list(&[1, 1])), ("output_padding", list(&[1, 0]))];
    let out = call("nn.conv2d_transpose", &attrs, &[floats(&[1, 1, 2, 2], &[1.0; 4]), floats(&[1, 2, 3, 3], &[1.0; 18])]);
    assert_eq!(&*out[0].shape, [1, 2, 4, 3]);
}

#[test]
fn matrices_multiply_however_they_lie() {
    let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    // (2x3) * (2x3)^T
    let out = call("nn.dense", &[("units", AttrValue::Null)], &[floats(&[2, 3], &a), floats(&[2, 3], &b)]);
    assert_eq!(values(&out), [4.0, 5.0, 10.0, 11.0]);
    // (3x2)^T * (3x2)
    let attrs = [("units", AttrValue::Null), ("transpose_a", AttrValue::Bool(true))];
    let out = call("nn.matmul", &attrs, &[floats(&[3, 2], &a), floats(&[3, 2], &b)]);
    assert_eq!(values(&out), [9.0, 5.0, 12.0, 6.0]);
    // A batch of one is repeated.
    let batch = floats(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
    let out = call("nn.batch_matmul", &[], &[batch, floats(&[1, 2, 1], &[10.0, 1.0])]);
    assert_eq!(values(&out), [12.0, 34.0]);
}

#[test]
fn batch_norm_uses_the_given_statistics() {
    let vector = |x: f32, y: f32| floats(&[2], &[x, y]);
    let inputs =
        [floats(&[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]), vector(1.0, 2.0), vector(0.0, 1.0), vector(1.0, 3.0), vector(1.0, 4.0)];
    let out = call("nn.batch_norm", &[("epsilon", AttrValue::Float(Double(0.0)))], &inputs);
    assert_close(&values(&out), &[0.0, 1.0, 1.0, 2.0]);
    assert_eq!(values(&out[2..]), [1.0, 4.0]);
}

#[test]
fn norms_over_their_own_statistics_center_the_data() {
    let data = floats(&[1, 2, 1, 2], &[1.0, 3.0, 10.0, 30.0]);
    let (gamma, beta) = (floats(&[2], &[1.0, 2.0]), floats(&[2], &[0.0, 1.0]));
    let eps = ("epsilon", AttrValue::Float(Double(0.0)));
    let out = call("nn.instance_norm", std::slice::from_ref(&eps), &[data.clone(), gamma.clone(), beta.clone()]);
    assert_close(&values(&out), &[-1.0, 1.0, -1.0, 3.0]);
    let out = call("nn.layer_norm", std::slice::from_ref(&eps), &[data.clone(), gamma.clone(), beta.clone()]);
    assert_close(&values(&out), &[-1.0, 3.0, -1.0, 3.0]);
    let out = call("nn.group_norm", &[eps, ("num_groups", AttrValue::int(2))], &[data, gamma, beta]);
    assert_close(&values(&out), &[-1.0, 1.0, -1.0, 3.0]);
}

#[test]
fn softmax_adds_up_to_one_along_its_axis() {
    let data = floats(&[2, 2], &[0.0, 1.0, 0.0, 1.0]);
    let out = call("nn.softmax", &[("axis", AttrValue::int(0))], std::slice::from_ref(&data));
    assert_close(&values(&out), &[0.5, 0.5, 0.5, 0.5]);
    let out = call("nn.log_softmax", &[], &[data]);
    let e = std::f32::consts::E;
    assert_close(&values(&out)[..2], &[-(1.0 + e).ln(), 1.0 - (1.0 + e).ln()]);
}

#[test]
fn means_leave_padding_out_unless_asked() {
    let data = floats(&[1, 1, 3], &[1.0, 2.0, 3.0]);
    let attrs = [("pool_size", list(&[2])), ("padding", list(&[1]))];
    let out = call("nn.avg_pool1d", &attrs, std::slice::from_ref(&data));
    assert_eq!(values(&out), [1.0, 1.5, 2.5, 3.0]);
    let attrs = [attrs[0].clone(), attrs[1].clone(), ("count_include_pad", AttrValue::Bool(true))];
    let out = call("nn.avg_pool1d", &attrs, std::slice::from_ref(&data));
    assert_eq!(values(&out), [0.5, 1.5, 2.5, 1.5]);
    // Rounding up adds a last window that reaches beyond the data; the elements beyond are not counted.
    let attrs = [
        ("pool_size", list(&[2])),
        ("strides", list(&[2])),
        ("ceil_mode", AttrValue::Bool(true)),
        ("count_include_pad", AttrValue::Bool(true)),
    ];
    assert_eq!(values(&call("nn.avg_pool1d", &attrs, &[data])), [1.5, 3.0]);
}

#[test]
fn the_gradient_of_a_maximum_goes_to_the_first_largest() {
    let attrs = [("pool_size", list(&[1, 2])), ("strides", list(&[1, 2]))];
    let inputs = [floats(&[1, 1, 1, 2], &[5.0, 7.0]), floats(&[1, 1, 1, 4], &[2.0, 2.0, 0.0, 1.0])];
    assert_eq!(values(&call("nn.max_pool2d_grad", &attrs, &inputs)), [5.0, 0.0, 0.0, 7.0]);
    assert_eq!(values(&call("nn.avg_pool2d_grad", &attrs, &inputs)), [2.5, 2.5, 3.5, 3.5]);
}

#[test]
fn padding_may_crop_and_mirrors_may_repeat_the_edge() {
    let data = ints(DType::I32, &[3], &[1, 2, 3]);
    let width = |before, after| ("pad_width", AttrValue::Array([list(&[before, after])].into()));
    let fill = floats(&[], &[9.0]);
    assert_eq!(values(&call("nn.pad", &[width(-1, 2)], &[data.clone(), fill])), [2.0, 3.0, 9.0, 9.0]);
    assert_eq!(values(&call("nn.mirror_pad", &[width(2, 1)], &[data])), [2.0, 1.0, 1.0, 2.0, 3.0, 3.0]);
}

#[test]
fn space_and_depth_undo_each_other() {
    let data = floats(&[1, 1, 2, 4], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let block = [("block_size", AttrValue::int(2))];
    let deep = call("nn.space_to_depth", &block, std::slice::from_ref(&data));
    assert_eq!(values(&deep), [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    assert_eq!(call("nn.depth_to_space", &block, &deep), [data]);
}

#[test]
fn space_and_batch_undo_each_other() {
    let data = floats(&[1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
    let none = AttrValue::Array([list(&[0, 0]), list(&[0, 0])].into());
    let block = ("block_shape", list(&[2, 2]));
    let batch = call("nn.space_to_batch_nd", &[block.clone(), ("paddings", none.clone())], std::slice::from_ref(&data));
    assert_eq!(&*batch[0].shape, [4, 1, 1, 1]);
    assert_eq!(values(&batch), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(call("nn.batch_to_space_nd", &[block, ("crops", none)], &batch), [data]);
}

#[test]
fn a_sparse_product_is_the_dense_one() {
    // The matrix [[0, 2], [3, 0]] in CSR form.
    let sparse = [floats(&[2], &[2.0, 3.0]), ints(DType::I32, &[2], &[1, 0]), ints(DType::I32, &[3], &[0, 1, 2])];
    let [data, indices, pointers] = sparse.clone();
    let out = call("nn.sparse_dense", &[], &[floats(&[1, 2], &[1.0, 10.0]), data, indices, pointers]);
    assert_eq!(values(&out), [20.0, 3.0]);
    let turned = call("nn.sparse_transpose", &[], &sparse);
    assert_eq!(values(&turned), [3.0, 2.0]);
}

#[test]
fn losses_leave_out_what_is_ignored() {
    let inputs = [floats(&[2, 2], &[-0.5, -1.0, -2.0, -4.0]), ints(DType::I32, &[2], &[1, 0]), floats(&[2], &[1.0, 3.0])];
    let ignore = |class| ("ignore_index", AttrValue::int(class));
    assert_eq!(values(&call("nn.nll_loss", &[ignore(-100)], &inputs)), [(3.0 + 2.0) / 4.0]);
    assert_eq!(values(&call("nn.nll_loss", &[ignore(0)], &inputs)), [1.0]);
}

#[test]
fn bits_pack_with_the_first_element_highest() {
    let data = ints(DType::U8, &[8], &[3, 0, 1, 0, 0, 0, 0, 2]);
    let attrs = [
        ("bits", AttrValue::int(2)),
        ("pack_axis", AttrValue::int(0)),
        ("bit_axis", AttrValue::int(0)),
        ("pack_type", AttrValue::DType(Some(DType::U8))),
    ];
    assert_eq!(values(&call("nn.bitpack", &attrs, &[data])), [f32::from(0b1010_0000u8), f32::from(0b1000_0001u8)]);
}

#[test]
fn a_buffer_keeps_the_newest() {
    let (data, buffer) = (floats(&[1, 2], &[8.0, 9.0]), floats(&[1, 3], &[1.0, 2.0, 3.0]));
    assert_eq!(values(&call("nn.fifo_buffer", &[("axis", AttrValue::int(1))], &[data, buffer])), [3.0, 8.0, 9.0]);
}

#[test]
fn a_quantised_convolution_shifts_both_operands() {
    let scalar = |x: f32| floats(&[], &[x]);
    let zero = |x: i64| ints(DType::I32, &[], &[x]);
    let data = ints(DType::U8, &[1, 1, 1, 2], &[3, 5]);
    let weight = ints(DType::I8, &[1, 1, 1, 1], &[4]);
    let attrs = [("out_dtype", AttrValue::DType(Some(DType::I32))), ("padding", list(&[0, 1]))];
    let out = call("qnn.conv2d", &attrs, &[data, weight, zero(1), zero(2), scalar(0.5), scalar(0.5)]);
    // (3 - 1) * (4 - 2) and (5 - 1) * (4 - 2), between zeros.
    assert_eq!(values(&out), [0.0, 4.0, 8.0, 0.0]);
}

#[test]
fn requantising_rounds_upwards_and_clips() {
    let inputs = |x: i64| {
        let zero = |x: i64| ints(DType::I32, &[], &[x]);
        [ints(DType::I32, &[1], &[x]), floats(&[], &[1.0]), zero(0), floats(&[], &[2.0]), zero(1)]
    };
    let attrs = [("out_dtype", AttrValue::DType(Some(DType::I8)))];
    let out = |x| values(&call("qnn.requantize", &attrs, &inputs(x)))[0];
    assert_eq!([3, -3, 1000].map(out), [3.0, 0.0, 127.0]);
}

#[test]
fn quantised_sums_carry_the_zero_point_once() {
    let scalar = |x: f32| floats(&[], &[x]);
    let zero = |x: i64| ints(DType::I32, &[], &[x]);
    let data = |x: i64| ints(DType::U8, &[1], &[x]);
    // 0.5 * (7 - 3) + 1 * (9 - 4) = 7, at scale 1 and zero point 10: 17.
    let inputs = [data(7), data(9), scalar(0.5), zero(3), scalar(1.0), zero(4), scalar(1.0), zero(10)];
    assert_eq!(values(&call("qnn.add", &[], &inputs)), [17.0]);
    // 2 * 5 = 10: 20.
    assert_eq!(values(&call("qnn.mul", &[], &inputs)), [20.0]);
}
