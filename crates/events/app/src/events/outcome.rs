//! The outcome of a run.

pub use actinium_workload::plan::Ideal;

/// Measurements, and the sum of the events' products.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The run, as any graph's.
    pub run: crate::Outcome,
    /// Of a replay: mixes all events' products. It is the same for every order, number of workers
    /// and of slots.
    pub checksum: Option<u64>,
}
