//! Questions of the page: the other side of `www/engine/protocol.ts`.
//!
//! Requests are read field by field. Derived code for a value that says by one of its fields what it is keeps
//! room for everything that might come, which was 15 KB of what the page loads.

use crate::ir::Id;
use crate::pass::call::parse_literal;
use crate::pass::{Literal, PassContext};
use crate::repro::{Document, DocumentRow, File, Made, View};
use crate::session::Place;
use js_sys::{Array, Error, Object, Reflect};
use serde::Serialize;
use wasm_bindgen::{JsCast, JsValue};

/// A request, told by its `type`. What `eval`, `nest`, `measure` and the checks ask is read where it is answered, in the second
/// half of the engine.
pub(super) enum Request {
    Catalogue,
    Run { document: Document },
    Beside { document: Document },
    Text { version: usize, stable: bool },
    Diff { before: usize, after: usize },
    History { version: usize, place: Place, shown: Vec<usize> },
    Graph { before: usize, after: usize },
    Rewrites { step: usize },
    Partial { step: usize, fuel: u32 },
    Preview { version: usize, call: String },
    Operators { before: usize, after: usize },
    Eval(JsValue),
    Nest(JsValue),
    Measure(JsValue),
    Trust(JsValue),
    Dump,
    Hash,
    Compare { version: usize, source: String },
    Write { document: Document },
    Read { text: String },
    Recognise { text: String },
    Encode { document: Document },
    Decode { link: String },
}

impl Request {
    /// Reads a request. The error is what to throw: the request is not in the protocol.
    pub(super) fn read(request: JsValue) -> Result<Request, JsValue> {
        let fields = Fields(request);
        let document = || document(&Fields(fields.get("document")));
        Ok(match fields.text("type")?.as_str() {
            "catalogue" => Request::Catalogue,
            "run" => Request::Run { document: document()? },
            "beside" => Request::Beside { document: document()? },
            "text" => Request::Text { version: fields.index("version")?, stable: fields.flag("stable")? },
            "diff" => Request::Diff { before: fields.index("before")?, after: fields.index("after")? },
            "graph" => Request::Graph { before: fields.index("before")?, after: fields.index("after")? },
            "rewrites" => Request::Rewrites { step: fields.index("step")? },
            "partial" => Request::Partial { step: fields.index("step")?, fuel: fields.index("fuel")? as u32 },
            "preview" => Request::Preview { version: fields.index("version")?, call: fields.text("call")? },
            "operators" => Request::Operators { before: fields.index("before")?, after: fields.index("after")? },
            "history" => {
                let shown =
                    fields.list("shown")?.into_iter().filter_map(|version| version.as_f64()).map(|version| version as usize);
                Request::History {
                    version: fields.index("version")?,
                    place: place(&Fields(fields.get("place")))?,
                    shown: shown.collect(),
                }
            }
            "eval" => Request::Eval(fields.0),
            "nest" => Request::Nest(fields.0),
            "measure" => Request::Measure(fields.0),
            "check" | "bisect" | "reduce" => Request::Trust(fields.0),
            "dump" => Request::Dump,
            "hash" => Request::Hash,
            "compare" => Request::Compare { version: fields.index("version")?, source: fields.text("source")? },
            "write" => Request::Write { document: document()? },
            "read" => Request::Read { text: fields.text("text")? },
            "recognise" => Request::Recognise { text: fields.text("text")? },
            "encode" => Request::Encode { document: document()? },
            "decode" => Request::Decode { link: fields.text("link")? },
            _ => return Err(wrong("type")),
        })
    }
}

/// An expression as the page points at it: by `node`, by `offset` (in UTF-16 units) or by `line` and `word`.
fn place(fields: &Fields) -> Result<Place, JsValue> {
    let is_there = |name: &str| fields.get(name).as_f64().is_some();
    Ok(if is_there("node") {
        Place::Node(Id::from_index(fields.index("node")?))
    } else if is_there("offset") {
        Place::Source(fields.index("offset")? as u32)
    } else {
        Place::Line { line: fields.index("line")?, word: fields.text("word")?, stable: fields.flag("stable")? }
    })
}

