//! The boundary to JavaScript: the only place that names wasm-bindgen and serde.
//!
//! One class, [`Session`], with one method for the page: a request of [`boundary`](crate::boundary) in, its answer out. Beside
//! it stands what scripts of the user reach while they run, in `user`.

mod documents;
mod nest;
mod trust;
mod user;
mod values;
mod view;

pub use user::*;

use crate::boundary::Word;
use crate::boundary::documents::DecodeResult;
use crate::boundary::messages::{Comparison, PreviewWord};
use crate::boundary::requests::{Place as Pointed, Request};
use crate::diag::LineIndex;
use crate::diff::Diff;
use crate::ir::Id;
use crate::print::Numbering;
use crate::repro::{Document, link, text};
use crate::session::{self, Place};
use js_sys::Uint32Array;
use serde::Serialize;
use view::Problems;
use wasm_bindgen::prelude::*;

// The code that only programs of Relax need stands in a file of its own (`xtask/src/split.rs`). The worker fetches it when
// one of its functions is first called, and before that when it has nothing to do.
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = loadSecond)]
    fn load_second_half();
}

/// Sees to it that the second half of the engine is there. Throws when it cannot be had.
#[wasm_bindgen]
pub fn load_second() {
    load_second_half();
}

thread_local! {
    /// Looked up once: a run asks for the time twice for each of its passes.
    static PERFORMANCE: Option<web_sys::Performance> = {
        let performance = js_sys::Reflect::get(&js_sys::global(), &JsValue::from_str("performance"));
        performance.ok().and_then(|p| p.dyn_into().ok())
    };
}

/// Microseconds since the worker started.
fn clock() -> f64 {
    PERFORMANCE.with(|performance| performance.as_ref().map_or_else(js_sys::Date::now, |p| p.now())) * 1000.0
}

/// A session of the engine, for one page.
#[wasm_bindgen]
pub struct Session {
    inner: session::Session,
    /// The program of the newest run, to which places refer.
    source: String,
    /// A script is being loaded.
    loading: bool,
    /// Findings of the last run.
    found: trust::Found,
}

fn lost() -> JsValue {
    JsValue::from("the session is out of reach")
}

#[wasm_bindgen]
impl Session {
    /// Opens a session with the empty program.
    #[wasm_bindgen(constructor)]
    #[allow(clippy::new_without_default, reason = "JavaScript knows constructors only")]
    pub fn new() -> Session {
        console_error_panic_hook::set_once();
        Session { inner: session::Session::new(clock), source: String::new(), loading: false, found: trust::Found::default() }
    }

    /// Opens a program to be run next and lends its memory, so that its script can be loaded: from here on to
    /// [`Session::script_loaded`] the functions `user_*` reach it, and requests are refused.
    pub fn begin_script(&mut self, source: &str) {
        if !self.loading {
            user::lend_for_loading(self.inner.lend(source), source, clock);
            self.loading = true;
        }
    }

    /// Takes the memory back, and the passes and instruments that the script made.
    pub fn script_loaded(&mut self, passes: JsValue, instruments: JsValue) -> Result<(), JsValue> {
        if !std::mem::take(&mut self.loading) {
            return Err(JsValue::from("no script is being loaded"));
        }
        self.inner.take_back(user::loaded().ok_or_else(lost)?);
        self.inner.set_user(user::registered(passes, instruments)?);
        Ok(())
    }

