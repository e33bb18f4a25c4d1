//! Regions that lie in windows of the fabric: made by whoever drives the node, taken back by an
//! actor that asks all who know them.

use super::access::RegionAccess;
use super::error::{RegionError, RegionProblem};
use super::handle::RemoteRegion;
use super::keeper::{Access, EXPORTED, Keeper, What};
use super::table::{Memory, Window};
use super::window::{Lease, Order};
use super::{RegionAnswer, answer};
use crate::answer::RemoteAnswer;
use crate::error::RemoteAskError;
use crate::fabric::{MemoryError, NodeId, RegionId, zeros};
use crate::locks::lock;
use crate::node::state::Inner;
use crate::node::{ExportError, NodeHandle};
use crate::remote::RemoteAddress;
use actinium_actor::{Actor, Context};
use actinium_scheduler::nanoseconds;
use futures_channel::oneshot;
use std::collections::BTreeSet;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// How long a node may take to release a region until it is asked once more. Then twice as long,
/// and so on: a long transfer may be under way there.
const AGAIN: Duration = Duration::from_millis(500);
/// How long nodes may take to release a region that is dropped.
const DROPPED: Duration = Duration::from_secs(60);

enum Body {
    Window(Arc<Window>),
    /// The fabric has no windows here.
    Held(Arc<Memory<Vec<u8>>>),
}

/// Memory of this node in a window of the fabric: other nodes read and write it without this one's
/// doing. Made by [`NodeHandle::register_window`]. Dropping it takes it back.
///
/// Its node reads and writes it like all others, by [`NodeHandle::get`] and [`NodeHandle::put`]:
/// nobody has a reference to bytes that the network may change at any time.
pub struct WindowRegion {
    inner: Arc<Inner>,
    number: u64,
    bytes: u64,
    /// None: it was taken back.
    body: Option<Body>,
}

impl WindowRegion {
    fn new(inner: Arc<Inner>, bytes: usize, body: Body) -> Self {
        let (regions, incarnation) = (inner.regions(), inner.incarnation());
        let number = match &body {
            Body::Window(window) => regions.add_window(incarnation, window.clone()),
            Body::Held(memory) => regions.add(incarnation, memory.clone()),
        };
        WindowRegion { inner, number, bytes: bytes as u64, body: Some(body) }
    }

    /// Makes a handle for reading, writing, or both, as [`Region::remote`](crate::Region::remote)
    /// does.
    #[must_use]
    pub fn remote(&self, access: RegionAccess) -> RemoteRegion {
        // It is registered for as long as this is there; see there, too.
        let secret = self.inner.regions().secret(self.number, access).unwrap_or(0);
        let remote = RemoteRegion::new(self.inner.id(), self.number, self.bytes, access, secret);
        if self.is_one_sided() { remote.in_window() } else { remote }
    }

    /// Whether other nodes reach it without this one's doing. False: the fabric has no windows
    /// here, or refuses one more, and the bytes travel in messages as those of a
    /// [`Region`](crate::Region) do.
    #[must_use]
    pub fn is_one_sided(&self) -> bool {
        matches!(self.body, Some(Body::Window(_)))
    }

    /// Takes the memory back, and gives what lies in it then. The nodes that know of it are asked
    /// to begin no more accesses and to say when those under way have ended: what a put that has
    /// succeeded wrote is among the bytes. The answer goes on without being polled.
    ///
    /// A node that is down, or does not answer within the time, is waited for no longer. What it
    /// writes then is lost. The memory that it knows of is used for nothing else until this node
    /// ends.
    ///
    /// Time: one round trip to each node that has reached the region.
    ///
    /// # Errors
    /// Of the answer: [`RegionProblem::Left`](crate::RegionProblem::Left) if this node leaves
    /// first, or the fabric's refusal.
    pub fn unregister(mut self, timeout: Duration) -> RegionAnswer<Vec<u8>> {
        let (done, taken) = oneshot::channel();
        let would_block = self.failed(RegionProblem::WouldBlock);
        let left = self.failed(RegionProblem::Left);
        self.take_back(timeout, Some(done));
        answer(would_block, async move { taken.await.unwrap_or(Err(left)) })
    }

