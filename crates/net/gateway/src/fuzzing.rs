//! A way in without a socket, for the fuzz target: `cargo fuzz` builds with `cfg(fuzzing)`, and
//! nothing else does.

use crate::endpoint::{CALLER, Config};
use crate::gateway::{Builder, serve};
use axum::Router;
use std::fmt;
use std::sync::Arc;
use tokio::io::DuplexStream;
use tokio::sync::watch;

/// A gateway that serves what it is given.
pub struct Front {
    router: Router,
    config: Arc<Config>,
    _stop: watch::Sender<bool>,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

impl Front {
    /// Makes a front with the builder's settings that listens nowhere.
    #[must_use]
    pub fn new(builder: Builder) -> Self {
        let (stop, stopping) = watch::channel(false);
        let (router, config) = builder.router(stopping, "gateway");
        Front { router, config, _stop: stop }
    }

    /// Serves a connection to its end.
    pub async fn serve(&self, stream: DuplexStream) {
        serve(stream, CALLER, None, self.router.clone(), self.config.clone()).await;
    }
}
