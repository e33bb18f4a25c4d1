//! A worker's helper: it runs parts of what modules have split, one per turn.

use crate::engine::Engine;
use crate::record::{Figures, Span};
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::Task;
use actinium_scheduler::{Turn, Worker};
use std::sync::Arc;

/// One per worker.
pub(crate) struct Helper(pub(crate) Arc<Engine>);

impl Task for Helper {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        let Some((split, part)) = self.0.splits.take() else { return (Turn::Idle, 0) };
        let of = split.of;
        let figures = self.0.settings.figures;
        let notes = &self.0.notes[worker.index()];
        let start_ns = if figures >= Figures::Times { self.0.now_ns() } else { 0 };
        if figures >= Figures::Times {
            notes.since_ns.set(start_ns.max(1));
        }
        split.run(part);
        if figures >= Figures::Times {
            let end_ns = self.0.now_ns();
            let took_ns = end_ns.saturating_sub(start_ns);
            notes.since_ns.set(0);
            notes.busy_ns.add(took_ns);
            notes.modules[usize::from(of.module)].busy_ns.add(took_ns);
            if figures == Figures::Spans {
                let span = Span {
                    event: of.event,
                    module: of.module.into(),
                    worker: worker.index() as u32,
                    slot: of.slot,
                    start_ns,
                    end_ns,
                    waits: false,
                };
                lock(&notes.spans).push(span, self.0.settings.spans_max);
            }
        }
        (Turn::Again, 1)
    }
}
