//! Actinium's experiments as libraries: settings in, figures out.
//!
//! Each experiment has `Settings`, functions that measure, and a `Report` that serialises as the
//! JSON of the command `actinium`, and makes its text and its page.
//!
//! | module | measures |
//! |---|---|
//! | [`probe`] | throughput and delivery latency of messages between many actors |
//! | [`locality`] | scheduling policies on actors with states of their own, by the size of the state |
//! | [`elastic`] | the cost of elastic workers, and how fast they come |
//! | [`memory`] | segments of memory: the start-up of programs, STREAM |
//! | [`wire`] | encodings and links; also converts, explains and taps streams |
//! | [`sim`] | the published experiments on simulated machines and clusters |
//!
//! [`Failure`] is the error of all of them; [`seats`] says on which PUs the workers of compared
//! systems run.

#![expect(clippy::disallowed_methods, reason = "experiments measure real time")]

pub mod elastic;
mod failure;
pub mod locality;
pub mod memory;
pub mod nodes;
pub mod probe;
pub mod seats;
pub mod sim;
pub mod wire;

pub use failure::{Failure, REST};
