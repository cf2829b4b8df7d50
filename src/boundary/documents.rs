//! A program with its list of passes, as the page keeps it.

use super::{NAME, Record, Shape, message};

message! { both
    /// One row of the pass list: a call in TVM's Python notation, e.g. `FuseOps(fuse_opt_level=2)`.
    PassItem {
        call: String => [NAME],
        /// An unticked row stays in the list and is not run.
        enabled: bool,
    }
}

message! { both
    /// A file that the `DumpIR` instrument wrote, here or in TVM. Its name may say how long the pass took:
    /// `003_FuseOps@1.5ms.relay`.
    DumpFile {
        name: String => [NAME],
        text: String,
    }
}

message! { both
    /// State that a link carries besides the run itself.
    ViewState {
        /// Step id, or empty.
        step: String,
        /// Name of the view tab: `diff`, `before`, `after`.
        view: String,
    }
}

message! { both
    /// The engine that ran a document and the result's hash, for comparison by another engine. Both may be empty.
    Made {
        /// `Catalogue.version`.
        engine: String,
        /// The answer to `hash`.
        result: String,
    }
}

message! { both
    /// Everything that a run depends on. Same document, same result.
    RunDocument {
        source: String,
        passes: Vec<PassItem>,
        opt_level: i64,
        required: Vec<String> => [super::SOME, NAME],
        disabled: Vec<String> => [super::SOME, NAME],
        /// PassContext configuration, key to Python literal, e.g. `relay.FuseOps.max_depth` to `10`.
        config: Record<String> => [super::SOME, NAME],
        /// Instruments that are switched on, as calls: `VerifyEach`, `PassPrintingInstrument([], ["FuseOps"])`.
        instruments: Vec<String> => [super::SOME, NAME],
        /// The source of *My passes*, in JavaScript or Python; empty for none. It runs in the sandbox only.
        script: String,
        /// The program that it was forked from, as the text of a reproducer; empty or absent for none.
        [optional] parent: Option<String>,
        /// The outputs of another compiler for the program, one file per pass. They are the versions, and no pass runs.
        [optional] files: Option<Vec<DumpFile>>,
        /// The part of the run that is looked at.
        [optional] view: Option<ViewState>,
        /// Absent: nothing ran.
        [optional] made: Option<Made>,
    }
}

/// A document of which something is looked at: `view` is there.
#[cfg_attr(feature = "page", derive(serde::Serialize), serde(transparent))]
pub struct Shared(pub RunDocument);

impl super::Crosses for Shared {
    fn shape() -> Shape {
        Shape::Shared
    }
}

message! { answer
    /// A document that was read, or why it was not.
    DecodeResult {
        /// Null when nothing could be recovered.
        document: Option<Shared>,
        /// Named error, empty when the link is whole: `link-version`, `link-damaged`, `link-truncated`, `link-too-large`.
        error: &'static str,
        message: String,
    }
}
