//! Texts, links and calls that were damaged at random go through everything that reads what others wrote: nothing panics, and
//! what is refused is refused with a message. Deterministic: the same texts each time.
//!
//! `PASSLAB_FUZZ=100000` takes more of each than those of every day, `PASSLAB_TARGET=link` one of the targets.

mod targets;

use passlab::check::random::Random;
use targets::TARGETS;

/// Pieces that texts are damaged with: pieces that mean something somewhere. The fuzzer has the same file as its dictionary.
fn pieces() -> Vec<String> {
    let piece = |line: &str| {
        let quoted = line.strip_prefix('"')?.strip_suffix('"')?;
        let (mut bytes, mut rest) = (Vec::new(), quoted.bytes());
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'\\' => match rest.next()? {
                    b'x' => u8::from_str_radix(&String::from_utf8(vec![rest.next()?, rest.next()?]).ok()?, 16).ok()?,
                    other => other,
                },
                other => other,
            });
        }
        String::from_utf8(bytes).ok()
    };
    let lines = include_str!("../../fuzz/pieces.dict").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| piece(line).unwrap_or_else(|| panic!("{line} is no piece"))).collect()
}

/// A text with some of its parts replaced, repeated, moved, cut or left out.
fn damaged(random: &mut Random, text: &str, others: &[String], pieces: &[String]) -> String {
    let mut bytes: Vec<char> = text.chars().collect();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        let length = random.below(24).min(bytes.len() - at);
        match random.below(8) {
            0 => drop(bytes.drain(at..at + length)),
            1 => {
                let copy = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, copy.iter().cycle().take(length * (1 + random.below(40))).copied());
            }
            2 => bytes.truncate(at),
            3 if at < bytes.len() => bytes[at] = char::from_u32(random.below(0x250) as u32).unwrap_or('x'),
            4 => {
                let other: Vec<char> = random.pick(others).chars().collect();
                let from = random.below(other.len() + 1);
                let to = from + random.below(120).min(other.len() - from);
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            5 if at < bytes.len() && bytes[at].is_ascii_digit() => {
                bytes.splice(at..=at, random.pick(pieces).chars());
            }
            _ => drop(bytes.splice(at..at, random.pick(pieces).chars())),
        }
    }
    bytes.into_iter().collect()
}

#[test]
fn nothing_that_is_read_panics() {
    let count: usize = std::env::var("PASSLAB_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(120);
    let wanted = std::env::var("PASSLAB_TARGET").unwrap_or_default();
    let pieces = pieces();
    let mut wrong = Vec::new();
    for target in TARGETS.iter().filter(|target| target.name.contains(&wanted)) {
        let corpus = target.corpus();
        let mut random = Random::new(7);
        for turn in 0..count {
            let text = match corpus.get(turn) {
                Some(text) => text.clone(),
                None => {
                    let base = random.pick(&corpus).clone();
                    damaged(&mut random, &base, &corpus, &pieces)
                }
            };
            // An overflow of the stack ends the process; the thread has as much as a worker of a browser.
            let ran = std::panic::catch_unwind(|| (target.run)(&text));
            if let Err(panic) = ran {
                let said =
                    panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                wrong.push(format!("{} {turn}: {}\n{text}", target.name, said.unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} panics\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n----\n"));
}
