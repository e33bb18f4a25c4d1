//! Arrow: rows that are stored as columns. The files' own format here; `parquet.rs` has the other
//! one.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::marker::PhantomData;
use std::sync::Arc;

use actinium_observe::file::NewFile;
use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::{reader::FileReader, writer::FileWriter};
use serde::{Serialize, de::DeserializeOwned};
use serde_arrow::schema::{SchemaLike, TracingOptions};
use serde_arrow::{ArrayBuilder, Deserializer};

use super::error::Fault;
use super::streams;

/// How many rows are turned from columns into rows at a time, so that a batch of millions does not
/// stand in memory twice.
const ROWS_AT_ONCE: usize = 256;
/// How many rows make a batch of a file that is written.
const BATCH_ROWS: usize = 8_192;

/// Batches from any file, as rows.
pub(super) struct Reader<T, B> {
    batches: B,
    batch: RecordBatch,
    /// The row of `batch` that comes next but for those in `rows`.
    next: usize,
    /// Rows of the file before `batch`.
    before: u64,
    rows: std::vec::IntoIter<Result<T, Fault>>,
    ended: bool,
    row: PhantomData<fn() -> T>,
}

type IpcBatches = FileReader<BufReader<File>>;

impl<T: DeserializeOwned> Reader<T, IpcBatches> {
    pub(super) fn ipc(file: File) -> Result<Self, Fault> {
        let batches = guarded(|| FileReader::try_new(BufReader::new(file), None))?;
        let schema = batches.schema();
        Ok(Reader::new(batches, schema))
    }
}

impl<T, B> Reader<T, B> {
    pub(super) fn new(batches: B, schema: SchemaRef) -> Self {
        Reader {
            batches,
            batch: RecordBatch::new_empty(schema),
            next: 0,
            before: 0,
            rows: Vec::new().into_iter(),
            ended: false,
            row: PhantomData,
        }
    }
}

impl<T, B> streams::Read<T> for Reader<T, B>
where
    T: DeserializeOwned + Send,
    B: Iterator<Item = Result<RecordBatch, ArrowError>> + Send,
{
    fn next(&mut self) -> Option<Result<T, Fault>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(row);
            }
            if self.ended {
                return None;
            }
            let filled =
                if self.next < self.batch.num_rows() { self.fill() } else { self.advance() };
            if let Err(fault) = filled {
                self.ended = true;
                return Some(Err(fault));
            }
        }
    }
}

impl<T, B> Reader<T, B>
where
    T: DeserializeOwned + Send,
    B: Iterator<Item = Result<RecordBatch, ArrowError>> + Send,
{
    /// Goes to the next batch.
    fn advance(&mut self) -> Result<(), Fault> {
        self.before += self.batch.num_rows() as u64;
        self.next = 0;
        let at_row = |fault: Fault| Fault { row: Some(self.before + 1), ..fault };
        match guarded(|| self.batches.next().transpose()).map_err(at_row)? {
            Some(batch) => self.batch = batch,
            None => {
                self.batch = RecordBatch::new_empty(self.batch.schema());
                self.ended = true;
            }
        }
        Ok(())
    }

    /// Turns the next few rows of the batch into rows.
    fn fill(&mut self) -> Result<(), Fault> {
        let length = ROWS_AT_ONCE.min(self.batch.num_rows() - self.next);
        let slice = self.batch.slice(self.next, length);
        let first = self.before + self.next as u64 + 1;
        let columns = Deserializer::from_record_batch(&slice)
            .map_err(|error| Fault { row: Some(first), ..Fault::new(error.message()) })?;
        let row = |(at, number)| {
            let item = columns.get(at)?;
            Some(T::deserialize(item).map_err(|_| explain::<T>(&columns, at, number)))
        };
        self.rows = (0..length).zip(first..).filter_map(row).collect::<Vec<_>>().into_iter();
        self.next += length;
        Ok(())
    }
}

/// Reads a bad row again, slowly, to find out which field it is.
fn explain<T: DeserializeOwned>(columns: &Deserializer<'_>, at: usize, row: u64) -> Fault {
    let unknown = Fault { row: Some(row), ..Fault::new("the row cannot be read") };
    let Some(item) = columns.get(at) else { return unknown };
    match serde_path_to_error::deserialize::<_, T>(item) {
        Ok(_) => unknown,
        Err(error) => {
            let path = error.path().to_string();
            let cause = error.inner().message().to_owned();
            Fault { field: (path != ".").then_some(path), cause, ..unknown }
        }
    }
}

/// Calls what reads a foreign file. A panic in there is a fault of the file: some lengths are not
/// checked before they are used.
pub(super) fn guarded<R, E: std::error::Error>(
    read: impl FnOnce() -> Result<R, E>,
) -> Result<R, Fault> {
    match actinium_scheduler::guard::catch(read) {
        Ok(result) => result.map_err(|error| Fault::new(error)),
        Err(_) => Err(Fault::new("the file is damaged: its reader panicked")),
    }
}

/// Where batches go.
pub(super) trait Batches: Send {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Fault>;
    fn end(self) -> Result<NewFile, Fault>;
}

/// Rows gathered into batches.
pub(super) struct Writer<B> {
    rows: ArrayBuilder,
    gathered: usize,
    batches: B,
}

/// The columns that rows of this type have.
pub(super) fn columns<T: DeserializeOwned>() -> Result<(Vec<FieldRef>, SchemaRef), Fault> {
    // Text as `Utf8`, which every reader knows, and maps whose keys differ from row to row as maps.
    let options =
        TracingOptions::default().strings_as_large_utf8(false).sequence_as_large_list(false);
    let fields = Vec::<FieldRef>::from_type::<T>(options).map_err(|error| {
        Fault::new(format!("the row's type has no columns: {}", error.message()))
    })?;
    let schema = Arc::new(Schema::new(fields.clone()));
    Ok((fields, schema))
}

impl Writer<FileWriter<BufWriter<NewFile>>> {
    pub(super) fn ipc<T: DeserializeOwned>(file: NewFile) -> Result<Self, Fault> {
        let (fields, schema) = columns::<T>()?;
        let batches = FileWriter::try_new(BufWriter::new(file), &schema)?;
        Writer::new(&fields, batches)
    }
}

impl<B: Batches> Writer<B> {
    pub(super) fn new(fields: &[FieldRef], batches: B) -> Result<Self, Fault> {
        Ok(Writer { rows: ArrayBuilder::from_arrow(fields)?, gathered: 0, batches })
    }

    fn flush(&mut self) -> Result<(), Fault> {
        if self.gathered > 0 {
            self.gathered = 0;
            self.batches.batch(&self.rows.to_record_batch()?)?;
        }
        Ok(())
    }
}

impl<T: Serialize, B: Batches> streams::Write<T> for Writer<B> {
    fn row(&mut self, row: &T) -> Result<(), Fault> {
        self.rows.push(row).map_err(|error| Fault::new(error.message()))?;
        self.gathered += 1;
        if self.gathered == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    fn end(mut self: Box<Self>) -> Result<NewFile, Fault> {
        self.flush()?;
        self.batches.end()
    }
}

impl Batches for FileWriter<BufWriter<NewFile>> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        Ok(self.write(batch)?)
    }

    fn end(self) -> Result<NewFile, Fault> {
        self.into_inner()?.into_inner().map_err(|error| Fault::new(error.error()))
    }
}
