//! The kinds of operators for ToMixedPrecision (TVM's lists in
//! `python/tvm/relay/transform/mixed_precision.py`).

use crate::ir::{AttrValue, AttrsId, DType, DTypeCode, Store};
use crate::ops::build::with_attrs;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The type that an operator is computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The narrow type, whatever the arguments are.
    Always,
    /// The narrow type if the arguments are in it.
    Follow,
    /// The type with 32 bits.
    Never,
}

const ALWAYS: &str = "nn.conv1d nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose nn.dense \
nn.batch_matmul";

const FOLLOW: &str = "nn.pad nn.batch_flatten concatenate zeros split squeeze transpose expand_dims reshape dyn.reshape \
broadcast_to_like dyn.broadcast_to strided_slice dyn.strided_slice take argwhere where tile dyn.tile scatter \
scatter_elements scatter_nd full dyn.full nn.depth_to_space less greater less_equal greater_equal copy cast cast_like add \
subtract multiply divide nn.bias_add nn.batch_norm sqrt shape_of max min maximum minimum argmax argmin nn.relu \
nn.leaky_relu nn.prelu nn.dropout sigmoid tanh fast_tanh fast_exp fast_erf clip nn.max_pool1d nn.max_pool2d nn.max_pool3d \
nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.global_max_pool2d nn.adaptive_max_pool1d nn.adaptive_max_pool2d \
nn.adaptive_max_pool3d image.resize2d";

const NEVER: &str = "exp power nn.cross_entropy nn.cross_entropy_with_logits nn.softmax nn.l2_normalize erf arange \
nn.global_avg_pool2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d sum mean variance \
nn.layer_norm";

/// Returns the kind of the operator of that name; `None` when TVM has no rule for it.
pub fn kind(name: &str) -> Option<Kind> {
    static KINDS: OnceLock<FxHashMap<&'static str, Kind>> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        let all = [(ALWAYS, Kind::Always), (FOLLOW, Kind::Follow), (NEVER, Kind::Never)];
        all.iter().flat_map(|(names, kind)| names.split(' ').map(|name| (name, *kind))).collect()
    });
    kinds.get(name).copied()
}

/// Attributes that say in which type to accumulate.
const ACCUMULATE: &[&str] = &[
    "Conv1DAttrs",
    "Conv1DTransposeAttrs",
    "Conv2DAttrs",
    "Conv2DTransposeAttrs",
    "Conv2DWinogradAttrs",
    "Conv2DWinogradNNPACKWeightTransformAttrs",
    "DeformableConv2DAttrs",
    "Conv3DAttrs",
    "Conv3DTransposeAttrs",
    "Conv3DWinogradAttrs",
    "DenseAttrs",
    "BatchMatmulAttrs",
];

/// Narrows the attributes of a call that is computed in the narrow type: a result type that is a
/// float, or not set, becomes the narrow one.
pub fn narrowed_attrs(store: &mut Store, attrs: Option<AttrsId>, narrow: DType) -> Option<AttrsId> {
    let id = attrs?;
    let key = store.str(store.attrs_of_id(id).key);
    let key = key.rsplit('.').next().unwrap_or(key);
    let field = if ACCUMULATE.contains(&key) {
        "out_dtype"
    } else if key == "InitOpAttrs" {
        "dtype"
    } else {
        return attrs;
    };
    let is_float = |dtype: DType| matches!(dtype.code, DTypeCode::Float | DTypeCode::BFloat);
    if !store.attr_dtype(attrs, field).is_none_or(is_float) {
        return attrs;
    }
    Some(with_attrs(store, id, &[(field, AttrValue::DType(Some(narrow)))]))
}
