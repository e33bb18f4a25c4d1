//! How busy each worker is, as the others see it.

use crate::policy::Utilization;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A worker's [`Utilization`]: a hint, which that worker alone changes.
#[derive(Debug)]
pub(crate) struct SharedUtilization {
    spare_since_ns: AtomicUsize,
    idle: AtomicUsize,
    mean_load: AtomicUsize,
}

impl SharedUtilization {
    pub(crate) fn new() -> Self {
        let Utilization { spare_since_ns, idle, mean_load } = Utilization::NONE;
        SharedUtilization {
            spare_since_ns: AtomicUsize::new(spare_since_ns as usize),
            idle: AtomicUsize::new(idle as usize),
            mean_load: AtomicUsize::new(mean_load as usize),
        }
    }

    pub(crate) fn show(&self, utilization: Utilization) {
        let Utilization { spare_since_ns, idle, mean_load } = utilization;
        // Relaxed: hints, and no matter if one is newer than the other.
        self.spare_since_ns.store(spare_since_ns as usize, Ordering::Relaxed);
        self.idle.store(idle as usize, Ordering::Relaxed);
        self.mean_load.store(mean_load as usize, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Utilization {
        // Relaxed: as above.
        Utilization {
            spare_since_ns: self.spare_since_ns.load(Ordering::Relaxed) as u64,
            idle: self.idle.load(Ordering::Relaxed) as u64,
            mean_load: self.mean_load.load(Ordering::Relaxed) as u64,
        }
    }
}
