//! Actinium's scheduler: workers, run queues, policies, parking and counters.
//!
//! The scheduler knows *runnables*, not actors. Programs use the crate `actinium`; this crate is
//! the floor below it.
//!
//! Read in this order: [`runnable`] (who may touch what), [`worker`] (the loop), [`policy`] (where
//! work runs), [`sleep`] (how nobody misses a wake-up), [`control`] (how it ends).

pub mod any_box;
mod chunk;
pub mod clock;
pub mod contents;
pub mod control;
pub mod counters;
pub mod deadlines;
mod exchanges;
pub mod footprint;
pub mod guard;
mod idle_poller;
mod ids;
pub mod inbox;
pub mod lanes;
pub mod logging;
pub mod measure;
pub mod mixing;
mod owned;
pub mod policy;
pub mod recording;
pub mod ref_cells;
pub mod runnable;
pub mod scaling;
mod seat;
pub mod shared;
pub mod sleep;
mod speculation;
mod stack;
pub mod steal_queue;
pub mod sync;
pub mod task;
pub mod trace;
#[cfg(doctest)]
mod unsafety;
mod utilization;
pub mod wheel;
pub mod worker;

pub use clock::{Clock, nanoseconds};
pub use control::Ended;
pub use counters::{Counter, CounterValues, Counters};
pub use exchanges::Exchange;
pub use footprint::Footprint;
pub use idle_poller::IdlePoller;
pub use policy::{Affine, Elastic, Policy, PolicyError, ScaleEvent, ScaleReason, ScaleView};
pub use runnable::{Header, Runnable, Turn, VTable, WorkerRef};
pub use seat::Sighting;
pub use shared::{Settings, Shared};
pub use stack::{STACK_BYTES, STACK_BYTES_ALLOWED, stack_allowed, stack_bytes};
pub use worker::{Worker, current, current_unbound};
