//! The time that sockets live in. Tests move tokio's clock by hand.

use std::time::Duration;
use tokio::time::Instant;

/// A wait that is as good as never. Not everything that counts in it can tell times that are
/// further away.
pub(crate) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the time that lies `wait` after `time`, but at most [`NEVER`] after it: `Duration::MAX`
/// is a limit that users set.
pub(crate) fn after(time: Instant, wait: Duration) -> Instant {
    time + wait.min(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_time_is_no_overflow() {
        let now = now();
        assert_eq!(after(now, Duration::MAX), now + NEVER);
        assert_eq!(after(now, Duration::from_secs(1)), now + Duration::from_secs(1));
    }
}
