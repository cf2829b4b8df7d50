//! QuantizePartition: marks where values of few bits pass from one part of a program to the next.
//!
//! Source: `src/relay/quantize/partition.cc`, `python/tvm/relay/quantize/_partition.py`.

use super::fold_constant::is_known;
use super::support::forward::{Args as Given, Forward, Made, forward};
use super::support::quantizing::dtype;
use crate::ir::{AttrValue, Attrs, DType, ExprId, Module, Store};
use crate::ops::build::{call, call_attrs, op_name};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Ends regions around convolutions with hints of a cast.
pub static SPEC: PassSpec = PassSpec {
    name: "QuantizePartition",
    info_name: "QuantizePartition",
    dialects: crate::pass::spec::RELAY,
    opt_level: 1,
    required: &[],
    params: &[Param {
        name: "dtype_input",
        default: "\"int8\"",
        doc: "The type of the inputs of convolutions, of TVM's `qconfig`.",
    }],
    config: &[],
    summary: "Marks where values of few bits pass from one region of a program to the next.",
    doc: explained(
        "The first step of `relay.quantize`. A convolution begins a region; `nn.relu`, `clip`, `nn.max_pool2d`, a product and the \
addition of a constant go on with it. Where the next convolution, or a sum with another region, takes the result, it gets \
`annotation.cast_hint`, by which QuantizeRealize casts to few bits there, and `annotation.stop_fusion`, which keeps the cast in \
the kernel of the first region.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  nn.conv2d(%1, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3])
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) -> Tensor[(1, 4, 8, 8), float32] {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = annotation.cast_hint(%1, meta[relay.attrs.CastHintAttrs][0]);
  %3 = annotation.stop_fusion(%2);
  %4 = nn.conv2d(%3, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %5 = annotation.cast_hint(%4, meta[relay.attrs.CastHintAttrs][1]);
  annotation.stop_fusion(%5)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let dtype = dtype("QuantizePartition", arguments, "dtype_input")?;
    forward(cx.store, function, &mut Partition { dtype })
}

struct Partition {
    dtype: DType,
}

impl Forward for Partition {
    /// The result of a region.
    type Value = ExprId;

    fn rule(&self) -> &'static str {
        "region of few bits ended"
    }

    fn realize(&self, store: &mut Store, value: &ExprId) -> ExprId {
        let (key, name) = (store.name("relay.attrs.CastHintAttrs"), store.name("dtype"));
        let attrs = store.attrs(Attrs { key, fields: Box::new([(name, AttrValue::DType(Some(self.dtype)))]) });
        let hint = call_attrs(store, "annotation.cast_hint", &[*value], Some(attrs));
        call(store, "annotation.stop_fusion", &[hint])
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, args: &Given<'_, ExprId>) -> Result<Made<ExprId>, String> {
        let attrs = store.call(pre).and_then(|call| call.attrs);
        let name = op_name(store, pre);
        let inside = |index: usize, store: &Store| args.list.get(index).and_then(|arg| args.value(store, *arg)).copied();
        let made = match name {
            "nn.conv2d" => {
                if inside(1, store).is_some() {
                    return Err("the weight is the result of a region".to_owned());
                }
                let data = match inside(0, store) {
                    Some(data) => self.realize(store, &data),
                    None => args.list[0],
                };
                Made::Value(call_attrs(store, name, &[data, args.list[1]], attrs))
            }
            "clip" | "nn.relu" | "nn.max_pool2d" => match inside(0, store) {
                Some(data) => Made::Value(call_attrs(store, name, &[data], attrs)),
                None => Made::Kept,
            },
            "add" | "multiply" => {
                let (left, right) = (inside(0, store), inside(1, store));
                let goes_on = left.is_some() && right.is_none() && is_known(store, args.list[1]);
                let (x, y) = match (left, right) {
                    (None, None) => return Ok(Made::Kept),
                    // The addition of a constant belongs to the region.
                    (Some(left), None) if name == "add" && goes_on => (left, args.list[1]),
                    (Some(left), None) => (self.realize(store, &left), args.list[1]),
                    (None, Some(right)) => (args.list[0], self.realize(store, &right)),
                    (Some(left), Some(right)) if name == "add" => (self.realize(store, &left), self.realize(store, &right)),
                    // Of a product TVM ends one region only; the other one goes on.
                    (Some(left), Some(right)) => (self.realize(store, &left), right),
                };
                let sum = call_attrs(store, name, &[x, y], attrs);
                match name == "multiply" || goes_on || left.is_some() && right.is_some() {
                    true => Made::Value(sum),
                    false => Made::Expr(sum),
                }
            }
            "nn.global_avg_pool2d" => {
                let data = inside(0, store).unwrap_or(args.list[0]);
                let data = self.realize(store, &data);
                Made::Expr(call_attrs(store, name, &[data], attrs))
            }
            _ => Made::Kept,
        };
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, unchanged};

    const CONV: &str = "padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]";

    #[test]
    fn the_sum_of_two_regions_begins_a_third_one() {
        let made = after(
            "QuantizePartition()",
            &format!(
                "def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {{
                   %0 = nn.conv2d(%x, %w, {CONV});
                   nn.relu(add(nn.conv2d(%x, %w, {CONV}), add(%0, 1f)))
                 }}"
            ),
        );
        assert_eq!(made.matches("cast_hint").count(), 3, "{made}");
        // The addition of a constant comes before the hint.
        assert!(made.contains("add(%2, 1f);\n  %4 = annotation.cast_hint(%3"), "{made}");
    }

    #[test]
    fn a_global_pool_ends_a_region() {
        let made = after(
            "QuantizePartition(dtype_input=\"uint8\")",
            "def @main(%x: Tensor[(1, 4, 8, 8), float32]) { nn.global_avg_pool2d(nn.relu(%x)) }",
        );
        assert!(made.contains("cast_hint") && made.ends_with("nn.global_avg_pool2d(%2)\n}\n"), "{made}");
    }

    #[test]
    fn without_convolutions_there_are_no_regions() {
        unchanged("QuantizePartition()", "def @main(%x: Tensor[(4, 4), float32]) { nn.relu(add(%x, %x)) }");
    }
}
