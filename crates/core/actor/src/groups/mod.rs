//! Several actors behind one handle.
//!
//! | file | what it is |
//! |---|---|
//! | `member.rs` | what groups need of their members, which may live on several nodes |
//! | `choice.rs` | the rules by which a member is chosen |
//! | `router.rs` | each message to one of them |
//! | `batched.rs` | items to one of them each, many in a message |
//! | `broadcast.rs` | each message to all of them |
//! | `ask_all.rs` | a request to all of them, and their answers as they come |
//! | `pool/` | a group that replaces members, grows and shrinks |

mod ask_all;
mod batched;
mod broadcast;
mod choice;
mod member;
mod pool;
mod router;

pub use ask_all::{Answers, AskAll, Blocking, Collect};
pub use batched::{Batched, Unsent};
pub use broadcast::Broadcast;
pub use member::{Loaded, Member, Tells};
pub use pool::{Pool, PoolFigures, PoolOptions, Route};
pub use router::Router;
