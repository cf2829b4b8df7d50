//! The rules of `well_formed.cc` about the types of calls, bindings and shapes.
//!
//! - The arguments of `R.call_tir` and related operators are a tuple literal (TVM's `FNormalize`), and the type of the
//!   output is one that the tensor program can write (its `FValidate`).
//! - The type of a call is one that it can have, and the value of a binding has the type of its variable.
//! - Extents of shapes are integers.
//!
//! Extents that cannot be proven to differ are assumed to be equal. TVM also forbids `R.inspect` operators for properties that
//! the type of the tensor has; here they are allowed.

use crate::diag::Diagnostic;
use crate::infer::relax::types::{Fit, fit};
use crate::infer::relax::{Signatures, deduce_call, deduce_callable, signatures};
use crate::ir::walk::post_order;
use crate::ir::{Binding, Dim, Expr, ExprId, Extents, Module, PrimFunc, PrimParam, Store, TensorInfo, Type, TypeId};
use crate::ops;
use crate::print::relax_ty;

/// Operators that call a tensor program and write its outputs.
const CALL_TIR: [&str; 3] = ["call_tir", "call_tir_with_grad", "call_tir_inplace"];

/// Returns all errors in the types of a module of Relax.
pub(super) fn verify(store: &mut Store, module: &Module) -> Vec<Diagnostic> {
    let signatures = signatures(store, module);
    let mut check = Check { store, module, signatures: &signatures, errors: Vec::new() };
    for &(_, root) in module.functions() {
        if !matches!(check.store.expr(root), Expr::Function(_)) {
            continue;
        }
        for id in post_order(check.store, root) {
            match check.store.expr(id) {
                Expr::Seq { blocks, .. } => {
                    let bindings: Vec<Binding> = check.store.bindings(blocks).collect();
                    bindings.into_iter().for_each(|binding| check.assigned(binding));
                }
                Expr::Call { .. } => check.call(id),
                Expr::Shape(dims) => {
                    let dims = check.store.dims_of_id(dims).to_vec();
                    dims.into_iter().for_each(|dim| check.extent(id, dim));
                }
                _ => {}
            }
        }
    }
    check.errors
}

/// Returns errors about casts of values to types that they cannot have. TVM refuses them when a program is written, and not in
/// what a pass has made.
pub(crate) fn impossible_casts(store: &mut Store, roots: &[ExprId]) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    for root in roots {
        for id in post_order(store, *root) {
            let Expr::Seq { blocks, .. } = store.expr(id) else { continue };
            let bindings: Vec<Binding> = store.bindings(blocks).collect();
            for Binding { var, value, cast } in bindings {
                if let (Some(cast), Some(given)) = (cast, store.checked_type(value))
                    && fit(store, given, cast) == Fit::Never
                {
                    let (given, cast) = (relax_ty(store, given), relax_ty(store, cast));
                    let message = format!(
                        "It is impossible to match cast any value into the target ty. But got value type: {given}, given type: {cast}"
                    );
                    errors.push(Diagnostic::error("relax-type", message, store.var_span(var)));
                }
            }
        }
    }
    errors
}

struct Check<'a> {
    store: &'a mut Store,
    module: &'a Module,
    signatures: &'a Signatures,
    errors: Vec<Diagnostic>,
}

