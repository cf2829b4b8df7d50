//! ToMixedPrecision: computes expensive operators in half precision.
//!
//! Source: `src/relax/transform/to_mixed_precision.cc`, `src/relax/transform/infer_amp_utils.cc`.

mod cast;
mod wanted;

use super::calls::{args, op, op_name, tuple};
use super::support::type_error;
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::infer::relax::types::symbols;
use crate::ir::rewrite::Visit;
use crate::ir::{
    AttrValue, Binding, BindingBlock, DType, Expr, ExprId, Extents, Id, Module, Store, TensorInfo, Type, TypeId, VarId,
};
use crate::ops;
use crate::ops::MixedPrecision;
use crate::ops::build::with_attrs;
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::print::relax_ty;
use cast::{all_castable, cast};
use rustc_hash::FxHashSet;
use wanted::{DTypes, Wanted, dtypes};

/// TVM's `relax.transform.ToMixedPrecision`.
pub static SPEC: PassSpec = PassSpec {
    name: "ToMixedPrecision",
    info_name: "ToMixedPrecision",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "out_dtype", default: "\"float32\"", doc: "What products are summed up in: float32 or float16." },
        Param { name: "fp16_input_names", default: "None", doc: "Names of inputs that are given in half precision." },
    ],
    config: &[],
    summary: "Lets matmul and convolutions compute in half precision.",
    doc: explained("In dataflow blocks, products and convolutions always get operands in half precision; most operators follow their \
operands, which may be constants in its range; the others get back what they had. What is used by the first kind alone is kept in \
half precision. What leaves a block has the type that it had. `out_dtype` is the type of sums, whose result is cast after. \
As in TVM, a block may use what was cast in an earlier one, where it is a variable of that block, and the program is ill-formed then.\n\n\
Refused, as in TVM, which takes them for tensors: shapes and other values that an operator gave, where they are bound again or cast."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\"), w: R.Tensor((3, 4), dtype=\"float32\")) -> R.Tensor((2, 4), dtype=\"float32\"):
        with R.dataflow():
            y: R.Tensor((2, 4), dtype=\"float32\") = R.matmul(x, w, out_dtype=\"float32\")
            R.output(y)
        return y
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\"), w: R.Tensor((3, 4), dtype=\"float32\")) -> R.Tensor((2, 4), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype=\"float16\") = R.astype(x, dtype=\"float16\")
            lv1: R.Tensor((3, 4), dtype=\"float16\") = R.astype(w, dtype=\"float16\")
            y: R.Tensor((2, 4), dtype=\"float32\") = R.matmul(lv, lv1, out_dtype=\"float32\")
            R.output(y)
        return y
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    let out_dtype = args.str("out_dtype").and_then(DType::parse).unwrap_or(DType::F32);
    let mut half_inputs = Vec::new();
    if let Literal::List(names) = args.get("fp16_input_names") {
        half_inputs.extend(names.iter().filter_map(|name| match name {
            Literal::Str(name) => Some(name.clone()),
            _ => None,
        }));
    }
    let store = &mut *cx.store;
    // TVM asks for the current block at every variable, also at a symbol in the type of a body without blocks.
    if let Some(data) = store.as_function(function)
        && let Expr::Seq { blocks, body } = store.expr(data.body)
        && blocks.is_empty()
        && store.checked_type(body).is_some_and(|ty| !symbols(store, ty, false).is_empty())
    {
        return Err(type_error("no block is being built"));
    }
    if let Some(data) = store.as_function(function)
        && data.ret.is_some_and(|ret| !symbols(store, ret, false).is_empty())
        && store.items(data.params).any(|param| is_half_input(store, &half_inputs, param))
    {
        return Err(type_error("no block is being built"));
    }
    let wanted = Wanted::of(store, function);
    let mut rewriter =
        Rewrite { wanted, out_dtype, half_inputs, params: Vec::new(), functions: Vec::new(), emitted: FxHashSet::default() };
    rewrite_function(store, module, function, &mut rewriter)
}

/// Returns the mixed-precision policy of a call; `None` when it calls no operator.
fn policy(store: &Store, call: ExprId) -> Option<MixedPrecision> {
    let row = ops::info(store.called_op(call)?).relax.as_ref();
    Some(row.and_then(|row| row.mixed_precision).unwrap_or(MixedPrecision::Never))
}

/// True if a variable is a tensor that the caller passes in half precision.
fn is_half_input(store: &Store, half_inputs: &[String], var: VarId) -> bool {
    half_inputs.iter().any(|name| name == store.var_name(var))
        && store.var_type(var).and_then(|ty| store.tensor_info(ty)).is_some()
}

struct Rewrite {
    wanted: Wanted,
    out_dtype: DType,
    half_inputs: Vec<String>,
    params: Vec<VarId>,
    /// Inner functions of dataflow blocks, which TVM cannot call there: it treats every changed variable as a tensor.
    functions: Vec<VarId>,
    /// Variables whose values were rewritten, if only to the same again: TVM takes each use of one for a tensor.
    emitted: FxHashSet<VarId>,
}

/// Reports a value that TVM takes for a tensor, or a tuple of tensors, though a part of it is something else.
fn no_tensor(store: &Store, cx: &mut Mutation, value: ExprId, place: ExprId) {
    let part = store.checked_type(value).and_then(|ty| other_part(store, ty));
    let message = match part {
        Some(ty) => format!("Expected TensorType, but got {}", relax_ty(store, ty)),
        None => "Expected TensorType, but got something without a type".to_owned(),
    };
    cx.builder.error("mixed-precision", message, store.source_span(place));
}

/// Returns the first part of a type that is neither a tensor nor a tuple.
fn other_part(store: &Store, ty: TypeId) -> Option<TypeId> {
    match store.type_of_id(ty) {
        Type::Tuple(fields) => fields.iter().find_map(|field| other_part(store, *field)),
        Type::Tensor { .. } | Type::PartialTensor(_) => None,
        _ => Some(ty),
    }
}

impl BlockMutator for Rewrite {
    fn rule(&self) -> &'static str {
        "half precision"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        let fails = |id: ExprId| {
            matches!(store.expr(id), Expr::Var(var) if self.emitted.contains(&var)) && dtypes(store, id, None).is_none()
        };
        match store.expr(id) {
            Expr::Var(_) => fails(id),
            Expr::Call { args, .. } if policy(store, id).is_none() => store.items(args).any(fails),
            _ => false,
        }
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(function) => self.params = store.items(store.function(function).params).collect(),
            Expr::Var(var) if cx.builder.is_dataflow() => match (cx.replaced(var), dtypes(store, id, None)) {
                (Some(new), Some(to)) => return Visit::Replace(cast(store, new, &to)),
                (new, None) if new.is_some() || self.emitted.contains(&var) => no_tensor(store, cx, id, id),
                _ => {}
            },
            _ => {}
        }
        Visit::Descend
    }

    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        if !cx.builder.is_dataflow() || binding.cast.is_some() {
            return true;
        }
        let emits = match store.expr(binding.value) {
            Expr::Call { .. } => policy(store, binding.value).is_some(),
            Expr::Tuple(_) | Expr::TupleGetItem { .. } => true,
            _ => false,
        };
        if emits {
            self.emitted.insert(binding.var);
        }
        let value = match store.expr(binding.value) {
            Expr::Call { args, .. } if op_name(store, binding.value) == "wrap_param" && !args.is_empty() => store.item(args, 0),
            Expr::Call { callee, .. } => match policy(store, binding.value) {
                Some(policy) => self.call(store, cx, binding, policy),
                None => {
                    if matches!(store.expr(callee), Expr::Var(var) if self.functions.contains(&var)) {
                        let message = "Expected TensorType, but got the type of a function";
                        cx.builder.error("mixed-precision", message, store.source_span(binding.value));
                    }
                    return true;
                }
            },
            Expr::Tuple(_) => {
                if dtypes(store, binding.value, None).is_none() {
                    no_tensor(store, cx, binding.value, binding.value);
                }
                let value = remap(store, cx, binding.value);
                self.leaving(store, cx, binding, value)
            }
            Expr::TupleGetItem { tuple, index } => {
                // TVM asks for the type of the field before it has one.
                if !store.var_data(binding.var).dataflow {
                    let message = "The type is not populated, check if you have normalized the expr";
                    cx.builder.error("mixed-precision", message, store.source_span(binding.value));
                }
                let tuple = remap(store, cx, tuple);
                let value = store.add(Expr::TupleGetItem { tuple, index });
                self.leaving(store, cx, binding, value)
            }
            Expr::Function(_) => {
                self.functions.push(binding.var);
                return true;
            }
            _ => return true,
        };
        let value = cx.builder.normalize(store, value);
        self.bind(store, cx, binding, value);
        false
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let var = self.define_var(store, cx, pre.var);
        cx.reemit_as(store, pre, var, value);
        if cx.builder.is_dataflow() {
            self.cast_if_half_only(store, cx, pre.var);
        }
    }

    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        if let Some(Expr::Var(new)) = cx.replaced(var).map(|expr| store.expr(expr)) {
            return new;
        }
        if !is_half_input(store, &self.half_inputs, var) {
            return var;
        }
        let Some(info) = store.var_type(var).and_then(|ty| store.tensor_info(ty)) else { return var };
        if !matches!(info.extents, Extents::Known(_) | Extents::Var(_)) {
            cx.builder.error("mixed-precision", "Back optional access".to_owned(), store.var_span(var));
        }
        let ty = store.tensor_like(TensorInfo { dtype: Some(DType::F16), ..info });
        let name = store.var_name(var).to_owned();
        let new = store.relax_var(&name, Some(ty), false);
        let used = store.use_var(new);
        cx.replace(store, var, used);
        new
    }

    fn begin_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        if store.block(block).dataflow {
            for param in self.params.clone() {
                self.cast_if_half_only(store, cx, param);
            }
        }
    }

    fn end_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        // The replacement of a parameter is known only in one block.
        if store.block(block).dataflow {
            for param in &self.params {
                if cx.replaced(*param).is_some() {
                    let used = store.use_var(*param);
                    cx.replace(store, *param, used);
                }
            }
        }
    }
}

