//! What the recording of a whole run says: less than a flight recorder's document, for it has no
//! records of turns, and knows who waited only by the fullest mailboxes.

use super::finding::{Diagnosis, Finding, Severity};
use super::machine::oversubscribed_run;
use super::thresholds::{GROWN_S, GROWN_WALKS};
use super::view::{grouped, rise, short};
use crate::recording::Recording;

/// Says what is wrong with a system, as far as the recording of its run shows
/// ([`Monitored::report`](crate::Monitored::report) with a file that ends in `.json`).
///
/// ```
/// use actinium_monitor::{Recording, diagnose_run};
///
/// assert!(diagnose_run(&Recording::default()).is_empty());
/// ```
#[must_use]
pub fn diagnose_run(recording: &Recording) -> Vec<Finding> {
    let mut found: Vec<_> = stuck(recording).collect();
    found.extend(growth(recording));
    found.extend(oversubscribed_run(&recording.process));
    found.sort_by_key(|it| (it.severity, it.diagnosis));
    found
}

/// Workers that were given up at the end.
fn stuck(recording: &Recording) -> impl Iterator<Item = Finding> {
    let given_up = recording.end.iter().filter(|(name, _)| name.starts_with("given up"));
    given_up.map(|(_, who)| {
        let text = format!("At the end of the system, {who} had not returned from its turn.");
        Finding::new(Diagnosis::StuckWorker, Severity::Critical, text).advise(
            "It waits in code that blocks, or computes for long: do that elsewhere \
             (Context::offload). A flight recorder shows what the thread does meanwhile \
             (ACTINIUM_FLIGHT=flight.json).",
        )
    })
}

/// Messages that wait grew until the end.
fn growth(recording: &Recording) -> Option<Finding> {
    let samples = &recording.samples;
    // The system may have drained: what counts is the way up to the most.
    let (top, most) = samples.iter().enumerate().max_by_key(|(at, it)| (it.queued, *at))?;
    let risen = &samples[..=top];
    let seconds = most.at_s - risen.first()?.at_s;
    // A wave has its top in the middle.
    let is_late = top * 4 >= samples.len() * 3;
    if seconds < GROWN_S || top < GROWN_WALKS || !is_late {
        return None;
    }
    let lengths: Vec<u64> = risen.iter().map(|it| it.queued).collect();
    let (first, last) = rise(&lengths)?;
    let fullest = recording.mailboxes.first();
    let fullest = fullest.map_or_else(String::new, |it| {
        let (actor, kind) = (&it.actor, short(&it.kind));
        format!(" The fullest mailbox was that of {actor} ({kind}): {}.", grouped(it.queued_max))
    });
    let text = format!(
        "The messages that wait grew for {seconds:.1} s, from {} to {}.{fullest}",
        grouped(first),
        grouped(last),
    );
    let finding = Finding::new(Diagnosis::GrowingMailbox, Severity::Warning, text).advise(
        "Bound the mailbox (SpawnOptions::mailbox, Mailbox::bounded): then senders are held back. \
         Or share the work among several actors (Router, Pool).",
    );
    Some(finding.figure("messages", last as f64).figure("seconds", seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{MailboxFigures, Sample};
    use actinium_observe::process::ProcessFigures;

    fn of(queued: impl IntoIterator<Item = u64>) -> Recording {
        let sample = |(at, queued)| Sample { at_s: at as f64, queued, ..Sample::default() };
        let samples = queued.into_iter().enumerate().map(sample).collect();
        let mailbox = MailboxFigures {
            actor: "actor 7".to_owned(),
            kind: "a::Slow".to_owned(),
            queued_max: 9_000,
            at_s: 1.0,
        };
        Recording { samples, mailboxes: vec![mailbox], ..Recording::default() }
    }

    #[test]
    fn a_backlog_that_grows_is_named_and_a_wave_is_not() {
        let found = diagnose_run(&of((0..20).map(|n| n * 1_000)));
        assert_eq!(found[0].diagnosis, Diagnosis::GrowingMailbox);
        assert!(found[0].seen.contains("actor 7 (Slow): 9,000"), "{}", found[0].seen);
        let wave = (0..20).map(|n| if n < 10 { n * 1_000 } else { (20 - n) * 1_000 });
        assert_eq!(diagnose_run(&of(wave)), []);
        assert_eq!(diagnose_run(&of((0..20).map(|n| n % 2 * 5_000))), []);
        assert_eq!(diagnose_run(&of([0; 20])), []);
    }

    #[test]
    fn a_process_that_waited_for_cpus_is_named_and_who_had_enough_is_not() {
        let run = |elapsed_s: f64, cpu_s: f64, ready_s: f64| {
            let cpus_allowed = (0..2).collect();
            let process = ProcessFigures {
                elapsed_s,
                cpu_s,
                ready_s,
                cpus_allowed,
                ..ProcessFigures::default()
            };
            let recording = Recording { process, ..Recording::default() };
            let found = diagnose_run(&recording);
            // Its page says so, too.
            let is_shown = recording.page().html().contains("CPUs wanted");
            assert_eq!(is_shown, !found.is_empty());
            found
        };
        assert_eq!(run(10.0, 12.0, 2.9), [], "less than a fifth of what they wanted");
        assert_eq!(run(0.9, 1.2, 0.8), [], "too short to tell");
        assert_eq!(run(10.0, 2.0, 2.9), [], "they hardly want any");
        let [beside_others] = &run(10.0, 12.0, 8.0)[..] else { panic!("one finding") };
        assert_eq!(beside_others.diagnosis, Diagnosis::OversubscribedCores);
        let says = "for 40 % of the time that they wanted one: they wanted 2.0 CPUs, and got 1.2";
        assert!(beside_others.seen.contains(says), "{}", beside_others.seen);
        assert!(beside_others.advice.contains("what else runs"), "{}", beside_others.advice);
        let [too_many] = &run(10.0, 12.0, 88.0)[..] else { panic!("one finding") };
        assert!(too_many.advice.contains("as many workers"), "{}", too_many.advice);
    }

    #[test]
    fn a_worker_that_was_given_up_is_named() {
        let end = vec![(
            "given up, for it did not return".to_owned(),
            "actor 3 (Stuck) on worker 1".to_owned(),
        )];
        let found = diagnose_run(&Recording { end, ..Recording::default() });
        assert_eq!(found.len(), 1);
        assert!(found[0].seen.contains("actor 3 (Stuck) on worker 1"), "{}", found[0].seen);
    }
}
