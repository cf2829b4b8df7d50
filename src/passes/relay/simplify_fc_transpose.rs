//! SimplifyFCTranspose: weights of dense layers that are transposed beforehand.
//!
//! `nn.dense(x, transpose(w))` becomes `nn.dense(x, w.T)`, where `w.T` is a new parameter: the user gives it the transposed
//! weight. Each call gets a parameter of its own.
//!
//! A transposed weight that is not in the list is refused, as in TVM. Any `transpose` counts, whatever its axes, and
//! parameters that nothing uses go, as in TVM.
//!
//! Source: `src/relay/transforms/simplify_fc_transpose.cc`.

use super::support::weights::{names, with_used_params};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Expr, ExprId, Module, Store, Type};
use crate::ops::build::{arg, is_call};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};

/// Takes transposed weights of dense layers as parameters.
pub static SPEC: PassSpec = PassSpec {
    name: "SimplifyFCTranspose",
    info_name: "SimplifyFCTranspose",
    dialects: crate::pass::spec::RELAY,
    opt_level: 4,
    required: &["DeadCodeElimination"],
    params: &[Param { name: "target_weight_name", default: "", doc: "Names of the weights, `[\"w\"]`." }],
    config: &[],
    summary: "Takes weights of dense layers as parameters that are transposed already.",
    doc: explained(
        "`nn.dense(x, transpose(w))` becomes a dense layer over a new parameter `w.T`, so that the weight is transposed once and for \
all, outside of the program (in TVM by `data_dep_optimization.simplify_fc_transpose`). Every weight that is transposed must be in \
the list. Parameters come in the order of their uses afterwards, new ones last, and those without a use go.\n\n\
It requires DeadCodeElimination, which TVM makes without the arguments that this one needs: in a list that is an error, as in TVM. Called \
directly, or inside of ApplyPassToFunction, it runs.",
    ),
    example_before: explained(
        "\
# SimplifyFCTranspose(target_weight_name=[\"w\"])
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 3), float32]) -> Tensor[(2, 3), float32] {
  %0 = transpose(%w, axes=[1, 0]);
  nn.dense(%x, %0, units=None)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(2, 4), float32], %w.T: Tensor[(3, 4), float32]) -> Tensor[(2, 3), float32] {
  nn.dense(%x, %w.T, units=None)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let mut pass = Transposed { names: names(arguments, "target_weight_name")?, errors: Vec::new() };
    let new = cx.store.rewrite(RULE, function, function, |store| {
        let new = rewrite(store, function, &mut pass);
        if pass.errors.is_empty() { with_used_params(store, new) } else { function }
    });
    if pass.errors.is_empty() { Ok(new) } else { Err(pass.errors) }
}

const RULE: &str = "weight transposed beforehand";

struct Transposed {
    names: Vec<String>,
    errors: PassError,
}

impl ExprMutator for Transposed {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if !is_call(store, pre, "nn.dense") || !is_call(store, arg(store, pre, 1), "transpose") {
            return post;
        }
        let weight = arg(store, arg(store, pre, 1), 0);
        let Expr::Var(var) = store.expr(weight) else { return post };
        let name = store.var_name(var).to_owned();
        let ty = store.var_type(var).map(|ty| store.type_of_id(ty).clone());
        let turned = match ty {
            Some(Type::Tensor { shape, dtype }) if shape.len() == 2 => Some((shape, dtype)),
            _ => None,
        };
        let (true, Some((shape, dtype))) = (self.names.contains(&name), turned) else {
            let message = format!("the weight %{name} is transposed, but is not a matrix that is in the list target_weight_name");
            self.errors.push(Diagnostic::error("relay-fc-transpose", message, store.source_span(pre)));
            return post;
        };
        let ty = store.tensor_type(&[shape[1], shape[0]], dtype);
        let new = store.var(&format!("{name}.T"), Some(ty));
        let (data, new) = (arg(store, post, 0), store.use_var(new));
        let Expr::Call { callee, info, .. } = store.expr(pre) else { return post };
        let args = store.list(&[data, new]);
        store.add(Expr::Call { callee, args, info })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, failure};

    #[test]
    fn parameters_come_in_the_order_of_their_uses_and_others_go() {
        check(
            "SimplifyFCTranspose([\"w\"])",
            "def @main(%u: int32, %w: Tensor[(4, 3), float32], %b: Tensor[(3), float32], %x: Tensor[(2, 4), float32]) {
               add(nn.dense(%x, transpose(%w, axes=[1, 0]), units=None), %b)
             }",
            "def @main(%x: Tensor[(2, 4), float32], %b: Tensor[(3), float32], %w: Tensor[(3, 4), float32]) {
               add(nn.dense(%x, %w, units=None), %b)
             }",
        );
    }

    #[test]
    fn a_weight_that_is_not_in_the_list_is_refused() {
        let program = "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, transpose(%w, axes=[1, 0]), units=None) }";
        assert!(failure("SimplifyFCTranspose([\"v\"])", program).starts_with("the weight %w is transposed"));
        assert!(failure("SimplifyFCTranspose(3)", program).contains("a list of names"));
    }
}