fn document(fields: &Fields) -> Result<Document, JsValue> {
    let row = |row: JsValue| {
        let row = Fields(row);
        Ok(DocumentRow { call: row.text("call")?, enabled: row.flag("enabled")? })
    };
    let view = fields.get("view");
    let view = if view.is_undefined() {
        View::default()
    } else {
        let view = Fields(view);
        View { step: view.text("step")?, view: view.text("view")? }
    };
    let made = fields.get("made");
    let made = if made.is_undefined() {
        Made::default()
    } else {
        let made = Fields(made);
        Made { engine: made.text("engine")?, result: made.text("result")? }
    };
    let files = fields.get("files");
    let files = if files.is_undefined() { Vec::new() } else { fields.list("files")? };
    let file = |file: JsValue| {
        let file = Fields(file);
        Ok(File { name: file.text("name")?, text: file.text("text")? })
    };
    Ok(Document {
        files: files.into_iter().map(file).collect::<Result<_, JsValue>>()?,
        source: fields.text("source")?,
        reading: crate::parse::Options::default(),
        rows: fields.list("passes")?.into_iter().map(row).collect::<Result<_, JsValue>>()?,
        context: PassContext {
            opt_level: fields.number("optLevel")? as i64,
            required: fields.texts("required")?,
            disabled: fields.texts("disabled")?,
            config: config(fields)?.into_iter().collect(),
        },
        instruments: fields.texts("instruments")?,
        script: fields.get("script").as_string().unwrap_or_default(),
        parent: fields.get("parent").as_string().unwrap_or_default(),
        view,
        made,
    })
}

pub(super) fn config(fields: &Fields) -> Result<Vec<(String, Literal)>, JsValue> {
    let config = fields.get("config").dyn_into::<Object>().map_err(|_| wrong("config"))?;
    let entry = |entry: JsValue| {
        let entry = Array::from(&entry);
        let (Some(key), Some(value)) = (entry.get(0).as_string(), entry.get(1).as_string()) else { return Err(wrong("config")) };
        // A value that is no literal is kept as a string: the registry then says what it should be.
        Ok((key, parse_literal(&value).unwrap_or(Literal::Str(value))))
    };
    Object::entries(&config).iter().map(entry).collect()
}

/// An object of which fields are read; the error names the field that is not as the protocol says.
pub(super) struct Fields(pub(super) JsValue);

impl Fields {
    pub(super) fn get(&self, name: &str) -> JsValue {
        Reflect::get(&self.0, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
    }

    pub(super) fn text(&self, name: &str) -> Result<String, JsValue> {
        self.get(name).as_string().ok_or_else(|| wrong(name))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, JsValue> {
        self.get(name).as_bool().ok_or_else(|| wrong(name))
    }

    /// A whole number.
    pub(super) fn number(&self, name: &str) -> Result<f64, JsValue> {
        self.get(name).as_f64().filter(|x| x.trunc() == *x).ok_or_else(|| wrong(name))
    }

    pub(super) fn index(&self, name: &str) -> Result<usize, JsValue> {
        let number = self.number(name)?;
        if (0.0..=f64::from(u32::MAX)).contains(&number) { Ok(number as usize) } else { Err(wrong(name)) }
    }

    pub(super) fn list(&self, name: &str) -> Result<Vec<JsValue>, JsValue> {
        Ok(self.get(name).dyn_into::<Array>().map_err(|_| wrong(name))?.to_vec())
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, JsValue> {
        self.list(name)?.into_iter().map(|text| text.as_string().ok_or_else(|| wrong(name))).collect()
    }
}

fn wrong(field: &str) -> JsValue {
    Error::new(&format!("what JavaScript says is not in the protocol: `{field}`")).into()
}

/// One row of the list of passes.
#[derive(Serialize)]
struct PassItem {
    call: String,
    enabled: bool,
}

/// A document as the page holds it (`SharedDocument`).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentView {
    source: String,
    passes: Vec<PassItem>,
    opt_level: i64,
    required: Vec<String>,
    disabled: Vec<String>,
    #[serde(serialize_with = "as_object")]
    config: Vec<(String, String)>,
    instruments: Vec<String>,
    script: String,
    parent: String,
    view: ViewState,
    made: MadeView,
    files: Vec<FileView>,
}

/// A program as it was after a pass.
#[derive(Serialize)]
struct FileView {
    name: String,
    text: String,
}

/// The engine that ran it, and its result.
#[derive(Serialize)]
struct MadeView {
    engine: String,
    result: String,
}

/// The versions that are looked at.
#[derive(Serialize)]
struct ViewState {
    step: String,
    view: String,
}

fn as_object<S: serde::Serializer>(entries: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(key, value)| (key, value)))
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
            config: context.config.iter().map(|(key, value)| (key.clone(), value.to_string())).collect(),
            instruments: document.instruments,
            script: document.script,
            parent: document.parent,
            view: ViewState { step: document.view.step, view: document.view.view },
            files: document.files.into_iter().map(|file| FileView { name: file.name, text: file.text }).collect(),
            made: MadeView { engine: document.made.engine, result: document.made.result },
        }
    }
}
