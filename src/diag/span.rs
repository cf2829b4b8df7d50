//! Spans of a text. The engine counts bytes; the page counts UTF-16 units; humans count lines and
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
    /// Makes the span from `start` to before `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// Returns the smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The begins of the lines of a text.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    /// The UTF-16 offset of the start of each line; `None` when it equals the byte offset.
    utf16_starts: Option<Vec<u32>>,
}

impl LineIndex {
    /// Builds the index of a text.
    pub fn new(text: &str) -> LineIndex {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1);
        let starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
        let utf16_starts = (!text.is_ascii()).then(|| {
            let mut units = 0;
            let lines = starts.windows(2).map(|ends| {
                units += utf16_len(&text[ends[0] as usize..ends[1] as usize]);
                units
            });
            std::iter::once(0).chain(lines).collect()
        });
        LineIndex { starts, utf16_starts }
    }

    /// Returns the index of the line that holds a byte.
    fn line_of(&self, byte: u32) -> usize {
        self.starts.partition_point(|start| *start <= byte) - 1
    }

    /// Returns line and column of a byte, both from 1; the column counts characters.
    pub fn line_column(&self, text: &str, byte: u32) -> (usize, usize) {
        let end = floor_boundary(text, byte as usize);
        let line = self.line_of(end as u32);
        let start = self.starts[line] as usize;
        let column = if self.utf16_starts.is_none() { end - start } else { text[start..end].chars().count() };
        (line + 1, column + 1)
    }

    /// Returns the text of a line, from 1, without its newline.
    pub fn line<'t>(&self, text: &'t str, line: usize) -> &'t str {
        let start = self.starts[line - 1] as usize;
        let end = self.starts.get(line).map_or(text.len(), |end| *end as usize);
        text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// Returns the UTF-16 offset of a byte.
    pub fn utf16(&self, text: &str, byte: u32) -> u32 {
        let end = floor_boundary(text, byte as usize);
        let Some(starts) = &self.utf16_starts else { return end as u32 };
        let line = self.line_of(end as u32);
        starts[line] + utf16_len(&text[self.starts[line] as usize..end])
    }

    /// Returns the byte at a UTF-16 offset; the end of the text for offsets behind it.
    pub fn byte_of_utf16(&self, text: &str, offset: u32) -> u32 {
        let Some(starts) = &self.utf16_starts else { return offset.min(text.len() as u32) };
        let line = starts.partition_point(|start| *start <= offset) - 1;
        let from = self.starts[line] as usize;
        let mut units = starts[line];
        for (at, c) in text[from..].char_indices() {
            units += c.len_utf16() as u32;
            if units > offset {
                return (from + at) as u32;
            }
        }
        text.len() as u32
    }
}

fn utf16_len(text: &str) -> u32 {
    text.chars().map(|c| c.len_utf16() as u32).sum()
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
        let bytes: Vec<u32> = (0..8).map(|o| index.byte_of_utf16(text, o)).collect();
        assert_eq!(bytes, [0, 1, 2, 4, 4, 8, 9, 9], "both halves of a pair are one character");
        assert_eq!(index.line(text, 1), "a");
    }
}
