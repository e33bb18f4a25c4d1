//! Machines that nobody has at hand, simulated with the policies that the runtime really runs.
//!
//! A discrete-event simulation: workers on the PUs of a machine (hwloc's synthetic syntax,
//! [`actinium_topology`]), their queues, caches of given sizes, the costs of misses, locks and
//! wake-ups. *Where* work runs is decided by [`actinium_scheduler::policy::Policy`], asked as the
//! workers of the runtime ask it; nothing of a policy is written twice.
//!
//! One seed gives one run, on every machine: there is no clock, no thread, no hash, and no
//! floating-point function beyond the four operations.
//!
//! | module | what it is |
//! |---|---|
//! | [`costs`] | what things cost, each with its unit and where the figure comes from |
//! | [`machine`] | PUs, caches and distances of the workers |
//! | [`cache`] | how much of each actor's state lies in which cache |
//! | [`receivers`] | which actors get more messages than others |
//! | [`workload`] | who sends what to whom |
//! | [`engine`] | workers, turns, queues, stealing, sleeping |
//! | [`figures`] | what came of a run |
//! | [`coverage`] | what the model does not cover |
//! | [`grid`] | the published experiments, scaled to a machine |
//! | [`placement`] | clusters of many nodes that exchange actors |
//!
//! ```
//! use actinium_scheduler::Policy;
//! use actinium_sim::{Costs, Machine, Settings, Workload, simulate};
//! use actinium_topology::Topology;
//!
//! let topology = Topology::synthetic("package:2 l3:1(size=12MiB) l2:6(size=256KiB) l1d:1 core:1 pu:1")?;
//! let machine = Machine::new(&topology, 8, Costs::PUBLISHED)?;
//! let workload = Workload::closed_loop(24, 20, 2_000, 500);
//! let pool = simulate(&machine, &workload, &Settings::new(Policy::pool()))?;
//! let pinned = simulate(&machine, &workload, &Settings::new(Policy::pinned()))?;
//! assert_eq!(pool.handled, 24 * 500);
//! assert!(pool.elapsed_ns > 2 * pinned.elapsed_ns, "one queue for all is a bottleneck");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod cache;
pub mod costs;
pub mod coverage;
pub mod engine;
pub mod figures;
pub mod grid;

pub mod machine;
pub mod placement;
pub mod receivers;
pub mod workload;

pub use costs::Costs;
pub use engine::{Settings, SimError, simulate};
pub use figures::Figures;
pub use machine::{Machine, MachineError};
pub use receivers::{Receivers, Skew};
pub use workload::{Shape, Workload};
