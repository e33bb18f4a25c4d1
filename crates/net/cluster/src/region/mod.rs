//! Regions: memory of one node that others read and write without an actor of the program's.
//!
//! A node *registers* memory ([`NodeHandle::register_region`]) and holds it until it is taken back
//! ([`Region::unregister`]). Handles of it ([`Region::remote`]) are data and travel in messages.
//! Whoever has one reads ([`NodeHandle::get`]) and writes ([`NodeHandle::put`]) from any node, also
//! through others in a grid.
//!
//! **What is seen.** Each region has a lock, which each copy of a part takes. Parts have
//! [`NodeHandle::region_part_bytes`] bytes at most, counted from where the transfer begins. A
//! transfer of one part is atomic. One of several parts is not: who reads while another writes may
//! see some parts before and others after, and of two that write at the same time each part may be
//! the one's or the other's. When a put has succeeded, whoever begins to read afterwards sees its
//! bytes, or later ones.
//!
//! **What is lost.** A get that fails gives nothing. A put that fails says how many bytes at its
//! beginning were certainly written; each part behind them was written as a whole, or not, or is
//! still on its way and will be.
//!
//! `table` has the memory and the tickets, `keeper` is the actor that other nodes ask, `transfer`
//! asks. A region in a window (`window_region`) is asked for once, and then read and written by the
//! fabric (`window`): other rules hold for what is seen. `table`, `window` and what they are made
//! of know nothing of nodes.

pub(crate) mod access;
pub(crate) mod error;
pub(crate) mod handle;
mod keeper;
pub(crate) mod memory;
pub(crate) mod table;
mod transfer;
pub(crate) mod window;
pub(crate) mod window_region;

use crate::locks::lock;
use crate::node::state::Inner;
use crate::node::{ExportError, NodeHandle};
use access::RegionAccess;
use error::{RegionError, RegionProblem};
use handle::RemoteRegion;
use keeper::Keeper;
use memory::RegionMemory;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use table::{Held, Memory};
use transfer::Transfer;

/// Memory of this node that it lets others read and write. Dropping it takes it back.
pub struct Region<M: RegionMemory> {
    inner: Arc<Inner>,
    number: u64,
    memory: Arc<Memory<M>>,
}

impl<M: RegionMemory> Region<M> {
    /// Makes a handle for reading, writing, or both. The three have different tickets.
    #[must_use]
    pub fn remote(&self, access: RegionAccess) -> RemoteRegion {
        let secret = self.inner.regions().secret(self.number, access);
        // It is registered for as long as this is there. What allows nothing (the access of a
        // handle that another node made up) needs no ticket.
        let secret = secret.unwrap_or(0);
        RemoteRegion::new(self.inner.id(), self.number, self.memory.byte_len(), access, secret)
    }

    /// Lets this node at the memory; meanwhile other nodes' accesses wait, and with them the worker
    /// that serves them. So `f` is short and does not block.
    ///
    /// # Panics
    /// If `f` does.
    pub fn with<R>(&self, f: impl FnOnce(&mut M) -> R) -> R {
        let mut memory = lock(&self.memory.0);
        f(memory.as_mut().expect("it is taken back by what consumes this only"))
    }

    /// Takes the memory back. From now on other nodes' accesses fail with
    /// [`RegionProblem::Gone`](crate::RegionProblem::Gone); one copy that goes on is waited for.
    pub fn unregister(self) -> M {
        self.inner.regions().remove(self.number);
        let memory = lock(&self.memory.0).take();
        memory.expect("it is taken back by what consumes this only")
    }
}

impl<M: RegionMemory> Drop for Region<M> {
    fn drop(&mut self) {
        self.inner.regions().remove(self.number);
        let memory = lock(&self.memory.0).take();
        // Behind the lock: it is the user's.
        drop(memory);
    }
}

impl<M: RegionMemory> fmt::Debug for Region<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Region({} of {})", self.number, self.inner.id())
    }
}

/// The outcome of a get or put that is under way. It goes on while it is polled: await it, give it
/// to [`Context::pipe`](actinium_actor::Context::pipe) or `Context::hold`, or wait for it on a
/// thread that may block. Dropped, it goes on no further; parts that are on their way may still be
/// written.
#[must_use = "it goes on only while it is polled"]
pub struct RegionAnswer<T> {
    outcome: Pin<Box<dyn Future<Output = Result<T, RegionError>> + Send>>,
    would_block: RegionError,
}

/// An answer that goes on by this, and says that on a worker, if it is waited for there.
fn answer<T>(
    would_block: RegionError,
    outcome: impl Future<Output = Result<T, RegionError>> + Send + 'static,
) -> RegionAnswer<T> {
    RegionAnswer { outcome: Box::pin(outcome), would_block }
}

