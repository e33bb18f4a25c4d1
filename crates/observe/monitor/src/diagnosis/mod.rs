//! What is wrong with a program, in words: pure functions from what was recorded to findings.
//!
//! | module | what it looks for |
//! |---|---|
//! | `waiting` | starvation, mailboxes that grow, actors that are muted or wait for each other |
//! | `turns` | turns that do not end, hot actors, chatty workers, actors far from their memory |
//! | `machine` | threads without a CPU |
//! | `outside` | event graphs and links between nodes |
//! | `whole_run` | what the recording of a whole run says |
//! | `thresholds` | from when on something is said, and why |

mod finding;
mod machine;
mod outside;
mod thresholds;
mod turns;
mod view;
mod waiting;
mod whole_run;

pub use finding::{Diagnosis, Finding, Severity};
pub(crate) use machine::wanted_cpus;
pub use whole_run::diagnose_run;

use crate::flight::{Cause, Flight};
use view::{count, name_of};

/// Says what is wrong with a system, as far as its last seconds show: what matters most comes
/// first. Nothing is said about a system that is well.
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::{FlightRecorder, diagnose};
///
/// let system = System::builder().workers(1).build()?;
/// let recorder = FlightRecorder::of_or_in_memory(&system)?;
/// assert!(diagnose(&recorder.flight("is it well?")?).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn diagnose(flight: &Flight) -> Vec<Finding> {
    let checks: [fn(&Flight) -> Vec<Finding>; 11] = [
        turns::stuck,
        waiting::mutual,
        waiting::starvation,
        waiting::growth,
        waiting::muted,
        turns::hot,
        turns::chatty,
        turns::far,
        machine::oversubscribed,
        outside::graphs,
        outside::links,
    ];
    let mut found: Vec<_> = checks.iter().flat_map(|check| check(flight)).collect();
    if flight.reason.cause == Cause::Standstill
        && found.iter().all(|it| it.severity != Severity::Critical)
    {
        found.push(standstill(flight));
    }
    found.sort_by_key(|it| (it.severity, it.diagnosis));
    found
}

/// Nothing moves, and nobody knows why.
fn standstill(flight: &Flight) -> Finding {
    let walk = flight.walks.last();
    let fullest = walk.and_then(|walk| walk.mailboxes.first());
    let fullest = fullest.map_or_else(String::new, |it| {
        format!(" Most of them wait for {}: {}.", name_of(it), count(it.queued, "message"))
    });
    let queued = flight.looks.last().map_or(0, |look| look.queued);
    let text = format!(
        "Nothing moves, although {}.{fullest}",
        match queued {
            1 => "1 message waits".to_owned(),
            n => format!("{} wait", count(n, "message")),
        }
    );
    Finding::new(Diagnosis::Standstill, Severity::Critical, text)
        .advise(
            "Look at the walks in the document: who holds, is muted or waits for a restart. If none \
             does, this is a defect of the runtime: please report it with this file.",
        )
        .figure("messages", queued as f64)
}
