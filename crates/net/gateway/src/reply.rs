//! A handle whose answer goes to a client.

use crate::conversation::Conversation;
use crate::served::Peer;
use actinium_actor::{Asker, Reply};
use actinium_wire::protocol::Spoken;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

type Closed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A client that waits for an answer.
struct Waiting<R, M: Spoken> {
    conversation: Arc<Conversation<M>>,
    /// None: there was an answer.
    peer: Mutex<Option<Peer<M>>>,
    wrap: fn(R) -> M,
    /// The conversation's end, while somebody waits for it.
    closed: Mutex<Option<Closed>>,
}

impl<R, M: Spoken> Waiting<R, M> {
    fn peer(&self) -> MutexGuard<'_, Option<Peer<M>>> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Send + 'static, M: Spoken> Asker<R> for Waiting<R, M> {
    fn answer(&self, answer: R) -> Result<(), R> {
        let peer = self.peer().take().filter(|peer| !peer.is_closed());
        let Some(peer) = peer else { return Err(answer) };
        // Whoever goes just now does not hear it.
        let _ = peer.send((self.wrap)(answer));
        Ok(())
    }

    fn no_more(&self) {
        let peer = self.peer().take();
        // Without it, the client is told that there will be no answer. Not behind the lock.
        drop(peer);
    }

    fn is_over(&self) -> bool {
        self.peer().as_ref().is_none_or(Peer::is_closed)
    }

    fn poll_over(self: Arc<Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = closed.get_or_insert_with(|| {
            let conversation = self.conversation.clone();
            Box::pin(async move { conversation.closed().await })
        });
        closed.as_mut().poll(cx)
    }
}

impl<M: Spoken> Peer<M> {
    /// Makes a handle that answers the client's open request, in what `wrap` makes of the answer:
    /// for methods and actors that take a [`Reply`]. Dropped unused, it tells the client that there
    /// will be no answer, unless somebody has the peer still.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Reply};
    /// use actinium_gateway::Call;
    ///
    /// actinium_wire::protocol! {
    ///     protocol Counting, version 1, between client and server;
    ///     state Open { client request Get -> server Total(u64); }
    /// }
    /// use counting::Message;
    ///
    /// struct Counter { waiting: Vec<Reply<u64>> }
    ///
    /// impl Actor for Counter {
    ///     type Msg = Call<Message>;
    ///
    ///     fn handle(&mut self, call: Call<Message>, _ctx: &mut Context<'_, Self>) {
    ///         self.waiting.push(call.peer.into_reply(Message::Total));
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    #[must_use]
    pub fn into_reply<R: Send + 'static>(self, wrap: fn(R) -> M) -> Reply<R> {
        let (conversation, closed) = (self.conversation().clone(), Mutex::new(None));
        let peer = Mutex::new(Some(self));
        Reply::to_asker(Arc::new(Waiting { conversation, peer, wrap, closed }))
    }
}
