//! How things stand in a run, noted at intervals.

use crate::engine::Engine;
use crate::record::Sample;
use crate::status::Status;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Beyond so many samples every other one goes, and the interval doubles.
const SAMPLES_MAX: usize = 4_096;

/// The samples of a run, taken by whoever waits for it.
pub(crate) struct Sampler<'a> {
    engine: &'a Engine,
    status: &'a Status,
    every: Option<Duration>,
    busy_before: Vec<u64>,
    before_ns: u64,
    samples: Vec<Sample>,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(engine: &'a Engine, status: &'a Status) -> Self {
        Sampler {
            engine,
            status,
            every: engine.settings.sample_every,
            busy_before: vec![0; engine.notes.len()],
            before_ns: engine.now_ns(),
            samples: Vec::new(),
        }
    }

    fn next_ns(&self) -> Option<u64> {
        self.every.map(|every| self.before_ns.saturating_add(every.as_nanos() as u64))
    }

    /// The time until the next sample.
    pub(crate) fn due(&self) -> Option<Duration> {
        let now_ns = self.engine.now_ns();
        self.next_ns().map(|next_ns| Duration::from_nanos(next_ns.saturating_sub(now_ns)))
    }

    /// Takes a sample, if it is due.
    pub(crate) fn look(&mut self) {
        let now_ns = self.engine.now_ns();
        if self.next_ns().is_none_or(|next_ns| now_ns < next_ns) {
            return;
        }
        let took_ns = (now_ns - self.before_ns).max(1);
        let mut running = 0;
        let busy = self.engine.notes.iter().zip(&mut self.busy_before).map(|(notes, before)| {
            let since_ns = notes.since_ns.get();
            running += usize::from(since_ns != 0);
            let so_far = notes.busy_ns.get()
                + if since_ns == 0 { 0 } else { now_ns.saturating_sub(since_ns) };
            let ran_ns = so_far.saturating_sub(std::mem::replace(before, so_far));
            (ran_ns as f32 / took_ns as f32).min(1.0)
        });
        let busy = busy.collect();
        // Relaxed: statistics.
        let resources = self.engine.resources.iter();
        let waiting = resources.map(|it| it.waiting.load(Ordering::Relaxed) as u32).collect();
        let in_flight = self.status.counts.in_flight.load(Ordering::Relaxed);
        let at_ns = now_ns.saturating_sub(self.status.start_ns.load(Ordering::Relaxed));
        self.samples.push(Sample { at_ns, running, busy, in_flight, waiting });
        self.before_ns = now_ns;
        if self.samples.len() >= SAMPLES_MAX {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = self.every.map(|every| every * 2);
        }
    }

    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}
