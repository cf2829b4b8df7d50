//! What the page asks: the other side of `www/engine/protocol.ts`.

use crate::pass::call::parse_literal;
use crate::pass::{Literal, PassContext};
use crate::repro::{Document, DocumentRow, View};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A request, told by its `type`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Request {
    Catalogue,
    Run { document: DocumentView },
    Text { version: usize, stable: bool },
    Diff { before: usize, after: usize },
    Eval { version: usize, func: String, seed: u64 },
    Encode { document: DocumentView },
    Decode { link: String },
}

/// One row of the list of passes.
#[derive(Serialize, Deserialize)]
pub(super) struct PassItem {
    call: String,
    enabled: bool,
}

/// A document as the page holds it (`RunDocument`, and `SharedDocument` with its view).
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentView {
    source: String,
    passes: Vec<PassItem>,
    opt_level: i64,
    required: Vec<String>,
    disabled: Vec<String>,
    config: BTreeMap<String, String>,
    instruments: Vec<String>,
    #[serde(default)]
    script: String,
    #[serde(default)]
    view: ViewState,
}

/// What is looked at.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ViewState {
    step: String,
    view: String,
}

impl From<DocumentView> for Document {
    fn from(view: DocumentView) -> Document {
        // A value that is no literal is kept as a string: the registry then says what it should be.
        let literal = |text: String| parse_literal(&text).unwrap_or(Literal::Str(text));
        Document {
            source: view.source,
            rows: view.passes.into_iter().map(|p| DocumentRow { call: p.call, enabled: p.enabled }).collect(),
            context: PassContext {
                opt_level: view.opt_level,
                required: view.required,
                disabled: view.disabled,
                config: view.config.into_iter().map(|(key, value)| (key, literal(value))).collect(),
            },
            instruments: view.instruments,
            script: view.script,
            view: View { step: view.view.step, view: view.view.view },
        }
    }
}

impl From<Document> for DocumentView {
    fn from(document: Document) -> DocumentView {
        let context = document.context;
        DocumentView {
            source: document.source,
            passes: document.rows.into_iter().map(|row| PassItem { call: row.call, enabled: row.enabled }).collect(),
            opt_level: context.opt_level,
            required: context.required,
            disabled: context.disabled,
            config: context.config.into_iter().map(|(key, value)| (key, value.to_string())).collect(),
            instruments: document.instruments,
            script: document.script,
            view: ViewState { step: document.view.step, view: document.view.view },
        }
    }
}
