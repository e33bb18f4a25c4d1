//! All of this crate's tests, as one program: to link one takes a fraction of the time that many take.

mod ask;
mod common;
mod crossing;
mod determinism;
mod elastic;
mod fairness;
mod groups;
mod idle;
mod ledger;
mod mailboxes;
mod names;
mod offload;
mod orphans;
mod pipe;
mod placed;
mod policies;
mod shutdown;
mod stopping;
mod supervision;
mod threads;
mod timers;
mod wait;
mod watch_link;
