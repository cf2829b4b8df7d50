//! Infers the layouts of operands and results (TVM's `FInferCorrectLayout`), twice for each call: for the program as it
//! was, and then with the new layouts of the arguments.
//!
//! Source: `src/relay/op`, `src/relay/qnn/op`, `src/relay/transforms/infer_layout_utils.cc`.

use super::arrange;
use super::broadcast::broadcast;
use crate::ir::{AttrValue, AttrsId, Dim, Store, Type, TypeId};
use crate::ops::build::with_attrs;
use crate::ops::layout::Layout;

/// The layout of a tensor; `None` if it is not known.
pub(super) type Known = Option<Layout>;

/// A call whose layouts are to be inferred.
pub(super) struct Infer<'a> {
    pub store: &'a mut Store,
    pub op: &'a str,
    pub attrs: Option<AttrsId>,
    /// The new layouts of the arguments, those of tuples one by one; `None` while the original program is inferred.
    pub new: Option<&'a [Known]>,
    /// The layouts of the arguments in the original program.
    pub old: &'a [Known],
    /// The types that the arguments had.
    pub types: &'a [TypeId],
}

/// The result: layouts of the arguments and results, and the attributes that go with them.
pub(super) struct Inferred {
    pub inputs: Vec<Known>,
    pub outputs: Vec<Known>,
    pub attrs: Option<AttrsId>,
}

/// Infers the layouts of a call; `None` if its operator has no rule, or a layout is not known.
pub(super) fn infer(cx: &mut Infer) -> Option<Inferred> {
    let found = match cx.op {
        name if ELEMENTWISE.contains(&name) || name.starts_with("annotation.") => cx.elementwise(),
        name if BROADCAST.contains(&name) => broadcast(cx),
        "qnn.add" | "qnn.subtract" | "qnn.mul" => {
            let plain = broadcast(cx)?;
            Some(Inferred { inputs: with(&plain.inputs[..2], "C", 6), ..plain })
        }
        "nn.conv1d"
        | "nn.conv2d"
        | "nn.conv3d"
        | "nn.conv1d_transpose"
        | "nn.conv2d_transpose"
        | "nn.conv3d_transpose"
        | "nn.contrib_conv2d_winograd_without_weight_transform"
        | "nn.contrib_conv3d_winograd_without_weight_transform"
        | "nn.contrib_conv2d_gemm_without_weight_transform"
        | "nn.contrib_conv2d_NCHWc"
        | "nn.contrib_depthwise_conv2d_NCHWc"
        | "nn.conv2d_backward_weight" => cx.conv(&["data_layout", "kernel_layout"]),
        "nn.deformable_conv2d" => cx.conv(&["data_layout", "data_layout", "kernel_layout"]),
        "nn.bitserial_conv2d" | "nn.bitserial_depthwise_conv2d" | "image.dilation2d" => {
            let (data, kernel) = (cx.layout_attr("data_layout"), cx.layout_attr("kernel_layout"));
            Some(Inferred { inputs: vec![data.clone(), kernel], outputs: vec![data], attrs: cx.attrs })
        }
        "qnn.conv2d" | "qnn.conv2d_transpose" => {
            let plain = cx.conv(&["data_layout", "kernel_layout"])?;
            Some(Inferred { inputs: with(&plain.inputs, "C", 4), ..plain })
        }
        "nn.dense" => Some(cx.fixed(&["NC", "NC"])),
        "nn.contrib_dense_pack" => {
            let weight = cx.layout_attr("weight_layout");
            Some(Inferred { inputs: vec![named("NC"), weight], outputs: vec![named("NC")], attrs: cx.attrs })
        }
        "qnn.dense" => Some(cx.fixed(&["NC", "NC", "N", "N", "N", "N"])),
        "nn.max_pool1d"
        | "nn.max_pool2d"
        | "nn.max_pool3d"
        | "nn.avg_pool1d"
        | "nn.avg_pool2d"
        | "nn.avg_pool3d"
        | "nn.global_max_pool2d"
        | "nn.global_avg_pool2d"
        | "nn.adaptive_avg_pool1d"
        | "nn.adaptive_max_pool1d"
        | "nn.adaptive_avg_pool2d"
        | "nn.adaptive_max_pool2d"
        | "nn.adaptive_avg_pool3d"
        | "nn.adaptive_max_pool3d" => cx.pool(),
        "qnn.avg_pool2d" => {
            let attrs = cx.attrs;
            let plain = cx.pool()?;
            Some(Inferred { inputs: with(&plain.inputs, "C", 4), attrs, ..plain })
        }
        "nn.upsampling" | "nn.upsampling3d" => cx.upsampling(),
        "image.resize1d" | "image.resize2d" => cx.resize(),
        // The second argument has rows of five numbers.
        "vision.roi_align" | "vision.roi_pool" => {
            let data = cx.layout_attr("layout");
            Some(Inferred { inputs: vec![data.clone(), named("N")], outputs: vec![data], attrs: cx.attrs })
        }
        "nn.correlation" => {
            let data = cx.layout_attr("layout");
            Some(Inferred { inputs: vec![data.clone(), data.clone()], outputs: vec![data], attrs: cx.attrs })
        }
        "relay.op.annotation.simulated_quantize" => {
            let data = cx.new.unwrap_or(cx.old).first()?.clone();
            Some(Inferred { inputs: with(std::slice::from_ref(&data), "C", 3), outputs: vec![data], attrs: cx.attrs })
        }
        "nn.prelu" => {
            let data = cx.old.first()?.clone();
            Some(Inferred { inputs: vec![data.clone(), named("C")], outputs: vec![data], attrs: cx.attrs })
        }
        "nn.batch_norm" => {
            let data = cx.moved_axis("axis")?;
            let outputs = with(std::slice::from_ref(&data.0), "C", 2);
            Some(Inferred { inputs: with(&[data.0], "C", 4), outputs, attrs: data.1 })
        }
        "nn.instance_norm" | "nn.layer_norm" => {
            let (data, attrs) = cx.moved_axis("axis")?;
            Some(Inferred { inputs: with(std::slice::from_ref(&data), "C", 2), outputs: vec![data], attrs })
        }
        "topk" => {
            let (data, attrs) = cx.moved_axis("axis")?;
            Some(Inferred { inputs: vec![data.clone()], outputs: vec![data.clone(), data], attrs })
        }
        "nn.l2_normalize" => arrange::l2_normalize(cx),
        "nn.pad" => arrange::pad(cx),
        "concatenate" => arrange::concatenate(cx),
        "qnn.concatenate" => arrange::qnn_concatenate(cx),
        "qnn.requantize" => arrange::requantize(cx),
        "transpose" => arrange::transpose(cx),
        "squeeze" => arrange::squeeze(cx),
        "strided_slice" => arrange::strided_slice(cx),
        "split" => arrange::split(cx),
        "slice_like" => arrange::slice_like(cx),
        "argmax" | "argmin" | "sum" | "all" | "max" | "min" | "prod" | "mean" | "variance" => arrange::reduce(cx),
        _ => None,
    }?;
    found.inputs.iter().chain(&found.outputs).all(Option::is_some).then_some(found)
}

