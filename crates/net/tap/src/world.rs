//! All points of the process, and the taps of all of them.

use crate::queue::{Queue, Seen};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// The taps that look at a point.
pub(crate) struct Taps {
    pub(crate) name: String,
    is_on: AtomicBool,
    taps: RwLock<Vec<Arc<Queue>>>,
}

/// The points of this process, and the taps of all of them.
#[derive(Default)]
struct World {
    points: Vec<Weak<Taps>>,
    taps: Vec<Arc<Queue>>,
}

static WORLD: Mutex<World> = Mutex::new(World { points: Vec::new(), taps: Vec::new() });

fn world() -> MutexGuard<'static, World> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Taps {
    /// Of a new point: those that look at all.
    pub(crate) fn new(name: String) -> Arc<Self> {
        let mut world = world();
        let taps = world.taps.clone();
        let is_on = AtomicBool::new(!taps.is_empty());
        let point = Arc::new(Taps { name, is_on, taps: RwLock::new(taps) });
        world.points.retain(|point| point.strong_count() > 0);
        world.points.push(Arc::downgrade(&point));
        point
    }

    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        // Relaxed: a tap may begin and end a frame later.
        self.is_on.load(Ordering::Relaxed)
    }

    pub(crate) fn show(&self, seen: &Seen<'_>) {
        let taps = self.taps.read().unwrap_or_else(PoisonError::into_inner);
        taps.iter().for_each(|tap| tap.add(&self.name, seen));
    }

    pub(crate) fn add(&self, queue: Arc<Queue>) {
        self.change(|taps| taps.push(queue));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Queue>>)) {
        let mut taps = self.taps.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut taps);
        // Relaxed: as in `is_on`; the lock orders the changes.
        self.is_on.store(!taps.is_empty(), Ordering::Relaxed);
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
    for point in world.points.iter().filter_map(Weak::upgrade) {
        point.change(|taps| taps.retain(|tap| !Arc::ptr_eq(tap, queue)));
    }
}

/// The names of all points.
pub(crate) fn names() -> Vec<String> {
    world().points.iter().filter_map(Weak::upgrade).map(|point| point.name.clone()).collect()
}
