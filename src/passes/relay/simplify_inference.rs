//! SimplifyInference: normalisation layers as arithmetic.
//!
//! At inference time the statistics of a batch normalisation are constants, so the layer is one
//! multiplication and one addition, which later passes can fold into a neighbouring convolution.
//! `nn.layer_norm`, `nn.group_norm`, `nn.instance_norm` and `nn.l2_normalize` are spelled out too, and
//! `nn.dropout` is removed.
//!
//! Does nothing to a batch normalisation or dropout whose tuple is used other than through `.0`,
//! nor to a group normalisation over unknown extents.
//!
//! Source: `src/relay/transforms/simplify_inference.cc`.

use super::support::{expand_to_axes, normalise_axis, static_shape, tensor_type};
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrValue, AttrsId, DType, Expr, ExprId, Module, Store};
use crate::ops::build::{args, call, call_with, ints, op_name, scalar};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Replaces normalisation layers by arithmetic and removes `nn.dropout`.
pub static SPEC: PassSpec = PassSpec {
    name: "SimplifyInference",
    info_name: "SimplifyInference",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Turns normalisation layers into plain arithmetic and removes dropout.",
    doc: explained("At inference time `nn.batch_norm` only scales and shifts: its first result becomes a \
multiplication by `gamma / sqrt(moving_var + epsilon)` and an addition. `nn.layer_norm`, `nn.group_norm`, \
`nn.instance_norm` and `nn.l2_normalize` are written out with `mean`, `variance`, `sqrt` and `divide`. \
`nn.dropout` is replaced by its input.\n\n\
Batch normalisation and dropout yield tuples. Only a projection `.0` is simplified: a use of the whole \
tuple or of another field keeps the operator."),
    example_before: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %gamma: Tensor[(4), float32], %beta: Tensor[(4), float32], %mean: Tensor[(4), float32], %var: Tensor[(4), float32]) {
  %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=0.5f);
  %0.0
}
"),
    example_after: explained("\
def @main(%x: Tensor[(1, 4, 8, 8), float32], %gamma: Tensor[(4), float32], %beta: Tensor[(4), float32], %mean: Tensor[(4), float32], %var: Tensor[(4), float32]) -> Tensor[(1, 4, 8, 8), float32] {
  %0 = add(%var, 0.5f);
  %1 = sqrt(%0);
  %2 = divide(1f, %1);
  %3 = multiply(%2, %gamma);
  %4 = expand_dims(%3, axis=1, num_newaxis=2);
  %5 = negative(%mean);
  %6 = multiply(%5, %3);
  %7 = add(%6, %beta);
  %8 = multiply(%x, %4);
  %9 = expand_dims(%7, axis=1, num_newaxis=2);
  add(%8, %9)
}
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    Ok(rewrite(cx.store, function, &mut Simplifier))
}

struct Simplifier;

impl ExprMutator for Simplifier {
    fn rule(&self) -> &'static str {
        "SimplifyInference"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::TupleGetItem { tuple, index: 0 } => project(store, pre, tuple).unwrap_or(post),
            Expr::Call { .. } => spell_out(store, pre, post).unwrap_or(post),
            _ => post,
        }
    }
}

/// Returns the replacement of `.0` of the rewritten `tuple`, if that is a batch normalisation or a dropout.
fn project(store: &mut Store, pre: ExprId, tuple: ExprId) -> Option<ExprId> {
    match op_name(store, tuple) {
        "nn.dropout" => {
            store.set_rule("dropout to its input");
            args(store, tuple).first().copied()
        }
        "nn.batch_norm" => {
            let Expr::TupleGetItem { tuple: old, .. } = store.expr(pre) else { return None };
            let (shape, dtype) = tensor_type(store, *args(store, old).first()?)?;
            store.set_rule("batch_norm to multiply and add");
            batch_norm(store, tuple, shape.len(), dtype)
        }
        _ => None,
    }
}

fn spell_out(store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
    let (rule, spell): (_, fn(&mut Store, ExprId, ExprId) -> Option<ExprId>) = match op_name(store, post) {
        "nn.layer_norm" => ("layer_norm to mean, variance and divide", layer_norm),
        "nn.group_norm" => ("group_norm to mean, variance and divide", group_norm),
        "nn.instance_norm" => ("instance_norm to mean, variance and divide", instance_norm),
        "nn.l2_normalize" => ("l2_normalize to divide by the norm", l2_normalize),
        _ => return None,
    };
    store.set_rule(rule);
    spell(store, pre, post)
}

