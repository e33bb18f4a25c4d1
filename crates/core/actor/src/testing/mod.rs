//! Actors under test: one thread, virtual time, and a seed that decides who runs next.
//!
//! A [`TestSystem`] runs the real actors on the real scheduler, but by hand: one turn at a time, on
//! the thread of the test. Which of the actors that are ready goes next is drawn from a seed, so
//! each seed is one of the orders that a machine with many workers might have produced, and the
//! same seed gives the same run, turn by turn. Time stands still until the test advances it: a day
//! of timers takes as long as the messages that they send.
//!
//! ```
//! use actinium_actor::testing::{ProbeActor, TestSystem};
//! use actinium_actor::{Actor, Address, Context};
//! use std::time::Duration;
//!
//! /// Reminds somebody after a while.
//! struct Alarm { ring: Address<ProbeActor<&'static str>> }
//!
//! enum Msg { In(Duration), Now }
//!
//! impl Actor for Alarm {
//!     type Msg = Msg;
//!
//!     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
//!         match msg {
//!             Msg::In(delay) => drop(ctx.after(delay, Msg::Now)),
//!             Msg::Now => self.ring.tell("wake up"),
//!         }
//!     }
//! }
//!
//! let mut sys = TestSystem::seeded(42);
//! let probe = sys.probe();
//! let alarm = sys.spawn(Alarm { ring: probe.address() });
//!
//! alarm.tell(Msg::In(Duration::from_secs(8 * 3600)));
//! sys.advance(Duration::from_secs(8 * 3600 - 1));
//! probe.expect_none();
//! sys.advance(Duration::from_secs(1));
//! probe.expect_eq("wake up");
//! assert!(sys.audit().is_balanced());
//! ```
//!
//! What actors hand to [`crate::Context::offload`] runs on other threads all the same: when nobody
//! is ready, the test waits for it. If there are several such closures at a time, the order in
//! which they end is not the seed's.
//!
//! An answer can be asked for before the system runs, and looked at afterwards:
//!
//! ```
//! # use actinium_actor::{Actor, AskError, Context, Reply, testing::TestSystem};
//! # struct Echo;
//! # impl Actor for Echo {
//! #     type Msg = Reply<u32>;
//! #     fn handle(&mut self, reply: Reply<u32>, _ctx: &mut Context<'_, Self>) {
//! #         let _ = reply.send(42);
//! #     }
//! # }
//! let mut sys = TestSystem::seeded(42);
//! let echo = sys.spawn(Echo);
//! let answer = echo.ask(|reply| reply);
//! sys.run_until_idle();
//! assert_eq!(answer.wait(), Ok(42));
//! ```
//!
//! # A probe in an actor's place
//!
//! A probe is an actor of its own type, [`ProbeActor`], so it cannot stand in where an
//! `Address<Printer>` is asked for. An actor is easier to test, and to reuse, if it asks for what
//! it needs: a [`Recipient`](crate::Recipient) of its messages, or an
//! [`AskRecipient`](crate::AskRecipient). Probes convert into both:
//!
//! ```
//! use actinium_actor::testing::TestSystem;
//! use actinium_actor::{Actor, Context, Recipient};
//!
//! /// Tells whoever wants to hear it. In the program that is `printer.into()`.
//! struct Doubler { to: Recipient<u32> }
//!
//! impl Actor for Doubler {
//!     type Msg = u32;
//!
//!     fn handle(&mut self, n: u32, _ctx: &mut Context<'_, Self>) {
//!         self.to.tell(2 * n);
//!     }
//! }
//!
//! let sys = TestSystem::seeded(1);
//! let probe = sys.probe::<u32>();
//! let doubler = sys.spawn(Doubler { to: probe.recipient() });
//! doubler.tell(21);
//! probe.expect_eq(42);
//! probe.expect_none();
//! ```
//!
//! # Many seeds
//!
//! A property that must hold whatever the order is tried with as many seeds as there is patience
//! for: [`explore`] names the first that fails, and how to run it again.
//!
//! ```
//! use actinium_actor::testing::explore;
//!
//! explore(100, |sys| {
//!     // Spawn, tell, and then:
//!     sys.run_until_idle();
//!     sys.expect_no_dead_letters();
//! });
//! ```
//!
//! # Faults
//!
//! [`TestSystem::inject`] chooses messages that are lost, late, doubled, or make their actor panic;
//! `expect_restarts`, `expect_stopped` and `expect_dead_letters` say what must come of it.

mod driver;
mod expect;
mod explore;
mod inject;
mod probe;
mod random;
mod system;

pub use driver::NeverIdle;
pub use explore::explore;
pub use inject::{Inject, Injected};
pub use probe::{Probe, ProbeActor};
pub use system::{TestSystem, TestSystemBuilder};