    /// Answers a request. Throws only on a bug: a request that is not in the protocol.
    pub fn handle(&mut self, request: JsValue) -> Result<JsValue, JsValue> {
        if user::is_lost() || self.loading {
            return Err(lost());
        }
        match Request::read(request)? {
            Request::Catalogue => answer(&view::catalogue()),
            Request::Run { document } => self.run(document.into()),
            Request::Beside { document } => answer(&view::beside(&mut self.inner, &document.into())),
            Request::Text { version, stable } => {
                let numbering = if stable { Numbering::Stable(self.inner.naming(version)) } else { Numbering::Exact };
                answer(&self.inner.text(version, numbering).unwrap_or_default())
            }
            Request::Diff { before, after } => diff_answer(&self.inner.diff(before, after).unwrap_or_default()),
            Request::Names { version, line } => {
                answer(&view::names(self.inner.names_in(version, line, true).unwrap_or_default()))
            }
            Request::History { version, place, shown } => {
                let found = self.inner.history(version, &self.place(place));
                answer(&found.map(|found| view::history(&self.inner, &found, &shown)))
            }
            Request::Graph { before, after } => answer(&view::graph(&self.inner.graph(before, after).unwrap_or_default())),
            Request::Rewrites { step } => answer(&view::rewrites(&self.inner.rewrites(step))),
            Request::Partial { step, fuel } => match self.inner.partial(step, fuel) {
                Ok(diff) => diff_answer(&diff),
                Err(_) => Ok(JsValue::NULL),
            },
            Request::Preview { version, call } => answer(&Word(match self.inner.preview(version, &call) {
                Ok(preview) if preview.changed => PreviewWord::Changed,
                Ok(_) => PreviewWord::Unchanged,
                Err(_) => PreviewWord::Failed,
            })),
            Request::Operators { before, after } => answer(&self.inner.operators(before, after)),
            Request::Eval(question) => answer(&values::values(&mut self.inner, question.read()?)),
            Request::Nest(question) => nest::nest(&mut self.inner, &question.read()?),
            Request::Measure(question) => nest::measure(&mut self.inner, &question.read()?),
            Request::Check { step } => answer(&trust::checked(&mut self.inner, &mut self.found, step)),
            Request::Bisect { property } => answer(&trust::blamed(&mut self.inner, &mut self.found, &property)),
            Request::Reduce { property, tries } => answer(&trust::reduced(&mut self.inner, &mut self.found, &property, tries)),
            Request::Dump => answer(&view::dump(&self.inner)),
            Request::Hash => answer(&self.inner.result_hash()),
            Request::Compare { version, source } => {
                let found = self.inner.compare(version, &source);
                let problems = Problems::new(&source).all(&found.problems);
                answer(&Comparison { problems, difference: found.difference, same_values: found.same_values })
            }
            Request::Write { document } => answer(&text::write(&document.into())),
            Request::Read { text } => answer(&match text::read(&text) {
                Ok(read) => read.into(),
                Err(error) => DecodeResult { document: None, error: error.code, message: error.message },
            }),
            Request::Recognise { text } => answer(&view::recognised(&text)),
            Request::Encode { document } => answer(&link::encode(&document.into())),
            Request::Decode { link } => answer(&match link::decode(&link) {
                Ok(read) => read.into(),
                Err(error) => {
                    DecodeResult { document: error.recovered.map(Into::into), error: error.code, message: error.message }
                }
            }),
        }
    }
}

impl Session {
    /// The expression that the page points at.
    fn place(&self, place: Pointed) -> Place {
        match place {
            Pointed::Line { line, word, stable } => Place::Line { line, word, stable },
            Pointed::Node(node) => Place::Node(Id::from_index(node)),
            Pointed::Offset(offset) => {
                let source = self.inner.source();
                Place::Source(LineIndex::new(source).byte_of_utf16(source, offset as u32))
            }
        }
    }

    fn run(&mut self, document: Document) -> Result<JsValue, JsValue> {
        let start = clock();
        self.found = trust::Found::default();
        self.inner.run(&document, false);
        if user::is_lost() {
            return Err(lost());
        }
        self.source = document.source;
        large_answer(&view::run(&self.inner, &self.source, (clock() - start) / 1000.0))
    }
}

fn answer(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible();
    Ok(value.serialize(&serializer)?)
}

/// A diff crosses the boundary as its two texts and the numbers of its rows, and so it goes on to the page: a copy of
/// three blocks of memory, whatever the number of lines.
fn diff_answer(diff: &Diff) -> Result<JsValue, JsValue> {
    let value = answer(&view::diff(diff))?;
    let rows = Uint32Array::from(&view::diff_rows(diff)[..]);
    js_sys::Reflect::set(&value, &JsValue::from("rows"), &rows)?;
    Ok(value)
}

/// A value with thousands of fields crosses the boundary once, as JSON, and not field by field.
fn large_answer(value: &impl Serialize) -> Result<JsValue, JsValue> {
    let text = serde_json::to_string(value).map_err(|error| JsValue::from(error.to_string()))?;
    js_sys::JSON::parse(&text)
}