/// A scalar that TVM holds as a double and passes through a float.
fn float_attr(store: &mut Store, attrs: Option<AttrsId>, name: &str, dtype: DType) -> Option<ExprId> {
    let value = store.attr_float(attrs, name)?;
    Some(scalar(store, dtype, f64::from(value as f32)))
}

fn flag(store: &Store, attrs: Option<AttrsId>, name: &str) -> bool {
    store.attr_int(attrs, name) != Some(0)
}

fn batch_norm(store: &mut Store, norm: ExprId, rank: usize, dtype: DType) -> Option<ExprId> {
    let attrs = store.call(norm)?.attrs;
    let [data, gamma, beta, mean, var] = args(store, norm).try_into().ok()?;
    let axis = normalise_axis(store.attr_int(attrs, "axis")?, rank)?;
    let epsilon = float_attr(store, attrs, "epsilon", dtype)?;
    let var = call(store, "add", &[var, epsilon]);
    let deviation = call(store, "sqrt", &[var]);
    let one = scalar(store, dtype, 1.0);
    let mut scale = call(store, "divide", &[one, deviation]);
    if flag(store, attrs, "scale") {
        scale = call(store, "multiply", &[scale, gamma]);
    }
    let mean = call(store, "negative", &[mean]);
    let mut shift = call(store, "multiply", &[mean, scale]);
    if flag(store, attrs, "center") {
        shift = call(store, "add", &[shift, beta]);
    }
    let scale = expand_to_axes(store, scale, rank, &[axis]);
    let shift = expand_to_axes(store, shift, rank, &[axis]);
    let out = call(store, "multiply", &[data, scale]);
    Some(call(store, "add", &[out, shift]))
}

/// `(data - mean) / sqrt(variance + epsilon)` over some axes.
fn standardise(store: &mut Store, data: ExprId, axes: &[i64], epsilon: ExprId) -> ExprId {
    let written = [("axis", ints(axes)), ("keepdims", AttrValue::Bool(true)), ("exclude", AttrValue::Bool(false))];
    let mean = call_with(store, "mean", &[data], &written);
    let variance = call_with(store, "variance", &[data, mean], &written);
    let variance = call(store, "add", &[variance, epsilon]);
    let deviation = call(store, "sqrt", &[variance]);
    let centred = call(store, "subtract", &[data, mean]);
    call(store, "divide", &[centred, deviation])
}

/// Multiplies by gamma and adds beta along an axis, if the attributes ask for them.
fn scale_and_shift(store: &mut Store, norm: ExprId, out: ExprId, rank: usize) -> Option<ExprId> {
    let attrs = store.call(norm)?.attrs;
    let [_, gamma, beta] = args(store, norm).try_into().ok()?;
    let axis = normalise_axis(store.attr_int(attrs, "axis")?, rank)?;
    let mut out = out;
    if flag(store, attrs, "scale") {
        let gamma = expand_to_axes(store, gamma, rank, &[axis]);
        out = call(store, "multiply", &[out, gamma]);
    }
    if flag(store, attrs, "center") {
        let beta = expand_to_axes(store, beta, rank, &[axis]);
        out = call(store, "add", &[out, beta]);
    }
    Some(out)
}

fn layer_norm(store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
    let attrs = store.call(post)?.attrs;
    let (shape, dtype) = tensor_type(store, args(store, pre)[0])?;
    let epsilon = float_attr(store, attrs, "epsilon", dtype)?;
    let axis = store.attr_int(attrs, "axis")?;
    let data = args(store, post)[0];
    let out = standardise(store, data, &[axis], epsilon);
    scale_and_shift(store, post, out, shape.len())
}

fn instance_norm(store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
    let attrs = store.call(post)?.attrs;
    let (shape, dtype) = tensor_type(store, args(store, pre)[0])?;
    let epsilon = float_attr(store, attrs, "epsilon", dtype)?;
    let axis = normalise_axis(store.attr_int(attrs, "axis")?, shape.len())?;
    let axes: Vec<i64> = (1..shape.len()).filter(|i| *i != axis).map(|i| i as i64).collect();
    let data = args(store, post)[0];
    let out = standardise(store, data, &axes, epsilon);
    scale_and_shift(store, post, out, shape.len())
}

