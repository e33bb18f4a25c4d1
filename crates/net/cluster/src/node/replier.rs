//! An actor that waits for the answer to a reply handle of another node, and sends it there.

use super::peer::Peer;
use super::state::Inner;
use crate::aggregator::NotAdded;
use crate::locks::lock;
use crate::message::{self, HandleKey};
use actinium_actor::travel::{AnswerLater, crossing};
use actinium_actor::{Actor, Context};
use actinium_wire::Encoding;
use std::sync::{Arc, Weak};

/// See the module.
pub(super) struct Replier {
    pub(super) inner: Weak<Inner>,
    pub(super) peer: Arc<Peer>,
    /// The session of the two nodes in which the handle came.
    pub(super) session: u64,
    pub(super) key: HandleKey,
    pub(super) encoding: Encoding,
    pub(super) answer: Option<AnswerLater>,
}

impl Actor for Replier {
    /// The bytes of the answer, if there is one.
    type Msg = Option<Vec<u8>>;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let (Some(mut answer), Some(inner)) = (self.answer.take(), self.inner.upgrade()) else {
            return ctx.stop();
        };
        let (border, to) = (inner.border.number(), self.peer.node.0);
        // There may be handles in the answer.
        let answer = move |cx: &mut std::task::Context<'_>| {
            crossing(border, to, || answer.as_mut().poll(cx))
        };
        ctx.pipe(std::future::poll_fn(answer), |bytes| bytes);
    }

    fn handle(&mut self, answer: Option<Vec<u8>>, ctx: &mut Context<'_, Self>) {
        ctx.stop();
        let goes_on = lock(&self.peer.inbound).answered(self.session);
        let Some(inner) = self.inner.upgrade().filter(|_| goes_on) else { return };
        let (key, encoding) = (self.key, self.encoding);
        let send = |answer: Option<&[u8]>| {
            inner.add(&self.peer, true, |frame| {
                message::reply(key, encoding, answer, frame);
                Ok(())
            })
        };
        if let Err(NotAdded::TooLong { .. }) = send(answer.as_deref()) {
            // That there is none is short; and if the node is down, its asker is.
            let _ = send(None);
        }
    }
}
