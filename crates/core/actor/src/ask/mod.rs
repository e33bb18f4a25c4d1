//! Asking: a message that carries a handle for its reply.
//!
//! | file | what it is |
//! |---|---|
//! | `error.rs` | why there is no answer |
//! | `way.rs` | the way back to the asker: to a future, or to an actor |
//! | `reply.rs` | the handle in the message |
//! | `answer.rs` | the answer that is under way, as a future |
//! | `try_answer.rs` | the same for an answer that may be an error itself |
//! | `room.rs` | asks that wait until a full mailbox takes them |
//! | `wrapped.rs` | a handle whose answers go out in something else |
//! | `from_actor.rs` | asks of actors, whose answers come as messages |

pub(crate) mod answer;
pub(crate) mod error;
mod from_actor;
pub(crate) mod reply;
mod room;
pub(crate) mod try_answer;
pub(crate) mod way;
mod wrapped;

pub use answer::Answer;
pub use error::AskError;
pub use from_actor::Asking;
pub use reply::Reply;
pub use try_answer::TryAnswer;
#[doc(hidden)]
pub use way::Asker;
