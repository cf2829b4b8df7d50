//! A document as the part of an address behind `#`.
//!
//! A link is a version, a dot and bytes in the base64 alphabet for addresses. The same document gives the same link,
//! and a published version stays readable for ever: its code and its dictionary are frozen, and improvements get
//! another number (`tests/links/` holds links of every version).
//!
//! - Version 2, which is the one written: three bytes that detect damage, and the document's text as raw deflate that
//!   may refer to the 8 KB of `dictionary-2.txt` as if they came before it. A zero byte follows where the last character
//!   would be `-` or `_`, which programs that recognise addresses in a text leave out.
//! - Version 1: the document's text as zlib.
//!
//! The dictionary holds pieces of 48 characters that many programs and heads share, the most frequent last. It was made
//! from 1,554 programs of at most 4 KB with their passes; another 668, from other files, were kept for measurements.
//! Characters of a link, the engine's version and the hash of the result included:
//!
//! | programs that the dictionary was not made from | median | 90% | 99% | most |
//! |---|---|---|---|---|
//! | 294 of Relay | 155 | 482 | 989 | 992 |
//! | 374 of Relax and TIR | 205 | 416 | 669 | 732 |
//! | all 668 (their text: 760, 2,400, 3,900, 4,200) | 190 | 456 | 977 | 992 |
//! | the same in version 1 | 480 | 895 | 1,390 | 1,460 |

use super::{Document, text};
use crate::diag::Diagnostic;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_COMPUTE_ADLER32, TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// The dictionary that texts may refer to. Frozen: a changed byte would break every link of version 2.
const DICTIONARY: &[u8] = include_bytes!("dictionary-2.txt");
/// The number of bytes in front of version 2 that detect damage.
const CHECK: usize = 3;

/// A link may not unpack to more than this many bytes, so that a small one cannot fill the memory.
pub const MAX_BYTES: usize = 16 << 20;

/// The reason why a link could not be read, and the recovered part of its document.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkError {
    /// `link-version`, `link-damaged`, `link-truncated` or `link-too-large`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
    /// The recovered part: usually the passes and the beginning of the program.
    pub recovered: Option<Document>,
}

/// Encodes a document as a link, without `#`.
pub fn encode(document: &Document) -> String {
    pack(text::write(document).as_bytes())
}

fn pack(text: &[u8]) -> String {
    let mut bytes = check(text).to_vec();
    bytes.extend(deflate(text));
    let mut link = URL_SAFE_NO_PAD.encode(&bytes);
    if link.ends_with(['-', '_']) {
        bytes.push(0);
        link = URL_SAFE_NO_PAD.encode(&bytes);
    }
    format!("2.{link}")
}

/// Computes FNV-1a over the text, folded to three bytes.
fn check(text: &[u8]) -> [u8; CHECK] {
    let hash = super::hash(text);
    let folded = hash ^ (hash >> 24);
    [folded as u8, (folded >> 8) as u8, (folded >> 16) as u8]
}

/// Compresses with raw deflate behind the dictionary: the dictionary is packed first, up to a byte boundary, and left out.
fn deflate(text: &[u8]) -> Vec<u8> {
    let mut state = CompressorOxide::new(create_comp_flags_from_zip_params(9, 0, 0));
    compress_to_output(&mut state, DICTIONARY, TDEFLFlush::Sync, |_| true);
    let mut packed = Vec::new();
    compress_to_output(&mut state, text, TDEFLFlush::Finish, |bytes| {
        packed.extend_from_slice(bytes);
        true
    });
    packed
}

