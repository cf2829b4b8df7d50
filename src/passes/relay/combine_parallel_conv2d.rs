//! CombineParallelConv2D: convolutions of the same data as one.
//!
//! Convolutions that differ only in their filters become one with all filters, followed by one
//! `strided_slice` for each. The calls behind each, as far as they are element-wise or broadcasting
//! and the same in all, are combined too.
//!
//! Does nothing to fewer than `min_num_branches` convolutions, nor to grouped ones.
//!
//! Source: `src/relay/transforms/combine_parallel_conv2d.cc`.

use super::support::combine::{Branch, Combiner, concatenate, run, slice_sizes};
use super::support::tensor_type;
use crate::ir::{AttrValue, Dim, ExprId, Store};
use crate::ops::build::{args, attrs_of, call_attrs};
use crate::ops::layout::Layout;
use crate::pass::{Param, PassSpec, Run, explained};

/// Combines convolutions of the same data into one with all filters.
pub static SPEC: PassSpec = PassSpec {
    name: "CombineParallelConv2D",
    info_name: "CombineParallelConv2d",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["InferType"],
    params: &[Param { name: "min_num_branches", default: "3", doc: "Fewer convolutions than this stay as they are." }],
    config: &[],
    summary: "Computes convolutions of the same data by one larger convolution.",
    doc: explained("Convolutions of the same data with the same attributes and kernel size become one convolution \
whose weight holds the filters of all (`concatenate`); a `strided_slice` takes each result out. Element-wise and \
broadcasting calls that follow all of them alike are combined as well, their other arguments concatenated along \
the channels."),
    example_before: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w1: Tensor[(2, 4, 1, 1), float32], %w2: Tensor[(3, 4, 1, 1), float32], %w3: Tensor[(5, 4, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w1, padding=[0, 0, 0, 0]);
  %1 = nn.conv2d(%x, %w2, padding=[0, 0, 0, 0]);
  %2 = nn.conv2d(%x, %w3, padding=[0, 0, 0, 0]);
  (%0, %1, %2)
}
"),
    example_after: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w1: Tensor[(2, 4, 1, 1), float32], %w2: Tensor[(3, 4, 1, 1), float32], %w3: Tensor[(5, 4, 1, 1), float32]) -> (Tensor[(1, 2, 8, 8), float32], Tensor[(1, 3, 8, 8), float32], Tensor[(1, 5, 8, 8), float32]) {
  %0 = (%w1, %w2, %w3);
  %1 = concatenate(%0);
  %2 = nn.conv2d(%x, %1, padding=[0, 0, 0, 0], channels=10);
  %3 = strided_slice(%2, begin=[0, 0], end=[-1, 2], strides=[1, 1], slice_mode=\"size\", axes=None);
  %4 = strided_slice(%2, begin=[0, 2], end=[-1, 3], strides=[1, 1], slice_mode=\"size\", axes=None);
  %5 = strided_slice(%2, begin=[0, 5], end=[-1, 5], strides=[1, 1], slice_mode=\"size\", axes=None);
  (%3, %4, %5)
}
"),
    run: Run::Function(|cx, _, function, arguments| {
        let min = usize::try_from(arguments.int("min_num_branches")).unwrap_or(0);
        run(cx.store, function, &Conv2d, min)
    }),
};

struct Conv2d;

/// Attributes that must agree. The combined convolution copies them from the first.
const SHARED: [&str; 8] = ["strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout", "out_dtype"];

impl Combiner for Conv2d {
    fn op(&self) -> &'static str {
        "nn.conv2d"
    }

    fn supports(&self, store: &Store, call: ExprId) -> bool {
        let attrs = store.call(call).and_then(|call| call.attrs);
        store.attr_int(attrs, "groups") == Some(1)
    }

    fn compatible(&self, store: &mut Store, a: ExprId, b: ExprId) -> bool {
        let attrs = [a, b].map(|id| store.call(id).and_then(|call| call.attrs));
        if SHARED.iter().any(|name| store.attr(attrs[0], name) != store.attr(attrs[1], name)) {
            return false;
        }
        let window_a = window(store, a);
        window_a.is_some() && window_a == window(store, b)
    }

    fn arg_compatible(&self, store: &Store, first: ExprId, a: ExprId, b: ExprId, index: usize) -> bool {
        channels_compatible(store, first, a, b, index).unwrap_or(false)
    }

    fn combine(&self, store: &mut Store, branches: &[Branch]) -> Option<ExprId> {
        let first = store.call(branches[0][0])?;
        let mut weights = Vec::new();
        let mut channels = 0;
        for branch in branches {
            weights.push(args(store, branch[0])[1]);
            channels += filters(store, branch[0])?;
        }
        let axis = store.attr_str(first.attrs, "kernel_layout")?.find('O')?;
        let weight = concatenate(store, &weights, axis as i64);
        let mut written = vec![("channels", AttrValue::int(channels))];
        for name in SHARED.into_iter().chain(["kernel_size"]) {
            written.push((name, store.attr(first.attrs, name)?.clone()));
        }
        let attrs = attrs_of(store, "nn.conv2d", &written);
        let data = args(store, branches[0][0])[0];
        Some(call_attrs(store, "nn.conv2d", &[data, weight], Some(attrs)))
    }

    fn combine_arg(&self, store: &mut Store, branches: &[Branch], depth: usize, index: usize, _: usize) -> Option<ExprId> {
        let call = branches[0][depth];
        let rank = tensor_type(store, call)?.0.len();
        let fields: Vec<ExprId> = branches.iter().map(|branch| args(store, branch[depth])[index]).collect();
        let arg_rank = tensor_type(store, fields[0])?.0.len();
        let axis = (channel_axis(store, branches[0][0])? + arg_rank).checked_sub(rank)?;
        Some(concatenate(store, &fields, axis as i64))
    }

    fn parts(&self, store: &mut Store, data: ExprId, branches: &[Branch], _: usize) -> Option<Vec<ExprId>> {
        let axis = channel_axis(store, branches[0][0])?;
        let mut index = 0;
        let mut parts = Vec::with_capacity(branches.len());
        for branch in branches {
            let channels = filters(store, branch[0])?;
            let begin = [vec![0; axis], vec![index]].concat();
            let size = [vec![-1; axis], vec![channels]].concat();
            parts.push(slice_sizes(store, data, &begin, &size));
            index += channels;
        }
        Some(parts)
    }
}

/// Height and width of the kernel.
fn window(store: &mut Store, conv: ExprId) -> Option<[Dim; 2]> {
    let attrs = store.call(conv)?.attrs;
    let layout = Layout::parse(store.attr_str(attrs, "kernel_layout")?).ok()?;
    let weight = tensor_type(store, args(store, conv)[1])?.0;
    let shape = layout.convert_shape(store, &Layout::parse("OIHW").ok()?, &weight).ok()?;
    Some([shape[2], shape[3]])
}

/// The extent of the filters' own axis, in blocks if the layout is blocked.
fn filters(store: &Store, conv: ExprId) -> Option<i64> {
    let attrs = store.call(conv)?.attrs;
    let axis = store.attr_str(attrs, "kernel_layout")?.find('O')?;
    tensor_type(store, args(store, conv)[1])?.0.get(axis)?.known()
}

/// Returns the channel axis of the result.
fn channel_axis(store: &Store, conv: ExprId) -> Option<usize> {
    let attrs = store.call(conv)?.attrs;
    let out = store.attr_str(attrs, "out_layout").filter(|layout| !layout.is_empty());
    out.or(store.attr_str(attrs, "data_layout"))?.find('C')
}

/// True if an argument has all channels, and the other axes and the element type agree in both calls.
fn channels_compatible(store: &Store, conv: ExprId, a: ExprId, b: ExprId, index: usize) -> Option<bool> {
    let axis = channel_axis(store, conv)?;
    let [(ta, da), (tb, db)] = [tensor_type(store, args(store, a)[index])?, tensor_type(store, args(store, b)[index])?];
    let [(out_a, _), (out_b, _)] = [tensor_type(store, a)?, tensor_type(store, b)?];
    if da != db || ta.len() != tb.len() {
        return Some(false);
    }
    let place = (axis + ta.len()).checked_sub(out_a.len())?;
    if ta.get(place)? != out_a.get(axis)? || tb.get(place)? != out_b.get(axis)? {
        return Some(false);
    }
    Some((0..ta.len()).all(|i| i == place || ta[i] == tb[i]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, unchanged};

    fn program(second: &str) -> String {
        format!(
            "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w1: Tensor[(2, 4, 1, 1), float32], \
             %w2: Tensor[(3, 4, 1, 1), float32]) {{
               %0 = nn.conv2d(%x, %w1, padding=[0, 0, 0, 0]); %1 = nn.conv2d(%x, %w2, {second}padding=[0, 0, 0, 0]);
               (nn.relu(%0), nn.relu(%1))
             }}"
        )
    }

    #[test]
    fn what_follows_alike_is_combined_too() {
        let made = after("CombineParallelConv2D(min_num_branches=2)", &program(""));
        assert_eq!((made.matches("nn.conv2d").count(), made.matches("nn.relu").count()), (1, 1), "{made}");
    }

    #[test]
    fn too_few_or_different_convolutions_stay() {
        unchanged("CombineParallelConv2D()", &program(""));
        unchanged("CombineParallelConv2D(min_num_branches=2)", &program("strides=[2, 2], "));
    }
}
