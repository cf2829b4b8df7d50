//! Converts operators with desired layouts (TVM's `FTVMConvertOpLayout`).
//!
//! Source: `python/tvm/relay/op/nn/_nn.py`, `image/_image.py`, `vision/_rcnn.py`, `qnn/op/layout_conversions.py`.

use crate::ir::{AttrValue, AttrsId, Dim, Expr, ExprId, Store, Type, TypeId};
use crate::ops::build::with_attrs;
use crate::passes::relay::support::layout::with_padding;

/// Returns the operator and its attributes in the desired layouts; `None` for operators without such a conversion.
/// `Err` is TVM's message for a layout that the operator cannot have.
pub(super) fn converted(
    store: &mut Store,
    op: &'static str,
    attrs: Option<AttrsId>,
    data: ExprId,
    types: &[TypeId],
    desired: &[String],
) -> Result<Option<(&'static str, Option<AttrsId>)>, String> {
    let Some(kind) = kind(op) else { return Ok(None) };
    let wanted = usize::from(matches!(kind, Kind::Conv { .. } | Kind::Rois | Kind::Backward)) + 1;
    if desired.len() < wanted || (desired.len() > wanted && !matches!(kind, Kind::Pool)) {
        return Err(format!("A desired layout is expected for each of {op}'s inputs, which are {wanted}"));
    }
    let (layout, kernel) = (desired[0].as_str(), desired.get(1).map_or("default", String::as_str));
    if layout == "default" && !matches!(kind, Kind::Pool) {
        return Err("Data layout cannot be default".to_owned());
    }
    let unsupported = Err(format!("Layout {layout} is not yet supported."));
    let mut set: Vec<(&str, &str)> = Vec::new();
    let mut name = op;
    match kind {
        Kind::Pool if op == "qnn.avg_pool2d" && !matches!(layout, "NCHW" | "NHWC") => return unsupported,
        Kind::Pool => set.extend([("layout", layout), ("out_layout", layout)]),
        Kind::Image => set.push(("layout", layout)),
        Kind::Rois if kernel != "default" => return Err("Rois layout must be default".to_owned()),
        Kind::Rois if !matches!(layout, "NCHW" | "NHWC") => return unsupported,
        Kind::Rois => set.push(("layout", layout)),
        Kind::Backward => {
            set.extend([("grad_layout", layout), ("data_layout", layout), ("kernel_layout", kernel), ("out_layout", "")]);
        }
        Kind::Conv { kernels } => {
            set.push(("data_layout", layout));
            let tile = tile_of(layout).filter(|_| op == "nn.conv2d");
            let default = kernels.iter().find(|(data, _)| *data == layout).map(|(_, kernel)| *kernel);
            if let Some(digits) = tile {
                if kernel == "default" {
                    return Err("Kernel layout cannot be default.".to_owned());
                }
                let tile: i64 = digits.parse().ok().filter(|tile| *tile > 0).ok_or(format!("invalid layout {layout}"))?;
                if matches!(store.expr(data), Expr::Var(_)) && channels(store, types).is_some_and(|count| count % tile != 0) {
                    return Ok(Some((op, with_padding(store, attrs))));
                }
                set.push(("kernel_layout", kernel));
                name = "nn.contrib_conv2d_NCHWc";
            } else if kernel != "default" {
                set.push(("kernel_layout", kernel));
            } else if let Some(default) = default {
                let depthwise = layout == "NHWC" && op.ends_with("conv2d") && op != "nn.deformable_conv2d";
                let depthwise = depthwise && is_depthwise(store, attrs, types)?;
                set.push(("kernel_layout", if depthwise { "HWOI" } else { default }));
            } else {
                return unsupported;
            }
        }
    }
    let changes: Vec<(&str, AttrValue)> =
        set.into_iter().map(|(field, text)| (field, AttrValue::Str(store.name(text)))).collect();
    let attrs = attrs.map(|attrs| with_attrs(store, attrs, &changes));
    let padded =
        !matches!(kind, Kind::Image | Kind::Rois | Kind::Backward) && !matches!(op, "nn.deformable_conv2d" | "qnn.avg_pool2d");
    Ok(Some((name, if padded { with_padding(store, attrs) } else { attrs })))
}

enum Kind {
    /// Data and kernel; the kernel that goes with each layout of the data.
    Conv {
        kernels: &'static [(&'static str, &'static str)],
    },
    Pool,
    Image,
    Rois,
    Backward,
}

fn kind(op: &str) -> Option<Kind> {
    Some(match op {
        "nn.conv2d" => Kind::Conv { kernels: &[("NCHW", "OIHW"), ("NHWC", "HWIO"), ("HWNC", "HWOI")] },
        "qnn.conv2d" | "nn.deformable_conv2d" => Kind::Conv { kernels: &[("NCHW", "OIHW"), ("NHWC", "HWIO")] },
        "nn.conv2d_transpose" | "qnn.conv2d_transpose" => Kind::Conv { kernels: &[("NCHW", "IOHW"), ("NHWC", "HWIO")] },
        "nn.conv3d" => Kind::Conv { kernels: &[("NCDHW", "OIDHW"), ("NDHWC", "DHWIO")] },
        "nn.conv3d_transpose" => Kind::Conv { kernels: &[("NCDHW", "IODHW"), ("NDHWC", "DHWOI")] },
        "nn.max_pool2d" | "nn.avg_pool2d" | "nn.global_max_pool2d" | "nn.global_avg_pool2d" | "qnn.avg_pool2d" => Kind::Pool,
        "image.resize1d" | "image.resize2d" => Kind::Image,
        "vision.roi_align" | "vision.roi_pool" => Kind::Rois,
        "nn.conv2d_backward_weight" => Kind::Backward,
        _ => return None,
    })
}

/// `16` of `NCHW16c`.
fn tile_of(layout: &str) -> Option<&str> {
    let rest = layout.strip_prefix("NCHW")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[end..].starts_with('c').then_some(&rest[..end])
}

fn shape(store: &Store, types: &[TypeId], index: usize) -> Option<Vec<Option<i64>>> {
    match store.type_of_id(*types.get(index)?) {
        Type::Tensor { shape, .. } => Some(shape.iter().map(|dim: &Dim| dim.known()).collect()),
        _ => None,
    }
}

/// The extent of the second axis of the data.
fn channels(store: &Store, types: &[TypeId]) -> Option<i64> {
    *shape(store, types, 0)?.get(1)?
}

/// True if a convolution has as many groups as input and output channels.
fn is_depthwise(store: &Store, attrs: Option<AttrsId>, types: &[TypeId]) -> Result<bool, String> {
    let extent = |index: usize, layout: &str, name: char| -> Result<Option<i64>, String> {
        let shape = shape(store, types, index).unwrap_or_default();
        let at = |at: usize| shape.get(at).copied().flatten();
        let place = layout.find(name).filter(|_| shape.len() == 4);
        match (place, shape.len()) {
            (Some(place), _) => Ok(at(place)),
            (None, 5) => Ok(at(usize::from(name == 'C')).zip(at(4)).map(|(outer, inner)| outer * inner)),
            (None, 6) => Ok(at(0).zip(at(5)).map(|(outer, inner)| outer * inner)),
            _ => Err(format!("Unknown layout {layout}")),
        }
    };
    let text = |name: &str| store.attr_str(attrs, name).unwrap_or_default();
    let data = extent(0, text("data_layout"), 'C')?;
    let kernel = extent(1, text("kernel_layout"), 'O')?;
    Ok(data.is_some() && data == kernel && data == store.attr_int(attrs, "groups"))
}