impl<T> RegionAnswer<T> {
    /// Waits, blocking the thread.
    ///
    /// # Errors
    /// If it fails; [`RegionProblem::WouldBlock`](crate::RegionProblem::WouldBlock) at once on a
    /// worker.
    pub fn wait(self) -> Result<T, RegionError> {
        if actinium_scheduler::current(|worker| worker.is_some()) {
            return Err(self.would_block);
        }
        futures_lite::future::block_on(self.outcome)
    }
}

impl<T> Future for RegionAnswer<T> {
    type Output = Result<T, RegionError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.outcome.as_mut().poll(cx)
    }
}

impl<T> fmt::Debug for RegionAnswer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegionAnswer")
    }
}

impl NodeHandle {
    /// Registers memory, so that other nodes can read and write it by handles of it. The node holds
    /// it until [`Region::unregister`].
    ///
    /// ```
    /// use actinium_actor::System;
    /// use actinium_cluster::fabric::{NodeId, in_process::Network};
    /// use actinium_cluster::{Node, NodeConfig, RegionAccess};
    /// use std::time::Duration;
    ///
    /// let network = Network::new();
    /// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
    /// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
    /// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
    /// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
    ///
    /// let table = a.register_region(vec![0_u8; 1 << 20])?;
    /// let handle = table.remote(RegionAccess::READ | RegionAccess::WRITE);
    ///
    /// // On another node, which got the handle in a message:
    /// let timeout = Duration::from_secs(60);
    /// b.put(&handle, 1_000, b"seven".to_vec(), timeout).wait()?;
    /// assert_eq!(b.get(&handle, 1_002, 3, timeout).wait()?, b"ven");
    ///
    /// assert_eq!(&table.unregister()[1_000..1_005], b"seven");
    /// assert!(b.get(&handle, 0, 1, timeout).wait().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the program itself has exported an actor as `actinium.regions`.
    pub fn register_region<M: RegionMemory>(&self, memory: M) -> Result<Region<M>, ExportError> {
        let inner = self.inner();
        Keeper::open(inner)?;
        let memory = Arc::new(Memory(Mutex::new(Some(memory))));
        let number = inner.regions().add(inner.incarnation(), memory.clone());
        Ok(Region { inner: inner.clone(), number, memory })
    }

    /// Reads bytes of a region of any node, this one too. It fails as a whole or gives all bytes;
    /// how they belong together while others write, the module `region` of this crate and the
    /// book's page on clusters say: parts of [`NodeHandle::region_part_bytes`] are atomic.
    ///
    /// Time: one round trip to find the node's regions, and one for each `window_bytes` of
    /// [`PayloadConfig`](crate::PayloadConfig) that is read. What is lost on links that are not
    /// reliable is asked for again within the timeout.
    pub fn get(
        &self,
        remote: &RemoteRegion,
        offset: u64,
        bytes: u64,
        timeout: Duration,
    ) -> RegionAnswer<Vec<u8>> {
        let transfer = self.transfer(remote, RegionAccess::READ, (offset, bytes), timeout);
        let would_block = transfer.failed(RegionProblem::WouldBlock);
        answer(would_block, transfer.get())
    }

    /// Writes bytes to a region of any node, this one too. When it has succeeded they are there,
    /// and whoever reads afterwards sees them or later ones. If it fails, some may be there:
    /// [`RegionError::written`](crate::RegionError::written).
    ///
    /// Time as for [`NodeHandle::get`]. On links that are not reliable a lost part is an error
    /// after the timeout: to repeat it could undo what others have written since.
    pub fn put(
        &self,
        remote: &RemoteRegion,
        offset: u64,
        from: Vec<u8>,
        timeout: Duration,
    ) -> RegionAnswer<()> {
        let range = (offset, from.len() as u64);
        let transfer = self.transfer(remote, RegionAccess::WRITE, range, timeout);
        let would_block = transfer.failed(RegionProblem::WouldBlock);
        answer(would_block, transfer.put(from))
    }

    /// The most bytes of a region that this node moves at once: a part, which is atomic. It depends
    /// on the fabric. A node answers a get with no more than its own.
    #[must_use]
    pub fn region_part_bytes(&self) -> u64 {
        self.inner().region_part_bytes()
    }

    fn transfer(
        &self,
        remote: &RemoteRegion,
        access: RegionAccess,
        (offset, bytes): (u64, u64),
        timeout: Duration,
    ) -> Transfer {
        Transfer::new(self.inner().clone(), *remote, access, offset, bytes, timeout)
    }
}