impl Rewrite {
    fn call(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding, policy: MixedPrecision) -> ExprId {
        let Expr::Call { callee, info, .. } = store.expr(binding.value) else { return binding.value };
        let old = args(store, binding.value);
        let new: Vec<ExprId> = old.iter().map(|arg| remap(store, cx, *arg)).collect();
        // TVM registers a policy for this operator, but no function that rewrites it.
        if op_name(store, binding.value) == "outer" {
            let message = "Check failed: (attr_map.count(op)) is false: relax.outer".to_owned();
            cx.builder.error("mixed-precision", message, store.source_span(binding.value));
        }
        let to = match policy {
            MixedPrecision::Always => DType::F16,
            MixedPrecision::Follow if all_castable(store, &new) => DType::F16,
            MixedPrecision::Follow => DType::F32,
            MixedPrecision::Never => {
                if old == new {
                    return binding.value;
                }
                let cast: Vec<ExprId> = (old.iter().zip(&new))
                    .map(|(old, new)| match dtypes(store, *old, None) {
                        Some(to) => cast(store, *new, &to),
                        None => {
                            no_tensor(store, cx, *old, binding.value);
                            *new
                        }
                    })
                    .collect();
                let args = store.list(&cast);
                return store.add(Expr::Call { callee, args, info });
            }
        };
        let always = policy == MixedPrecision::Always;
        let call = if always { self.summed(store, binding.value, &new) } else { None };
        let (callee, info, operands) = call.unwrap_or((callee, info, new));
        let operands: Vec<ExprId> = (operands.into_iter())
            .map(|arg| match dtypes(store, arg, Some(to)) {
                Some(to) => cast(store, arg, &to),
                None => arg,
            })
            .collect();
        let operands = store.list(&operands);
        let value = store.add(Expr::Call { callee, args: operands, info });
        let value = cx.builder.normalize(store, value);
        if always && store.var_data(binding.var).dataflow {
            return match dtypes(store, value, Some(to)) {
                Some(to) => cast(store, value, &to),
                None => {
                    no_tensor(store, cx, value, binding.value);
                    value
                }
            };
        }
        self.leaving(store, cx, binding, value)
    }

