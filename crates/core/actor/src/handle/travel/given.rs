//! Handles of this process that were given away.

use super::border::{Answering, Given, GivenReply, Told};
use super::kind::{Data, kind};
use crate::actor_core::hand;
use crate::actor_id::ActorId;
use crate::ask::AskError;
use crate::control::Control;
use crate::handle::at::At;
use crate::handle::target::{WeakAsked, WeakTell};
use crate::passage::Passage;
use crate::stop_reason::{Down, StopReason};
use actinium_scheduler::guard;
use actinium_wire::{Encoding, Limits};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::sync::Arc;

// tidy: guard: what it holds of the user's is guarded (`Context::watch`).
type Notify = Box<dyn FnOnce(Down) + Send>;

/// Appends a value's bytes. A panic of the user's code is an error.
pub(super) fn encode<T: Serialize>(
    encoding: Encoding,
    value: &T,
    into: &mut Vec<u8>,
) -> Result<(), String> {
    let encoded = guard::catch(|| encoding.encode(value, into));
    encoded.map_err(|it| it.to_string())?.map_err(|it| it.to_string())
}

/// The value that all of the bytes are. A panic of the user's code is an error.
pub(super) fn decode<T: DeserializeOwned>(encoding: Encoding, bytes: &[u8]) -> Result<T, String> {
    let decoded = guard::catch(|| encoding.decode_slice(bytes, &Limits::default()));
    decoded.map_err(|it| it.to_string())?.map_err(|it| it.to_string())
}

fn watch(at: Option<At<'_>>, actor: ActorId, by: Option<ActorId>, notify: Notify) {
    match at {
        Some(At::Here(core)) => {
            // No actor has this identity.
            let watcher = by.unwrap_or(ActorId(0));
            hand(core, Control::Watch { watcher, notify });
        }
        Some(At::There(there)) => there.watch(by.unwrap_or(ActorId(0)), false, notify),
        None => notify(Down { actor, reason: StopReason::AlreadyStopped }),
    }
}

/// A recipient that was given away.
pub(super) struct GivenRecipient<M> {
    pub(super) actor: ActorId,
    pub(super) target: Arc<dyn WeakTell<M>>,
}

impl<M: Data> Given for GivenRecipient<M> {
    fn tell(&self, encoding: Encoding, message: &[u8]) -> Told {
        let Ok(message) = decode(encoding, message) else { return Told::NotUnderstood };
        match self.target.upgrade() {
            Some(target) => {
                target.tell(message);
                Told::Sent
            }
            None => Told::Ended,
        }
    }

    fn ask(&self, _: Encoding, _: &[u8]) -> Answering {
        Answering::NotUnderstood
    }

    fn watch(&self, by: Option<ActorId>, notify: Notify) {
        let target = self.target.upgrade();
        watch(target.as_ref().map(|target| target.at()), self.actor, by, notify);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn takes(&self) -> &'static str {
        kind::<M>().takes()
    }
}

/// A recipient of requests that was given away.
pub(super) struct GivenAskRecipient<Q, R> {
    pub(super) actor: ActorId,
    pub(super) target: Arc<dyn WeakAsked<Q, R>>,
}

impl<Q: Data, R: Data> Given for GivenAskRecipient<Q, R> {
    fn tell(&self, _: Encoding, _: &[u8]) -> Told {
        Told::NotUnderstood
    }

    fn ask(&self, encoding: Encoding, request: &[u8]) -> Answering {
        let Ok(request) = decode(encoding, request) else { return Answering::NotUnderstood };
        let Some(target) = self.target.upgrade() else { return Answering::Ended };
        let (answer, actor) = (target.ask(None, request), self.actor);
        Answering::Asked(Box::pin(async move {
            let answer = answer.await?;
            let mut bytes = Vec::new();
            encode(encoding, &answer, &mut bytes).map_err(|why| AskError::Refused(actor, why))?;
            Ok(bytes)
        }))
    }

    fn watch(&self, by: Option<ActorId>, notify: Notify) {
        let target = self.target.upgrade();
        watch(target.as_ref().map(|target| target.at()), self.actor, by, notify);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn takes(&self) -> &'static str {
        kind::<(Q, R)>().takes()
    }
}

/// A reply handle that was given away.
pub(super) struct GivenAnswer<R> {
    pub(super) passage: Arc<Passage<R>>,
}

impl<R: Data> GivenReply for GivenAnswer<R> {
    fn answer(&self, encoding: Encoding, answer: &[u8]) -> bool {
        let answer = decode(encoding, answer).ok();
        let is_understood = answer.is_some();
        self.passage.answer(answer);
        is_understood
    }

    fn is_awaited(&self) -> bool {
        self.passage.is_awaited()
    }
}

impl<R> Drop for GivenAnswer<R> {
    fn drop(&mut self) {
        self.passage.answer(None);
    }
}
