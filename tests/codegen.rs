//! The files that are written from the tables of the engine are not stale. `cargo xtask codegen` writes them anew.

use passlab::boundary::{codes, typescript};
use std::fs;

#[test]
fn what_the_boundary_writes_for_the_page_is_up_to_date() {
    let files = [
        ("www/engine/protocol.ts", typescript::protocol()),
        ("www/sandbox/answers.ts", typescript::answers()),
        ("www/user/calls.ts", codes::calls()),
        ("www/python/tvm/_codes.py", codes::python()),
    ];
    let mut stale = Vec::new();
    for (path, text) in files {
        let full = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&full, &text).expect("a file of the project");
        } else if fs::read_to_string(&full).is_ok_and(|there| there != text) || !fs::exists(&full).unwrap_or(false) {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "{} do not say what src/boundary says: cargo xtask codegen writes them", stale.join(", "));
}
