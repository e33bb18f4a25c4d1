//! Where messages are shown: all points of the process, and the taps of all.

use crate::filter::TapFilter;
use crate::queue::{Queue, Seen};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// Where a node or a gateway shows its messages, if somebody looks.
pub struct TapPoint {
    name: String,
    is_on: AtomicBool,
    taps: RwLock<Vec<Arc<Queue>>>,
    /// Kept as long as there is a point whose taps it serves.
    _server: Option<Arc<crate::server::TapServer>>,
}

/// The points of this process, and the taps of all of them.
#[derive(Default)]
struct World {
    points: Vec<Weak<TapPoint>>,
    taps: Vec<Arc<Queue>>,
}

static WORLD: Mutex<World> = Mutex::new(World { points: Vec::new(), taps: Vec::new() });

fn world() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TapPoint {
    /// A point with a name, as `node 3`. Taps of the whole process get what it shows, too, and so
    /// do other processes if the environment variable `ACTINIUM_TAP` says so: see
    /// [`ENV_TAP`](crate::ENV_TAP).
    #[must_use]
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        let _server = crate::server::of_environment();
        let mut world = world();
        let taps = world.taps.clone();
        let is_on = AtomicBool::new(!taps.is_empty());
        let taps = RwLock::new(taps);
        let point = Arc::new(TapPoint { name: name.into(), is_on, taps, _server });
        world.points.retain(|point| point.strong_count() > 0);
        world.points.push(Arc::downgrade(&point));
        point
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether somebody looks. Ask once for a frame, and call [`show`](TapPoint::show) only then.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        // Relaxed: a tap may begin and end a frame later.
        self.is_on.load(Ordering::Relaxed)
    }

    /// Shows a message to those who look. It waits for none of them.
    #[cold]
    pub fn show(&self, seen: &Seen<'_>) {
        let taps = self.taps.read().unwrap_or_else(PoisonError::into_inner);
        taps.iter().for_each(|tap| tap.add(&self.name, seen));
    }

    /// Looks at the messages that this point shows from now on.
    pub fn open(self: &Arc<Self>, filter: TapFilter) -> crate::Tap {
        let queue = Arc::new(Queue::new(filter));
        self.add(queue.clone());
        crate::Tap::new(queue)
    }

    fn add(&self, queue: Arc<Queue>) {
        self.change(|taps| taps.push(queue));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Queue>>)) {
        let mut taps = self.taps.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut taps);
        // Relaxed: as in `is_on`; the lock orders the changes.
        self.is_on.store(!taps.is_empty(), Ordering::Relaxed);
    }
}

impl fmt::Debug for TapPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TapPoint").field("name", &self.name).field("is_on", &self.is_on()).finish()
    }
}

/// Adds a tap of all points, those that come later included.
pub(crate) fn add_to_all(queue: &Arc<Queue>) {
    let mut world = world();
    world.taps.push(queue.clone());
    for point in world.points.iter().filter_map(Weak::upgrade) {
        point.add(queue.clone());
    }
}

/// Takes a tap away from all points that it may look at.
pub(crate) fn remove_from_all(queue: &Arc<Queue>) {
    let mut world = world();
    world.taps.retain(|tap| !Arc::ptr_eq(tap, queue));
    let points: Vec<_> = world.points.iter().filter_map(Weak::upgrade).collect();
    drop(world);
    for point in points {
        point.change(|taps| taps.retain(|tap| !Arc::ptr_eq(tap, queue)));
    }
}

/// The names of all points.
pub(crate) fn names() -> Vec<String> {
    let points: Vec<_> = world().points.iter().filter_map(Weak::upgrade).collect();
    points.iter().map(|point| point.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_looks_when_the_last_tap_is_gone() {
        let point = TapPoint::new("node 0");
        assert!(!point.is_on());
        let (one, other) = (point.open(TapFilter::new()), point.open(TapFilter::new()));
        drop(one);
        assert!(point.is_on());
        drop(other);
        assert!(!point.is_on());
    }
}
