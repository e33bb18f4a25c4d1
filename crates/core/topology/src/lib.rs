//! The machine's topology, and binding threads to it.
//!
//! [`Topology`] holds packages, NUMA nodes, caches, cores and PUs (hwloc's words), which of the PUs
//! this process may use, and how much CPU time its cgroup grants. It answers what a scheduler asks:
//!
//! ```
//! use actinium_topology::{Distance, PuId, Topology};
//!
//! // Any machine, written as hwloc writes it: tests and simulations need no hardware.
//! let machine = Topology::synthetic("package:2 numa:1 l3:1 core:4 pu:2")?;
//! assert_eq!(machine.pus().len(), 16);
//!
//! // How far is one PU from another?
//! assert_eq!(machine.distance(PuId(0), PuId(1)), Distance::Core);
//! assert_eq!(machine.distance(PuId(0), PuId(15)), Distance::Machine);
//!
//! // Where to put four workers? On cores of their own, close together.
//! assert_eq!(machine.choose_pus(4), Some(vec![PuId(0), PuId(2), PuId(4), PuId(6)]));
//!
//! // Whom does PU 0 steal from first?
//! assert_eq!(machine.neighbours(PuId(0))[0], (PuId(1), Distance::Core));
//! # Ok::<(), actinium_topology::TopologyError>(())
//! ```
//!
//! And on this machine:
//!
//! ```
//! use actinium_topology::{Topology, bind_current_thread};
//!
//! let machine = Topology::detect()?;
//! print!("{}", machine.to_tree());
//! let usable = machine.usable_workers();
//! println!("{usable}");
//! if let Some(pus) = machine.choose_pus(usable.workers) {
//!     if let Err(error) = bind_current_thread(pus[0]) {
//!         eprintln!("running unbound: {error}"); // says what to do about it
//!     }
//! }
//! # Ok::<(), actinium_topology::TopologyError>(())
//! ```
//!
//! # Where a topology comes from
//!
//! | constructor | reads | allowed PUs and quota |
//! |---|---|---|
//! | [`Topology::detect`] | `/sys/devices/system/{cpu,node}` | this process's |
//! | [`Topology::from_sysfs`] | a recorded tree | all online PUs, none |
//! | [`Topology::synthetic`] | hwloc's synthetic syntax | all PUs, none |
//! | `Topology::from_hwloc` (feature `hwloc`) | the hwloc library | this process's |
//!
//! Missing or unreadable information (a container's `/sys` may lack a lot) never fails: it is
//! replaced by the plainest guess and kept as a sentence in [`Topology::warnings`], which
//! [`Topology::to_tree`] shows.
//!
//! # One file per idea
//!
//! `machine` the objects and [`Topology`]; `assemble` makes one from whatever a reader found;
//! `sysfs`, `synthetic`, `hwloc` the readers; `detect` this process on this machine; `cpuset` sets
//! of PUs; `cgroup` the CPU quota; `memory` the cgroups' limit of memory; `workers` how many
//! workers and why; `distance`, `order`, `place` the scheduler's questions; `seats` which worker
//! gets which PU, by the `claims` that keep programs apart; `bind` the two system calls, and the
//! only unsafe code; `show` text and JSON.

mod assemble;
mod bind;
mod cgroup;
mod claims;
mod cpuset;
mod detect;
mod distance;
mod error;
#[cfg(feature = "hwloc")]
mod hwloc;
mod machine;
mod memory;
mod order;
mod place;
mod seats;
mod show;
mod synthetic;
mod sysfs;
#[cfg(test)]
mod testing;
mod text;
mod workers;

pub use bind::{BindError, bind_current_thread, bind_current_thread_to};
pub use cgroup::Quota;
pub use claims::claims_folder;
pub use cpuset::{CpuSet, CpuSetError, PuId};
pub use distance::Distance;
pub use error::{SyntheticError, TopologyError};
pub use machine::{Cache, CacheKind, Core, NumaNode, Package, Pu, Source, Topology};
pub use memory::MemoryLimit;
pub use seats::{Bind, Seat, Seats, WrongBind};
pub use show::{SCHEMA_VERSION, human_bytes};
pub use text::read_text;
pub use workers::{UsableWorkers, WorkerLimit};

/// The most PUs that a topology may have. Beyond that, the input is wrong rather than the machine
/// large.
pub const MAX_PUS: usize = 65_536;
