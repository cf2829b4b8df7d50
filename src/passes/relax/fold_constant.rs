//! FoldConstant: evaluates expressions on constants.
//!
//! A call of a tensor program (`R.call_tir`) with constant arguments is evaluated everywhere; a call of an operator
//! only in a dataflow block, and when TVM would make one tensor program of it. Uses of variables that are bound to
//! constants become the constants, operators that take a shape get its literal, `tensor_to_shape` of a constant becomes
//! a shape and `shape_to_tensor` of a known shape a constant. At the end unused bindings are removed.
//!
//! Large results (more than 1024 elements) of calls without tensor operands are not folded, to keep the program small.
//!
//! TVM lowers an operator to a tensor program, as LegalizeOps does, and runs that; here its kernel runs.
//!
//! TVM compiles tensor programs with LLVM for that, and its generator refuses to compare truth values or to compute with
//! them; such calls stay here, too.
//!
//! Divergences: here tensor programs are interpreted. Programs that take more than ten
//! million steps, or that cannot be run (see `eval::tir`), stay. Operators are evaluated by the kernels of
//! `eval::relax`, whose last digit may differ from that of compiled code; those without a kernel stay.
//!
//! Source: `src/relax/transform/fold_constant.cc`.

use super::calls::{args, extents, fields, op_name, shape, tuple};
use super::dead_code_elimination::remove_all_unused;
use super::support::results::{
    compute, fixed, has_unread_constant, known, literal, makes_program_of_unknown, program_compares_truth_values,
};
use super::support::type_error;
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::eval::{EvalOptions, Given, run_prim_func};
use crate::infer::relax::types::{self, Fit};
use crate::infer::relax::{Signatures, deduce_call};
use crate::ir::rewrite::Visit;
use crate::ir::{DType, Dim, Expr, ExprId, Extents, Module, Store, Tensor, Type};
use crate::ops::build::{constant, elements};
use crate::ops::kernel::{read, write};
use crate::ops::relax::deduce::int;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::topi;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.FoldConstant`.
pub static SPEC: PassSpec = PassSpec {
    name: "FoldConstant",
    info_name: "FoldConstant",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Computes calls whose arguments are constants.",
    doc: explained(
        "A call of a tensor program with constant arguments is run, and its result takes its place; so is a call of an operator \
in a dataflow block. Results of more than 1024 elements that come from no tensor (`R.zeros`) stay calls. Shapes that \
are bound to variables are written into the operators that use them, and what nobody uses any more is removed.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((), dtype=\"float32\") = R.add(R.const(1.0, \"float32\"), R.const(2.0, \"float32\"))
            gv: R.Tensor((2,), dtype=\"float32\") = R.multiply(x, lv)
            R.output(gv)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            gv: R.Tensor((2,), dtype=\"float32\") = R.multiply(x, R.const(3.0, \"float32\"))
            R.output(gv)
        return gv
",
    ),
    run: Run::Function(run),
};

/// A result without tensor operands is computed up to this number of elements.
const MAX_ELEMENTS: i64 = 1024;

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let mut fold = Fold { module, refused: None };
    let folded = rewrite_function(cx.store, module, function, &mut fold)?;
    // In a dump without its metadata, shapes that come from constants are unknown, which is no fault of the program.
    if let Some(message) = fold.refused
        && !has_unread_constant(cx.store, function)
    {
        return Err(type_error(message));
    }
    Ok(remove_all_unused(cx.store, module, folded))
}

struct Fold<'m> {
    module: &'m Module,
    /// TVM's message for the first operator that it cannot make a tensor program of.
    refused: Option<String>,
}

impl BlockMutator for Fold<'_> {
    fn rule(&self) -> &'static str {
        "computed"
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Var(_) => {
                let value = cx.value_of(store, id);
                if constant(store, value).is_some() { Visit::Replace(value) } else { Visit::Descend }
            }
            _ => Visit::Descend,
        }
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let name = op_name(store, post);
        if name.is_empty() || !is_worth_it(store, post) {
            return post;
        }
        if name == "call_tir" {
            return self.call_tir(store, post).unwrap_or(post);
        }
        let post = with_shapes(store, cx, post);
        let post = deduced_anew(store, post);
        if !cx.builder.is_dataflow() {
            return post;
        }
        let operands = args(store, post);
        match (name, &operands[..]) {
            ("tensor_to_shape", &[operand]) => shape_from(store, operand).unwrap_or(post),
            ("shape_to_tensor", &[operand]) => tensor_from(store, operand).unwrap_or(post),
            _ => {
                if self.refused.is_none() && divides_by_zero(store, name, &operands) {
                    self.refused = Some("Divide by zero".to_owned());
                }
                if self.refused.is_none() {
                    let refused =
                        makes_program_of_unknown(store, name, &operands).or_else(|| topi::unfit(store, &cx.builder, name, post));
                    self.refused = refused.map(str::to_owned);
                }
                // TVM's attempt to evaluate the call leaves a binding behind: a cast that names the extents.
                if fills_unwritten(store, name, &operands) {
                    topi::legalize(store, &mut cx.builder, post, &FxHashMap::default());
                    return post;
                }
                compute(store, name, post, &operands).unwrap_or(post)
            }
        }
    }
}

impl Fold<'_> {
    fn call_tir(&self, store: &mut Store, call: ExprId) -> Option<ExprId> {
        let operands = args(store, call);
        let Expr::Global(name) = store.expr(*operands.first()?) else { return None };
        let Expr::PrimFunc(function) = store.expr(self.module.function(name)?) else { return None };
        // A third operand passes symbols, which a program without them does not take.
        let [_, inputs] = operands[..] else { return None };
        let inputs: Option<Vec<Tensor>> = fields(store, inputs)?.into_iter().map(|field| known(store, field)).collect();
        let inputs = inputs?;
        let ty = store.checked_type(call)?;
        let (types, is_tuple) = match store.type_of_id(ty) {
            Type::Tuple(types) => (types.to_vec(), true),
            _ => (vec![ty], false),
        };
        let outputs: Option<Vec<(DType, Vec<i64>)>> = types.iter().map(|ty| fixed(store, *ty)).collect();
        let function = store.prim_func(function).clone();
        if program_compares_truth_values(store, function.body) {
            return None;
        }
        let n_inputs = inputs.len();
        let given: Vec<Given> =
            inputs.into_iter().map(Given::Tensor).chain(outputs?.into_iter().map(|(d, s)| Given::Output(d, s))).collect();
        let wanted: Vec<usize> = (n_inputs..given.len()).collect();
        let made = run_prim_func(store, &function, &given, &wanted, EvalOptions::default().fuel).ok()?;
        let made: Vec<ExprId> = made.into_iter().map(|tensor| literal(store, tensor)).collect();
        if is_tuple { Some(tuple(store, &made)) } else { made.first().copied() }
    }
}

/// True if the result of a call may stand in the program: a large one only if it comes from a tensor.
fn is_worth_it(store: &Store, call: ExprId) -> bool {
    let Some((_, shape)) = store.checked_type(call).and_then(|ty| fixed(store, ty)) else { return true };
    if shape.iter().any(|extent| *extent <= 0) {
        return true;
    }
    let small = shape.iter().try_fold(1i64, |n, extent| n.checked_mul(*extent)).is_some_and(|n| n <= MAX_ELEMENTS);
    let mut operands = args(store, call);
    while let Some(operand) = operands.pop() {
        if small || store.checked_type(operand).is_some_and(|ty| store.tensor_info(ty).is_some()) {
            return true;
        }
        operands.extend(fields(store, operand).unwrap_or_default());
    }
    small
}

/// Replaces variables in a call that are bound to shapes by those shapes; not those that rename such a variable, as TVM.
fn with_shapes(store: &mut Store, cx: &Mutation, call: ExprId) -> ExprId {
    let old = args(store, call);
    let new: Vec<ExprId> = (old.iter())
        .map(|arg| match store.expr(*arg) {
            Expr::Var(var) => {
                cx.lookup_binding(store, var).filter(|value| matches!(store.expr(*value), Expr::Shape(_))).unwrap_or(*arg)
            }
            _ => *arg,
        })
        .collect();
    if new == old {
        return call;
    }
    let Expr::Call { callee, info, .. } = store.expr(call) else { return call };
    let args = store.list(&new);
    store.rebuild(call, Expr::Call { callee, args, info }, None)
}

/// Gives a call the type that its operator deduces, unless that is weaker than the written one: TVM makes the call anew.
/// The same extents in another form are not weaker.
fn deduced_anew(store: &mut Store, call: ExprId) -> ExprId {
    let node = store.expr(call);
    let (Expr::Call { callee, args, info }, Some(old)) = (node, store.checked_type(call)) else { return call };
    match deduce_call(store, &Signatures::default(), callee, args, info, &|_| None) {
        Ok(new) if new != old => {
            let weaker = types::fit(store, new, old) == Fit::Always && types::fit(store, old, new) != Fit::Always;
            if weaker { call } else { store.rebuild(call, node, Some(new)) }
        }
        _ => call,
    }
}

/// True if a call fills a tensor whose shape a variable holds.
fn fills_unwritten(store: &Store, name: &str, operands: &[ExprId]) -> bool {
    let Some(first) = operands.first().copied() else { return false };
    let info = store.checked_type(first).and_then(|ty| store.tensor_info(ty));
    match name {
        "full" | "ones" | "zeros" => !matches!(store.expr(first), Expr::Shape(_)),
        "full_like" | "ones_like" | "zeros_like" => info.is_some_and(|info| matches!(info.extents, Extents::Var(_))),
        _ => false,
    }
}

/// True if a call divides by the number 0, which TVM finds when it makes a tensor program of it.
fn divides_by_zero(store: &Store, name: &str, operands: &[ExprId]) -> bool {
    let Some(divisor) = operands.get(1).filter(|_| topi::folds_division(name)).and_then(|id| known(store, *id)) else {
        return false;
    };
    let exempt = name == "mod" && divisor.dtype.is_float();
    divisor.shape.is_empty() && !exempt && elements(&divisor).is_some_and(|values| values.first() == Some(&0.0))
}

fn shape_from(store: &mut Store, operand: ExprId) -> Option<ExprId> {
    let tensor = known(store, operand).filter(|tensor| tensor.dtype == DType::I64 && tensor.shape.len() == 1)?;
    let dims: Vec<Dim> = read::<i64>(&tensor).ok()?.into_iter().map(int).collect();
    Some(shape(store, &dims))
}

fn tensor_from(store: &mut Store, operand: ExprId) -> Option<ExprId> {
    let values: Option<Vec<i64>> = extents(store, operand)?.iter().map(|dim| dim.known()).collect();
    let values = values?;
    let tensor = write(DType::I64, &[values.len() as i64], &values).ok()?;
    Some(literal(store, tensor))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    fn folded(head: &str, body: &str) -> String {
        let lines: String = body.lines().map(|line| format!("            {line}\n")).collect();
        let source = format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main({head}):\n        with R.dataflow():\n{lines}            \
             R.output(gv)\n        return gv\n"
        );
        after(&source, "FoldConstant()")
    }

    #[test]
    fn small_tensors_of_one_value_are_written_down_and_large_ones_are_not() {
        let small = folded("x: R.Tensor((1024,), \"float32\")", "lv = R.ones((1,), \"float32\")\ngv = R.add(x, lv)");
        assert!(small.contains("R.add(x, metadata"), "{small}");
        let large = folded("x: R.Tensor((1025,), \"float32\")", "lv = R.ones((1025,), \"float32\")\ngv = R.add(x, lv)");
        assert!(large.contains("R.ones("), "{large}");
    }

    #[test]
    fn a_shape_that_is_computed_is_written_into_what_uses_it() {
        let text = folded("x: R.Tensor((4,), \"float32\")", "lv: R.Shape([2, 2]) = R.shape([2, 2])\ngv = R.reshape(x, lv)");
        assert!(text.contains("R.reshape(x, R.shape([2, 2]))"), "{text}");
    }

    #[test]
    fn reductions_products_and_parts_of_constants_are_computed() {
        let body = "lv = R.ones((4,), \"float32\")\nlv1 = R.split(lv, 2, axis=0)\nlv2 = lv1[0]\nlv3 = R.sum(lv)\nlv4 = \
                    R.matmul(lv, lv)\nlv5 = R.multiply(lv3, lv4)\nlv6 = R.add(x, lv5)\ngv = R.add(lv6, lv2)";
        let text = folded("x: R.Tensor((), \"float32\")", body);
        assert!(!text.contains("R.sum(") && !text.contains("R.matmul(") && !text.contains("R.split("), "{text}");
        assert!(text.contains("R.const(16.0"), "{text}");
    }

    #[test]
    fn what_tvm_lowers_to_calls_of_its_libraries_stays() {
        let text = folded("x: R.Tensor((), \"float32\")", "gv = R.cumsum(R.ones((3,), \"float32\"), axis=0)");
        assert!(text.contains("R.cumsum("), "{text}");
    }

    /// As in the test `test_cross_entropy` of TVM's frontend: a call that folds at once is no result of a program.
    #[test]
    fn a_scalar_that_is_cast_stays() {
        let text =
            folded("x: R.Tensor((), \"float32\")", "lv = R.astype(R.const(4, \"int64\"), \"float32\")\ngv = R.divide(x, lv)");
        assert!(text.contains("R.astype(R.const(4"), "{text}");
    }

    #[test]
    fn what_is_only_like_another_tensor_is_known_and_types_are_found_anew() {
        let body = "lv = R.zeros_like(x)\ngv: R.Tensor(\"float32\", ndim=1) = R.add(x, lv)";
        let text = folded("x: R.Tensor((2,), \"float32\")", body);
        assert!(!text.contains("R.zeros_like(") && text.contains("gv: R.Tensor((2,), dtype=\"float32\")"), "{text}");
    }

    #[test]
    fn a_program_whose_constants_were_not_given_is_left_alone() {
        let text = folded(
            "x: R.Tensor((2,), \"float32\")",
            "gv: R.Tensor((2,), \"float32\") = R.add(x, metadata[\"ir.GenericConst\"][0])",
        );
        assert!(text.contains("R.add(x, metadata[\"ir.GenericConst\"][0])"), "{text}");
    }

    #[test]
    fn halves_are_rounded_to_the_even_number() {
        let text = folded("x: R.Tensor((), \"float32\")", "lv = R.round(R.const(2.5, \"float32\"))\ngv = R.add(x, lv)");
        assert!(text.contains("R.const(2.0"), "{text}");
    }

    #[test]
    fn operators_outside_of_dataflow_stay() {
        let source = "@I.ir_module\nclass Module:\n    @R.function\n    def main() -> R.Tensor((), \"float32\"):\n        gv = \
                      R.add(R.const(1.0, \"float32\"), R.const(2.0, \"float32\"))\n        return gv\n";
        assert!(after(source, "FoldConstant()").contains("R.add("));
    }
}
