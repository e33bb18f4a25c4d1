//! Finding the actors that nodes export, here and there.

use super::event::NodeEvent;
use super::exports::{ExportError, Waiting};
use super::grants::Grants;
use super::peer::Peer;
use super::state::Inner;
use super::taps::MessageTypes;
use crate::actor::{RemoteActor, hello};
use crate::answer::RemoteAnswer;
use crate::any::AnyAddress;
use crate::codec::{NODES, decode, decode_hello, encode_early};
use crate::denial::Denial;
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::locks::lock;
use crate::message::{self, Control, Found};
use crate::remote::RemoteAddress;
use actinium_actor::Address;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The longest time that another node may take to start its part of the cluster's own machinery.
const MEET_TIMEOUT: Duration = Duration::from_secs(3600);

impl Inner {
    pub(super) fn lookup<A: RemoteActor>(
        self: &Arc<Self>,
        node: NodeId,
        name: &str,
        timeout: Duration,
    ) -> RemoteAnswer<RemoteAddress<A>> {
        self.find(node, name, timeout, false, |address, _| address)
    }

    /// Finds actors by their name. `wait`: waits for a name that is not there yet. `make` turns the
    /// first actor's address, and the number of actors of the name, into the result.
    pub(crate) fn find<A: RemoteActor, R: Send + 'static>(
        self: &Arc<Self>,
        node: NodeId,
        name: &str,
        timeout: Duration,
        wait: bool,
        make: impl FnOnce(RemoteAddress<A>, u32) -> R + Send + 'static,
    ) -> RemoteAnswer<R> {
        self.find_always(node, name, timeout, wait, false, make).0
    }

    /// Finds actors like `find`. `always`: asks even if too much waits for that node. Returns the
    /// request's number, too, if one was sent.
    fn find_always<A: RemoteActor, R: Send + 'static>(
        self: &Arc<Self>,
        node: NodeId,
        name: &str,
        timeout: Duration,
        wait: bool,
        always: bool,
        make: impl FnOnce(RemoteAddress<A>, u32) -> R + Send + 'static,
    ) -> (RemoteAnswer<R>, Option<u64>) {
        if node == self.node {
            return (RemoteAnswer::ready(Err(RemoteAskError::ThisNode)), None);
        }
        let peer = self.peer(node);
        let mut asked = None;
        let write = |request, frame: &mut Vec<u8>| {
            asked = Some(request);
            let hello = encode_early(&hello::<A>(&self.config.encodings))?;
            message::control(
                &Control::Lookup { request, name: name.to_owned(), hello, wait },
                frame,
            )
        };
        let read = self.read_found(&peer, name, make);
        (self.request(&peer, timeout, always, write, read).0, asked)
    }

    /// Finds a part of the cluster's own machinery on another node, whenever that part is there.
    /// Nobody waits for the answer, so the request is sent even if much waits for that node: nobody
    /// would repeat it. The first request may be lost, so this may be called again; the new request
    /// then replaces the former one. Otherwise another node could make this one keep more and more
    /// requests.
    pub(crate) fn meet<A: RemoteActor>(
        self: &Arc<Self>,
        node: NodeId,
        name: &str,
        met: impl FnOnce(RemoteAddress<A>) + Send + 'static,
    ) {
        let met = move |address, _| met(address);
        let (_, asked) = self.find_always(node, name, MEET_TIMEOUT, true, true, met);
        let Some(asked) = asked else { return };
        let before = lock(&self.meeting).insert((node, name.to_owned()), asked);
        let before = before.and_then(|before| lock(&self.requests).take(before));
        // Behind the locks: it is the last of what it holds.
        drop(before);
    }

    /// Reads the answer to a request for an actor of this name.
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
                // Whoever says that there are more has another program.
                if count as usize > inner.config.limits.found {
                    return Err(RemoteAskError::NotUnderstood);
                }
                inner.taps.know(node, key, count, MessageTypes::of::<A>());
                let kind = PhantomData;
                Ok(make(RemoteAddress { inner, peer, key, encoding, kind }, count))
            }
            Ok(Found::Incompatible(why)) => Err(RemoteAskError::Incompatible { name: wanted, why }),
            Ok(Found::NoSuchName) => Err(RemoteAskError::NoSuchName(wanted)),
            Ok(Found::OtherKind(found)) => {
                Err(RemoteAskError::OtherKind { name: wanted, expected: A::KIND, found })
            }
            Ok(Found::NotRegistered) => Err(RemoteAskError::NotRegistered(A::KIND)),
            Ok(Found::NotStarted(why)) => Err(RemoteAskError::NotStarted { kind: A::KIND, why }),
            Ok(Found::AtCapacity(actors)) => Err(RemoteAskError::AtCapacity { node, actors }),
            Err(_) => Err(RemoteAskError::NotUnderstood),
        }
    }

    pub(crate) fn export<A: RemoteActor>(
        self: &Arc<Self>,
        name: &str,
        addresses: &[Address<A>],
        grants: Grants,
    ) -> Result<(), ExportError> {
        let mut exports = self.exports_mut();
        if self.is_over() {
            return Ok(());
        }
        let waiting = exports.add(name, addresses, grants)?;
        drop(exports);
        for asked in waiting {
            self.look_up(asked, false);
        }
        Ok(())
    }

    /// Takes the name of one actor back.
    pub(crate) fn unexport(&self, name: &str) {
        self.exports_mut().remove(name);
    }

    /// Returns an actor that this node exports for itself. `called` is its name in an error.
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

    /// Answers another node's request for a name, or keeps it (`wait`) until the name is there.
    pub(super) fn look_up(self: &Arc<Self>, mut asked: Waiting, wait: bool) {
        if wait {
            let waits = self.exports_mut().wait(asked, self.config.limits.lookups);
            match waits {
                Ok(()) => return,
                Err(back) => asked = *back,
            }
            if !self.exports().has(&asked.name) {
                self.deny_lie(&asked.peer, None, Denial::Lookups);
            }
        }
        let found = match decode_hello(&asked.hello) {
            Ok(hello) => self.exports().find(&asked.name, &hello, &self.config.encodings),
            Err(error) => Found::Incompatible(error.to_string()),
        };
        self.found(&asked.peer, asked.request, &found);
    }
}
