//! Where messages are shown.

use crate::filter::TapFilter;
use crate::queue::{Queue, Seen};
use crate::server::{TapServer, of_environment};
use crate::tap::Tap;
use crate::world::Taps;
use std::fmt;
use std::sync::Arc;

/// Where a node or a gateway shows its messages, if somebody looks.
pub struct TapPoint {
    taps: Arc<Taps>,
    /// Kept as long as there is a point whose taps it serves.
    _server: Option<Arc<TapServer>>,
}

impl TapPoint {
    /// A point with a name, as `node 3`. Taps of the whole process get what it shows, too, and so
    /// do other processes if the environment variable `ACTINIUM_TAP` says so: see
    /// [`ENV_TAP`](crate::ENV_TAP).
    #[must_use]
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        let taps = Taps::new(name.into());
        // Behind it, so that whoever finds the server finds the point.
        Arc::new(TapPoint { taps, _server: of_environment() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.taps.name
    }

    /// Whether somebody looks. Ask once for a frame, and call [`show`](TapPoint::show) only then.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.taps.is_on()
    }

    /// Shows a message to those who look. It waits for none of them.
    #[cold]
    pub fn show(&self, seen: &Seen<'_>) {
        self.taps.show(seen);
    }

    /// Looks at the messages that this point shows from now on.
    pub fn open(&self, filter: TapFilter) -> Tap {
        let queue = Arc::new(Queue::new(filter));
        self.taps.add(queue.clone());
        Tap::new(queue)
    }
}

impl fmt::Debug for TapPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, is_on) = (self.name(), self.is_on());
        f.debug_struct("TapPoint").field("name", &name).field("is_on", &is_on).finish()
    }
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
