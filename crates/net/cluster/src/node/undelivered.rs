//! Messages that come back to whoever wants them: see `returns` for what is kept for that.

use super::event::NodeEvent;
use super::peer::Peer;
use super::returns::{Came, CameBack};
use super::state::{Inner, guarded};
use crate::actor::RemoteActor;
use crate::codec::decode;
use crate::link::HEADER_BYTES;
use crate::message::{self, ActorKey, Item};
use crate::remote::RemoteAddress;
use actinium_actor::travel::crossing;
use actinium_memory::heap::Payload;
use actinium_scheduler::guard;
use std::fmt;
use std::sync::Arc;

/// A message to an actor of another node that did not arrive there, or may not have: see
/// [`RemoteAddress::on_undelivered`].
#[non_exhaustive]
pub struct Undelivered<A: RemoteActor> {
    /// The actor that it was for. If its node is there again and has not been started anew, the
    /// address still leads to it.
    pub to: RemoteAddress<A>,
    /// The message.
    pub message: A::Message,
    /// Its payload, if it was sent with one.
    pub payload: Option<Payload>,
    /// Whether it may have arrived: it was sent, and not acknowledged. If not, it has certainly
    /// not arrived.
    pub may_have_arrived: bool,
}

impl<A: RemoteActor> fmt::Debug for Undelivered<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Undelivered { to, may_have_arrived, .. } = self;
        write!(f, "Undelivered(to {to:?}, may have arrived: {may_have_arrived})")
    }
}

impl<A: RemoteActor> RemoteAddress<A> {
    /// Calls `listener` with each message to this actor that [`RemoteAddress::send`] took from now
    /// on, and that is not known to have arrived when the session of the two nodes ends: the other
    /// node died, was not heard for too long, or left. The messages come in the order in which they
    /// were sent, after all that the other node has said before, and after
    /// [`NodeEvent::Down`](crate::NodeEvent::Down).
    ///
    /// Each actor has one listener at each other node: a later one takes the place of an earlier
    /// one, whichever clone of the address it comes from. It is called on the node's thread or a
    /// worker, so it must not block; `move |back| actor.tell(Msg::Back(back))` is what it mostly
    /// does.
    ///
    /// What comes back is bounded by
    /// [`NodeConfig::undelivered_bytes`](crate::NodeConfig::undelivered_bytes); the rest is counted
    /// ([`NodeEvent::Returned`](crate::NodeEvent::Returned)). What the other node has acknowledged
    /// does not come back, although it has only reached a mailbox there: a message that must not
    /// be lost needs an answer of the actor. Neither does what one link has lost while the session
    /// goes on, which only happens on links that do not
    /// [resend](crate::link::LinkConfig::reliable). Requests do not come back either: whoever asks
    /// is told.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Reply, System};
    /// use actinium_cluster::fabric::{NodeId, in_process::Network};
    /// use actinium_cluster::{Node, NodeConfig, RemoteActor};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    ///
    /// struct Printer;
    ///
    /// impl Actor for Printer {
    ///     type Msg = String;
    ///     fn handle(&mut self, page: String, _ctx: &mut Context<'_, Self>) { println!("{page}") }
    /// }
    ///
    /// impl RemoteActor for Printer {
    ///     const KIND: &'static str = "example.printer";
    ///     type Message = String;
    ///     type Request = ();
    ///     type Answer = ();
    ///     fn message(page: String) -> String { page }
    ///     fn request(_: (), _: Reply<()>) -> String { String::new() }
    /// }
    ///
    /// let network = Network::new();
    /// let (here, there) = (network.node(NodeId(0)), network.node(NodeId(1)));
    /// let systems = [System::builder().workers(1).build()?, System::builder().workers(1).build()?];
    /// let a = Node::start(systems[0].handle(), NodeConfig::default(), move || Ok(here))?;
    /// let b = Node::start(systems[1].handle(), NodeConfig::default(), move || Ok(there))?;
    /// b.export("printer", &systems[1].spawn(Printer))?;
    /// let printer = a.lookup::<Printer>(NodeId(1), "printer", Duration::from_secs(60)).wait()?;
    ///
    /// let (sender, undelivered) = mpsc::channel();
    /// printer.on_undelivered(move |back| drop(sender.send(back)));
    ///
    /// network.kill(NodeId(1));
    /// printer.send("page 1".to_owned())?;
    /// let back = undelivered.recv()?;
    /// assert_eq!(back.message, "page 1");
    /// assert_eq!(back.to.node(), NodeId(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_undelivered(&self, listener: impl Fn(Undelivered<A>) + Send + Sync + 'static) {
        let to = self.clone();
        let claim = move |came: Came<'_>| {
            let Came { encoding, bytes, payload, was_sent: may_have_arrived } = came;
            let (border, node) = (to.inner.border.number(), to.peer.node.0);
            let Ok(message) = crossing(border, node, || decode::<A::Message>(encoding, bytes))
            else {
                return false;
            };
            let to = to.clone();
            guarded(|| listener(Undelivered { to, message, payload, may_have_arrived }));
            true
        };
        let is_over = || self.inner.is_over();
        let before = self.peer.returns.claim(self.key, Arc::new(claim), is_over);
        guard::drop_guarded(before);
    }
}

impl Inner {
    /// Where to put what comes back of the messages for a node, with their payloads, which are
    /// still kept.
    pub(super) fn taken_back(&self, peer: &Peer) -> CameBack {
        if !peer.returns.are_wanted() {
            return CameBack::default();
        }
        CameBack::wanted(self.config.undelivered_bytes, peer.payloads.offers.all())
    }

    /// Gives messages back to those who want them, and tells how many.
    pub(super) fn return_all(&self, peer: &Peer, back: CameBack) {
        let CameBack { frames, beyond: not_kept, mut payloads, .. } = back;
        let (mut messages, mut unreadable) = (0, 0);
        for (frame, was_sent) in frames {
            let mut one = |key, encoding, bytes, payload| {
                let came = Came { encoding, bytes, payload, was_sent };
                match return_one(peer, key, came) {
                    Some(true) => messages += 1,
                    Some(false) => unreadable += 1,
                    None => {}
                }
            };
            message::read(&frame[HEADER_BYTES..], |item| match item {
                Item::Tell(key, encoding, bytes) => one(key, encoding, bytes, None),
                Item::TellWith(key, encoding, offer, bytes) => {
                    one(key, encoding, bytes, payloads.remove(&offer.id));
                }
                _ => {}
            });
        }
        if messages + not_kept + unreadable > 0 {
            let node = peer.node;
            self.tell_listeners(&NodeEvent::Returned { node, messages, not_kept, unreadable });
        }
    }
}

/// Gives a message back to whoever wants it: whether it could be read. None: nobody does.
fn return_one(peer: &Peer, key: ActorKey, came: Came<'_>) -> Option<bool> {
    let claim = peer.returns.claimed(key)?;
    Some(claim(came))
}
