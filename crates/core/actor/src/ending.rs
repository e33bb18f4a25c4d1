//! The end of a system: what becomes of messages, what the report says, what each worker does.

use crate::actor_core::{Core, Inner};
use crate::control::Control;
use crate::failure::Failure;
use crate::unfinished::{Occupied, Unfinished};
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::sync::{Mutex, lock, thread};
use actinium_scheduler::{Ended, Worker, guard, log, logging};
use actinium_topology::Seat;
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The treatment of queued messages when a system shuts down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Event graphs begin no more events and finish those in flight. Then messages are handled, and
    /// so are those that this causes, with the futures that handlers wait for
    /// ([`Context::hold`](crate::Context::hold)). Timers and streams end, actors that wait for
    /// their restart are restarted at once, and messages from external threads are refused from
    /// now on. The shutdown takes as long as it takes: a handler that never returns, or actors that
    /// always send each other more, keep it from ending.
    Drain,
    /// Drains as [`Shutdown::Drain`] does, but for no longer than this time; then drops as
    /// [`Shutdown::Drop`] does. An actor whose code has not returned a second after that is given
    /// up: the report names it ([`ShutdownReport::stuck`]), its thread is left to itself, and the
    /// memory that it may reach is leaked on purpose. So the shutdown ends in any case, also with
    /// [`Duration::ZERO`]. Sets a time for a drain that another thread waits for.
    DrainWithin(Duration),
    /// Messages are dropped, and counted. Cuts a drain short that another thread waits for. The
    /// handlers that are running end first.
    Drop,
}

/// The figures of a system's whole life.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Messages handled.
    pub handled: u64,
    /// Messages that the shutdown dropped.
    pub dropped: u64,
    /// All dead letters, those dropped included.
    pub dead: u64,
    /// The failure that ended the system, if one reached the top (see
    /// [`crate::Supervision::escalate`]).
    pub escalated: Option<Failure>,
    /// The work that had not come to rest when the time of [`Shutdown::DrainWithin`] was over.
    /// `None` if all had.
    pub unfinished: Option<Unfinished>,
    /// The workers, and their actors, that were given up because an actor's code did not return.
    /// The threads of these workers are left to themselves.
    pub stuck: Vec<Occupied>,
    /// Actors that were neither ended nor freed because a stuck worker may still use them, those
    /// that are stuck included.
    pub left_actors: usize,
    /// Messages in the mailboxes of those, which nobody will handle.
    pub left_messages: u64,
}

/// What an [`Observer`](crate::Observer) wants to be done when a system has ended.
pub struct OnEnd(Call);

type Call = Guarded<Box<dyn FnOnce(&ShutdownReport) + Send>>;

impl OnEnd {
    /// Calls this with the figures of the system's whole life.
    pub fn new(call: impl FnOnce(&ShutdownReport) + Send + 'static) -> Self {
        OnEnd(Guarded::new(Box::new(call)))
    }

    /// Calls it; a panic is logged.
    pub(crate) fn call(self, report: &ShutdownReport) {
        if let Err(panicked) = guard::catch(|| self.0.into_inner()(report)) {
            let why = panicked.message();
            log!(Error, {}, "an observer panicked at the end of its system: {why}");
        }
    }
}

impl fmt::Debug for OnEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnEnd")
    }
}

/// The parts of a system that its end needs.
#[derive(Default)]
pub(crate) struct End {
    /// The workers' threads, by their indices.
    pub(crate) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// Locked by whoever carries the end out.
    pub(crate) report: Mutex<Option<ShutdownReport>>,
    /// Who is told of it.
    pub(crate) observers: Mutex<Vec<OnEnd>>,
}

impl Inner {
    pub(crate) fn report(&self, dropped: u64) -> ShutdownReport {
        let ledger = self.ledger(0);
        let escalated = lock(&self.escalation).clone();
        ShutdownReport {
            handled: ledger.handled,
            dropped,
            dead: ledger.dead,
            escalated,
            unfinished: None,
            stuck: Vec::new(),
            left_actors: 0,
            left_messages: 0,
        }
    }

