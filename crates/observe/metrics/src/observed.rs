//! Figures of a system that a builder describes.

use crate::metrics::Metrics;
use actinium_actor::{Observer, OnEnd, SystemBuilder, SystemHandle};
use std::error::Error;

/// What can be asked of a system that a builder describes.
pub trait Measured: Sized {
    /// Serves the system's figures at this address, as [`Metrics::serve`] does, until it has ended.
    /// While it drains, `/readyz` says so. An address that can not be listened at is an error of
    /// [`SystemBuilder::build`].
    #[must_use]
    fn metrics(self, address: impl Into<String>) -> Self;
}

impl Measured for SystemBuilder {
    fn metrics(self, address: impl Into<String>) -> Self {
        self.observer(Served { address: address.into() })
    }
}

/// Serves the figures of each system that it observes.
struct Served {
    address: String,
}

impl Observer for Served {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let gateway = Metrics::new(system).serve(self.address.as_str())?;
        Ok(OnEnd::new(move |_| gateway.stop()))
    }
}
