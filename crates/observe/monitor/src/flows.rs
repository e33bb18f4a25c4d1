//! Sampled messages for a trace: the spans of their handlers, and where they were sent.

use actinium_actor::SystemHandle;
use actinium_actor::trace::Span;
use std::sync::{Arc, Mutex, PoisonError};

/// Spans that wait to be written. More are counted, and lost.
const WAITING_MAX: usize = 1 << 16;
/// The share of messages from outside that are followed if the program has not said otherwise.
const SHARE: f64 = 1.0 / 1000.0;

/// The spans that have ended since they were last taken.
#[derive(Debug, Default)]
struct Waiting {
    spans: Vec<Span>,
    lost: u64,
}

/// Sampled messages of a system, until it is dropped.
#[derive(Debug)]
pub(crate) struct Flows {
    waiting: Arc<Mutex<Waiting>>,
    /// The system, if it followed no messages before.
    begun: Option<SystemHandle>,
}

impl Flows {
    /// Those of this system from now on.
    pub(crate) fn of(system: &SystemHandle) -> Self {
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        // The listener stays for as long as the system lives, but keeps nothing.
        let to = Arc::downgrade(&waiting);
        system.on_span(move |span| {
            if let Some(waiting) = to.upgrade() {
                waiting.lock().unwrap_or_else(PoisonError::into_inner).add(span);
            }
        });
        let begun = (!system.traces()).then(|| system.clone());
        if begun.is_some() {
            system.sample_traces(SHARE);
        }
        system.start_flows();
        Flows { waiting, begun }
    }

    /// The spans, and how many are missing.
    pub(crate) fn take(&self) -> (Vec<Span>, u64) {
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        (waiting.spans, waiting.lost)
    }
}

impl Drop for Flows {
    fn drop(&mut self) {
        self.begun.iter().for_each(SystemHandle::stop_traces);
    }
}

impl Waiting {
    fn add(&mut self, span: &Span) {
        if self.spans.len() < WAITING_MAX {
            self.spans.push(span.clone());
        } else {
            self.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::System;

    #[test]
    fn messages_are_followed_for_a_trace_only() {
        let system = System::builder().workers(1).build().expect("it starts");
        let flows = Flows::of(&system);
        assert!(system.traces());
        drop(flows);
        assert!(!system.traces());
        system.sample_traces(1.0);
        drop(Flows::of(&system));
        assert!(system.traces(), "the program's own traces go on");
    }
}