impl Check<'_> {
    fn error(&mut self, code: &'static str, message: String, at: ExprId) {
        self.errors.push(Diagnostic::error(code, message, self.store.source_span(at)));
    }

    fn assigned(&mut self, Binding { var, value, cast }: Binding) {
        let given = match self.store.expr(value) {
            Expr::Var(other) => self.store.var_type(other),
            _ => self.store.checked_type(value),
        };
        let (Some(wanted), Some(given)) = (self.store.var_type(var), given) else { return };
        if cast.is_none() && fit(self.store, wanted, given) != Fit::Always {
            let (given, wanted) = (relax_ty(self.store, given), relax_ty(self.store, wanted));
            let message = format!("Expression of type {given} cannot be assigned to a variable of type {wanted}");
            self.error("relax-type", message, value);
        }
    }

    fn call(&mut self, id: ExprId) {
        let Expr::Call { callee, args, info } = self.store.expr(id) else { return };
        let name = self.store.called_op(id).and_then(|op| ops::info(op).relax.as_ref()).map_or("", |row| row.name);
        if CALL_TIR.contains(&name) {
            self.call_tir(id, name);
        }
        let Some(current) = self.store.checked_type(id) else { return };
        // Other rules propagate the distribution of a tensor over devices.
        if matches!(self.store.type_of_id(current), Type::Distributed { .. }) {
            return;
        }
        // Type deduction reports arguments that do not fit.
        if let Ok(deduced) = deduce_call(self.store, self.signatures, callee, args, info, &|_| None)
            && fit(self.store, current, deduced) == Fit::Never
        {
            let (current, deduced) = (relax_ty(self.store, current), relax_ty(self.store, deduced));
            let message = format!(
                "All information in Type annotations must be correct. However, while the expression is annotated as {current}, \
                 the expression outputs {deduced}"
            );
            self.error("relax-type", message, id);
        }
    }

    fn call_tir(&mut self, id: ExprId, name: &str) {
        let Some(call) = self.store.call(id) else { return };
        let args: Vec<ExprId> = self.store.items(call.args).collect();
        let &[callee, inputs, ..] = &args[..] else {
            let message =
                format!("Operation R.{name} expects two arguments [callee, arg_tuple], but it has {} arguments.", args.len());
            return self.error("relax-normalized", message, id);
        };
        let Expr::Tuple(fields) = self.store.expr(inputs) else {
            let message = format!(
                "If an operator defines an operator-specific normalization function (FNormalize), calls to that operator must be \
                 normalized with it. However, Operation R.{name} must hold its arguments as an in-line tuple."
            );
            return self.error("relax-normalized", message, id);
        };
        let Expr::Global(global) = self.store.expr(callee) else {
            let message = format!("R.{name} expects the first argument to be a GlobalVar referring to a TIR PrimFunc.");
            return self.error("relax-call-tir", message, callee);
        };
        let program = match self.module.function(global).map(|function| self.store.expr(function)) {
            Some(Expr::PrimFunc(program)) => program,
            Some(Expr::Function(_)) => {
                let message =
                    format!("R.{name} expects a TIR PrimFunc, but its callee is a function of Relax, which is called itself.");
                return self.error("relax-call-tir", message, callee);
            }
            _ => return,
        };
        let program = self.store.prim_func(program).clone();
        let given: Vec<ExprId> = self.store.items(fields).collect();
        let explicit = call.info.and_then(|info| self.store.call_info(info).type_args.first().copied());
        let in_place = self.store.attr_ints(call.attrs, "inplace_indices").unwrap_or_default();
        // Values of symbols behind the inputs are arguments of the last parameters.
        if args.len() > 2 {
            return;
        }
        match (self.implied(&program, &given, &in_place), explicit) {
            (Err(why), _) => {
                let message = format!("Operator-specific validation (FValidate) for R.{name} identified error: {why}");
                self.error("relax-call-tir", message, id);
            }
            (Ok(Some(implied)), Some(explicit)) if fit(self.store, implied, explicit) < Fit::Extents => {
                let (implied, explicit) = (relax_ty(self.store, implied), relax_ty(self.store, explicit));
                let message = format!(
                    "The `out_ty` argument for R.call_tir must be compatible with the PrimFunc. However, the PrimFunc's signature \
                     implies that the output should be {implied}, but the `out_ty` argument was {explicit}"
                );
                self.error("relax-call-tir", message, id);
            }
            _ => {}
        }
    }

    /// Returns the type of a tensor program's outputs for these inputs, as far as those determine it.
    fn implied(&mut self, program: &PrimFunc, inputs: &[ExprId], in_place: &[i64]) -> Result<Option<TypeId>, String> {
        let params: Vec<TypeId> = program.params.iter().map(|param| self.param(*param)).collect();
        if inputs.len() > params.len() {
            return Err(format!(
                "R.call_tir attempted to call a function using {} explicit arguments. However, the callee only accepts {} \
                 arguments in total.",
                inputs.len(),
                params.len()
            ));
        }
        let mut types = Vec::with_capacity(inputs.len());
        for input in inputs {
            match self.store.checked_type(*input) {
                Some(ty) if !matches!(self.store.type_of_id(ty), Type::Distributed { .. }) => types.push(ty),
                _ => return Ok(None),
            }
        }
        let mut outputs: Vec<TypeId> = params[inputs.len()..].to_vec();
        for (index, input) in in_place.iter().enumerate() {
            let param = usize::try_from(*input).ok().and_then(|input| params.get(input).copied());
            if let Some(param) = param {
                outputs.insert(index.min(outputs.len()), param);
            }
        }
        let ret = if let [one] = outputs[..] { one } else { self.store.tuple_type(&outputs) };
        let params = Some(params[..inputs.len()].into());
        let dummy = self.store.ty(Type::Callable { params, ret, pure: true });
        deduce_callable(self.store, dummy, inputs, &types).map(Some)
    }

    /// Returns the type of a parameter's argument.
    fn param(&mut self, param: PrimParam) -> TypeId {
        match param {
            PrimParam::Var(symbol) => {
                let dtype = self.store.symbol(symbol).dtype;
                self.store.ty(Type::Prim(dtype))
            }
            PrimParam::Buffer(buffer) => {
                let buffer = self.store.buffer(buffer).clone();
                let dims = buffer.shape.iter().map(|extent| self.store.dim_of_prim(*extent)).map(wide).collect();
                self.store.tensor_like(TensorInfo { extents: Extents::Known(dims), dtype: Some(buffer.dtype), vdevice: None })
            }
        }
    }

    fn extent(&mut self, at: ExprId, dim: Dim) {
        let dtype = match dim {
            Dim::Symbol(symbol) => self.store.symbol(symbol).dtype,
            Dim::Expr(prim) => self.store.prim_dtype(prim),
            Dim::Int { .. } | Dim::Any => return,
        };
        if dtype.code != crate::ir::DTypeCode::Int {
            let message = format!("Shape expressions must be of integer type, but got {dtype}");
            self.error("relax-shape", message, at);
        }
    }
}

/// Widens an extent of a buffer to the 64 bits of Relax's extents.
fn wide(dim: Dim) -> Dim {
    match dim {
        Dim::Int { value, .. } => Dim::Int { value, bits: 64 },
        other => other,
    }
}
