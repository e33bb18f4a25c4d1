//! Values between commas, below a heading.

use std::fs::File;
use std::marker::PhantomData;

use actinium_observe::file::NewFile;
use csv::{ErrorKind, StringRecord};
use serde::{Serialize, de::DeserializeOwned};

use super::error::Fault;
use super::streams;

pub(super) struct Reader<T> {
    file: csv::Reader<File>,
    heading: StringRecord,
    ended: bool,
    row: PhantomData<fn() -> T>,
}

impl<T> Reader<T> {
    pub(super) fn new(file: File) -> Result<Self, Fault> {
        let mut file = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
        let none = StringRecord::new();
        let heading = file.headers().cloned().map_err(|error| explain(&error, &none))?;
        if let Some(twice) = repeated(&heading) {
            let fault = Fault::new("two columns have this heading");
            return Err(Fault { line: Some(1), field: Some(twice), ..fault });
        }
        Ok(Reader { file, heading, ended: false, row: PhantomData })
    }
}

/// A heading that stands there twice: serde would not know which to take.
fn repeated(heading: &StringRecord) -> Option<String> {
    let at = |n: usize| heading.iter().take(n);
    heading
        .iter()
        .enumerate()
        .find(|(n, name)| at(*n).any(|other| other == *name))
        .map(|(_, name)| name.to_owned())
}

impl<T: DeserializeOwned> streams::Read<T> for Reader<T> {
    fn next(&mut self) -> Option<Result<T, Fault>> {
        if self.ended {
            return None;
        }
        let mut record = StringRecord::new();
        match self.file.read_record(&mut record) {
            Ok(false) => {
                self.ended = true;
                None
            }
            Ok(true) => Some(
                record
                    .deserialize(Some(&self.heading))
                    .map_err(|error| explain(&error, &self.heading)),
            ),
            Err(error) => {
                // A line that is no text or has too few fields is passed by; what the disk refuses
                // is the end.
                self.ended = matches!(error.kind(), ErrorKind::Io(_));
                Some(Err(explain(&error, &self.heading)))
            }
        }
    }
}

fn explain(error: &csv::Error, heading: &StringRecord) -> Fault {
    let line = error.position().map(csv::Position::line);
    let (field, cause) = match error.kind() {
        ErrorKind::Deserialize { err, .. } => {
            let name = err.field().and_then(|at| heading.get(at as usize)).map(str::to_owned);
            (name, err.kind().to_string())
        }
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            (None, format!("{len} fields where the heading has {expected_len}"))
        }
        ErrorKind::Utf8 { err, .. } => {
            let name = heading.get(err.field()).map(str::to_owned);
            (name, format!("not UTF-8 after {} bytes", err.valid_up_to()))
        }
        ErrorKind::Io(error) => (None, error.to_string()),
        _ => (None, error.to_string()),
    };
    Fault { line, column: None, row: None, field, cause }
}

pub(super) struct Writer {
    file: csv::Writer<NewFile>,
}

impl Writer {
    pub(super) fn new(file: NewFile) -> Self {
        Writer { file: csv::Writer::from_writer(file) }
    }
}

impl<T: Serialize> streams::Write<T> for Writer {
    fn row(&mut self, row: &T) -> Result<(), Fault> {
        self.file.serialize(row).map_err(|error| explain(&error, &StringRecord::new()))
    }

    fn end(self: Box<Self>) -> Result<NewFile, Fault> {
        self.file.into_inner().map_err(|error| Fault::new(error.error()))
    }
}
