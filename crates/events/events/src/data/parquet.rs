//! Parquet: Arrow's columns, compressed.

use std::fs::File;

use actinium_observe::file::NewFile;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::de::DeserializeOwned;

use super::arrow::{Batches, Reader, Writer, columns, guarded};
use super::error::Fault;

pub(super) fn read<T: DeserializeOwned>(
    file: File,
) -> Result<Reader<T, ParquetRecordBatchReader>, Fault> {
    let batches = guarded(|| ParquetRecordBatchReaderBuilder::try_new(file)?.build())?;
    let schema = arrow::array::RecordBatchReader::schema(&batches);
    Ok(Reader::new(batches, schema))
}

pub(super) fn write<T: DeserializeOwned>(
    file: NewFile,
) -> Result<Writer<ArrowWriter<NewFile>>, Fault> {
    let (fields, schema) = columns::<T>()?;
    let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    Writer::new(&fields, ArrowWriter::try_new(file, schema, Some(snappy))?)
}

impl Batches for ArrowWriter<NewFile> {
    fn batch(&mut self, batch: &arrow::array::RecordBatch) -> Result<(), Fault> {
        Ok(self.write(batch)?)
    }

    fn end(self) -> Result<NewFile, Fault> {
        Ok(self.into_inner()?)
    }
}