    /// Rewrites a call that accumulates in another type; `nn.attention` in all its forms becomes the plain one.
    #[allow(clippy::type_complexity, reason = "the parts of a call")]
    fn summed(
        &self,
        store: &mut Store,
        call: ExprId,
        new: &[ExprId],
    ) -> Option<(ExprId, Option<Id<crate::ir::CallInfo>>, Vec<ExprId>)> {
        let data = store.call(call)?;
        if op_name(store, call).starts_with("nn.attention") {
            let schema = ops::info(ops::lookup_relax("nn.attention")?).relax.as_ref()?.attrs?;
            let attrs = schema.complete(store, &[]).ok()?;
            let attrs = store.attrs(attrs);
            let info = store.add_call_info(Some(attrs), &[]);
            return Some((op(store, "nn.attention"), info, new.iter().take(3).copied().collect()));
        }
        let attrs = with_attrs(store, data.attrs?, &[("out_dtype", AttrValue::DType(Some(self.out_dtype)))]);
        let info = store.add_call_info(Some(attrs), &[]);
        Some((data.callee, info, new.to_vec()))
    }

    /// Casts a value that leaves the block to its old type.
    fn leaving(&self, store: &mut Store, cx: &mut Mutation, binding: Binding, value: ExprId) -> ExprId {
        if store.var_data(binding.var).dataflow {
            return value;
        }
        let value = cx.builder.normalize(store, value);
        match store.var_type(binding.var).and_then(|ty| DTypes::of(store, ty, None)) {
            Some(to) => cast(store, value, &to),
            None => {
                no_tensor(store, cx, binding.value, binding.value);
                value
            }
        }
    }

    /// Keeps a variable in half precision that only operators of the first kind use.
    fn cast_if_half_only(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) {
        let current = self.define_var(store, cx, var);
        let current = store.use_var(current);
        let (Some(wanted), Some(from)) = (self.wanted.get(var), dtypes(store, current, None)) else { return };
        let to = from.combine(wanted, &|from, wanted| if wanted == Some(DType::F16) { wanted } else { from });
        let cast = cast(store, current, &to);
        if cast != current {
            let new = cx.builder.emit(store, cast, "");
            cx.replace(store, var, new);
        }
    }
}

/// Replaces the variables in an operand by their new values.
fn remap(store: &mut Store, cx: &Mutation, id: ExprId) -> ExprId {
    match store.expr(id) {
        Expr::Var(var) => cx.replaced(var).unwrap_or(id),
        Expr::Tuple(fields) => {
            let old: Vec<ExprId> = store.items(fields).collect();
            let new: Vec<ExprId> = old.iter().map(|field| remap(store, cx, *field)).collect();
            if old == new { id } else { tuple(store, &new) }
        }
        _ => id,
    }
}
