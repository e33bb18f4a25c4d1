//! Flight recorders of programs with event graphs, nodes and gateways, and the ills of those; each
//! has a twin that is well.

#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "events")]
mod events;
#[cfg(feature = "gateway")]
mod gateway;

use actinium::monitor::{Diagnosis, Finding, FlightRecorder, diagnose};
use std::time::Duration;

/// Between two looks of a test.
const PAUSE: Duration = Duration::from_millis(50);
/// Looks of a test until it gives up: minutes.
const PATIENCE: usize = 4_000;

/// Drives a system until this is diagnosed.
#[track_caller]
fn is_accused_of(recorder: &FlightRecorder, ill: Diagnosis, mut drive: impl FnMut()) -> Finding {
    let mut last = Vec::new();
    for _ in 0..PATIENCE {
        drive();
        last = diagnose(&recorder.flight("a test").expect("it records"));
        if let Some(found) = last.iter().find(|it| it.diagnosis == ill) {
            println!("{found}");
            return found.clone();
        }
        std::thread::park_timeout(PAUSE);
    }
    panic!("no {ill}, but {last:?}");
}

/// Drives a system until this has happened, and no ill is diagnosed meanwhile but too few CPUs,
/// which may be true of the machine that the test runs on.
#[track_caller]
fn is_well(recorder: &FlightRecorder, mut has_happened: impl FnMut() -> bool) {
    for _ in 0..PATIENCE {
        let is_enough = has_happened();
        let mut found = diagnose(&recorder.flight("a test").expect("it records"));
        found.retain(|it| it.diagnosis != Diagnosis::OversubscribedCores);
        assert!(found.is_empty(), "{found:?}");
        if is_enough {
            return;
        }
        std::thread::park_timeout(PAUSE);
    }
    panic!("it does not happen");
}
