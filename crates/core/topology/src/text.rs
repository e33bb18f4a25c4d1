//! Reading what the kernel says.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More than most of the kernel's files have, so that one read and one that finds the end are all
/// it takes.
const MOST_BYTES: usize = 8 << 10;

/// The text of a file in `/proc` or `/sys`. Those have no size to be asked for, and the usual way
/// begins with 32 bytes and goes on in many reads: a program's start pays for each.
///
/// # Errors
/// If it can not be read, or is no text.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(MOST_BYTES);
    // A limit that is never reached: a file's own reader would ask for its size.
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn files_are_read_to_their_end() {
        let folder = Folder::new();
        for len in [0, 1, MOST_BYTES - 1, MOST_BYTES, 5 * MOST_BYTES + 3] {
            let text = "x".repeat(len);
            folder.write("file", &text);
            assert_eq!(read_text(folder.path().join("file")).unwrap(), text);
        }
        assert!(read_text(folder.path().join("nothing")).is_err());
    }
}
