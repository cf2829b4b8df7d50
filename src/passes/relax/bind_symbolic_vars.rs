//! BindSymbolicVars: replaces symbolic extents by known ones.
//!
//! Source: `src/relax/transform/bind_symbolic_vars.cc`.

use super::support::{find_function, type_error};
use crate::build::{bind, defined_symbols};
use crate::infer::relax::types::Bindings;
use crate::ir::{Dim, Expr, ExprId, Id, Module, Store, Symbol};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.BindSymbolicVars`.
pub static SPEC: PassSpec = PassSpec {
    name: "BindSymbolicVars",
    info_name: "relax.BindSymbolicVars",
    dialects: crate::pass::spec::RELAX,
    opt_level: 1,
    required: &[],
    params: &[
        Param { name: "binding_map", default: "{}", doc: "Extents by the names of symbolic variables." },
        Param { name: "func_name", default: "None", doc: "The function whose variables are bound; all when it is None." },
    ],
    config: &[],
    summary: "Replaces symbolic variables by known extents.",
    doc: explained(
        "Every symbolic variable of that name becomes the number, in types and in shapes. With a function named, each name \
has to be one of its variables; without one, of some function.",
    ),
    example_before: explained(
        "\
# BindSymbolicVars(binding_map={\"n\": 4})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((\"n\",), dtype=\"float32\")) -> R.Tensor((\"n\",), dtype=\"float32\"):
        n = T.int64()
        y: R.Tensor((n,), dtype=\"float32\") = R.exp(x)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype=\"float32\")) -> R.Tensor((4,), dtype=\"float32\"):
        y: R.Tensor((4,), dtype=\"float32\") = R.exp(x)
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let mut wanted: Vec<(&str, i64)> = Vec::new();
    if let Literal::Dict(map) = args.get("binding_map") {
        for (key, value) in map {
            let (Literal::Str(key), Literal::Int(value)) = (key, value) else {
                return Err(type_error("a symbolic variable is bound by its name, to an integer"));
            };
            wanted.push((key, *value));
        }
    }
    let mut functions: Vec<_> =
        module.functions().iter().copied().filter(|(_, id)| matches!(store.expr(*id), Expr::Function(_))).collect();
    if let Some(name) = args.str("func_name") {
        let Some(found) = find_function(store, module, name) else {
            return Err(type_error(format!("the module has no function `{name}`")));
        };
        functions = vec![found];
    }
    let mut result = module.clone();
    let mut used = vec![false; wanted.len()];
    for (name, function) in functions {
        let symbols = symbols_of(store, function, &wanted, &mut used)?;
        if !symbols.is_empty() {
            let new = bind(store, module, function, &[], symbols)?;
            result.set_function(name, new);
        }
    }
    match used.iter().position(|used| !used) {
        Some(unused) => {
            Err(type_error(format!("Binding map contains the key \"{}\", which is no symbolic variable", wanted[unused].0)))
        }
        None => Ok(result),
    }
}

fn symbols_of(store: &Store, function: ExprId, wanted: &[(&str, i64)], used: &mut [bool]) -> Result<Bindings, PassError> {
    let defined = defined_symbols(store, function);
    let mut symbols = Bindings::default();
    for ((name, value), used) in wanted.iter().zip(used) {
        let named: Vec<Id<Symbol>> =
            defined.iter().copied().filter(|symbol| store.str(store.symbol(*symbol).name) == *name).collect();
        match named[..] {
            [] => {}
            [symbol] => {
                *used = true;
                symbols.insert(symbol, Dim::Int { value: *value, bits: store.symbol(symbol).dtype.bits });
            }
            _ => return Err(type_error(format!("Function contains multiple symbolic variables with name \"{name}\""))),
        }
    }
    Ok(symbols)
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_symbol_becomes_the_number_in_types_and_shapes() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\", 2), dtype=\"float32\")) -> \
                    R.Tensor((\"n * 2\",), dtype=\"float32\"):\n        n = T.int64()\n        \
                    y: R.Tensor((n * 2,), dtype=\"float32\") = R.reshape(x, R.shape([n * 2]))\n        return y\n";
        let made = after(text, "BindSymbolicVars(binding_map={\"n\": 3})");
        assert!(
            made.contains("def main(x: R.Tensor((3, 2), dtype=\"float32\")) -> R.Tensor((6,), dtype=\"float32\"):"),
            "{made}"
        );
        assert!(made.contains("R.reshape(x, R.shape([6]))"), "{made}");
    }
}
