//! Handles of actors in this node's messages: how they become tickets, and tickets handles.

use super::line::{HandleLine, key};
use super::state::Inner;
use crate::locks::lock;
use actinium_actor::travel::{Border, Given, Line, Origin, TakenIn, Ticket};
use std::sync::{Arc, Weak};

impl Inner {
    /// Lets handles in this node's messages be found.
    pub(super) fn open_border(self: &Arc<Self>) {
        let me: Weak<Inner> = Arc::downgrade(self);
        self.border.open(me);
    }
}

impl Border for Inner {
    fn give(
        self: Arc<Self>,
        origin: Origin,
        fingerprint: u64,
        given: &dyn Fn() -> Arc<dyn Given>,
    ) -> Result<Ticket, String> {
        let known = lock(&self.handles).known(&origin);
        let key = match known {
            Some(key) => key,
            None => {
                let given = given();
                let noted = {
                    let mut handles = lock(&self.handles);
                    let known = handles.known(&origin).map(|key| (key, false));
                    known.or_else(|| Some((handles.note(origin, given.clone())?, true)))
                };
                let (key, is_new) =
                    noted.ok_or_else(|| "this node has left the cluster".to_owned())?;
                if is_new {
                    // Not behind the lock: one that has ended by now tells so at once.
                    let (inner, serial) = (Arc::downgrade(&self), key.serial);
                    let forget = move |_| {
                        let inner = inner.upgrade();
                        drop(inner.and_then(|inner| lock(&inner.handles).forget(serial)));
                    };
                    given.watch(None, Box::new(forget));
                }
                key
            }
        };
        let encodings = self.config.encodings.iter().fold(0, |bits, it| bits | 1 << it.id());
        let (node, actor) = (self.node.0, origin.actor);
        let (serial, secret) = (key.serial, key.secret);
        Ok(Ticket { node, actor, serial, secret, fingerprint, encodings })
    }

    fn take(self: Arc<Self>, ticket: &Ticket) -> Result<TakenIn, String> {
        if ticket.node != self.node.0 {
            return Ok(TakenIn::There(Arc::new(HandleLine::new(self, *ticket))));
        }
        // One of an earlier incarnation, or one that was never given, leads to nobody.
        let given = lock(&self.handles).given(key(ticket)).cloned();
        Ok(match given {
            Some(given) => TakenIn::Here(given),
            None => TakenIn::There(self.ended(ticket)),
        })
    }

    fn ended(self: Arc<Self>, ticket: &Ticket) -> Arc<dyn Line> {
        Arc::new(HandleLine::ended(self, *ticket))
    }
}
