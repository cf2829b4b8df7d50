//! Readers of texts that others wrote, each with texts to begin from.

use passlab::check::{relax, relay, tir};
use passlab::eval::{EvalOptions, eval_function};
use passlab::ir::Store;
use passlab::parse::{Options, parse_with, trace::parse_trace};
use passlab::pass::PassContext;
use passlab::pass::call::{parse_calls, parse_literal};
use passlab::print::Numbering;
use passlab::repro::{Document, DocumentRow, link, text};
use passlab::session::{Place, Session, open, seeded_args};
use passlab::trust::Property;

/// Something that reads.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Folders of the project with texts for it, and their ends.
    texts: &'static [(&'static str, &'static str)],
    /// More of them.
    more: fn() -> Vec<String>,
    /// Reads one.
    pub run: fn(&str),
}

impl Target {
    /// Texts that are whole.
    pub fn corpus(&self) -> Vec<String> {
        let mut found = (self.more)();
        for (folder, end) in self.texts {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            paths.sort();
            let texts = paths
                .iter()
                .filter(|path| path.to_string_lossy().ends_with(end))
                .filter_map(|path| std::fs::read_to_string(path).ok());
            found.extend(texts.filter(|text| text.len() < 6000));
        }
        found
    }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "relay", texts: &[("www/examples", ".relay"), ("tests/filetests", ".relay")], more: made_relay, run: program },
    Target { name: "metadata", texts: &[], more: with_metadata, run: program },
    Target { name: "script", texts: &[("www/examples", ".py"), ("tests/filetests", ".py")], more: made_scripts, run: program },
    Target { name: "reproducer", texts: &[], more: reproducers, run: reproducer },
    Target { name: "link", texts: &[], more: links, run: decode },
    Target { name: "calls", texts: &[], more: calls, run: notation },
    Target { name: "trace", texts: &[], more: traces, run: |text| drop(parse_trace(text)) },
    Target { name: "boundary", texts: &[("www/examples", ".relay"), ("www/examples", ".py")], more: reproducers, run: boundary },
];

fn made_relay() -> Vec<String> {
    (0..6).map(|seed| relay::program(seed, relay::Shape::default())).collect()
}

fn made_scripts() -> Vec<String> {
    (0..4).flat_map(|seed| [relax::program(seed, false), tir::program(seed)]).collect()
}

fn with_metadata() -> Vec<String> {
    // A constant of four floats; the data is base64 of a DLTensor as TVM writes it.
    let program =
        "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 3), float32]) {\n  add(%x, ones(shape=[2, 3], dtype=\"float32\"))\n}\n";
    let mut session = Session::new(|| 0.0);
    let rows = vec![DocumentRow { call: "FoldConstant()".into(), enabled: true }];
    session.run(&Document { source: program.into(), rows, ..Document::default() }, false);
    let last = session.trace().versions.len() - 1;
    session.text(last, Numbering::Exact).into_iter().collect()
}

fn reproducers() -> Vec<String> {
    let head = "// passlab 1\n// pass: FoldConstant()\n// pass: off FuseOps(fuse_opt_level=2)\n// opt_level: 3\n// required: FastMath\n\
                // config: relay.FuseOps.max_depth=4\n// instrument: VerifyEach\n";
    let mut all = vec![format!("{head}{}", made_relay()[0]), format!("{}{}", head.replace("//", "#"), made_scripts()[0])];
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

fn calls() -> Vec<String> {
    [
        "FoldConstant(), FuseOps(fuse_opt_level=2)",
        "ConvertLayout(desired_layouts={\"nn.conv2d\": [\"NHWC\", \"default\"]})",
        "Sequential([FoldConstant(), Sequential([FuseOps()], opt_level=-1)], opt_level=2)",
        "s_tir.ThreadSync(\"shared\"), tirx.BindTarget({\"kind\": \"llvm\"}), Schedule(trace=\"b = sch.get_sblock(name='B')\")",
        "count:nn.conv2d>=2",
        "-1.5e300",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn traces() -> Vec<String> {
    vec![
        "b0 = sch.get_sblock(name=\"B\", func_name=\"main\")\nl1, l2 = sch.get_loops(block=b0)\nl3, l4 = sch.split(loop=l1, factors=[None, 4], \
         preserve_unit_iters=True)\nsch.vectorize(loop=l4)\nsch.annotate(block_or_loop=b0, ann_key=\"k\", ann_val=[1, \"x\"])\n"
            .to_owned(),
    ]
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
    let (module, _) = opened.into_module(store);
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
    for step in 0..=session.trace().steps.len() {
        let _ = session.rewrites(step);
        let _ = session.partial(step, 1);
    }
    let _ = session.result_hash();
    let _ = session.dump();
    let _ = session.compare(0, source);
}
