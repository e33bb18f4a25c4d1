//! Bursts and rest: how long it takes until a burst of work is on all workers, until a system at
//! rest handles a message, and what rest costs.

use super::settings::Settings;
use super::system::system;
use crate::Failure;
use crate::failure::REST;
use actinium::prelude::*;
use actinium_observe::process::cpu_time::process_time;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Messages of a burst for each worker.
const EACH: usize = 4;
/// How long each keeps its worker busy: longer than it takes to wake all.
const TOIL: Duration = Duration::from_millis(2);
/// Looks at the number of working workers, this far apart, until it has come down.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOKS: u32 = 5_000;

/// The measured times of bursts and wakes.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The times from a burst until all workers had begun with it.
    pub spread: Vec<Duration>,
    /// The times from a message to a system at rest until it was handled.
    pub wake: Vec<Duration>,
    /// CPU time that the whole process used while it was at rest.
    pub cpu: Option<Duration>,
    /// How long it was left alone.
    pub rest: Duration,
    /// Times that workers were woken or went to sleep while it was at rest.
    pub parked: u64,
}

/// Keeps its worker busy, and says since when.
struct Toiler {
    seen: Arc<Vec<AtomicU64>>,
    zero: Instant,
    done: mpsc::Sender<()>,
}

impl Actor for Toiler {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let begin = Instant::now();
        let at_ns = begin.duration_since(self.zero).as_nanos() as u64;
        // Relaxed: the channel orders it.
        self.seen[ctx.worker()].fetch_min(at_ns, Ordering::Relaxed);
        while begin.elapsed() < TOIL {
            std::hint::spin_loop();
        }
        // Nobody listens any more if the run was given up.
        let _ = self.done.send(());
    }
}

/// Sends to all others, at once, and says when.
struct Starter {
    toilers: Vec<Address<Toiler>>,
    zero: Instant,
    began: mpsc::Sender<u64>,
}

impl Actor for Starter {
    type Msg = ();

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        let began_ns = self.zero.elapsed().as_nanos() as u64;
        let _ = self.began.send(began_ns);
        for toiler in &self.toilers {
            let _ = toiler.send(());
        }
    }
}

/// Measures, calling `note` after each burst.
///
/// # Errors
/// If the system does not start, does not come to rest or loses a message.
pub fn measure(settings: &Settings, mut note: impl FnMut()) -> Result<Outcome, Failure> {
    let workers = settings.workers.value;
    let system = system(settings, workers, true)?;
    let zero = Instant::now();
    let lost = |_| Failure::Failed("a message was lost: a defect of the runtime".to_owned());
    let seen: Arc<Vec<AtomicU64>> = Arc::new((0..workers).map(|_| AtomicU64::new(0)).collect());
    let (done, finished) = mpsc::channel();
    let toiler = || system.spawn(Toiler { seen: seen.clone(), zero, done: done.clone() });
    let toilers: Vec<Address<Toiler>> = (0..EACH * workers).map(|_| toiler()).collect();
    let (began, begun) = mpsc::channel();
    let starter = system.spawn(Starter { toilers, zero, began });
    let mut outcome = Outcome::default();
    for _ in 0..settings.bursts.value {
        come_to_rest(&system)?;
        // Relaxed: sending the word to begin publishes it.
        seen.iter().for_each(|at| at.store(u64::MAX, Ordering::Relaxed));
        let sent_ns = zero.elapsed().as_nanos() as u64;
        starter.send(()).map_err(|error| Failure::Failed(format!("the starter: {error}")))?;
        let began_ns = begun.recv().map_err(lost)?;
        for _ in 0..EACH * workers {
            finished.recv().map_err(lost)?;
        }
        outcome.wake.push(Duration::from_nanos(began_ns - sent_ns));
        // Relaxed: the channel orders it.
        let last_ns = seen.iter().map(|at| at.load(Ordering::Relaxed)).max().unwrap_or(u64::MAX);
        // A worker that had none of it has never begun.
        let spread_ns = if last_ns == u64::MAX { u64::MAX } else { last_ns - began_ns };
        outcome.spread.push(Duration::from_nanos(spread_ns));
        note();
    }
    come_to_rest(&system)?;
    let (cpu, parked) = (process_time(), system.stats().total().parked);
    let begin = Instant::now();
    // The rest is what is measured
    std::thread::sleep(Duration::from_millis(settings.idle_ms.value));
    outcome.rest = begin.elapsed();
    outcome.cpu = Some(process_time().saturating_sub(cpu));
    outcome.parked = system.stats().total().parked - parked;
    system.shutdown(Shutdown::Drop);
    Ok(outcome)
}

/// Waits until nothing runs and one worker is left.
fn come_to_rest(system: &System) -> Result<(), Failure> {
    system.wait_idle(REST)?;
    for _ in 0..LOOKS {
        if system.stats().working == 1 {
            system.wait_idle(REST)?;
            return Ok(());
        }
        // The system must not be kept from its rest
        std::thread::sleep(LOOK_EVERY);
    }
    let stats = system.stats();
    Err(Failure::Failed(format!(
        "{} workers work although there is nothing to do: {:?}",
        stats.working, stats.scale_events
    )))
}
