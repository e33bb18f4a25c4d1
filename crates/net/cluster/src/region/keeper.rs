//! The actor of each node that lets others at its regions.

use super::access::RegionAccess;
use super::table::Refusal;
use crate::actor::RemoteActor;
use crate::denial::Denial;
use crate::fabric::{NodeId, RegionId};
use crate::node::state::Inner;
use crate::node::{ExportError, Grants};
use actinium_actor::{Actor, Context, Mailbox, Reply, SpawnOptions};
use actinium_scheduler::guard;
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Weak};

/// What waits in the keeper's mailbox: parts, whose senders wait then.
const WAITING: Mailbox = Mailbox::Bounded(32);

/// The name under which a node exports its keeper.
pub(super) const EXPORTED: &str = "actinium.regions";

/// A request for bytes of a region, or to write some.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
pub(super) struct Access {
    pub(super) region: u64,
    pub(super) secret: u64,
    pub(super) offset: u64,
    pub(super) what: What,
}

#[derive(Clone, Debug, Serialize, Deserialize, Message)]
pub(super) enum What {
    /// At most so many bytes are wanted.
    Get {
        bytes: u64,
    },
    Put {
        bytes: Blob,
    },
    /// Where the region lies in a window, for these bits of an access.
    Place {
        access: u8,
    },
    /// The region of the node that says this, under this number there, is taken back: nothing is to
    /// begin any more. The answer comes when all that was begun has ended.
    Release,
}

/// The answer: bytes, fewer than were wanted if they do not fit in a frame here; none to a put or a
/// release. A place is two words: what the fabric knows it by, and its length; none if the region
/// lies in no window.
pub(super) type Accessed = Result<Blob, Refusal>;

fn place_bytes(place: RegionId) -> Vec<u8> {
    [place.index, place.bytes].into_iter().flat_map(u64::to_le_bytes).collect()
}

/// What a node has answered to [`What::Place`].
pub(super) fn read_place(node: NodeId, bytes: &[u8]) -> Option<RegionId> {
    let (words, &[]) = bytes.as_chunks::<8>() else { return None };
    let &[index, bytes] = words else { return None };
    Some(RegionId { node, index: u64::from_le_bytes(index), bytes: u64::from_le_bytes(bytes) })
}

pub(super) struct Asked(NodeId, Access, Reply<Accessed>);

/// See the module.
pub(super) struct Keeper {
    inner: Weak<Inner>,
}

impl Keeper {
    /// Lets other nodes ask this one for its regions, and take theirs back.
    pub(super) fn open(inner: &Arc<Inner>) -> Result<(), ExportError> {
        inner.begin_regions(|| {
            let (options, weak) = (SpawnOptions::new().mailbox(WAITING), Arc::downgrade(inner));
            let keeper = inner.system().spawn_with(options, Keeper { inner: weak });
            let keeper = keeper.expect("it has no wish for a name, a place or memory");
            inner.export(EXPORTED, std::slice::from_ref(&keeper), Grants::ASK)
        })
    }
}

impl Actor for Keeper {
    type Msg = Asked;

    fn handle(&mut self, Asked(from, access, reply): Asked, _ctx: &mut Context<'_, Self>) {
        // If the node has left, nobody waits for an answer.
        let Some(inner) = self.inner.upgrade() else { return };
        let Access { region, secret, offset, what } = access;
        if matches!(what, What::Release) {
            // It says so of its own regions only. Whoever asked may have stopped waiting.
            let released = move || drop(reply.send(Ok(Blob::from(Vec::new()))));
            return inner.leases().revoke((from, region), released);
        }
        let regions = inner.regions();
        let access = || match what {
            What::Get { bytes } => {
                let bytes = bytes.min(inner.region_part_bytes());
                regions.get(region, secret, offset, bytes)
            }
            What::Put { bytes } => {
                regions.put(region, secret, offset, &bytes).map(|()| Blob::from(Vec::new()))
            }
            What::Place { access } => {
                let place = regions.place(region, secret, RegionAccess::of_bits(access), from)?;
                Ok(Blob::from(place.map_or_else(Vec::new, place_bytes)))
            }
            What::Release => unreachable!("it was handled above"),
        };
        // The memory may be the user's code. That it panicked was printed; whoever asked hears
        // that there is no answer.
        let Ok(accessed) = guard::catch(access) else { return };
        if let Err(Refusal::NotAllowed | Refusal::OutOfRange { .. }) = accessed
            && from != inner.id()
        {
            // An honest node has checked both. A region that shrank is an honest reason, too: the
            // event says what was tried, and the other node is not cut off.
            inner.deny_lie(&inner.peer(from), Some(Self::KIND), Denial::Region);
        }
        // Whoever asked may have stopped waiting.
        drop(reply.send(accessed));
    }
}

impl RemoteActor for Keeper {
    const KIND: &'static str = "actinium.regions";
    /// Nothing is sent.
    type Message = ();
    type Request = Access;
    type Answer = Accessed;

    fn message((): ()) -> Asked {
        unreachable!("it is exported for requests only")
    }

    fn request(access: Access, reply: Reply<Accessed>) -> Asked {
        Asked(NodeId(u32::MAX), access, reply)
    }

    fn request_from(node: NodeId, access: Access, reply: Reply<Accessed>) -> Asked {
        Asked(node, access, reply)
    }
}
