//! AnnotateEntryFunc: the function that a module is entered by is marked.
//!
//! Source: `src/tirx/transform/primfunc_utils.cc`.

use super::{func_attrs, with_func};
use crate::ir::{AttrValue, Expr, ExprId, Id, Module, Name, PrimFunc, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `tirx.transform.AnnotateEntryFunc`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.AnnotateEntryFunc",
    info_name: "tirx.AnnotateEntryFunc",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Marks the function that the module is entered by.",
    doc: explained(
        "The only function of a module is its entry; among several it is the only one with a `global_symbol`, which nothing \
but a function of TIR may have then. It gets the attribute `tirx.is_entry_func`. Where no entry stands out, nothing is marked.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), \"float32\")):
        A[0] = T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), \"float32\")):
        T.func_attr({\"tirx.is_entry_func\": True})
        A[0] = T.float32(1.0)
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let entry = match *module.functions() {
        [(name, only)] => {
            let marked = func_attrs(store, only).is_some_and(|attrs| store.attr_int(Some(attrs), ENTRY).is_some_and(|v| v != 0));
            (!marked).then_some((name, only))
        }
        _ => only_exposed(store, module),
    };
    let mut new = module.clone();
    if let Some((name, func)) = entry.filter(|(_, func)| matches!(store.expr(*func), Expr::PrimFunc(_))) {
        let marked = with_func(store, "entry marked", func, |store, func| {
            let attrs = Some(store.with_attr(func.attrs, ENTRY, AttrValue::Bool(true)));
            PrimFunc { attrs, ..func }
        });
        new.set_function(name, marked);
    }
    Ok(new)
}

const ENTRY: &str = "tirx.is_entry_func";

/// Returns the function of TIR that alone can be called from outside.
fn only_exposed(store: &Store, module: &Module) -> Option<(Id<Name>, ExprId)> {
    let exposed = |func: &ExprId| store.attr_str(func_attrs(store, *func), "global_symbol").is_some();
    let mut exposed = module.functions().iter().copied().filter(|(_, func)| exposed(func));
    match (exposed.next(), exposed.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, unchanged};

    const TWO: &str = "\
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), \"float32\")):
        T.evaluate(0)

    @T.prim_func(private=True)
    def helper(A: T.Buffer((4,), \"float32\")):
        T.evaluate(0)
";

    #[test]
    fn of_several_the_one_that_is_exposed_is_marked() {
        let text = after(TWO, "tirx.AnnotateEntryFunc()");
        assert_eq!(text.matches("tirx.is_entry_func").count(), 1, "{text}");
        assert!(
            text.find("tirx.is_entry_func") < text.find("def helper") || text.find("def helper") < text.find("def main"),
            "{text}"
        );
    }

    #[test]
    fn of_two_that_are_exposed_none_is() {
        unchanged(&TWO.replace("(private=True)", ""), "tirx.AnnotateEntryFunc()");
    }
}
