//! An actor in memory: the core, the mailbox, the state, and the turns in which they are used.
//!
//! # Who may touch what
//!
//! The own part of the mailbox, the state and the life belong to the actor's owner (see
//! `actinium_scheduler::runnable`). Code proves that it runs for the owner by a value of a type in
//! [`owned`], which only the owner can get.

pub(crate) mod actor_cell;
pub(crate) mod apart;
mod beside;
pub(crate) mod create;
pub(crate) mod faults;
pub(crate) mod life;
pub(crate) mod lifecycle;
pub(crate) mod mailbox;
pub(crate) mod memory;
pub(crate) mod owned;
pub(crate) mod reference;
pub(crate) mod turn;
pub(crate) mod waiting;
pub(crate) mod waits;
