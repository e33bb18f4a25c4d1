//! All of this crate's tests, as one program: to link one takes a fraction of the time that many take.

mod common;
mod encodings;
mod grid;
mod leaving;
mod link;
mod movable;
mod moving;
mod names;
mod node;
mod payloads;
mod shards;
mod soak;
mod spawn;
mod team;
mod threads;
