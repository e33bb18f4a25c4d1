//! Reading and writing the regions of other nodes, part by part.
//!
//! A transfer has several parts under way, at most as many bytes as `PayloadConfig::window_bytes`.
//! Reading is repeated where an answer does not come: that changes nothing. Writing is not: a late
//! repetition could undo what was written after this transfer had ended.
//!
//! A region in a window is no matter of parts: the fabric reads or writes it, under a lease.

use super::access::RegionAccess;
use super::error::{RegionError, RegionProblem};
use super::handle::RemoteRegion;
use super::keeper::{Access, Accessed, EXPORTED, Keeper, What, read_place};
use super::table::Refusal;
use super::window::{Done, Key, Lease, Order};
use crate::answer::RemoteAnswer;
use crate::error::RemoteAskError;
use crate::fabric::{MemoryError, NodeId, RegionId};
use crate::node::state::Inner;
use crate::remote::RemoteAddress;
use actinium_wire::Blob;
use futures_channel::oneshot;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How long an answer may take until what changes nothing is asked once more: far above a round
/// trip. Then twice as long, and so on: it may be late because much is under way.
const AGAIN: Duration = Duration::from_millis(500);

impl From<Refusal> for RegionProblem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Gone => RegionProblem::Gone,
            Refusal::NotAllowed => RegionProblem::NotAllowed,
            Refusal::OutOfRange { region_bytes } => RegionProblem::OutOfRange { region_bytes },
            Refusal::InWindow => RegionProblem::Refused(
                "it lies in a window, and no messages reach it: ask its node for a new handle"
                    .to_owned(),
            ),
        }
    }
}

/// One get or put.
pub(super) struct Transfer {
    pub(super) inner: Arc<Inner>,
    pub(super) remote: RemoteRegion,
    pub(super) access: RegionAccess,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) timeout: Duration,
    since_ns: u64,
    /// What was certainly written.
    written: u64,
}

impl Transfer {
    pub(super) fn new(
        inner: Arc<Inner>,
        remote: RemoteRegion,
        access: RegionAccess,
        offset: u64,
        bytes: u64,
        timeout: Duration,
    ) -> Self {
        let since_ns = inner.time_ns();
        Transfer { inner, remote, access, offset, bytes, timeout, since_ns, written: 0 }
    }

    pub(super) fn failed(&self, why: impl Into<RegionProblem>) -> RegionError {
        RegionError {
            access: self.access,
            node: self.remote.node(),
            region: self.remote.region(),
            offset: self.offset,
            bytes: self.bytes,
            written: self.written,
            why: why.into(),
        }
    }

    /// What can be known without asking.
    fn check(&self) -> Result<(), RegionError> {
        if !self.remote.access().contains(self.access) {
            return Err(self.failed(RegionProblem::NotAllowed));
        }
        if !self.remote.holds(self.offset, self.bytes) {
            let region_bytes = self.remote.len();
            return Err(self.failed(RegionProblem::OutOfRange { region_bytes }));
        }
        Ok(())
    }

    fn is_here(&self) -> bool {
        self.remote.node() == self.inner.id()
    }

    fn left(&self) -> Option<Duration> {
        let taken = Duration::from_nanos(self.inner.time_ns().saturating_sub(self.since_ns));
        self.timeout.checked_sub(taken).filter(|left| !left.is_zero())
    }

    fn too_late(&self) -> RegionError {
        self.failed(RegionProblem::Timeout(self.timeout))
    }

