//! ToMixedPrecision: computes as much as possible in a narrower float type.
//!
//! Operators are of three kinds ([`kind`](super::support::precision)): convolutions and matrix products
//! are always computed in the narrow type; operators that lose too much precision never; the others
//! follow: in the narrow type when all their float arguments are, or can be for free. Casts are inserted
//! where needed, each once.
//!
//! Does nothing to calls of global functions, constructors and variables, nor to `clip` with bounds
//! that the narrow type cannot hold. Functions keep their parameters; `relay.ToMixedPrecision.keep_orig_output_dtype` keeps the type of
//! the result too.
//!
//! Source: `src/relay/transforms/to_mixed_precision.cc`, `python/tvm/relay/transform/mixed_precision.py`.

use super::support::local_type::{typed_call, typed_item, typed_tuple};
use super::support::precision::{Kind, kind, narrowed_attrs};
use super::support::{forget_result, value_range, without_results};
use crate::diag::Diagnostic;
use crate::infer::infer_expr;
use crate::ir::rewrite::{Bound, ExprMutator, rewrite};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, DType, DTypeCode, Expr, ExprId, Module, Store, Type, TypeId};
use crate::ops;
use crate::ops::build::{args, attrs_of};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::print;
use rustc_hash::FxHashMap;

/// Casts operands so that operators run in the narrower float type where their kind allows it.
pub static SPEC: PassSpec = PassSpec {
    name: "ToMixedPrecision",
    info_name: "ToMixedPrecision",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "mixed_precision_type", default: "\"float16\"", doc: "The narrow type." },
        Param {
            name: "missing_op_mode",
            default: "1",
            doc: explained("What to do about operators without a rule: 0 fails, 1 warns, 2 is silent."),
        },
    ],
    config: &["relay.ToMixedPrecision.keep_orig_output_dtype"],
    summary: "Computes in a narrower float type where that is safe.",
    doc: explained(
        "Convolutions, `nn.dense` and `nn.batch_matmul` are computed in the narrow type (`float16`, or as asked); sums, \
means, `exp`, `nn.softmax` and others that lose too much never are; all other operators are when their arguments \
are narrow already. Casts go in between, and a value is cast to a type once.\n\n\
Parameters keep their types. With `relay.ToMixedPrecision.keep_orig_output_dtype` the result does as well.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = nn.relu(%0);
  nn.softmax(%1)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) -> Tensor[(1, 4), float32] {
  %0 = cast(%x, dtype=\"float16\");
  %1 = cast(%w, dtype=\"float16\");
  %2 = nn.dense(%0, %1, units=4, out_dtype=\"float16\");
  %3 = nn.relu(%2);
  %4 = cast(%3, dtype=\"float32\");
  nn.softmax(%4)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let text = arguments.str("mixed_precision_type").unwrap_or_default();
    let Some(narrow) = DType::parse(text).filter(|dtype| dtype.is_float()) else {
        let text = format!("Only support IEEE floating point mixed precision types and bfloat16, but got {text}");
        return Err(vec![Diagnostic::error("relay-mixed-precision-type", text, None)]);
    };
    let keep_output = cx.config_int("relay.ToMixedPrecision.keep_orig_output_dtype", 0) != 0;
    let root = cx.store.as_function(function).map(|f| f.body).filter(|_| keep_output);
    let mut pass = Narrow { narrow, root, casts: FxHashMap::default(), missing: Vec::new(), foreign: None };
    // Types must agree everywhere, so the whole function is one rewrite.
    let result = cx.store.rewrite(RULE, function, function, |store| rewrite(store, function, &mut pass));
    if let Some((at, ty)) = pass.foreign {
        let text = format!("Unsupported type {}: we don't know how to cast for arguments!", print::ty(cx.store, ty));
        return Err(vec![Diagnostic::error("relay-mixed-precision-type", text, cx.store.source_span(at))]);
    }
    let mode = arguments.int("missing_op_mode");
    sort_by(&mut pass.missing, |a, b| a.0.cmp(b.0));
    for (name, count, first) in pass.missing.iter().filter(|_| mode != 2) {
        let text = format!("Op \"{name}\" not registered FTVMMixedPrecisionConversionType appears {count} times in graph.");
        cx.diagnostics.emit(Diagnostic::warning("relay-mixed-precision-op", text, cx.store.source_span(*first)));
    }
    if mode == 0 && !pass.missing.is_empty() {
        return Err(vec![Diagnostic::error("relay-mixed-precision-op", "Missing ops were found!", None)]);
    }
    if let Some((function, module)) = without_results(cx.store, module, result) {
        infer_expr(cx.store, &module, function)?;
    }
    Ok(result)
}

const RULE: &str = "computed in another precision";

struct Narrow {
    narrow: DType,
    /// The body of the function, when its type is to be kept.
    root: Option<ExprId>,
    /// Each node cast to another type.
    casts: FxHashMap<(ExprId, DType), ExprId>,
    /// Operators without a rule, the number of their calls, and the first call.
    missing: Vec<(&'static str, u32, ExprId)>,
    /// An argument that is neither a tensor nor a tuple, at which TVM stops, and its type.
    foreign: Option<(ExprId, TypeId)>,
}

fn is_plain_float(dtype: DType) -> bool {
    matches!(dtype.code, DTypeCode::Float | DTypeCode::BFloat)
}

impl ExprMutator for Narrow {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn bind(&mut self, store: &mut Store, pre: ExprId, value: ExprId) -> Bound {
        let Expr::Let { var, value: old, .. } = store.expr(pre) else { return Bound::Keep };
        let (Some(ty), false) = (store.checked_type(value), matches!(store.expr(value), Expr::Function(_))) else {
            return Bound::Keep;
        };
        let annotation = store.var_data(var).annotation;
        if annotation == Some(ty) || (value == old && annotation.is_some()) {
            return Bound::Keep;
        }
        Bound::Rebind(store.var_from(var, Some(ty), Some(ty)))
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let post = typed(store, post);
        match store.expr(post) {
            Expr::Call { .. } => self.call(store, pre, post),
            // The types of these follow from their parts, which may have changed.
            Expr::TupleGetItem { tuple, index } if post != pre => typed_item(store, tuple, index),
            Expr::Tuple(fields) => {
                let mut result = post;
                if post != pre {
                    let fields: Vec<ExprId> = store.items(fields).collect();
                    result = typed_tuple(store, &fields);
                }
                if self.root == Some(pre) { self.keep_fields(store, pre, result) } else { result }
            }
            Expr::Let { var, value, body } if post != pre => {
                let ty = store.checked_type(body);
                store.rebuild(post, Expr::Let { var, value, body }, ty)
            }
            Expr::Function(_) if post != pre => forget_result(store, post),
            _ => post,
        }
    }
}

/// Returns an expression that an earlier pass has left without its type, as ToANormalForm does, with it.
fn typed(store: &mut Store, id: ExprId) -> ExprId {
    if store.checked_type(id).is_some() {
        return id;
    }
    match store.expr(id) {
        Expr::Call { callee, .. } if matches!(store.expr(callee), Expr::Op(_)) => {
            let (args, attrs) = (args(store, id), store.call(id).and_then(|call| call.attrs));
            typed_call(store, id, callee, &args, attrs)
        }
        Expr::TupleGetItem { tuple, index } => typed_item(store, tuple, index),
        Expr::Tuple(fields) => {
            let fields: Vec<ExprId> = store.items(fields).collect();
            typed_tuple(store, &fields)
        }
        _ => id,
    }
}

impl Narrow {
    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let (initial, name) = match store.expr(call.callee) {
            Expr::Function(_) => (Kind::Never, ""),
            Expr::Op(op) => {
                let name = ops::info(op).name;
                let known = kind(name);
                if known.is_none() {
                    match self.missing.iter_mut().find(|(missing, ..)| *missing == name) {
                        Some((_, times, _)) => *times += 1,
                        None => self.missing.push((name, 1, pre)),
                    }
                }
                (known.unwrap_or(Kind::Follow), name)
            }
            _ => return post,
        };
        let old = args(store, post);
        let narrow = match initial {
            Kind::Always => true,
            Kind::Never => false,
            Kind::Follow => old.iter().all(|arg| {
                matches!(store.expr(*arg), Expr::Var(_) | Expr::Constant(_)) || self.is_narrow(store, store.checked_type(*arg))
            }),
        };
        let narrow = narrow && self.holds_bounds(store, pre, name);
        let wanted = if narrow { self.narrow } else { DType::F32 };
        let new: Vec<ExprId> = old.iter().map(|arg| self.cast(store, *arg, wanted)).collect();
        let old_attrs = store.call(pre).and_then(|call| call.attrs);
        let attrs = if narrow { narrowed_attrs(store, old_attrs, self.narrow) } else { old_attrs };
        let mut result = post;
        if new != old || attrs != call.attrs || post != pre {
            result = typed_call(store, post, call.callee, &new, attrs);
        }
        if narrow && self.root == Some(pre) {
            let original = store.checked_type(pre).and_then(|ty| ops::tensor_of(store, ty)).map(|t| t.1);
            if let Some(original) = original.filter(|dtype| *dtype != self.narrow) {
                result = self.cast(store, result, original);
            }
        }
        result
    }

    /// The fields of the result in the types they had.
    fn keep_fields(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Some(Type::Tuple(types)) = store.checked_type(pre).map(|ty| store.type_of_id(ty).clone()) else { return post };
        let mut fields = Vec::with_capacity(types.len());
        let mut changed = false;
        for (index, ty) in types.iter().enumerate() {
            let item = typed_item(store, post, index as u32);
            let original = ops::tensor_of(store, *ty).map(|t| t.1);
            let cast = original.map_or(item, |original| self.cast(store, item, original));
            changed |= cast != item;
            fields.push(cast);
        }
        if changed { typed_tuple(store, &fields) } else { post }
    }

    /// True if all float parts of a type are narrow.
    fn is_narrow(&self, store: &Store, ty: Option<TypeId>) -> bool {
        match ty.map(|ty| store.type_of_id(ty)) {
            Some(Type::Tensor { dtype, .. }) => !is_plain_float(*dtype) || *dtype == self.narrow,
            Some(Type::Tuple(fields)) => fields.iter().all(|field| self.is_narrow(store, Some(*field))),
            _ => false,
        }
    }

    /// True if the narrow type can hold the bounds of a `clip`.
    fn holds_bounds(&self, store: &Store, call: ExprId, name: &str) -> bool {
        let attrs = store.call(call).and_then(|call| call.attrs);
        let bounds = (store.attr_float(attrs, "a_min"), store.attr_float(attrs, "a_max"));
        match (name, bounds, value_range(self.narrow)) {
            ("clip", (Some(low), Some(high)), Some((least, most))) => low >= least && high <= most,
            _ => true,
        }
    }

    /// Casts an argument to the wanted type, if it is a float or a tuple with floats.
    fn cast(&mut self, store: &mut Store, id: ExprId, wanted: DType) -> ExprId {
        let Some(ty) = store.checked_type(id) else { return id };
        match store.type_rc(ty).as_ref() {
            Type::Tensor { dtype, .. } if is_plain_float(*dtype) && *dtype != wanted => {
                if let Some(known) = self.casts.get(&(id, wanted)) {
                    return *known;
                }
                let attrs = attrs_of(store, "cast", &[("dtype", AttrValue::DType(Some(wanted)))]);
                let callee = store.add(Expr::Op(ops::op("cast")));
                let args = store.list(&[id]);
                let info = store.add_call_info(Some(attrs), &[]);
                let shape = ops::tensor_of(store, ty).map(|t| t.0).unwrap_or_default();
                let ty = store.tensor_type(&shape, wanted);
                let result = store.add_typed(Expr::Call { callee, args, info }, Some(ty));
                self.casts.insert((id, wanted), result);
                // A cast back gives the original value.
                self.casts.insert((result, *dtype), id);
                result
            }
            Type::Tuple(types) => {
                let mut fields = Vec::with_capacity(types.len());
                let mut changed = false;
                for index in 0..types.len() {
                    let item = typed_item(store, id, index as u32);
                    let cast = self.cast(store, item, wanted);
                    changed |= cast != item;
                    fields.push(cast);
                }
                if changed { typed_tuple(store, &fields) } else { id }
            }
            Type::Tensor { .. } => id,
            _ => {
                self.foreign.get_or_insert((id, ty));
                id
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, check, failure, unchanged};

    #[test]
    fn an_operator_that_follows_stays_wide_behind_wide_data() {
        check(
            "ToMixedPrecision()",
            "def @main(%x: Tensor[(1, 8), float32]) { nn.relu(nn.softmax(%x)) }",
            "def @main(%x: Tensor[(1, 8), float32]) { nn.relu(nn.softmax(%x)) }",
        );
    }

    #[test]
    fn a_value_is_cast_once_for_all_its_users() {
        let made = after(
            "ToMixedPrecision()",
            "def @main(%x: Tensor[(4, 4), float32]) { add(nn.dense(%x, %x, units=4), nn.dense(%x, %x, units=4)) }",
        );
        assert_eq!(made.matches("cast(").count(), 1, "{made}");
    }

    #[test]
    fn integers_are_never_cast() {
        unchanged("ToMixedPrecision()", "def @main(%x: Tensor[(4), int32]) { add(%x, %x) }");
    }

    #[test]
    fn a_clip_to_bounds_beyond_the_narrow_type_stays_wide() {
        let made = after("ToMixedPrecision()", "def @main(%x: Tensor[(4), float32]) { clip(%x, a_min=0f, a_max=70000f) }");
        assert!(!made.contains("float16"), "{made}");
    }

    #[test]
    fn a_let_bound_variable_gets_the_type_of_its_value() {
        let made = after("ToMixedPrecision()", "def @main(%x: Tensor[(4), float32]) { let %a = abs(%x); add(%a, %a) }");
        assert!(made.contains("let %a: Tensor[(4), float16]"), "{made}");
    }

    /// ToANormalForm leaves its variables without types. TVM 0.19 gives this.
    #[test]
    fn variables_without_types_are_cast_too() {
        let made = after(
            "ToANormalForm(), ToMixedPrecision()",
            "def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(2, 4), float32]) { nn.dense(%x, multiply(%w, 2f), units=2) }",
        );
        assert!(made.contains(": Tensor[(2, 4), float16]") && made.contains(": Tensor[(1, 2), float16]"), "{made}");
    }

    #[test]
    fn operators_without_a_rule_fail_when_asked() {
        let program = "def @main(%x: Tensor[(4), float32]) { sin(%x) }";
        assert_eq!(failure("ToMixedPrecision(missing_op_mode=0)", program), "Missing ops were found!");
    }

    #[test]
    fn a_call_of_another_function_has_a_type_only_if_a_variable_says_it() {
        let helper = "def @f(%y: Tensor[(4), float32]) -> Tensor[(4), float32] { exp(%y) }\ndef @main(%x: Tensor[(4), float32]) ";
        failure("ToMixedPrecision()", &format!("{helper} {{ @f(%x) }}"));
        after("ToMixedPrecision()", &format!("{helper} {{ let %a: Tensor[(4), float32] = @f(%x); %a }}"));
    }

    #[test]
    fn an_argument_that_is_no_tensor_is_refused() {
        let message =
            failure("ToMixedPrecision()", "type Box { Empty, }\ndef @main(%b: Box) { %0 = fn (%a: Box) { 0 }; %0(%b) }");
        assert!(message.starts_with("Unsupported type Box"), "{message}");
    }
}