/// A layout that is written in this program.
pub(super) fn named(text: &str) -> Known {
    Layout::parse(text).ok().filter(|layout| !layout.is_undefined())
}

/// Appends `count` times the layout `other`.
pub(super) fn with(layouts: &[Known], other: &str, count: usize) -> Vec<Known> {
    layouts.iter().cloned().chain(std::iter::repeat_n(named(other), count)).collect()
}

/// Returns the number of axes that are not parts of split axes.
pub(super) fn primal_rank(layout: &Layout) -> usize {
    layout.axes().iter().filter(|axis| axis.is_primal()).count()
}

impl Infer<'_> {
    pub fn old(&self, index: usize) -> Option<&Layout> {
        self.old.get(index)?.as_ref()
    }

    /// Returns the layout of the first argument: the new one, or the old one while the original program is inferred.
    pub fn now(&self) -> Known {
        self.new.unwrap_or(self.old).first()?.clone()
    }

    /// Returns the extents of an argument.
    pub fn shape(&self, index: usize) -> Option<Vec<Dim>> {
        match self.store.type_of_id(*self.types.get(index)?) {
            Type::Tensor { shape, .. } => Some(shape.to_vec()),
            _ => None,
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.store.attr_int(self.attrs, name)
    }

    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.store.attr_ints(self.attrs, name)
    }

    fn text(&self, name: &str) -> &str {
        self.store.attr_str(self.attrs, name).unwrap_or_default()
    }

    pub fn layout_attr(&self, name: &str) -> Known {
        named(self.text(name))
    }

    /// Replaces some of the attributes.
    pub fn with(&mut self, changes: &[(&str, AttrValue)]) -> Option<AttrsId> {
        self.attrs.map(|attrs| with_attrs(self.store, attrs, changes))
    }

    fn with_layout(&mut self, name: &str, layout: &Layout) -> Option<AttrsId> {
        let text = layout.to_string();
        let text = AttrValue::Str(self.store.name(&text));
        self.with(&[(name, text)])
    }

    /// Gives all arguments and the result the same layout, with these attributes.
    pub fn all(&self, layout: Known, attrs: Option<AttrsId>) -> Option<Inferred> {
        Some(Inferred { inputs: vec![layout.clone(); self.old.len()], outputs: vec![layout], attrs })
    }

    fn fixed(&self, inputs: &[&str]) -> Inferred {
        Inferred { inputs: inputs.iter().map(|name| named(name)).collect(), outputs: vec![named("NC")], attrs: self.attrs }
    }

    fn elementwise(&self) -> Option<Inferred> {
        let layout = match self.new {
            Some(new) => new.first()?.clone(),
            None => self.old.iter().flatten().next().cloned(),
        };
        self.all(layout, self.attrs)
    }

    /// Convolutions take the layouts of their attributes, and the result follows.
    fn conv(&self, inputs: &[&str]) -> Option<Inferred> {
        let out = Some(self.layout_attr("out_layout")).filter(Option::is_some).unwrap_or_else(|| self.layout_attr("data_layout"));
        let inputs = inputs.iter().map(|name| self.layout_attr(name)).collect();
        Some(Inferred { inputs, outputs: vec![out], attrs: self.attrs })
    }

    /// Pools take any layout, unless their attributes set one for the result.
    fn pool(&mut self) -> Option<Inferred> {
        let mut layout = self.layout_attr("layout");
        let mut attrs = self.attrs;
        if let (true, Some(new)) = (self.text("out_layout").is_empty(), self.new) {
            let new = new.first()?.clone()?;
            attrs = self.with_layout("layout", &new);
            layout = Some(new);
        }
        Some(Inferred { inputs: vec![layout.clone()], outputs: vec![layout], attrs })
    }

    /// Takes the new layout if height and width stay in place; the channels may be anywhere.
    fn upsampling(&mut self) -> Option<Inferred> {
        let raw = self.layout_attr("layout")?;
        let mut found = (Some(raw.clone()), self.attrs);
        if let Some(new) = self.new {
            let new = new.first()?.clone()?;
            let stands = |name: char| new.index_of(name) == raw.index_of(name) && !new.contains(name.to_ascii_lowercase());
            if stands('W') && stands('H') && (!new.contains('D') || stands('D')) {
                found = (Some(new.clone()), self.with_layout("layout", &new));
            }
        }
        Some(Inferred { inputs: vec![found.0.clone()], outputs: vec![found.0], attrs: found.1 })
    }

    fn resize(&mut self) -> Option<Inferred> {
        let raw = self.layout_attr("layout")?;
        let mut found = (raw.clone(), self.attrs);
        if let Some(new) = self.new {
            let (new, old) = (new.first()?.clone()?, self.old(0)?);
            if new != *old && raw == *old && new.rank() == old.rank() {
                found = (new.clone(), self.with_layout("layout", &new));
            }
        }
        Some(Inferred { inputs: vec![Some(found.0.clone())], outputs: vec![Some(found.0)], attrs: found.1 })
    }

    /// Returns the layout of the first argument, and the attributes with the new position of this axis.
    pub fn moved_axis(&mut self, name: &str) -> Option<(Known, Option<AttrsId>)> {
        let Some(new) = self.new else { return Some((self.old.first()?.clone(), self.attrs)) };
        let rank = self.shape(0)?.len() as i64;
        let axis = self.int(name)?;
        let axis = if axis < 0 { axis + rank } else { axis };
        let place = place(new.first()?.as_ref()?, self.old(0)?, axis)?;
        let attrs = self.with(&[(name, AttrValue::int(place))]);
        Some((new.first()?.clone(), attrs))
    }
}

/// Returns the position in the new layout of an axis of the old one, which may count from behind; -1 if there is none.
pub(super) fn place(new: &Layout, old: &Layout, axis: i64) -> Option<i64> {
    let axis = usize::try_from(if axis < 0 { axis + old.rank() as i64 } else { axis }).ok()?;
    let name = old.axes().get(axis)?.name;
    Some(new.index_of(name).map_or(-1, |at| at as i64))
}

const ELEMENTWISE: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "cast",
    "cast_like",
    "ceil",
    "clip",
    "copy",
    "cos",
    "cosh",
    "device_copy",
    "erf",
    "exp",
    "fast_erf",
    "fast_exp",
    "fast_tanh",
    "fixed_point_multiply",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log2",
    "logical_not",
    "ndarray_size",
    "negative",
    "nn.dropout",
    "nn.leaky_relu",
    "nn.relu",
    "on_device",
    "ones_like",
    "reinterpret",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "zeros_like",
];

const BROADCAST: &[&str] = &[
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "divide",
    "equal",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "not_equal",
    "power",
    "right_shift",
    "subtract",
    "trunc_divide",
    "trunc_mod",
];
