//! A document as the part of an address behind `#`.
//!
//! Version 1 is `1.` and the document's text, compressed with zlib (whose checksum tells damage) and written
//! in the base64 alphabet for addresses. The same document gives the same link. Later
//! versions get another number in front; this one stays readable for ever.

use super::{Document, text};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

const VERSION: &str = "1";

/// A link may not unpack to more than this many bytes, so that a small one cannot fill the memory.
pub const MAX_BYTES: usize = 16 << 20;

/// Why a link could not be read, and what was saved of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkError {
    /// `link-version`, `link-damaged`, `link-truncated` or `link-too-large`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// What could be recovered: usually the passes and the beginning of the program.
    pub recovered: Option<Document>,
}

/// The link of a document, without `#`.
pub fn encode(document: &Document) -> String {
    let packed = compress_to_vec_zlib(text::write(document).as_bytes(), 9);
    format!("{VERSION}.{}", URL_SAFE_NO_PAD.encode(packed))
}

/// The document of a link, with or without `#`.
pub fn decode(link: &str) -> Result<Document, LinkError> {
    let error = |code, message: &str| LinkError { code, message: message.to_owned(), recovered: None };
    let link = link.trim().trim_start_matches('#');
    let Some((version, body)) = link.split_once('.') else {
        return Err(error("link-damaged", "this is not a passlab link"));
    };
    if version != VERSION {
        let later = version.parse::<u32>().is_ok();
        let message = if later { "this link was made by a later passlab" } else { "this is not a passlab link" };
        return Err(error(if later { "link-version" } else { "link-damaged" }, message));
    }
    // A character outside the alphabet, or a length no whole number of bytes has, is where it breaks;
    // what stands before may still tell something.
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let sound = body.bytes().take_while(|b| alphabet(*b)).count();
    let whole = sound == body.len();
    let packed = decode_prefix(&body.as_bytes()[..sound]);
    match decompress_to_vec_zlib_with_limit(&packed, MAX_BYTES) {
        Ok(bytes) if whole => match std::str::from_utf8(&bytes).map(text::read) {
            Ok(Ok((document, _))) => Ok(document),
            Ok(Err(found)) => Err(error("link-version", &found.message)),
            Err(_) => Err(error("link-damaged", "the link does not hold text")),
        },
        Ok(bytes) => {
            Err(LinkError { recovered: recover(&bytes), ..error("link-damaged", "the link has stray characters in it") })
        }
        Err(failure) if failure.status == TINFLStatus::HasMoreOutput => {
            Err(error("link-too-large", "the link unpacks to more than 16 MB"))
        }
        Err(failure) => {
            let cut = matches!(failure.status, TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput);
            let code = if cut { "link-truncated" } else { "link-damaged" };
            let message = if cut { "the end of the link is missing" } else { "the link is damaged" };
            Err(LinkError { recovered: recover(&failure.output), ..error(code, message) })
        }
    }
}

fn decode_prefix(body: &[u8]) -> Vec<u8> {
    let mut body = body;
    // A length of 1 modulo 4 cannot be decoded, and the last character of a cut link may not either.
    for _ in 0..4 {
        match URL_SAFE_NO_PAD.decode(body) {
            Ok(bytes) => return bytes,
            Err(_) if body.is_empty() => break,
            Err(_) => body = &body[..body.len() - 1],
        }
    }
    Vec::new()
}

/// The document in the bytes that could be unpacked. The decompressor pads them with zeros.
fn recover(bytes: &[u8]) -> Option<Document> {
    let text = String::from_utf8_lossy(bytes);
    let (document, _) = text::read(text.trim_end_matches(['\0', '\u{fffd}'])).ok()?;
    (!document.source.is_empty() || !document.rows.is_empty()).then_some(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::DocumentRow;

    fn example() -> Document {
        let source: String = (0..200).map(|i| format!("let %x{i} = add(%x, {i}f);\n")).collect();
        let rows = vec![DocumentRow { call: "FuseOps()".into(), enabled: true }];
        Document { source, rows, ..Document::default() }
    }

    #[test]
    fn a_link_holds_the_document() {
        assert_eq!(decode(&encode(&example())), Ok(example()));
        assert_eq!(decode(&format!("#{}", encode(&example()))), Ok(example()));
    }

    #[test]
    fn half_a_link_says_so_and_gives_back_what_it_has() {
        let link = encode(&example());
        let error = decode(&link[..link.len() / 2]).unwrap_err();
        assert_eq!(error.code, "link-truncated");
        let recovered = error.recovered.unwrap();
        assert_eq!(recovered.rows, example().rows);
        assert!(example().source.starts_with(&recovered.source));
    }

    #[test]
    fn every_damaged_link_is_named_and_none_panics() {
        let link = encode(&example());
        for i in 0..link.len() {
            let mut bytes = link.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'%' } else { b'A' };
            let text = String::from_utf8(bytes).unwrap();
            assert!(decode(&text).is_err() || decode(&text) == Ok(example()), "flip at {i}");
        }
        for text in ["", "#", "1", "1.", "x.AAAA", "1.====", "\u{e9}.\u{e9}"] {
            assert!(decode(text).is_err(), "{text}");
        }
        assert_eq!(decode("2.AAAA").unwrap_err().code, "link-version");
    }

    #[test]
    fn a_bomb_is_refused() {
        let packed = compress_to_vec_zlib(&vec![b' '; MAX_BYTES + 1], 9);
        let link = format!("1.{}", URL_SAFE_NO_PAD.encode(packed));
        assert_eq!(decode(&link).unwrap_err().code, "link-too-large");
    }
}
