//! Readers of texts that others wrote, each with texts to begin from.

use passlab::check::step::Budget;
use passlab::check::{relax, relay, tir};
use passlab::diag::Severity;
use passlab::eval::{CacheShape, EvalOptions, eval_function};
use passlab::ir::Store;
use passlab::parse::{Options, parse_with, trace::parse_trace};
use passlab::pass::PassContext;
use passlab::pass::call::{parse_calls, parse_literal};
use passlab::print::Numbering;
use passlab::repro::{Document, DocumentRow, link, text};
use passlab::session::{Place, Session, open, seeded_args};
use passlab::trust::{Property, Reducer, Trust, bisect};

/// Something that reads.
pub struct Target {
    /// Its name, that of its folder in `fuzz/corpus`, and that of its program in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Folders of the project with more texts for it, and what those contain.
    texts: &'static [(&'static str, &'static str)],
    /// Made-up ones.
    more: fn() -> Vec<String>,
    /// Reads one.
    pub run: fn(&str),
}

/// Reads bytes as the target of a name. What is no UTF-8 does not reach the engine: its texts are strings.
#[allow(dead_code, reason = "tests go through the list")]
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    if let Ok(text) = std::str::from_utf8(data) {
        (target.run)(text);
    }
}

#[allow(dead_code, reason = "the fuzzer has the folder itself")]
impl Target {
    /// Texts that are whole: those of its folder, those of the project, made-up ones.
    pub fn corpus(&self) -> Vec<String> {
        let own = format!("fuzz/corpus/{}", self.name);
        let mut found = Vec::new();
        for (folder, has) in [(own.as_str(), "")].iter().chain(self.texts) {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            paths.sort();
            let texts = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
            found.extend(texts.filter(|text| text.len() < 6000 && text.contains(has)));
        }
        found.extend((self.more)());
        found
    }
}

const RELAY: &str = "#[version";
const RELAX: &str = "R.function";
const TIR: &str = "T.prim_func";

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "relay", texts: &[("www/examples", RELAY), ("tests/filetests", RELAY)], more: made_relay, run: program },
    Target { name: "relax", texts: &[("www/examples", RELAX), ("tests/filetests", RELAX)], more: made_relax, run: program },
    Target { name: "tir", texts: &[("www/examples", TIR), ("tests/filetests", TIR)], more: made_tir, run: program },
    Target { name: "metadata", texts: &[], more: Vec::new, run: program },
    Target { name: "reproducer", texts: &[], more: reproducers, run: reproducer },
    Target { name: "link", texts: &[], more: links, run: decode },
    Target { name: "calls", texts: &[], more: Vec::new, run: notation },
    Target { name: "trace", texts: &[], more: Vec::new, run: trace },
    Target { name: "boundary", texts: &[("www/examples", "")], more: reproducers, run: boundary },
];

fn made_relay() -> Vec<String> {
    (0..6).map(|seed| relay::program(seed, relay::Shape::default())).collect()
}

fn made_relax() -> Vec<String> {
    (0..4).map(|seed| relax::program(seed, false)).collect()
}

fn made_tir() -> Vec<String> {
    (0..4).map(tir::program).collect()
}

fn reproducers() -> Vec<String> {
    let head = "// passlab 1\n// pass: FoldConstant()\n// pass: off FuseOps(fuse_opt_level=2)\n// opt_level: 3\n// required: FastMath\n\
                // config: relay.FuseOps.max_depth=4\n// instrument: VerifyEach\n";
    let mut all = vec![format!("{head}{}", made_relay()[0]), format!("{}{}", head.replace("//", "#"), made_relax()[0])];
    let document = Document {
        source: made_relay()[1].clone(),
        rows: vec![DocumentRow { call: "Sequential([FoldConstant(), FuseOps()], opt_level=2)".into(), enabled: true }],
        context: PassContext { opt_level: 4, ..PassContext::default() },
        script: "pass('Mine', m => m)\n".into(),
        ..Document::default()
    };
    all.push(text::write(&document));
    all
}

