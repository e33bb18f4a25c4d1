//! How a part ends: it is asked to, waited for, and cancelled if that takes too long.

use super::report::{End, PartKind, PartReport};
use actinium_actor::Shutdown;
use actinium_scheduler::guard::catch;
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A source of events, or the run of a graph: what runs beside the actors and ends before them.
/// [`Runtime`](super::Runtime) has an example.
pub trait Part: Send + Sync + 'static {
    /// Asks it to begin nothing more, and to finish what it has begun. Returns at once.
    fn stop(&self);

    /// Asks it to give up what it has begun, too. Returns at once.
    fn cancel(&self) {
        self.stop();
    }

    /// Returns when it is over. It has been asked to [`stop`](Part::stop) before; it may be
    /// cancelled meanwhile, on another thread.
    ///
    /// # Errors
    /// If it has failed.
    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// How long a part that was cancelled may take.
const GRACE: Duration = Duration::from_secs(1);

/// A part, and its name in the report.
pub(super) struct Named {
    pub(super) kind: PartKind,
    pub(super) name: String,
    pub(super) part: Arc<dyn Part>,
}

/// How long parts may take.
pub(super) enum Limit {
    None,
    Until(Instant),
    Now,
}

#[expect(clippy::disallowed_methods, reason = "threads are waited for in real time")]
fn now() -> Instant {
    Instant::now()
}

impl Limit {
    pub(super) fn of(how: Shutdown) -> Self {
        match how {
            Shutdown::Drain => Limit::None,
            Shutdown::Drop => Limit::Now,
            // A time that no clock reaches is none.
            Shutdown::DrainWithin(time) => {
                now().checked_add(time).map_or(Limit::None, Limit::Until)
            }
        }
    }

    /// How the actors end, in what is left of the time.
    pub(super) fn of_actors(&self, how: Shutdown) -> Shutdown {
        match self {
            Limit::Until(at) => Shutdown::DrainWithin(at.saturating_duration_since(now())),
            _ => how,
        }
    }
}

/// Ends parts that end together.
pub(super) fn end(parts: Vec<Named>, limit: &Limit) -> Vec<PartReport> {
    for Named { part, .. } in &parts {
        // One that panics here says so when it is waited for, or ends all the same.
        let _ = catch(|| part.stop());
        if matches!(limit, Limit::Now) {
            let _ = catch(|| part.cancel());
        }
    }
    let ends = match limit {
        Limit::Until(at) => within(&parts, *at),
        _ => parts.iter().map(|named| wait(&*named.part)).collect(),
    };
    let report = |(named, end): (Named, End)| {
        let Named { kind, name, .. } = named;
        PartReport { kind, name, end }
    };
    parts.into_iter().zip(ends).map(report).collect()
}

fn wait(part: &dyn Part) -> End {
    match catch(|| part.wait()) {
        Ok(Ok(())) => End::Ended,
        Ok(Err(error)) => End::Failed(error.to_string()),
        Err(panic) => End::Failed(format!("it panicked: {}", panic.message())),
    }
}

/// Waits for all, each on a thread of its own, because it may never return.
fn within(parts: &[Named], at: Instant) -> Vec<End> {
    let threads = parts.iter().map(|named| {
        let (sender, receiver) = channel();
        let part = named.part.clone();
        let thread = thread::Builder::new().name("actinium-end".to_owned());
        let spawned = thread.spawn(move || drop(sender.send(wait(&*part))));
        spawned.map(|_| receiver)
    });
    let threads: Vec<_> = threads.collect();
    let until = |receiver: &Receiver<End>, at: Instant| {
        let ended = receiver.recv_timeout(at.saturating_duration_since(now()));
        match ended {
            Ok(end) => Some(end),
            Err(RecvTimeoutError::Timeout) => None,
            // What the part kept has panicked when it was dropped.
            Err(RecvTimeoutError::Disconnected) => Some(End::Failed("it panicked".to_owned())),
        }
    };
    let mut ends: Vec<Option<End>> = threads
        .iter()
        .map(|thread| match thread {
            Ok(receiver) => until(receiver, at),
            Err(error) => Some(End::Failed(format!("no thread to wait for it: {error}"))),
        })
        .collect();
    for (named, _) in parts.iter().zip(&ends).filter(|(_, end)| end.is_none()) {
        let _ = catch(|| named.part.cancel());
    }
    let at = now() + GRACE;
    for (end, thread) in ends.iter_mut().zip(&threads).filter(|(end, _)| end.is_none()) {
        *end = thread.as_ref().ok().and_then(|receiver| until(receiver, at)).map(|end| match end {
            End::Ended => End::Cancelled,
            failed => failed,
        });
    }
    ends.into_iter().map(|end| end.unwrap_or(End::Stuck)).collect()
}

/// A gateway, until it is stopped.
#[cfg(feature = "gateway")]
pub(super) struct GatewayPart(std::sync::Mutex<Option<actinium_gateway::Gateway>>);

#[cfg(feature = "gateway")]
impl GatewayPart {
    pub(super) fn new(gateway: actinium_gateway::Gateway) -> Self {
        GatewayPart(std::sync::Mutex::new(Some(gateway)))
    }
}

#[cfg(feature = "gateway")]
impl Part for GatewayPart {
    fn stop(&self) {}

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let gateway = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        // It tells those who are connected, which has a bound of its own.
        drop(gateway);
        Ok(())
    }
}

/// A node, which leaves.
#[cfg(feature = "cluster")]
pub(super) struct NodePart(pub(super) Arc<actinium_cluster::Node>);

#[cfg(feature = "cluster")]
impl Part for NodePart {
    fn stop(&self) {}

    fn wait(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.leave();
        Ok(())
    }
}