/// Decodes the document of a link, with or without `#`; also returns warnings about parts that were left out.
pub fn decode(link: &str) -> Result<(Document, Vec<Diagnostic>), LinkError> {
    // Punctuation behind an address belongs to the sentence around.
    let link = link.trim().trim_start_matches('#').trim_end_matches(['.', ',', ';', ':', ')', ']', '>', '"', '\'', '!', '?']);
    let Some((version, body)) = link.split_once('.') else {
        return Err(error("link-damaged", "this is not a passlab link"));
    };
    let (dictionary, check_bytes, flags) = match version {
        "1" => (&[][..], 0, TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_COMPUTE_ADLER32),
        "2" => (DICTIONARY, CHECK, 0),
        _ if version.parse::<u32>().is_ok() => return Err(error("link-version", "this link was made by a later passlab")),
        _ => return Err(error("link-damaged", "this is not a passlab link")),
    };
    // The link breaks at a character outside the alphabet, or at a length that no whole number of bytes has; the part
    // before may still be readable.
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let sound = body.bytes().take_while(|b| alphabet(*b)).count();
    let (packed, whole) = decode_prefix(&body.as_bytes()[..sound]);
    let expected = packed.get(..check_bytes).unwrap_or_default();
    let packed = packed.get(check_bytes..).unwrap_or_default();
    let (status, used, bytes) = inflate(packed, dictionary, flags);
    match status {
        TINFLStatus::Done if sound < body.len() => Err(saving(&bytes, "link-damaged", "the link has stray characters in it")),
        TINFLStatus::Done if !whole || !matches!(packed[used..], [] | [0]) => {
            Err(saving(&bytes, "link-damaged", "the link goes on behind its end"))
        }
        TINFLStatus::Done if expected != &check(&bytes)[..check_bytes] => {
            Err(saving(&bytes, "link-damaged", "the link is damaged"))
        }
        TINFLStatus::Done => match std::str::from_utf8(&bytes).map(text::read) {
            Ok(Ok(read)) => Ok(read),
            Ok(Err(found)) => Err(error("link-version", &found.message)),
            Err(_) => Err(error("link-damaged", "the link does not hold text")),
        },
        TINFLStatus::HasMoreOutput => Err(error("link-too-large", "the link unpacks to more than 16 MB")),
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput if sound == body.len() => {
            Err(saving(&bytes, "link-truncated", "the end of the link is missing"))
        }
        _ => Err(saving(&bytes, "link-damaged", "the link is damaged")),
    }
}

fn error(code: &'static str, message: &str) -> LinkError {
    LinkError { code, message: message.to_owned(), recovered: None }
}

fn saving(bytes: &[u8], code: &'static str, message: &str) -> LinkError {
    LinkError { recovered: recover(bytes), ..error(code, message) }
}

/// Unpacks deflate that may refer to a dictionary: returns the status, the number of bytes read, and the output.
fn inflate(packed: &[u8], dictionary: &[u8], flags: u32) -> (TINFLStatus, usize, Vec<u8>) {
    let most = dictionary.len() + MAX_BYTES;
    let mut state = DecompressorOxide::new();
    let mut out = dictionary.to_vec();
    let mut at = out.len();
    let mut used = 0;
    let flags = flags | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    // The buffer grows with the output, not with a length that a link may claim.
    loop {
        out.resize((out.len() * 2).clamp(at + 4096, most.max(at + 4096)), 0);
        let (status, read, written) = decompress(&mut state, &packed[used..], &mut out, at, flags);
        used += read;
        at += written;
        if status != TINFLStatus::HasMoreOutput || at > most {
            out.truncate(at);
            return (status, used, out.split_off(dictionary.len()));
        }
    }
}

/// Decodes as many bytes as possible; true if they are all.
fn decode_prefix(all: &[u8]) -> (Vec<u8>, bool) {
    let mut body = all;
    // A length of 1 modulo 4 cannot be decoded, and the last character of a cut link may not either.
    for _ in 0..4 {
        match URL_SAFE_NO_PAD.decode(body) {
            Ok(bytes) => return (bytes, body.len() == all.len()),
            Err(_) if body.is_empty() => break,
            Err(_) => body = &body[..body.len() - 1],
        }
    }
    (Vec::new(), all.is_empty())
}

