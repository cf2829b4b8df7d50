//! DefuseOps: the reverse of FuseOps.
//!
//! A function literal that is called on the spot is replaced by its body with the arguments in place
//! of the parameters. Parameters are found by name, as in TVM: a variable in the body with the name
//! of a parameter is that parameter.
//!
//! Does nothing to functions that are called through a variable or a global name. TVM fails
//! at a body with other variables than its parameters; here those stay as they are.
//!
//! Source: `src/relay/transforms/defuse_ops.cc`.

use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting, rewrite};
use crate::ir::walk::free_vars;
use crate::ir::{ExprId, Module, Store, VarId};
use crate::ops::build::args;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// Replaces calls of function literals by their bodies.
pub static SPEC: PassSpec = PassSpec {
    name: "DefuseOps",
    info_name: "DefuseOps",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Puts the bodies of called function literals back in place.",
    doc: explained(
        "The reverse of FuseOps: a call of a function literal becomes the body of the function, with the \
arguments in place of the parameters. Two parameters of one name are an error, since TVM finds them by name.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) {
  %1 = fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] {
    %0 = exp(%p0);
    negative(%0)
  };
  %1(%x)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = exp(%x);
  negative(%0)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let mut defuse = Defuse { errors: Vec::new() };
    let result = rewrite(cx.store, function, &mut defuse);
    if defuse.errors.is_empty() { Ok(result) } else { Err(defuse.errors) }
}

struct Defuse {
    errors: PassError,
}

impl ExprMutator for Defuse {
    fn rule(&self) -> &'static str {
        "called function replaced by its body"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let Some(call) = store.call(post) else { return post };
        let Some(function) = store.as_function(call.callee) else { return post };
        let params: Vec<VarId> = store.items(function.params).collect();
        let mut by_name = FxHashMap::default();
        for (param, arg) in params.iter().zip(args(store, post)) {
            if by_name.insert(store.var_data(*param).name, arg).is_some() {
                let text = format!(
                    "Found multiple parameters share the same variable name `{}` which introduces uncertainty in \
                     DefuseOps pass",
                    store.var_name(*param)
                );
                self.errors.push(Diagnostic::error("relay-defuse-names", text, store.var_span(*param)));
                return post;
            }
        }
        let mut inline = Rewriting::new();
        for var in free_vars(store, function.body) {
            if let Some(arg) = by_name.get(&store.var_data(var).name) {
                let used = store.use_var(var);
                inline.set(used, *arg);
            }
        }
        inline.run(store, function.body, &mut Copy)
    }
}

/// Rebuilds over the substituted variables and changes nothing else.
struct Copy;

impl ExprMutator for Copy {
    fn rule(&self) -> &'static str {
        "copied over its arguments"
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, failure, unchanged};

    #[test]
    fn fusing_and_defusing_gives_the_program_back() {
        let program = "def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
               %0 = add(%x, %y); %1 = sum(%0); multiply(exp(%1), %y)
             }";
        check("FuseOps(), DefuseOps()", program, program);
    }

    #[test]
    fn a_function_called_by_name_stays() {
        unchanged("DefuseOps()", "def @main(%x: int32) -> int32 { @f(%x) } def @f(%x: int32) -> int32 { %x }");
    }

    #[test]
    fn two_parameters_of_one_name_are_an_error() {
        let program = "def @main(%x: int32) { %0 = fn (%a: int32, %a: int32) -> int32 { %a }; %0(%x, %x) }";
        assert!(failure("DefuseOps()", program).starts_with("Found multiple parameters share the same variable name `a`"));
    }
}
