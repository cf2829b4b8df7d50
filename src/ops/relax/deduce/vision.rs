//! Detection (TVM: src/relax/op/vision).

use super::{Deduce, Tensor, int};
use crate::ir::{AttrValue, DType, Dim, TypeId};
use std::rc::Rc;

/// Returns a tensor that must have this rank, if that is known.
fn ranked(cx: &mut Deduce<'_>, index: usize, rank: usize, words: &str) -> Result<Tensor, String> {
    let tensor = cx.tensor(index)?;
    match tensor.rank {
        Some(found) if found != rank => Err(format!("{words}, got ndim {found}")),
        _ => Ok(tensor),
    }
}

/// Fails unless an attribute is an index into the numbers of a box.
fn index(cx: &Deduce<'_>, name: &str, least: i64, length: Option<i64>, op: &str) -> Result<(), String> {
    let value = cx.int(name).unwrap_or(0);
    match length {
        Some(length) if value < least || value >= length => {
            Err(format!("{op} expects {name} to be in range [{least}, {length}), but got {value}"))
        }
        _ => Ok(()),
    }
}

/// Makes a tensor type for each field: with the extents, or only the rank.
fn tuple(cx: &mut Deduce<'_>, data: &Tensor, fields: &[(Option<Rc<[Dim]>>, usize, Option<DType>)]) -> TypeId {
    let types: Vec<TypeId> = (fields.iter())
        .map(|(shape, rank, dtype)| match shape {
            Some(shape) => cx.out(shape, *dtype, data.vdevice()),
            None => cx.vague(Some(*rank), *dtype, data.vdevice()),
        })
        .collect();
    cx.store.tuple_type(&types)
}

/// `vision.get_valid_counts`
pub fn valid_counts(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(1)?;
    let data = ranked(cx, 0, 3, "get_valid_counts expects 3-D input")?;
    let shape = data.shape.clone();
    let length = shape.as_ref().and_then(|shape| shape[2].known());
    index(cx, "score_index", 0, length, "get_valid_counts")?;
    index(cx, "id_index", -1, length, "get_valid_counts")?;
    let part = |count: usize| shape.as_ref().map(|shape| shape[..count].into());
    let fields = [(part(1), 1, Some(DType::I32)), (part(3), 3, data.dtype()), (part(2), 2, Some(DType::I32))];
    Ok(tuple(cx, &data, &fields))
}

/// `vision.non_max_suppression`
pub fn suppression(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let data = ranked(cx, 0, 3, "non_max_suppression expects 3-D input")?;
    let valid = ranked(cx, 1, 1, "non_max_suppression expects valid_count to be 1-D")?;
    let indices = ranked(cx, 2, 2, "non_max_suppression expects indices to be 2-D")?;
    for (name, tensor) in [("valid_count", &valid), ("indices", &indices)] {
        if let Some(dtype) = tensor.dtype().filter(|dtype| *dtype != DType::I32) {
            return Err(format!("non_max_suppression expects {name} to have dtype int32, got {dtype}"));
        }
    }
    let shape = data.shape.clone();
    if let Some(shape) = &shape {
        let differ = |other: &Option<Rc<[Dim]>>, count: usize| {
            other.as_ref().is_some_and(|other| (0..count).any(|axis| other[axis] != shape[axis]))
        };
        if differ(&valid.shape, 1) {
            return Err("non_max_suppression expects valid_count to have shape [batch_size]".to_owned());
        }
        if differ(&indices.shape, 2) {
            return Err("non_max_suppression expects indices to have shape [batch_size, num_anchors]".to_owned());
        }
    }
    let length = shape.as_ref().and_then(|shape| shape[2].known());
    index(cx, "score_index", 0, length, "non_max_suppression")?;
    let first = cx.int("coord_start").unwrap_or(0);
    if let Some(length) = length.filter(|length| first < 0 || first + 3 >= *length) {
        return Err(format!(
            "non_max_suppression expects coord_start to reference four consecutive box coordinates within elem_length {length}, \
             but got {first}"
        ));
    }
    index(cx, "id_index", -1, length, "non_max_suppression")?;
    let whole = (shape.clone(), 3, data.dtype());
    if !cx.flag("return_indices") {
        return Ok(match &shape {
            Some(shape) => cx.out(shape, data.dtype(), data.vdevice()),
            None => cx.vague(Some(3), data.dtype(), data.vdevice()),
        });
    }
    let named = (shape.as_ref().map(|shape| shape[..2].into()), 2, Some(DType::I32));
    let left = (shape.as_ref().map(|shape| [shape[0], int(1)].into()), 2, Some(DType::I32));
    let soft = cx.store.attr(cx.attrs, "soft_nms_sigma").and_then(AttrValue::as_float).is_some_and(|sigma| sigma > 0.0);
    Ok(if soft { tuple(cx, &data, &[whole, named, left]) } else { tuple(cx, &data, &[named, left]) })
}

