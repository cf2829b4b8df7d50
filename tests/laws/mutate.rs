//! Tests that the engine answers any typed or pasted text with findings and never panics.

use crate::program;
use passlab::check::random::Random;
use passlab::diag::render;
use passlab::pass::PassContext;
use passlab::session::{Session, document};

/// Bytes with a meaning in the text format, and some without.
const BYTES: &[u8] = b"%@(){}[]<>=;:,.\"/*#-+01fFix_ \n\r\t\\\0";

fn damage(text: &str, r: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=r.below(4) {
        let at = r.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match r.below(5) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = BYTES[r.below(BYTES.len())],
            2 => bytes.insert(at, BYTES[r.below(BYTES.len())]),
            3 => {
                let end = (at + 1 + r.below(20)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + 1 + r.below(40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = r.below(bytes.len().max(1)).min(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn survives(source: &str) {
    let mut session = Session::new(|| 0.0);
    let document = document(source, "SimplifyInference, FoldConstant, FuseOps", PassContext::default()).expect("a list");
    session.run(&document, false);
    let shown = render(session.problems(), "a.relay", source);
    assert!(session.is_ok() || !shown.is_empty(), "refused without a word:\n{source}");
}

#[test]
fn damaged_programs_are_answered_with_findings() {
    for seed in 0..600 {
        let r = &mut Random::new(seed + 1);
        survives(&damage(&program(seed % 40), r));
    }
}

#[test]
fn damaged_networks_are_answered_with_findings() {
    let Some(source) = crate::beside::text_beside("corpus/relay/lstm.relay") else { return };
    for seed in 0..60 {
        survives(&damage(&source, &mut Random::new(seed + 1)));
    }
}

#[test]
fn extreme_texts_are_answered_with_findings() {
    survives("");
    survives("\u{feff}");
    survives(&"(".repeat(10_000));
    survives(&"if (".repeat(10_000));
    survives(&"fn (".repeat(10_000));
    survives(&"{".repeat(10_000));
    survives(&"let %x = ".repeat(10_000));
    survives(&"/*".repeat(10_000));
    survives("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(9999999999999999999999), float32]) { %x }");
    survives("#[version = \"0.0.5\"]\ndef @main() { add(1f) }");
    survives("#[version = \"0.0.5\"]\ndef @main() { zeros(shape=[1000000, 1000000, 1000000], dtype=\"float32\") }");
    survives("#[version = \"0.0.5\"]\ndef @main() { nn.conv2d(meta[relay.Constant][7], 1f) }\n#[metadata]\n{\"root\": 99}");
    survives(&format!("#[version = \"0.0.5\"]\ndef @main() {{ {} }}", "1f + ".repeat(5_000)));
}
