//! What a flight recorder is told.

use std::path::PathBuf;
use std::time::Duration;

/// Which records of the workers a flight recorder has kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeepRecords {
    /// For 10 ms in each half second: a turn takes about a tenth of a microsecond longer meanwhile.
    #[default]
    Glimpses,
    /// All the time.
    Always,
    /// None.
    Never,
}

/// How a flight recorder works, and where it writes.
///
/// ```
/// use actinium_monitor::FlightSettings;
/// use std::time::Duration;
///
/// let settings = FlightSettings::new("flight.json").seconds(30).standstill(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FlightSettings {
    /// `None`: in memory only.
    pub(crate) path: Option<PathBuf>,
    pub(crate) seconds: u64,
    pub(crate) files: usize,
    pub(crate) standstill: Option<Duration>,
    pub(crate) records: KeepRecords,
}

impl FlightSettings {
    /// Writes to this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        FlightSettings { path: Some(path.into()), ..FlightSettings::in_memory() }
    }

    /// Writes nothing: the last seconds are in memory only, for whoever asks
    /// ([`FlightRecorder::flight`](crate::FlightRecorder::flight)).
    pub fn in_memory() -> Self {
        FlightSettings {
            path: None,
            seconds: 10,
            files: 4,
            standstill: Some(Duration::from_secs(10)),
            records: KeepRecords::Glimpses,
        }
    }

    /// Keeps the last so many seconds: 1 to 600. Default: 10.
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds.clamp(1, 600);
        self
    }

    /// Keeps at most so many files, at least one. Default: 4. The newest one has the name that was
    /// given, such as `flight.json`, the one before is `flight.1.json`, and so on.
    pub fn files(mut self, files: usize) -> Self {
        self.files = files.max(1);
        self
    }

    /// Writes when nothing has moved for so long although messages wait. Default: 10 s. `None`:
    /// never for that reason.
    pub fn standstill(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.standstill = after.into();
        self
    }

    /// Says which records of the workers are kept. While a trace is written, they are the trace's,
    /// and the document says so.
    pub fn records(mut self, records: KeepRecords) -> Self {
        self.records = records;
        self
    }
}

impl<P: Into<PathBuf>> From<P> for FlightSettings {
    fn from(path: P) -> Self {
        FlightSettings::new(path)
    }
}
