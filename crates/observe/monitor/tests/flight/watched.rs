//! A system with a recorder, looked at until something is seen.

use actinium_actor::{System, SystemBuilder};
use actinium_monitor::{
    Diagnosis, Finding, Flight, FlightRecorder, FlightSettings, KeepRecords, diagnose,
};
use std::time::Duration;

/// Between two looks of a test: what it waits for is seen by a thread that needs a CPU, too.
const PAUSE: Duration = Duration::from_millis(50);
/// Looks of a test until it gives up: minutes.
const PATIENCE: usize = 4_000;
/// A system that is well is looked at for longer than any ill needs to be seen.
const WELL_S: f64 = 4.0;

/// A system, and its recorder.
pub(crate) struct Watched {
    pub(crate) system: System,
    pub(crate) recorder: FlightRecorder,
}

impl Watched {
    pub(crate) fn new(builder: SystemBuilder) -> Self {
        Watched::with(builder, KeepRecords::Glimpses)
    }

    pub(crate) fn with(builder: SystemBuilder, records: KeepRecords) -> Self {
        let system = builder.build().expect("a system");
        let settings = FlightSettings::in_memory().records(records);
        let recorder = FlightRecorder::start(&system, settings).expect("a recorder");
        Watched { system, recorder }
    }

    pub(crate) fn flight(&self) -> Flight {
        self.recorder.flight("a test").expect("it records")
    }

    /// Drives the system until this is diagnosed, and returns the finding.
    #[track_caller]
    pub(crate) fn is_accused_of(&self, ill: Diagnosis, mut drive: impl FnMut()) -> Finding {
        let mut last = Vec::new();
        for _ in 0..PATIENCE {
            drive();
            last = diagnose(&self.flight());
            if let Some(found) = last.iter().find(|it| it.diagnosis == ill) {
                println!("{found}");
                assert!(!found.advice.is_empty() && !found.figures.is_empty(), "{found:?}");
                return found.clone();
            }
            std::thread::park_timeout(PAUSE);
        }
        panic!("no {ill}, but {last:?}");
    }

    /// Drives the system for longer than any ill needs to be seen: there is none. (Too few CPUs may
    /// be the ill of the machine that the test runs on, and are not the system's.)
    #[track_caller]
    pub(crate) fn is_well(&self, mut drive: impl FnMut()) {
        for _ in 0..PATIENCE {
            drive();
            let flight = self.flight();
            let mut found = diagnose(&flight);
            found.retain(|it| it.diagnosis != Diagnosis::OversubscribedCores);
            assert!(found.is_empty(), "{found:?}");
            if flight.seconds() >= WELL_S {
                return;
            }
            std::thread::park_timeout(PAUSE);
        }
        panic!("the recorder has stopped to look");
    }
}
