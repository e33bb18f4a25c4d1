//! An actor as a `tower::Service`: behind layers that limit, retry or time out.

use crate::actor::Actor;
use crate::address::Address;
use crate::ask::{Answer, AskError, Reply};
use std::fmt;
use std::task::{Context, Poll};

/// An actor that answers a `Q` with an `R`, as a service: see [`Address::service`].
pub struct AskService<A: Actor, Q, R> {
    address: Address<A>,
    msg: fn(Q, Reply<R>) -> A::Msg,
}

impl<A: Actor> Address<A> {
    /// The actor as a [`tower_service::Service`]: of a request and its reply handle `msg` makes the
    /// actor's message.
    ///
    /// The service is ready when the mailbox has room, and fails when the actor has ended. A
    /// request that finds the mailbox full all the same waits for room.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Reply, System};
    /// use tower_service::Service;
    ///
    /// struct Squares;
    /// enum Msg { Square(u64, Reply<u64>) }
    ///
    /// impl Actor for Squares {
    ///     type Msg = Msg;
    ///     fn handle(&mut self, Msg::Square(n, reply): Msg, _ctx: &mut Context<'_, Self>) {
    ///         let _ = reply.send(n * n);
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let mut squares = system.spawn(Squares).service(Msg::Square);
    /// futures_lite::future::block_on(async {
    ///     std::future::poll_fn(|cx| squares.poll_ready(cx)).await?;
    ///     assert_eq!(squares.call(9).await?, 81);
    ///     Ok::<(), actinium_actor::AskError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn service<Q, R>(&self, msg: fn(Q, Reply<R>) -> A::Msg) -> AskService<A, Q, R> {
        AskService { address: self.clone(), msg }
    }
}

impl<A: Actor, Q, R: Send + 'static> tower_service::Service<Q> for AskService<A, Q, R> {
    type Response = R;
    type Error = AskError;
    type Future = Answer<R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), AskError>> {
        if self.address.is_closed() {
            return Poll::Ready(Err(AskError::Closed(self.address.id())));
        }
        self.address.0.poll_room(cx).map(Ok)
    }

    fn call(&mut self, request: Q) -> Answer<R> {
        let msg = self.msg;
        self.address.ask_async(|reply| msg(request, reply))
    }
}

impl<A: Actor, Q, R> Clone for AskService<A, Q, R> {
    fn clone(&self) -> Self {
        AskService { address: self.address.clone(), msg: self.msg }
    }
}

impl<A: Actor, Q, R> fmt::Debug for AskService<A, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskService({:?})", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSystem;
    use crate::{Context as ActorContext, Mailbox, SpawnOptions};
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};
    use tower_service::Service;

    struct Next;

    impl Actor for Next {
        type Msg = (u32, Reply<u32>);

        fn handle(&mut self, (n, reply): Self::Msg, _: &mut ActorContext<'_, Self>) {
            let _ = reply.send(n + 1);
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            // Relaxed: one thread.
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_is_ready_when_there_is_room_and_fails_when_the_actor_has_ended() {
        is_a_service(|next| next.service(|n, reply| (n, reply)));
        is_a_service(|next| crate::AskRecipient::from(next).service());
    }

    fn is_a_service<S>(of: impl FnOnce(&Address<Next>) -> S)
    where
        S: Service<u32, Response = u32, Error = AskError, Future = Answer<u32>>,
        S: Clone + Send + Sync + 'static,
    {
        let mut sys = TestSystem::seeded(1);
        let next = sys.spawn_with(SpawnOptions::new().mailbox(Mailbox::bounded(1)), || Next);
        let next = next.unwrap();
        let mut service = of(&next);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        assert_eq!(service.poll_ready(&mut cx), Poll::Ready(Ok(())));
        let mut one = service.call(1);
        assert_eq!(service.poll_ready(&mut cx), Poll::Pending);
        // Not ready, and called all the same: it waits.
        let mut two = service.clone().call(2);
        assert!(Pin::new(&mut two).poll(&mut cx).is_pending());
        sys.run_until_idle();
        // Relaxed: one thread.
        assert!(woken.0.load(Ordering::Relaxed) > 0, "there is room again");
        assert_eq!(Pin::new(&mut one).poll(&mut cx), Poll::Ready(Ok(2)));
        assert_eq!(service.poll_ready(&mut cx), Poll::Ready(Ok(())));
        assert!(Pin::new(&mut two).poll(&mut cx).is_pending());
        sys.run_until_idle();
        assert_eq!(Pin::new(&mut two).poll(&mut cx), Poll::Ready(Ok(3)));
        next.stop();
        sys.run_until_idle();
        let closed = AskError::Closed(next.id());
        assert_eq!(service.poll_ready(&mut cx), Poll::Ready(Err(closed.clone())));
        assert_eq!(Pin::new(&mut service.call(3)).poll(&mut cx), Poll::Ready(Err(closed)));
        sys.expect_no_dead_letters();
    }
}
