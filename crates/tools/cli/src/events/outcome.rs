//! The outcome of a run.

pub use actinium_workload::plan::Ideal;

/// Measurements, and the sum of the events' products.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The run, as any graph's.
    pub run: actinium_app::Outcome,
    /// Mixes all events' products: the same for every order, number of workers and of slots.
    pub checksum: u64,
}