fn group_norm(store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
    let attrs = store.call(post)?.attrs;
    let (_, dtype) = tensor_type(store, args(store, pre)[0])?;
    let shape = static_shape(store, args(store, pre)[0])?;
    let groups = store.attr_int(attrs, "num_groups")?;
    let axis = normalise_axis(store.attr_int(attrs, "axis")?, shape.len())?;
    let per_group = shape[axis].checked_div(groups)?;
    let grouped: Vec<i64> = [&shape[..axis], &[groups, per_group], &shape[axis + 1..]].concat();
    let axes: Vec<i64> = (axis..shape.len()).map(|i| i as i64 + 1).collect();
    let data = call_with(store, "reshape", &[args(store, post)[0]], &[("newshape", ints(&grouped))]);
    let epsilon = float_attr(store, attrs, "epsilon", dtype)?;
    let out = standardise(store, data, &axes, epsilon);
    let out = call_with(store, "reshape", &[out], &[("newshape", ints(&shape))]);
    scale_and_shift(store, post, out, shape.len())
}

fn l2_normalize(store: &mut Store, _: ExprId, post: ExprId) -> Option<ExprId> {
    let attrs = store.call(post)?.attrs;
    let axis = store.attr(attrs, "axis")?.clone();
    let data = args(store, post)[0];
    // TVM makes this constant a float32 whatever the data are.
    let epsilon = float_attr(store, attrs, "eps", DType::F32)?;
    let square = call(store, "multiply", &[data, data]);
    let written = [("axis", axis), ("keepdims", AttrValue::Bool(true)), ("exclude", AttrValue::Bool(false))];
    let sum = call_with(store, "sum", &[square], &written);
    let sum = call(store, "maximum", &[sum, epsilon]);
    let norm = call(store, "sqrt", &[sum]);
    Some(call(store, "divide", &[data, norm]))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, unchanged};

    #[test]
    fn dropout_becomes_its_input_through_field_0() {
        check(
            "SimplifyInference()",
            "def @main(%x: Tensor[(4), float32]) { %0 = nn.dropout(%x); %1 = %0.0; abs(%1) }",
            "def @main(%x: Tensor[(4), float32]) { abs(%x) }",
        );
    }

    #[test]
    fn layer_norm_is_written_out_along_its_axis() {
        check(
            "SimplifyInference()",
            "def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32]) {
               nn.layer_norm(%x, %g, %b, epsilon=0.5f)
             }",
            "def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32]) {
               %0 = mean(%x, axis=[-1], keepdims=True);
               %1 = subtract(%x, %0);
               %2 = variance(%x, %0, axis=[-1], keepdims=True);
               %3 = add(%2, 0.5f);
               %4 = sqrt(%3);
               %5 = divide(%1, %4);
               %6 = multiply(%5, %g);
               add(%6, %b)
             }",
        );
    }

    #[test]
    fn instance_norm_counts_a_negative_axis_from_the_end() {
        // An axis of -1 is the last one, so the statistics are taken over axis 1 alone.
        check(
            "SimplifyInference()",
            "def @main(%x: Tensor[(2, 5, 3), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32]) {
               nn.instance_norm(%x, %g, %b, axis=-1, epsilon=0.5f, center=False, scale=False)
             }",
            "def @main(%x: Tensor[(2, 5, 3), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32]) {
               %0 = mean(%x, axis=[1], keepdims=True);
               %1 = subtract(%x, %0);
               %2 = variance(%x, %0, axis=[1], keepdims=True);
               %3 = add(%2, 0.5f);
               %4 = sqrt(%3);
               divide(%1, %4)
             }",
        );
    }

    #[test]
    fn a_batch_norm_whose_tuple_is_used_whole_stays() {
        unchanged(
            "SimplifyInference()",
            "def @main(%x: Tensor[(1, 4), float32], %g: Tensor[(4), float32], %b: Tensor[(4), float32], \
             %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
               nn.batch_norm(%x, %g, %b, %m, %v)
             }",
        );
    }
}
