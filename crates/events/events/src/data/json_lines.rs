//! One JSON value per line.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read as _, Write as _};
use std::marker::PhantomData;

use actinium_observe::file::NewFile;
use serde::{Serialize, de::DeserializeOwned};

use super::error::Fault;
use super::streams;

/// A longer line is a file of something else.
const LINE_BYTES_MAX: u64 = 256 << 20;

pub(super) struct Reader<T> {
    file: BufReader<File>,
    line: Vec<u8>,
    number: u64,
    ended: bool,
    row: PhantomData<fn() -> T>,
}

impl<T> Reader<T> {
    pub(super) fn new(file: File) -> Self {
        let file = BufReader::with_capacity(1 << 16, file);
        Reader { file, line: Vec::new(), number: 0, ended: false, row: PhantomData }
    }

    /// Reads the next line; false at the end.
    fn advance(&mut self) -> Result<bool, Fault> {
        self.line.clear();
        self.number += 1;
        let read = (&mut self.file).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line);
        let at = |cause: String| Fault { line: Some(self.number), ..Fault::new(cause) };
        let read = read.map_err(|error| at(error.to_string()))?;
        if read as u64 == LINE_BYTES_MAX && !self.line.ends_with(b"\n") {
            return Err(at(format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20)));
        }
        Ok(read > 0)
    }
}

impl<T: DeserializeOwned> streams::Read<T> for Reader<T> {
    fn next(&mut self) -> Option<Result<T, Fault>> {
        while !self.ended {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => self.ended = true,
                Err(fault) => {
                    self.ended = true;
                    return Some(Err(fault));
                }
            }
            let mut line = self.line.as_slice();
            if self.number == 1 {
                // A byte-order mark, as some editors write.
                line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            }
            if !line.trim_ascii().is_empty() {
                let row = serde_json::from_slice(line);
                return Some(row.map_err(|_| explain::<T>(line, self.number)));
            }
        }
        None
    }
}

/// Reads a bad line again, slowly, to find out which field it is.
fn explain<T: DeserializeOwned>(line: &[u8], number: u64) -> Fault {
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = serde_path_to_error::deserialize::<_, T>(&mut json);
    let (field, error) = match read.map(|_| json.end()) {
        Ok(Ok(())) => return Fault { line: Some(number), ..Fault::new("the line cannot be read") },
        Ok(Err(error)) => (None, error),
        Err(error) => {
            let path = error.path().to_string();
            // "." is the whole line; a syntax error is nobody's field.
            let known = path != "." && error.inner().is_data();
            (known.then_some(path), error.into_inner())
        }
    };
    let text = error.to_string();
    // Every line is the first one to the parser.
    let cause = text.rsplit_once(" at line ").map_or(text.as_str(), |(cause, _)| cause);
    let column = (error.column() > 0).then_some(error.column() as u64);
    Fault { line: Some(number), column, row: None, field, cause: cause.to_owned() }
}

pub(super) struct Writer {
    file: BufWriter<NewFile>,
}

impl Writer {
    pub(super) fn new(file: NewFile) -> Self {
        Writer { file: BufWriter::with_capacity(1 << 16, file) }
    }
}

impl<T: Serialize> streams::Write<T> for Writer {
    fn row(&mut self, row: &T) -> Result<(), Fault> {
        serde_json::to_writer(&mut self.file, row)?;
        self.file.write_all(b"\n")?;
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<NewFile, Fault> {
        self.file.into_inner().map_err(|error| Fault::new(error.error()))
    }
}
