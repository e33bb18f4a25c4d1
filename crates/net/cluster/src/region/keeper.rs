//! The actor of each node that lets others at its regions.

use super::table::Refusal;
use crate::actor::RemoteActor;
use crate::denial::Denial;
use crate::fabric::NodeId;
use crate::node::state::Inner;
use actinium_actor::{Actor, Context, Reply};
use actinium_scheduler::guard;
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};
use std::sync::Weak;

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
}

/// The answer: bytes, fewer than were wanted if they do not fit in a frame here; none to a put.
pub(super) type Accessed = Result<Blob, Refusal>;

pub(super) struct Asked(NodeId, Access, Reply<Accessed>);

/// See the module.
pub(super) struct Keeper {
    inner: Weak<Inner>,
}

impl Keeper {
    pub(super) fn new(inner: Weak<Inner>) -> Self {
        Keeper { inner }
    }
}

impl Actor for Keeper {
    type Msg = Asked;

    fn handle(&mut self, Asked(from, access, reply): Asked, _ctx: &mut Context<'_, Self>) {
        // If the node has left, nobody waits for an answer.
        let Some(inner) = self.inner.upgrade() else { return };
        let Access { region, secret, offset, what } = access;
        let regions = inner.regions();
        let access = || match what {
            What::Get { bytes } => {
                let bytes = bytes.min(inner.region_part_bytes());
                regions.get(region, secret, offset, bytes)
            }
            What::Put { bytes } => {
                regions.put(region, secret, offset, &bytes).map(|()| Blob::from(Vec::new()))
            }
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
