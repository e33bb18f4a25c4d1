//! Each message to all of several actors.

use super::ask_all::AskAll;
use super::member::{Member, Tells};
use crate::actor::Actor;
use crate::address::Address;
use crate::ask::Reply;
use crate::handle::ask_recipient::AskRecipient;
use std::time::Duration;

/// Sends each message to all of several actors, or asks all of them.
///
/// ```
/// # use actinium_actor::{Actor, Broadcast, Context, Shutdown, System};
/// # struct Listener;
/// # impl Actor for Listener {
/// #     type Msg = u64;
/// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
/// # }
/// # let system = System::builder().workers(1).build()?;
/// let all = Broadcast::new((0..4).map(|_| system.spawn(Listener)));
/// assert_eq!(all.send(7), 4);
/// assert_eq!(system.shutdown(Shutdown::Drain).handled, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Broadcast<T: Member> {
    members: Vec<T>,
}

impl<T: Member> Broadcast<T> {
    /// A broadcast to these members.
    pub fn new(members: impl IntoIterator<Item = T>) -> Self {
        Broadcast { members: members.into_iter().collect() }
    }

    /// The broadcast's members, ended ones included.
    pub fn members(&self) -> &[T] {
        &self.members
    }

    /// Sends a clone to each. Returns how many took it; for the others it comes back, and is
    /// counted as returned.
    pub fn send(&self, msg: T::Msg) -> usize
    where
        T: Tells,
        T::Msg: Clone,
    {
        self.members.iter().filter(|member| member.send(msg.clone()).is_ok()).count()
    }
}

impl<A: Actor> Broadcast<Address<A>> {
    /// Asks all members: `msg` makes the message for each from its reply handle. The answers come
    /// as they are given, or why there is none; after `timeout` none is waited for any more.
    ///
    /// ```
    /// use actinium_actor::{Actor, Broadcast, Context, Reply, System};
    /// use std::time::Duration;
    ///
    /// struct Shard(u64);
    /// struct Count(Reply<u64>);
    ///
    /// impl Actor for Shard {
    ///     type Msg = Count;
    ///     fn handle(&mut self, Count(reply): Count, _ctx: &mut Context<'_, Self>) {
    ///         let _ = reply.send(self.0);
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let shards = Broadcast::new((1..=4).map(|n| system.spawn(Shard(n))));
    /// let counts = shards.ask_all(Duration::from_secs(10), Count).wait();
    /// assert_eq!(counts.answers.iter().map(|(_, count)| count).sum::<u64>(), 10);
    /// for (actor, why) in &counts.missing {
    ///     println!("{actor}: {why}");
    /// }
    /// # assert!(counts.missing.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_all<R: Send + 'static>(
        &self,
        timeout: Duration,
        mut msg: impl FnMut(Reply<R>) -> A::Msg,
    ) -> AskAll<R> {
        AskAll::new(self.members.iter().map(|it| (it.id(), it.ask_timeout(timeout, &mut msg))))
    }
}

impl<Q: Clone + Send + 'static, R: Send + 'static> Broadcast<AskRecipient<Q, R>> {
    /// Asks all members, each with a clone of the request. Otherwise as the `ask_all` of a
    /// broadcast to addresses.
    pub fn ask_all(&self, timeout: Duration, request: Q) -> AskAll<R> {
        let ask = |it: &AskRecipient<Q, R>| (it.id(), it.ask_timeout(timeout, request.clone()));
        AskAll::new(self.members.iter().map(ask))
    }
}
