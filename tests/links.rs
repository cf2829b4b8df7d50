//! Tests that links of earlier versions still open: `tests/links/VERSION.txt` holds links of every version, each with
//! the length and the hash of its text. They are never regenerated; a new version gets a file of its own.

use passlab::pass::PassContext;
use passlab::repro::{hash, link, text};
use passlab::session::{Session, document};

/// Decodes every link of a file and compares it with its document.
fn all_open(version: &str, kept: &str) -> usize {
    let mut count = 0;
    for (number, line) in kept.lines().enumerate() {
        let mut fields = line.split(' ');
        let (length, sum, given) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let (document, _) = link::decode(given).unwrap_or_else(|e| panic!("{version}.txt:{}: {}", number + 1, e.message));
        let text = text::write(&document);
        let found = format!("{} {:08x}", text.len(), hash(text.as_bytes()));
        assert_eq!(found, format!("{length} {sum}"), "{version}.txt:{} is now\n{text}", number + 1);
        count += 1;
    }
    count
}

#[test]
fn links_of_every_version_open() {
    assert!(all_open("1", include_str!("links/1.txt")) >= 100);
    assert!(all_open("2", include_str!("links/2.txt")) >= 100);
}

#[test]
fn what_is_written_now_is_the_newest_version_and_canonical() {
    for line in include_str!("links/2.txt").lines() {
        let given = line.rsplit(' ').next().unwrap();
        assert_eq!(link::encode(&link::decode(given).unwrap().0), given, "the same document gives the same link");
    }
}

#[test]
fn the_hash_of_a_result_tells_results_apart() {
    let hash_of = |source: &str, calls: &str| {
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&document(source, calls, PassContext::default()).unwrap(), false));
        session.result_hash()
    };
    let source = "#[version = \"0.0.5\"]\ndef @main(%x: float32) { add(%x, add(1f, 2f)) }\n";
    let folded = hash_of(source, "FoldConstant()");
    assert_eq!(folded.len(), 6);
    assert_eq!(folded, hash_of(source, "FoldConstant()"), "the same every time");
    assert_ne!(folded, hash_of(source, "InferType()"));
    assert_ne!(folded, hash_of(&source.replace("2f", "3f"), "FoldConstant()"));
}
