//! Finds files beside the project (`../shared`): cases and models that are not in the repository. A test without files
//! says so with [`skipped`], which `cargo xtask test` counts.

// Each test is a crate of its own, and uses part of this.
#![allow(dead_code)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns a file or folder of `../shared`; if it is missing, reports a skipped test and returns nothing.
pub fn beside(path: &str) -> Option<PathBuf> {
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(path);
    if whole.exists() {
        return Some(whole);
    }
    skipped(&format!("there is no ../shared/{path}"));
    None
}

/// Returns the text of a file of `../shared`.
pub fn text_beside(path: &str) -> Option<String> {
    beside(path).map(|path| fs::read_to_string(path).expect("a file beside the project can be read"))
}

/// Reports a skipped test: on the terminal, past the capture of output, and in the file `$PASSLAB_SKIPPED`.
pub fn skipped(why: &str) {
    let current = std::thread::current();
    let line = format!("skipped: {}: {why}\n", current.name().unwrap_or_default());
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("PASSLAB_SKIPPED") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
