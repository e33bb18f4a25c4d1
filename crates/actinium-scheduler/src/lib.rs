//! Actinium's scheduler: workers, run queues, policies, parking and counters.
//!
//! It knows *runnables*, not actors. Programs use the crate `actinium`; this one is the floor below it.
//!
//! Read in this order: [`runnable`] (who may touch what), [`worker`] (the loop), [`policy`] (where work runs), [`sleep`]
//! (how nobody misses a wake-up), [`control`] (how it ends).

pub mod clock;
pub mod control;
pub mod counters;
pub mod deadlines;
pub mod footprint;
pub mod inbox;
pub mod lanes;
pub mod policy;
mod porter;
pub mod public;
pub mod runnable;
mod scaling;
pub mod shared;
pub mod sleep;
pub mod sync;
pub mod task;
pub mod wheel;
pub mod worker;

pub use clock::Clock;
pub use counters::{Counter, CounterValues, Counters};
pub use footprint::Footprint;
pub use policy::{Affine, Elastic, Policy, ScaleEvent, ScaleReason, ScaleView, UnknownPolicy};
pub use porter::Porter;
pub use runnable::{Header, Runnable, Turn, VTable};
pub use shared::{Settings, Shared};
pub use worker::{Worker, current, current_unbound};
