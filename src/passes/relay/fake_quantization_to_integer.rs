//! FakeQuantizationToInteger: computes on integers between `qnn.dequantize` and `qnn.quantize`, instead of on real
//! numbers.
//!
//! From every `qnn.quantize` the graph is followed up to the calls of `qnn.dequantize` that it depends on. A region
//! that has only calls of operators with a rule ([`rules`]), tuples and constants is rewritten node by node; each rule
//! says which real numbers its integers stand for. With `use_qat` an operator whose arguments are all dequantised is
//! rewritten by itself, and its result is dequantised.
//!
//! Does nothing to regions with a variable, function, branch or operator without a rule in them, nor where a rule cannot tell
//! the scale; with `hard_fail` an operator without a rule, and a rule that fails, are errors.
//!
//! TVM tells two `nn.avg_pool2d` apart by the identity of their attributes, this program by their values. TVM crashes where
//! `use_qat` meets `split`; here it is left alone.
//!
//! Source: `src/relay/transforms/fake_quantization_to_integer.cc`,
//! `python/tvm/relay/transform/fake_quantization_to_integer.py`.

pub use super::support::affine::Asked;
use super::support::affine::{Affine, AffineType, Region, rules};
use super::support::tensor_type;
use crate::diag::Diagnostic;
use crate::infer::infer_expr;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{AttrValue, DType, Expr, ExprId, Module, Store};
use crate::ops::build::{args, is_call, op_name};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rewrites quantised regions to integer operators.
pub static SPEC: PassSpec = PassSpec {
    name: "FakeQuantizationToInteger",
    info_name: "FakeQuantizationToInteger",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &["InferType", "DivToMul"],
    params: &[
        Param { name: "hard_fail", default: "False", doc: "An operator that cannot be converted is an error." },
        Param {
            name: "use_qat",
            default: "False",
            doc: explained("Also converts operators one by one where a whole region cannot be, and dequantises behind them."),
        },
        Param {
            name: "optional_qnn_ops",
            default: "[]",
            doc: explained("Operators to convert that are not by themselves, because they lose precision: `nn.softmax`."),
        },
    ],
    config: &[],
    summary: "Computes on integers what lies between `qnn.dequantize` and `qnn.quantize`.",
    doc: explained(
        "A quantised model is often written with real numbers: inputs are dequantised, computed with, and the result is \
quantised again. Here the operators in between become those on integers, which carry the scales along: `nn.conv2d` becomes \
`qnn.conv2d`, `nn.relu` a maximum with the zero point, and what is left at the end is one `qnn.requantize`.\n\n\
A region is converted as a whole or not at all. Variables, functions and branches between the two ends, and operators without \
a rule, leave it as it is.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 4), int8], %w: Tensor[(2, 4), int8]) {
  %0 = qnn.dequantize(%x, 0.5f, 0, out_dtype=\"float32\");
  %1 = qnn.dequantize(%w, 0.25f, 0, out_dtype=\"float32\");
  %2 = nn.dense(%0, %1, units=2);
  qnn.quantize(%2, 1f, 0, out_dtype=\"int8\")
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4), int8], %w: Tensor[(2, 4), int8]) -> Tensor[(1, 2), int8] {
  %0 = qnn.dense(%x, %w, 0, 0, 0.5f, 0.25f, units=2, out_dtype=\"int32\");
  qnn.requantize(%0, 0.125f, 0, 1f, 0, axis=1, out_dtype=\"int8\")
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    with_rules(cx.store, module, function, arguments, None)
}

/// Runs the pass with rules from outside for some operators, which take the place of its own.
pub fn with_rules(
    store: &mut Store,
    module: &Module,
    function: ExprId,
    arguments: &Args,
    mut asked: Option<Asked<'_>>,
) -> Result<ExprId, PassError> {
    let mut optional = Vec::new();
    if let Literal::List(names) = arguments.get("optional_qnn_ops") {
        optional.extend(names.iter().filter_map(|name| if let Literal::Str(name) = name { Some(name.clone()) } else { None }));
    }
    let mut pass = Convert {
        module,
        optional,
        hard_fail: arguments.bool("hard_fail"),
        alone: false,
        done: FxHashMap::default(),
        error: None,
        asked: asked.as_mut().map(Asked::again),
    };
    let mut result = rewrite(store, function, &mut pass);
    if arguments.bool("use_qat") && pass.error.is_none() {
        result = infer_expr(store, module, result)?;
        pass.alone = true;
        pass.done.clear();
        result = rewrite(store, result, &mut pass);
    }
    match pass.error {
        Some(text) => Err(vec![Diagnostic::error("relay-fake-quantization", text, store.source_span(function))]),
        None => Ok(result),
    }
}

struct Convert<'a> {
    module: &'a Module,
    optional: Vec<String>,
    hard_fail: bool,
    /// True while operators are rewritten one by one, instead of in regions.
    alone: bool,
    /// The replacements of the calls that were reached.
    done: FxHashMap<ExprId, ExprId>,
    /// The first error, which the pass ends with.
    error: Option<String>,
    /// The rules of a script.
    asked: Option<Asked<'a>>,
}

/// The region between a call and the dequantised tensors that it depends on.
struct Found {
    /// The calls, without those of `qnn.quantize`.
    calls: Vec<ExprId>,
    /// The real numbers that dequantised and quantised tensors stand for.
    types: FxHashMap<ExprId, AffineType>,
}

impl ExprMutator for Convert<'_> {
    fn rule(&self) -> &'static str {
        "computed on integers"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if !matches!(store.expr(post), Expr::Call { .. }) || self.error.is_some() {
            return post;
        }
        let converted = match self.alone {
            false if is_call(store, post, "qnn.quantize") => self.region(store, pre, post),
            true if store.called_op(post).is_none() => Err("an operator was expected, but a function is called".to_owned()),
            true if rules::stands_alone(op_name(store, post)) => self.one(store, post),
            _ => Ok(None),
        };
        let new = converted.unwrap_or_else(|error| {
            self.error = Some(error);
            None
        });
        let new = new.unwrap_or(post);
        self.done.insert(pre, new);
        new
    }
}

impl Convert<'_> {
    /// Rewrites the region of the quantisation `pre`, which is now `post`, to integers.
    fn region(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Result<Option<ExprId>, String> {
        let Some(found) = follow(store, pre, false)? else { return Ok(None) };
        let now = |id: ExprId| if id == pre { post } else { self.done.get(&id).copied().unwrap_or(id) };
        let types: FxHashMap<ExprId, AffineType> = found.types.into_iter().map(|(id, ty)| (now(id), ty)).collect();
        if found.calls.is_empty() {
            return Ok(None);
        }
        for call in found.calls {
            let name = op_name(store, now(call));
            if rules::of(name, &self.optional).is_none() && !self.asked.as_ref().is_some_and(|asked| asked.has(name)) {
                return self.give_up(format!("Found no rewrite rule for {name}"));
            }
        }
        let out = types.get(&post).cloned();
        let asked = self.asked.as_mut().map(Asked::again);
        let region = Region { store, module: self.module, types, out, root: post, optional: &self.optional, asked };
        finish(self.hard_fail, region, |_, new, _| Some(new))
    }

    /// Rewrites one operator over dequantised tensors to integers, and dequantises its result.
    fn one(&mut self, store: &mut Store, call: ExprId) -> Result<Option<ExprId>, String> {
        let Some(found) = follow(store, call, true)? else { return Ok(None) };
        if found.calls.is_empty() {
            return Ok(None);
        }
        if let Some(other) = found.calls.iter().find(|other| !is_call(store, **other, "qnn.dequantize")) {
            return self.give_up(format!("Not dequantization was found in the input arguments for {}", op_name(store, *other)));
        }
        let asked = self.asked.as_mut().map(Asked::again);
        let region =
            Region { store, module: self.module, types: found.types, out: None, root: call, optional: &self.optional, asked };
        finish(self.hard_fail, region, |region, new, ty| {
            let AffineType::Tensor(ty) = ty else { return None };
            let written = [("axis", AttrValue::int(ty.axis)), ("out_dtype", AttrValue::DType(Some(DType::F32)))];
            Some(region.call_with("qnn.dequantize", &[new, ty.scale, ty.zero_point], &written))
        })
    }

    fn give_up(&self, why: String) -> Result<Option<ExprId>, String> {
        give_up(self.hard_fail, why)
    }
}

fn give_up(hard_fail: bool, why: String) -> Result<Option<ExprId>, String> {
    if hard_fail { Err(why) } else { Ok(None) }
}

fn finish(
    hard_fail: bool,
    mut region: Region<'_>,
    end: fn(&mut Region<'_>, ExprId, AffineType) -> Option<ExprId>,
) -> Result<Option<ExprId>, String> {
    match region.run() {
        Ok((new, ty)) => Ok(end(&mut region, new, ty)),
        Err(why) => give_up(hard_fail, why),
    }
}

/// Collects the region from `root` up to the calls of `qnn.dequantize`. Returns `None` if it meets anything but calls,
/// tuples and constants; a call of a function is an error. A root that stands `alone` is not part of the region.
fn follow(store: &Store, root: ExprId, alone: bool) -> Result<Option<Found>, String> {
    let mut found = Found { calls: Vec::new(), types: FxHashMap::default() };
    let mut seen = FxHashSet::default();
    let mut stack = vec![root];
    let mut only_data = true;
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        match store.expr(id) {
            Expr::Call { .. } => {
                if store.called_op(id).is_none() {
                    return Err("an operator was expected, but a function is called".to_owned());
                }
                let operands = args(store, id);
                let attrs = store.call(id).and_then(|call| call.attrs);
                let axis = store.attr_int(attrs, "axis").unwrap_or(-1);
                let affine = |dtype| match (operands.as_slice(), dtype) {
                    ([_, scale, zero_point], Some(dtype)) => {
                        Ok(AffineType::Tensor(Affine { scale: *scale, zero_point: *zero_point, dtype, axis }))
                    }
                    _ => Err("the type of a quantised tensor is not known".to_owned()),
                };
                match op_name(store, id) {
                    "qnn.quantize" if !alone => {
                        found.types.insert(id, affine(store.attr_dtype(attrs, "out_dtype"))?);
                        stack.extend(operands.first());
                    }
                    "qnn.dequantize" => {
                        let data = operands.first().and_then(|data| tensor_type(store, *data));
                        found.types.insert(id, affine(data.map(|(_, dtype)| dtype))?);
                        found.calls.push(id);
                    }
                    _ => {
                        if !(alone && id == root) {
                            found.calls.push(id);
                        }
                        stack.extend(operands.iter().rev());
                    }
                }
            }
            Expr::Tuple(fields) => stack.extend(store.items(fields).rev()),
            Expr::TupleGetItem { tuple, .. } => stack.push(tuple),
            Expr::Constant(_) | Expr::Op(_) => {}
            _ => only_data = false,
        }
    }
    Ok(only_data.then_some(found))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, unchanged};

    const SOFTMAX: &str = "def @main(%x: Tensor[(1, 4), int8]) {
        %0 = qnn.dequantize(%x, 0.5f, 0, out_dtype=\"float32\");
        %1 = nn.softmax(%0, axis=1);
        qnn.quantize(%1, 1f, 0, out_dtype=\"int8\")
    }";

    #[test]
    fn a_split_whose_parts_are_counted_in_a_box_is_converted() {
        let made = after(
            "FakeQuantizationToInteger()",
            "def @main(%x: Tensor[(1, 4), int8]) {
               %0 = qnn.dequantize(%x, 2f, 0, out_dtype=\"float32\");
               %1 = split(%0, indices_or_sections=2, axis=1);
               qnn.quantize(%1.0, 2f, 0, out_dtype=\"int8\")
             }",
        );
        assert!(made.contains("split(%x, ") && !made.contains("qnn."), "{made}");
    }

    #[test]
    fn an_operator_without_a_rule_leaves_its_region_alone_or_fails() {
        unchanged("FakeQuantizationToInteger()", SOFTMAX);
        let text = failure("FakeQuantizationToInteger(hard_fail=True)", SOFTMAX);
        assert_eq!(text, "Found no rewrite rule for nn.softmax");
        assert!(after("FakeQuantizationToInteger(optional_qnn_ops=[\"nn.softmax\"])", SOFTMAX).contains("qnn.softmax"));
    }

    #[test]
    fn one_operator_in_front_of_one_without_a_rule_is_converted_alone() {
        check(
            "FakeQuantizationToInteger(use_qat=True)",
            "def @main(%x: Tensor[(1, 4), int8]) {
               %0 = qnn.dequantize(%x, 0.5f, 0, out_dtype=\"float32\");
               %1 = nn.relu(%0);
               nn.softmax(%1, axis=1)
             }",
            "def @main(%x: Tensor[(1, 4), int8]) {
               %0 = maximum(%x, cast(0, dtype=\"int8\"));
               %1 = qnn.dequantize(%0, 0.5f, 0, out_dtype=\"float32\");
               nn.softmax(%1, axis=1)
             }"
            .replace("cast(0, dtype=\"int8\")", "0i8")
            .as_str(),
        );
    }

    #[test]
    fn a_variable_in_between_leaves_the_region_alone() {
        unchanged(
            "FakeQuantizationToInteger()",
            "def @main(%x: Tensor[(1, 4), int8], %y: Tensor[(1, 4), float32]) {
               %0 = qnn.dequantize(%x, 0.5f, 0, out_dtype=\"float32\");
               qnn.quantize(add(%0, %y), 1f, 0, out_dtype=\"int8\")
             }",
        );
    }

    #[test]
    fn bounds_of_a_clip_are_put_on_the_scale() {
        // 1 / 0.5 - 3 = -1 and 7 / 0.5 - 3 = 11.
        check(
            "FakeQuantizationToInteger()",
            "def @main(%x: Tensor[(4), int8]) {
               %0 = qnn.dequantize(%x, 0.5f, -3, out_dtype=\"float32\");
               qnn.quantize(clip(%0, a_min=1f, a_max=7f), 0.5f, -3, out_dtype=\"int8\")
             }",
            "def @main(%x: Tensor[(4), int8]) { clip(%x, a_min=-1f, a_max=11f) }",
        );
    }
}
