//! What `actinium wire` does.
//!
//! | module | what it is |
//! |---|---|
//! | [`messages`] | the three messages that are measured |
//! | [`mod@bench`] | `actinium wire bench`: settings and order |
//! | [`measure`] | what a message costs by itself |
//! | [`loopback`] | what it costs on a link |
//! | [`monitor`] | what a protocol's monitor costs |
//! | [`energy`] | joules, where the machine tells |
//! | [`report`] | the tables, the JSON, the page |
//! | [`convert`] | `actinium wire convert` |
//! | [`decode`] | `actinium wire decode` |
//! | [`draw`] | `actinium wire draw` |
//! | [`tap`] | `actinium wire tap` |
//! | [`typescript`] | `actinium wire typescript` |

pub mod bench;
pub mod convert;
pub mod decode;
pub mod draw;
pub mod energy;
pub mod loopback;
pub mod measure;
pub mod messages;
pub mod monitor;
pub mod report;
pub mod tap;
pub mod typescript;

use crate::Failure;
use std::path::Path;

/// All of a file, if it is no longer than `limit`.
///
/// # Errors
/// If it can not be read, or is longer.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
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

/// Most bytes of a file that is looked at.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 30;
