//! `passlab link` and `passlab open`: a reproducer file as a link, and back.

use super::{Output, finish, read};
use crate::diag::{Diagnostic, render};
use crate::repro::{link, text};

/// `passlab link FILE`: prints the link of a reproducer file, or of a plain program, which is one without a head.
pub fn encode(file: &str) -> Output {
    finish(read(file).and_then(|source| {
        let (document, warnings) = text::read(&source).map_err(|found| Output::wrong(&[found], file, &source))?;
        let stderr = render(&warnings, file, &source);
        Ok(Output { stdout: format!("#{}\n", link::encode(&document)), stderr, status: 0 })
    }))
}

/// `passlab open LINK`: prints the reproducer file of a link, which may follow an address and a `#`. For a
/// damaged link it prints the recovered part, and fails.
pub fn decode(given: &str) -> Output {
    let fragment = given.rsplit_once('#').map_or(given, |(_, fragment)| fragment);
    match link::decode(fragment) {
        Ok((document, warnings)) => Output { stdout: text::write(&document), stderr: render(&warnings, "link", ""), status: 0 },
        Err(error) => {
            let found = Diagnostic::error(error.code, error.message, None);
            let stderr = render(&[found], "link", "");
            Output { stdout: error.recovered.map_or_else(String::new, |d| text::write(&d)), stderr, status: 1 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// passlab 1\n// pass: FoldConstant()\n// opt_level: 3\ndef @main(%x: float32) { %x }\n";

    fn file(name: &str, text: &str) -> String {
        let path = std::env::temp_dir().join(format!("passlab-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder is writable");
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn a_link_opens_as_the_file_it_was_made_from() {
        let path = file("link.relay", TEXT);
        let link = encode(&path);
        assert_eq!((link.status, link.stderr.as_str()), (0, ""));
        assert!(link.stdout.starts_with("#2."), "{}", link.stdout);
        assert_eq!(decode(link.stdout.trim()).stdout, TEXT);
        let address = format!("https://example.org/passlab/{}", link.stdout.trim());
        assert_eq!(decode(&address).stdout, TEXT);
        std::fs::remove_file(path).expect("it was there");
    }

    #[test]
    fn half_a_link_fails_with_its_reason_and_what_was_saved() {
        let path = file("half.relay", &format!("{TEXT}{}", "// and a little more\nlet %y = sigmoid(%x);\n".repeat(3)));
        let link = encode(&path).stdout;
        let half = decode(&link.trim()[..link.len() * 2 / 3]);
        assert_eq!(half.status, 1);
        assert!(half.stderr.contains("link"), "{}", half.stderr);
        assert!(half.stdout.starts_with("// passlab 1\n"), "{}", half.stdout);
        assert_eq!(decode("nonsense").status, 1);
        std::fs::remove_file(path).expect("it was there");
    }
}
