//! Reproducers: everything a run depends on, as one document, as readable text and as a link.
//!
//! - [`text`]: the document as an ordinary program file with comment lines at its head.
//! - [`link`]: that text, compressed, for the part of an address behind `#`.

pub mod link;
pub mod text;

use crate::diag::Diagnostic;
use crate::pass::PassContext;

/// The limit of rows, files, settings, names and instruments of a document, each: more is refused. A link of some
/// kilobytes can hold a hundred thousand, and the page draws each.
pub const MOST_ENTRIES: usize = 2_000;

/// A program, a list of passes and the context they run in. Same document, same result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The program.
    pub source: String,
    /// Options of the parser, besides the program's own head. Not written: permanent options are in the program.
    pub reading: crate::parse::Options,
    /// The list of passes.
    pub rows: Vec<DocumentRow>,
    /// Opt level, required and disabled passes, configuration.
    pub context: PassContext,
    /// Instruments that are switched on, by name.
    pub instruments: Vec<String>,
    /// Passes written by the user, in JavaScript. Only the page runs them.
    pub script: String,
    /// The programs that another compiler wrote after each pass; then there is no list to run.
    pub files: Vec<File>,
    /// The document that this one was forked from, as text; empty if there is none. Does not change the result.
    pub parent: String,
    /// The selected view; does not change the result.
    pub view: View,
    /// The result when the document was written.
    pub made: Made,
}

impl Document {
    /// Returns the names and lengths of the lists in a document.
    fn sizes(&self) -> [(&'static str, usize); 6] {
        let PassContext { required, disabled, config, .. } = &self.context;
        [
            ("passes", self.rows.len()),
            ("files", self.files.len()),
            ("instruments", self.instruments.len()),
            ("required passes", required.len()),
            ("disabled passes", disabled.len()),
            ("settings", config.iter().count()),
        ]
    }

    /// Shortens the lists that one line holds; returns their names and the number of removed entries.
    fn shorten(&mut self) -> Vec<(&'static str, usize)> {
        let PassContext { required, disabled, .. } = &mut self.context;
        let mut cut = Vec::new();
        let lists = [("instruments", &mut self.instruments), ("required passes", required), ("disabled passes", disabled)];
        for (what, list) in lists {
            if list.len() > MOST_ENTRIES {
                cut.push((what, list.len() - MOST_ENTRIES));
                list.truncate(MOST_ENTRIES);
            }
        }
        cut
    }

    /// Refuses a document that is longer than [`MOST_ENTRIES`] allows.
    pub fn check_size(&self) -> Result<(), Diagnostic> {
        match self.sizes().into_iter().find(|(_, count)| *count > MOST_ENTRIES) {
            None => Ok(()),
            Some((what, count)) => {
                let message = format!("there are {count} {what}, and at most {MOST_ENTRIES} are run");
                Err(Diagnostic::error("document-large", message, None))
            }
        }
    }
}

/// The engine that ran a document, and its result: another engine with another result can report that. Both may be empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// Version of the engine.
    pub engine: String,
    /// Hash of the result, `Session::result_hash`.
    pub result: String,
}

/// Computes FNV-1a, a hash that is the same everywhere and for ever.
pub fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// A program as it was after a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The file name in the style of `DumpIR`: `003_FuseOps.relay`.
    pub name: String,
    /// The program.
    pub text: String,
}

/// One row of the list of passes.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentRow {
    /// The pass in call notation.
    pub call: String,
    /// A row that is switched off stays in the list and is not run.
    pub enabled: bool,
}

/// The selected view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Id of the selected step, or empty.
    pub step: String,
    /// Name of the selected view, or empty.
    pub view: String,
}
