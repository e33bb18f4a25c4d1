//! A system while it runs: what a live page or a terminal shows.
//!
//! ```
//! use actinium_actor::System;
//! use actinium_monitor::live::{ActorsQuery, Live};
//!
//! let system = System::builder().workers(2).build()?;
//! let live = Live::new(&system);
//! let before = live.snapshot();
//! // .. a second later ..
//! let after = live.snapshot();
//! for (worker, (a, b)) in before.now.workers.iter().zip(&after.now.workers).enumerate() {
//!     println!("worker {worker}: {} messages", b.counters["handled"] - a.counters["handled"]);
//! }
//! let fullest = live.actors(&ActorsQuery::default())?;
//! println!("{} actors: {:?}", fullest.total, fullest.actors.first());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `snapshot.rs` | the data |
//! | `query.rs` | which actors are asked for, as text |
//! | `look.rs` | how a system is looked at |
//! | `last_turns.rs` | the last turns of actors that somebody looks at |
//! | `process.rs` | its process |
//! | `sections.rs` | what other parts of the program have to show |

mod last_turns;
mod look;
mod process;
mod query;
mod sections;
mod snapshot;

pub use crate::types::{TypeName, TypeNow};
pub use look::Live;
pub use query::{ActorsQuery, QueryError};
pub use sections::{Section, section};
pub use snapshot::{
    About, ActorDetails, ActorNow, ActorsNow, ContentsNow, DeadLetterNow, ExchangeNow, FamilyNow,
    InTurn, LIVE_VERSION, LastTurns, MessagesNow, Now, ProcessNow, PuPlace, ScalingNow, Snapshot,
    ThreadNow, TurnNow, TurnsNow, Walk, WorkerNow,
};
