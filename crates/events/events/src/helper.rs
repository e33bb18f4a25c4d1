//! A worker's helper: it runs parts of what modules have split, one per turn.

use crate::over::Over;
use crate::record::{Figures, Span};
use actinium_scheduler::sync::lock;
use actinium_scheduler::task::Task;
use actinium_scheduler::{Turn, Worker};
use std::sync::Arc;

/// One per worker. The run is not over before its helpers have ended.
pub(crate) struct Helper(pub(crate) Arc<Over>);

impl Task for Helper {
    fn run(&self, worker: &Worker) -> (Turn, u32) {
        let engine = &self.0.work.engine;
        let Some((split, part)) = engine.splits.take() else { return (Turn::Idle, 0) };
        let of = split.of;
        let figures = engine.settings.figures;
        let notes = &engine.notes[worker.index()];
        let start_ns = if figures >= Figures::Times { engine.now_ns() } else { 0 };
        if figures >= Figures::Times {
            notes.since_ns.set(start_ns.max(1));
        }
        split.run(part);
        if figures >= Figures::Times {
            let end_ns = engine.now_ns();
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
                lock(&notes.spans).push(span, engine.settings.spans_max);
            }
        }
        (Turn::Again, 1)
    }
}
