//! The time that sockets live in. Tests move tokio's clock by hand.

use tokio::time::Instant;

pub(crate) fn now() -> Instant {
    Instant::now()
}