/// Recovers the document from the bytes that could be unpacked.
fn recover(bytes: &[u8]) -> Option<Document> {
    let text = String::from_utf8_lossy(bytes);
    let (document, _) = text::read(text.trim_end_matches('\u{fffd}')).ok()?;
    (!document.source.is_empty() || !document.rows.is_empty()).then_some(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::DocumentRow;
    use miniz_oxide::deflate::compress_to_vec_zlib;

    fn example() -> Document {
        let source: String = (0..200).map(|i| format!("let %x{i} = add(%x, {i}f);\n")).collect();
        let rows = vec![DocumentRow { call: "FuseOps()".into(), enabled: true }];
        Document { source, rows, ..Document::default() }
    }

    /// Decodes a link, and expects that nothing was left out.
    fn decode(link: &str) -> Result<Document, LinkError> {
        super::decode(link).map(|(document, warnings)| {
            assert_eq!(warnings, []);
            document
        })
    }

    fn first_version(text: &[u8]) -> String {
        format!("1.{}", URL_SAFE_NO_PAD.encode(compress_to_vec_zlib(text, 9)))
    }

    #[test]
    fn a_link_holds_the_document() {
        for document in [example(), Document::default()] {
            assert_eq!(decode(&encode(&document)), Ok(document.clone()));
            assert_eq!(decode(&format!(" #{}).", encode(&document))), Ok(document.clone()));
            assert_eq!(decode(&first_version(text::write(&document).as_bytes())), Ok(document));
        }
    }

    #[test]
    fn a_link_ends_in_a_letter_or_a_digit() {
        let mut padded = 0;
        for i in 0..400 {
            let document = Document { source: format!("%x{i}"), ..Document::default() };
            let link = encode(&document);
            assert!(link.ends_with(|c: char| c.is_ascii_alphanumeric()), "{link}");
            assert_eq!(decode(&link), Ok(document));
            padded += usize::from(link.ends_with('A'));
        }
        assert!(padded > 0);
    }

    #[test]
    fn half_a_link_says_so_and_gives_back_what_it_has() {
        for link in [encode(&example()), first_version(text::write(&example()).as_bytes())] {
            let error = decode(&link[..link.len() / 2]).unwrap_err();
            assert_eq!(error.code, "link-truncated");
            let recovered = error.recovered.unwrap();
            assert_eq!(recovered.rows, example().rows);
            assert!(example().source.starts_with(&recovered.source));
        }
    }

    #[test]
    fn every_damaged_link_is_named_and_none_panics() {
        for link in [encode(&example()), first_version(text::write(&example()).as_bytes())] {
            for i in (0..link.len()).filter(|i| i % 5 == 0 || *i < 40) {
                let mut bytes = link.clone().into_bytes();
                bytes[i] = if bytes[i] == b'A' { b'%' } else { b'A' };
                let flipped = String::from_utf8(bytes).unwrap();
                assert!(decode(&flipped).is_err() || decode(&flipped) == Ok(example()), "flip at {i}");
                assert!(decode(&link[..i]).is_err(), "cut at {i}");
            }
            assert_eq!(decode(&format!("{link}AAAA")).unwrap_err().code, "link-damaged");
            assert_eq!(decode(&format!("{link}%20and")).unwrap_err().code, "link-damaged");
        }
        for text in ["", "#", "1", "1.", "2.", "2.AAAA", "2.AAAAAA", "x.AAAA", "1.====", "\u{e9}.\u{e9}"] {
            assert!(decode(text).is_err(), "{text}");
        }
        assert_eq!(decode("3.AAAA").unwrap_err().code, "link-version");
    }

    #[test]
    fn noise_is_named_and_does_not_panic() {
        let mut seed = 1u64;
        for _ in 0..3000 {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as usize
            };
            let mut bytes: Vec<u8> = (0..next() % 120).map(|_| next() as u8).collect();
            if let Some(first) = bytes.get_mut(CHECK) {
                // A block of any kind, mostly: pure noise is often refused at its first bits.
                *first = (*first & !7) | (1 + 2 * (next() % 3) as u8);
            }
            let body = URL_SAFE_NO_PAD.encode(&bytes);
            assert!(decode(&format!("2.{body}")).is_err());
            assert!(decode(&format!("1.{body}")).is_err());
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        let much = vec![b' '; MAX_BYTES + 10_000];
        assert_eq!(decode(&pack(&much)).unwrap_err().code, "link-too-large");
        let zlib = format!("1.{}", URL_SAFE_NO_PAD.encode(compress_to_vec_zlib(&much, 1)));
        assert_eq!(decode(&zlib).unwrap_err().code, "link-too-large");
    }

    #[test]
    fn a_program_of_any_size_has_a_link() {
        let source: String = (0..20_000u32).map(|i| format!("%{} ", i.wrapping_mul(2_654_435_761))).collect();
        let document = Document { source, ..Document::default() };
        assert_eq!(decode(&encode(&document)), Ok(document));
    }
}