/// `vision.all_class_non_max_suppression`: rows for all boxes, of which the last field says how many are filled.
pub fn suppression_by_class(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let (boxes, scores) = (cx.tensor(0)?, cx.tensor(1)?);
    for (tensor, name) in [(&boxes, "boxes"), (&scores, "scores count")] {
        match tensor.rank {
            None => return Err("Only support known ndim".to_owned()),
            Some(3) => {}
            Some(_) => return Err(format!("AllClassNMS input {name} should be 3-D.")),
        }
    }
    let (Some(of_boxes), Some(of_scores)) = (boxes.shape.clone(), scores.shape.clone()) else {
        return Err("AllClassNMS needs the shapes of its inputs".to_owned());
    };
    let (batch, classes, count) = (of_boxes[0], of_scores[1], of_boxes[1]);
    let (long, float) = (Some(DType::I64), Some(DType::F32));
    let fields: Vec<(Rc<[Dim]>, Option<DType>)> = if cx.text("output_format").as_deref() == Some("onnx") {
        vec![([cx.product(&[batch, classes, count]), int(3)].into(), long), ([int(1)].into(), long)]
    } else {
        let rows = cx.product(&[classes, count]);
        vec![([batch, rows, int(2)].into(), long), ([batch, rows].into(), float), ([batch].into(), long)]
    };
    let types: Vec<TypeId> = fields.iter().map(|(shape, dtype)| cx.out(shape, *dtype, boxes.vdevice())).collect();
    Ok(cx.store.tuple_type(&types))
}

/// `vision.multibox_transform_loc`
pub fn multibox(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(3)?;
    let classes = ranked(cx, 0, 3, "multibox_transform_loc expects cls_pred to be 3-D")?;
    let offsets = ranked(cx, 1, 2, "multibox_transform_loc expects loc_pred to be 2-D")?;
    let anchors = ranked(cx, 2, 3, "multibox_transform_loc expects anchor to be 3-D")?;
    for (name, other) in [("loc_pred", &offsets), ("anchor", &anchors)] {
        if let (Some(dtype), Some(found)) = (classes.dtype(), other.dtype())
            && dtype != found
        {
            return Err(format!("multibox_transform_loc: cls_pred and {name} dtype must match, got {dtype} vs {found}"));
        }
    }
    boxes_fit(&classes, &offsets, &anchors).map_err(|why| format!("multibox_transform_loc: {why}"))?;
    let boxes = classes.shape.as_ref().map(|shape| [shape[0], shape[2], int(4)].into());
    let fields = [(boxes, 3, classes.dtype()), (classes.shape.clone(), 3, classes.dtype())];
    Ok(tuple(cx, &classes, &fields))
}

/// Fails unless classes `[B, C, N]`, offsets `[B, 4 * N]` and anchors `[1, N, 4]` fit together, as far as they are numbers.
fn boxes_fit(classes: &Tensor, offsets: &Tensor, anchors: &Tensor) -> Result<(), String> {
    let extent = |tensor: &Tensor, axis: usize| tensor.shape.as_ref().and_then(|shape| shape[axis].known());
    let is = |found: Option<i64>, wanted: Option<i64>, what: &str| match (found, wanted) {
        (Some(found), Some(wanted)) if found != wanted => Err(format!("{what}, got {found} and {wanted}")),
        _ => Ok(()),
    };
    if let Some(length) = extent(offsets, 1).filter(|length| length % 4 != 0) {
        return Err(format!("loc_pred.shape[1] must be divisible by 4, got {length}"));
    }
    let count = extent(classes, 2);
    is(extent(classes, 0), extent(offsets, 0), "cls_pred.shape[0] must match loc_pred.shape[0]")?;
    is(extent(anchors, 0), Some(1), "anchor.shape[0] must be 1")?;
    is(extent(anchors, 2), Some(4), "anchor.shape[2] must be 4 (ltrb)")?;
    is(extent(offsets, 1), count.and_then(|count| count.checked_mul(4)), "loc_pred.shape[1] must be 4 * N")?;
    is(extent(anchors, 1), count, "anchor.shape[1] must be N")
}

/// `vision.roi_align` and `vision.roi_pool`: a window of elements for each region.
pub fn regions(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    cx.arity(2)?;
    let name = if cx.op == "vision.roi_align" { "ROIAlign" } else { "ROIPool" };
    let (data, rois) = (cx.tensor(0)?, cx.tensor(1)?);
    for (what, tensor, rank) in [("the input data to be", &data, 4), ("the rois tensor to be", &rois, 2)] {
        if let Some(found) = tensor.rank.filter(|found| *found != rank) {
            return Err(format!("{name} expects {what} {rank}-D, while the given one has ndim {found}"));
        }
    }
    let layout = cx.text("layout").unwrap_or_default();
    let last = layout == "NHWC" && name == "ROIAlign";
    if layout != "NCHW" && !last {
        return Err(format!("{name} does not support layout {layout}"));
    }
    if let Some(mode) = cx.text("mode").filter(|mode| mode != "avg" && mode != "max") {
        return Err(format!("{name} only supports avg and max mode, but got {mode}"));
    }
    if let Some(found) = rois.shape.as_ref().and_then(|shape| shape[1].known()).filter(|found| *found != 5) {
        return Err(format!("{name} expects rois to have shape (num_roi, 5), but got last dimension {found}"));
    }
    let size = cx.ints("pooled_size").filter(|size| size.len() == 2);
    let (Some(shape), Some(rois), Some(size)) = (&data.shape, &rois.shape, size) else {
        return Ok(cx.vague(Some(4), data.dtype(), data.vdevice()));
    };
    let (down, across) = (int(size[0]), int(size[1]));
    let out = if last { [rois[0], down, across, shape[3]] } else { [rois[0], shape[1], down, across] };
    Ok(cx.out(&out, data.dtype(), data.vdevice()))
}