    /// Makes the system only finish what it has begun: actors that wait for a restart have it at
    /// once.
    pub(crate) fn request_drain(&self) {
        self.shared.request_drain();
        for core in self.backoffs.waiting() {
            // One that has ended meanwhile needs no restart.
            let _ = core.control(Control::Resume);
        }
    }

    /// Waits until all is done that was begun; false if the time for that is over.
    pub(crate) fn drain(&self) -> bool {
        let control = self.shared.control();
        // Graphs before actors: what they end with goes to actors.
        self.attached.stop();
        if !self.attached.wait(|| control.exit_requested(), || control.limit()) {
            return false;
        }
        self.request_drain();
        // What was offloaded sends its result, which may offload more.
        loop {
            if !self.shared.wait_drained() {
                return false;
            }
            let waited = self.offloads.wait(|| control.exit_requested(), || control.limit());
            match waited {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
    }

    /// Ends the tasks, and the actors of this worker's shard (and, for worker 0, those that
    /// external threads spawned); all that it can have, if it is short-handed. All workers have
    /// left their loops, or were given up.
    pub(crate) fn dispose(&self, worker: &Worker) {
        self.attached.close();
        self.tasks.dispose(worker);
        let external = self.register.external();
        let is_share = |&shard: &usize| {
            worker.is_short_handed()
                || shard == worker.index()
                || (shard == external && worker.index() == 0)
        };
        for shard in (0..=external).filter(is_share) {
            let mut register = self.register.lock(shard);
            // From now on nothing comes in, so no key is given out again.
            register.closed = true;
            let living = register.living.iter().filter(|(_, it)| Core::may_dispose(**it, worker));
            let living: Vec<_> = living.map(|(key, &it)| (key, it)).collect();
            drop(register);
            for (key, runnable) in living {
                // Ending one may run user code; what that has ended meanwhile is gone from here.
                if self.register.lock(shard).living.contains(key) {
                    Core::dispose(runnable, worker);
                }
            }
        }
    }

    /// All workers have ended: nobody looks at deadlines any more, and whoever waits for the end
    /// hears of it.
    pub(crate) fn ended(&self) {
        self.shared.deadlines().fire(u64::MAX);
        self.request_stop();
    }
}

/// Runs a worker's thread. Its PU is claimed for as long as it lives, which may be longer than its
/// system does.
pub(crate) fn work(inner: &Inner, index: usize, seat: &Seat) {
    let shared = &inner.shared;
    // Not fatal: it runs, only less predictably. The builder has checked what can be checked.
    if let Err(error) = seat.bind_current_thread() {
        log!(Warn, {worker: index as u64}, "worker {index} can not be placed: {error}");
    }
    // Relaxed: a note for those who look.
    inner.threads[index].store(this_thread(), Ordering::Relaxed);
    // For all that runs on it: handlers may spawn on the runtime, and futures use what it drives.
    #[cfg(feature = "tokio")]
    let _runtime = inner.tokio.as_ref().map(tokio::runtime::Handle::enter);
    let worker = Worker::new(shared.clone(), index);
    let outcome = guard::catch(|| {
        worker.enter(|worker| {
            worker.run();
            worker.end(|worker| inner.dispose(worker))
        })
    });
    match outcome {
        Ok(Ended::One) => {}
        Ok(Ended::Last) => inner.ended(),
        // Others may still look at what is in it.
        Ok(Ended::GivenUp) => std::mem::forget(worker),
        Err(_) => {
            // User code is caught where it is called: this is a defect of the runtime, whose state
            // can not be trusted any more.
            logging::fatal(format_args!(
                "a defect of the runtime on {worker:?}; counters: {:?}",
                worker.counters().values()
            ));
        }
    }
}

/// The number of the calling thread, as Linux counts; 0 if it does not say.
fn this_thread() -> u32 {
    if cfg!(miri) {
        return 0;
    }
    let link = std::fs::read_link("/proc/thread-self").ok();
    let number = |link: std::path::PathBuf| link.file_name()?.to_str()?.parse().ok();
    link.and_then(number).unwrap_or(0)
}
