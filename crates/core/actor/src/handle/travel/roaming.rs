//! Handles of actors that the cluster finds by itself, wherever they are.

use super::border::Given;
use super::given::GivenRecipient;
use crate::actor_id::ActorId;
use crate::handle::at::{At, Elsewhere, Room};
use crate::handle::recipient::Recipient;
use crate::handle::target::{Tell, WeakTell};
use crate::send_error::SendError;
use actinium_wire::schema::Describe;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;

/// The way to an actor that has no fixed place.
pub trait Roaming<M>: Elsewhere {
    /// Sends a message.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the actor is known to have ended, [`SendError::Full`] if too much
    /// waits for it.
    fn send(&self, message: M) -> Result<(), SendError<M>>;
}

/// A target whose actor has no fixed place.
struct Roamer<M>(Arc<dyn Roaming<M>>);

/// A recipient of messages of an actor that has no fixed place.
pub fn recipient_roaming<M: Send + 'static>(way: Arc<dyn Roaming<M>>) -> Recipient<M> {
    Recipient(Arc::new(Roamer(way)))
}

/// A [`recipient_roaming`] as its node hands it to those who have been given one.
pub fn given_roaming<M>(way: Arc<dyn Roaming<M>>) -> Arc<dyn Given>
where
    M: Describe + Serialize + DeserializeOwned + Send + 'static,
{
    let actor = ActorId(way.ticket().actor);
    Arc::new(GivenRecipient { actor, target: Arc::new(Roamer(way)) })
}

impl<M: Send + 'static> Tell<M> for Roamer<M> {
    fn at(&self) -> At<'_> {
        At::There(&*self.0)
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn send(&self, msg: M) -> Result<(), SendError<M>> {
        self.0.send(msg)
    }

    fn try_send(&self, msg: M) -> Result<(), SendError<M>> {
        self.0.send(msg)
    }

    /// In order: what was sent before is on its way.
    fn send_urgent(&self, msg: M) -> Result<(), SendError<M>> {
        self.0.send(msg)
    }

    fn tell(&self, msg: M) {
        if self.0.send(msg).is_err() {
            self.0.undelivered();
        }
    }

    fn room(&self) -> Room {
        self.0.room()
    }

    fn downgrade(&self) -> Arc<dyn WeakTell<M>> {
        Arc::new(Roamer(self.0.clone()))
    }
}

impl<M: Send + 'static> WeakTell<M> for Roamer<M> {
    /// None if the actor has ended, so that whoever was given the handle hears of it.
    fn upgrade(&self) -> Option<Arc<dyn Tell<M>>> {
        (!self.0.is_closed()).then(|| -> Arc<dyn Tell<M>> { Arc::new(Roamer(self.0.clone())) })
    }
}
