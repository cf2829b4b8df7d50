//! The words of a printed text.

/// Splits a line into words; `meta[relay.Constant][0]` is one.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let reference = (rest.as_bytes().first() == Some(&b'm') && rest.starts_with("meta[")).then(|| {
            let number = rest.find("][")? + 2;
            Some(number + rest[number..].find(']')? + 1)
        });
        let (word, tail) = rest.split_at(reference.flatten().unwrap_or_else(|| word_len(rest)));
        rest = tail;
        (!word.is_empty()).then_some(word)
    })
}

/// True if a byte belongs to a name or number. The bytes of a character outside ASCII all do, so that no word ends
/// within one.
pub(crate) fn is_word(byte: u8) -> bool {
    /// A table, because every byte of two texts is tested more than once.
    const WORD: [bool; 256] = {
        let mut word = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let b = byte as u8;
            word[byte] = b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b >= 0x80;
            byte += 1;
        }
        word
    };
    WORD[byte as usize]
}

/// Returns the length in bytes of the text's first word: a name or number, or one other character.
pub(crate) fn word_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let start = usize::from(matches!(bytes.first(), Some(b'%' | b'@')));
    let len = start + bytes[start..].iter().take_while(|b| is_word(**b)).count();
    if len == 0 { bytes.len().min(1) } else { len }
}
