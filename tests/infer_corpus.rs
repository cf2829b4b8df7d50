//! The bundled networks of TVM, without their type comments, infer to the types that TVM printed.

mod beside;

use beside::beside;
use passlab::ir::Store;
use passlab::{infer, parse, print, verify};
use std::fs;

/// Returns the text without `/* ty=... */`.
fn without_types(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(" /* ty=") {
        out.push_str(&rest[..start]);
        let end = rest[start..].find("*/").expect("a comment ends");
        rest = &rest[start + end + 2..];
    }
    out.push_str(rest);
    out
}

fn program_part(text: &str) -> &str {
    text.split("#[metadata]").next().unwrap_or(text).trim_end()
}

#[test]
fn every_network_of_the_corpus_infers_to_the_types_that_tvm_found() {
    let Some(folder) = beside("corpus/relay") else { return };
    let mut networks = 0;
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "relay") {
            continue;
        }
        networks += 1;
        let text = fs::read_to_string(&path).expect("the file can be read");
        let name = path.display();
        let mut store = Store::new();
        let parsed = parse::parse(&mut store, &without_types(&text));
        assert!(!parsed.has_errors(), "{name}: {:?}", parsed.diagnostics);
        let module = parsed.program.module;
        assert_eq!(verify::verify(&mut store, &module), [], "{name}");
        let typed = infer::infer_module(&mut store, &module).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        assert_eq!(verify::verify_types(&store, &typed), [], "{name}");
        let printed = print::module(&store, &typed, &print::PrintOptions::default());
        assert!(program_part(&printed) == program_part(&text), "{name}: other types than TVM's");
        store.inferred.clear();
        assert!(infer::infer_module(&mut store, &typed).as_ref() == Ok(&typed), "{name}: inferring twice changes it");
    }
    assert!(networks > 0, "the corpus is empty");
}
