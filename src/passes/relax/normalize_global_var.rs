//! NormalizeGlobalVar: names public functions in the module by their linked names.
//!
//! Source: `src/relax/transform/normalize.cc` (`GlobalVarNormalizer`).

use super::support::{global_symbol, renamed};
use crate::ir::{Id, Module, Name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashSet;

/// TVM's `relax.transform.NormalizeGlobalVar`.
pub static SPEC: PassSpec = PassSpec {
    name: "NormalizeGlobalVar",
    info_name: "NormalizeGlobalVar",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Renames functions so that public ones have the name of their global_symbol.",
    doc: explained(
        "A module may hold a public function under another name than the one it is linked under, as after a pass that \
made new names. The pass gives it that name; a private function that has the name already takes another one. Calls \
follow. A module whose names are in order stays as it is.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def f1() -> R.Tensor((), dtype=\"int32\"):
        R.func_attr({\"global_symbol\": \"f\"})
        return R.const(1, \"int32\")
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def f() -> R.Tensor((), dtype=\"int32\"):
        return R.const(1, \"int32\")
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let symbols: Vec<Option<String>> = module.functions().iter().map(|(_, function)| global_symbol(store, *function)).collect();
    let in_order = module.functions().iter().zip(&symbols).all(|((name, _), symbol)| match symbol {
        Some(symbol) => store.str(*name) == symbol,
        None => true,
    });
    if in_order {
        return Ok(module.clone());
    }
    let mut taken: FxHashSet<String> = symbols.iter().flatten().cloned().collect();
    let mut names: Vec<(Id<Name>, Id<Name>)> = Vec::new();
    for ((name, _), symbol) in module.functions().iter().zip(symbols) {
        let new = match symbol {
            Some(symbol) => symbol,
            None => {
                // The smallest number that makes the name free, as TVM's name supply counts.
                let base = store.str(*name).to_owned();
                let mut free = base.clone();
                let mut number = 0;
                while !taken.insert(free.clone()) {
                    number += 1;
                    free = format!("{base}{number}");
                }
                free
            }
        };
        let new = store.name(&new);
        if new != *name {
            names.push((*name, new));
        }
    }
    Ok(renamed(store, module, &names))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    /// The case is one of TVM's own (test of its normalisation): names are exchanged, and calls follow.
    #[test]
    fn a_private_function_makes_way_for_a_public_one() {
        let text = "@I.ir_module\nclass Module:\n    @R.function(private=True)\n    def f() -> R.Tensor((), dtype=\"int32\"):\n        \
                    return R.const(1, \"int32\")\n\n    @R.function\n    def f1() -> R.Tensor((), dtype=\"int32\"):\n        \
                    R.func_attr({\"global_symbol\": \"f\"})\n        cls = Module\n        gv: R.Tensor((), dtype=\"int32\") = cls.f()\n        \
                    return gv\n";
        let made = after(text, "NormalizeGlobalVar()");
        assert!(made.contains("gv: R.Tensor((), dtype=\"int32\") = cls.f1()"), "{made}");
        assert!(!made.contains("global_symbol"), "{made}");
    }
}
