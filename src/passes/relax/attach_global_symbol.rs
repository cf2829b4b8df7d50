//! AttachGlobalSymbol: links every function under its name in the module.
//!
//! Source: `src/relax/transform/attach_global_symbol.cc`.

use super::support::{global_symbol, renamed, with_attrs};
use crate::ir::{AttrValue, Expr, Id, Module, Name, PrimFunc};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.AttachGlobalSymbol`.
pub static SPEC: PassSpec = PassSpec {
    name: "AttachGlobalSymbol",
    info_name: "AttachGlobalSymbol",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Gives every function a global_symbol equal to its name in the module.",
    doc: explained(
        "What has a `global_symbol` is public: it can be called from outside and is never removed. The pass sets it on \
every function of Relax and TIR to the name that it has in the module, in place of another one. Functions of TIR get the module \
attribute `system_lib_prefix` in front, and their name in the module changes with it.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        return x
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        return x
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let prefix = store.attr_str(module.attrs(), "system_lib_prefix").unwrap_or_default().to_owned();
    let mut result = module.clone();
    let mut names: Vec<(Id<Name>, Id<Name>)> = Vec::new();
    for &(name, function) in module.functions() {
        let mut wanted = store.str(name).to_owned();
        if matches!(store.expr(function), Expr::PrimFunc(_)) {
            wanted = format!("{prefix}{wanted}");
        }
        let symbol = store.name(&wanted);
        if symbol != name {
            names.push((name, symbol));
        }
        if global_symbol(store, function).as_deref() == Some(wanted.as_str()) {
            continue;
        }
        let value = AttrValue::Str(symbol);
        let new = match store.expr(function) {
            Expr::Function(id) => {
                let old = store.function(id).attrs;
                let attrs = store.with_attr(old, "global_symbol", value);
                with_attrs(store, function, Some(attrs))
            }
            Expr::PrimFunc(id) => {
                let old = store.prim_func(id).clone();
                let attrs = store.with_attr(old.attrs, "global_symbol", value);
                let new = store.add_prim_func(PrimFunc { attrs: Some(attrs), ..old });
                let ty = store.checked_type(function);
                store.rebuild(function, Expr::PrimFunc(new), ty)
            }
            _ => continue,
        };
        result.set_function(name, new);
    }
    Ok(renamed(store, &result, &names))
}