    /// Asks until there is an answer: again after `Full`, and if `may_repeat`, after no answer. An
    /// answer that is under way already is `begun`.
    async fn insist<R>(
        &self,
        may_repeat: bool,
        begun: Option<RemoteAnswer<R>>,
        ask: impl Fn(Duration) -> RemoteAnswer<R>,
    ) -> Result<R, RegionError> {
        let (mut begun, mut again) = (begun, AGAIN);
        loop {
            let left = self.left().ok_or_else(|| self.too_late())?;
            let limit = if may_repeat { left.min(again) } else { left };
            match begun.take().unwrap_or_else(|| ask(limit)).await {
                Ok(answer) => return Ok(answer),
                Err(RemoteAskError::Timeout(_)) if may_repeat => again = again.saturating_mul(2),
                Err(RemoteAskError::Timeout(_)) => return Err(self.too_late()),
                Err(RemoteAskError::Full(node)) => self.room(node).await?,
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Waits until it is worth asking a node again.
    async fn room(&self, node: NodeId) -> Result<(), RegionError> {
        let left = self.left().ok_or_else(|| self.too_late())?;
        let late = self.inner.after(left);
        futures_lite::future::or(self.inner.ready(node), late).await;
        Ok(())
    }

    /// Finds the actor that lets this node at the region.
    async fn keeper(&self) -> Result<RemoteAddress<Keeper>, RegionError> {
        let (inner, node) = (&self.inner, self.remote.node());
        let find = |limit| inner.find(node, EXPORTED, limit, false, |address, _| address);
        self.insist(true, None, find).await
    }

    fn access(&self, at: u64, what: What) -> Access {
        let (region, secret) = (self.remote.region(), self.remote.secret());
        Access { region, secret, offset: self.offset + at, what }
    }

    /// The parts that may be under way together, and the bytes of one.
    fn window(&self) -> (usize, u64) {
        let part = self.inner.region_part_bytes();
        let window = self.inner.payload_config().window_bytes as u64;
        (usize::try_from(window / part).unwrap_or(1).max(1), part)
    }

    /// The right to reach the region by the fabric alone. None: it lies in no window.
    async fn lease(&self) -> Result<Option<Arc<Lease>>, RegionError> {
        let leases = self.inner.leases();
        // For all that the handle allows: then its node is asked once.
        let (key, ticket) = (self.key(), (self.remote.secret(), self.remote.access().bits()));
        if !self.remote.is_in_window() {
            return Ok(None);
        }
        if let Some(lease) = leases.held(key, ticket) {
            return Ok(Some(lease));
        }
        let asked = leases.begin(key);
        let place = match self.place().await {
            Ok(Some(place)) => place,
            other => {
                leases.forget(key);
                return other.map(|_| None);
            }
        };
        // Else it was revoked while its node answered.
        let granted = leases.granted(key, &asked, ticket, place);
        granted.map(Some).ok_or_else(|| self.failed(RegionProblem::Gone))
    }

    fn key(&self) -> Key {
        (self.remote.node(), self.remote.region())
    }

    /// Asks where the region lies in a window.
    async fn place(&self) -> Result<Option<RegionId>, RegionError> {
        let (node, region, secret) =
            (self.remote.node(), self.remote.region(), self.remote.secret());
        if self.is_here() {
            let access = self.remote.access();
            let place = self.inner.regions().place(region, secret, access, node);
            return place.map_err(|why| self.failed(why));
        }
        // Its node asks back when it takes the region back.
        Keeper::open(&self.inner)
            .map_err(|error| self.failed(RegionProblem::Refused(error.to_string())))?;
        let keeper = self.keeper().await?;
        let what = What::Place { access: self.remote.access().bits() };
        let access = Access { region, secret, offset: 0, what };
        let ask = |limit| keeper.ask(access.clone(), limit);
        let answer = self.insist(true, None, ask).await?.map_err(|why| self.failed(why))?;
        match read_place(node, &answer) {
            None if !answer.is_empty() => Err(self.failed(RemoteAskError::NotUnderstood)),
            place => Ok(place),
        }
    }

    /// Waits for what the fabric reads or writes.
    async fn by_fabric(
        &self,
        order: impl FnOnce(usize, Done) -> Order,
        region_bytes: u64,
    ) -> Result<Vec<u8>, RegionError> {
        let Ok(offset) = usize::try_from(self.offset) else {
            return Err(self.failed(RegionProblem::OutOfRange { region_bytes }));
        };
        let left = self.left().ok_or_else(|| self.too_late())?;
        let (done, outcome) = oneshot::channel();
        self.inner.order(order(offset, done));
        let late = self.inner.after(left);
        let ended = async { Some(outcome.await) };
        let late = async {
            late.await;
            None
        };
        let outcome = futures_lite::future::or(ended, late).await;
        match outcome {
            // It is late, or the node leaves.
            None if self.left().is_none() => Err(self.too_late()),
            None | Some(Err(oneshot::Canceled)) => Err(self.failed(RegionProblem::Left)),
            Some(Ok(outcome)) => outcome.map_err(|error| self.refused(error, region_bytes)),
        }
    }

    /// What the fabric says.
    fn refused(&self, error: MemoryError, region_bytes: u64) -> RegionError {
        self.failed(match error {
            MemoryError::NoSuchRegion(_) => {
                // Another run of its node may have another one there.
                self.inner.leases().forget(self.key());
                RegionProblem::Gone
            }
            MemoryError::OutOfRange { .. } => RegionProblem::OutOfRange { region_bytes },
            MemoryError::Unreachable(_) => RegionProblem::NodeDown,
            MemoryError::Engine(why) => RegionProblem::Refused(why),
        })
    }

    async fn get_by_fabric(&self, lease: Arc<Lease>) -> Result<Vec<u8>, RegionError> {
        let region_bytes = lease.place().map_or(0, |place| place.bytes);
        let Ok(bytes) = usize::try_from(self.bytes) else {
            return Err(self.failed(RegionProblem::OutOfRange { region_bytes }));
        };
        let order = |offset, done| Order::Get { lease, offset, bytes, done };
        self.by_fabric(order, region_bytes).await
    }

    async fn put_by_fabric(&self, lease: Arc<Lease>, from: Vec<u8>) -> Result<(), RegionError> {
        let region_bytes = lease.place().map_or(0, |place| place.bytes);
        let order = |offset, done| Order::Put { lease, offset, from, done };
        self.by_fabric(order, region_bytes).await.map(drop)
    }

    /// Reads.
    pub(super) async fn get(self) -> Result<Vec<u8>, RegionError> {
        self.check()?;
        if let Some(lease) = self.lease().await? {
            return self.get_by_fabric(lease).await;
        }
        let mut read = Vec::new();
        if self.is_here() {
            let (region, secret) = (self.remote.region(), self.remote.secret());
            let here = self.inner.regions().get(region, secret, self.offset, self.bytes);
            return here.map(|bytes| bytes.to_vec()).map_err(|why| self.failed(why));
        }
        let keeper = self.keeper().await?;
        let ask =
            |at: u64, bytes: u64, limit| keeper.ask(self.access(at, What::Get { bytes }), limit);
        let (parts, part_bytes) = self.window();
        let (mut begun, mut asked) = (VecDeque::new(), 0);
        while (read.len() as u64) < self.bytes {
            while asked < self.bytes && begun.len() < parts {
                let bytes = part_bytes.min(self.bytes - asked);
                let limit = self.left().ok_or_else(|| self.too_late())?.min(AGAIN);
                begun.push_back((asked, bytes, ask(asked, bytes, limit)));
                asked += bytes;
            }
            let Some((at, bytes, answer)) = begun.pop_front() else { break };
            self.part(&mut read, (at, bytes), answer, &ask).await?;
        }
        Ok(read)
    }

    /// Takes one part of a get. The other node may answer with less than all of it.
    async fn part(
        &self,
        read: &mut Vec<u8>,
        (at, bytes): (u64, u64),
        answer: RemoteAnswer<Accessed>,
        ask: &impl Fn(u64, u64, Duration) -> RemoteAnswer<Accessed>,
    ) -> Result<(), RegionError> {
        let (mut begun, mut done) = (Some(answer), 0);
        while done < bytes {
            let (from, missing) = (at + done, bytes - done);
            let again = |limit| ask(from, missing, limit);
            let part = self.insist(true, begun.take(), again).await?;
            let part = part.map_err(|why| self.failed(why))?;
            if part.is_empty() || part.len() as u64 > missing {
                return Err(self.failed(RemoteAskError::NotUnderstood));
            }
            read.extend_from_slice(&part);
            done += part.len() as u64;
        }
        Ok(())
    }

    /// Writes.
    pub(super) async fn put(mut self, from: Vec<u8>) -> Result<(), RegionError> {
        self.check()?;
        if let Some(lease) = self.lease().await? {
            return self.put_by_fabric(lease, from).await;
        }
        if self.is_here() {
            let (region, secret) = (self.remote.region(), self.remote.secret());
            let here = self.inner.regions().put(region, secret, self.offset, &from);
            return here.map_err(|why| self.failed(why));
        }
        let keeper = self.keeper().await?;
        let from = Blob::from(from);
        let (parts, part_bytes) = self.window();
        let (mut begun, mut asked) = (VecDeque::new(), 0);
        while self.written < self.bytes {
            while asked < self.bytes && begun.len() < parts {
                let bytes = part_bytes.min(self.bytes - asked);
                let limit = self.left().ok_or_else(|| self.too_late())?;
                begun.push_back((
                    asked,
                    bytes,
                    self.write_part(&keeper, &from, asked, bytes, limit),
                ));
                asked += bytes;
            }
            let Some((at, bytes, answer)) = begun.pop_front() else { break };
            let again = |limit| self.write_part(&keeper, &from, at, bytes, limit);
            let put = self.insist(false, Some(answer), again).await?;
            put.map_err(|why| self.failed(why))?;
            self.written += bytes;
        }
        Ok(())
    }

    fn write_part(
        &self,
        keeper: &RemoteAddress<Keeper>,
        from: &Blob,
        at: u64,
        bytes: u64,
        limit: Duration,
    ) -> RemoteAnswer<Accessed> {
        // Both lie within the bytes, which are in memory.
        let part = from[at as usize..(at + bytes) as usize].to_vec();
        keeper.ask(self.access(at, What::Put { bytes: Blob::from(part) }), limit)
    }
}