    fn failed(&self, why: RegionProblem) -> RegionError {
        RegionError {
            access: RegionAccess::READ,
            node: self.inner.id(),
            region: self.number,
            offset: 0,
            bytes: self.bytes,
            written: 0,
            why,
        }
    }

    fn take_back(&mut self, timeout: Duration, done: Option<Taken>) {
        let Some(body) = self.body.take() else { return };
        // First: nobody learns of it any more.
        self.inner.regions().remove(self.number);
        match body {
            Body::Held(memory) => {
                let memory = lock(&memory.0).take();
                if let (Some(done), Some(memory)) = (done, memory) {
                    // Whoever has taken it back may have stopped waiting.
                    drop(done.send(Ok(memory)));
                }
            }
            Body::Window(window) => {
                let end = End {
                    inner: self.inner.clone(),
                    number: self.number,
                    place: window.place(),
                    until_ns: self.inner.time_ns().saturating_add(nanoseconds(timeout)),
                };
                let job = Box::pin(end.take_back(window.holders(), done));
                self.inner.system().spawn(Retiring(Some(job)));
            }
        }
    }
}

impl Drop for WindowRegion {
    fn drop(&mut self) {
        self.take_back(DROPPED, None);
    }
}

impl fmt::Debug for WindowRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowRegion({} of {})", self.number, self.inner.id())
    }
}

type Taken = oneshot::Sender<Result<Vec<u8>, RegionError>>;

/// Takes a window back, and ends.
struct Retiring(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Actor for Retiring {
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if let Some(job) = self.0.take() {
            ctx.pipe(job, |()| ());
        }
    }

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        ctx.stop();
    }
}

/// The end of a region in a window.
struct End {
    inner: Arc<Inner>,
    number: u64,
    place: RegionId,
    until_ns: u64,
}

