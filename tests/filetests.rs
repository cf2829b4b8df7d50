//! Examples in text: a program in, a program or findings out.
//!
//! Each `tests/filetests/NAME.relay`, `relax/NAME.py` and `passes/NAME.py` (passes over tensor programs) is a reproducer
//! (a program with its passes in a head of comment lines, see `src/repro/text.rs`); `NAME.expected` is its outcome: the
//! final program without type comments, or the findings as the command line shows them. `BLESS=1 cargo test --test
//! filetests` rewrites the expectations; read them in the diff. `cargo xtask cross files` compares those of Relax with
//! TVM's results.

use passlab::diag::render;
use passlab::passes::verified::ill_formed;
use passlab::print::{self, PrintOptions};
use passlab::repro::text;
use passlab::session::Session;
use std::path::Path;

/// Files whose result breaks the rules in TVM, too, or is read as another program there.
const ILL_IN_TVM: &[&str] = &[
    // A call that frees a parameter stands in a dataflow block.
    "weights_of_a_dataflow_block_die_after_their_first_use.py",
    // An extent of one iteration is written as it was computed, and simplified when it is read.
    "windows_of_different_sizes_nest_their_blocks.py",
];

fn outcome(name: &str, source: &str) -> String {
    let (document, warnings) = text::read(source).expect("the head can be read");
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut session = Session::new(|| 0.0);
    if !session.run(&document, false) {
        return render(session.problems(), name, &document.source);
    }
    let trace = session.trace();
    if let Some(why) = ill_formed(&mut session.store().clone(), trace).filter(|_| !ILL_IN_TVM.contains(&name)) {
        return format!("{name}: {why}");
    }
    if !trace.is_complete() {
        return render(&trace.failures(), name, &document.source);
    }
    let options = PrintOptions { types: false, metadata: false, ..PrintOptions::default() };
    print::module(session.store(), trace.last(), &options)
}

#[test]
fn every_example_gives_what_stands_beside_it() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut files = Vec::new();
    for folder in ["tests/filetests", "tests/filetests/relax", "tests/filetests/passes"] {
        files.extend(std::fs::read_dir(Path::new(folder)).expect("the folder is there").flatten().map(|e| e.path()));
    }
    files.sort();
    let mut wrong = Vec::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "relay" || e == "py")) {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let actual = outcome(&name, &std::fs::read_to_string(file).expect("it can be read"));
        let expected_file = file.with_extension("expected");
        if bless {
            std::fs::write(&expected_file, &actual).expect("it can be written");
            continue;
        }
        let expected = std::fs::read_to_string(&expected_file).unwrap_or_default();
        if actual != expected {
            wrong.push(format!("{name}\n--- expected\n{expected}\n--- actual\n{actual}"));
        }
    }
    assert!(wrong.is_empty(), "{}\nBLESS=1 rewrites the expectations", wrong.join("\n\n"));
}
