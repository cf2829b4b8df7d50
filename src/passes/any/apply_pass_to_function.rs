//! ApplyPassToFunction: another pass, applied to some of the functions.
//!
//! The pass gets a module of its own: the matching functions as they are, and of the others only their names and types,
//! as functions that are `Extern` and call themselves. Its results for matching functions, and functions that it adds,
//! go into the module; nothing is removed from it.
//!
//! Source: `src/ir/apply_pass_to_function.cc`.

use super::pattern::Pattern;
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Dialect, Expr, ExprId, Id, Module, Name, Store};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::relay::support::with_dict_attrs;

/// TVM's `transform.ApplyPassToFunction`.
pub static SPEC: PassSpec = PassSpec {
    name: "ApplyPassToFunction",
    info_name: "ApplyPassTo{func_name_regex}",
    dialects: crate::pass::spec::BOTH,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "transform", default: "", doc: "The pass: a call, such as `FoldConstant()` or `Sequential([...])`." },
        Param { name: "func_name_regex", default: "", doc: "Which functions it is applied to, by the beginning of their names." },
        Param {
            name: "error_if_no_function_matches_regex",
            default: "False",
            doc: explained("Whether it is an error when there is no such function."),
        },
    ],
    config: &[],
    summary: "Applies a pass to the functions whose names match, and leaves the others alone.",
    doc: explained(
        "The pass sees of the other functions only their names and types, so it can call them and cannot look into them. \
Functions that it adds are kept, functions that it removes stay.\n\n\
The pattern is one of Python's regular expressions, matched from the beginning of the name: characters, `.`, `[a-z]`, \
`\\d`, `\\w`, `*`, `+`, `?`, `|`, `^`, `$`. Groups and counts are not supported. The step is called `ApplyPassTo` and the \
pattern, as in TVM.",
    ),
    example_before: explained(
        "\
// ApplyPassToFunction(FastMath(), \"main\")
def @helper(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  exp(%x)
}

def @main(%y: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = exp(%y);
  @helper(%0)
}
",
    ),
    example_after: explained(
        "\
def @helper(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  exp(%x)
}

def @main(%y: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = fast_exp(%y);
  @helper(%0)
}
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let error = |text: String| vec![Diagnostic::error("pass-argument", text, None)];
    let (pass, regex) = (arguments.str("transform").unwrap_or_default(), arguments.str("func_name_regex").unwrap_or_default());
    let pattern = Pattern::new(regex).map_err(|why| error(format!("cannot use the pattern '{regex}': {why}")))?;
    let mut subset = module.clone();
    let mut matched = Vec::new();
    for &(name, function) in module.functions() {
        if pattern.matches(cx.store.str(name)) {
            matched.push(name);
        } else {
            subset.set_function(name, without_body(cx.store, module.dialect(), name, function));
        }
    }
    if matched.is_empty() && arguments.bool("error_if_no_function_matches_regex") {
        let names: Vec<&str> = module.functions().iter().map(|(name, _)| cx.store.str(*name)).collect();
        return Err(error(format!("No function matched regex '{regex}', out of functions [{}]", names.join(", "))));
    }
    let made = cx.run(pass, &subset)?;
    let mut result = module.clone();
    if made != subset {
        for &(name, function) in made.functions() {
            if matched.contains(&name) || module.function(name).is_none() {
                result.set_function(name, function);
            }
        }
    }
    Ok(result)
}

/// Reduces a function that does not match to its name and type. A function whose type is not known stays as it is.
fn without_body(store: &mut Store, dialect: Dialect, name: Id<Name>, function: ExprId) -> ExprId {
    let Some(mut data) = store.as_function(function).filter(|f| dialect == Dialect::Relay && f.ret.is_some()) else {
        return function;
    };
    let params: Vec<_> = store.items(data.params).collect();
    let arguments: Vec<ExprId> = params.into_iter().map(|param| store.use_var(param)).collect();
    let callee = store.add(Expr::Global(name));
    data.body = store.add_call(callee, &arguments, None);
    let external = store.name("Extern");
    data.attrs = Some(with_dict_attrs(store, data.attrs, &[(external, AttrValue::int(1))]));
    store.function_expr(data)
}

#[cfg(test)]
mod tests {
    use crate::pass::call::parse_calls;
    use crate::pass::manager::resolve;
    use crate::passes;
    use crate::passes::relay::testing::{check, failure, unchanged};

    const TWO: &str = "\
def @a(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { multiply(%x, add(1f, 1f)) }
def @b(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { @a(multiply(%x, add(1f, 1f))) }";

    #[test]
    fn a_list_of_passes_is_applied_to_the_functions_that_match() {
        check(
            "ApplyPassToFunction(Sequential([FoldConstant(), FastMath()]), \"b|c\")",
            TWO,
            "def @a(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { multiply(%x, add(1f, 1f)) }
             def @b(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { @a(multiply(%x, 2f)) }",
        );
    }

    #[test]
    fn functions_that_the_pass_removes_stay() {
        unchanged("ApplyPassToFunction(RemoveUnusedFunctions(entry_functions=[\"b\"]), \"b\")", TWO);
    }

    #[test]
    fn no_match_is_an_error_only_when_asked() {
        unchanged("ApplyPassToFunction(FoldConstant(), \"zz\")", TWO);
        let text = failure("ApplyPassToFunction(FoldConstant(), \"zz\", True)", TWO);
        assert_eq!(text, "No function matched regex 'zz', out of functions [a, b]");
        assert!(failure("ApplyPassToFunction(FoldConstant(), \"(a)\")", TWO).starts_with("cannot use the pattern '(a)': `(`"));
    }

    #[test]
    fn a_pass_that_does_not_exist_is_named_before_anything_runs() {
        let calls = parse_calls("ApplyPassToFunction(Nosuch(), \"a\")").expect("calls");
        let error = resolve(passes::ALL, &calls[0]).err().expect("an error");
        assert_eq!(error.message, "there is no pass called `Nosuch`");
    }
}
