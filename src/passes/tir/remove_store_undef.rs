//! RemoveStoreUndef: removes stores of undefined values.
//!
//! Source: `src/s_tir/transform/remove_store_undef.cc`.

use super::prim_func;
use crate::diag::Diagnostic;
use crate::ir::{Id, Module, PrimExpr, PrimId, Stmt, StmtId, Store, Symbol};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::effect::{Effect, effect};
use crate::tir::{Rewriting, StmtMutator, rewrite_func};
use rustc_hash::FxHashSet;

/// TVM's `s_tir.transform.RemoveStoreUndef`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.RemoveStoreUndef",
    info_name: "s_tir.RemoveStoreUndef",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Removes stores of `T.undef()`.",
    doc: explained(
        "`T.undef()` is a value that may be anything, so a store of it, or of something computed from it, may as well not happen; \
variables that are bound to such values go too, and *RemoveNoOp* cleans up. An index must not depend on it, what it is used in \
must have no effect, and none may be left.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), \"int32\")):
        A[0] = 1
        A[1] = T.undef(dtype=\"int32\") + 1
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((4,), \"int32\")):
        A[0] = 1
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut new = module.clone();
    for &(name, func) in module.functions() {
        if prim_func(cx.store, func).is_some() {
            let removed = rewrite_func(cx.store, func, &mut Remove::default())?;
            new.set_function(name, removed);
        }
    }
    let new = cx.run("tirx.RemoveNoOp()", &new)?;
    for &(_, func) in new.functions() {
        if prim_func(cx.store, func).is_some_and(|prim| contains_undef(cx.store, prim.body)) {
            let message =
                "Expected removal of BufferStore containing builtin::undef() to remove all instances of builtin::undef().";
            return Err(vec![Diagnostic::error("tir-undef", message, None)]);
        }
    }
    Ok(new)
}

fn contains_undef(store: &Store, body: StmtId) -> bool {
    let mut found = false;
    store.for_each_stmt(body, |stmt| {
        store.for_each_prim_of(stmt, |root| {
            store.for_each_prim(root, &mut |_, part| {
                found |= matches!(part, PrimExpr::Call { op, .. } if store.str(*op) == "undef");
            });
        });
    });
    found
}

#[derive(Default)]
struct Remove {
    /// Variables whose value is not said.
    unsaid: FxHashSet<Id<Symbol>>,
}

impl Remove {
    /// True if an expression is computed from an undefined value. The error: an index is.
    fn is_unsaid(&self, store: &Store, root: PrimId) -> Result<bool, &'static str> {
        let (mut found, mut todo, mut seen) = (false, vec![root], FxHashSet::default());
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            match store.prim_of_id(id) {
                PrimExpr::Var(symbol) => found |= self.unsaid.contains(symbol),
                PrimExpr::Load { indices, .. } => self.indices(store, indices)?,
                node => {
                    found |= matches!(node, PrimExpr::Call { op, .. } if store.str(*op) == "undef");
                    node.for_each_child(&mut |child| todo.push(child));
                }
            }
        }
        Ok(found)
    }

    fn indices(&self, store: &Store, indices: &[PrimId]) -> Result<(), &'static str> {
        for index in indices {
            if self.is_unsaid(store, *index)? {
                return Err("Error: T.undef() may not be used in buffer indices");
            }
        }
        Ok(())
    }

    /// True if the statement with this value is removed.
    fn goes(&self, store: &Store, value: PrimId, what: &'static str) -> Result<bool, &'static str> {
        match self.is_unsaid(store, value)? {
            true if effect(store, value) > Effect::Reads => Err(what),
            unsaid => Ok(unsaid),
        }
    }
}

impl StmtMutator for Remove {
    fn rule(&self) -> &'static str {
        "store of nothing removed"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        let goes = match cx.store.stmt(id) {
            Stmt::Store { value, indices, .. } => self
                .goes(cx.store, *value, "Error: T.undef() used in BufferStore expressions must not have other side effects")
                .and_then(|goes| self.indices(cx.store, indices).map(|()| goes)),
            Stmt::Bind { var, value } => {
                let (var, value) = (*var, *value);
                let goes =
                    self.goes(cx.store, value, "Error: T.undef() used in Let expressions must not have other side effects");
                if goes == Ok(true) {
                    self.unsaid.insert(var);
                }
                goes
            }
            _ => return None,
        };
        match goes {
            Ok(true) => Some(cx.store.no_op()),
            Ok(false) => None,
            Err(message) => {
                cx.fail("tir-undef", message);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(body: &str) -> String {
        format!("@T.prim_func(private=True)\ndef f(A: T.Buffer((4,), \"int32\")):\n    A[3] = 5\n{body}\n")
    }

    #[test]
    fn variables_of_nothing_go_with_their_stores() {
        let text = after(&source("    x: T.let = T.undef(dtype=\"int32\")\n    A[0] = x + 1"), "s_tir.RemoveStoreUndef()");
        assert!(!text.contains("undef") && !text.contains("A[0]") && text.contains("A[3] = 5"), "{text}");
    }

    #[test]
    fn an_index_that_may_be_anything_is_refused() {
        let error = error(&source("    A[T.undef(dtype=\"int32\")] = 1"), "s_tir.RemoveStoreUndef()");
        assert_eq!(error, "Error: T.undef() may not be used in buffer indices");
    }

    #[test]
    fn stores_of_values_stay() {
        unchanged(&source("    A[0] = A[1]"), "s_tir.RemoveStoreUndef()");
    }
}
