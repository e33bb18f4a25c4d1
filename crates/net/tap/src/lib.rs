//! Shows the live messages of a program's links and sockets, to whoever asks and may.
//!
//! What sends and receives for a program (a node of a cluster, a gateway) has a [`TapPoint`], and
//! shows it each message if [somebody looks](TapPoint::is_on). A [`Tap`] is somebody who looks: it
//! gets the messages that its [`TapFilter`] lets through, as [`Tapped`]. A [`TapServer`] lets other
//! processes look: `actinium wire tap` does, by [`TapClient`].
//!
//! A tap is bounded. What it does not take in time is counted ([`Tap::missed`]), and whoever sends
//! or receives never waits for it.
//!
//! ```
//! use actinium_tap::{Direction, Seen, Tap, TapFilter, TapPoint};
//! use actinium_wire::Encoding;
//!
//! let point = TapPoint::new("node 0");
//! assert!(!point.is_on());
//! let mut tap = point.open(TapFilter::new().direction(Direction::In).contents(true));
//! assert!(point.is_on());
//!
//! let mut seen = Seen::new(Direction::In, "node 1", "example.counter", Encoding::Text, b"[7]\n");
//! seen.schema = Some(|| actinium_wire::schema::Schema::of::<(u32,)>("example.counter", 1));
//! point.show(&seen);
//!
//! let message = tap.try_next().expect("it was shown");
//! assert_eq!(message.to_string(), "node 0 in  node 1 message example.counter, 4 bytes of text: [7]");
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `filter.rs` | what a tap wants |
//! | `point.rs`, `world.rs` | where messages are shown; all points and taps of the process |
//! | `queue.rs` | what a tap has not taken yet |
//! | `tap.rs`, `tapped.rs` | taking and decoding |
//! | `place.rs` | where a program serves taps |
//! | `server.rs`, `client.rs` | taps of other processes |

mod client;
mod filter;
mod place;
mod point;
mod queue;
mod rate;
mod server;
mod tap;
mod tapped;
mod world;

pub use client::{Heard, TapClient};
pub use filter::{Direction, TapFilter};
pub use place::{PlaceError, TapPlace};
pub use point::TapPoint;
pub use queue::{Missed, Seen, What};
pub use server::{ENV_TAP, TapServer};
pub use tap::Tap;
pub use tapped::Tapped;
