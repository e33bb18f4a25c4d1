//! Actors on Actinium's scheduler: mailboxes, addresses, supervision, timers, systems.
//!
//! Programs use the crate `actinium`, which re-exports this one.

// The executors of futures do not build under loom. What loom checks is the mailbox, which tests/loom.rs takes by itself.
#![cfg(not(loom))]

pub mod testing;

mod actor;
mod address;
mod ask;
mod backpressure;
mod builder;
mod cell;
mod context;
mod control;
mod dead_letters;
mod groups;
mod learnt;
mod life;
mod mailbox;
mod names;
mod nodes;
mod offload;
mod outside;
mod pipe;
mod spawn;
mod stats;
mod supervision;
mod system;
mod timers;
mod wait;

pub use actinium_scheduler::{
    Affine, CounterValues, Elastic, Policy, ScaleEvent, ScaleReason, ScaleView, UnknownPolicy,
};
pub use actor::{Actor, ActorId, Down, PanicInfo, StopReason};
pub use address::{Address, SendError, WeakAddress};
pub use ask::{Answer, AskError, Reply};
pub use builder::{BuildError, SystemBuilder, Workers};
pub use context::{Context, Time};
pub use dead_letters::DeadLetter;
pub use groups::{Broadcast, Router};
pub use learnt::Learnt;
pub use names::{LookupError, NameError};
pub use spawn::{Mailbox, SpawnError, SpawnOptions};
pub use stats::{Audit, Stats};
pub use supervision::Supervision;
pub use system::{Shutdown, ShutdownReport, System, SystemHandle};
pub use timers::TimerId;
pub use wait::SendAsync;
