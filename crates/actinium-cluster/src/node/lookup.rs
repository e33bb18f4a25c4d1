//! Finding the actors that nodes export, here and there.

use super::exports::Waiting;
use super::{ExportError, Inner, NodeEvent, Peer};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::codec::{NODES, decode, encode, encode_early, hello};
use crate::fabric::NodeId;
use crate::message::{self, Control, Found, Unanswered};
use crate::remote::{RemoteActor, RemoteAddress, RemoteAskError};
use actinium_actor::Address;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// No more actors are exported together than this: whoever says so has another program.
const EXPORTED_TOGETHER_MAX: u32 = 1 << 24;

impl Inner {
    pub(super) fn lookup<A: RemoteActor>(
        self: &Arc<Self>,
        node: NodeId,
        name: &str,
        limit: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.find(node, name, limit, false, |address, _| address)
    }

    /// `wait`: for a name that is not there yet. `make` makes of the first actor's address, and of how many have the name, what is wanted.
    pub(crate) fn find<A: RemoteActor, R: Send + 'static>(
        self: &Arc<Self>,
        node: NodeId,
        name: &str,
        limit: Duration,
        wait: bool,
        make: impl FnOnce(RemoteAddress<A>, u32) -> R + Send + 'static,
    ) -> RemoteAnswer<R> {
        if node == self.node {
            return RemoteAnswer::ready(Err(RemoteAskError::ThisNode));
        }
        let peer = self.peer(node);
        let write = |question, frame: &mut Vec<u8>| {
            let hello = encode_early(&hello::<A>(&self.config.encodings))?;
            message::control(
                &Control::Lookup { question, name: name.to_owned(), hello, wait },
                frame,
            )
        };
        let read = self.read_found(&peer, name, make);
        self.question(&peer, limit, write, read)
    }

    /// Reads the answer to a question for an actor of this name.
    pub(super) fn read_found<A: RemoteActor, R>(
        self: &Arc<Self>,
        peer: &Arc<Peer>,
        name: &str,
        make: impl FnOnce(RemoteAddress<A>, u32) -> R + Send + 'static,
    ) -> impl FnOnce(&[u8]) -> Result<R, RemoteAskError> + Send + 'static {
        let (inner, peer, wanted) = (self.clone(), peer.clone(), name.to_owned());
        let node = peer.node;
        move |bytes: &[u8]| match decode(NODES, bytes) {
            Ok(Found::Actor { key, count, encoding, remarks }) => {
                for remark in remarks {
                    let kind = A::KIND;
                    inner.tell_listeners(&NodeEvent::Remark { node, kind, remark });
                }
                if count > EXPORTED_TOGETHER_MAX {
                    return Err(RemoteAskError::NotUnderstood);
                }
                let kind = PhantomData;
                Ok(make(RemoteAddress { inner, peer, key, encoding, kind }, count))
            }
            Ok(Found::Unsettled(why)) => Err(RemoteAskError::Unsettled { name: wanted, why }),
            Ok(Found::NoSuchName) => Err(RemoteAskError::NoSuchName(wanted)),
            Ok(Found::OtherKind(found)) => {
                Err(RemoteAskError::OtherKind { name: wanted, expected: A::KIND, found })
            }
            Ok(Found::NotRegistered) => Err(RemoteAskError::NotRegistered(A::KIND)),
            Ok(Found::NotStarted(why)) => Err(RemoteAskError::NotStarted { kind: A::KIND, why }),
            Ok(Found::NoRoom(actors)) => Err(RemoteAskError::NoRoom { node, actors }),
            Err(_) => Err(RemoteAskError::NotUnderstood),
        }
    }

    pub(crate) fn export<A: RemoteActor>(
        self: &Arc<Self>,
        name: &str,
        addresses: &[Address<A>],
    ) -> Result<(), ExportError> {
        let waiting = self.exports_mut().add(name, addresses)?;
        for asked in waiting {
            self.look_up(asked, false);
        }
        Ok(())
    }

    /// Takes the name of one actor back.
    pub(crate) fn unexport(&self, name: &str) {
        self.exports_mut().remove(name);
    }

    /// An actor that this node exports for itself; `called` is what it is called in an error.
    pub(crate) fn exported_here<A: RemoteActor>(
        &self,
        name: &str,
        called: &str,
    ) -> Result<AnyAddress<A>, RemoteAskError> {
        let actor = self.exports().named(name).cloned();
        let actor = actor.ok_or_else(|| RemoteAskError::NoSuchName(called.to_owned()))?;
        let address = actor.address().downcast_ref::<Address<A>>().cloned();
        let other = || RemoteAskError::OtherKind {
            name: called.to_owned(),
            expected: A::KIND,
            found: actor.hello(&self.config.encodings).protocol,
        };
        address.map(|address| AnyAddress::Here(self.node, address)).ok_or_else(other)
    }

    /// Another node asks for a name.
    pub(super) fn look_up(self: &Arc<Self>, mut asked: Waiting, wait: bool) {
        if wait {
            match self.exports_mut().wait(asked) {
                Ok(()) => return,
                Err(back) => asked = *back,
            }
        }
        let found = self.exports().find(&asked.name, &asked.hello, &self.config.encodings);
        self.found(&asked.peer, asked.question, &found);
    }

    pub(super) fn found(self: &Arc<Self>, peer: &Arc<Peer>, question: u64, found: &Found) {
        let mut bytes = Vec::new();
        let written = encode(NODES, found, &mut bytes);
        let answer = written.map(|()| &bytes[..]).map_err(|_| Unanswered::NotUnderstood);
        self.answer(peer, question, answer);
    }
}
