//! Places in a text. The engine counts bytes; the page counts UTF-16 units; people count lines and
//! columns. This file is the only one that converts.

/// A range of bytes in the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` to before `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    ascii: bool,
}

impl LineIndex {
    /// Reads a text once.
    pub fn new(text: &str) -> LineIndex {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1);
        LineIndex { starts: std::iter::once(0).chain(ends).collect(), ascii: text.is_ascii() }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub fn line_column(&self, text: &str, byte: u32) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let start = self.starts[line] as usize;
        let end = floor_boundary(text, byte as usize);
        let column = if self.ascii { end - start } else { text[start..end].chars().count() };
        (line + 1, column + 1)
    }

    /// The text of a line, from 1, without its line end.
    pub fn line<'t>(&self, text: &'t str, line: usize) -> &'t str {
        let start = self.starts[line - 1] as usize;
        let end = self.starts.get(line).map_or(text.len(), |end| *end as usize);
        text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The UTF-16 offset of a byte.
    pub fn utf16(&self, text: &str, byte: u32) -> u32 {
        let end = floor_boundary(text, byte as usize);
        if self.ascii { end as u32 } else { text[..end].encode_utf16().count() as u32 }
    }
}

fn floor_boundary(text: &str, byte: usize) -> usize {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_offsets_count_utf16_units() {
        let text = "a\n\u{e9}\u{1f600}b";
        let index = LineIndex::new(text);
        let b = text.find('b').unwrap() as u32;
        assert_eq!(index.line_column(text, b), (2, 3));
        assert_eq!(index.utf16(text, b), 5);
        assert_eq!(index.line(text, 1), "a");
    }
}
