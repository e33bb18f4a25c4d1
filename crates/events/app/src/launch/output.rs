//! Prints the output of the nodes, line by line, each line behind its node's number.

use std::io::{self, BufRead, BufReader, Read, Write};

/// A longer line is passed on in pieces, so that no node fills memory.
const LINE_BYTES_MAX: u64 = 64 << 10;

pub(super) struct Lines<W> {
    prefix: String,
    to: W,
}

impl<W: Write> Lines<W> {
    pub(super) fn new(node: usize, to: W) -> Self {
        Lines { prefix: format!("[{node}] "), to }
    }

    /// Passes on all, each line whole. When nobody reads any more, or there is no room for it, the
    /// node's output is read on all the same, so that it does not wait.
    ///
    /// # Errors
    /// The first line that could not be written says why.
    pub(super) fn pass_on(mut self, from: impl Read) -> io::Result<()> {
        let mut from = BufReader::new(from);
        let mut written = Ok(());
        loop {
            let mut line = self.prefix.clone().into_bytes();
            let read = from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if read.unwrap_or(0) == 0 {
                return written;
            }
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            // One call per line: those of other nodes come between lines only.
            written =
                written.and_then(|()| self.to.write_all(&line)).and_then(|()| self.to.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_on(text: &[u8]) -> Vec<u8> {
        let mut to = Vec::new();
        Lines::new(7, &mut to).pass_on(text).expect("memory has room");
        to
    }

    #[test]
    fn each_line_has_its_number() {
        assert_eq!(passed_on(b""), b"");
        assert_eq!(passed_on(b"a\n\nb"), b"[7] a\n[7] \n[7] b\n");
        assert_eq!(passed_on(b"\xff\n"), b"[7] \xff\n", "not UTF-8");
    }

    #[test]
    fn a_line_without_end_comes_in_pieces() {
        let lines = passed_on(&vec![b'x'; 3 * LINE_BYTES_MAX as usize]);
        assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 3);
    }
}