fn links() -> Vec<String> {
    let documents = reproducers().into_iter().filter_map(|source| text::read(&source).ok());
    documents.map(|(document, _)| link::encode(&document)).collect()
}

/// Reads a program, prints it, reads that; verifies and runs it.
fn program(source: &str) {
    let store = &mut Store::new();
    let _ = parse_with(store, source, &Options::default());
    let store = &mut Store::new();
    let opened = open(store, source);
    if !opened.is_ok() {
        return;
    }
    let (module, found) = opened.into_module(store);
    if found.iter().any(|found| found.severity == Severity::Error) {
        return;
    }
    let printed = passlab::print::module(store, &module, &passlab::print::PrintOptions::default());
    let _ = open(store, &printed);
    let _ = passlab::verify::verify(store, &module);
    if let Ok(args) = seeded_args(store, &module, "main", 1) {
        let options = EvalOptions { fuel: 20_000, work: 1_000_000 };
        let _ = eval_function(store, &module, "main", &args, options);
    }
}

fn reproducer(source: &str) {
    if let Ok((document, _)) = text::read(source) {
        let again = text::write(&document);
        let read = text::read(&again).expect("what is written is read");
        assert_eq!(text::write(&read.0), again, "a reproducer is written the same when it is read back");
    }
}

fn decode(text: &str) {
    match link::decode(text) {
        Ok((document, _)) => assert!(link::decode(&link::encode(&document)).is_ok(), "a link is read back"),
        Err(error) => assert!(!error.message.is_empty()),
    }
}

/// Reads the trace of a schedule, and applies it to a program.
fn trace(text: &str) {
    if parse_trace(text).is_ok() {
        let mut session = Session::new(|| 0.0);
        session.run(&Document { source: tir::program(1), ..Document::default() }, false);
        let _ = session.nest(0, "main", text, usize::MAX, &[text.to_owned()]);
    }
}

fn notation(text: &str) {
    let _ = parse_literal(text);
    let _ = Property::parse(text);
    if let Ok(calls) = parse_calls(text) {
        for call in &calls {
            let again = parse_calls(&call.to_string()).expect("a call is read as it is written");
            assert_eq!(again[0].to_string(), call.to_string());
        }
    }
}

/// Asks of a session what the page asks, for a document from anywhere.
fn boundary(source: &str) {
    let Ok((mut document, _)) = text::read(source) else { return };
    if document.rows.is_empty() {
        document.rows = ["FoldConstant()", "LegalizeOps()"].map(|call| DocumentRow { call: call.into(), enabled: true }).to_vec();
    }
    let mut session = Session::new(|| 0.0);
    session.run(&document, false);
    let last = session.trace().versions.len();
    for version in [0, last - 1, last] {
        let _ = session.text(version, Numbering::Exact);
        let _ = session.diff(0, version);
        let _ = session.graph(0, version);
        for place in [Place::Source(source.len() as u32 / 2), Place::Line { line: 3, word: "%0".into(), stable: true }] {
            let _ = session.history(version, &place);
        }
        let _ = session.preview(version, "FoldConstant()");
        let _ = session.operators(0, version);
    }
    let mut trust = Trust::new(Budget { work: 100_000 });
    for step in 0..=session.trace().steps.len() {
        let _ = session.rewrites(step);
        let _ = session.partial(step, 1);
        let _ = trust.check(&mut session, step);
    }
    for name in ["main", "", "\u{0}"] {
        let _ = session.nest(last - 1, name, &document.script, 3, &[]);
    }
    // It runs the program as it is; the page has a limit of time for that.
    if source.len() < 700 {
        let _ = session.measure(last - 1, 0, "main", 1, CacheShape::default());
    }
    for property in [Property::Check, Property::Verify, Property::Diagnostic(String::new())] {
        let _ = bisect(&mut session, &mut trust, &property);
        if let Some(mut reducer) = Reducer::new(&mut session, &property) {
            let mut left = 3;
            reducer.finish(&mut |_| {
                left -= 1;
                left > 0
            });
        }
    }
    let _ = session.beside(&document);
    let _ = session.result_hash();
    let _ = session.dump();
    let _ = session.compare(0, source);
}
