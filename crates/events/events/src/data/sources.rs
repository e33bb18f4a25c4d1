//! What can be made of rows and of sources.

use super::by_run::ByRun;
use super::group::Groups;
use super::number_by::NumberBy;
use super::read_ahead::ReadAhead;
use crate::{Cause, Product, Source};

/// What can be made of rows: of any iterator over `Result`s, such as [`Rows`](super::Rows) and
/// [`Files`](super::Files).
pub trait RowsExt<T, E>: Iterator<Item = Result<T, E>> + Send + Sized + 'static {
    /// A source whose events are rows that belong together: those that follow each other and have
    /// the same key. An error ends the run after the events before it.
    fn group_by<K, F>(self, key: F) -> Groups<Self, T, F>
    where
        T: Product,
        E: Into<Cause>,
        K: PartialEq,
        F: FnMut(&T) -> K + Send + 'static,
    {
        Groups::new(self, key)
    }
}

impl<I: Iterator<Item = Result<T, E>> + Send + 'static, T, E> RowsExt<T, E> for I {}

/// What can be made of a source.
///
/// ```
/// use actinium_events::data::{Files, RowFile, RowsExt, SourceExt};
/// use actinium_events::{Builder, Processor, Settings};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Hit { run: u64, event: u64, channel: u32 }
///
/// # let folder = std::env::temp_dir().join(format!("actinium-doc-runs-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let paths = [folder.join("a.jsonl"), folder.join("b.jsonl")];
/// for (run, path) in (0..).zip(&paths) {
///     let mut file = RowFile::create(path)?;
///     for hit in 0..6 {
///         file.write(&Hit { run, event: hit / 2, channel: 7 })?;
///     }
///     file.finish()?;
/// }
/// let events = Files::<Hit>::open(&paths)?
///     .group_by(|hit| (hit.run, hit.event))
///     .runs_by(|hits| hits[0].run)
///     .read_ahead(4);
/// let builder = Builder::new("hits", events);
/// let summary = Processor::new(builder.build()?, Settings::default()).run()?.into_result()?;
/// assert_eq!(summary.events, 6);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SourceExt: Source + Sized {
    /// The same events, with the end of a run and the begin of the next where the run changes that
    /// an event says it is of, and around the first and the last run.
    fn runs_by<F: FnMut(&Self::Product) -> u64 + Send + 'static>(
        self,
        run_of: F,
    ) -> ByRun<Self, F> {
        ByRun::new(self, run_of)
    }

    /// The same events with numbers of their own, none twice: `|job| job.id`. Whoever is told of
    /// the end of an event knows it by that: [`Processor::on_end`](crate::Processor::on_end).
    fn number_by<F: FnMut(&Self::Product) -> u64 + Send + 'static>(
        self,
        number_of: F,
    ) -> NumberBy<Self, F> {
        NumberBy::new(self, number_of)
    }

    /// The same events in the same order, read by a thread of their own: at most so many, at least
    /// one, are read before they are asked for. The thread begins with the run and ends when the
    /// source does, or after the run as soon as the source has answered.
    ///
    /// Of a source with [pieces](Source::pieces), read each piece ahead: in the closure of
    /// [`ByFile`](super::ByFile).
    fn read_ahead(self, events: usize) -> ReadAhead<Self> {
        ReadAhead::new(self, events)
    }
}

impl<S: Source> SourceExt for S {}
