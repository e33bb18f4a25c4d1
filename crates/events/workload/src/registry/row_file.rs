//! An output that writes a product of each event as a row of a file.

use super::inputs::Slot;
use actinium_events::data::RowFile;
use actinium_events::{Cause, Event, Input, Kept, OutputMut, Product};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Deserialize)]
pub(super) struct Parameters {
    file: PathBuf,
}

/// Writes a file, which is dropped unless it is [finished](finish).
pub(super) struct Writer<T> {
    row: Input<T>,
    file: RowFile<T>,
}

impl<T: Product + Serialize + DeserializeOwned> Writer<T> {
    pub(super) fn create(to: Parameters, (row, slot): (Input<T>, Slot)) -> Result<Self, Cause> {
        match slot.0 {
            Some(_) => Err("it writes one file: it can not be `stream`".into()),
            None => Ok(Writer { row, file: RowFile::create(to.file)? }),
        }
    }
}

impl<T: Product + Serialize + DeserializeOwned> OutputMut for Writer<T> {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        Ok(self.file.write(&event.get(self.row))?)
    }
}

/// Puts the files in their places.
pub(super) fn finish<T>(kept: Kept<Writer<T>>) -> Result<(), Cause>
where
    T: Product + Serialize + DeserializeOwned,
{
    for Writer { file, .. } in kept.take() {
        file.finish()?;
    }
    Ok(())
}
