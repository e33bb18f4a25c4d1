//! Files of real events: one row is one event, and a row is any type that serde knows.
//!
//! [`Rows`] reads and is a source of a graph, [`RowFile`] writes, [`RowOutput`] is an output of a
//! graph; the format is the file's name's end, or a [`Format`] given by hand. [`Files`] reads many
//! files, [`ByFile`] opens each by itself, so that several nodes can share them. [`RowsExt`] and
//! [`SourceExt`] make events of several rows, tell the begins and ends of runs, and read ahead.
//! [`AsyncSource`] waits without a thread.
//!
//! | format | names | feature | remarks |
//! |---|---|---|---|
//! | JSON Lines | `.jsonl`, `.ndjson` | | a line is a row; JSON has no NaN: it is written as null |
//! | CSV | `.csv` | `csv` | with a heading; a row has no lists |
//! | Arrow IPC | `.arrow`, `.feather`, `.ipc` | `arrow` | the file format, not compressed |
//! | Parquet | `.parquet` | `parquet` | written with Snappy; read with Snappy or uncompressed |
//!
//! What is wrong is said with file, line, column and field ([`DataError`]). A bad row does not end
//! a file of lines: the next one may be read. A file that is written appears when it is
//! [finished](RowFile::finish), whole or not at all.
//!
//! ```
//! use actinium_events::data::{RowFile, Rows};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Hit { channel: u32, energy: f64 }
//!
//! # let path = std::env::temp_dir().join(format!("actinium-doc-{}.jsonl", std::process::id()));
//! let mut file = RowFile::create(&path)?;
//! file.write(&Hit { channel: 7, energy: 0.5 })?;
//! file.finish()?;
//!
//! let hits: Vec<Hit> = Rows::open(&path)?.collect::<Result<_, _>>()?;
//! assert_eq!(hits, [Hit { channel: 7, energy: 0.5 }]);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "arrow")]
mod arrow;
mod awaits;
mod by_file;
mod by_run;
#[cfg(feature = "csv")]
mod csv;
mod error;
mod files;
mod group;
mod json_lines;
mod modules;
mod number_by;
#[cfg(feature = "parquet")]
mod parquet;
mod read;
mod read_ahead;
mod sources;
mod streams;
mod write;

use std::path::Path;

pub use awaits::{AsyncSource, Awaits};
pub use by_file::ByFile;
pub use by_run::ByRun;
pub use error::DataError;
use error::Fault;
pub use files::Files;
pub use group::Groups;
pub use modules::{RowOutput, Writing};
pub use number_by::NumberBy;
pub use read::Rows;
pub use read_ahead::ReadAhead;
pub use sources::{RowsExt, SourceExt};
pub use write::RowFile;

/// How rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One JSON value per line.
    JsonLines,
    /// Values between commas, below a heading; needs the feature `csv`.
    Csv,
    /// Arrow's file format; needs the feature `arrow`.
    Arrow,
    /// Parquet; needs the feature `parquet`.
    Parquet,
}

impl Format {
    /// The format that a file's name says.
    ///
    /// ```
    /// use actinium_events::data::Format;
    ///
    /// assert_eq!(Format::of("events.JSONL".as_ref())?, Format::JsonLines);
    /// let error = Format::of("events.root".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("ends in .root"));
    /// # Ok::<(), actinium_events::data::DataError>(())
    /// ```
    pub fn of(path: &Path) -> Result<Format, DataError> {
        let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
        match end.as_deref() {
            Some("jsonl" | "ndjson") => Ok(Format::JsonLines),
            Some("csv") => Ok(Format::Csv),
            Some("arrow" | "feather" | "ipc") => Ok(Format::Arrow),
            Some("parquet") => Ok(Format::Parquet),
            end => {
                let what = end.map_or("has no ending".into(), |end| format!("ends in .{end}"));
                let known = ".jsonl, .ndjson, .csv, .arrow, .feather, .ipc and .parquet";
                Err(Fault::new(format!("the name {what}; known are {known}")).of(path))
            }
        }
    }
}

/// A format whose feature is off.
#[cfg(not(all(feature = "csv", feature = "parquet")))]
fn not_built(feature: &str) -> Fault {
    Fault::new(format!(
        "this program was built without the feature `{feature}`, which reads and writes this format"
    ))
}
