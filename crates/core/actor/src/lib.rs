//! Actors on Actinium's scheduler: mailboxes, addresses, supervision, timers, systems.
//!
//! Programs use the crate `actinium`, which re-exports this one.

// The executors of futures do not build under loom. What loom checks is the mailbox, which
// tests/loom.rs takes by itself.
#![cfg(not(loom))]

pub mod testing;

mod actor;
mod actor_core;
mod actor_id;
mod address;
mod ask;
mod attach;
mod attribute;
mod backpressure;
mod builder;
mod cell;
mod census;
mod contents;
mod context;
mod control;
mod ending;
mod ending_async;
mod estimates;
mod failure;
mod family;
mod feed;
mod groups;
// Parts of it serve handles of actors elsewhere, which the feature `wire` brings.
#[cfg_attr(not(feature = "wire"), allow(dead_code, unreachable_pub))]
mod handle;
mod hold;
mod mailbox;
mod measured;
mod message_name;
mod observer;
mod offload;
mod options;
mod own_thread;
#[cfg(feature = "wire")]
mod passage;
mod pipe;
#[cfg(feature = "tower")]
mod recipient_service;
mod send;
mod send_error;
#[cfg(feature = "tower")]
mod service;
mod shutdown;
#[cfg(feature = "signals")]
mod signals;
mod silence;
mod source;
mod spawn;
mod stash;
mod state;
mod stats;
mod stop_reason;
mod streams;
mod supervision;
mod system;
mod system_handle;
mod time;
mod timers;
mod try_actor;
/// For crates that end what they hold beside a system.
#[doc(hidden)]
pub mod unblocked;
mod unfinished;
mod urgent;
mod wait;
mod waits;

#[doc(hidden)]
pub use actinium_actor_macros::{facade_actor, facade_test};
pub use actinium_scheduler::contents::Contents;
pub use actinium_scheduler::guard::Panicked;
pub use actinium_scheduler::logging;
pub use actinium_scheduler::measure::{MessageFigures, TurnFigures};
pub use actinium_scheduler::recording;
pub use actinium_scheduler::trace;
pub use actinium_scheduler::{
    Affine, CounterValues, Elastic, Exchange, Policy, PolicyError, ScaleEvent, ScaleReason,
    ScaleView,
};
pub use actinium_topology::Bind;
pub use actor::{Actor, Context, ShowMessage};
pub use actor_id::ActorId;
pub use address::{Address, WeakAddress};
#[doc(hidden)]
pub use ask::Asker;
pub use ask::{Answer, AskError, Asking, Reply, TryAnswer};
#[doc(hidden)]
pub use attach::Attached;
pub use attribute::{actor, test};
pub use builder::{BuildError, SystemBuilder, Workers};
pub use ending::{OnEnd, Shutdown, ShutdownReport};
pub use estimates::Estimates;
pub use failure::Failure;
pub use groups::{
    Answers, AskAll, Batched, Blocking, Broadcast, Collect, Loaded, Member, Pool, PoolFigures,
    PoolOptions, Route, Router, Tells, Unsent,
};
pub use handle::ask_recipient::AskRecipient;
pub use handle::at::Handle;
pub use handle::recipient::Recipient;
/// What the crate that moves messages between nodes does for handles in them.
#[cfg(feature = "wire")]
#[doc(hidden)]
pub mod travel {
    pub use crate::handle::at::{Elsewhere, Room, Ticket};
    pub use crate::handle::travel::border::{
        AnswerLater, Answering, Ask, Border, BorderId, Given, GivenReply, Line, NotSent, Origin,
        Read, TakenIn, Told, Write, crossing,
    };
    pub use crate::handle::travel::made::{fingerprint, given, recipient_here, recipient_there};
    pub use crate::handle::travel::roaming::{Roaming, given_roaming, recipient_roaming};
}
pub use cell::waits::StreamId;
pub use census::{
    ActorCursor, ActorFigures, ActorOrder, ActorPage, ActorQuery, ActorTypeFigures, WrongCursor,
};
pub use context::Timer;
pub use family::{Family, Relative};
pub use feed::{Detached, Output};
pub use measured::{Measure, Measured, MeasuredActor, MeasuredType, Measuring};
pub use observer::{Observer, observe_all};
#[doc(hidden)]
pub use offload::is_supervised_here;
pub use options::{Mailbox, SpawnError, SpawnOptions};
pub use own_thread::OwnThread;
#[cfg(feature = "tower")]
pub use recipient_service::RecipientService;
pub use send_error::SendError;
#[cfg(feature = "tower")]
pub use service::AskService;
#[cfg(feature = "signals")]
pub use signals::{Interrupts, StopOnSignals};
pub use source::Source;
pub use stash::StashFull;
pub use state::dead_letters::DeadLetter;
pub use state::names::{LookupError, NameError};
pub use stats::{Audit, EventLedger, Stats};
pub use stop_reason::{Down, Restarted, StopReason};
pub use supervision::Supervision;
pub use system::System;
pub use system_handle::SystemHandle;
pub use time::Time;
pub use timers::TimerId;
pub use try_actor::TryActor;
pub use unfinished::{Backlog, Occupied, Unfinished, WaitError};
pub use wait::SendAsync;
pub use waits::{MutedActor, WaitingActor, Waits};
