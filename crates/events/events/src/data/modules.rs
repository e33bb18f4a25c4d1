//! Files as modules of a graph: a source that reads rows, an output that writes them.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Serialize, de::DeserializeOwned};

use super::error::Fault;
use super::{DataError, Files, Format, RowFile, Rows};
use crate::{Cause, Event, Handle, Input, Inputs, Next, Output, Product, Source};

/// The rows are the events. A row that cannot be read ends the run after the events before it.
impl<T: Product> Source for Rows<T> {
    type Product = T;

    fn next(&mut self, _number: u64) -> Result<Next<T>, Cause> {
        match Iterator::next(self) {
            Some(row) => Ok(Next::Event(row?)),
            None => Ok(Next::End),
        }
    }
}

/// The rows of all files are the events. A row that cannot be read ends the run after the events
/// before it.
impl<T: Product + DeserializeOwned> Source for Files<T> {
    type Product = T;

    fn next(&mut self, _number: u64) -> Result<Next<T>, Cause> {
        match Iterator::next(self) {
            Some(row) => Ok(Next::Event(row?)),
            None => Ok(Next::End),
        }
    }
}

/// A file of one product per event. Whoever runs the graph keeps it, gives the graph its
/// [module](RowOutput::module), and finishes the file after the run; dropped before, it leaves no
/// file.
///
/// ```
/// use actinium_events::data::{RowOutput, Rows};
/// use actinium_events::{Builder, Processor, Settings, Threads};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
/// struct Hit { channel: u32 }
///
/// # let folder = std::env::temp_dir().join(format!("actinium-doc-output-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let (from, to) = (folder.join("hits.jsonl"), folder.join("copy.jsonl"));
/// # std::fs::write(&from, "{\"channel\":7}\n{\"channel\":8}\n")?;
/// let copy = RowOutput::create(&to)?;
/// let (mut builder, hits) = Builder::with_source("hits", Rows::<Hit>::open(&from)?);
/// builder.output("copy", Threads::Serial, copy.of(hits));
/// let summary = Processor::new(builder.build()?, Settings::default()).run()?;
///
/// assert_eq!((summary.events, copy.finish()?), (2, 2));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowOutput<T> {
    path: Arc<Path>,
    /// None once it is finished. As a serial module is never entered twice, nobody ever waits for
    /// this lock.
    file: Arc<Mutex<Option<RowFile<T>>>>,
}

impl<T> Clone for RowOutput<T> {
    fn clone(&self) -> Self {
        RowOutput { path: self.path.clone(), file: self.file.clone() }
    }
}

impl<T: Product + Serialize + DeserializeOwned> RowOutput<T> {
    /// Begins a file whose name says its format.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        RowOutput::create_as(path, Format::of(path)?)
    }

    /// Begins a file of this format, whatever its name.
    pub fn create_as(path: impl AsRef<Path>, format: Format) -> Result<Self, DataError> {
        let file = RowFile::create_as(&path, format)?;
        Ok(RowOutput { path: path.as_ref().into(), file: Arc::new(Mutex::new(Some(file))) })
    }

    fn is_finished(&self) -> DataError {
        Fault::new("it is finished already").of(&self.path)
    }

    /// The module that writes this input. Register it as serial: a file is written by one at a
    /// time.
    #[must_use]
    pub fn module(&self, input: Input<T>) -> Writing<T> {
        Writing { output: self.clone(), input }
    }

    /// The factory of the module that writes this product, to be registered as serial.
    pub fn of(&self, product: Handle<T>) -> impl FnMut(&mut Inputs) -> Writing<T> + Send + use<T> {
        let output = self.clone();
        move |inputs| output.module(inputs.get(product))
    }

    /// Puts the file in its place; answers with the number of rows.
    ///
    /// # Errors
    /// If the file cannot be written, or was finished before.
    pub fn finish(&self) -> Result<u64, DataError> {
        let file = self.lock().take();
        file.map_or_else(|| Err(self.is_finished()), RowFile::finish)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RowFile<T>>> {
        // A row that panicked while it was written has been noted by the file.
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The module that writes rows: see [`RowOutput`].
#[derive(Debug)]
pub struct Writing<T> {
    output: RowOutput<T>,
    input: Input<T>,
}

impl<T: Product + Serialize + DeserializeOwned> Output for Writing<T> {
    fn write(&self, event: &Event<'_>) -> Result<(), Cause> {
        let row = event.get(self.input);
        match self.output.lock().as_mut() {
            Some(file) => Ok(file.write(&row)?),
            None => Err(self.output.is_finished().into()),
        }
    }
}
