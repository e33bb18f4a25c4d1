//! Actors that opt in are reached from outside: by WebSocket and by HTTP POST, in JSON for the
//! browser's console and in MessagePack in production.
//!
//! An actor opts in by [`Served`]. `#[actor(gateway)]` implements it, with a protocol made of the
//! actor's methods. By hand, it names a protocol (`actinium_wire::protocol!`) whose second party it
//! is, and makes its own message of what a client says. The protocol's monitor stands at the
//! border: what the state does not allow never reaches the actor.
//!
//! ```
//! use actinium_actor::{Actor, Context, System};
//! use actinium_gateway::{Call, Gateway, Served};
//!
//! actinium_wire::protocol! {
//!     /// Counts.
//!     pub protocol Counting, version 1, between client and server;
//!     state Open {
//!         client request Add(u64) -> server Total(u64) -> Open;
//!     }
//! }
//! use counting::Message;
//!
//! struct Counter { total: u64 }
//!
//! impl Actor for Counter {
//!     type Msg = Call<Message>;
//!
//!     fn handle(&mut self, call: Call<Message>, _ctx: &mut Context<'_, Self>) {
//!         if let Message::Add(count) = call.message {
//!             self.total += count;
//!             // An error, if the client has gone meanwhile.
//!             let _ = call.peer.send(Message::Total(self.total));
//!         }
//!     }
//! }
//!
//! impl Served for Counter {
//!     type Talk = Message;
//!
//!     fn heard(call: Call<Message>) -> Call<Message> {
//!         call
//!     }
//! }
//!
//! let system = System::builder().workers(1).build()?;
//! let counter = system.spawn(Counter { total: 0 });
//! let gateway = Gateway::builder().serve("counter", &counter)?.start("127.0.0.1:0")?;
//! println!("curl -H 'content-type: application/json' -d '{{\"Add\":2}}' http://{}/counter", gateway.address());
//! gateway.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `served.rs` | what an actor sees: calls and peers |
//! | `reply.rs` | a `Reply` whose answer goes to a client |
//! | `conversation.rs` | one client's conversation: the monitor, and what waits to go out |
//! | `socket.rs`, `post.rs` | a WebSocket's conversation; a POST's |
//! | `admission.rs` | who may come in: tokens, origins |
//! | `strangers.rs`, `rates.rs` | what those may hold who were not let in; who has said how much lately |
//! | `encodings.rs` | subprotocols and content types |
//! | `endpoint.rs` | what routes, sockets and requests share |
//! | `gateway.rs`, `tls.rs`, `limits.rs` | the server |
//! | `fault.rs` | what a client is told when something is wrong |

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod admission;
mod clock;
mod conversation;
mod encodings;
mod endpoint;
mod fault;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gateway;
mod limits;
mod post;
mod rates;
mod reply;
mod served;
mod socket;
mod strangers;
#[cfg(test)]
mod tests;
mod tls;
mod traced;

pub use admission::Identity;
pub use conversation::{PeerId, Unsent};
pub use encodings::{content_type, subprotocol};
pub use fault::{Code, Fault};
pub use gateway::{Builder, Gateway, GatewayError};
pub use limits::Limits;
pub use served::{Call, Peer, Served};
pub use strangers::GatewayStats;
pub use tls::{Tls, TlsError};
