//! # Actinium
//!
//! A locality-first actor runtime for many-core machines: work stays where its memory is, moves only when moving pays.
//!
//! ```
//! use actinium::prelude::*;
//!
//! struct Counter { total: u64 }
//!
//! enum Msg { Add(u64), Get(Reply<u64>) }
//!
//! impl Actor for Counter {
//!     type Msg = Msg;
//!
//!     fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
//!         match msg {
//!             Msg::Add(n) => self.total += n,
//!             Msg::Get(reply) => drop(reply.send(self.total)),
//!         }
//!     }
//! }
//!
//! let system = System::builder().workers(2).build()?;
//! let counter = system.spawn(Counter { total: 0 });
//! counter.send(Msg::Add(2))?;
//! counter.send(Msg::Add(40))?;
//! assert_eq!(counter.ask(Msg::Get).wait()?, 42);
//! let report = system.shutdown(Shutdown::Drain);
//! assert_eq!((report.handled, report.dropped), (3, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use actinium_actor::*;

/// What the machine looks like.
pub mod topology {
    pub use actinium_topology::*;
}

/// Segments of memory, placed on purpose, and payloads that messages carry without a copy (feature `memory`).
#[cfg(feature = "memory")]
pub mod memory {
    pub use actinium_memory::*;
}

/// What most programs use.
pub mod prelude {
    pub use actinium_actor::{
        Actor, ActorId, Address, Answer, AskError, Broadcast, Context, Down, Mailbox, Policy,
        Reply, Router, SendError, Shutdown, SpawnOptions, StopReason, Supervision, System,
        SystemHandle, Time, TimerId, WeakAddress,
    };
}
