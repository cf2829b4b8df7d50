//! PrintIR: prints the program at this point into the log.
//!
//! Source: `src/ir/transform.cc` and `src/relay/ir/function.cc` (`relay.ir.PrintIR`).

use crate::ir::Module;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::print::{self, PrintOptions};

/// TVM's `transform.PrintIR`.
pub static SPEC: PassSpec = PassSpec {
    name: "PrintIR",
    info_name: "PrintIR",
    dialects: crate::pass::spec::BOTH,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "header", default: "\"\"", doc: "Stands in front of the program, to tell several apart." },
        Param { name: "show_meta_data", default: "False", doc: "Whether to print the metadata section too." },
    ],
    config: &[],
    summary: "Prints the program into the log and leaves it as it is.",
    doc: explained(
        "Put it between two passes to see what the first one left. `PrintBeforeAll` and `PrintAfterAll` do the same \
around every pass without a change to the list.\n\n\
With `show_meta_data` the text holds everything that the program does; without it, constants that are only in the \
metadata section appear as references such as `meta[relay.Constant][0]`.",
    ),
    example_before: explained("def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {\n  nn.relu(%x)\n}\n"),
    example_after: explained("def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {\n  nn.relu(%x)\n}\n"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let metadata = arguments.bool("show_meta_data");
    let text = print::module(cx.store, module, &PrintOptions { metadata, ..PrintOptions::default() });
    cx.print(format!("PrintIR({}):\n{text}", arguments.str("header").unwrap_or_default()));
    Ok(module.clone())
}

#[cfg(test)]
mod tests {
    use crate::ir::Store;
    use crate::pass::trace::LogKind;
    use crate::passes::relay::testing::{read, run};

    #[test]
    fn the_program_is_printed_into_the_log_and_stays() {
        let store = &mut Store::new();
        let module = read(store, "def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }");
        let trace = run(store, module.clone(), "PrintIR(\"here\")");
        assert_eq!(*trace.last(), module);
        let printed: Vec<&str> =
            trace.log.iter().filter(|e| e.kind == LogKind::Printed && e.step == Some(0)).map(|e| e.text.as_str()).collect();
        let [text] = printed[..] else { panic!("{printed:?}") };
        assert!(text.starts_with("PrintIR(here):\n#[version = \"0.0.5\"]\ndef @main("), "{text}");
    }
}
