//! Programs as JSON: what `tvm.ir.save_json` writes.

use super::text::Text;
use crate::diag::{Diagnostic, Span};
use crate::ir::Store;
use crate::parse::graph::{self, Root};
use crate::parse::relay::section::{Saved, read_saved};
use crate::print::{self, PrintOptions};

/// True if a text looks like saved JSON, of any version.
pub(super) fn is_saved(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"nodes\"")
        && (text.contains("\"root_index\"") || text.contains("\"root\""))
}

/// True if saved JSON is of a TVM that has no Relay.
pub(super) fn is_script(text: &str) -> bool {
    text.contains("\"root_index\"")
}

/// The program of saved JSON as the text that TVM prints of it, so that it is checked like any other.
pub(super) fn unpack(source: &str) -> Result<(Text, Diagnostic), Diagnostic> {
    let whole = Span::new(0, source.len());
    let help = "load it with `tvm.ir.load_json` and paste what `.script()` prints (`astext()` for Relay)";
    let wrong = |message: String| Diagnostic::error("front-saved", message, Span::new(0, source.len().min(1))).with_note(help);
    let (mut store, options) = (Store::new(), PrintOptions::default());
    let program = if is_script(source) {
        graph::read(&mut store, source).and_then(|root| match root {
            Root::Module(module) => Ok(print::module(&store, &module, &options)),
            Root::IndexMap(_) => Err("it is a map of indices, not a program".to_owned()),
        })
    } else {
        read_saved(&mut store, source).map(|saved| match saved {
            Saved::Module(module) => print::module(&store, &module, &options),
            Saved::Expr(expr) => print::expr(&store, expr, &options),
        })
    };
    let program = program.map_err(|message| wrong(format!("the JSON cannot be read: {message}")))?;
    let mut text = Text::default();
    text.put(&program, &Text::whole(source), 0..whole.end as usize);
    let note = Diagnostic::note("front-saved", "the program that `tvm.ir.save_json` wrote is read", Span::new(0, 1));
    Ok((text, note))
}
