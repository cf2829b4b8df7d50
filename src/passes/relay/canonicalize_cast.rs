//! CanonicalizeCast: every user of a widening cast gets a copy of its own.
//!
//! A cast to more bits that several element-wise or broadcasting calls share keeps fusion from
//! ending a kernel at the narrow data. Here the first user keeps the cast and each further one gets a
//! copy.
//!
//! Does nothing to casts that do not widen and for users that are neither element-wise nor
//! broadcasting.
//!
//! Source: `src/relay/transforms/canonicalize_cast.cc`.

use super::support::tensor_type;
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Expr, ExprId, IdMap, Module, Store};
use crate::ops::build::{args, op_name};
use crate::ops::{self, OpPattern};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Gives every user of a widening cast its own copy of the cast.
pub static SPEC: PassSpec = PassSpec {
    name: "CanonicalizeCast",
    info_name: "CanonicalizeCast",
    dialects: crate::pass::spec::RELAY,
    opt_level: 3,
    required: &["InferType"],
    params: &[],
    config: &[],
    summary: "Gives every user of a widening cast a copy of its own.",
    doc: explained(
        "A `cast` to a wider type that several element-wise or broadcasting calls use is copied, so that \
each can be fused with its own cast and kernels hand the narrow data to each other.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), int8]) {
  %0 = cast(%x, dtype=\"float32\");
  %1 = exp(%0);
  %2 = log(%0);
  (%1, %2)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), int8]) -> (Tensor[(4), float32], Tensor[(4), float32]) {
  %0 = cast(%x, dtype=\"float32\");
  %1 = cast(%x, dtype=\"float32\");
  %2 = exp(%0);
  %3 = log(%1);
  (%2, %3)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    let mut copier = Copier { uses: IdMap::new(), errors: Vec::new() };
    let result = rewrite(cx.store, function, &mut copier);
    if copier.errors.is_empty() { Ok(result) } else { Err(copier.errors) }
}

struct Copier {
    /// The number of uses of each widening cast met so far.
    uses: IdMap<Expr, u32>,
    errors: PassError,
}

impl ExprMutator for Copier {
    fn rule(&self) -> &'static str {
        "widening cast copied"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let Some(op) = store.called_op(pre) else { return post };
        let Some(pattern) = ops::info(op).pattern else {
            let text = format!("Attribute TOpPattern has not been registered for {}", ops::info(op).name);
            self.errors.push(Diagnostic::error("relay-no-fuse-pattern", text, store.source_span(pre)));
            return post;
        };
        if pattern > OpPattern::Broadcast {
            return post;
        }
        let old = args(store, pre);
        let mut new = args(store, post);
        let mut copied = false;
        for (old, new) in old.into_iter().zip(&mut new) {
            if self.needs_copy(store, old) {
                let ty = store.checked_type(*new);
                let cast = store.expr(*new);
                *new = store.rebuild(*new, cast, ty);
                copied = true;
            }
        }
        if !copied {
            return post;
        }
        let Expr::Call { callee, info, .. } = store.expr(post) else { return post };
        let args = store.list(&new);
        let ty = store.checked_type(pre);
        store.rebuild(post, Expr::Call { callee, args, info }, ty)
    }
}

impl Copier {
    /// True if an argument is a widening cast that an earlier user keeps.
    fn needs_copy(&mut self, store: &Store, arg: ExprId) -> bool {
        if op_name(store, arg) != "cast" {
            return false;
        }
        let attrs = store.call(arg).and_then(|call| call.attrs);
        let from = args(store, arg).first().and_then(|data| tensor_type(store, *data)).map(|t| t.1);
        let (Some(from), Some(to)) = (from, store.attr_dtype(attrs, "dtype")) else { return false };
        if from.bits >= to.bits {
            return false;
        }
        match self.uses.get_mut(arg) {
            Some(uses) => {
                *uses += 1;
                true
            }
            None => {
                self.uses.insert(arg, 1);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::unchanged;

    #[test]
    fn a_narrowing_cast_is_shared_on() {
        unchanged(
            "CanonicalizeCast()",
            "def @main(%x: Tensor[(4), float32]) { %0 = cast(%x, dtype=\"float16\"); (exp(%0), log(%0)) }",
        );
    }

    #[test]
    fn a_user_that_is_not_element_wise_gets_no_copy() {
        unchanged(
            "CanonicalizeCast()",
            "def @main(%x: Tensor[(2, 2), int8]) { %0 = cast(%x, dtype=\"float32\"); (exp(%0), sum(%0)) }",
        );
    }
}
