//! Files as the pieces of a source.

use std::fs;
use std::path::{Path, PathBuf};
use std::task::Waker;

use super::DataError;
use super::error::Fault;
use crate::{Cause, Next, Piece, Source};

/// The events of files, one file after the other: each is opened by a function, which returns a
/// source. Of several nodes, each reads some of the files.
///
/// Event `i` of file `f` has the number [`Piece::number`]`(f, i)`, on one node, too.
///
/// ```
/// use actinium_events::data::{ByFile, Files, RowFile, RowsExt};
/// use actinium_events::{Builder, Processor, Settings};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Hit { event: u64, channel: u32 }
///
/// # let folder = std::env::temp_dir().join(format!("actinium-doc-files-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let paths = [folder.join("a.jsonl"), folder.join("b.jsonl")];
/// for path in &paths {
///     let mut file = RowFile::create(path)?;
///     for hit in 0..6 {
///         file.write(&Hit { event: hit / 2, channel: 7 })?;
///     }
///     file.finish()?;
/// }
/// let events = ByFile::new(&paths, |path| {
///     Ok(Files::<Hit>::open([path])?.group_by(|hit| hit.event))
/// })?;
/// let builder = Builder::new("hits", events);
/// let summary = Processor::new(builder.build()?, Settings::default()).run()?.into_result()?;
/// assert_eq!(summary.events, 6);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ByFile<S, F> {
    files: Vec<(PathBuf, Piece)>,
    open: F,
    /// The next file to open, and the one before which to end.
    next: usize,
    end: usize,
    /// The file that is being read, and the next event's place in it.
    source: Option<S>,
    index: u64,
    waker: Waker,
}

impl<S, F> std::fmt::Debug for ByFile<S, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.files.iter().map(|(_, piece)| &piece.name).collect();
        f.debug_struct("ByFile").field("files", &names).finish_non_exhaustive()
    }
}

impl<S: Source, F: FnMut(&Path) -> Result<S, Cause> + Send + 'static> ByFile<S, F> {
    /// Takes a list of files.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn new<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        open: F,
    ) -> Result<Self, DataError> {
        let piece = |path: P| {
            let path = path.as_ref();
            let about = fs::metadata(path).map_err(|error| Fault::new(error).of(path))?;
            // Folders may differ from node to node.
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            Ok((path.to_owned(), Piece { name, bytes: about.len() }))
        };
        let files = paths.into_iter().map(piece).collect::<Result<Vec<_>, DataError>>()?;
        let (end, waker) = (files.len(), Waker::noop().clone());
        Ok(ByFile { files, open, next: 0, end, source: None, index: 0, waker })
    }
}

impl<S: Source, F: FnMut(&Path) -> Result<S, Cause> + Send + 'static> Source for ByFile<S, F> {
    type Product = S::Product;

    fn next(&mut self, _: u64) -> Result<Next<S::Product>, Cause> {
        loop {
            if let Some(source) = &mut self.source {
                match source.next(self.index)? {
                    Next::Event(product) | Next::Numbered(_, product) => {
                        let number = Piece::number(self.next as u32 - 1, self.index);
                        self.index += 1;
                        return Ok(Next::Numbered(number, product));
                    }
                    Next::End => self.source = None,
                    next => return Ok(next),
                }
            }
            if self.next == self.end {
                return Ok(Next::End);
            }
            let mut source = (self.open)(&self.files[self.next].0)?;
            source.attach(&self.waker);
            (self.source, self.index) = (Some(source), 0);
            self.next += 1;
        }
    }

    fn attach(&mut self, waker: &Waker) {
        self.waker = waker.clone();
    }

    fn pieces(&self) -> Vec<Piece> {
        self.files.iter().map(|(_, piece)| piece.clone()).collect()
    }

    fn open(&mut self, piece: u32) -> Result<(), Cause> {
        let next = piece as usize;
        if next >= self.files.len() {
            return Err(format!("piece {piece} of {}", self.files.len()).into());
        }
        (self.next, self.end, self.source) = (next, next + 1, None);
        Ok(())
    }
}
