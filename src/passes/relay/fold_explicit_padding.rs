//! FoldExplicitPadding: moves `nn.pad` into the padding of the convolution or pooling behind it.
//!
//! Does nothing when axes other than height, width and depth are padded, when the padding value is not the one that the
//! operator pads with (zero for convolutions and averages, the zero point for `qnn.conv2d`, the least
//! value for maxima), when the padded tensor is used elsewhere, or for an average that does not count
//! padding and has padding of its own already.
//!
//! Source: `src/relay/transforms/fold_explicit_padding.cc`.

use super::support::pattern::{Match, Rule};
use super::support::simplify::run;
use super::support::value_range;
use crate::ir::{AttrValue, AttrsId, ExprId, Module, Store};
use crate::ops::build::{args, constant, elements, ints, op_name, with_attrs};
use crate::pass::{PassSpec, Run, explained};

/// Folds `nn.pad` into the padding of a convolution or pooling.
pub static SPEC: PassSpec = PassSpec {
    name: "FoldExplicitPadding",
    // TVM's name really begins with a blank.
    info_name: " FoldExplicitPadding",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Moves nn.pad into the padding of the convolution or pooling behind it.",
    doc: explained(
        "`conv2d(pad(x), w)` becomes `conv2d(x, w, padding=...)`, likewise for one and three dimensions, \
`qnn.conv2d` and pooling, when the padding value is what the operator pads with itself: zero, the zero point of the \
input, or the least value of the type for `nn.max_pool`.\n\n\
In TVM the name of this pass begins with a blank, so a list of disabled passes must name it with the blank.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]);
  nn.conv2d(%0, %w, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3])
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) -> Tensor[(1, 4, 8, 8), float32] {
  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3])
}
",
    ),
    run: Run::Function(|cx, module, function, _| run(cx, module, function, &[&RULE])),
};

static RULE: Rule = Rule::new(
    "pad moved into the operator behind it",
    "(is_op(\"nn.conv1d\") | is_op(\"nn.conv2d\") | is_op(\"nn.conv3d\") | is_op(\"nn.contrib_conv2d_NCHWc\"))((pad := nn.pad(x, value)), w) \
     | qnn.conv2d(pad, w, input_zero_point, kernel_zero_point, scale1, scale2) \
     | (is_op(\"nn.max_pool1d\") | is_op(\"nn.max_pool2d\") | is_op(\"nn.max_pool3d\") \
     | is_op(\"nn.avg_pool1d\") | is_op(\"nn.avg_pool2d\") | is_op(\"nn.avg_pool3d\"))(pad)",
    fold,
);

fn fold(store: &mut Store, _: &Module, m: &Match) -> Option<ExprId> {
    let name = op_name(store, m.post);
    let call = store.call(m.post)?;
    let attrs = call.attrs?;
    let pad_attrs = store.call(m.get("pad"))?.attrs;
    let value = m.get("value");
    let mut extra: Option<(&str, AttrValue)> = None;
    if name == "qnn.conv2d" {
        let zero_point = constant(store, m.get("input_zero_point")).filter(|tensor| tensor.is_scalar());
        if zero_point.is_none() || zero_point != constant(store, value) {
            return None;
        }
    } else {
        if store.attr_str(pad_attrs, "pad_mode") != Some("constant") {
            return None;
        }
        let tensor = constant(store, value)?;
        let dtype = tensor.dtype;
        let padded_with = elements(tensor)?.first().copied()?;
        if name.starts_with("nn.max_pool") {
            if padded_with != value_range(dtype)?.0 {
                return None;
            }
        } else if padded_with != 0.0 || name == "nn.contrib_conv2d_NCHWc" {
            return None;
        }
        if name.starts_with("nn.avg_pool") && store.attr_int(Some(attrs), "count_include_pad") != Some(1) {
            // The divisor did not count padding; now it must count the elements that were data before.
            if store.attr_ints(Some(attrs), "padding")?.iter().any(|pad| *pad != 0) {
                return None;
            }
            extra = Some(("count_include_pad", AttrValue::Bool(true)));
        }
    }
    let layout = if name.contains("pool") { "layout" } else { "data_layout" };
    let padding = combined_padding(store, attrs, pad_attrs, layout)?;
    let changes: Vec<_> = [("padding", padding)].into_iter().chain(extra).collect();
    let attrs = with_attrs(store, attrs, &changes);
    let mut new_args = args(store, m.post);
    new_args[0] = m.get("x");
    Some(store.add_call(call.callee, &new_args, Some(attrs)))
}

/// The padding of the operator plus that of `nn.pad`; `None` when that pads other axes too.
fn combined_padding(store: &Store, attrs: AttrsId, pad: Option<AttrsId>, layout: &str) -> Option<AttrValue> {
    let layout: Vec<char> = store.attr_str(Some(attrs), layout)?.chars().collect();
    let AttrValue::Array(rows) = store.attr(pad, "pad_width")? else { return None };
    let rows: Vec<Vec<i64>> = rows
        .iter()
        .map(|row| match row {
            AttrValue::Array(pair) => pair.iter().map(|v| store.value_int(v)).collect(),
            _ => None,
        })
        .collect::<Option<_>>()?;
    if rows.len() != layout.len() || rows.iter().any(|row| row.len() != 2) {
        return None;
    }
    let is_spatial = |i: &usize| matches!(layout[*i], 'H' | 'W' | 'D');
    if (0..rows.len()).any(|i| !is_spatial(&i) && rows[i] != [0, 0]) {
        return None;
    }
    let spatial: Vec<usize> = (0..rows.len()).filter(is_spatial).collect();
    let added: Vec<i64> = (0..2).flat_map(|end| spatial.iter().map(move |i| (*i, end))).map(|(i, end)| rows[i][end]).collect();
    let old = store.attr_ints(Some(attrs), "padding")?;
    if old.len() != added.len() {
        return None;
    }
    Some(ints(&old.iter().zip(added).map(|(a, b)| a + b).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn padding_adds_up() {
        check(
            "FoldExplicitPadding()",
            "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
               %0 = nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 2], [3, 4]]);
               nn.conv2d(%0, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3])
             }",
            "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
               nn.conv2d(%x, %w, padding=[2, 4, 3, 5], channels=4, kernel_size=[3, 3])
             }",
        );
    }

    #[test]
    fn padded_channels_and_other_values_stay() {
        let program = |value: &str, channels: &str| {
            format!(
                "def @main(%x: Tensor[(1, 3, 8, 8), float32]) {{
                   %0 = nn.pad(%x, {value}, pad_width=[[0, 0], [{channels}], [1, 1], [1, 1]]);
                   nn.max_pool2d(%0, pool_size=[2, 2], padding=[0, 0, 0, 0])
                 }}"
            )
        };
        unchanged("FoldExplicitPadding()", &program("0f", "0, 0"));
        unchanged("FoldExplicitPadding()", &program("-3.40282e+38f", "1, 0"));
    }

    #[test]
    fn an_average_counts_the_padding_that_it_takes_over() {
        check(
            "FoldExplicitPadding()",
            "def @main(%x: Tensor[(1, 3, 8, 8), float32]) {
               %0 = nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]);
               nn.avg_pool2d(%0, pool_size=[2, 2], padding=[0, 0, 0, 0])
             }",
            "def @main(%x: Tensor[(1, 3, 8, 8), float32]) {
               nn.avg_pool2d(%x, pool_size=[2, 2], padding=[1, 1, 1, 1], count_include_pad=True)
             }",
        );
    }
}
