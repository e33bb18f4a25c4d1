//! A recipient of requests as a `tower::Service`.

use crate::ask::{Answer, AskError};
use crate::handle::ask_recipient::AskRecipient;
use crate::handle::at::Room;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

/// Any actor that answers a `Q` with an `R`, as a service: see [`AskRecipient::service`].
pub struct RecipientService<Q, R> {
    to: AskRecipient<Q, R>,
    /// What it waits for until it is ready. Nobody locks it: it makes the service `Sync`.
    room: Mutex<Option<Room>>,
}

impl<Q, R> AskRecipient<Q, R> {
    /// The actor as a [`tower_service::Service`], here or on another node: as
    /// [`Address::service`](crate::Address::service), without the actor's type.
    ///
    /// ```
    /// use actinium_actor::{Actor, AskRecipient, Context, Reply, System};
    /// use tower_service::Service;
    ///
    /// struct Squares;
    ///
    /// impl Actor for Squares {
    ///     type Msg = (u64, Reply<u64>);
    ///     fn handle(&mut self, (n, reply): Self::Msg, _ctx: &mut Context<'_, Self>) {
    ///         let _ = reply.send(n * n);
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let squares: AskRecipient<u64, u64> = system.spawn(Squares).into();
    /// let mut service = squares.service();
    /// futures_lite::future::block_on(async {
    ///     std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
    ///     assert_eq!(service.call(9).await?, 81);
    ///     Ok::<(), actinium_actor::AskError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn service(&self) -> RecipientService<Q, R> {
        RecipientService { to: self.clone(), room: Mutex::new(None) }
    }
}

impl<Q, R> tower_service::Service<Q> for RecipientService<Q, R>
where
    Q: Send + 'static,
    R: Send + 'static,
{
    type Response = R;
    type Error = AskError;
    type Future = Answer<R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AskError>> {
        let place = self.room.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.to.is_closed() {
            *place = None;
            return Poll::Ready(Err(AskError::Closed(self.to.id())));
        }
        let room = place.get_or_insert_with(|| self.to.0.room());
        let ready = room.as_mut().poll(cx);
        if ready.is_ready() {
            *place = None;
        }
        ready.map(Ok)
    }

    fn call(&mut self, request: Q) -> Answer<R> {
        self.to.ask_async(request)
    }
}

impl<Q, R> Clone for RecipientService<Q, R> {
    fn clone(&self) -> Self {
        self.to.service()
    }
}

impl<Q, R> fmt::Debug for RecipientService<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecipientService({:?})", self.to)
    }
}
