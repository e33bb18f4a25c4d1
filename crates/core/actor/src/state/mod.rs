//! State that all parts of a system share: one file for each kind of it, put together in
//! [`system_state`].
//!
//! None of it knows what an actor is. Where it holds references to actors, their type is a
//! parameter, and a small trait says what it needs of them.

pub(crate) mod attached;
pub(crate) mod backoffs;
pub(crate) mod dead_letters;
pub(crate) mod external;
pub(crate) mod names;
pub(crate) mod nodes;
pub(crate) mod offloads;
pub(crate) mod register;
pub(crate) mod restarts;
pub(crate) mod system_state;
