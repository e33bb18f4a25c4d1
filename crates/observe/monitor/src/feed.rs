//! One reader of a system's records, for all who want them.
//!
//! Records are taken once ([`SystemHandle::take_records`]). So a thread takes them for a trace and
//! a flame graph together, and for two traces.

use actinium_actor::SystemHandle;
use actinium_actor::recording::WorkerRecords;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Records that a worker keeps until they are taken.
const PER_WORKER: usize = 1 << 16;
/// Between two looks for records.
const PAUSE: Duration = Duration::from_millis(20);

/// Whoever wants the records of a system.
pub(crate) trait Consumer: Send + 'static {
    /// What each worker has done since the last call.
    fn take(&mut self, system: &SystemHandle, records: &[WorkerRecords]);
}

/// The feeds of this process: one for each system that somebody wants the records of.
static FEEDS: Mutex<Vec<Arc<Feed>>> = Mutex::new(Vec::new());

/// The reader of one system's records.
struct Feed {
    system: SystemHandle,
    consumers: Mutex<Vec<Arc<Mutex<dyn Consumer>>>>,
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

/// A consumer that gets records, until [`end`](Subscription::end).
pub(crate) struct Subscription<C: Consumer> {
    feed: Arc<Feed>,
    consumer: Arc<Mutex<C>>,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the consumer all records from now on.
///
/// # Errors
/// If there can be no more threads.
pub(crate) fn subscribe<C: Consumer>(
    system: &SystemHandle,
    consumer: C,
) -> io::Result<Subscription<C>> {
    let consumer = Arc::new(Mutex::new(consumer));
    let mut feeds = lock(&FEEDS);
    let known = feeds.iter().find(|feed| feed.system.is_same(system)).cloned();
    let feed = match known {
        Some(feed) => {
            // The new one gets nothing of what was before it.
            feed.pass_on();
            feed
        }
        None => {
            let feed = Feed::start(system)?;
            feeds.push(feed.clone());
            feed
        }
    };
    lock(&feed.consumers).push(consumer.clone());
    Ok(Subscription { feed, consumer })
}

impl<C: Consumer> Subscription<C> {
    /// Gives it what workers have done so far, and no more.
    pub(crate) fn end(self) -> Arc<Mutex<C>> {
        // Held, so that nobody comes to a feed that ends.
        let mut feeds = lock(&FEEDS);
        self.feed.pass_on();
        let mut consumers = lock(&self.feed.consumers);
        let of = |it: &Arc<Mutex<dyn Consumer>>| Arc::as_ptr(it).cast::<()>();
        let own = Arc::as_ptr(&self.consumer).cast::<()>();
        consumers.retain(|it| of(it) != own);
        let is_last = consumers.is_empty();
        drop(consumers);
        if is_last {
            self.feed.system.stop_recording();
            feeds.retain(|feed| !Arc::ptr_eq(feed, &self.feed));
            drop(feeds);
            self.feed.stop();
        }
        self.consumer
    }
}

impl Feed {
    fn start(system: &SystemHandle) -> io::Result<Arc<Feed>> {
        let feed = Arc::new(Feed {
            system: system.clone(),
            consumers: Mutex::default(),
            thread: Mutex::default(),
        });
        let (end, ended) = channel();
        let looked = feed.clone();
        let look = move || {
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                looked.pass_on();
            }
        };
        let thread = thread::Builder::new().name("actinium-trace".to_owned()).spawn(look)?;
        *lock(&feed.thread) = Some((end, thread));
        system.record(PER_WORKER);
        Ok(feed)
    }

    /// Takes the records, and gives them to all.
    fn pass_on(&self) {
        // Held, so that each gets them in order.
        let consumers = lock(&self.consumers);
        let taken = self.system.take_records();
        for consumer in consumers.iter() {
            lock(consumer).take(&self.system, &taken);
        }
    }

    fn stop(&self) {
        let Some((end, thread)) = lock(&self.thread).take() else { return };
        drop(end);
        // It panics only if a consumer does, which was said then.
        let _ = thread.join();
    }
}
