//! Documents as the page holds them, and as the engine does.

use crate::boundary::Record;
use crate::boundary::documents::{DumpFile, Made, PassItem, RunDocument, Shared, ViewState};
use crate::pass::call::parse_literal;
use crate::pass::{Literal, PassContext};
use crate::repro;

impl From<RunDocument> for repro::Document {
    fn from(document: RunDocument) -> repro::Document {
        let row = |row: PassItem| repro::DocumentRow { call: row.call, enabled: row.enabled };
        let view = |view: ViewState| repro::View { step: view.step, view: view.view };
        let made = |made: Made| repro::Made { engine: made.engine, result: made.result };
        let file = |file: DumpFile| repro::File { name: file.name, text: file.text };
        repro::Document {
            files: document.files.unwrap_or_default().into_iter().map(file).collect(),
            source: document.source,
            reading: crate::parse::Options::default(),
            rows: document.passes.into_iter().map(row).collect(),
            context: PassContext {
                opt_level: document.opt_level,
                required: document.required,
                disabled: document.disabled,
                config: config(document.config).into_iter().collect(),
            },
            instruments: document.instruments,
            script: document.script,
            parent: document.parent.unwrap_or_default(),
            view: document.view.map_or_else(repro::View::default, view),
            made: document.made.map_or_else(repro::Made::default, made),
        }
    }
}

/// Values of the configuration. One that is no literal is kept as a string: the registry then says what it should be.
pub(super) fn config(Record(entries): Record<String>) -> Vec<(String, Literal)> {
    let value = |value: String| parse_literal(&value).unwrap_or(Literal::Str(value));
    entries.into_iter().map(|(key, text)| (key, value(text))).collect()
}

impl From<repro::Document> for Shared {
    fn from(document: repro::Document) -> Shared {
        let context = document.context;
        Shared(RunDocument {
            source: document.source,
            passes: document.rows.into_iter().map(|row| PassItem { call: row.call, enabled: row.enabled }).collect(),
            opt_level: context.opt_level,
            required: context.required,
            disabled: context.disabled,
            config: Record(context.config.iter().map(|(key, value)| (key.clone(), value.to_string())).collect()),
            instruments: document.instruments,
            script: document.script,
            parent: Some(document.parent),
            view: Some(ViewState { step: document.view.step, view: document.view.view }),
            files: Some(document.files.into_iter().map(|file| DumpFile { name: file.name, text: file.text }).collect()),
            made: Some(Made { engine: document.made.engine, result: document.made.result }),
        })
    }
}
