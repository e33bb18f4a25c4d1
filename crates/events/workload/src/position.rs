//! The positions of bytes in a text: lines and columns as editors count them.

/// A place in a file. Both count from one; the column counts characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The number of bytes between two entries of the table of character counts, and so the most bytes
/// that are gone through to count a column's characters.
const STRIDE: usize = 512;

/// Finds the line and column of bytes of a text, each in no time that depends on the text's length.
#[derive(Clone, Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    /// The first byte of each line.
    lines: Vec<usize>,
    /// How many characters begin before every so many-th byte.
    characters: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// Makes the index of this text.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut lines = vec![0];
        lines.extend(bytes.iter().enumerate().filter(|&(_, &b)| b == b'\n').map(|(at, _)| at + 1));
        let mut characters = vec![0];
        for chunk in bytes.chunks(STRIDE) {
            characters.push(characters[characters.len() - 1] + begun_in(chunk));
        }
        Self { text, lines, characters }
    }

    /// Returns the position of a byte. A byte beyond the text's end stands at its end.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|&start| start <= byte);
        let column =
            self.characters_before(byte) - self.characters_before(self.lines[line - 1]) + 1;
        Position { line: line as u32, column: column as u32 }
    }

    fn characters_before(&self, byte: usize) -> usize {
        let stride = byte / STRIDE;
        self.characters[stride] + begun_in(&self.text.as_bytes()[stride * STRIDE..byte])
    }
}

/// How many characters begin in these bytes: all but the continuation bytes of UTF-8 begin one.
fn begun_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let index = LineIndex::new("ab\ncd\n");
        let expected = [at(1, 1), at(1, 2), at(1, 3), at(2, 1), at(2, 2), at(2, 3), at(3, 1)];
        assert_eq!((0..7).map(|byte| index.position(byte)).collect::<Vec<_>>(), expected);
        assert_eq!(index.position(1_000), at(3, 1));
        assert_eq!(LineIndex::new("").position(0), at(1, 1));
    }

    #[test]
    fn columns_count_characters_however_long_the_line() {
        let text = format!("x\n{}", "äß€😀".repeat(1_000));
        let index = LineIndex::new(&text);
        for (number, (byte, _)) in text.char_indices().enumerate().skip(2) {
            assert_eq!(index.position(byte), at(2, number as u32 - 1));
        }
    }
}