impl End {
    /// Waits until all have released it, and takes it from the fabric.
    async fn take_back(self, holders: BTreeSet<NodeId>, done: Option<Taken>) {
        let mut releases: Vec<Release<'_>> =
            holders.into_iter().map(|node| Box::pin(self.release(node)) as Release<'_>).collect();
        let mut all_have = true;
        poll_fn(|cx| {
            releases.retain_mut(|release| match release.as_mut().poll(cx) {
                Poll::Ready(has) => {
                    all_have &= has;
                    false
                }
                Poll::Pending => true,
            });
            if releases.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        // Of what is dropped nobody wants to know what lay in it.
        if let Some(done) = done {
            let bytes = self.bytes().await;
            if let Some(bytes) = bytes {
                // Whoever has taken it back may have stopped waiting.
                drop(done.send(bytes));
            }
        }
        if all_have {
            self.inner.order(Order::Unregister(self.place));
        }
    }

    /// What lies in it. None: this node leaves.
    async fn bytes(&self) -> Option<Result<Vec<u8>, RegionError>> {
        let (done, bytes) = oneshot::channel();
        let (lease, len) = (Lease::of(self.place), self.place.bytes as usize);
        self.inner.order(Order::Get { lease, offset: 0, bytes: len, done });
        let refused = |error: MemoryError| RegionError {
            access: RegionAccess::READ,
            node: self.inner.id(),
            region: self.number,
            offset: 0,
            bytes: self.place.bytes,
            written: 0,
            why: RegionProblem::Refused(error.to_string()),
        };
        Some(bytes.await.ok()?.map_err(refused))
    }

    /// Whether a node begins nothing any more, and nothing is under way there.
    async fn release(&self, node: NodeId) -> bool {
        let (inner, number) = (&self.inner, self.number);
        if node == inner.id() {
            let (done, released) = oneshot::channel();
            // It is waited for, just below.
            inner.leases().revoke((node, number), move || {
                let _ = done.send(());
            });
            return released.await.is_ok();
        }
        let find = |limit| inner.find(node, EXPORTED, limit, false, |address, _| address);
        let Some(keeper) = self.insist(node, find).await else { return false };
        let keeper: RemoteAddress<Keeper> = keeper;
        let access = Access { region: number, secret: 0, offset: 0, what: What::Release };
        self.insist(node, |limit| keeper.ask(access.clone(), limit)).await.is_some()
    }

    /// Asks until there is an answer. None: there is none in time, or will never be.
    async fn insist<R>(
        &self,
        node: NodeId,
        ask: impl Fn(Duration) -> RemoteAnswer<R>,
    ) -> Option<R> {
        let mut again = AGAIN;
        loop {
            let left_ns = self.until_ns.saturating_sub(self.inner.time_ns());
            let limit = Duration::from_nanos(left_ns).min(again);
            if limit.is_zero() {
                return None;
            }
            match ask(limit).await {
                Ok(answer) => return Some(answer),
                Err(RemoteAskError::Timeout(_)) => again = again.saturating_mul(2),
                Err(RemoteAskError::Full(_)) => {
                    let late = self.inner.after(limit);
                    futures_lite::future::or(self.inner.ready(node), late).await;
                }
                Err(_) => return None,
            }
        }
    }
}

type Release<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

impl NodeHandle {
    /// Registers so many bytes, zeroed, in a window of the fabric: where that has one (MPI, and in
    /// one process), other nodes read and write them without this one's doing, by
    /// [`NodeHandle::get`] and [`NodeHandle::put`]. Elsewhere the region is as one of
    /// [`NodeHandle::register_region`]: see [`WindowRegion::is_one_sided`].
    ///
    /// Nothing about an access to a window is atomic: who reads while another one writes may see
    /// some bytes before and others after, and so may the bytes be that two write at the same time.
    /// A read that begins after a put has succeeded sees the bytes of that put, or later ones.
    ///
    /// A ticket is asked for once. Later the fabric alone decides who may reach the memory: in an
    /// MPI job, each rank that calls MPI by itself.
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
    /// let table = a.register_window(1 << 20)?.wait()?;
    /// assert!(table.is_one_sided());
    /// let handle = table.remote(RegionAccess::READ | RegionAccess::WRITE);
    ///
    /// let timeout = Duration::from_secs(60);
    /// b.put(&handle, 1_000, b"seven".to_vec(), timeout).wait()?;
    /// assert_eq!(a.get(&handle, 1_002, 3, timeout).wait()?, b"ven");
    ///
    /// assert_eq!(&table.unregister(timeout).wait()?[1_000..1_005], b"seven");
    /// assert!(b.get(&handle, 0, 1, timeout).wait().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the program itself has exported an actor as `actinium.regions`. Of the answer:
    /// [`RegionProblem::Left`](crate::RegionProblem::Left) if this node leaves first, or
    /// [`Refused`](crate::RegionProblem::Refused) if there is no memory for so many bytes.
    pub fn register_window(&self, bytes: usize) -> Result<RegionAnswer<WindowRegion>, ExportError> {
        let inner = self.inner().clone();
        Keeper::open(&inner)?;
        let failed = |why| RegionError {
            access: RegionAccess::READ | RegionAccess::WRITE,
            node: inner.id(),
            region: 0,
            offset: 0,
            bytes: bytes as u64,
            written: 0,
            why,
        };
        let (would_block, left) = (failed(RegionProblem::WouldBlock), failed(RegionProblem::Left));
        let no_memory = failed(RegionProblem::Left);
        let no_room = move |error: MemoryError| RegionError {
            why: RegionProblem::Refused(error.to_string()),
            ..no_memory
        };
        let (done, registered) = oneshot::channel();
        inner.order(Order::Register { bytes, done });
        Ok(answer(would_block, async move {
            // Without a window, whatever the reason, there are messages.
            let body = match registered.await.map_err(|_| left)? {
                Ok(place) => Body::Window(Arc::new(Window::new(place))),
                Err(_) => {
                    let memory = zeros(bytes).map_err(no_room)?;
                    Body::Held(Arc::new(Memory(Mutex::new(Some(memory)))))
                }
            };
            Ok(WindowRegion::new(inner, bytes, body))
        }))
    }
}
