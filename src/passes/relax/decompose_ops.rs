//! DecomposeOpsForInference and DecomposeOpsForTraining: replace normalisations by arithmetic.
//!
//! Source: `src/relax/transform/decompose_ops.cc`.

use super::calls;
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::ir::{AttrValue, AttrsId, Binding, DType, Dim, Expr, ExprId, Extents, Module, Store, Symbol, Type};
use crate::ops::build::{ints, scalar};
use crate::pass::{Args, Param, Part, PassCx, PassError, PassSpec, Run, explained};

const PARAMS: &[Param] =
    &[Param { name: "func_name", default: "None", doc: "The only function to look at; all where none is given." }];

/// TVM's `relax.transform.DecomposeOpsForInference`.
pub static INFERENCE: PassSpec = PassSpec {
    name: "DecomposeOpsForInference",
    info_name: "DecomposeOps",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: PARAMS,
    config: &[],
    summary: "Turns batch normalisations into arithmetic.",
    doc: explained(
        "`nn.batch_norm` becomes `(x - mean) / sqrt(variance + epsilon) * gamma + beta` with the moving mean and variance, which \
it gives back as they are. `tensor_to_shape` becomes a call of the runtime and a `match_cast` that names the extents.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"int64\"), y: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor(dtype=\"float32\", ndim=2):
        lv: R.Shape(ndim=2) = R.tensor_to_shape(x)
        gv: R.Tensor(dtype=\"float32\", ndim=2) = R.reshape(y, lv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"int64\"), y: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor(dtype=\"float32\", ndim=2):
        x_1 = T.int64()
        x_2 = T.int64()
        gv: R.Shape(ndim=2) = R.call_pure_packed(\"vm.builtin.tensor_to_shape\", x, ty_args=(R.Shape(ndim=2),))
        y_1: R.Shape([x_1, x_2]) = R.match_cast(gv, R.Shape([x_1, x_2]))
        lv: R.Shape([x_1, x_2]) = R.shape([x_1, x_2])
        gv_1: R.Tensor((x_1, x_2), dtype=\"float32\") = R.reshape(y, lv)
        return gv_1
",
    ),
    run: Run::Function(inference),
};

/// TVM's `relax.transform.DecomposeOpsForTraining`.
pub static TRAINING: PassSpec = PassSpec {
    name: "DecomposeOpsForTraining",
    info_name: "DecomposeOpsForTraining",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: PARAMS,
    config: &[],
    summary: "Turns normalisations into arithmetic that can be differentiated.",
    doc: explained(
        "*MutateOpsForTraining*, which lets batch normalisations use the mean and variance of the batch and takes layer \
normalisations apart, and then *DecomposeOpsForInference*.",
    ),
    example_before: explained(EXAMPLE_BEFORE),
    example_after: explained(EXAMPLE_AFTER),
    run: Run::Sequential(training),
};

/// The first half of TVM's `relax.transform.DecomposeOpsForTraining`.
pub static MUTATE: PassSpec = PassSpec {
    name: "MutateOpsForTraining",
    info_name: "MutateOpsForTraining",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: PARAMS,
    config: &[],
    summary: "Makes normalisations use the statistics of the batch.",
    doc: explained(
        "`nn.batch_norm` gets the mean and variance of its input, and its second and third result are the moving ones, updated \
with `momentum`. `nn.layer_norm` becomes arithmetic. It is a part of *DecomposeOpsForTraining*.",
    ),
    example_before: explained(EXAMPLE_BEFORE),
    example_after: explained(EXAMPLE_AFTER),
    run: Run::Function(mutate),
};

const EXAMPLE_BEFORE: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype=\"float32\"), g: R.Tensor((4,), dtype=\"float32\"), b: R.Tensor((4,), dtype=\"float32\")) -> \
R.Tensor((2, 4), dtype=\"float32\"):
        gv: R.Tensor((2, 4), dtype=\"float32\") = R.nn.layer_norm(x, g, b, axes=[-1], epsilon=0.5, scale=False)
        return gv
";

const EXAMPLE_AFTER: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype=\"float32\"), g: R.Tensor((4,), dtype=\"float32\"), b: R.Tensor((4,), dtype=\"float32\")) -> \
R.Tensor((2, 4), dtype=\"float32\"):
        gv: R.Tensor((2, 1), dtype=\"float32\") = R.mean(x, axis=[-1], keepdims=True)
        gv1: R.Tensor((2, 4), dtype=\"float32\") = R.subtract(x, gv)
        gv2: R.Tensor((2, 1), dtype=\"float32\") = R.variance(x, axis=[-1], keepdims=True)
        gv3: R.Tensor((2, 1), dtype=\"float32\") = R.add(gv2, R.const(0.5, \"float32\"))
        gv4: R.Tensor((2, 1), dtype=\"float32\") = R.sqrt(gv3)
        gv5: R.Tensor((2, 4), dtype=\"float32\") = R.divide(gv1, gv4)
        gv_1: R.Tensor((2, 4), dtype=\"float32\") = R.add(gv5, b)
        return gv_1
";

fn training(args: &Args) -> Vec<Part> {
    let name = args.get("func_name");
    ["MutateOpsForTraining", "DecomposeOpsForInference"].map(|pass| Part::Call(format!("{pass}(func_name={name})"))).into()
}

fn inference(cx: &mut PassCx<'_>, module: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    run(cx.store, module, function, args, false)
}

fn mutate(cx: &mut PassCx<'_>, module: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    run(cx.store, module, function, args, true)
}

fn run(store: &mut Store, module: &Module, function: ExprId, args: &Args, training: bool) -> Result<ExprId, PassError> {
    if let Some(wanted) = args.str("func_name") {
        let own = module.functions().iter().find(|(_, other)| *other == function);
        if own.is_none_or(|(name, _)| store.str(*name) != wanted) {
            return Ok(function);
        }
    }
    rewrite_function(store, module, function, &mut Decompose { training })
}

struct Decompose {
    training: bool,
}

impl BlockMutator for Decompose {
    fn rule(&self) -> &'static str {
        "an operator as arithmetic"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        ["nn.batch_norm", "nn.layer_norm", "tensor_to_shape"].contains(&calls::op_name(store, id))
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let new = match (calls::op_name(store, post), self.training) {
            ("nn.batch_norm", true) => batch_norm_of_batch(store, cx, post),
            ("nn.layer_norm", true) => layer_norm(store, cx, post),
            ("nn.batch_norm", false) => batch_norm(store, cx, post),
            ("tensor_to_shape", false) => tensor_to_shape(store, cx, post),
            _ => None,
        };
        new.unwrap_or(post)
    }
}

/// Returns rank and element type of a tensor.
fn tensor(store: &Store, expr: ExprId) -> Option<(usize, DType)> {
    let info = store.tensor_info(store.checked_type(expr)?)?;
    Some((store.rank(&info.extents)?, info.dtype?))
}

fn flag(store: &Store, attrs: Option<AttrsId>, name: &str) -> bool {
    store.attr_int(attrs, name).is_none_or(|value| value != 0)
}

/// Binds arithmetic operation by operation, in the order in which TVM's nested expression would be bound. A nested
/// expression would be visited once more before it is bound.
struct Steps<'s> {
    store: &'s mut Store,
    cx: &'s mut Mutation,
}

impl Steps<'_> {
    fn call(&mut self, name: &str, args: &[ExprId], attrs: Option<AttrsId>) -> ExprId {
        let callee = calls::op(self.store, name);
        self.store.add_call(callee, args, attrs)
    }

    fn bind(&mut self, value: ExprId) -> ExprId {
        self.cx.builder.emit(self.store, value, "")
    }

    fn of(&mut self, name: &str, args: &[ExprId], attrs: Option<AttrsId>) -> ExprId {
        let call = self.call(name, args, attrs);
        self.bind(call)
    }

    /// Makes `(data - mean) / sqrt(variance + epsilon)` with these calls for mean and variance. The last call is not bound yet.
    fn normalised(&mut self, data: ExprId, [mean, variance]: [Step<'_>; 2], epsilon: ExprId) -> ExprId {
        let mean = self.of(mean.0, &[mean.1], mean.2);
        let difference = self.of("subtract", &[data, mean], None);
        let variance = self.of(variance.0, &[variance.1], variance.2);
        let sum = self.of("add", &[variance, epsilon], None);
        let deviation = self.of("sqrt", &[sum], None);
        self.call("divide", &[difference, deviation], None)
    }

    /// Makes the moving average of a statistic: `old` times its previous value plus `new` times the value found.
    fn moved(&mut self, [old, new]: [ExprId; 2], moving: ExprId, found: ExprId) -> ExprId {
        let kept = self.of("multiply", &[old, moving], None);
        let added = self.of("multiply", &[new, found], None);
        self.of("add", &[kept, added], None)
    }
}

/// A call with one operand.
type Step<'s> = (&'s str, ExprId, Option<AttrsId>);

fn batch_norm(store: &mut Store, cx: &mut Mutation, norm: ExprId) -> Option<ExprId> {
    let [data, gamma, beta, mean, variance] = calls::args(store, norm)[..] else { return None };
    let (rank, dtype) = tensor(store, data)?;
    let attrs = store.call(norm)?.attrs;
    let (axis, epsilon) = (store.attr_int(attrs, "axis")?, store.attr_float(attrs, "epsilon")?);
    // The attributes that expand a vector along the axis to the rank of the data.
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    let others: Vec<i64> = (0..rank as i64).filter(|other| *other != axis).collect();
    let others = calls::attrs_with(store, "expand_dims", &[("axis", ints(&others))]);
    let along = |vector| ("expand_dims", vector, others);
    let epsilon = scalar(store, dtype, epsilon);
    let (scale, center) = (flag(store, attrs, "scale"), flag(store, attrs, "center"));
    let mut steps = Steps { store, cx };
    let mut out = steps.normalised(data, [along(mean), along(variance)], epsilon);
    for (given, vector, name) in [(scale, gamma, "multiply"), (center, beta, "add")] {
        if given {
            let bound = steps.bind(out);
            let vector = steps.of("expand_dims", &[vector], others);
            out = steps.call(name, &[bound, vector], None);
        }
    }
    let out = steps.bind(out);
    Some(calls::tuple(store, &[out, mean, variance]))
}

fn batch_norm_of_batch(store: &mut Store, cx: &mut Mutation, norm: ExprId) -> Option<ExprId> {
    let [data, gamma, beta, moving_mean, moving_variance] = calls::args(store, norm)[..] else { return None };
    let (rank, dtype) = tensor(store, data)?;
    let Expr::Call { callee, info, .. } = store.expr(norm) else { return None };
    let attrs = store.call(norm)?.attrs;
    let (axis, momentum) = (store.attr_int(attrs, "axis")?, store.attr_float(attrs, "momentum")?);
    let axes: Vec<i64> = (0..rank as i64).filter(|other| *other != axis).collect();
    let over = [("axis", ints(&axes)), ("keepdims", AttrValue::Bool(false))];
    let shares = [1.0 - momentum, momentum].map(|share| scalar(store, dtype, share));
    let mut steps = Steps { store, cx };
    let [mean, variance] = ["mean", "variance"].map(|name| {
        let attrs = calls::attrs_with(steps.store, name, &over);
        steps.of(name, &[data], attrs)
    });
    let args = steps.store.list(&[data, gamma, beta, mean, variance]);
    let norm = steps.store.add(Expr::Call { callee, args, info });
    let norm = steps.bind(norm);
    let out = steps.store.add(Expr::TupleGetItem { tuple: norm, index: 0 });
    let out = steps.bind(out);
    let new_mean = steps.moved(shares, moving_mean, mean);
    let new_variance = steps.moved(shares, moving_variance, variance);
    Some(calls::tuple(store, &[out, new_mean, new_variance]))
}

fn layer_norm(store: &mut Store, cx: &mut Mutation, norm: ExprId) -> Option<ExprId> {
    let [data, gamma, beta] = calls::args(store, norm)[..] else { return None };
    let (_, dtype) = tensor(store, data)?;
    let attrs = store.call(norm)?.attrs;
    let (axes, epsilon) = (store.attr_ints(attrs, "axes")?, store.attr_float(attrs, "epsilon")?);
    let over = [("axis", ints(&axes)), ("keepdims", AttrValue::Bool(true))];
    let statistics = ["mean", "variance"].map(|name| (name, data, calls::attrs_with(store, name, &over)));
    let epsilon = scalar(store, dtype, epsilon);
    let (scale, center) = (flag(store, attrs, "scale"), flag(store, attrs, "center"));
    let mut steps = Steps { store, cx };
    let mut out = steps.normalised(data, statistics, epsilon);
    for (given, vector, name) in [(scale, gamma, "multiply"), (center, beta, "add")] {
        if given {
            let bound = steps.bind(out);
            out = steps.call(name, &[bound, vector], None);
        }
    }
    Some(out)
}

/// A runtime function returns the shape, and a cast binds its extents to symbols.
fn tensor_to_shape(store: &mut Store, cx: &mut Mutation, node: ExprId) -> Option<ExprId> {
    let [tensor] = calls::args(store, node)[..] else { return None };
    let ty = store.checked_type(node)?;
    let Type::Shape(extents) = store.type_of_id(ty) else { return None };
    let rank = store.rank(&extents.clone())?;
    let packed = calls::external(store, "vm.builtin.tensor_to_shape");
    let callee = calls::op(store, "call_pure_packed");
    let args = store.list(&[packed, tensor]);
    let info = store.add_call_info(None, &[ty]);
    let value = store.add(Expr::Call { callee, args, info });
    let value = cx.builder.emit(store, value, "");
    let name = store.name("x");
    let dims: Vec<Dim> =
        (0..rank).map(|_| Dim::Symbol(store.add_symbol(Symbol { name, dtype: DType::I64, size: false }))).collect();
    let ty = store.ty(Type::Shape(Extents::Known(dims.as_slice().into())));
    let var = store.relax_var("y", Some(ty), false);
    cx.builder.emit_normalized(store, Binding { var, value, cast: Some(ty) });
    Some(calls::shape(store, &dims))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn only_the_function_that_is_named_is_looked_at() {
        assert!(after(super::EXAMPLE_BEFORE, "DecomposeOpsForTraining(func_name=\"other\")").contains("layer_norm"));
        assert!(!after(super::EXAMPLE_BEFORE, "DecomposeOpsForTraining(func_name=\"main\")").contains("layer_norm"));
    }
}
