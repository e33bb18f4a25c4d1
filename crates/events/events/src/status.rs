//! What the handles of a run share, from before its start until after its end.

use crate::counts::Counts;
use crate::histogram::Histogram;
use crate::record::{ModuleFigures, RunProgress, RunSummary};
use actinium_scheduler::clock::Until;
use actinium_scheduler::guard;
use actinium_scheduler::sync::lock;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, OnceLock, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

/// A run, as its handles know it.
pub(crate) trait Controlled: Send + Sync {
    /// Ends as soon as the modules that run return.
    fn finish(&self);
    /// Has a worker ask the source again.
    fn wake_feeder(&self);
    /// Adds what only a run that lasts can tell.
    fn progress(&self, status: &Status, progress: &mut RunProgress);
    /// What its modules have done so far.
    fn modules(&self) -> Vec<ModuleFigures>;
    /// Calls the waker after this time.
    fn wake_after(&self, time: Duration, waker: Waker);
}

/// Ends a run when it is woken.
struct Finish(Weak<dyn Controlled>);

impl Wake for Finish {
    fn wake(self: Arc<Self>) {
        self.0.upgrade().into_iter().for_each(|run| run.finish());
    }
}

/// See the module.
pub(crate) struct Status {
    /// The graph's name.
    pub(crate) name: String,
    pub(crate) counts: Counts,
    /// How long events took, by worker; from the start of the run.
    latencies: OnceLock<Box<[Histogram]>>,
    asked: Mutex<Asked>,
    pub(crate) start_ns: AtomicU64,
    ending: Mutex<Ending>,
    changed: Condvar,
}

/// How often a run was asked to stop, and how to reach it once it has begun.
#[derive(Default)]
struct Asked {
    times: u8,
    /// The earliest time of `stop_within`.
    limit: Option<Until>,
    run: Option<Weak<dyn Controlled>>,
}

/// How a run ends.
#[derive(Default)]
struct Ending {
    is_over: bool,
    summary: Option<RunSummary>,
    /// Those that await the end.
    wakers: Vec<Waker>,
}

impl Status {
    pub(crate) fn new(name: String) -> Self {
        Status {
            name,
            counts: Counts::default(),
            latencies: OnceLock::new(),
            asked: Mutex::default(),
            start_ns: AtomicU64::new(0),
            ending: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Makes room for what so many workers note of events.
    pub(crate) fn set_workers(&self, workers: usize) {
        let _ = self.latencies.set((0..workers).map(|_| Histogram::default()).collect());
    }

    /// How long events took, by worker; nothing before the start.
    pub(crate) fn latencies(&self) -> &[Histogram] {
        self.latencies.get().map_or(&[], |all| all)
    }

    /// The run has begun, and can be reached: what it was asked before, it is told now.
    pub(crate) fn begun(&self, run: Weak<dyn Controlled>) {
        let mut asked = lock(&self.asked);
        let (times, limit) = (asked.times, asked.limit);
        asked.run = Some(run.clone());
        drop(asked);
        if let Some(run) = run.upgrade() {
            match times {
                0 => {}
                1 => run.wake_feeder(),
                _ => run.finish(),
            }
            self.set_alarm(&run, limit);
        }
    }

    /// The run, while it lasts.
    pub(crate) fn run(&self) -> Option<Arc<dyn Controlled>> {
        lock(&self.asked).run.as_ref().and_then(Weak::upgrade)
    }

    /// How often the run was asked to stop.
    pub(crate) fn asked(&self) -> u8 {
        lock(&self.asked).times
    }

    /// Asks it to stop: see [`crate::Stopper`].
    pub(crate) fn stop(&self) {
        self.counts.stop();
        let mut asked = lock(&self.asked);
        asked.times = asked.times.saturating_add(1);
        let (times, run) = (asked.times, asked.run.as_ref().and_then(Weak::upgrade));
        drop(asked);
        match run {
            // If nothing is in flight, the end is for the feeder to find.
            Some(run) if times == 1 => run.wake_feeder(),
            Some(run) => run.finish(),
            None => {}
        }
    }

    /// Asks it to stop, unless somebody has.
    pub(crate) fn stop_once(&self) {
        if self.asked() == 0 {
            self.stop();
        }
    }

    /// Ends the run as soon as the modules that run return.
    pub(crate) fn finish(&self) {
        self.run().into_iter().for_each(|run| run.finish());
    }

    pub(crate) fn wake_feeder(&self) {
        self.run().into_iter().for_each(|run| run.wake_feeder());
    }

    /// Sets the time at which the run ends at once. Of several times the earliest counts.
    pub(crate) fn end_by(&self, limit: Until) {
        let mut asked = lock(&self.asked);
        asked.limit = Some(asked.limit.map_or(limit, |before| before.min(limit)));
        drop(asked);
        if let Some(run) = self.run() {
            self.set_alarm(&run, Some(limit));
        }
        self.changed.notify_all();
    }

    fn set_alarm(&self, run: &Arc<dyn Controlled>, limit: Option<Until>) {
        if let Some(limit) = limit {
            let finish = Finish(Arc::downgrade(run));
            run.wake_after(limit.left(), Waker::from(Arc::new(finish)));
        }
    }

    /// The time of [`Status::end_by`].
    pub(crate) fn limit(&self) -> Option<Until> {
        lock(&self.asked).limit
    }

    // ---- the end

    /// The run is over, with this summary, unless it was already.
    pub(crate) fn over(&self, summary: RunSummary) {
        let mut ending = lock(&self.ending);
        if ending.is_over {
            return;
        }
        (ending.is_over, ending.summary) = (true, Some(summary));
        let wakers = std::mem::take(&mut ending.wakers);
        drop(ending);
        self.changed.notify_all();
        wakers.into_iter().for_each(guard::wake);
    }

    pub(crate) fn is_over(&self) -> bool {
        lock(&self.ending).is_over
    }

    /// Takes the summary, once the run is over.
    pub(crate) fn take_summary(&self) -> Option<RunSummary> {
        lock(&self.ending).summary.take()
    }

    /// Takes the summary, or has the waker called when it is there.
    pub(crate) fn poll_summary(&self, waker: &Waker) -> Option<RunSummary> {
        let mut ending = lock(&self.ending);
        if let Some(summary) = ending.summary.take() {
            return Some(summary);
        }
        ending.wakers.retain(|it| !it.will_wake(waker));
        ending.wakers.push(waker.clone());
        None
    }

    /// Waits until the run is over, its limit is new, or the time is over. Says whether it is over.
    pub(crate) fn wait(&self, until: Option<Until>) -> bool {
        let ending = lock(&self.ending);
        if ending.is_over {
            return true;
        }
        let (ending, _) = actinium_scheduler::sync::wait_until(&self.changed, ending, until);
        ending.is_over
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph '{}', asked to stop {} times", self.name, self.asked())
    }
}
