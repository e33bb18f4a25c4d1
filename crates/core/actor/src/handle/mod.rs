//! Handles that name what an actor takes, and not its type.
//!
//! | file | what it is |
//! |---|---|
//! | `at.rs` | where a handle leads: to an actor of this process, or to one elsewhere |
//! | `target.rs` | what a handle does with its messages or requests, whatever actor is behind it |
//! | `local.rs` | the targets of this process |
//! | `recipient.rs`, `ask_recipient.rs` | the handles |
//! | `travel/` | handles in messages between nodes (feature `wire`) |

pub(crate) mod ask_recipient;
pub(crate) mod at;
mod local;
pub(crate) mod recipient;
pub(crate) mod target;
#[cfg(feature = "wire")]
pub(crate) mod travel;
