//! Files that are read as a whole.

use crate::Failure;
use std::path::Path;

/// Most bytes of a file that is looked at.
pub const FILE_BYTES_MAX: u64 = 1 << 30;

/// All of a file, if it is no longer than `limit`.
///
/// # Errors
/// If it can not be read, or is longer.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let asked = |problem: String| Failure::Asked(format!("{}: {problem}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| asked(error.to_string()))?;
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| asked(error.to_string()))?;
    match bytes.len() as u64 > limit {
        true => Err(asked(format!("it is longer than {limit} bytes"))),
        false => Ok(bytes),
    }
}
