//! A text that was made of pieces of another, and where each of them came from.

use crate::diag::Span;
use std::ops::Range;

/// A text made of pieces of a source.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    /// The text.
    pub(super) text: String,
    pieces: Vec<Piece>,
}

/// A run of the text: a copy of a part of the source, or something that stands instead of such a part.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The place in the text at which it begins.
    at: usize,
    /// The part of the source.
    from: usize,
    len: usize,
    copied: bool,
}

impl Text {
    /// The source itself.
    pub(super) fn whole(source: &str) -> Text {
        Text { text: source.to_owned(), pieces: vec![Piece { at: 0, from: 0, len: source.len(), copied: true }] }
    }

    /// Appends a part of another text over the same source.
    pub(super) fn copy(&mut self, of: &Text, range: Range<usize>) {
        let first = of.pieces.partition_point(|piece| piece.at <= range.start).saturating_sub(1);
        let mut at = range.start;
        for (index, piece) in of.pieces.iter().enumerate().skip(first) {
            let end = of.pieces.get(index + 1).map_or(of.text.len(), |next| next.at).min(range.end);
            if end <= at {
                if piece.at >= range.end {
                    break;
                }
                continue;
            }
            let piece = match piece.copied {
                true => Piece { at: self.text.len(), from: piece.from + (at - piece.at), len: end - at, copied: true },
                false => Piece { at: self.text.len(), ..*piece },
            };
            self.add(piece);
            self.text += &of.text[at..end];
            at = end;
        }
    }

    /// Appends what stands instead of a part of another text over the same source.
    pub(super) fn put(&mut self, text: &str, of: &Text, instead_of: Range<usize>) {
        let Span { start, end } = of.place(Span::new(instead_of.start, instead_of.end));
        self.add(Piece { at: self.text.len(), from: start as usize, len: (end - start) as usize, copied: false });
        self.text += text;
    }

    fn add(&mut self, piece: Piece) {
        let follows = |last: &Piece| last.copied && piece.copied && last.from + last.len == piece.from;
        match self.pieces.last_mut() {
            Some(last) if follows(last) && last.at + last.len == piece.at => last.len += piece.len,
            _ => self.pieces.push(piece),
        }
    }

    /// The place in the source that a place of the text came from.
    pub(super) fn place(&self, span: Span) -> Span {
        let start = self.offset(span.start as usize, false);
        let end = if span.end > span.start { self.offset(span.end as usize - 1, true) } else { start };
        Span::new(start, end.max(start))
    }

    fn offset(&self, at: usize, end: bool) -> usize {
        let index = self.pieces.partition_point(|piece| piece.at <= at);
        let Some(piece) = index.checked_sub(1).and_then(|index| self.pieces.get(index)) else { return 0 };
        match piece.copied {
            true => (piece.from + (at - piece.at) + usize::from(end)).min(piece.from + piece.len),
            false => piece.from + if end { piece.len } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lead_back_to_the_source_through_two_layers() {
        let source = "> abc\n> def\n";
        let whole = Text::whole(source);
        let mut bare = Text::default();
        bare.copy(&whole, 2..6);
        bare.copy(&whole, 8..12);
        assert_eq!(bare.text, "abc\ndef\n");
        let mut again = Text::default();
        again.put("N", &bare, 0..2);
        again.copy(&bare, 2..8);
        assert_eq!(again.text, "Nc\ndef\n");
        let place = |from: usize, to: usize| {
            let span = again.place(Span::new(from, to));
            &source[span.start as usize..span.end as usize]
        };
        assert_eq!([place(0, 1), place(1, 2), place(3, 6)], ["ab", "c", "def"]);
    }
}
